//! Removes options that do not change what a command may do: `curl -o /dev/null`, `git -C sub`. A rule that
//! allows this plain form allows the command, unless a rule is against the whole command.

use agentry_commands::{
    InnerSyntax, OptionWords, ProgramFacts, ProgramTrait, WordList, base_name, option_words,
    program, reads_setting, subcommand,
};

use crate::argv::ShellArg;
use crate::shell::MAX_BYTES;

/// Returns the plain form of a command, if it has one. `is_inside` reports whether a directory, relative to
/// where the command starts, lies in the workspace; `can_write` whether the rules about edits allow a file.
pub(super) fn plain(
    argv: &[ShellArg],
    is_inside: impl Fn(&str) -> bool,
    can_write: &dyn Fn(&str) -> bool,
) -> Option<Vec<ShellArg>> {
    let facts = program(argv.first().and_then(ShellArg::literal).map(base_name)?)?;
    if let Some(form) = help(facts, argv) {
        return Some(form);
    }
    let form = match facts {
        facts if !facts.discards.is_empty() => without_outputs(facts, argv, can_write)?,
        facts if !facts.outputs.is_empty() => without_files(facts, argv, can_write)?,
        facts if !facts.no_effect.is_empty() => without_effect(facts, argv),
        facts if facts.syntax == Some(InnerSyntax::Git) => {
            reading_settings(&elsewhere(facts, argv, is_inside))
        }
        facts if !facts.directory.is_empty() => elsewhere(facts, argv, is_inside),
        facts if facts.has(ProgramTrait::OfficialToolChains) => without_tool_chain(argv),
        _ => return None,
    };
    (form != argv).then_some(form)
}

/// Turns `git log --help` into `git --help`: help about a subcommand is help.
fn help(facts: &ProgramFacts, argv: &[ShellArg]) -> Option<Vec<ShellArg>> {
    let [command, subcommand, option] = argv else { return None };
    let subcommand = subcommand.literal()?;
    let is_plain = subcommand.starts_with(|c: char| c.is_ascii_lowercase())
        && subcommand.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let is_help = matches!(option.literal()?, "--help" | "-h");
    let has_subcommands = !facts.globals.is_empty();
    (is_plain && is_help && has_subcommands).then(|| vec![command.clone(), option.clone()])
}

/// Returns the values of the options that change the directory of a command, in order, or `None` if one is
/// unknown.
pub(super) fn directories(argv: &[ShellArg]) -> Option<Vec<String>> {
    let facts = argv.first().and_then(ShellArg::literal).and_then(|word| program(base_name(word)));
    let mut found = Vec::new();
    let Some(facts) = facts.filter(|facts| !facts.directory.is_empty()) else {
        return Some(found);
    };
    let mut at = 1;
    while let Some((length, global)) = place(facts, argv, at) {
        if let LeadingOption::Directory(directory) = global {
            found.push(directory?);
        }
        at += length;
    }
    Some(found)
}

/// One global option.
enum LeadingOption {
    /// It sets the directory of the program; `None` if the value is unknown.
    Directory(Option<String>),
    /// Any other one.
    Other,
}

