//! `cargo xtask generate`: rewrites every file that is generated from the code.
//!
//! The generators are ordinary tests whose names start with `generated_`: such a test compares, and
//! rewrites a stale file before it fails. So the first run writes, and the second one confirms that the
//! files are current.

use std::process::Command;

use crate::{ci, process};

/// Rewrites stale files.
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

/// Fails if a file was stale (it is rewritten anyway).
pub(crate) fn check() -> Result<(), String> {
    process::run(&mut generators())
        .map_err(|error| format!("{error}\n\nrewritten files are to be committed"))
}

/// Set while files may be rewritten.
const WRITING: &str = "AGENTRY_GENERATE";

/// The command for the generators. Doc tests cannot be selected by name, so they are left out.
fn generators() -> Command {
    ci::tests(&["--quiet", "--lib", "--bins", "--tests", "generated_"])
}
