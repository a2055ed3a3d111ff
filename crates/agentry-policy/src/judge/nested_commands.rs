//! Finds commands inside the arguments of another one: `tar --to-command='rm x'`, `git bisect run rm x`,
//! `perl -e 'system("rm x")'`. The search is incomplete; a deny rule is applied to those commands that it
//! finds.

use agentry_commands::hazard::RUNS;
use agentry_commands::{HazardSign, ProgramTrait, base_name, has_trait, own_rules};

use crate::argv::ShellArg;
use crate::shell::{self, PartEffect, ShellContext};

/// Texts after which other languages expect a command.
const MARKS: &[&str] = &[
    "+!", ":!", "\\!", "!", ".shell ", ".system ", "shell ", "spawn ", "exec ", "EXEC:", "SYSTEM:",
    "exec=", "system ",
];

/// How many texts of one command are analysed.
const MAX_TEXTS: usize = 64;
/// How many bytes the analysed texts may have together.
const MAX_BYTES: usize = 1 << 16;
/// How many quoted texts of one word are analysed.
const MAX_STRINGS: usize = 16;

/// Lists the commands found in the arguments of `argv`. Options that run a program are searched only if a
/// rule allows everything, because any other allow rule has to name them.
pub(super) fn embedded(argv: &[ShellArg], options: OptionScan) -> Vec<Vec<ShellArg>> {
    let mut found = inside(argv, options);
    // A second level covers `git submodule foreach 'git submodule foreach rm'`.
    let deeper: Vec<Vec<ShellArg>> = found.iter().flat_map(|argv| inside(argv, options)).collect();
    found.extend(deeper);
    found
}

/// Whether the values of options that run a program are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionScan {
    /// They are searched.
    LookedAt,
    /// They are skipped.
    LeftAlone,
}

fn inside(argv: &[ShellArg], options: OptionScan) -> Vec<Vec<ShellArg>> {
    let commands = |text: &String| {
        let parts = shell::analyse(text, &ShellContext::default());
        parts.into_iter().filter_map(|part| match part.what {
            PartEffect::Command(command) => Some(command.argv),
            _ => None,
        })
    };
    let mut texts = texts(argv, options);
    // The shortest texts come first, so that a long one cannot use up the limit and hide the others.
    texts.sort_by(|left, right| (left.len(), left).cmp(&(right.len(), right)));
    texts.dedup();
    let mut left = MAX_BYTES;
    texts.retain(|text| {
        let after = left.checked_sub(text.len());
        left = after.unwrap_or(left);
        after.is_some()
    });
    texts.iter().take(MAX_TEXTS).flat_map(commands).collect()
}

/// Collects the texts that may be commands.
fn texts(argv: &[ShellArg], options: OptionScan) -> Vec<String> {
    let name = argv.first().and_then(ShellArg::literal).map_or("", base_name);
    // `python3.12` and so on behave like `python`.
    let name = if name.starts_with("python") { "python" } else { name };
    let is_interpreter = has_trait(name, ProgramTrait::Interpreter);
    let mut found = Vec::new();
    if options == OptionScan::LeftAlone && !is_interpreter {
        return found;
    }
    let words: Vec<&str> = argv.iter().map(|arg| arg.literal().unwrap_or_default()).collect();
    if matches!(name, "sed" | "gsed") {
        // The `e` command of `sed` runs the rest of its line.
        let scripts = words.iter().skip(1).filter_map(|word| word.split_once("e "));
        found.extend(scripts.map(|(_, command)| command.to_owned()));
    }
    if is_interpreter {
        words.iter().skip(1).for_each(|word| within(word, &mut found));
    }
    if options == OptionScan::LeftAlone {
        return found;
    }
    for hazard in own_rules(&words).filter(|hazard| hazard.does == RUNS) {
        words
            .iter()
            .skip(1)
            .filter(|word| word.contains(' '))
            .for_each(|word| within(word, &mut found));
        found.extend(words.iter().enumerate().skip(1).filter_map(|(at, word)| {
            let value = value(hazard.sign, word)?;
            let rest = words.get(at + 1..).unwrap_or_default();
            // Without a value in the same word, all following words may be the command.
            Some(if value.is_empty() { rest.join(" ") } else { value.to_owned() })
        }));
        let pairs = words.iter().zip(words.iter().skip(1));
        let values = pairs.filter(|(word, _)| value(hazard.sign, word) == Some(""));
        values.for_each(|(_, next)| within(next, &mut found));
    }
    found
}

/// Returns the value in the same word after an option; `None` if the word is not that option.
fn value(sign: HazardSign, word: &str) -> Option<&str> {
    match sign {
        HazardSign::Long(spelling, least) => {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            (name.len() >= least && spelling.starts_with(name)).then_some(value)
        }
        HazardSign::Short(letter) => {
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
            letters.split_once(letter).map(|(_, value)| value)
        }
        HazardSign::Word(spelling) => (word == spelling).then_some(""),
        HazardSign::Prefix(spelling) | HazardSign::Global(spelling) => {
            let value = word.strip_prefix(spelling)?;
            Some(value.strip_prefix('=').unwrap_or(value))
        }
        HazardSign::Unless(_) => None,
    }
}

/// Collects the word itself, the text after a mark or a `=`, and texts in quotes.
fn within(word: &str, found: &mut Vec<String>) {
    found.push(word.to_owned());
    for mark in MARKS {
        found.extend(word.split_once(mark).map(|(_, behind)| behind.trim().to_owned()));
    }
    found.extend(word.split_once('=').map(|(_, value)| value.to_owned()));
    for quote in ['"', '\'', '`'] {
        let strings: Vec<&str> = word.split(quote).skip(1).step_by(2).take(MAX_STRINGS).collect();
        found.extend(strings.iter().map(|string| (*string).to_owned()));
        // Joins quoted arguments of a list: `["rm", "x"]`.
        let starts = 0..strings.len();
        found.extend(starts.filter_map(|at| strings.get(at..)).map(|rest| rest.join(" ")));
    }
}
