//! `cargo xtask targets`: checks that the code compiles for systems other than this one.
//!
//! `cargo check` links nothing, so the C code of libraries is not needed: a script stands for the C compiler, and
//! neither musl nor an SDK has to be installed. `cargo xtask dist --all` builds and runs the static program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, cargo, output, program};
use crate::step::Outcome;

/// Linux with static programs.
pub(crate) const MUSL: &str = "x86_64-unknown-linux-musl";
/// The same on arm64.
pub(crate) const MUSL_ARM: &str = "aarch64-unknown-linux-musl";
/// The ones that `cargo xtask ci` checks: a system takes almost two minutes of processor time, and these differ the
/// most from Linux.
pub(crate) const IN_CI: &[&str] = &[MACOS, WINDOWS];
const MACOS: &str = "aarch64-apple-darwin";
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Every system for which the program is checked.
const SYSTEMS: &[&str] =
    &[MUSL, MUSL_ARM, "aarch64-unknown-linux-gnu", MACOS, "x86_64-apple-darwin", WINDOWS];

/// Stands for a C compiler: writes each file that it is asked for, empty. Build scripts ask first whose options it
/// takes, GCC's (`-E`) or Microsoft's (`-?`).
const NO_COMPILER: &str = r#"#!/bin/sh
case $1 in -E) echo '"gcc"' ;; -\?) exit 1 ;; esac
while [ $# -gt 0 ]; do
    case $1 in -o) : > "$2"; shift ;; esac
    shift
done
"#;

/// Checks the code for the named systems, or for all. One whose standard library cannot be installed is skipped and
/// reported.
pub(crate) fn run(triples: &[&str]) -> Result<Outcome, String> {
    let systems = choose(triples)?;
    let compiler = write_compiler(Path::new("target"))?;
    let mut missing = Vec::new();
    for triple in systems {
        if !is_installed(triple) {
            println!("SKIPPED: {triple} has no standard library here");
            missing.push(triple);
            continue;
        }
        process::run(&mut check(triple, &compiler))?;
    }
    Ok(outcome(&missing))
}

fn choose(triples: &[&str]) -> Result<Vec<&'static str>, String> {
    if triples.is_empty() {
        return Ok(SYSTEMS.to_vec());
    }
    let find = |triple: &&str| {
        let found = SYSTEMS.iter().find(|system| *system == triple);
        found
            .copied()
            .ok_or_else(|| format!("`{triple}` is none of the systems: {}", SYSTEMS.join(", ")))
    };
    triples.iter().map(find).collect()
}

fn outcome(missing: &[&str]) -> Outcome {
    match missing {
        [] => Outcome::Done,
        triples => Outcome::Skipped(format!(
            "`rustup target add {}` installs what is missing",
            triples.join(" ")
        )),
    }
}

/// The command that checks the code for a system.
fn check(triple: &str, compiler: &Path) -> Command {
    let mut command = cargo("check --locked --package agentry --target");
    command.arg(triple);
    let suffix = triple.replace('-', "_");
    command.env(format!("CC_{suffix}"), compiler).env(format!("AR_{suffix}"), "ar");
    command
}

/// Whether the standard library of a system is installed, if need be just now.
pub(crate) fn is_installed(triple: &str) -> bool {
    has_library(triple)
        || (process::succeeds(program("rustup target add").arg(triple)) && has_library(triple))
}

fn has_library(triple: &str) -> bool {
    let listed = output(program("rustc --print target-libdir --target").arg(triple));
    listed.is_ok_and(|directory| Path::new(directory.trim()).is_dir())
}

/// Writes the script in place of a C compiler, and returns its absolute path.
fn write_compiler(directory: &Path) -> Result<PathBuf, String> {
    let write = || {
        fs::create_dir_all(directory)?;
        let path = std::path::absolute(directory.join("no-c-compiler"))?;
        write_script(&path, NO_COMPILER)?;
        Ok(path)
    };
    write().map_err(|error: std::io::Error| format!("no script in `target`: {error}"))
}

/// Writes a script that can be started.
pub(crate) fn write_script(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_is_checked_by_one_command() {
        let shown: Vec<String> = SYSTEMS
            .iter()
            .map(|triple| process::shown(&check(triple, Path::new("/no-c-compiler"))))
            .collect();
        let expected: Vec<String> = SYSTEMS
            .iter()
            .map(|triple| format!("cargo check --locked --package agentry --target {triple}"))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn systems_are_chosen_by_name() {
        assert_eq!(choose(&[]), Ok(SYSTEMS.to_vec()));
        assert_eq!(choose(&[MACOS]), Ok(vec![MACOS]));
        let error = choose(&[MACOS, "amiga"]).expect_err("a system that is none");
        assert!(
            error.starts_with("`amiga` is none of the systems: x86_64-unknown-linux-musl, "),
            "{error}"
        );
    }

    #[test]
    fn a_missing_standard_library_is_named_with_its_remedy() {
        assert_eq!(outcome(&[]), Outcome::Done);
        let expected = "`rustup target add one two` installs what is missing";
        assert_eq!(outcome(&["one", "two"]), Outcome::Skipped(expected.to_owned()));
        assert!(!has_library("no-such-system"));
    }

    #[test]
    #[cfg(unix)]
    fn the_stand_in_compiler_writes_an_object() {
        let directory = std::env::temp_dir().join(format!("xtask-targets-{}", std::process::id()));
        let compiler = write_compiler(&directory).expect("a script");
        let object = directory.join("some file.o");
        let mut command = Command::new(compiler);
        command.args(["-O2", "-c", "some.c", "-o"]).arg(&object);
        let status = command.status().expect("a shell");
        let written = fs::read(&object);
        fs::remove_dir_all(&directory).expect("the directory of the test");
        assert!(status.success());
        assert_eq!(written.expect("the object"), b"");
    }
}
