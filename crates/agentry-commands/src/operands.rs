//! Finds the arguments of a command that are files it reads or writes, or web addresses, so that rules about
//! files also apply to `cat .env`.

mod git;
mod patch;
mod possible_files;
mod repository;
mod tar;

use std::borrow::Cow;

use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::hazard::{DashMeaning, HazardSign, found};
use crate::options::subcommand;
use crate::prints::found_paths;
use crate::program::{ProgramFacts, ProgramTrait, WordList, words};
use patch::PatchOptions;
pub(crate) use possible_files::possible_files;

/// How a command uses a file or an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// The contents of the file are read.
    Read,
    /// The contents are read, if the word is a file and not a revision.
    MayRead,
    /// Only its existence and its properties are read: `test -f x`.
    Test,
    /// The names of files are listed.
    List,
    /// The file is created, changed or deleted.
    Write,
    /// It is, if the word is a file and not a revision.
    MayWrite,
    /// The files that a patch names are changed; the word is the patch, `-` for standard input.
    Patch {
        /// How many directories are removed from each name; `None` if that is not known.
        strip: Option<u8>,
    },
    /// The address is fetched.
    Fetch,
}

impl FileUse {
    /// Whether the file is changed, or may be.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::MayWrite)
    }

    /// Returns what the command does, for a sentence with «it».
    pub fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::MayRead => "may read",
            Self::Test => "tests",
            Self::List => "lists",
            Self::Write => "writes",
            Self::MayWrite => "may write",
            Self::Patch { .. } => "changes what is named in",
            Self::Fetch => "fetches",
        }
    }
}

/// A file or an address in the arguments, and how it is used.
pub(crate) type UsedFile = (FileUse, ShellWord);

words! {
    /// What the operands of a program are.
    OperandKind {
        /// No files.
        Nothing = "nothing",
        /// Files that are read.
        Read = "read",
        /// Files that are written.
        Write = "write",
        /// Files that are read and written.
        Both = "both",
        /// The last one is written, the others are read.
        Copy = "copy",
        /// Like `copy`, and the others are removed.
        Move = "move",
        /// The first one is written, the others are read.
        Pack = "pack",
        /// Like `copy`, but `host:path` is a file on another machine.
        Remote = "remote",
        /// Files whose names are listed.
        List = "list",
        /// The directories that `find` searches.
        Found = "found",
        /// Operators and operands of a test: `-f x`.
        Tests = "tests",
        /// Revisions, and paths that are read. After `--` there are only paths.
        History = "history",
        /// Like `history`, but a word that may be either counts as a path.
        Diff = "diff",
        /// A revision, and paths that are read; without a path, everything below the current directory.
        Archive = "archive",
        /// Revisions, and paths that are written.
        Checkout = "checkout",
        /// Subcommands and revisions, and after `--` paths that are read and written.
        Stash = "stash",
        /// Paths of a checkout that are written.
        Restored = "restored",
        /// Paths of a checkout that are listed.
        Tracked = "tracked",
        /// The first one is written; the others are no files.
        First = "first",
        /// The repository that is copied, and the directory that is written; its default is the last part of
        /// the address.
        Clone = "clone",
        /// The first one is a repository that is read, if it is a path and no name.
        Source = "source",
        /// The first one is a repository that is written, if it is a path and no name.
        Sink = "sink",
        /// Patches, which name the files that are changed; without one, standard input.
        Patch = "patch",
        /// The file that is changed and the patch; without operands, a patch that names the files.
        Patched = "patched",
        /// Web addresses.
        Web = "web",
        /// Names with values: `dd if=x of=y`.
        Assignments = "assignments",
        /// Options as whole words, with any number of dashes: `openssl enc -in x`.
        Words = "words",
        /// The operands of `tar`.
        Tar = "tar",
    }
}

/// The arguments of a program, or of some of its subcommands. An option without a value must not be listed
/// as one with a value: it would hide the file after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperandRow {
    /// The subcommands that the row applies to; empty for all.
    pub(crate) subcommands: WordList,
    /// What the operands are.
    pub(crate) kind: OperandKind,
    /// How many operands come first that are no files: a pattern, a mode.
    pub(crate) skip: usize,
    /// Options that replace those skipped operands.
    pub(crate) instead: WordList,
    /// Options with a value that is no file.
    pub(crate) valued: WordList,
    /// Options with a file that is read.
    pub(crate) reads: WordList,
    /// Options with a file that is written.
    pub(crate) writes: WordList,
    /// Options that make the command write its operands as well.
    pub(crate) in_place: WordList,
    /// Options with two values, a name and then the value.
    pub(crate) named: WordList,
    /// The directory that is used without an operand, if the program walks.
    pub(crate) here: WordList,
    /// Options that stand for every file below the current directory.
    pub(crate) whole: WordList,
    /// Options with which nothing is written: what the command would write is only listed.
    pub(crate) dry: WordList,
}

