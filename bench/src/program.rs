//! Builds the measured program in release mode, and checks its result, so that no benchmark measures a
//! program that does nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program in release mode and returns its path; or the program that `AGENTRY_BENCH_PROGRAM` names.
pub(crate) fn build() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("AGENTRY_BENCH_PROGRAM") {
        return Ok(given.into());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["build", "--profile", "dist", "--package", "agentry"]);
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !status.success() {
        return Err("agentry cannot be built".to_owned());
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(root.join(target).join("dist/agentry"))
}

/// Checks that the program finds `count` agents below `dir`, without findings.
pub(crate) fn confirm(program: &Path, dir: &Path, count: usize) -> Result<(), String> {
    let output = Command::new(program).arg("check").arg(dir).output();
    let output = output.map_err(|error| format!("agentry cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.trim_end().lines().last().unwrap_or_default();
    let expected = format!("{count} agents");
    if output.status.success() && last.contains(&expected) {
        return Ok(());
    }
    let first: Vec<&str> = text.lines().take(12).collect();
    Err(format!("`agentry check` of {count} sound agents says `{last}`\n{}", first.join("\n")))
}
