//! What programs print, so that the words of `$(find src -name '*.rs')` and the input of `xargs` are known.

use crate::argv::{ShellArg, ShellWord, WordPiece};
use crate::base_name;
use crate::data::program;
use crate::effects::effects;
use crate::operands::FileUse;
use crate::options::subcommand;
use crate::program::{WordList, words};

/// The words that a command prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrintedWords {
    /// A number.
    Number,
    /// A text that does not start with a dash.
    Label,
    /// Paths, one on each line; each is in one of the sets.
    Paths(Vec<ShellWord>),
}

words! {
    /// What a program prints, as written in a `prints:` row.
    PrintKind {
        /// A number.
        Number = "number",
        /// The name of a revision, a branch or a date, if no argument is printed.
        Label = "label",
        /// A revision: only names that cannot be files are printed as they are.
        Revision = "revision",
        /// Names of files at or below its operands.
        Paths = "paths",
        /// Names in the current directory, if there is no operand.
        Entries = "entries",
        /// What `find` finds.
        Found = "found",
    }
}

/// A `prints:` row: a kind, and the options of which one has to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrintRow {
    subcommands: WordList,
    kind: PrintKind,
    /// The kind and the options.
    words: WordList,
}

impl PrintRow {
    /// Parses the values of a row.
    pub(crate) fn read(subcommands: WordList, values: WordList) -> Option<Self> {
        let kind = PrintKind::read(values.iter().next()?)?;
        Some(Self { subcommands, kind, words: values })
    }

    fn options(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.words.iter().skip(1)
    }
}

/// Returns what a command prints, if this is clear from its arguments.
pub fn printed(argv: &[ShellArg]) -> Option<PrintedWords> {
    // A path such as `./find` may be any program.
    let name = argv.first().and_then(ShellArg::literal).filter(|name| base_name(name) == *name)?;
    let facts = program(name)?;
    let verb = subcommand(name, argv);
    let verb_text = verb.and_then(|at| argv.get(at)).and_then(ShellArg::literal);
    let is_own = |row: &&PrintRow| {
        row.subcommands.is_empty() || verb_text.is_some_and(|verb| row.subcommands.has(verb))
    };
    let row = facts.prints.iter().find(is_own)?;
    let after = if row.subcommands.is_empty() { 1 } else { verb? + 1 };
    let rest = argv.get(after..).unwrap_or_default();
    let has = |option: &str| rest.iter().any(|arg| arg.literal() == Some(option));
    if row.options().next().is_some() && !row.options().any(has) {
        return None;
    }
    match row.kind {
        PrintKind::Number => Some(PrintedWords::Number),
        PrintKind::Label => rest.iter().all(is_plain).then_some(PrintedWords::Label),
        PrintKind::Revision => {
            let is_verified = has("--verify") && rest.iter().all(is_plain);
            (is_verified || rest.iter().all(is_head)).then_some(PrintedWords::Label)
        }
        PrintKind::Paths => {
            let names_only = rest.iter().all(prints_only_names);
            names_only.then(|| PrintedWords::Paths(below_operands(argv)))
        }
        PrintKind::Entries => {
            let is_plain =
                |arg: &ShellArg| matches!(arg.literal(), Some("-1" | "-t" | "-r" | "-S"));
            let entry = ShellWord { pieces: vec![WordPiece::Segment] };
            rest.iter().all(is_plain).then(|| PrintedWords::Paths(vec![entry]))
        }
        PrintKind::Found => found_paths(rest).map(PrintedWords::Paths),
    }
}

/// Whether a command prints some lines of its input unchanged, and nothing else.
pub fn passes_lines(argv: &[ShellArg]) -> bool {
    let Some((name, rest)) = argv.split_first() else { return false };
    let literals: Option<Vec<&str>> = rest.iter().map(ShellArg::literal).collect();
    let (Some(name), Some(words)) = (name.literal(), literals) else { return false };
    let is_option = |word: &&&str| word.starts_with('-');
    match name {
        // `-c` would cut a line into pieces.
        "head" | "tail" => words.iter().all(|word| {
            let count = word.strip_prefix("-n").or_else(|| word.strip_prefix('-')).unwrap_or(word);
            count.bytes().all(|byte| byte.is_ascii_digit())
        }),
        "sort" | "uniq" | "tac" => {
            words.iter().all(|word| matches!(*word, "-u" | "-r" | "-n" | "-z" | "-V" | "-f"))
        }
        "grep" | "egrep" | "fgrep" => {
            let plain = ["-v", "-E", "-i", "-F", "-w", "-x", "-e", "-vE", "-Ev", "-iE", "-P"];
            let options = words.iter().filter(|word| is_option(word));
            options.clone().all(|word| plain.contains(word)) && words.len() == options.count() + 1
        }
        _ => false,
    }
}