impl Default for OperandRow {
    fn default() -> Self {
        let none = WordList::default();
        Self {
            subcommands: none,
            kind: OperandKind::Nothing,
            skip: 0,
            instead: none,
            valued: none,
            reads: none,
            writes: none,
            in_place: none,
            named: none,
            here: none,
            whole: none,
            dry: none,
        }
    }
}

/// Lists the files and addresses in `argv`, as far as the rows of its program describe them.
pub(crate) fn files(facts: &ProgramFacts, argv: &[ShellArg]) -> Vec<UsedFile> {
    let Some((row, words)) = described(facts, argv) else { return Vec::new() };
    let words = words.as_ref();
    match row.kind {
        OperandKind::Assignments => assigned(row, words),
        OperandKind::Words => behind_words(row, words),
        OperandKind::Tar => tar::files(words),
        OperandKind::Tests => tested(words),
        OperandKind::Found => searched(words),
        _ => OperandReader::new(facts, row).read(argv, words),
    }
}

/// Returns the row about the arguments of a command, and the words that it describes.
fn described<'f, 'a>(
    facts: &'f ProgramFacts,
    argv: &'a [ShellArg],
) -> Option<(&'f OperandRow, Cow<'a, [ShellArg]>)> {
    let of_all = facts.operands.iter().find(|row| row.subcommands.is_empty());
    match of_all {
        Some(row) => Some((row, Cow::Borrowed(argv.get(1..).unwrap_or_default()))),
        None => row_of(facts, argv, subcommand(facts.name, argv)?),
    }
}

/// Returns the row of the subcommand at `at`, and the words that it describes. A row for `worktree/add` takes
/// precedence over one for `worktree`; the word `add` is then no operand.
fn row_of<'f, 'a>(
    facts: &'f ProgramFacts,
    argv: &'a [ShellArg],
    at: usize,
) -> Option<(&'f OperandRow, Cow<'a, [ShellArg]>)> {
    let verb = argv.get(at)?.literal().unwrap_or_default();
    let rest = argv.get(at + 1..).unwrap_or_default();
    let row = |name: &str| facts.operands.iter().find(|row| row.subcommands.has(name));
    let inner = rest.iter().position(|arg| !start(arg).starts_with('-'));
    let inner = inner.and_then(|place| {
        let row = row(&format!("{verb}/{}", rest.get(place)?.literal()?))?;
        let (before, after) = rest.split_at_checked(place)?;
        Some((row, Cow::Owned([before, after.get(1..).unwrap_or_default()].concat())))
    });
    inner.or_else(|| Some((row(verb)?, Cow::Borrowed(rest))))
}

/// Whether a program reads everything in a directory that it is given. `texts` is the literal start of each
/// argument.
pub(crate) fn walks(facts: &ProgramFacts, texts: &[&str]) -> bool {
    let rest = texts.get(1..).unwrap_or_default();
    facts.walks.has("always")
        || facts
            .walks
            .iter()
            .filter_map(HazardSign::read)
            .any(|sign| found(sign, rest, DashMeaning::EndAfterOperand, false))
}

/// Reads the operands of `test`: files after an operator with one operand, and around one with two.
fn tested(words: &[ShellArg]) -> Vec<UsedFile> {
    let is_unary = |text: &str| {
        let letter = text.strip_prefix('-').filter(|letter| letter.len() == 1);
        letter.is_some_and(|letter| "abcdefghkprsuwxGLNOS".contains(letter))
    };
    let literal = |at: usize| words.get(at).and_then(ShellArg::literal).unwrap_or_default();
    let is_compared = |at: usize| matches!(literal(at), "-nt" | "-ot" | "-ef");
    let is_file = |at: &usize| {
        let before = at.checked_sub(1);
        let follows = before.is_some_and(|before| is_unary(literal(before)) || is_compared(before));
        // In `[ -f = x ]` the first word is no operator, but it is treated as one.
        follows || is_compared(at + 1)
    };
    let files = (0..words.len()).filter(is_file).filter_map(|at| words.get(at));
    files.map(|arg| (FileUse::Test, arg.word().clone())).collect()
}

