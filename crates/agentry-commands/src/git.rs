//! What `git` does to files and settings, where rows of the data files are not enough.

use crate::effects::FileEffect;
use crate::hazard::own_rules;
use crate::options::CommandFront;
use crate::program::{FileRow, ProgramFacts};

/// Returns what a call does to files. After an unknown option any word may be the subcommand, so the worst
/// effect of all candidates counts.
pub(crate) fn files(facts: &ProgramFacts, argv: &[&str]) -> FileEffect {
    let front = CommandFront::new(&facts.globals, argv);
    if let Some((name, after)) = front.subcommand {
        return of_subcommand(facts, argv, (name, after));
    }
    let starts = (0..front.unknown.len()).filter_map(|at| front.unknown.get(at..)?.split_first());
    let effects = starts.map(|(name, after)| of_subcommand(facts, argv, (name, after)));
    effects.max().unwrap_or(FileEffect::Reads)
}

fn of_subcommand(
    facts: &ProgramFacts,
    argv: &[&str],
    (name, after): (&str, &[&str]),
) -> FileEffect {
    if configures(name, after) {
        return FileEffect::Configures;
    }
    // An unknown subcommand may be an alias for anything.
    let row = facts.file_row(Some(name)).unwrap_or(FileRow::Tree);
    // These calls only create a branch or list stashes, although their subcommand can do more.
    let is_free = match name {
        "checkout" => matches!(after, ["-b", branch] if !branch.is_empty()),
        "switch" => matches!(after, ["-c" | "--create", branch] if !branch.is_empty()),
        "stash" => matches!(after, ["list" | "show", ..]),
        _ => row == FileRow::Reads,
    };
    match row {
        _ if is_free && !needs_own_rule(argv, name, after) => FileEffect::Reads,
        _ if is_free => FileEffect::Changes,
        FileRow::Checkout | FileRow::NewRepository => FileEffect::Checkout,
        FileRow::Writes | FileRow::Repository => FileEffect::Changes,
        row => {
            // `git checkout -- path` changes only the paths after the dashes.
            let behind = name == "checkout" && after.contains(&"--") && after.last() != Some(&"--");
            FileEffect::Tree { whole: row != FileRow::NamedTree && !behind }
        }
    }
}

/// Whether the command contains a hazard that a rule has to name. `-C dir` alone is no hazard: it
/// changes where the command runs, not what it does.
fn needs_own_rule(argv: &[&str], name: &str, after: &[&str]) -> bool {
    let is_elsewhere = argv.get(1) == Some(&"-C") && argv.len() == after.len() + 4;
    if is_elsewhere {
        let alone: Vec<&str> = ["git", name].iter().chain(after).copied().collect();
        return own_rules(&alone).next().is_some();
    }
    own_rules(argv).next().is_some()
}

/// Whether a subcommand changes settings, or installs hooks from a template directory.
fn configures(name: &str, words: &[&str]) -> bool {
    const READING: &[&str] =
        &["--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch"];
    // git accepts abbreviations of `--template`.
    let templates = |word: &&str| word.starts_with("--templ");
    match name {
        "init" | "clone" => words.iter().any(templates),
        "config" => {
            let values = words.iter().filter(|word| !word.starts_with('-')).count();
            let writes = |word: &&str| {
                let edits = ["--unset", "--add", "--replace", "--rename", "--remove", "--edit"];
                *word == "-e" || edits.iter().any(|option| word.starts_with(option))
            };
            // `get`, `list` and `edit` are subcommands only as the first word; later they are values.
            let first = words.iter().find(|word| !word.starts_with('-'));
            let reads = matches!(first, Some(&"get" | &"list"))
                || words.iter().any(|word| READING.contains(word));
            words.iter().any(writes) || first == Some(&"edit") || (values > 1 && !reads)
        }
        _ => false,
    }
}

/// Whether the words from the subcommand on only show a setting.
pub fn reads_setting(words: &[&str]) -> bool {
    match words {
        ["config", key] => {
            let is_key = key.contains('.') && !key.starts_with('-');
            is_key || matches!(*key, "-l" | "--list" | "list")
        }
        ["config", option, key] => {
            let gets = matches!(*option, "get" | "--get" | "--get-all" | "--get-regexp");
            gets && !key.starts_with('-')
        }
        _ => false,
    }
}
