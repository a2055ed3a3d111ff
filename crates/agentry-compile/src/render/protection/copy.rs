//! Judges copies, moves, links and archives. Their target is written, whether something exists there or
//! not.

use agentry_formats::FORMATS;
use agentry_policy::VerdictReason;
use agentry_policy::argv::{ShellWord, WordPiece};
use agentry_policy::commands::{CommandEffects, FileEffect, FileUse, ProgramTrait};
use agentry_policy::path::is_inside;
use agentry_policy::shell::LinePart;

use super::meeting::{CommandPlace, PathMeeting};
use super::{ProtectedPaths, asked, denied, effects_of, known};
use crate::protected_names::names_below;
use crate::world::EntryKind;

/// Options without a value that do not change the target.
const PLAIN: &str = "-abdfilnpruvzLHPRs";

impl ProtectedPaths<'_> {
    /// Judges a copy, move or link: all operands but the last go into the last.
    pub(super) fn copied(
        &self,
        operands: &[&ShellWord],
        moves: bool,
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let has_target = !effects_of(part)?.has(ProgramTrait::NoTargetOption);
        let CopyOperands { last, sources } = CopyOperands::new(operands, has_target)?;
        let gone = sources.iter().filter(|_| moves).find_map(|word| self.above(word, place));
        let replaced = || self.hit(&last, place);
        let made = sources.iter().find_map(|source| {
            self.made(&last, source, place).or_else(|| self.brought(&last, source, place))
        });
        let hit = gone.or_else(replaced).or(made)?;
        Some(denied(&part.text, &hit))
    }

    /// Judges the unpacking of an archive into the named directories.
    pub(super) fn unpacked(
        &self,
        operands: &[&ShellWord],
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let hit = directories(operands).iter().find_map(|it| self.hit(it, place))?;
        Some(denied(&part.text, &hit))
    }

    /// Judges a command that changes what lies below a directory of the workspace: `git rm -r agents`,
    /// `find agents -delete`, `tar -C agents -xf a`, `rsync --delete a/ agents`. The workspace as a whole counts
    /// only if everything in it is deleted; what else changes there is restored afterwards.
    pub(super) fn changed_below(
        &self,
        effects: CommandEffects<'_>,
        operands: &[&ShellWord],
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let uses = || effects.uses().into_iter();
        let is_written = |used: FileUse| matches!(used, FileUse::Write | FileUse::MayWrite);
        let words: Vec<ShellWord> = match effects.files() {
            FileEffect::Tree { .. } => {
                let written = uses().filter(|(used, _)| is_written(*used)).map(|(_, word)| word);
                written.flat_map(|word| in_directories(&word, operands)).collect()
            }
            // What `find -exec` runs is judged by itself.
            FileEffect::TakesSome if effects.deletes() => uses().map(|(_, word)| word).collect(),
            FileEffect::Unpacks => directories(operands),
            FileEffect::Copies { .. } if effects.deletes() => {
                uses().filter(|(used, _)| is_written(*used)).map(|(_, word)| word).collect()
            }
            _ => return None,
        };
        let takes_all = effects.deletes() && !operands.iter().any(|word| selects(known(word)));
        let hit = words.iter().find_map(|word| self.protected_in(word, takes_all, place))?;
        Some(denied(&part.text, &hit))
    }

    /// A protected path that exists below a directory. `is_whole` includes the workspace itself.
    fn protected_in(
        &self,
        word: &ShellWord,
        is_whole: bool,
        place: CommandPlace<'_>,
    ) -> Option<String> {
        let text = word.literal()?;
        let root = self.places.workspace.trim_end_matches('/');
        let counts = |real: &Option<String>| {
            real.as_ref().is_some_and(|real| {
                is_whole || (is_inside(real, root) && real.trim_end_matches('/') != root)
            })
        };
        if !self.reals(text, place).iter().any(counts) {
            return None;
        }
        self.above(word, place).filter(|hit| self.exists(hit))
    }

    /// Judges a new checkout, which is written to the last operand.
    pub(super) fn checked_out(
        &self,
        operands: &[&ShellWord],
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let named = operands.iter().rev().find(|word| !known(word).starts_with('-'))?;
        self.hit(named, place).map(|hit| denied(&part.text, &hit))
    }

    /// Judges a change of git's settings. Those of a repository are protected; for others the user is asked.
    pub(super) fn configured(
        &self,
        operands: &[&ShellWord],
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        const ELSEWHERE: &[&str] = &["--global", "--system", "--file", "-f", "--blob"];
        let is_other_target =
            |word: &&&ShellWord| ELSEWHERE.iter().any(|it| known(word).starts_with(it));
        let is_template = |word: &&&ShellWord| known(word).starts_with("--templ");
        if operands.iter().any(|word| is_other_target(&word) || is_template(&word)) {
            return Some(asked(&part.text, "git runs what its settings and hooks name"));
        }
        let config = self.reals(".git/config", place).into_iter().flatten().next()?;
        Some(denied(&part.text, &config))
    }

    /// An existing protected path below a directory that is removed as a whole.
    pub(super) fn taken(&self, operands: &[&ShellWord], place: CommandPlace<'_>) -> Option<String> {
        let literal = operands.iter().filter_map(|word| word.literal());
        literal.filter(|text| !text.starts_with('-')).find_map(|text| self.existing(text, place))
    }

    fn existing(&self, path: &str, place: CommandPlace<'_>) -> Option<String> {
        self.reals(path, place).into_iter().flatten().find_map(|real| {
            let paths = names_below(&real).map(|name| format!("{real}/{name}"));
            paths.into_iter().find(|path| self.world.kind(path) != EntryKind::Missing)
        })
    }

    /// A protected path below a directory that is moved.
    fn above(&self, word: &ShellWord, place: CommandPlace<'_>) -> Option<String> {
        match self.meeting(word, place) {
            Some(PathMeeting::Above(hit)) => Some(hit),
            _ => self.existing(word.literal()?, place),
        }
    }

    /// The protected path that would be replaced, or written into. Replacing `.git` as a whole counts as a
    /// write by a tool, a write inside it as one by a command.
    fn hit(&self, word: &ShellWord, place: CommandPlace<'_>) -> Option<String> {
        let within = |meeting: Option<PathMeeting>| match meeting? {
            PathMeeting::Within(hit) => Some(hit),
            _ => None,
        };
        let whole = |hit: &String| match word.literal() {
            Some(text) => self.reals(text, place).contains(&Some(hit.clone())),
            None => true,
        };
        let replaced = within(self.replaced(word, place)).filter(whole);
        replaced.or_else(|| within(self.meeting(word, place)))
    }

    /// The definition that a directory becomes in its new place, because it contains one.
    fn brought(
        &self,
        target: &ShellWord,
        source: &ShellWord,
        place: CommandPlace<'_>,
    ) -> Option<String> {
        let (target, text) = target.literal().zip(source.literal())?;
        let mains = || FORMATS.iter().flat_map(|row| row.files.mains.iter());
        let has = |main: &&&str| {
            let reals = self.reals(&format!("{text}/{main}"), place);
            reals.iter().flatten().any(|path| self.exists(path))
        };
        let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        mains().filter(has).find_map(|main| {
            let places = [format!("{target}/{main}"), format!("{target}/{name}/{main}")];
            places.into_iter().find_map(|path| self.hit(&ShellWord::text(path), place))
        })
    }

    /// The protected path that one operand becomes in a target directory.
    fn made(
        &self,
        directory: &ShellWord,
        source: &ShellWord,
        place: CommandPlace<'_>,
    ) -> Option<String> {
        let (directory, text) = directory.literal().zip(source.literal())?;
        // The colon is for `host:path`, as in scp and rsync.
        let name = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        if matches!(name, "" | "." | "..") {
            return None;
        }
        self.hit(&ShellWord::text(format!("{directory}/{name}")), place)
    }
}

