//! Command lines that a harness may misread as less than they do. Each harness lists in its own table of
//! blind spots which of these lines mislead it.

use crate::gap::MisreadLine;

/// A command that no rule matches.
pub(crate) const ANY: &str = "touch x";

/// Options that make a harmless command write, delete or run something.
const OPTIONS: &[(&str, &str)] =
    &[("git", "--output=x"), ("find", "-delete"), ("sort", "-o x"), ("sed", "-i")];

/// Splits a line that has no quotes into words.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// A line that the harness reads word by word, as it is typed.
pub(crate) fn as_typed(line: impl Into<String>) -> MisreadLine {
    let line = line.into();
    let words = words(&line);
    MisreadLine::new(line, words)
}

/// A command whose output goes to a file.
pub(crate) fn redirected(command: &str) -> Vec<MisreadLine> {
    // `touch` writes a file anyway, so its redirection would show nothing new.
    let command = if command == ANY { "echo hi" } else { command };
    vec![MisreadLine::new(format!("{command} > x"), words(command))]
}

/// A command inside the text given to another shell.
pub(crate) fn in_a_shell(command: &str) -> MisreadLine {
    let taken_for = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
    MisreadLine::new(format!("sh -c '{command}'"), taken_for)
}

/// A command that `env` starts.
pub(crate) fn by_env(command: &str) -> MisreadLine {
    as_typed(format!("env {command}"))
}

/// A command with its program written as a path, and in quotes.
pub(crate) fn respelled(command: &str) -> Vec<MisreadLine> {
    let by_path = as_typed(format!("/bin/{command}"));
    let Some((program, rest)) = command.split_once(' ') else { return vec![by_path] };
    let quoted = vec![format!("'{program}'"), rest.to_owned()];
    vec![by_path, MisreadLine::new(format!("'{program}' {rest}"), quoted)]
}

/// A command with an option that makes it write, delete or run something.
pub(crate) fn with_option(command: &str) -> Vec<MisreadLine> {
    let program = command.split(' ').next().unwrap_or_default();
    let options = OPTIONS.iter().filter(|(known, _)| *known == program);
    options.map(|(_, option)| as_typed(format!("{command} {option}"))).collect()
}
