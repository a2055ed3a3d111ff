//! Runs the tests of the program in a root with nothing in it: no library, no shell, no configuration of a system.
//!
//! The tests stay outside and start a script instead of the program; `bwrap` gives it a root that has only the program, the
//! files of the test, and the examples. Tests that need another program inside, such as `git`, are left out by name.

use std::fs;
use std::path::Path;

use crate::ci;
use crate::process::{program, run, succeeds};

/// The name of the script. It is outside of `target/packages`, whose files are published.
const SCRIPT: &str = "target/in-empty-root";

/// The tests whose program needs more than itself, and why.
const LEFT_OUT: &[(&str, &str)] = &[];

/// Runs the tests of the command line with a static program.
pub(super) fn test(binary: &Path) -> Result<(), String> {
    if !succeeds(&mut program("bwrap --version")) {
        println!("SKIPPED: the tests in an empty root: `bwrap` is missing");
        return Ok(());
    }
    let text = |error: std::io::Error| error.to_string();
    let binary = fs::canonicalize(binary).map_err(text)?;
    let script = std::path::absolute(SCRIPT).map_err(text)?;
    fs::write(&script, in_empty_root(&binary)?).map_err(text)?;
    #[cfg(unix)]
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(text)?;
    let mut words = vec!["--test", "cli", "--", "--quiet"];
    words.extend(LEFT_OUT.iter().flat_map(|(name, _)| ["--skip", name]));
    run(ci::tests(&words).env("AGENTRY_TEST_PROGRAM", &script))
}

/// The script: it starts a program with a root of its own.
fn in_empty_root(binary: &Path) -> Result<String, String> {
    let temporary = std::env::temp_dir();
    let examples = std::path::absolute("examples").map_err(|error| error.to_string())?;
    Ok(format!(
        "#!/bin/sh\nexec bwrap --dev /dev --proc /proc --bind {temporary} {temporary} \\\n  \
         --ro-bind {examples} {examples} --ro-bind {binary} /agentry --chdir \"$PWD\" \\\n  /agentry \"$@\"\n",
        temporary = temporary.display(),
        examples = examples.display(),
        binary = binary.display(),
    ))
}