/// The paths of a pathspec, from the current directory and from the one that `git -C` names.
fn in_directories(word: &ShellWord, operands: &[&ShellWord]) -> Vec<ShellWord> {
    let Some(text) = word.literal() else { return Vec::new() };
    // git reads `:/path` from the root of the repository.
    let text = text.strip_prefix(":/").unwrap_or(text);
    let text = if text.is_empty() { "." } else { text };
    let pairs = operands.iter().zip(operands.iter().skip(1));
    let directory = pairs.filter(|(option, _)| known(option) == "-C").map(|(_, value)| value);
    let inside = directory.filter_map(|value| value.literal());
    let inside = inside.map(|directory| ShellWord::text(format!("{directory}/{text}")));
    inside.chain([ShellWord::text(text)]).collect()
}

/// Whether an argument of `find` selects some of the files, or one of `rsync` leaves some out.
fn selects(text: &str) -> bool {
    const CONDITIONS: &[&str] = &[
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-newer",
        "-mtime",
        "-mmin",
        "-ctime",
        "-atime",
        "-empty",
        "-size",
        "-perm",
        "-user",
        "-links",
        "-xtype",
        "--exclude",
        "--filter",
        "--include",
    ];
    CONDITIONS.iter().any(|condition| text.starts_with(condition))
}

