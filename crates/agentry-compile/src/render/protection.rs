//! Protected paths: no call may write to the definition, the rendered files, the settings of the harness,
//! or Agentry's files, whatever the policy says. Otherwise an agent could remove its own limits.

mod copy;
mod definition;
mod loaded;
mod meeting;

use agentry_policy::argv::{ShellArg, ShellWord, WordPiece};
use agentry_policy::commands::{CommandEffects, FileEffect, ProgramFacts, ProgramTrait, effects};
use agentry_policy::path::{LinkResolver, absolute, is_inside, with_home};
use agentry_policy::shell::{self, CurrentDirs, LinePart, PartEffect, ShellCommand, ShellContext};
use agentry_policy::{Action, LayerSource, PathAnchors, Section, SectionCall, VerdictReason};
use agentry_text::path::join;

pub use definition::{DefinitionPart, definition};
pub use loaded::other_agents;
use meeting::{CommandPlace, PathMeeting};

use super::ledger::RenderLedger;
use crate::pipeline::CompiledAgent;
use crate::protected_names::{
    ProtectedKind, WrittenBy, find, find_bare, find_in, fold, folded, names,
};
use crate::world::{EntryKind, World};

/// Paths that calls must not write to.
pub(super) struct ProtectedPaths<'a> {
    /// Files, and directories with everything below them; absolute real paths.
    pub(super) paths: &'a [String],
    /// The anchors of relative paths and `~`.
    pub(super) places: &'a PathAnchors,
    /// The world, to see what exists.
    pub(super) world: &'a dyn World,
}

/// The paths that an agent's calls must not write to: its definition with its bases, rendered files,
/// settings of harnesses and of Agentry, and `more`.
pub fn protect(
    world: &dyn World,
    compiled: &CompiledAgent,
    ledger: &RenderLedger,
    more: &[String],
) -> Vec<String> {
    let of = |root: &str, kind: ProtectedKind| -> Vec<String> {
        let names = names().iter().filter(|name| name.kind == kind);
        names.map(|name| join(root, name.path)).collect()
    };
    let root = world.absolute(&compiled.workspace);
    let mut paths: Vec<String> =
        definition(world, compiled).into_iter().map(|own| own.path).collect();
    paths.extend(loaded::own_files(world, compiled));
    paths.extend(ledger.entries().iter().map(|entry| join(&root, &entry.path)));
    paths.extend(of(&root, ProtectedKind::Own));
    paths.extend(of(&root, ProtectedKind::Harness));
    if let Some(home) = world.machine().home.clone() {
        // The usual home stays protected even where `AGENTRY_HOME` names another one.
        paths.push(join(&home, ".agentry"));
        paths.extend(of(&home, ProtectedKind::Harness));
    }
    paths.extend(world.machine().agentry_home.clone());
    paths.extend(world.machine().user_config.clone());
    paths.extend(more.iter().cloned());
    // Real paths, so that a link to a protected file is recognised.
    let found = world.real_of_all(&paths);
    let mut real: Vec<String> =
        paths.into_iter().zip(found).map(|(path, real)| real.unwrap_or(path)).collect();
    real.sort();
    real.dedup();
    real
}

