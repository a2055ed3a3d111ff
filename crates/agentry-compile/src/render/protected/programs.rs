//! What programs do to files, as far as it must be known to keep protected paths as they are. What is
//! not in these tables may change whatever it is given.

use agentry_policy::hazard::hazards_in;

/// What a command does to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// It reads at most.
    Reads,
    /// It may change what it is given.
    Changes,
    /// It changes what is below the directories that it is given.
    TakesAll,
    /// It changes some of what is below the directories that it is given, or the one that it is in.
    TakesSome,
    /// It copies or moves its operands into the last of them.
    Copies {
        /// Whether the others are gone afterwards.
        moves: bool,
    },
    /// It changes settings of git, or takes hooks from a directory.
    Configures,
    /// It makes a checkout in the last of its operands.
    Checkout,
    /// It makes files that an archive or a patch names, in the directory that it is in.
    Unpacks,
    /// It changes the files of a checkout, apart from where paths limit it.
    Tree {
        /// Whether all of its operands are paths.
        limited: bool,
    },
    /// It writes what Agentry keeps.
    Own,
}

/// Programs that only read, but for the options that the table of hazards has.
const READING: &[&str] = &[
    ":",
    "[",
    "ag",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "bat",
    "batcat",
    "bzcat",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "export",
    "expr",
    "false",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "gfind",
    "grep",
    "groups",
    "head",
    "hexdump",
    "hostname",
    "id",
    "jq",
    "join",
    "less",
    "ls",
    "md5sum",
    "more",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "popd",
    "printenv",
    "printf",
    "ps",
    "pushd",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "rev",
    "rg",
    "sed",
    "seq",
    "set",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "sleep",
    "sort",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "tsort",
    "type",
    "uname",
    "unset",
    "wait",
    "wc",
    "which",
    "whoami",
    "xzcat",
    "yq",
    "zcat",
    "zgrep",
];
/// Programs that change all that is below a directory.
const TAKING_ALL: &[&str] =
    &["chattr", "chgrp", "chmod", "chown", "rm", "setfacl", "shred", "srm", "trash", "trash-put"];
/// Programs that copy their operands into the last of them, or show them there.
const COPYING: &[&str] =
    &["bindfs", "cp", "ditto", "gln", "install", "link", "ln", "mount", "rsync", "scp"];
/// Programs that move their operands to the last of them.
const MOVING: &[&str] = &["exch", "gmv", "mmv", "mv"];
/// Programs that make the files that an archive or a patch names.
const UNPACKING: &[&str] = &[
    "7z", "7za", "7zz", "bsdtar", "cpio", "gtar", "patch", "pax", "tar", "unar", "unrar", "unzip",
];
/// Subcommands of git that leave the files of a checkout alone.
const GIT_READING: &[&str] = &[
    "add",
    "annotate",
    "blame",
    "branch",
    "cat-file",
    "check-ignore",
    "commit",
    "count-objects",
    "describe",
    "diff",
    "fetch",
    "for-each-ref",
    "grep",
    "help",
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
    "tag",
    "var",
    "version",
];
/// Subcommands of git that change what they are given, and not the files of the checkout.
const GIT_NAMING: &[&str] = &[
    "archive",
    "bundle",
    "commit-tree",
    "config",
    "diff-files",
    "diff-index",
    "diff-tree",
    "format-patch",
    "fsck",
    "gc",
    "hash-object",
    "prune",
    "repack",
    "symbolic-ref",
    "update-ref",
    "write-tree",
];
/// Subcommands of Agentry that write nothing.
const OWN_READING: &[&str] = &[
    "check",
    "completions",
    "guard",
    "hash",
    "help",
    "list",
    "policy",
    "resolve",
    "rules",
    "schema",
    "search",
    "show",
    "verify",
];
/// Options of Agentry with which those write.
const OWN_WRITING: &[&str] = &["--fix", "--unsafe", "--write", "--update", "--out", "-o"];

/// What a command does, by its words; of a word that is not known, what it starts with.
pub(super) fn does(argv: &[&str]) -> Does {
    let program = argv.first().map_or("", |word| base(word));
    let words = argv.get(1..).unwrap_or_default();
    match program {
        "git" => git(argv, words),
        "agentry" => own(words),
        _ if MOVING.contains(&program) => Does::Copies { moves: true },
        _ if COPYING.contains(&plain(program)) => Does::Copies { moves: false },
        _ if TAKING_ALL.contains(&plain(program)) => Does::TakesAll,
        _ if UNPACKING.contains(&program) => unpacks(program, words),
        _ if !READING.contains(&program) => Does::Changes,
        _ if hazards_in(argv).next().is_none() => Does::Reads,
        "find" | "gfind" => Does::TakesSome,
        _ => Does::Changes,
    }
}

fn own(words: &[&str]) -> Does {
    let name = words.iter().find(|word| !word.starts_with('-'));
    let writes = |word: &&str| OWN_WRITING.iter().any(|option| word.starts_with(option));
    match name {
        Some(name) if !OWN_READING.contains(name) || words.iter().any(writes) => Does::Own,
        _ => Does::Reads,
    }
}

/// The name of a program without its directory.
fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// A program without the `g` that the GNU ones have on some systems.
fn plain(program: &str) -> &str {
    match program.strip_prefix('g') {
        Some(rest) if matches!(rest, "cp" | "rm" | "install" | "chmod" | "chown") => rest,
        _ => program,
    }
}

