//! `cargo xtask generate`: rewrites every file that is written from the code.
//!
//! The generators are ordinary tests whose names start with `generated_`: such a test compares, and
//! rewrites a stale file before it fails. So running them once writes, and running them again shows
//! that what was written is current.

use std::process::Command;

use crate::{ci, process};

/// Rewrites what is stale.
pub(crate) fn write() -> Result<(), String> {
    if process::output(generators().env(WRITING, "1")).is_ok() {
        println!("every generated file is current");
        return Ok(());
    }
    process::run(generators().env(WRITING, "1"))
        .map_err(|error| format!("the generators failed twice: {error}"))?;
    println!("stale files were rewritten; look at them and commit them");
    Ok(())
}

/// Fails when a file was stale (it is rewritten all the same).
pub(crate) fn check() -> Result<(), String> {
    process::run(&mut generators())
        .map_err(|error| format!("{error}\n\nrewritten files are to be committed"))
}

/// Set while files are meant to be rewritten.
const WRITING: &str = "AGENTRY_GENERATE";

/// Doc tests cannot be named, so they are left out.
fn generators() -> Command {
    ci::tests(&["--quiet", "--lib", "--bins", "--tests", "generated_"])
}
