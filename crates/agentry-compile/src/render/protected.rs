//! What no call may write to, whatever the policy says: the definition, what was rendered from it,
//! the settings of the harness, and Agentry itself. Otherwise an agent could let itself out.

use agentry_policy::argv::{Arg, Piece, Word};
use agentry_policy::path::{Resolver, absolute, is_inside, with_home};
use agentry_policy::shell::{self, Bases, Command, Context, Part, What};
use agentry_policy::{Action, Call, Places, Reason, Section, Source};
use agentry_text::path::join;

use super::ledger::Ledger;
use crate::pipeline::Compiled;
use crate::world::World;

/// Paths that are not written to.
pub(super) struct Protected<'a> {
    /// Files, and directories with all that is below them; absolute and real.
    pub(super) paths: &'a [String],
    /// What relative paths and `~` are seen from.
    pub(super) places: &'a Places,
}

/// What harnesses read their settings from, below a project or a home.
const SETTINGS: &[&str] = &[
    ".claude",
    ".codex",
    ".config/opencode",
    ".gemini",
    ".mcp.json",
    ".opencode",
    ".pi",
    "opencode.json",
    "opencode.jsonc",
];
/// What Agentry reads, below a workspace.
const OWN: &[&str] = &["agentry.toml", "agentry.lock", ".agentry"];

/// The paths that the calls of an agent must not write to: its definition with its bases, what was
/// rendered, settings of harnesses and of Agentry, and `more`.
pub fn protect(
    world: &dyn World,
    compiled: &Compiled,
    ledger: &Ledger,
    more: &[String],
) -> Vec<String> {
    let below = |root: &str, paths: &[&str]| -> Vec<String> {
        paths.iter().map(|path| join(root, path)).collect()
    };
    let root = world.absolute(&compiled.workspace);
    let mut paths: Vec<String> =
        compiled.sources.iter().map(|source| world.absolute(&source.path)).collect();
    paths.extend(ledger.entries().iter().map(|entry| join(&root, &entry.path)));
    paths.extend(below(&root, OWN));
    paths.extend(below(&root, SETTINGS));
    if let Some(home) = world.home() {
        paths.extend(below(&home, &[".agentry"]));
        paths.extend(below(&home, SETTINGS));
    }
    paths.extend(world.user_config());
    paths.extend(more.iter().cloned());
    let mut real: Vec<String> =
        paths.iter().map(|path| world.real(path).unwrap_or_else(|| path.clone())).collect();
    real.sort();
    real.dedup();
    real
}

/// Programs that change the files they name.
const CHANGING: &[&str] = &[
    "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "rsync",
    "sed", "shred", "tee", "touch", "truncate", "unlink",
];
/// Programs that change what is below the directories they name.
const TAKING_ALL: &[&str] = &["mv", "rm", "chmod", "chown"];

impl Protected<'_> {
    /// Why a call must not happen, if it would write to a protected path; if it may, why to ask.
    pub(super) fn reason(&self, call: Call<'_>, resolver: &dyn Resolver) -> Option<Reason> {
        match call.section {
            Section::Edit => {
                let path = with_home(call.subject, self.places)?;
                let real = self.real(&path, call.directory, resolver)?;
                let hit = self.covering(&real)?;
                Some(denied(call.subject, hit))
            }
            Section::Bash => self.line(call, resolver),
            _ => None,
        }
    }

    fn line(&self, call: Call<'_>, resolver: &dyn Resolver) -> Option<Reason> {
        let home = self.places.home.clone();
        let context = Context { home, directory: Some(call.directory.to_owned()) };
        let parts = shell::analyse(call.subject, &context);
        let found = parts.iter().filter_map(|part| self.part(part, call.directory, resolver));
        found.max_by_key(|reason| reason.action)
    }

    fn part(&self, part: &Part, start: &str, resolver: &dyn Resolver) -> Option<Reason> {
        match &part.what {
            What::Write(word) => self.written(word, part, start, resolver),
            What::Command(command) => self.command(command, part, start, resolver),
            _ => None,
        }
    }

    /// A redirection, or a file that a wrapper writes.
    fn written(
        &self,
        word: &Word,
        part: &Part,
        start: &str,
        resolver: &dyn Resolver,
    ) -> Option<Reason> {
        let Some((known, whole)) = known(word) else {
            let rule = "nobody knows which file this writes to, and some are protected";
            return Some(reason(&part.text, Action::Ask, rule.to_owned()));
        };
        self.hit(known, whole, (&part.bases, start), resolver).map(|hit| denied(&part.text, &hit))
    }

    /// A program that changes the files it names.
    fn command(
        &self,
        command: &Command,
        part: &Part,
        start: &str,
        resolver: &dyn Resolver,
    ) -> Option<Reason> {
        let mut words = command.argv.iter().map(|arg| match arg {
            Arg::One(word) | Arg::Some(word) | Arg::Many(word) => word,
        });
        let program = words.next().and_then(Word::literal)?.rsplit('/').next()?;
        if !CHANGING.contains(&program) {
            return None;
        }
        let named = words.filter_map(known).find_map(|(text, whole)| {
            // `--target-directory=x`, `of=x`
            let path = text.rsplit_once('=').map_or(text, |(_, path)| path);
            let within = self.hit(path, whole, (&part.bases, start), resolver);
            within.or_else(|| {
                let above = whole && TAKING_ALL.contains(&program) && !path.starts_with('-');
                above.then(|| self.below(path, (&part.bases, start), resolver)).flatten()
            })
        });
        named.map(|hit| denied(&part.text, &hit))
    }

    /// The protected path that a text leads to, from any directory that it may be in.
    fn hit(
        &self,
        text: &str,
        whole: bool,
        (bases, start): (&Bases, &str),
        resolver: &dyn Resolver,
    ) -> Option<String> {
        // Of a word that is not wholly known, the directory that it names.
        let path = if whole { text } else { text.rsplit_once('/')?.0 };
        let from = |base: &String| {
            let real = self.real(path, &at(base, start), resolver)?;
            self.covering(&real).map(str::to_owned)
        };
        directories(bases).iter().find_map(from)
    }

    /// The protected path that lies below a directory.
    fn below(
        &self,
        path: &str,
        (bases, start): (&Bases, &str),
        resolver: &dyn Resolver,
    ) -> Option<String> {
        let from = |base: &String| {
            let real = self.real(path, &at(base, start), resolver)?;
            self.paths.iter().find(|it| is_inside(it, &real)).cloned()
        };
        directories(bases).iter().find_map(from)
    }

    fn real(&self, path: &str, directory: &str, resolver: &dyn Resolver) -> Option<String> {
        let real = resolver.resolve(&absolute(path, directory, self.places)?)?;
        Some(if self.places.ignores_case { real.to_lowercase() } else { real })
    }

    fn covering(&self, real: &str) -> Option<&str> {
        let covers = |path: &&String| {
            is_inside(real, path)
                || (self.places.ignores_case && is_inside(real, &path.to_lowercase()))
        };
        self.paths.iter().find(covers).map(String::as_str)
    }
}

