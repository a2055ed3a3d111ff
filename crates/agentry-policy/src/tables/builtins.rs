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

/// Variables that change how the rest of a line is read, or that the shell itself sets.
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
    "BASH_COMPAT",
    "DIRSTACK",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "BASHPID",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "FUNCNAME",
    "HISTCMD",
    "GROUPS",
    "UID",
    "EUID",
    "PPID",
    "PWD",
    "OLDPWD",
    "BASH_REMATCH",
    "PIPESTATUS",
    "OPTARG",
    "OPTIND",
    "REPLY",
    "MAPFILE",
    "COPROC",
    "_",
];

/// Programs that write the files that their arguments name.
pub const WRITERS: &[&str] =
    &["tee", "cp", "mv", "ln", "install", "dd", "curl", "wget", "rsync", "scp", "sed", "touch"];

/// Those among them that take whole directories.
pub const TREES: &[&str] = &["cp", "mv", "ln", "install", "rsync", "scp"];

/// Programs that write files whose names nobody knows before.
pub const UNPACKERS: &[&str] = &[
    "tar",
    "gtar",
    "bsdtar",
    "unzip",
    "bsdcat",
    "cpio",
    "pax",
    "7z",
    "7za",
    "7zr",
    "unrar",
    "unar",
    "jar",
    "ar",
    "patch",
    "gpatch",
    "hg",
    "svn",
    "bzr",
    "jj",
    "rename",
    "mmv",
    "git-apply",
];

/// Subcommands of `git` that leave the files of the workspace alone.
pub const GIT_READS: &[&str] = &[
    "add",
    "annotate",
    "blame",
    "branch",
    "cat-file",
    "check-attr",
    "check-ignore",
    "commit",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "fsck",
    "gc",
    "grep",
    "help",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "notes",
    "push",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "symbolic-ref",
    "tag",
    "var",
    "version",
    "whatchanged",
];

/// Options of `git` with a value, before the subcommand.
pub const GIT_VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];

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