/// Reads the directories of `find`, which come before its conditions.
fn searched(words: &[ShellArg]) -> Vec<UsedFile> {
    let is_start = |arg: &&ShellArg| !start(arg).starts_with(['-', '(', '!']);
    let mut starts: Vec<ShellWord> =
        words.iter().take_while(is_start).map(|arg| arg.word().clone()).collect();
    if starts.is_empty() {
        starts.push(ShellWord::text("."));
    }
    let mut found: Vec<UsedFile> = starts.into_iter().map(|word| (FileUse::List, word)).collect();
    let mut taken: Option<&[ShellArg]> = None;
    for (at, arg) in words.iter().enumerate() {
        match arg.literal() {
            Some("-delete") => taken = taken.or(words.get(..at)),
            Some("-fprint" | "-fprint0" | "-fprintf" | "-fls") => {
                let file = words.get(at + 1).map(|file| (FileUse::Write, file.word().clone()));
                found.extend(file);
            }
            Some("-files0-from") => {
                let list = words.get(at + 1).map(|list| (FileUse::Read, list.word().clone()));
                found.extend(list);
            }
            _ => {}
        }
    }
    // What the conditions before `-delete` find is removed.
    let removed = taken.map(|before| found_paths(before).unwrap_or_else(|| vec![ShellWord::any()]));
    found.extend(removed.into_iter().flatten().map(|word| (FileUse::Write, word)));
    found
}

/// Reads values of the form `dd if=x of=y`.
fn assigned(row: &OperandRow, words: &[ShellArg]) -> Vec<UsedFile> {
    let value =
        |options: WordList, arg: &ShellArg| options.iter().find_map(|name| behind(arg, name));
    let word = |arg: &ShellArg| {
        let read = value(row.reads, arg).map(|word| (FileUse::Read, word));
        read.or_else(|| value(row.writes, arg).map(|word| (FileUse::Write, word)))
    };
    words.iter().filter_map(word).collect()
}

/// Reads values of the form `openssl enc -in x -out y`.
fn behind_words(row: &OperandRow, words: &[ShellArg]) -> Vec<UsedFile> {
    let pairs = words.iter().zip(words.iter().skip(1));
    let used = pairs.filter_map(|(option, value)| {
        let option = option.literal()?.trim_start_matches('-');
        let read = row.reads.has(option).then_some(FileUse::Read);
        let written = row.writes.has(option).then_some(FileUse::Write);
        Some((read.or(written)?, value.word().clone()))
    });
    used.collect()
}

/// How options change what a command writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    /// They do not.
    Usual,
    /// The operands are written as well.
    InPlace,
    /// Nothing is written.
    Dry,
}

/// Reads the arguments of one command by one row.
struct OperandReader<'a> {
    facts: &'a ProgramFacts,
    row: &'a OperandRow,
    operands: Vec<ShellWord>,
    /// How many operands come before a bare `--`.
    dashes: Option<usize>,
    found: Vec<UsedFile>,
    skip: usize,
    mode: WriteMode,
    /// Whether an option names the target directory of the operands.
    has_target: bool,
    /// Whether symbolic links are made, so that a path is stored and no file is copied.
    is_symbolic: bool,
    patch: PatchOptions,
}

impl<'a> OperandReader<'a> {
    fn new(facts: &'a ProgramFacts, row: &'a OperandRow) -> Self {
        let (operands, found) = (Vec::new(), Vec::new());
        Self {
            facts,
            row,
            operands,
            dashes: None,
            found,
            skip: row.skip,
            mode: WriteMode::Usual,
            has_target: false,
            is_symbolic: false,
            patch: PatchOptions::of(row.kind),
        }
    }