fn unpacks(program: &str, words: &[&str]) -> Does {
    let has = |long: &[&str]| words.iter().any(|word| long.contains(word));
    let lists = match program {
        "tar" | "gtar" | "bsdtar" => {
            let first = words.first().map_or("", |word| word.trim_start_matches('-'));
            let is_long = words.first().is_some_and(|word| word.starts_with("--"));
            let mode = !is_long && first.contains(['c', 't']) && !first.contains('x');
            let extracts = has(&["--extract", "--get"])
                || words.iter().skip(1).any(|word| {
                    word.starts_with('-') && !word.starts_with("--") && word.contains('x')
                });
            (mode || has(&["--create", "--list"])) && !extracts
        }
        "unzip" => has(&["-l", "-v", "-t", "-p", "-Z"]),
        _ => false,
    };
    if lists { Does::Changes } else { Does::Unpacks }
}

fn git(argv: &[&str], words: &[&str]) -> Does {
    const VALUED: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"];
    let mut rest = words;
    while let Some((first, after)) = rest.split_first().filter(|(first, _)| first.starts_with('-'))
    {
        rest = if VALUED.contains(first) { after.get(1..).unwrap_or_default() } else { after };
    }
    let Some((name, after)) = rest.split_first() else {
        return Does::Reads;
    };
    let is_free = match *name {
        "checkout" => matches!(after, ["-b", branch] if !branch.is_empty()),
        "switch" => matches!(after, ["-c" | "--create", branch] if !branch.is_empty()),
        "stash" => matches!(after, ["list" | "show", ..]),
        name => GIT_READING.contains(&name),
    };
    // Another directory is no other deed.
    let is_elsewhere = matches!(words, ["-C", _, second, ..] if second == name);
    let alone: Vec<&str> = ["git"].iter().chain(rest).copied().collect();
    let argv = if is_elsewhere { alone.as_slice() } else { argv };
    if configures(name, after) {
        Does::Configures
    } else if matches!(*name, "clone" | "init" | "worktree") {
        Does::Checkout
    } else if is_free && hazards_in(argv).next().is_none() {
        Does::Reads
    } else if is_free || GIT_NAMING.contains(name) {
        Does::Changes
    } else {
        let paths = matches!(*name, "restore" | "rm" | "mv");
        let behind = *name == "checkout" && after.contains(&"--") && after.last() != Some(&"--");
        Does::Tree { limited: paths || behind }
    }
}

/// Whether a subcommand of git changes settings, or brings hooks along.
fn configures(name: &str, words: &[&str]) -> bool {
    const READING: &[&str] =
        &["--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch"];
    let templates = |word: &&str| word.starts_with("--templ");
    match name {
        "init" | "clone" => words.iter().any(templates),
        "config" => {
            let values = words.iter().filter(|word| !word.starts_with('-')).count();
            let writes = |word: &&str| {
                let edits = ["--unset", "--add", "--replace", "--rename", "--remove", "--edit"];
                *word == "-e" || edits.iter().any(|option| word.starts_with(option))
            };
            // As a value the same words say nothing.
            let first = words.iter().find(|word| !word.starts_with('-'));
            let reads = matches!(first, Some(&"get" | &"list"))
                || words.iter().any(|word| READING.contains(word));
            words.iter().any(writes) || first == Some(&"edit") || (values > 1 && !reads)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_do() {
        let tree = |limited| Does::Tree { limited };
        let cases = [
            ("cat a", Does::Reads),
            ("/bin/cat a", Does::Reads),
            ("sort a", Does::Reads),
            ("sort -o a b", Does::Changes),
            ("sed -n 1p a", Does::Reads),
            ("sed -i s/a/b/ c", Does::Changes),
            ("find a", Does::Reads),
            ("find a -delete", Does::TakesSome),
            ("rm a", Does::TakesAll),
            ("cp a b", Does::Copies { moves: false }),
            ("gcp a b", Does::Copies { moves: false }),
            ("mv a b", Does::Copies { moves: true }),
            ("tar xf a", Does::Unpacks),
            ("tar -f a -x", Does::Unpacks),
            ("tar tf a", Does::Changes),
            ("tar --create -f a b", Does::Changes),
            ("unzip a", Does::Unpacks),
            ("git log", Does::Reads),
            ("git -C a diff", Does::Reads),
            ("git diff --output=a", Does::Changes),
            ("git checkout -b a", Does::Reads),
            ("git checkout a", tree(false)),
            ("git checkout a -- b", tree(true)),
            ("git -c x=y stash", tree(false)),
            ("git stash list", Does::Reads),
            ("git co", tree(false)),
            ("git restore a", tree(true)),
            ("git config --get a", Does::Changes),
            ("git config user.name", Does::Changes),
            ("git config core.hooksPath a", Does::Configures),
            ("git config core.hooksPath get", Does::Configures),
            ("git config get core.hooksPath", Does::Changes),
            ("git config edit", Does::Configures),
            ("git config --unset a.b", Does::Configures),
            ("git -C a config set a.b c", Does::Configures),
            ("git init", Does::Checkout),
            ("git clone a b", Does::Checkout),
            ("git init --template=a", Does::Configures),
            ("ln -s a b", Does::Copies { moves: false }),
            ("agentry check", Does::Reads),
            ("agentry check --fix", Does::Own),
            ("agentry render --force", Does::Own),
            ("python3 a", Does::Changes),
        ];
        for (line, expected) in cases {
            let argv: Vec<&str> = line.split(' ').collect();
            assert_eq!(does(&argv), expected, "{line}");
        }
    }
}
