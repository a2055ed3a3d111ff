//! Commands inside of the arguments of another one: `tar --to-command='rm x'`, `git bisect run rm x`,
//! `perl -e 'system("rm x")'`. Not all of them can be found; a rule against a command holds for those
//! that are there to be seen.

use agentry_commands::hazard::RUNS;
use agentry_commands::{HazardSign, ProgramTrait, base_name, has_trait, own_rules};

use crate::argv::ShellArg;
use crate::shell::{self, PartEffect, ShellContext};

/// What may stand before a command in a language of its own.
const MARKS: &[&str] = &[
    "+!", ":!", "\\!", "!", ".shell ", ".system ", "shell ", "spawn ", "exec ", "EXEC:", "SYSTEM:",
    "exec=", "system ",
];

/// So many texts of one command are looked at.
const MAX_TEXTS: usize = 64;
/// So many bytes of them all.
const MAX_BYTES: usize = 1 << 16;
/// So many texts in quotes are.
const MAX_STRINGS: usize = 16;

/// The commands that are there to be seen in the arguments of `argv`. Options that run a program are
/// looked at only where a rule allows everything: no other rule allows them unless it names them.
pub(super) fn embedded(argv: &[ShellArg], options: OptionScan) -> Vec<Vec<ShellArg>> {
    let mut found = inside(argv, options);
    // Once more: `git submodule foreach 'git submodule foreach rm'`.
    let deeper: Vec<Vec<ShellArg>> = found.iter().flat_map(|argv| inside(argv, options)).collect();
    found.extend(deeper);
    found
}

/// Whether options that run a program are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionScan {
    /// They are.
    LookedAt,
    /// They are not.
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
    // The shortest first: a long text cannot hide the others.
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

/// The texts that may be commands.
fn texts(argv: &[ShellArg], options: OptionScan) -> Vec<String> {
    let name = argv.first().and_then(ShellArg::literal).map_or("", base_name);
    let name = if name.starts_with("python") { "python" } else { name };
    let is_interpreter = has_trait(name, ProgramTrait::Interpreter);
    let mut found = Vec::new();
    if options == OptionScan::LeftAlone && !is_interpreter {
        return found;
    }
    let words: Vec<&str> = argv.iter().map(|arg| arg.literal().unwrap_or_default()).collect();
    if matches!(name, "sed" | "gsed") {
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
            Some(if value.is_empty() { rest.join(" ") } else { value.to_owned() })
        }));
        let pairs = words.iter().zip(words.iter().skip(1));
        let values = pairs.filter(|(word, _)| value(hazard.sign, word) == Some(""));
        values.for_each(|(_, next)| within(next, &mut found));
    }
    found
}

/// What stands in the same word behind a sign; nothing if it is none.
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

/// The word itself, what stands behind a mark or a `=`, and what stands in quotes.
fn within(word: &str, found: &mut Vec<String>) {
    found.push(word.to_owned());
    for mark in MARKS {
        found.extend(word.split_once(mark).map(|(_, behind)| behind.trim().to_owned()));
    }
    found.extend(word.split_once('=').map(|(_, value)| value.to_owned()));
    for quote in ['"', '\'', '`'] {
        let strings: Vec<&str> = word.split(quote).skip(1).step_by(2).take(MAX_STRINGS).collect();
        found.extend(strings.iter().map(|string| (*string).to_owned()));
        // `["rm", "x"]` and its like.
        let starts = 0..strings.len();
        found.extend(starts.filter_map(|at| strings.get(at..)).map(|rest| rest.join(" ")));
    }
}