impl ProtectedPaths<'_> {
    /// Why a call is denied, if it would write to a protected path, or why the user is asked, if it might.
    pub(super) fn reason(
        &self,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<VerdictReason> {
        match call.section {
            Section::Edit => {
                let path = with_home(call.subject, self.places)?;
                let real = self.real(&path, call.directory, resolver)?;
                let named =
                    self.covering(&real, WrittenBy::Tool).map(|hit| denied(call.subject, &hit));
                named.or_else(|| self.repository(call.subject, &real))
            }
            Section::Bash => self.line(call, resolver),
            _ => None,
        }
    }

    fn line(&self, call: SectionCall<'_>, resolver: &dyn LinkResolver) -> Option<VerdictReason> {
        let home = self.places.home.clone();
        let context = ShellContext { home, directory: Some(call.directory.to_owned()) };
        let parts = shell::analyse(call.subject, &context);
        // A link that one part of the line creates may redirect a write of another part.
        let links = parts.iter().any(|part| effects_of(part).is_some_and(makes_links));
        let found = parts.iter().filter_map(|part| {
            let place = CommandPlace { bases: &part.bases, start: call.directory, resolver };
            self.part(part, place, links)
        });
        found.max_by_key(|reason| reason.action)
    }

    fn part(&self, part: &LinePart, place: CommandPlace<'_>, links: bool) -> Option<VerdictReason> {
        let found = match &part.what {
            PartEffect::Write(word) => self.written(word, part, place),
            PartEffect::Command(command) if !command.free => self.command(command, part, place),
            _ => None,
        };
        let linked = || {
            let rule = "a link that the line makes may lead to a protected path";
            (links && is_change(part)).then(|| asked(&part.text, rule))
        };
        found.or_else(linked)
    }

    /// Judges a redirection, or a file that a wrapper writes.
    fn written(
        &self,
        word: &ShellWord,
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let meeting = self.meeting(word, place);
        let is_free = word.literal().is_some_and(|text| text.starts_with("/dev/"));
        // After a `cd` to an unknown directory, a relative path may lead anywhere.
        let is_lost = *place.bases == CurrentDirs::Unknown && !is_free && !is_absolute(word);
        match meeting {
            Some(PathMeeting::Within(hit)) => Some(denied(&part.text, &hit)),
            Some(PathMeeting::Unknown) => Some(asked(&part.text, UNKNOWN)),
            _ => is_lost.then(|| asked(&part.text, UNKNOWN)),
        }
    }

    /// Judges a program that may change its operands.
    fn command(
        &self,
        command: &ShellCommand,
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        // A wrapped command is judged as a part of its own.
        let end = command.inner_at.unwrap_or(command.argv.len());
        let argv = command.argv.get(..end).unwrap_or(&command.argv);
        let effects = effects(argv);
        let does = effects.files();
        if does == FileEffect::Reads {
            return None;
        }
        let operands: Vec<&ShellWord> = argv.iter().skip(1).map(word).collect();
        let operands = operands.as_slice();
        let is_known = does != FileEffect::Changes
            || effects.facts().is_some_and(ProgramFacts::changes_operands);
        let mut meetings: Vec<PathMeeting> = Vec::new();
        for word in operands {
            // For a program not known to write, an option such as `-j$(nproc)` is not treated as a path.
            let meeting = self.meeting(word, place);
            let is_option = !is_known && known(word).starts_with('-');
            meetings.extend(meeting.filter(|it| !(is_option && *it == PathMeeting::Unknown)));
        }
        let lost = is_known
            && *place.bases == CurrentDirs::Unknown
            && operands.iter().any(|word| !is_absolute(word) && !known(word).starts_with('-'));
        let worst = meetings.into_iter().max();
        let found = match (worst, does) {
            (Some(PathMeeting::Within(hit)), _)
            | (Some(PathMeeting::Above(hit)), FileEffect::TakesAll) => {
                Some(denied(&part.text, &hit))
            }
            (worst, does) => self.around(worst.as_ref(), does, operands, part, place),
        };
        found.or_else(|| lost.then(|| asked(&part.text, UNKNOWN)))
    }

    /// Judges protected paths that a command changes without naming them.
    fn around(
        &self,
        worst: Option<&PathMeeting>,
        does: FileEffect,
        operands: &[&ShellWord],
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let text = &part.text;
        let is_here = || self.literal(".", place).is_some();
        let unknown = (worst == Some(&PathMeeting::Unknown)).then(|| asked(text, UNKNOWN));
        let near = match does {
            FileEffect::Own => {
                return Some(asked(text, "it may write what decides about the agent"));
            }
            FileEffect::Copies { moves } => {
                return self.copied(operands, moves, part, place).or(unknown);
            }
            FileEffect::Checkout => return self.checked_out(operands, part, place).or(unknown),
            FileEffect::Configures => return self.configured(operands, part, place).or(unknown),
            FileEffect::Tree { whole } => {
                whole || worst.is_some() || operands.iter().any(|it| magic(it))
            }
            FileEffect::Unpacks => return self.unpacked(operands, part, place).or(unknown),
            FileEffect::TakesSome => {
                worst.is_some() || is_here() && !operands.iter().any(|it| is_path(it))
            }
            FileEffect::TakesAll => {
                let taken = self.taken(operands, place).map(|hit| denied(text, &hit));
                return taken.or(unknown);
            }
            FileEffect::Reads | FileEffect::Changes => false,
        };
        near.then(|| asked(text, "protected paths may be among what it changes")).or(unknown)
    }

    fn real(&self, path: &str, directory: &str, resolver: &dyn LinkResolver) -> Option<String> {
        let real = resolver.resolve(&absolute(path, directory, self.places)?)?;
        Some(if self.places.ignores_case { real.to_lowercase() } else { real })
    }

    /// The protected path that contains a real path, or equals it.
    fn covering(&self, real: &str, by: WrittenBy) -> Option<String> {
        let covers = |path: &&String| {
            is_inside(real, path)
                || (self.places.ignores_case && is_inside(real, &path.to_lowercase()))
        };
        let listed = self.paths.iter().find(covers).cloned();
        listed.or_else(|| find_in(real, &self.places.workspace, by).map(str::to_owned))
    }

    /// Why a real path in a repository without `.git`, or one that would complete it, must not be written.
    fn repository(&self, subject: &str, real: &str) -> Option<VerdictReason> {
        let root = self.places.workspace.trim_end_matches('/');
        let skipped = if is_inside(real, root) { root.len() } else { 0 };
        let below = real.get(skipped..)?;
        let directory = |depth: usize| {
            let parts: Vec<&str> =
                below.split('/').filter(|it| !it.is_empty()).take(depth).collect();
            let start = real.get(..skipped).filter(|start| !start.is_empty()).unwrap_or("/");
            join(start, &parts.join("/"))
        };
        let has = |depth: usize, name: &str| {
            self.world.kind(&join(&directory(depth), name)) != EntryKind::Missing
        };
        let found = directory(find_bare(&folded(below), has)?);
        let rule = format!("`{found}` is protected: {}", ProtectedKind::Repository.why());
        Some(reason(subject, Action::Deny, rule))
    }
}

