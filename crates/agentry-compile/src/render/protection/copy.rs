//! Judges copies, moves, links and archives. Their target is written, whether something exists there or
//! not.

use agentry_policy::VerdictReason;
use agentry_policy::argv::{ShellWord, WordPiece};
use agentry_policy::commands::ProgramTrait;
use agentry_policy::shell::LinePart;

use super::meeting::{CommandPlace, PathMeeting};
use super::{ProtectedPaths, asked, denied, effects_of, known};
use crate::protected_names::names_below;
use crate::world::EntryKind;

/// Options without a value that do not change the target.
const PLAIN: &str = "-abdfilnpruvzLHPRs";
const AMONG: &str = "protected paths may be among what it writes";

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
        let CopyOperands { last, sources, others, plain } =
            CopyOperands::new(operands, has_target)?;
        let gone = sources.iter().filter(|_| moves).find_map(|word| self.above(word, place));
        let replaced = || self.hit(&last, place);
        let made = sources.iter().map(|source| self.made(&last, source, place)).max();
        let made = made.unwrap_or(CopyOutcome::Free);
        if let Some(hit) = gone.or_else(replaced).or_else(|| made.clone().hit()) {
            return Some(denied(&part.text, &hit));
        }
        let unclear = !plain || made == CopyOutcome::Unknown;
        let mut ends = std::iter::once(&last).chain(others.iter().filter(|_| !plain));
        let near = ends.any(|word| {
            let above = self.above(word, place).is_some();
            // Into an existing directory, files are only added; nothing in it is replaced.
            above && unclear || self.opens(word, place) && (unclear || !self.is_there(word, place))
        });
        (near || made == CopyOutcome::Above).then(|| asked(&part.text, AMONG))
    }

    /// Judges the unpacking of an archive into the named directories, or into the current one.
    pub(super) fn unpacked(
        &self,
        operands: &[&ShellWord],
        part: &LinePart,
        place: CommandPlace<'_>,
    ) -> Option<VerdictReason> {
        let directories = directories(operands);
        if let Some(hit) = directories.iter().find_map(|it| self.hit(it, place)) {
            return Some(denied(&part.text, &hit));
        }
        let here = [ShellWord::text(".")];
        let all = if directories.is_empty() { &here[..] } else { &directories[..] };
        let near =
            |word: &ShellWord| self.replaced(word, place).is_some() || self.opens(word, place);
        let rule = "protected paths may be among what it changes";
        all.iter().any(near).then(|| asked(&part.text, rule))
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
        let says = |word: &&&ShellWord| ELSEWHERE.iter().any(|it| known(word).starts_with(it));
        let is_template = |word: &&&ShellWord| known(word).starts_with("--templ");
        if operands.iter().any(|word| says(&word) || is_template(&word)) {
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

    /// Whether a word is the start of a protected name, so that the rest may lie below it afterwards.
    fn opens(&self, word: &ShellWord, place: CommandPlace<'_>) -> bool {
        let Some(text) = word.literal() else { return false };
        self.reals(text, place).iter().flatten().any(|real| names_below(real).next().is_some())
    }

    fn is_there(&self, word: &ShellWord, place: CommandPlace<'_>) -> bool {
        let Some(text) = word.literal() else { return false };
        let mut reals = self.reals(text, place).into_iter();
        reals.all(|real| real.is_some_and(|it| self.world.kind(&it) == EntryKind::Directory))
    }

    /// The outcome of one operand in a target directory.
    fn made(
        &self,
        directory: &ShellWord,
        source: &ShellWord,
        place: CommandPlace<'_>,
    ) -> CopyOutcome {
        let Some((directory, text)) = directory.literal().zip(source.literal()) else {
            return CopyOutcome::Unknown;
        };
        let plain = text.trim_end_matches('/');
        // The colon is for `host:path`, as in scp and rsync.
        let name = plain.rsplit(['/', ':']).next().unwrap_or_default();
        if matches!(name, "" | "." | "..") {
            return CopyOutcome::Unknown;
        }
        let path = ShellWord::text(format!("{directory}/{name}"));
        match self.hit(&path, place) {
            Some(hit) => CopyOutcome::Within(hit),
            // With a slash at the end, the content may be copied without its directory (as by rsync).
            None if plain.len() < text.len() => CopyOutcome::Unknown,
            None => match self.meeting(&path, place) {
                Some(_) => CopyOutcome::Above,
                None if self.opens(&path, place) => CopyOutcome::Above,
                None => CopyOutcome::Free,
            },
        }
    }
}

/// The outcome of one operand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum CopyOutcome {
    Free,
    Above,
    Unknown,
    Within(String),
}

impl CopyOutcome {
    fn hit(self) -> Option<String> {
        match self {
            Self::Within(hit) => Some(hit),
            _ => None,
        }
    }
}

/// The operands of a program that copies.
struct CopyOperands {
    /// The target.
    last: ShellWord,
    /// The sources.
    sources: Vec<ShellWord>,
    /// All operands.
    others: Vec<ShellWord>,
    /// Whether no option changes what goes where.
    plain: bool,
}

impl CopyOperands {
    /// Parses the words. `has_target` tells whether `-t` names the target directory.
    fn new(words: &[&ShellWord], has_target: bool) -> Option<Self> {
        let (mut others, mut targets, mut plain) = (Vec::new(), Vec::new(), true);
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
            } else {
                let is_plain = |text: &str| text.chars().all(|letter| PLAIN.contains(letter));
                plain &= word.literal().is_some_and(is_plain);
            }
        }
        let (last, sources) = match (targets.pop(), others.as_slice()) {
            (Some(target), all) => (target, all.to_vec()),
            // `ln -s a/b` creates the link `b` in the current directory.
            (None, [only]) => (ShellWord::text("."), vec![only.clone()]),
            (None, [sources @ .., last]) => (last.clone(), sources.to_vec()),
            (None, []) => return None,
        };
        Some(Self { last, sources, others, plain })
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
    fn what_is_put_in_the_place_of_a_protected_name() {
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
                "cp -r a .vscode|mv a .config|rsync -a a/ there/.vscode/|cp -r a/.github .|tar -C .vscode -xf a|\
                 mv evil .git/info|git config --global core.hooksPath x|git --foo checkout restore|git -x reset --hard rm|\
                 git --foo clean -fdx mv|git init --template=x|\
                 git clone --template x y",
            ),
            (
                "-",
                "mv a b|mv .git/index.lock x|cp .git/HEAD x|cp a/.gitignore b|cp -r src/.config.d b|rm -rf .vscode|\
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
        let protected = ProtectedPaths { paths: &[], places: &places, world: &world };
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