/// Returns the global option at `at`, and how many words it takes.
fn place(facts: &ProgramFacts, argv: &[ShellArg], at: usize) -> Option<(usize, LeadingOption)> {
    let word = argv.get(at)?.literal()?;
    let (name, joined) = match word.split_once('=').filter(|_| word.starts_with("--")) {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    if facts.directory.has(name) {
        let next = || argv.get(at + 1).and_then(ShellArg::literal).map(str::to_owned);
        let length = if joined.is_some() { 1 } else { 2 };
        return Some((length, LeadingOption::Directory(joined.or_else(next))));
    }
    match option_words(&facts.globals, word) {
        OptionWords::One => Some((1, LeadingOption::Other)),
        OptionWords::Two => Some((2, LeadingOption::Other)),
        OptionWords::Nothing | OptionWords::Either => None,
    }
}

/// Removes the options that name a directory of the workspace; all of them or none.
fn elsewhere(
    facts: &ProgramFacts,
    argv: &[ShellArg],
    is_inside: impl Fn(&str) -> bool,
) -> Vec<ShellArg> {
    let mut form: Vec<ShellArg> = argv.iter().take(1).cloned().collect();
    let mut at = 1;
    let mut path = String::new();
    while let Some((length, global)) = place(facts, argv, at) {
        match global {
            LeadingOption::Directory(Some(directory)) if !directory.is_empty() => {
                let is_first = path.is_empty() || directory.starts_with('/');
                path = if is_first { directory } else { format!("{path}/{directory}") };
                // Every intermediate directory has to be inside too.
                if path.len() > MAX_BYTES || !is_inside(&path) {
                    return argv.to_vec();
                }
            }
            LeadingOption::Directory(_) => return argv.to_vec(),
            LeadingOption::Other if is_idle(facts, argv, at) => {}
            LeadingOption::Other => form.extend(argv.iter().skip(at).take(length).cloned()),
        }
        at += length;
    }
    form.extend(argv.iter().skip(at).cloned());
    form
}

/// Whether the global option at `at` changes nothing that a rule is about.
fn is_idle(facts: &ProgramFacts, argv: &[ShellArg], at: usize) -> bool {
    let word = |at: usize| argv.get(at).and_then(ShellArg::literal);
    match word(at) {
        Some("-c") => word(at + 1).is_some_and(|setting| is_idle_setting(facts, setting)),
        option => option.is_some_and(|option| facts.idle.has(option)),
    }
}

/// Whether a setting such as `color.ui=never` runs no program, whatever its value is, or with this value.
fn is_idle_setting(facts: &ProgramFacts, setting: &str) -> bool {
    // Without a value it is true, which is no program either.
    let (name, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let name = name.to_ascii_lowercase();
    facts.idle_settings.iter().any(|idle| match idle.split_once('=') {
        Some((known, harmless)) => known == name && harmless == value,
        None => match idle.strip_suffix('*') {
            Some(section) => name.starts_with(section),
            None => idle == name,
        },
    })
}

/// Turns a command that only reads git settings into `git var`, which also only reads.
fn reading_settings(argv: &[ShellArg]) -> Vec<ShellArg> {
    let Some(at) = subcommand("git", argv) else { return argv.to_vec() };
    let rest: Option<Vec<&str>> = argv.iter().skip(at).map(ShellArg::literal).collect();
    let reads = rest.is_some_and(|words| reads_setting(&words));
    if !reads {
        return argv.to_vec();
    }
    let mut form: Vec<ShellArg> = argv.iter().take(at).cloned().collect();
    form.push(ShellArg::text("var"));
    form
}

/// Removes an official Rust tool chain: `cargo +nightly`.
fn without_tool_chain(argv: &[ShellArg]) -> Vec<ShellArg> {
    let chain = argv.get(1).and_then(ShellArg::literal).and_then(|word| word.strip_prefix('+'));
    // A custom tool chain has another name, and may contain any program.
    let is_known = chain.is_some_and(|chain| {
        let (name, date) = chain.split_once('-').unwrap_or((chain, ""));
        let is_date = date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let is_version = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        is_date && !name.is_empty() && (is_version || ["stable", "beta", "nightly"].contains(&name))
    });
    if is_known { without(argv, 1, 1) } else { argv.to_vec() }
}

/// Removes options without an effect for this subcommand: `-f` follows in `docker compose logs -f`, while
/// before the subcommand it names a file.
fn without_effect(facts: &ProgramFacts, argv: &[ShellArg]) -> Vec<ShellArg> {
    let rest = argv.get(1..).unwrap_or_default();
    let starts = |words: WordList| {
        let count = words.iter().count();
        rest.len() >= count
            && rest.iter().zip(words.iter()).all(|(it, own)| it.literal() == Some(own))
    };
    let Some((words, options)) = facts.no_effect.iter().find(|(words, _)| starts(*words)) else {
        return argv.to_vec();
    };
    let end = 1 + words.iter().count();
    let is_idle = |arg: &ShellArg| arg.literal().is_some_and(|word| options.has(word));
    let keep = |(at, arg): &(usize, &ShellArg)| *at < end || !is_idle(arg);
    argv.iter().enumerate().filter(keep).map(|(_, arg)| arg.clone()).collect()
}

/// Removes the options that name a file which may be written, like the target of a redirection: `gcc -o a`.
fn without_files(
    facts: &ProgramFacts,
    argv: &[ShellArg],
    can_write: &dyn Fn(&str) -> bool,
) -> Option<Vec<ShellArg>> {
    let mut form = argv.to_vec();
    let mut at = 1;
    while let Some(word) = form.get(at) {
        let is_output = word.literal().is_some_and(|word| facts.outputs.has(word));
        let file = form.get(at + 1).and_then(ShellArg::literal).filter(|_| is_output);
        match word.literal() {
            Some("--") => return None,
            _ if file.is_some_and(|file| is_file(file) && can_write(file)) => {
                form = without(&form, at, 2);
            }
            _ => at += 1,
        }
    }
    Some(form)
}

/// Whether the value of an option is a plain file name, and no other option.
fn is_file(value: &str) -> bool {
    !value.is_empty() && !value.starts_with('-')
}

/// Removes outputs that are discarded or may be written, and methods that send nothing; `None` if there is a
/// `--`.
fn without_outputs(
    facts: &ProgramFacts,
    argv: &[ShellArg],
    can_write: &dyn Fn(&str) -> bool,
) -> Option<Vec<ShellArg>> {
    let mut form = argv.to_vec();
    let mut at = 1;
    while let Some(word) = form.get(at).map(|arg| arg.literal().map(str::to_owned)) {
        let next = form.get(at + 1).and_then(ShellArg::literal).unwrap_or_default().to_owned();
        match word.as_deref() {
            // After `--`, words that look like options are operands.
            Some("--") => return None,
            Some(word) => match harmless(facts, word, &next, can_write) {
                Some((left, length)) => {
                    form = without(&form, at, length);
                    if let Some(left) = left {
                        form.insert(at, ShellArg::text(left));
                        at += 1;
                    }
                }
                None => at += 1,
            },
            None => at += 1,
        }
    }
    Some(form)
}

/// For an option with a harmless value, returns the rest of its word and how many words it takes.
fn harmless(
    facts: &ProgramFacts,
    word: &str,
    next: &str,
    can_write: &dyn Fn(&str) -> bool,
) -> Option<(Option<String>, usize)> {
    const NOWHERE: &[&str] = &["-", "/dev/null", "/dev/stdout"];
    const METHODS: &[&str] = &["GET", "HEAD", "OPTIONS"];
    let outputs = pairs(facts.discards).map(|pair| (pair, NOWHERE, true));
    let methods = pairs(facts.methods).map(|pair| (pair, METHODS, false));
    for ((short, long), values, is_output) in outputs.chain(methods) {
        let is_harmless = |value: &str| {
            values.contains(&value) || (is_output && is_file(value) && can_write(value))
        };
        if word == long {
            return is_harmless(next).then_some((None, 2));
        }
        if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            return is_harmless(value).then_some((None, 1));
        }
        let cluster = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let Some((before, value)) = cluster.and_then(|letters| letters.split_once(short)) else {
            continue;
        };
        // Only these letters are known to take no value.
        if !before.chars().all(|c| "sSfLkvigq".contains(c)) {
            return None;
        }
        let (value, length) = if value.is_empty() { (next, 2) } else { (value, 1) };
        let left = (!before.is_empty()).then(|| format!("-{before}"));
        return is_harmless(value).then_some((left, length));
    }
    None
}

/// Returns pairs of a short option letter and its long option.
fn pairs(options: WordList) -> impl Iterator<Item = (char, &'static str)> {
    let short = options.iter().step_by(2).filter_map(|option| option.chars().nth(1));
    short.zip(options.iter().skip(1).step_by(2))
}

fn without(argv: &[ShellArg], at: usize, length: usize) -> Vec<ShellArg> {
    let before = argv.iter().take(at);
    before.chain(argv.iter().skip(at + length)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_options_are_removed_from_commands() {
        let cases = [
            ("curl -o /dev/null u", Some("curl u")),
            ("curl -so /dev/null -w x u", Some("curl -s -w x u")),
            ("curl -o x u", None),
            ("curl -o out/x u", Some("curl u")),
            ("curl -sLo out/x u", Some("curl -sL u")),
            ("curl --output=out/x u", Some("curl u")),
            ("curl -o out/x -o y u", Some("curl -o y u")),
            ("curl -o -T u", None),
            ("gcc -Wall -o out/a a.c", Some("gcc -Wall a.c")),
            ("gcc -o a a.c", None),
            ("gcc -oout/a a.c", None),
            ("go build -o out/a ./cmd", Some("go build ./cmd")),
            ("go build -- -o out/a", None),
            ("curl -Ho /dev/null u", None),
            ("curl -XGET u", Some("curl u")),
            ("curl --request=GET u", Some("curl u")),
            ("curl -X POST u", None),
            ("curl -o /dev/null -- u", None),
            ("wget -qO- u", Some("wget -q u")),
            ("wget -q -O - u", Some("wget -q u")),
            ("wget -O x u", None),
            ("git -C sub -P status", Some("git status")),
            ("git --no-pager log", Some("git log")),
            ("git -p log", None),
            ("git -C sub -C out status", Some("git status")),
            ("git -C /etc status", None),
            ("git -C sub -C /etc status", None),
            ("git -c a=b status", None),
            ("git -C", None),
            ("make -C sub test", Some("make test")),
            ("make --directory=sub test", Some("make test")),
            ("git config --get a.b", Some("git var")),
            ("git config a.b", Some("git var")),
            ("git config a.b c", None),
            ("git config edit", None),
            ("git config -e", None),
            ("git config --get --add a.b", None),
            ("git -C sub config -l", Some("git var")),
            ("cargo +nightly fmt", Some("cargo fmt")),
            ("cargo +nightly-2026-01-01 fmt", Some("cargo fmt")),
            ("cargo +1.95.0 fmt", Some("cargo fmt")),
            ("cargo +evil fmt", None),
            ("cargo +nightly-evil fmt", None),
            // Which programs `rustup run` starts depends on the tool chain.
            ("rustup +nightly run stable ls", None),
            ("docker compose logs -f web", Some("docker compose logs web")),
            ("docker compose -f x logs", None),
            ("ls -C", None),
            ("cargo test --help", Some("cargo --help")),
            ("cargo run -- --help", None),
            ("docker run x --help", None),
            ("ls x --help", None),
        ];
        for (line, expected) in cases {
            let argv: Vec<ShellArg> = line.split(' ').map(ShellArg::text).collect();
            let can_write = |path: &str| path.starts_with("out/");
            let found = plain(&argv, |path| !path.starts_with('/'), &can_write);
            let found = found.map(|argv| {
                argv.iter().filter_map(ShellArg::literal).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
