//! The jobs of the GitLab template, run as its runner would, by a shell that is not bash.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::action::parse;
use crate::changes::{commit, committed};
use crate::readme::ROOT;
use crate::test::{BROKEN, Test};

const RULES: &str =
    "name = \"reviewer\"\ndescription = \"Reviews\"\n\n[permissions.bash]\nintent = \"deny\"\n";

/// A repository whose second commit changes an agent, and its first commit.
fn changed(old: &str, new: &str) -> (Test, String) {
    let test = committed(&[
        ("agents/reviewer/agent.toml", &format!("{RULES}rules = [\"{old}:allow\"]\n")),
        ("agents/reviewer/system-prompt.md", "You review.\n"),
    ]);
    let base = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(test.path("")).output();
    let base = String::from_utf8(base.expect("git runs").stdout).expect("a commit");
    test.write("agents/reviewer/agent.toml", format!("{RULES}rules = [\"{new}:allow\"]\n"));
    commit(&test, "change");
    (test, base.trim().to_owned())
}

/// Runs one job: its commands are one script, which ends at the first failure.
fn job(test: &Test, base: &str, name: &str) -> (Value, Output) {
    let yaml = fs::read_to_string(Path::new(ROOT).join("ci/gitlab.yml")).expect("a file");
    let template = parse(&yaml);
    let job = template[name].clone();
    let lines = job["script"].as_array().expect("commands").iter();
    let lines: Vec<_> = lines.map(|line| line.as_str().expect("a text")).collect();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("set -e\n{}", lines.join("\n"))]).current_dir(test.path(""));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", test.path("home"));
    command.env("AGENTRY", env!("CARGO_BIN_EXE_agentry"));
    command.env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base);
    (job, command.output().expect("a shell"))
}

#[test]
fn the_gitlab_jobs_end_with_the_codes_that_the_template_expects() {
    let cases =
        [("git log *", "git *", 1, "| bash | `git *` |"), ("git *", "git log *", 0, "Nothing:")];
    for (old, new, code, shown) in cases {
        let (test, base) = changed(old, new);
        let (_, checked) = job(&test, &base, "agentry-check");
        assert!(checked.status.success(), "{checked:?}");
        let (template, gains) = job(&test, &base, "agentry-gains");
        assert_eq!(gains.status.code(), Some(code), "{gains:?}");
        assert_eq!(template["allow_failure"]["exit_codes"], 1);
        let artifact = template["artifacts"]["paths"][0].as_str().expect("a path");
        assert!(test.read(artifact).contains(shown), "{}", test.read(artifact));
        assert_eq!(String::from_utf8_lossy(&gains.stdout), test.read(artifact));
        // An agent with errors fails both jobs: it cannot be compared.
        test.write("agents/broken.agent", BROKEN);
        assert_eq!(job(&test, &base, "agentry-check").1.status.code(), Some(1));
        assert_eq!(job(&test, &base, "agentry-gains").1.status.code(), Some(2));
    }
}