const UNKNOWN: &str = "it is not known which file this writes to, and some are protected";

/// The effects of a part, if it is a command.
fn effects_of(part: &LinePart) -> Option<CommandEffects<'_>> {
    match &part.what {
        PartEffect::Command(command) => Some(effects(&command.argv)),
        _ => None,
    }
}

/// Whether a command creates links, or mounts one directory on another.
fn makes_links(effects: CommandEffects<'_>) -> bool {
    effects.has(ProgramTrait::Links)
}

/// Whether a part changes a file, apart from creating a link.
fn is_change(part: &LinePart) -> bool {
    match &part.what {
        PartEffect::Write(word) => word.literal().is_none_or(|text| !text.starts_with("/dev/")),
        PartEffect::Command(command) if !command.free => {
            let effects = effects(&command.argv);
            let changes = effects.files() != FileEffect::Reads;
            changes && !makes_links(effects) && command.argv.len() > 1
        }
        _ => false,
    }
}

fn word(arg: &ShellArg) -> &ShellWord {
    match arg {
        ShellArg::One(word) | ShellArg::Some(word) | ShellArg::Many(word) => word,
    }
}

/// The literal start of a word.
fn known(word: &ShellWord) -> &str {
    match word.pieces.first() {
        Some(WordPiece::Text(text)) => text,
        _ => "",
    }
}

fn is_absolute(word: &ShellWord) -> bool {
    known(word).starts_with('/')
}

/// Whether a word before the conditions of `find` is a path.
fn is_path(word: &ShellWord) -> bool {
    let text = known(word);
    text.contains('/') || text == "." || text.starts_with(char::is_alphanumeric)
}

/// Whether git may expand a word to several paths.
fn magic(word: &ShellWord) -> bool {
    let text = known(word);
    word.literal().is_none()
        || text.starts_with(':')
        || text.contains(['*', '?', '['])
        || text.starts_with("--pathspec")
}