/// What is known of a word: its text, and whether that is all of it.
fn known(word: &Word) -> Option<(&str, bool)> {
    match (word.literal(), word.pieces.first()) {
        (Some(text), _) => Some((text, true)),
        (None, Some(Piece::Text(text))) if text.contains('/') => Some((text, false)),
        _ => None,
    }
}

fn directories(bases: &Bases) -> Vec<String> {
    match bases {
        Bases::Known(all) => all.to_vec(),
        Bases::Unknown => vec![".".to_owned()],
    }
}

/// A directory of a line, seen from the one that it starts in.
fn at(base: &str, start: &str) -> String {
    if base.starts_with('/') { base.to_owned() } else { format!("{start}/{base}") }
}

fn denied(segment: &str, path: &str) -> Reason {
    reason(segment, Action::Deny, format!("`{path}` decides what the agent may do"))
}

fn reason(segment: &str, action: Action, rule: String) -> Reason {
    let segment = segment.to_owned();
    Reason { segment, action, rule, span: None, layer: Source::BuiltIn, note: None }
}

#[cfg(test)]
mod tests {
    use agentry_policy::path::NoLinks;

    use super::*;

    #[test]
    fn what_writes_to_a_protected_path() {
        let paths = ["/workspace/.claude", "/workspace/a.agent", "/opt/agentry"].map(str::to_owned);
        let places = Places::default();
        let protected = Protected { paths: &paths, places: &places };
        let cases = [
            (Section::Edit, "a.agent", Some(Action::Deny)),
            (Section::Edit, "x/../.claude/settings.json", Some(Action::Deny)),
            (Section::Edit, "/opt/agentry", Some(Action::Deny)),
            (Section::Edit, "b.agent", None),
            (Section::Read, "a.agent", None),
            (Section::Bash, "cat a.agent", None),
            (Section::Bash, "echo x > a.agent", Some(Action::Deny)),
            (Section::Bash, "echo x >> ./.claude/x", Some(Action::Deny)),
            (Section::Bash, "cd .claude && echo x > y", Some(Action::Deny)),
            (Section::Bash, "sh -c 'echo x > .claude/y'", Some(Action::Deny)),
            (Section::Bash, "X=.claude/y; echo x > $X", Some(Action::Deny)),
            (Section::Bash, "echo x > .claude/$Y", Some(Action::Deny)),
            (Section::Bash, "echo x > $Y", Some(Action::Ask)),
            (Section::Bash, "echo x > out/$Y", None),
            (Section::Bash, "echo x | tee .claude/y", Some(Action::Deny)),
            (Section::Bash, "rm -rf .claude", Some(Action::Deny)),
            (Section::Bash, "rm -rf .", Some(Action::Deny)),
            (Section::Bash, "mv /opt x", Some(Action::Deny)),
            (Section::Bash, "sed -i s/a/b/ a.agent", Some(Action::Deny)),
            (Section::Bash, "dd of=a.agent", Some(Action::Deny)),
            (Section::Bash, "sudo rm a.agent", Some(Action::Deny)),
            (Section::Bash, "cp -r src out", None),
            (Section::Bash, "rm -rf target", None),
        ];
        for (section, subject, expected) in cases {
            let call = Call { section, subject, directory: "/workspace" };
            let found = protected.reason(call, &NoLinks).map(|reason| reason.action);
            assert_eq!(found, expected, "{section} {subject}");
        }
    }
}