/// The operands of a program that copies.
struct CopyOperands {
    /// The target.
    last: ShellWord,
    /// The sources.
    sources: Vec<ShellWord>,
}

impl CopyOperands {
    /// Parses the words. `has_target` is true if `-t` names the target directory.
    fn new(words: &[&ShellWord], has_target: bool) -> Option<Self> {
        let (mut others, mut targets) = (Vec::new(), Vec::new());
        let mut is_ended = false;
        let mut rest = words.iter().copied();
        while let Some(word) = rest.next() {
            let text = known(word);
            if is_ended || !text.starts_with('-') || text == "-" {
                others.push(word.clone());
            } else if text == "--" {
                is_ended = true;
            } else if let Some(glued) = target(text).filter(|_| has_target) {
                let is_next = glued.is_empty() && word.pieces.len() < 2;
                let own = (!is_next).then(|| cut(word, text.len() - glued.len()));
                targets.extend(own.or_else(|| rest.next().cloned()));
            }
        }
        let (last, sources) = match (targets.pop(), others.as_slice()) {
            (Some(target), all) => (target, all.to_vec()),
            // `ln -s a/b` creates the link `b` in the current directory.
            (None, [only]) => (ShellWord::text("."), vec![only.clone()]),
            (None, [sources @ .., last]) => (last.clone(), sources.to_vec()),
            (None, []) => return None,
        };
        Some(Self { last, sources })
    }
}

/// The value in a target option such as `-tDIR`; empty if it is the next word. `None` for other options.
fn target(text: &str) -> Option<&str> {
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        let is_it = !name.is_empty() && "target-directory".starts_with(name);
        return is_it.then(|| long.split_once('=').map_or("", |(_, value)| value));
    }
    let letters = text.strip_prefix('-')?;
    let at = letters.find('t')?;
    let before = letters.get(..at)?;
    before.chars().all(|letter| PLAIN.contains(letter)).then(|| letters.get(at + 1..))?
}

/// A word without its first `start` bytes.
fn cut(word: &ShellWord, start: usize) -> ShellWord {
    let mut word = word.clone();
    if let Some(WordPiece::Text(text)) = word.pieces.first_mut() {
        *text = text.get(start..).unwrap_or_default().to_owned();
    }
    word
}

