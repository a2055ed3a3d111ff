//! Commands that are part of the shell itself.

/// Change nothing outside of the shell, whatever their arguments.
pub const FREE: &[&str] = &[":", "true", "false", "break", "continue", "return", "wait", "shift"];

/// Take assignments as arguments.
pub const DECLARATIONS: &[&str] = &["export", "declare", "typeset", "local", "readonly"];

/// Can change what later commands mean.
pub const OPAQUE: &[&str] = &[
    "alias",
    "unalias",
    "enable",
    "bind",
    "complete",
    "compopt",
    "compgen",
    "fc",
    "let",
    "coproc",
    "shopt",
    "setopt",
    "unsetopt",
    "zmodload",
    "autoload",
    "emulate",
    "noglob",
    "nocorrect",
];

/// Variables that change how the rest of a line is read.
pub const SPECIAL: &[&str] = &[
    "IFS",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "GLOBIGNORE",
    "CDPATH",
    "EXECIGNORE",
    "POSIXLY_CORRECT",
    "BASH_CMDS",
    "BASH_ALIASES",
    "OPTIND",
    "RANDOM",
    "SECONDS",
    "DIRSTACK",
    "BASH_COMPAT",
];

/// Options of `set` that change nothing that matters here.
pub const SET_LETTERS: &str = "euxvfhCET";
/// Their long names, after `-o`.
pub const SET_NAMES: &[&str] = &[
    "errexit",
    "nounset",
    "xtrace",
    "verbose",
    "noglob",
    "pipefail",
    "noclobber",
    "errtrace",
    "functrace",
];

/// Tests with two operands, for `[`.
pub const BINARY_TESTS: &[&str] = &[
    "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-ef", "-nt", "-ot", "-a",
    "-o",
];
