//! Finds the arguments of a command that are files it reads or writes, or web addresses, so that rules about
//! files also apply to `cat .env`.

mod tar;

use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::options::subcommand;
use crate::program::{ProgramFacts, ProgramTrait, WordList, words};

/// How a command uses a file or an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// The contents of the file are read.
    Read,
    /// The file is created, changed or deleted.
    Write,
    /// The address is fetched.
    Fetch,
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
        /// Files after a revision: `HEAD:.env`.
        Revision = "revision",
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
        }
    }
}

/// Lists the files and addresses in `argv`, as far as the rows of its program describe them.
pub(crate) fn files(facts: &ProgramFacts, argv: &[ShellArg]) -> Vec<UsedFile> {
    let of_all = || facts.operands.iter().find(|row| row.subcommands.is_empty());
    let rest = argv.get(1..).unwrap_or_default();
    let (row, words) = match of_all() {
        Some(row) => (row, rest),
        None => {
            let Some(at) = subcommand(facts.name, argv) else { return Vec::new() };
            let verb = argv.get(at).and_then(ShellArg::literal).unwrap_or_default();
            let row = facts.operands.iter().find(|row| row.subcommands.has(verb));
            let Some(row) = row else { return Vec::new() };
            (row, argv.get(at + 1..).unwrap_or_default())
        }
    };
    match row.kind {
        OperandKind::Assignments => assigned(row, words),
        OperandKind::Words => behind_words(row, words),
        OperandKind::Tar => tar::files(words),
        _ => OperandReader::new(facts, row).read(words),
    }
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
        Some((read.or(written)?, word_of(value).clone()))
    });
    used.collect()
}

/// Reads the arguments of one command by one row.
struct OperandReader<'a> {
    facts: &'a ProgramFacts,
    row: &'a OperandRow,
    operands: Vec<ShellWord>,
    found: Vec<UsedFile>,
    skip: usize,
    in_place: bool,
    /// Whether an option names the target directory of the operands.
    has_target: bool,
    /// Whether symbolic links are made, so that a path is stored and no file is copied.
    is_symbolic: bool,
}

impl<'a> OperandReader<'a> {
    fn new(facts: &'a ProgramFacts, row: &'a OperandRow) -> Self {
        let (operands, found) = (Vec::new(), Vec::new());
        Self {
            facts,
            row,
            operands,
            found,
            skip: row.skip,
            in_place: false,
            has_target: false,
            is_symbolic: false,
        }
    }