/// Whether an argument is literal, and would not be printed as an option.
fn is_plain(arg: &ShellArg) -> bool {
    const OPTIONS: &[&str] = &[
        "--abbrev-ref",
        "--all",
        "--always",
        "--short",
        "--show-current",
        "--tags",
        "--verify",
        "-1",
        "-u",
        "--utc",
    ];
    let is_printable = |text: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"%_.:+/@~^=-".contains(&byte);
        // `%n` and `%t` are blanks, after which another word starts.
        text.bytes().all(is_known) && !text.contains("%n") && !text.contains("%t")
    };
    arg.literal().filter(|text| is_printable(text)).is_some_and(|text| {
        let is_format = text.strip_prefix('+').is_some_and(|format| !format.starts_with('-'));
        let is_option = OPTIONS.contains(&text) || text.starts_with("--abbrev=");
        is_option || is_format || text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
    })
}

/// Whether an argument of `git rev-parse` is `HEAD` or an option. Another word may be a file, which would be
/// printed as it is.
fn is_head(arg: &ShellArg) -> bool {
    arg.literal().is_some_and(|text| {
        let rest = text.strip_prefix("HEAD").or_else(|| text.strip_prefix('@'));
        let is_path = |byte: u8| byte.is_ascii_digit() || b"~^{}@".contains(&byte);
        let is_head = rest.is_some_and(|rest| rest.bytes().all(is_path));
        is_head || matches!(text, "--abbrev-ref" | "--short" | "--verify")
    })
}

/// Whether an argument leaves the printed names as they are. Other options may print other texts:
/// `git ls-files --format=x`, `grep -l --label=x`.
fn prints_only_names(arg: &ShellArg) -> bool {
    const OPTIONS: &[&str] = &[
        "--cached",
        "--deleted",
        "--exclude-standard",
        "--files",
        "--files-with-matches",
        "--files-without-match",
        "--hidden",
        "--ignore-case",
        "--modified",
        "--name-only",
        "--others",
        "--recursive",
        "--staged",
        "--",
    ];
    const VALUED: &[&str] =
        &["--diff-filter=", "--exclude=", "--exclude-dir=", "--glob=", "--include=", "--type="];
    let text = arg.word().start();
    let is_letters = text.strip_prefix('-').is_some_and(|letters| {
        letters.bytes().all(|byte| b"rRlLiwEFzImoceg".contains(&byte)) || letters == "t"
    });
    !text.starts_with('-') && (arg.literal().is_some() || !text.is_empty())
        || OPTIONS.contains(&text)
        || VALUED.iter().any(|option| text.starts_with(option))
        || is_letters
}

/// Returns the files at or below the operands of a command; without one, below the current directory.
fn below_operands(argv: &[ShellArg]) -> Vec<ShellWord> {
    let used = effects(argv).uses().into_iter();
    let operands = used.filter(|(used, _)| matches!(used, FileUse::Read | FileUse::List));
    let mut paths = Vec::new();
    for (_, word) in operands {
        paths.push(below(&word, &[WordPiece::Below]));
        paths.push(word);
    }
    if paths.is_empty() { vec![ShellWord { pieces: vec![WordPiece::Below] }] } else { paths }
}

fn below(directory: &ShellWord, names: &[WordPiece]) -> ShellWord {
    let mut pieces = directory.pieces.clone();
    match pieces.last_mut() {
        Some(WordPiece::Text(text)) if text.ends_with('/') => {}
        Some(WordPiece::Text(text)) => text.push('/'),
        _ => pieces.push(WordPiece::Text("/".to_owned())),
    }
    pieces.extend_from_slice(names);
    ShellWord { pieces }
}

/// Returns the paths that `find` prints for these arguments.
pub(crate) fn found_paths(rest: &[ShellArg]) -> Option<Vec<ShellWord>> {
    let is_start = |arg: &&ShellArg| !arg.word().start().starts_with(['-', '(', '!']);
    let starts: Vec<ShellWord> =
        rest.iter().take_while(is_start).map(|arg| arg.word().clone()).collect();
    let texts: Vec<&str> =
        rest.iter().skip(starts.len()).map(|arg| arg.literal().unwrap_or_default()).collect();
    let prints_otherwise = |text: &&str| {
        let starts = ["-printf", "-fprint", "-exec", "-ok"];
        text.is_empty()
            || starts.iter().any(|start| text.starts_with(start))
            || matches!(*text, "-ls" | "-fls" | "-files0-from")
    };
    // A word that is not literal may be anything.
    if texts.iter().any(prints_otherwise) {
        return None;
    }
    let starts = if starts.is_empty() { vec![ShellWord::text(".")] } else { starts };
    let name = only_name(&texts);
    let mut paths = Vec::new();
    for start in &starts {
        match &name {
            Some(name) if name.first() == Some(&WordPiece::Below) => paths.push(below(start, name)),
            Some(name) => {
                paths.push(below(start, name));
                let between = [WordPiece::Below, WordPiece::Text("/".to_owned())];
                let deeper: Vec<WordPiece> =
                    between.into_iter().chain(name.iter().cloned()).collect();
                paths.push(below(start, &deeper));
            }
            None => {
                paths.push(start.clone());
                paths.push(below(start, &[WordPiece::Below]));
            }
        }
    }
    Some(paths)
}

