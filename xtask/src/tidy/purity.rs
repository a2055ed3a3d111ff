//! Checks that the crates from `text` to `compile` reach files, environment, processes, network and clock
//! only through the `World`. Clippy forbids the functions; this check finds the modules they are in.

use crate::files::File;

const PURE_ROOMS: &[&str] = &["text", "policy", "model", "formats", "targets", "check", "compile"];
const MODULES: &[&str] = &["fs", "env", "process", "net", "time"];

/// Every line outside of tests that names such a module.
pub(super) fn check(files: &[File]) -> Vec<String> {
    files.iter().filter(|file| is_pure(file)).flat_map(check_file).collect()
}

fn is_pure(file: &File) -> bool {
    let room = file.path.strip_prefix("crates/agentry-").and_then(|rest| rest.split_once("/src/"));
    file.is_rust() && room.is_some_and(|(room, _)| PURE_ROOMS.contains(&room))
}

fn check_file(file: &File) -> Vec<String> {
    let complain = |(number, line)| {
        let module = impure_module(line)?;
        Some(format!("{}:{number}: `std::{module}` in a room that does no IO", file.path))
    };
    file.statements().filter_map(complain).collect()
}

/// The module in `std::fs::read`, `use std::fs;` or `use std::{fmt, fs};`.
fn impure_module(line: &str) -> Option<&'static str> {
    let (_, after) = line.split_once("std::")?;
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let named = match after.strip_prefix('{') {
        Some(group) => words(group),
        None => words(after).into_iter().take(1).collect(),
    };
    let found = MODULES.iter().copied().find(|module| named.iter().any(|word| word == module));
    // A span of time is plain data; only reading the clock is not.
    found.filter(|module| {
        *module != "time" || after.contains("SystemTime") || after.contains("Instant")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn io_in_pure_crates_is_reported() {
        let found = |line, module| {
            vec![format!(
                "crates/agentry-text/src/a.rs:{line}: `std::{module}` in a room that does no IO"
            )]
        };
        let cases = [
            ("use std::fmt;\nuse std::time::Duration;\n", vec![]),
            ("// not std::fs\n", vec![]),
            ("use std::fs;\n", found(1, "fs")),
            ("\nlet a = std::env::var(name);\n", found(2, "env")),
            ("use std::{fmt, fs};\n", found(1, "fs")),
            ("use std::time::{Duration, Instant};\n", found(1, "time")),
            ("\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(check(&[file("crates/agentry-text/src/a.rs", text)]), expected, "{text}");
        }
    }

    #[test]
    fn io_in_other_crates_and_tests_is_allowed() {
        let paths = [
            "crates/agentry/src/main.rs",
            "crates/agentry-text/tests/suite.rs",
            "xtask/src/main.rs",
        ];
        for path in paths {
            assert_eq!(check(&[file(path, "use std::fs;\n")]), [""; 0], "{path}");
        }
    }
}