/// The directories that an archive is unpacked to, attached to their options or in the next word.
fn directories(words: &[&ShellWord]) -> Vec<ShellWord> {
    const LONG: &[&str] = &["--directory", "--cd", "--one-top-level"];
    let mut out = Vec::new();
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        let text = known(word);
        let long = LONG.iter().find(|name| text.split('=').next() == Some(name));
        let glued = match (long, text.find(['C', 'd', 'D'])) {
            (Some(name), _) => text.get(name.len() + 1..),
            (None, Some(at)) if text.starts_with('-') && !text.starts_with("--") => {
                text.get(at + 1..)
            }
            _ => continue,
        };
        match glued.filter(|it| !it.is_empty()) {
            Some(glued) => out.push(cut(word, text.len() - glued.len())),
            None => out.extend(rest.next().cloned()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use agentry_policy::path::NoLinks;
    use agentry_policy::{Action, PathAnchors, Section, SectionCall};

    use super::*;
    use crate::memory_world::MemoryWorld;

    /// A protected name is denied as a target of a move, copy, link or archive, whether it exists or not.
    #[test]
    fn moves_and_copies_onto_protected_names_are_denied() {
        const LINES: &[(&str, &str)] = &[
            (
                "deny",
                "mv evil .git|mv evil .git/|mv evil ./.git/.|mv a b .git|mv -t .git hooks|mv -ft .git x|mv -t.git x|\
                 mv --target-directory=.git x|mv --target-directory .git x|mv --target=.git x|mv -- evil .git|\
                 mv evil .gi?|mv evil sub/.git|mv evil .GIT|mv --exchange a .git|exch a .git|mv -T evil .git|\
                 mv evil .claude|mv evil .claude/|mv -t .claude x|mv evil sub/.pi|mv evil .hg|\
                 mv x agentry.toml|mv hooks .git/|mv x .git/hooks|mv x .git/config|mv a/config .git",
            ),
            (
                "deny",
                "cp -r x .git|cp -r x/ .git/|cp -rT x .git|cp -al x .git|cp -rt .git x|cp config .git|\
                 cp -r a/.git .|cp -r a/.git b|cp -r a/.git/ b|mv a/.git .|mv a/.git b/|cp -r a/.claude b|\
                 install -d .git|install x .git/hooks/pre-commit|ditto a .git|scp -r h:x .git|\
                 rsync a .git/|rsync -a a/ .git|rsync -a x/hooks .git|rsync -a h:x/ .git/",
            ),
            (
                "deny",
                "ln -s x .git|ln -sfn x .claude|ln -s x .git/hooks|ln x .git/config|ln -st .git x|\
                 ln -s -t .git ../evil/hooks|ln -s ../evil/.git|link x .git/config|mount --bind x .git",
            ),
            (
                "deny",
                "tar -C .git -xf a|tar xf a -C.git|tar xf a --directory=.git|tar -xf a --directory .git|\
                 bsdtar -C .git -xf a|unzip a -d .git|unzip -d .claude a|cpio -D .git -i|tar -C out -C .git -xf a",
            ),
            (
                "deny",
                "git config core.hooksPath x|git config --unset a.b|git config set core.fsmonitor x|\
                 git clone x .git|git clone x sub/.GIT/|git worktree add .git|git -C sub config user.name x|\
                 git --config-env a.b=HOME config core.hooksPath evil|git --config-env=a.b=HOME config core.hooksPath x|\
                 git -C x -c a=b --no-pager config core.hooksPath x|git --git-dir=x config core.hooksPath x|\
                 git --git-dir x --work-tree y config core.hooksPath x|git --attr-source x config core.hooksPath x|\
                 git --super-prefix x config core.hooksPath x|git --shallow-file x config core.hooksPath x|\
                 git --not-known x config core.hooksPath x|env git --config-env a.b=HOME config core.hooksPath x|\
                 timeout 5 git --config-env a.b=HOME config core.hooksPath x|\
                 nice env A=b git --namespace x config core.hooksPath x|sh -c 'git config core.hooksPath x'|rm -rf there/.git|\
                 mv there/.git x|chmod -R 777 there/.git|env mv evil .git|sudo cp -r x .git",
            ),
            (
                "ask",
                "git config --global core.hooksPath x|git init --template=x|git clone --template x y",
            ),
            (
                "-",
                "cp -r a .vscode|mv a .config|rsync -a a/ there/.vscode/|cp -r a/.github .|tar -C .vscode -xf a|\
                 mv evil .git/info|git --foo checkout restore|git -x reset --hard rm|git --foo clean -fdx mv|\
                 mv a b|mv .git/index.lock x|cp .git/HEAD x|cp a/.gitignore b|cp -r src/.config.d b|rm -rf .vscode|\
                 cp x there/.vscode|cp x .git/description|ln -s a b|ln -s ../a|rsync -a a/ out|tar -C out -xf a|\
                 tar czf x .git|git config --get core.hooksPath|git config user.name|git config --list|git init|\
                 git clone x y|git worktree add ../w|git init sub|rm -rf sub/.git|mkdir .git|rsync -t a b|install -m 755 a b",
            ),
        ];
        let mut world = MemoryWorld::default();
        for path in ["there/.git/config", "there/.vscode/words.txt"] {
            world.write(&format!("workspace/{path}"), "");
        }
        let places = PathAnchors::default();
        let protected = ProtectedPaths { paths: &[], named: &[], places: &places, world: &world };
        for (expected, lines) in LINES {
            for line in lines.split('|').map(str::trim) {
                let call =
                    SectionCall { section: Section::Bash, subject: line, directory: "/workspace" };
                let found = protected.reason(call, &NoLinks).map(|reason| reason.action);
                assert_eq!(found.map_or("-", Action::as_str), *expected, "{line}");
            }
        }
    }
}