/// A directory of a command line, relative to its starting directory.
fn at(base: &str, start: &str) -> String {
    if base.starts_with('/') { base.to_owned() } else { format!("{start}/{base}") }
}

fn denied(segment: &str, path: &str) -> VerdictReason {
    // Find the kind by the protected name at the end of the path, for the message.
    let parts: Vec<_> = path.split('/').map(fold).collect();
    let ends = (0..parts.len()).filter_map(|at| parts.get(at..)).find_map(|rest| {
        let hit = find(rest, WrittenBy::Command).or_else(|| find(rest, WrittenBy::Tool))?;
        (hit.parts == rest.len()).then_some(hit.kind)
    });
    let rule = match ends {
        None | Some(ProtectedKind::Own) => format!("`{path}` decides what the agent may do"),
        Some(kind) => format!("`{path}` is protected: {}", kind.why()),
    };
    reason(segment, Action::Deny, rule)
}

fn asked(segment: &str, rule: &str) -> VerdictReason {
    reason(segment, Action::Ask, rule.to_owned())
}

fn reason(segment: &str, action: Action, rule: String) -> VerdictReason {
    let segment = segment.to_owned();
    VerdictReason { segment, action, rule, span: None, layer: LayerSource::BuiltIn, note: None }
}

#[cfg(test)]
mod tests {
    use agentry_policy::path::NoLinks;

    use super::*;
    use crate::memory_world::MemoryWorld;

