//! Runs other programs. Their output is passed through unless the caller asks for it.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// The Cargo that started this program, with arguments split at spaces.
pub(crate) fn cargo(arguments: &str) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace());
    command
}

/// A program with its arguments, all split at spaces.
pub(crate) fn program(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Runs a program and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = shown(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` could not be started: {error}")),
    }
}

/// The standard output of a program.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let line = shown(command);
    let output =
        command.output().map_err(|error| format!("`{line}` could not be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{line}` ended with {}\n{}", output.status, complaint.trim_end()))
}

/// Whether a program exists and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command as a user would type it.
pub(crate) fn shown(command: &Command) -> String {
    let path = std::path::Path::new(command.get_program());
    let name = path.file_stem().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args()).map(OsStr::to_string_lossy);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let cases = [
            ("/usr/lib/rust/bin/cargo fmt --all", "cargo fmt --all"),
            ("git status", "git status"),
        ];
        for (line, expected) in cases {
            assert_eq!(shown(&program(line)), expected, "{line}");
        }
    }
}
