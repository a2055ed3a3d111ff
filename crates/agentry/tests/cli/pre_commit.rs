//! The hooks, run by the real `pre-commit`: those of `agentry init`, and those of `.pre-commit-hooks.yaml`.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::changes::{commit, committed, git};
use crate::readme::ROOT;
use crate::test::{BROKEN, HELPER, Test};

/// Whether `pre-commit` is installed; its absence is reported.
fn is_installed() -> bool {
    let mut probe = Command::new("pre-commit");
    let probe = probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = probe.is_ok_and(|status| status.success());
    if !is_there {
        writeln!(std::io::stderr(), "SKIPPED: `pre-commit` is missing: it runs no hook")
            .expect("a stream");
    }
    is_there
}

/// Runs the hooks for what is staged.
fn hooks(test: &Test) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_agentry")).parent().expect("a directory");
    git(test, &["add", "--all", "."]);
    let mut command = Command::new("pre-commit");
    command.args(["run", "--color", "never", "--verbose"]).current_dir(test.path(""));
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    command
        .env("HOME", test.path(".git/home"))
        .env("PRE_COMMIT_HOME", test.path(".git/pre-commit"));
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("pre-commit runs")
}

fn output_text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn the_hook_of_init_stops_a_broken_agent() {
    if !is_installed() {
        return;
    }
    let test = committed(&[("helper.agent", HELPER)]);
    test.run("init --yes").exits(0);
    let passed = hooks(&test);
    assert!(passed.status.success(), "{}", output_text(&passed));
    test.write("broken.agent", BROKEN);
    let stopped = hooks(&test);
    assert_eq!(stopped.status.code(), Some(1), "{}", output_text(&stopped));
    assert!(output_text(&stopped).contains("broken.agent:5:21"), "{}", output_text(&stopped));
}

#[test]
fn the_hooks_of_the_repository_run() {
    if !is_installed() {
        return;
    }
    let hooks_file = fs::read_to_string(Path::new(ROOT).join(".pre-commit-hooks.yaml"));
    let source = committed(&[(".pre-commit-hooks.yaml", &hooks_file.expect("a file"))]);
    git(&source, &["tag", "v1"]);
    let config = format!(
        "repos:\n  - repo: {}\n    rev: v1\n    hooks:\n      - id: agentry-check\n      - id: agentry-render-check\n      - id: agentry-lock-check\n",
        source.path("").display()
    );
    let test = committed(&[
        ("helper.agent", HELPER),
        ("agentry.toml", "[render]\ntargets = [\"claude-code\"]\n"),
        (".pre-commit-config.yaml", &config),
    ]);
    test.run("render").exits(0);
    test.run("lock").exits(0);
    let passed = hooks(&test);
    assert!(passed.status.success(), "{}", output_text(&passed));
    commit(&test, "rendered");
    test.write("helper.agent", HELPER.replace("questions", "riddles"));
    let stopped = output_text(&hooks(&test));
    let failed = ["check rendered agents", "check the lock"];
    for hook in failed {
        let line = stopped.lines().find(|line| line.starts_with(hook)).unwrap_or_default();
        assert!(line.ends_with("Failed"), "{hook}: {stopped}");
    }
}
