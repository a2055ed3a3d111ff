//! What `git` does to files and settings, as far as rows cannot say it.

use crate::effects::FileEffect;
use crate::hazard::own_rules;
use crate::options::CommandFront;
use crate::program::{FileRow, ProgramFacts};

/// What a call does to files. Behind an option that is not known any word may be the subcommand: the worst
/// of them counts.
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
    let row = facts.file_row(Some(name)).unwrap_or(FileRow::Tree);
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
            let behind = name == "checkout" && after.contains(&"--") && after.last() != Some(&"--");
            FileEffect::Tree { limited: row == FileRow::NamedTree || behind }
        }
    }
}

/// Whether a rule would have to name something in the command. Another directory alone changes nothing
/// about what is done.
fn needs_own_rule(argv: &[&str], name: &str, after: &[&str]) -> bool {
    let is_elsewhere = argv.get(1) == Some(&"-C") && argv.len() == after.len() + 4;
    if is_elsewhere {
        let alone: Vec<&str> = ["git", name].iter().chain(after).copied().collect();
        return own_rules(&alone).next().is_some();
    }
    own_rules(argv).next().is_some()
}

/// Whether a subcommand changes settings, or brings hooks along.
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
            // As a value the same words mean nothing.
            let first = words.iter().find(|word| !word.starts_with('-'));
            let reads = matches!(first, Some(&"get" | &"list"))
                || words.iter().any(|word| READING.contains(word));
            words.iter().any(writes) || first == Some(&"edit") || (values > 1 && !reads)
        }
        _ => false,
    }
}

/// Whether the words from the subcommand on do nothing but show a setting.
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
