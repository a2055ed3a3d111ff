//! Finds the files of `tar`, whose option letters come first with or without a dash.

use super::{FileUse, UsedFile, behind};
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// How many `-C` directories are combined with the members; with more, any file may be read.
const MAX_DIRECTORIES: usize = 4;

/// Lists the archive and the files that go into it.
pub(super) fn files(words: &[ShellArg]) -> Vec<UsedFile> {
    let creates = has_mode(words, &['c', 'r', 'u'], &["--create", "--append", "--update"]);
    let extracts = has_mode(words, &['x'], &["--extract", "--get"]);
    let mut tar = TarFiles { creates, extracts, ..TarFiles::default() };
    let mut before = String::new();
    for (at, arg) in words.iter().enumerate() {
        // The previous word asks for a value: `-f archive`, `-C directory`.
        let takes_value = before.ends_with(['f', 'C']) || is_long_value(&before);
        if let Some(letters) = letters(at, arg).filter(|_| !takes_value) {
            if let Some(directory) = letters.strip_prefix('C').filter(|it| !it.is_empty()) {
                tar.directory(&ShellWord::text(directory));
            }
            before = letters;
            continue;
        }
        match arg.literal().filter(|word| word.starts_with("--")) {
            Some(long) => {
                tar.joined(arg);
                long.clone_into(&mut before);
            }
            None => {
                tar.word(arg, &before);
                before.clear();
            }
        }
    }
    tar.finish()
}

#[derive(Default)]
struct TarFiles {
    creates: bool,
    extracts: bool,
    found: Vec<UsedFile>,
    members: Vec<ShellWord>,
    directories: Vec<String>,
}

impl TarFiles {
    fn word(&mut self, arg: &ShellArg, before: &str) {
        let word = arg.word();
        if before.ends_with('C') || before == "--directory" {
            self.directory(word);
        } else if before.ends_with('f') || before == "--file" {
            self.archive(word.clone());
        } else if self.creates {
            self.members.push(word.clone());
        }
    }

    fn joined(&mut self, arg: &ShellArg) {
        if let Some(word) = behind(arg, "--file=") {
            self.archive(word);
        }
        if let Some(word) = behind(arg, "--directory=") {
            self.directory(&word);
        }
    }

    /// Records a directory that files are read from or unpacked to.
    fn directory(&mut self, word: &ShellWord) {
        self.directories.extend(word.literal().map(str::to_owned));
        if self.extracts {
            self.found.push((FileUse::Write, word.clone()));
        }
    }

    fn archive(&mut self, word: ShellWord) {
        // `-` is standard input or output.
        if word.literal() != Some("-") {
            self.found.push((if self.creates { FileUse::Write } else { FileUse::Read }, word));
        }
    }

    fn finish(mut self) -> Vec<UsedFile> {
        self.found.extend(self.members.iter().map(|word| (FileUse::Read, word.clone())));
        // Which `-C` a member belongs to depends on their order, which is not tracked: every pair counts.
        self.directories.sort();
        self.directories.dedup();
        if self.directories.len() > MAX_DIRECTORIES {
            self.found.push((FileUse::Read, ShellWord::any()));
            return self.found;
        }
        for directory in self.directories {
            let inside = self.members.iter().filter(|word| !word.start().starts_with('/'));
            let seen = inside.map(|word| (FileUse::Read, below(&directory, word)));
            self.found.extend(seen);
        }
        self.found
    }
}

/// Joins a directory and a word.
pub(super) fn below(directory: &str, word: &ShellWord) -> ShellWord {
    if let Some(name) = word.literal() {
        return ShellWord::text(format!("{directory}/{name}"));
    }
    let start = WordPiece::Text(format!("{directory}/"));
    ShellWord { pieces: std::iter::once(start).chain(word.pieces.iter().cloned()).collect() }
}

/// Whether one of these letters or long options selects the mode of `tar`.
fn has_mode(words: &[ShellArg], short: &[char], long: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, arg)| {
        let has_letter = letters(at, arg).is_some_and(|letters| letters.contains(short));
        has_letter || arg.literal().is_some_and(|word| long.contains(&word))
    })
}

/// Returns the letters of a word of short options; the first word needs no dash.
fn letters(at: usize, arg: &ShellArg) -> Option<String> {
    let word = arg.literal()?;
    match word.strip_prefix('-') {
        Some(rest) if rest.is_empty() || rest.starts_with('-') => None,
        Some(rest) => Some(rest.to_owned()),
        None => (at == 0).then(|| word.to_owned()),
    }
}

fn is_long_value(before: &str) -> bool {
    matches!(before, "--file" | "--directory")
}
