//! Finds other spellings of a command: `git-push`, `npm publis`, `python3 -m pip`. Only rules against another
//! spelling count; an allow rule for it does not allow this one.

use agentry_commands::{ProgramTrait, base_name, has_trait, program, subcommand};

use crate::argv::{ShellArg, ShellWord};
use crate::{Action, RuleList};

/// Lists the known other spellings of a command, independent of the rules.
pub(super) fn spellings(argv: &[ShellArg]) -> Vec<Vec<ShellArg>> {
    let Some(word) = argv.first().and_then(ShellArg::literal) else { return Vec::new() };
    let base = base_name(word);
    let is_only = dashed(base).is_none() && names(base).is_empty();
    if is_only && synonyms(base).is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Vec<ShellArg>> = Vec::new();
    if let Some((program, subcommand)) = dashed(base) {
        let head = [ShellArg::text(program), ShellArg::text(subcommand)];
        found.push(head.into_iter().chain(argv.iter().skip(1).cloned()).collect());
        // `cargo clippy` runs `cargo-clippy clippy`.
        if argv.get(1).and_then(ShellArg::literal) == Some(subcommand) {
            found.push(renamed(argv, program));
        }
    }
    let others = names(base).iter().filter(|name| **name != base);
    found.extend(others.map(|name| renamed(argv, name)));
    if names(base).contains(&"python") {
        found.extend(module(argv));
    }
    let mut all = with_synonyms(argv);
    for other in found {
        all.extend(with_synonyms(&other));
        all.push(other);
    }
    all
}

/// Splits a dashed name into program and subcommand: `git-push`.
fn dashed(name: &str) -> Option<(&str, &str)> {
    let (program, subcommand) = name.split_once('-')?;
    (!subcommand.is_empty() && has_trait(program, ProgramTrait::Dashed))
        .then_some((program, subcommand))
}

/// Lists the names that a program is installed under; empty if it has only one. `python3.12` is `python`.
fn names(name: &str) -> &'static [&'static str] {
    let of = |name: &str| program(name).map(|facts| facts.same_program.as_slice());
    // Removes a version: `python3.12`, `clang-17`.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let plain = plain.strip_suffix('-').unwrap_or(plain);
    of(name).filter(|names| !names.is_empty()).or_else(|| of(plain)).unwrap_or_default()
}

/// Lists the groups of subcommands of a program that mean the same.
fn synonyms(name: &str) -> &'static [Vec<&'static str>] {
    let facts = program(name);
    let like = facts.and_then(|facts| facts.synonyms_of).and_then(program);
    like.or(facts).map_or(&[], |facts| &facts.synonyms)
}

/// Which words a program accepts as an unambiguous prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShortenedWords {
    /// None.
    No,
    /// Its subcommand: `npm publis`.
    Subcommand,
    /// Every word: `ip a a`.
    All,
}

fn shortened(name: &str) -> ShortenedWords {
    if has_trait(name, ProgramTrait::ShortensSubcommand) {
        return ShortenedWords::Subcommand;
    }
    if has_trait(name, ProgramTrait::ShortensWords) {
        return ShortenedWords::All;
    }
    ShortenedWords::No
}

/// Whether a program accepts a prefix of a long option: `rm --recurs`. An unknown program may.
fn shortens_options(name: &str) -> bool {
    !has_trait(name, ProgramTrait::ExactOptions)
}

fn renamed(argv: &[ShellArg], name: &str) -> Vec<ShellArg> {
    std::iter::once(ShellArg::text(name)).chain(argv.iter().skip(1).cloned()).collect()
}

/// Returns `pip install` for `python -m pip install`.
fn module(argv: &[ShellArg]) -> Option<Vec<ShellArg>> {
    let mut at = 1;
    while let Some(option) = argv.get(at).and_then(ShellArg::literal) {
        at += 1;
        let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        if let Some((_, name)) = letters.split_once('m') {
            let apart = name.is_empty();
            let name = if apart { argv.get(at)?.literal()? } else { name };
            let name = name.strip_suffix(".__main__").unwrap_or(name);
            let rest = argv.iter().skip(at + usize::from(apart)).cloned();
            return Some(std::iter::once(ShellArg::text(name)).chain(rest).collect());
        }
        // `-W` and `-X` take the next word as their value.
        at += usize::from(letters.ends_with(['W', 'X']));
    }
    None
}

/// Returns the command with each synonym of its subcommand.
fn with_synonyms(argv: &[ShellArg]) -> Vec<Vec<ShellArg>> {
    let program = argv.first().and_then(ShellArg::literal).map_or("", base_name);
    let groups = synonyms(program);
    if groups.is_empty() {
        return Vec::new();
    }
    let Some(at) = subcommand(program, argv) else { return Vec::new() };
    let rest = argv.get(at..).unwrap_or_default();
    let mut found = Vec::new();
    for group in groups {
        let Some(own) = group.iter().find(|phrase| starts_with(rest, phrase)) else { continue };
        for phrase in group.iter().filter(|phrase| *phrase != own) {
            let mut other: Vec<ShellArg> = argv.iter().take(at).cloned().collect();
            other.extend(phrase.split(' ').map(ShellArg::text));
            other.extend(rest.iter().skip(own.split(' ').count()).cloned());
            found.push(other);
        }
    }
    found
}

fn starts_with(words: &[ShellArg], phrase: &str) -> bool {
    let count = phrase.split(' ').count();
    words.len() >= count
        && words.iter().zip(phrase.split(' ')).all(|(word, own)| word.literal() == Some(own))
}