    #[test]
    fn what_writes_to_a_protected_path() {
        let paths = ["/workspace/.claude", "/workspace/a.agent", "/opt/agentry"].map(str::to_owned);
        let places = PathAnchors::default();
        let mut world = MemoryWorld::default();
        for path in ["workspace/bare/objects/x", "workspace/bare/refs/x"] {
            world.write(path, "");
        }
        let protected = ProtectedPaths { paths: &paths, places: &places, world: &world };
        let cases = [
            (Section::Edit, "a.agent", Some(Action::Deny)),
            (Section::Edit, "x/../.claude/settings.json", Some(Action::Deny)),
            (Section::Edit, "/opt/agentry", Some(Action::Deny)),
            (Section::Edit, "b.agent", None),
            (Section::Edit, ".git/hooks/pre-commit", Some(Action::Deny)),
            (Section::Edit, "sub/.git/HEAD", Some(Action::Deny)),
            (Section::Edit, ".vscode/tasks.json", Some(Action::Deny)),
            (Section::Edit, ".vscode/words.txt", None),
            (Section::Edit, "agents/a.cassette.jsonl", Some(Action::Deny)),
            (Section::Edit, "bare/HEAD", Some(Action::Deny)),
            (Section::Edit, "bare/config", None),
            (Section::Edit, "src/HEAD", None),
            (Section::Bash, "cp x .git/hooks/pre-commit", Some(Action::Deny)),
            (Section::Bash, "tee .g*/hooks/pre-commit", Some(Action::Deny)),
            (Section::Bash, "tee .git/ho*/pre-commit", Some(Action::Deny)),
            (Section::Bash, "tee sub/.git/conf*", Some(Action::Deny)),
            (Section::Bash, "rm .git/*.lock", None),
            (Section::Bash, "rm .git/index.lock", None),
            (Section::Bash, "cat .git/config", None),
            (Section::Bash, "echo x > .vscode/tasks.json", Some(Action::Deny)),
            (Section::Bash, "cp a b.cassette.jsonl", Some(Action::Deny)),
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
            (Section::Bash, "git checkout HEAD~1 -- .claude/settings.json", Some(Action::Deny)),
            (Section::Bash, "git rm -r .claude", Some(Action::Deny)),
            (Section::Bash, "git mv .claude x", Some(Action::Deny)),
            (Section::Bash, "git apply e.patch", Some(Action::Ask)),
            (Section::Bash, "git clean -fdx", Some(Action::Ask)),
            (Section::Bash, "cd src && git reset --hard", Some(Action::Ask)),
            (Section::Bash, "git checkout -- .", Some(Action::Ask)),
            (Section::Bash, "git restore src/x", None),
            (Section::Bash, "git add .claude && git commit -m x", None),
            (Section::Bash, "cp -r evil/. .", Some(Action::Ask)),
            (Section::Bash, "cp -rT evil .", Some(Action::Ask)),
            (Section::Bash, "cp -r evil/.claude .", Some(Action::Deny)),
            (Section::Bash, "cp s -t.claude", Some(Action::Deny)),
            (Section::Bash, "cp s --target-directory=.claude", Some(Action::Deny)),
            (Section::Bash, "cp evil/* .", Some(Action::Ask)),
            (Section::Bash, "cp a/x .", None),
            (Section::Bash, "mv a/x .", None),
            (Section::Bash, "rsync -a evil/ .", Some(Action::Ask)),
            (Section::Bash, "rsync -a evil/ out", None),
            (Section::Bash, "tar xf e.tar -C .claude", Some(Action::Deny)),
            (Section::Bash, "tar xf e.tar", Some(Action::Ask)),
            (Section::Bash, "tar xf e.tar -C out", None),
            (Section::Bash, "tar czf out.tgz src", None),
            (Section::Bash, "unzip e.zip", Some(Action::Ask)),
            (Section::Bash, "rm -rf .c*", Some(Action::Deny)),
            (Section::Bash, "rm -rf */.cl*", Some(Action::Deny)),
            (Section::Bash, "rm -rf out/*", None),
            (Section::Bash, "rm -f *.agent", Some(Action::Deny)),
            (Section::Bash, "rm -f *.o", None),
            (Section::Bash, "rm -rf $X", Some(Action::Ask)),
            (Section::Bash, "ln -s . x && echo y > x/.claude/settings.json", Some(Action::Deny)),
            (Section::Bash, "ln -s . x && echo y > x/a.agent", Some(Action::Ask)),
            (Section::Bash, "ln -s a b", None),
            (Section::Bash, "find .claude -delete", Some(Action::Deny)),
            (Section::Bash, "find . -name x -delete", Some(Action::Ask)),
            (Section::Bash, "find .claude -name x", None),
            (Section::Bash, "curl -o .claude/x https://x.org", Some(Action::Deny)),
            (Section::Bash, "curl -o.claude/x https://x.org", Some(Action::Deny)),
            (Section::Bash, "sort -o a.agent x", Some(Action::Deny)),
            (Section::Bash, "perl -pi -e s/a/b/ a.agent", Some(Action::Deny)),
            (Section::Bash, "sed -i s/a/b/ ./*.agent", Some(Action::Deny)),
            (Section::Bash, "sed -n 1p a.agent", None),
            (Section::Bash, "echo .claude | xargs rm -rf", Some(Action::Ask)),
            (Section::Bash, "git ls-files | xargs grep x", None),
            (Section::Bash, "agentry render --force", Some(Action::Ask)),
            (Section::Bash, "agentry check", None),
            (Section::Bash, "make \"-j$(nproc)\"", None),
            (Section::Bash, "cd $X && rm x", Some(Action::Ask)),
            (Section::Bash, "cargo test --workspace", None),
            (Section::Bash, "timeout 5 cat a.agent", None),
            (Section::Bash, "sudo cat a.agent", None),
            (Section::Edit, "/other/project/.claude/settings.json", Some(Action::Deny)),
            (Section::Edit, "sub/agentry.toml", Some(Action::Deny)),
            (Section::Bash, "echo x > ~/.codex/config.toml", Some(Action::Deny)),
            (Section::Bash, "rm sub/opencode.json", Some(Action::Deny)),
            (Section::Bash, "cp -r src out", None),
            (Section::Bash, "rm -rf target", None),
        ];
        let found = |section, subject| {
            let call = SectionCall { section, subject, directory: "/workspace" };
            protected.reason(call, &NoLinks).map(|reason| reason.action)
        };
        for (section, subject, expected) in cases {
            assert_eq!(found(section, subject), expected, "{section} {subject}");
        }
    }
}
