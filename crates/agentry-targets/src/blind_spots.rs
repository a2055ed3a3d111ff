//! Lines that a harness may take for less than they are. The harnesses differ in which of them deceive
//! them: each names its own in a table of blind spots.

use crate::gap::MisreadLine;

/// A command that no rule is about.
pub(crate) const ANY: &str = "touch x";

/// Options that make a harmless command write, delete or run something.
const OPTIONS: &[(&str, &str)] =
    &[("git", "--output=x"), ("find", "-delete"), ("sort", "-o x"), ("sed", "-i")];

/// The words of a line without quotes.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// A line that is taken for its words.
pub(crate) fn as_typed(line: impl Into<String>) -> MisreadLine {
    let line = line.into();
    let words = words(&line);
    MisreadLine::new(line, words)
}

/// The output of a command goes to a file. Of one that writes a file anyway that shows nothing.
pub(crate) fn redirected(command: &str) -> Vec<MisreadLine> {
    let command = if command == ANY { "echo hi" } else { command };
    vec![MisreadLine::new(format!("{command} > x"), words(command))]
}

/// A command in the text of another shell.
pub(crate) fn in_a_shell(command: &str) -> MisreadLine {
    let taken_for = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
    MisreadLine::new(format!("sh -c '{command}'"), taken_for)
}

/// A command that another one starts.
pub(crate) fn by_env(command: &str) -> MisreadLine {
    as_typed(format!("env {command}"))
}

/// A program by its path, and between quotes.
pub(crate) fn respelled(command: &str) -> Vec<MisreadLine> {
    let by_path = as_typed(format!("/bin/{command}"));
    let Some((program, rest)) = command.split_once(' ') else { return vec![by_path] };
    let quoted = vec![format!("'{program}'"), rest.to_owned()];
    vec![by_path, MisreadLine::new(format!("'{program}' {rest}"), quoted)]
}

/// A command with an option that makes it do more.
pub(crate) fn with_option(command: &str) -> Vec<MisreadLine> {
    let program = command.split(' ').next().unwrap_or_default();
    let options = OPTIONS.iter().filter(|(known, _)| *known == program);
    options.map(|(_, option)| as_typed(format!("{command} {option}"))).collect()
}
