//! Options that make a harmless-looking command write, delete or run something.

/// One such option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hazard {
    /// The base name of the command.
    pub command: &'static str,
    /// Only for these first words after the global options; empty for all.
    pub subcommands: &'static [&'static str],
    /// How it is spelled.
    pub sign: Sign,
    /// What it does, after «can»: `write a file`.
    pub does: &'static str,
}

/// How a hazard is recognised among the arguments; [`Dashes`] says what a bare `--` means for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `--output`, `--output=x` and its abbreviations down to the given number of characters.
    Long(&'static str, usize),
    /// The character anywhere in a word that begins with exactly one dash: `-o`, `-ox`, `-no`.
    Short(char),
    /// Exactly this word: `-delete`.
    Word(&'static str),
    /// A word that starts like this: `--checkpoint-action`.
    Prefix(&'static str),
    /// A word that starts like this, before the subcommand: `-c`, `+`.
    Global(&'static str),
    /// The arguments are harmless only if, joined by NUL, they match this regular expression as a
    /// whole. It covers all of them, whatever `--` means.
    Unless(&'static str),
}

/// Whether hazards are looked for behind a bare `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dashes {
    /// No: the program takes the first `--` for the end of its options, wherever it stands.
    End,
    /// Only if the word before it starts with a dash, because it may be that option's value.
    EndAfterOperand,
    /// Yes: the program does not stop at `--`.
    Nothing,
}

/// The table.
pub const HAZARDS: &[Hazard] = &[
    row("git", &[], Sign::Global("-c"), "run another program"),
    row("git", &["log", "diff", "show"], Sign::Long("--output", 5), "write a file"),
    row("git", &["grep"], Sign::Short('O'), "run another program"),
    row("find", &[], Sign::Word("-delete"), "delete files"),
    row("find", &[], Sign::Prefix("-fprint"), "write a file"),
    row("sort", &[], Sign::Short('o'), "write a file"),
    row("sort", &[], Sign::Long("--output", 3), "write a file"),
    row("uniq", &[], Sign::Unless(r"(?:-[^\x00]*\x00)*(?:[^\x00-][^\x00]*)?"), "write a file"),
];

const fn row(
    command: &'static str,
    subcommands: &'static [&'static str],
    sign: Sign,
    does: &'static str,
) -> Hazard {
    Hazard { command, subcommands, sign, does }
}

/// What a bare `--` means for `command` with this subcommand, if it has one.
pub fn dashes(command: &str, subcommand: Option<&str>) -> Dashes {
    match (command, subcommand) {
        ("git", Some("log" | "show")) => Dashes::End,
        ("find", _) => Dashes::Nothing,
        _ => Dashes::EndAfterOperand,
    }
}
