//! Finds words that may be files in the arguments of a command that no row describes: `unknown -f .env`.
//!
//! What the program does with them is not known. So they only count where they name a file that a rule or the
//! table of secrets is about.

use super::{FileUse, UsedFile, described, start};
use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::program::{FileRow, ProgramFacts, ProgramTrait};

/// Marks with which many programs read a value from a file: `@file`, `name=:file`.
const MARKS: [char; 4] = ['@', ':', '%', '<'];
/// Addresses of files on this machine; the second one is that of the client of AWS.
const SCHEMES: [&str; 2] = ["file://", "fileb://"];

/// Lists the words of `argv` that may be files, unless the arguments of its program are described.
pub(crate) fn possible_files(facts: Option<&ProgramFacts>, argv: &[ShellArg]) -> Vec<UsedFile> {
    if facts.is_some_and(|facts| is_described(facts, argv)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut before = "";
    for arg in argv.iter().skip(1) {
        let text = start(arg);
        let (option, value) = option_value(text);
        if !value.is_empty() {
            // `-o format=file` names a file that is read.
            let is_named = option.is_empty() && value.contains('=');
            let used = use_behind(if option.is_empty() { before } else { option });
            let used = if is_named { FileUse::MayRead } else { used };
            found.extend(file_in(arg.word(), value).map(|word| (used, word)));
        }
        before = if value.is_empty() { text } else { "" };
    }
    found
}

/// Whether it is known which arguments are files, or that none is.
fn is_described(facts: &ProgramFacts, argv: &[ShellArg]) -> bool {
    const BUILTINS: [ProgramTrait; 7] = [
        ProgramTrait::ChangesDirectory,
        ProgramTrait::Declares,
        ProgramTrait::ForgetsVariables,
        ProgramTrait::FreeBuiltin,
        ProgramTrait::OpaqueBuiltin,
        ProgramTrait::Raises,
        ProgramTrait::SetsVariables,
    ];
    // The command behind a wrapper is judged by itself.
    let is_wrapper = || {
        facts.wrappers.iter().any(|row| row.subcommands.is_empty())
            || facts.runners.iter().any(|row| row.subcommand.is_empty())
    };
    let only_prints = || facts.operands.is_empty() && facts.file_row(None) == Some(FileRow::Reads);
    facts.shell.is_some()
        || facts.syntax.is_some()
        || BUILTINS.iter().any(|builtin| facts.has(*builtin))
        || is_wrapper()
        || only_prints()
        || described(facts, argv).is_some()
}

/// Splits `--name=value` and `-xvalue`; the value of an option alone is empty.
fn option_value(text: &str) -> (&str, &str) {
    if !text.starts_with('-') {
        return ("", text);
    }
    if let Some((name, value)) = text.split_once('=') {
        return (name, value);
    }
    // A long option with one dash looks like a letter with its value, which does no harm.
    let end = text.char_indices().nth(2).map_or(text.len(), |(at, _)| at);
    if text.starts_with("--") { (text, "") } else { text.split_at(end) }
}

/// Returns how the value of an option is used, judging by its name.
fn use_behind(option: &str) -> FileUse {
    let name = option.trim_start_matches('-');
    let is_output = option == "-o"
        || (option != name && (name.starts_with("out") || name.starts_with("dest")))
        || name.ends_with("log-file")
        || name.ends_with("logfile");
    if is_output { FileUse::MayWrite } else { FileUse::MayRead }
}

/// Returns the file that a word may name; `value` is the end of its literal start.
fn file_in(word: &ShellWord, value: &str) -> Option<ShellWord> {
    let value = value.split_once('=').map_or(value, |(_, value)| value);
    let value = value.trim_start_matches(MARKS);
    let path = SCHEMES.iter().find_map(|scheme| value.strip_prefix(scheme)).unwrap_or(value);
    // Sentences and other addresses are no files.
    if path.is_empty() || path.contains("://") || path.contains(char::is_whitespace) {
        return None;
    }
    let first = WordPiece::Text(path.to_owned());
    let others = word.pieces.iter().skip(1).cloned();
    Some(ShellWord { pieces: std::iter::once(first).chain(others).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::program;

    fn shown(line: &str) -> String {
        let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
        let facts = program(line.split(' ').next().unwrap_or_default());
        let uses = possible_files(facts, &argv);
        let uses = uses.iter().map(|(used, word)| {
            let mark = if used.is_write() { ')' } else { '(' };
            format!("{mark}{}", word.literal().unwrap_or("?"))
        });
        uses.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_of_unknown_commands_may_be_files() {
        let cases = [
            ("unknown a -f b", "(a (b"),
            ("unknown -fa --from=b", "(a (b"),
            ("unknown -o a --output b --outfile=c", ")a )b )c"),
            ("unknown --log-file a b", ")a (b"),
            ("unknown x=@a y=:b @c", "(a (b (c"),
            ("unknown file:///a fileb://b https://c/d", "(/a (b"),
            ("unknown -- a", "(a"),
            ("unknown -o x=a", "(a"),
            // Described arguments, and programs that read none.
            ("cat a", ""),
            ("echo a", ""),
            ("export X=a", ""),
            ("nohup cat a", ""),
            ("git check-ignore a", ""),
            ("cd a", ""),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
