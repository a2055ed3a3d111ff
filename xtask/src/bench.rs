//! `cargo xtask bench`: runs the benchmarks, a crate outside of the workspace.

use std::path::Path;

use crate::process::{self, cargo};

const MANIFEST: &str = "bench/Cargo.toml";

/// Builds and runs the benchmarks.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    if !Path::new(MANIFEST).is_file() {
        return Err(format!("there is nothing to measure: `{MANIFEST}` does not exist"));
    }
    let mut command = cargo("run --profile dist --manifest-path");
    process::run(command.arg(MANIFEST).arg("--").args(arguments))
}