/// Whether a rule may be against the command, judging by the program name alone.
pub(super) fn may_be_meant(argv: &[ShellArg], rules: &RuleList) -> bool {
    let program = argv.first().and_then(ShellArg::literal).map_or("", base_name);
    let mut strict = rules.rules.iter().filter(|rule| rule.action > Action::Allow);
    strict.any(|rule| may_name(&rule.pattern, program))
}

fn may_name(pattern: &crate::Pattern, program: &str) -> bool {
    let first = pattern.tokens().next().unwrap_or_default();
    first.starts_with(program) || first.contains(['*', '/', '~'])
}

/// Returns the command with its abbreviated words completed as in the rules against it.
pub(super) fn spelled_out(argv: &[ShellArg], rules: &RuleList) -> Vec<Vec<ShellArg>> {
    let Some(program) = argv.first().and_then(ShellArg::literal).map(base_name) else {
        return Vec::new();
    };
    let is_short = |arg: &ShellArg| arg.literal().is_some_and(|word| word.starts_with("--"));
    let has_options = shortens_options(program) && argv.iter().skip(1).any(is_short);
    if !has_options && shortened(program) == ShortenedWords::No {
        return Vec::new();
    }
    let strict = rules.rules.iter().filter(|rule| rule.action > Action::Allow);
    let strict = strict.filter(|rule| may_name(&rule.pattern, program));
    let about = strict.filter(|rule| rule.pattern.tokens().next().map(base_name) == Some(program));
    let mut found: Vec<Vec<ShellArg>> = Vec::new();
    for rule in about {
        let other = longer(argv, program, &rule.pattern);
        found.extend(other.filter(|other| !found.contains(other)));
    }
    found
}

fn longer(argv: &[ShellArg], program: &str, pattern: &crate::Pattern) -> Option<Vec<ShellArg>> {
    let options = shortens_options(program);
    let words = shortened(program);
    let verb = match words {
        ShortenedWords::Subcommand => subcommand(program, argv),
        ShortenedWords::No | ShortenedWords::All => None,
    };
    let mut is_changed = false;
    // Words appear in the order of the rule, while options may be anywhere.
    let mut next = 1;
    let spelled = argv.iter().enumerate().map(|(at, arg)| {
        let is_verb = verb == Some(at) || (words == ShortenedWords::All && at > 0);
        let Some(word) = arg.literal() else { return arg.clone() };
        let takes_part = (options && word.starts_with("--") && word.len() > 2)
            || (is_verb && !word.is_empty() && !word.starts_with('-'));
        if !takes_part {
            return arg.clone();
        }
        let from = if word.starts_with('-') { 1 } else { next };
        let tokens = pattern.tokens().enumerate().skip(from);
        let mut wholes = tokens.filter_map(|(at, token)| Some((at, whole(word, token)?)));
        let Some((token, whole)) = wholes.next() else { return arg.clone() };
        next = token + 1;
        is_changed = true;
        ShellArg::One(ShellWord::text(whole))
    });
    let spelled: Vec<ShellArg> = spelled.collect();
    is_changed.then_some(spelled)
}

/// Returns the full form of `word`, if it is a prefix of a token of the rule.
fn whole(word: &str, token: &str) -> Option<String> {
    let name = word.split('=').next().unwrap_or_default();
    let long = token.split(['*', '=']).next().unwrap_or_default();
    let value = word.get(name.len()..).unwrap_or_default();
    (long.len() > name.len() && long.starts_with(name)).then(|| format!("{long}{value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(all: &[Vec<ShellArg>]) -> Vec<String> {
        let text = |argv: &Vec<ShellArg>| {
            argv.iter().map(|arg| arg.literal().unwrap_or("…")).collect::<Vec<_>>().join(" ")
        };
        all.iter().map(text).collect()
    }

    #[test]
    fn program_name_variants_are_found() {
        assert_eq!(dashed("git-push"), Some(("git", "push")));
        assert_eq!(dashed("docker-compose"), Some(("docker", "compose")));
        assert_eq!(dashed("apt-get"), None);
        assert!(names("python3.12").contains(&"python"));
        assert!(names("pip").contains(&"pip3"));
        assert_eq!(names("ls"), [""; 0]);
        assert_eq!(synonyms("podman"), synonyms("docker"));
        assert!(synonyms("ls").is_empty());
    }

    #[test]
    fn other_spellings_of_a_command_are_found() {
        let cases: &[(&str, &[&str])] = &[
            ("ls -la", &[]),
            ("git-push x", &["git push x"]),
            ("/usr/lib/git-core/git-push x", &["git push x"]),
            ("cargo-clippy clippy", &["cargo clippy clippy", "cargo clippy"]),
            ("cargo +nightly t x", &["cargo +nightly test x"]),
            (
                "python3.12 -m pip x",
                &["python -m pip x", "python2 -m pip x", "python3 -m pip x", "pip2 x", "pip3 x"],
            ),
            (
                "docker --debug image rm x",
                &["docker --debug rmi x", "docker --debug image remove x"],
            ),
        ];
        for (line, expected) in cases {
            let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
            let found = shown(&spellings(&argv));
            for other in *expected {
                let is_there = found.iter().any(|line| line == other);
                let is_module = other.starts_with("pip");
                assert!(is_there || is_module, "{line}: {other} in {found:?}");
            }
            assert_eq!(found.is_empty(), expected.is_empty(), "{line}: {found:?}");
        }
    }
}