    fn read(mut self, argv: &[ShellArg], words: &[ShellArg]) -> Vec<UsedFile> {
        let mut rest = words.iter();
        let mut is_ended = false;
        while let Some(arg) = rest.next() {
            let start = start(arg);
            if is_ended || !start.starts_with('-') || start == "-" {
                self.operands.push(arg.word().clone());
            } else if arg.literal() == Some("--") {
                is_ended = true;
                self.dashes = Some(self.operands.len());
            } else if start.starts_with("--") {
                self.long(arg, &mut rest);
            } else {
                self.short(arg, &mut rest);
            }
        }
        let is_alone = self.operands.len() <= self.skip;
        if let Some(here) = self.row.here.iter().next().filter(|_| is_alone) {
            let texts: Vec<&str> = argv.iter().map(start).collect();
            if self.row.kind == OperandKind::List || walks(self.facts, &texts) {
                self.operands.resize(self.skip, ShellWord::default());
                self.operands.push(ShellWord::text(here));
            }
        }
        // `--no-dry-run` takes a `-n` back, and `--apply` a `--stat`: any option of that form makes it doubtful.
        let is_undone = |arg: &ShellArg| start(arg).starts_with("--no") || start(arg) == "--apply";
        let is_undone = words.iter().any(is_undone);
        let is_dry = self.mode == WriteMode::Dry && !is_undone;
        let mut found = self.finish();
        let is_written = |used: FileUse| used.is_write() || matches!(used, FileUse::Patch { .. });
        let written = found.iter_mut().filter(|(used, _)| is_dry && is_written(*used));
        written.for_each(|(used, _)| *used = FileUse::List);
        found
    }

    fn long<'w>(&mut self, arg: &ShellArg, rest: &mut impl Iterator<Item = &'w ShellArg>) {
        let text = start(arg).to_owned();
        match text.split_once('=') {
            Some((name, _)) => {
                let value = behind(arg, &format!("{name}="));
                self.option(name, value);
            }
            None if self.takes_value(&text) => {
                if self.row.named.has(&text) {
                    rest.next();
                }
                let value = rest.next().map(ShellArg::word).cloned();
                self.option(&text, value);
            }
            None => self.option(&text, None),
        }
    }

    fn short<'w>(&mut self, arg: &ShellArg, rest: &mut impl Iterator<Item = &'w ShellArg>) {
        let text = start(arg).to_owned();
        for (at, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            let end = at + letter.len_utf8();
            if self.row.in_place.has(&name) {
                // The rest of the word is the backup suffix: `sed -i.bak`.
                return self.option(&name, None);
            }
            if self.takes_value(&name) {
                let joined = behind(arg, text.get(..end).unwrap_or_default());
                let value = joined.filter(|value| !value.pieces.is_empty());
                let value = value.or_else(|| rest.next().map(ShellArg::word).cloned());
                return self.option(&name, value);
            }
            self.option(&name, None);
        }
    }

    fn takes_value(&self, name: &str) -> bool {
        let OperandRow { valued, reads, writes, .. } = self.row;
        [valued, reads, writes].iter().any(|options| options.has(name))
    }

    fn option(&mut self, name: &str, value: Option<ShellWord>) {
        if self.row.instead.has(name) {
            self.skip = 0;
        }
        if self.row.in_place.has(name) {
            self.mode = WriteMode::InPlace;
        } else if self.row.dry.has(name) {
            self.mode = WriteMode::Dry;
        }
        // git accepts abbreviations.
        let is_whole = |option: &str| name.len() > 10 && option.starts_with(name);
        if self.row.whole.has(name) || self.row.whole.iter().any(is_whole) {
            self.operands.push(ShellWord::text("."));
        }
        self.is_symbolic |=
            matches!(name, "-s" | "--symbolic") && self.facts.has(ProgramTrait::Links);
        let Some(value) = value else { return };
        self.patch.option(name, &value);
        if self.row.writes.has(name) {
            self.has_target |= matches!(name, "-t" | "--target-directory");
            self.found.push((FileUse::Write, value));
        } else if name == "-L" && self.row.kind == OperandKind::History {
            // `-L 1,5:file` and `-L :function:file`.
            self.found.extend(git::file_of_range(&value).map(|file| (FileUse::Read, file)));
        } else if self.row.reads.has(name) {
            let is_marked = self.facts.has(ProgramTrait::AtFiles);
            let file = if is_marked { marked_file(name, &value) } else { Some(value) };
            self.found.extend(file.map(|file| (FileUse::Read, file)));
        }
    }

    fn finish(mut self) -> Vec<UsedFile> {
        let operands: Vec<ShellWord> = self.operands.drain(..).skip(self.skip).collect();
        let count = operands.len();
        if self.is_symbolic && !self.has_target {
            return links(&operands);
        }
        let before = self.dashes.map(|dashes| dashes.saturating_sub(self.skip));
        self.found.extend(git::uses(self.row.kind, &operands, before));
        self.found.extend(repository::uses(self.row.kind, &operands));
        self.found.extend(std::mem::take(&mut self.patch).uses(self.row.kind, &operands));
        for (at, word) in operands.into_iter().enumerate() {
            // With only one operand, or a target option, no operand is the destination.
            let is_last = at + 1 == count && count > 1 && !self.has_target;
            if self.row.kind == OperandKind::Remote && is_remote(&word) {
                continue;
            }
            let uses = self.uses(at == 0, is_last);
            self.found.extend(uses.iter().map(|used| (*used, word.clone())));
        }
        self.found
    }

    /// Returns how an operand is used, by its position.
    fn uses(&self, is_first: bool, is_last: bool) -> &'static [FileUse] {
        match self.row.kind {
            OperandKind::Read if self.mode == WriteMode::InPlace => {
                &[FileUse::Read, FileUse::Write]
            }
            OperandKind::List => &[FileUse::List],
            OperandKind::Write => &[FileUse::Write],
            OperandKind::Copy | OperandKind::Remote | OperandKind::Move if is_last => {
                &[FileUse::Write]
            }
            OperandKind::Pack | OperandKind::First if is_first => &[FileUse::Write],
            OperandKind::Read | OperandKind::Copy | OperandKind::Remote | OperandKind::Pack => {
                &[FileUse::Read]
            }
            OperandKind::Move | OperandKind::Both => &[FileUse::Read, FileUse::Write],
            OperandKind::Web => &[FileUse::Fetch],
            // The other kinds are read elsewhere.
            _ => &[],
        }
    }
}