/// Returns the pattern of the only `-name` that every found file has to match.
fn only_name(texts: &[&str]) -> Option<Vec<WordPiece>> {
    let is_choice = |text: &&str| matches!(*text, "-o" | "-or" | "," | "!" | "-not" | "(" | ")");
    let mut names = texts.iter().zip(texts.iter().skip(1)).filter(|(text, _)| **text == "-name");
    let (_, pattern) = names.next().filter(|_| !texts.iter().any(is_choice))?;
    if names.next().is_some() || pattern.contains(['\\', '/']) {
        return None;
    }
    // Every other wildcard is one character of what `*` can be.
    let pattern = &starred(pattern);
    let mut pieces = Vec::new();
    for (at, part) in pattern.split('*').enumerate() {
        match at {
            0 => {}
            // `find` also matches names that start with a dot.
            1 if pattern.starts_with('*') => pieces.push(WordPiece::Below),
            _ => pieces.push(WordPiece::Segment),
        }
        if !part.is_empty() {
            pieces.push(WordPiece::Text(part.to_owned()));
        }
    }
    (!pieces.is_empty()).then_some(pieces)
}

/// Returns a pattern with `*` in place of `?` and of character classes.
fn starred(pattern: &str) -> String {
    let (start, class) = pattern.split_once('[').unwrap_or((pattern, ""));
    // What follows a class up to the last bracket may belong to it.
    let rest = class.rsplit_once(']').map_or("", |(_, rest)| rest);
    let star = if start.len() < pattern.len() { "*" } else { "" };
    format!("{start}{star}{rest}").replace('?', "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &PrintedWords) -> String {
        let piece = |piece: &WordPiece| match piece {
            WordPiece::Text(text) => text.clone(),
            WordPiece::Segment => "*".to_owned(),
            WordPiece::Below => "**".to_owned(),
            _ => "?".to_owned(),
        };
        match words {
            PrintedWords::Number => "number".to_owned(),
            PrintedWords::Label => "label".to_owned(),
            PrintedWords::Paths(all) => {
                let all = all.iter().map(|word| word.pieces.iter().map(piece).collect::<String>());
                all.collect::<Vec<_>>().join(" ")
            }
        }
    }

    #[test]
    fn printed_values_of_commands_are_classified() {
        let cases = [
            ("nproc", Some("number")),
            ("./nproc", None),
            ("git merge-base main HEAD", Some("label")),
            ("git rev-parse HEAD", Some("label")),
            ("git rev-parse --output=x", None),
            ("git rev-parse -- -x", None),
            ("git rev-parse secrets/key", None),
            ("git rev-parse --verify main", Some("label")),
            ("git rev-parse --short HEAD~1", Some("label")),
            ("git ls-files --format=x", None),
            ("git diff --name-only --line-prefix=x", None),
            ("grep -rl x src", Some("src/** src")),
            ("grep -l --label=x y -", None),
            ("find src -name *.rs -exec echo x ;", None),
            ("date +%F", Some("label")),
            ("date +-o", None),
            ("date +%F%t-o", None),
            ("find src -name *.rs", Some("src/**.rs")),
            ("find -name *.rs -type f", Some("./**.rs")),
            ("find src tests -name a*", Some("src/a* src/**/a* tests/a* tests/**/a*")),
            ("find src -type f", Some("src src/**")),
            ("find src -name *.rs -o -name .env", Some("src src/**")),
            ("find src -not -name *.rs", Some("src src/**")),
            ("find src -printf x", None),
            ("git ls-files", Some("**")),
            ("git ls-files src", Some("src/** src")),
            ("git diff --name-only", Some("**")),
            ("git diff", None),
            ("rg -l x src", Some("src/** src")),
            ("rg x src", None),
            ("ls", Some("*")),
            ("ls -a", None),
            ("ls src", None),
        ];
        for (line, expected) in cases {
            let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
            assert_eq!(printed(&argv).as_ref().map(shown).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn commands_that_pass_lines_through_are_recognised() {
        for (line, expected) in [
            ("head -5", true),
            ("head -n 5", true),
            ("head x", false),
            ("head -c 5", false),
            ("head -c5", false),
            ("tail -n5", true),
            ("sort -u", true),
            ("sort -o x", false),
            ("grep -v test", true),
            ("grep -o x", false),
            ("grep x file", false),
            ("sed s/a/b/", false),
        ] {
            let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
            assert_eq!(passes_lines(&argv), expected, "{line}");
        }
    }
}