    fn read(mut self, words: &[ShellArg]) -> Vec<UsedFile> {
        let mut rest = words.iter();
        let mut is_ended = false;
        while let Some(arg) = rest.next() {
            let start = start(arg);
            if is_ended || !start.starts_with('-') || start == "-" {
                self.operands.push(word_of(arg).clone());
            } else if arg.literal() == Some("--") {
                is_ended = true;
            } else if start.starts_with("--") {
                self.long(arg, &mut rest);
            } else {
                self.short(arg, &mut rest);
            }
        }
        self.finish()
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
                let value = rest.next().map(word_of).cloned();
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
                let value = value.or_else(|| rest.next().map(word_of).cloned());
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
        self.in_place |= self.row.in_place.has(name);
        self.is_symbolic |=
            matches!(name, "-s" | "--symbolic") && self.facts.has(ProgramTrait::Links);
        let Some(value) = value else { return };
        if self.row.writes.has(name) {
            self.has_target |= matches!(name, "-t" | "--target-directory");
            self.found.push((FileUse::Write, value));
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
        for (at, word) in operands.into_iter().enumerate() {
            // With only one operand, or a target option, no operand is the destination.
            let is_last = at + 1 == count && count > 1 && !self.has_target;
            let uses: &[FileUse] = match self.row.kind {
                OperandKind::Nothing
                | OperandKind::Assignments
                | OperandKind::Words
                | OperandKind::Tar => &[],
                OperandKind::Read | OperandKind::Revision if !self.in_place => &[FileUse::Read],
                OperandKind::Read | OperandKind::Revision | OperandKind::Both => {
                    &[FileUse::Read, FileUse::Write]
                }
                OperandKind::Write => &[FileUse::Write],
                OperandKind::Copy | OperandKind::Remote | OperandKind::Move if is_last => {
                    &[FileUse::Write]
                }
                OperandKind::Pack if at == 0 => &[FileUse::Write],
                OperandKind::Copy | OperandKind::Remote | OperandKind::Pack => &[FileUse::Read],
                OperandKind::Move => &[FileUse::Read, FileUse::Write],
                OperandKind::Web => &[FileUse::Fetch],
            };
            let word = match self.row.kind {
                OperandKind::Remote if is_remote(&word) => continue,
                OperandKind::Revision => match path_of(&word) {
                    Some(path) => path,
                    None => continue,
                },
                _ => word,
            };
            self.found.extend(uses.iter().map(|used| (*used, word.clone())));
        }
        self.found
    }
}

/// Reads `ln -s target link`: the target is relative to the directory of the link. If `link` is a directory,
/// the link is made inside it, and the target is relative to that.
fn links(operands: &[ShellWord]) -> Vec<UsedFile> {
    let Some((link, targets)) = operands.split_last() else { return Vec::new() };
    let mut found = vec![(FileUse::Write, link.clone())];
    let inside = first(link).to_owned();
    let beside = inside.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
    for target in targets {
        let is_known = link.literal().is_some() && !first(target).starts_with('/');
        let from = |directory: &str| {
            if directory.is_empty() && !inside.starts_with('/') {
                return target.clone();
            }
            tar::below(directory, target)
        };
        // Whether `link` is a directory is unknown, so both possible targets count as read.
        if is_known {
            found.extend([&beside, &inside].map(|directory| (FileUse::Read, from(directory))));
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
    let text = first(value);
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
    let text = first(word);
    let host = text.split('/').next().unwrap_or_default();
    host.contains(':')
}

/// Returns the path after a revision: `HEAD:path`.
fn path_of(word: &ShellWord) -> Option<ShellWord> {
    let text = first(word);
    let (revision, _) = text.split_once(':')?;
    without(word, &format!("{revision}:"))
}

fn word_of(arg: &ShellArg) -> &ShellWord {
    let (ShellArg::One(word) | ShellArg::Some(word) | ShellArg::Many(word)) = arg;
    word
}

/// Returns the literal text that an argument starts with.
fn start(arg: &ShellArg) -> &str {
    first(word_of(arg))
}

fn first(word: &ShellWord) -> &str {
    match word.pieces.first() {
        Some(WordPiece::Text(text)) => text,
        _ => "",
    }
}

fn behind(arg: &ShellArg, prefix: &str) -> Option<ShellWord> {
    without(word_of(arg), prefix)
}

/// Returns the word without a literal prefix, or `None` if it does not start with it.
fn without(word: &ShellWord, prefix: &str) -> Option<ShellWord> {
    let (WordPiece::Text(text), rest) = word.pieces.split_first()? else { return None };
    let text = text.strip_prefix(prefix)?;
    let own = (!text.is_empty()).then(|| WordPiece::Text(text.to_owned()));
    Some(ShellWord { pieces: own.into_iter().chain(rest.iter().cloned()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::program;

    #[test]
    fn files_among_arguments() {
        let cases = [
            ("cat a -n b", "<a <b"),
            ("cat -- -a", "<-a"),
            ("head -n 5 a", "<a"),
            ("head -n5 a", "<a"),
            ("head -5 a", "<a"),
            ("grep -rn x a", "<a"),
            ("grep -E x a", "<a"),
            ("grep -r x a", "<a"),
            ("grep -T x a", "<a"),
            ("rg -g b x a", "<a"),
            ("od -c a", "<a"),
            ("cut -f1 -s a", "<a"),
            ("paste -s a", "<a"),
            ("cp --backup a b", "<a >b"),
            ("cp --preserve a b", "<a >b"),
            ("mv --backup a b", "<a >a >b"),
            ("git diff -W a", "<a"),
            ("git diff --stat a", "<a"),
            ("git diff -M a", "<a"),
            ("curl -n u", "^u"),
            ("mkdir -Z a", ">a"),
            ("base64 -w 0 a", "<a"),
            ("tar cf - -C /x a b", "<a <b </x/a </x/b"),
            ("tar cf x.tgz --directory=/x a", ">x.tgz <a </x/a"),
            ("grep -e x a", "<a"),
            ("grep -f p a", "<p <a"),
            ("grep -A 3 -e x a", "<a"),
            ("sed -n 1,2p a", "<a"),
            ("sed -i.bak s/a/b/ a", "<a >a"),
            ("awk -F: {print} a", "<a"),
            ("jq --rawfile x a . b", "<a <b"),
            ("cp a b c", "<a <b >c"),
            ("cp -t d a", ">d <a"),
            ("mv a b", "<a >a >b"),
            ("ln a b", "<a >b"),
            ("ln -s ../a b/c", ">b/c <b/../a <b/c/../a"),
            ("ln -s a b", ">b <a <b/a"),
            ("ln -s a", ">a <a"),
            ("ln -s /a b", ">b </a"),
            ("dd if=a of=b", "<a >b"),
            ("tar czf a b c", ">a <b <c"),
            ("tar -c -f a b", ">a <b"),
            ("tar xf a b", "<a"),
            ("tar c a", "<a"),
            ("zip a b", ">a <b"),
            ("chmod +x a", ">a"),
            ("curl -d @a -o b u", "<a >b ^u"),
            ("curl -F x=@a;type=b u", "<a ^u"),
            ("curl -X POST -d a=b u", "^u"),
            ("wget -qO- u", ">- ^u"),
            ("git diff --no-index a b", "<a <b"),
            ("git -C x show HEAD:a", "<a"),
            ("git show HEAD", ""),
            ("git commit -m a -F b", "<b"),
            ("scp a h:b", "<a"),
            ("scp h:b a", ">a"),
            ("openssl enc -in a -out b", "<a >b"),
            ("tee a b", ">a >b"),
            ("sort -o a b", ">a <b"),
        ];
        for (line, expected) in cases {
            let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
            let shown = files(program(argv[0].literal().unwrap()).unwrap(), &argv).into_iter().map(
                |(used, word)| {
                    let mark = match used {
                        FileUse::Read => '<',
                        FileUse::Write => '>',
                        FileUse::Fetch => '^',
                    };
                    format!("{mark}{}", word.literal().unwrap_or("?"))
                },
            );
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{line}");
        }
    }
}
