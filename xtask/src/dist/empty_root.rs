//! Runs the tests of the program in a root with nothing in it: no library, no shell, no configuration of a system.
//!
//! The tests stay outside and start a script instead of the program; `bwrap` gives it a root that has only the program, the
//! files of the test, and the examples. Tests that need another program inside, such as `git`, are left out by name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ci;
use crate::process::run;

/// The name of the script. It is outside of `target/packages`, whose files are published.
const SCRIPT: &str = "target/in-empty-root";

/// The tests whose program needs more than itself, by what it needs.
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "a shell, and the sandbox for it",
        &[
            "delegation",
            "examples::the_tools_of",
            "mcp::",
            "mcp_features::",
            "mcp_questions::",
            "run_calls::",
            "run_controlled::",
            "run_variables::",
            "script_tools::",
            "serve::",
            "serve_agents::",
            "skill_files::",
            "skills::",
            "tools::",
        ],
    ),
    (
        "git",
        &["changes::", "evolution::", "home::", "home_trouble::", "memory::", "talk::the_memory"],
    ),
    (
        "a process that the test itself can signal",
        &[
            "acp::an_editor_that_leaves",
            "receipts::a_killed_run",
            "render_watch::",
            "run_again::signals",
            "run_killed::",
            "run_signals::whoever",
            "schedule::",
        ],
    ),
    ("certificates", &["bases::an_oci_reference", "mcp_remote::", "resolve::hosted_providers"]),
    (
        "files outside of the test, or the messages of another C library",
        &[
            "convert_save::a_full_disk",
            "guides::",
            "hostile::unix::",
            "machine::doctor",
            "readme::generated",
        ],
    ),
    ("a debug build, which can die at a step", &["store_crash::a_push_that_dies"]),
];

/// Runs the tests of the command line with a static program.
pub(super) fn test(binary: &Path) -> Result<(), String> {
    let Some(bwrap) = found("bwrap") else {
        println!("SKIPPED: the tests in an empty root: `bwrap` is missing");
        return Ok(());
    };
    let text = |error: std::io::Error| error.to_string();
    let binary = fs::canonicalize(binary).map_err(text)?;
    let script = std::path::absolute(SCRIPT).map_err(text)?;
    fs::write(&script, in_empty_root(&bwrap, &binary)?).map_err(text)?;
    #[cfg(unix)]
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(text)?;
    let mut words = vec!["--test", "cli", "--", "--quiet"];
    for (needed, names) in LEFT_OUT {
        println!("left out, for want of {needed}: {}", names.join(", "));
        words.extend(names.iter().flat_map(|name| ["--skip", name]));
    }
    run(ci::tests(&words).env("AGENTRY_TEST_PROGRAM", &script))
}

/// The path of a program: the tests empty `PATH`.
fn found(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// The script: it starts a program with a root of its own.
fn in_empty_root(bwrap: &Path, binary: &Path) -> Result<String, String> {
    let absolute = |path: &str| std::path::absolute(path).map_err(|error| error.to_string());
    let (temporary, examples) = (std::env::temp_dir(), absolute("examples")?);
    Ok(format!(
        "#!/bin/sh\nexec {bwrap} --die-with-parent --dev /dev --proc /proc --bind {temporary} {temporary} \\\n  \
         --dir {tests} --ro-bind {examples} {examples} --ro-bind {binary} /agentry --chdir \"$PWD\" \\\n  \
         /agentry \"$@\"\n",
        bwrap = bwrap.display(),
        temporary = temporary.display(),
        // Paths of tests begin here and lead up again.
        tests = absolute("crates/agentry")?.display(),
        examples = examples.display(),
        binary = binary.display(),
    ))
}
