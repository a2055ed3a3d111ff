//! `cargo xtask targets`: checks that the code compiles for systems other than this one.
//!
//! `cargo check` links nothing, so the C code of libraries is not needed: a script stands for the C compiler, and
//! neither musl nor an SDK has to be installed. `cargo xtask dist --all` builds and runs the static program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, cargo, output, program};
use crate::step::Outcome;

/// A system for which the code is checked.
struct ForeignSystem {
    triple: &'static str,
    packages: &'static [&'static str],
}

/// The program, with every crate that it needs.
const PROGRAM: &[&str] = &["agentry"];
/// What compiles for Windows. The other crates hold files open by descriptors, which Windows does not have.
const WITHOUT_DESCRIPTORS: &[&str] =
    &["agentry-acp", "agentry-compile", "agentry-registry", "agentry-rpc", "agentry-sandbox"];

/// Linux with static programs.
pub(crate) const MUSL: &str = "x86_64-unknown-linux-musl";
/// The one that `cargo xtask ci` checks: a system takes almost two minutes of processor time, and this one differs
/// the most from Linux of those for which the program compiles.
pub(crate) const MACOS: &str = "aarch64-apple-darwin";

const SYSTEMS: &[ForeignSystem] = &[
    ForeignSystem { triple: MUSL, packages: PROGRAM },
    ForeignSystem { triple: MACOS, packages: PROGRAM },
    ForeignSystem { triple: "x86_64-pc-windows-gnu", packages: WITHOUT_DESCRIPTORS },
];

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
    for system in systems {
        if !is_installed(system.triple) {
            println!("SKIPPED: {} has no standard library here", system.triple);
            missing.push(system.triple);
            continue;
        }
        process::run(&mut check(system, &compiler))?;
    }
    Ok(outcome(&missing))
}

fn choose(triples: &[&str]) -> Result<Vec<&'static ForeignSystem>, String> {
    if triples.is_empty() {
        return Ok(SYSTEMS.iter().collect());
    }
    let find = |triple: &&str| {
        let known = || SYSTEMS.iter().map(|it| it.triple).collect::<Vec<_>>().join(", ");
        let found = SYSTEMS.iter().find(|system| system.triple == *triple);
        found.ok_or_else(|| format!("`{triple}` is none of the systems: {}", known()))
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
fn check(system: &ForeignSystem, compiler: &Path) -> Command {
    let ForeignSystem { triple, packages } = system;
    let mut command = cargo("check --locked --target");
    command.arg(triple);
    for package in *packages {
        command.args(["--package", package]);
    }
    let suffix = triple.replace('-', "_");
    command.env(format!("CC_{suffix}"), compiler).env(format!("AR_{suffix}"), "ar");
    command
}

/// Whether the standard library of a system is installed, if need be just now.
fn is_installed(triple: &str) -> bool {
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
        fs::write(&path, NO_COMPILER)?;
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(path)
    };
    write().map_err(|error: std::io::Error| format!("no script in `target`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_is_checked_by_one_command() {
        let shown: Vec<String> = SYSTEMS
            .iter()
            .map(|system| process::shown(&check(system, Path::new("/no-c-compiler"))))
            .collect();
        let windows = "cargo check --locked --target x86_64-pc-windows-gnu --package agentry-acp \
            --package agentry-compile --package agentry-registry --package agentry-rpc --package agentry-sandbox";
        assert_eq!(
            shown,
            [
                "cargo check --locked --target x86_64-unknown-linux-musl --package agentry",
                "cargo check --locked --target aarch64-apple-darwin --package agentry",
                windows,
            ]
        );
    }

    #[test]
    fn systems_are_chosen_by_name() {
        let chosen = |triples: &[&str]| {
            choose(triples).map(|all| all.iter().map(|it| it.triple).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&[]).map(|all| all.len()), Ok(SYSTEMS.len()));
        assert_eq!(chosen(&[MACOS]), Ok(vec![MACOS]));
        let error = "`amiga` is none of the systems: x86_64-unknown-linux-musl, aarch64-apple-darwin, \
            x86_64-pc-windows-gnu";
        assert_eq!(chosen(&[MACOS, "amiga"]), Err(error.to_owned()));
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
    fn the_script_writes_what_a_compiler_would() {
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