/// Reads `ln -s target link`: the target is relative to the directory of the link. If `link` is a directory,
/// the link is made inside it, and the target is relative to that.
fn links(operands: &[ShellWord]) -> Vec<UsedFile> {
    let Some((link, targets)) = operands.split_last() else { return Vec::new() };
    let mut found = vec![(FileUse::Write, link.clone())];
    let inside = link.start().to_owned();
    let beside = inside.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
    for target in targets {
        let is_known = link.literal().is_some() && !target.start().starts_with('/');
        let from = |directory: &str| {
            if directory.is_empty() && !inside.starts_with('/') {
                return target.clone();
            }
            tar::below(directory, target)
        };
        // If `link` is a directory, the target is relative to it.
        if is_known {
            found.push((FileUse::Read, from(&beside)));
            found.push((FileUse::MayRead, from(&inside)));
        } else {
            found.push((FileUse::Read, target.clone()));
        }
    }
    // A single operand is the target; the link is made in the current directory.
    if targets.is_empty() {
        found.push((FileUse::Read, link.clone()));
    }
    found
}

/// Returns the file in the value of an option of `curl`: `@file`, `name=@file`, `name@file`.
fn marked_file(name: &str, value: &ShellWord) -> Option<ShellWord> {
    let text = value.start();
    match name {
        "-d" | "--data" | "--data-binary" | "--data-ascii" | "--json" => without(value, "@"),
        "--data-raw" => None,
        "-F" | "--form" => {
            let (name, file) = text.split_once('=')?;
            let file = file.strip_prefix(['@', '<'])?;
            // `curl -F` accepts attributes after the file: `@file;type=text/plain`.
            let end = file.find(';').unwrap_or(file.len());
            match value.literal() {
                Some(_) => Some(ShellWord::text(file.get(..end).unwrap_or_default())),
                None => without(value, text.get(..name.len() + 2)?),
            }
        }
        "--data-urlencode" | "--variable" => {
            let (name, _) = text.split_once('@')?;
            without(value, &format!("{name}@"))
        }
        // A cookie with `=` is the cookie itself; without it, the name of a file.
        "-b" | "--cookie" if text.contains('=') => None,
        _ => Some(value.clone()),
    }
}

/// Whether a word has the form `host:path`.
fn is_remote(word: &ShellWord) -> bool {
    let text = word.start();
    let host = text.split('/').next().unwrap_or_default();
    host.contains(':')
}

/// Returns the literal text that an argument starts with.
fn start(arg: &ShellArg) -> &str {
    arg.word().start()
}

fn behind(arg: &ShellArg, prefix: &str) -> Option<ShellWord> {
    without(arg.word(), prefix)
}

/// Returns the word without a literal prefix, or `None` if it does not start with it.
fn without(word: &ShellWord, prefix: &str) -> Option<ShellWord> {
    let (WordPiece::Text(text), rest) = word.pieces.split_first()? else { return None };
    let text = text.strip_prefix(prefix)?;
    let own = (!text.is_empty()).then(|| WordPiece::Text(text.to_owned()));
    Some(ShellWord { pieces: own.into_iter().chain(rest.iter().cloned()).collect() })
}

#[cfg(test)]
mod tests;
