//! The GitHub Action, run as the runner would: its steps are read from `action.yml`, expressions are replaced, each `run` is
//! given to bash with its `env`, and outputs pass from step to step.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use agentry_compile::text::{Findings, SourceFiles, yaml};
use serde_json::Value;

use crate::changes::{commit, committed, git};
use crate::readme::ROOT;
use crate::test::Test;

/// A stand-in for GitHub's own program: it records its arguments, and knows one comment if it is told so.
const GH: &str = "#!/bin/bash\nprintf '%s\\n' \"$*\" >> \"$RUNNER_TEMP/gh.log\"\n\
    for word in \"$@\"; do case $word in body=@*) cp \"${word#body=@}\" \"$RUNNER_TEMP/comment.md\";; esac; done\n\
    case \"$*\" in *--jq*) cat \"$RUNNER_TEMP/known\" 2>/dev/null || true;; esac\n";

struct Runner {
    test: Test,
    inputs: BTreeMap<String, String>,
    outputs: BTreeMap<String, String>,
    base: String,
}

/// What the whole action did.
struct ActionResult {
    failed: Vec<String>,
    log: String,
}

impl Runner {
    /// A pull request in which an agent is widened.
    fn new(inputs: &[(&str, &str)]) -> Self {
        let agent = |rule: &str| {
            format!(
                "name = \"reviewer\"\ndescription = \"Reviews\"\n\n[permissions.bash]\nintent = \"deny\"\nrules = [\"{rule}:allow\"]\n"
            )
        };
        let old = agent("git log *");
        let test = committed(&[
            ("agents/reviewer/agent.toml", &old),
            ("agents/reviewer/system-prompt.md", "You review.\n"),
        ]);
        let base =
            Command::new("git").args(["rev-parse", "HEAD"]).current_dir(test.path("")).output();
        let base =
            String::from_utf8(base.expect("git runs").stdout).expect("a commit").trim().to_owned();
        git(&test, &["checkout", "--quiet", "-b", "$(touch${IFS}injected)"]);
        test.write("agents/reviewer/agent.toml", agent("git *"));
        commit(&test, "widen");
        let temp = test.path("runner");
        fs::create_dir(&temp).expect("a folder");
        fs::create_dir(temp.join("bin")).expect("a folder");
        let gh = temp.join("bin/gh");
        fs::write(&gh, GH).expect("a file");
        fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("a mode");
        let own = [("agentry", env!("CARGO_BIN_EXE_agentry"))];
        let inputs =
            own.iter().chain(inputs).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { test, inputs: inputs.collect(), outputs: BTreeMap::new(), base }
    }

    fn run(&mut self) -> ActionResult {
        let action =
            parse(&fs::read_to_string(Path::new(ROOT).join("action.yml")).expect("a file"));
        for (name, input) in action["inputs"].as_object().expect("inputs") {
            let default = input["default"].as_str().unwrap_or_default().to_owned();
            self.inputs.entry(name.clone()).or_insert(default);
        }
        let mut result = ActionResult { failed: Vec::new(), log: String::new() };
        for step in action["runs"]["steps"].as_array().expect("steps") {
            let name = step["name"].as_str().expect("a name");
            let condition = step["if"].as_str().unwrap_or("success()");
            if !self.holds(condition, &result) {
                continue;
            }
            let output = self.step(step);
            result.log += &format!("{name}\n{}{}", text(&output.stdout), text(&output.stderr));
            if !output.status.success() {
                result.failed.push(name.to_owned());
            }
            let id = step["id"].as_str().unwrap_or("comment");
            self.outputs.insert(
                format!("steps.{id}.outcome"),
                if output.status.success() { "success" } else { "failure" }.to_owned(),
            );
        }
        result
    }

    fn step(&mut self, step: &Value) -> Output {
        assert_eq!(step["shell"], "bash");
        let outputs = self.test.path("runner/output");
        fs::write(&outputs, "").expect("a file");
        let script = step["run"].as_str().expect("a script");
        // The runner would put values into the script; none may stand there.
        assert!(!script.contains("${{"), "{script}");
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
        command.current_dir(self.test.path("")).env_clear();
        let path =
            format!("{}:/usr/local/bin:/usr/bin:/bin", self.test.path("runner/bin").display());
        command.env("PATH", path).env("HOME", self.test.path("home"));
        command.env("RUNNER_TEMP", self.test.path("runner")).env("GITHUB_OUTPUT", &outputs);
        command.env("GITHUB_STEP_SUMMARY", self.test.path("runner/summary.md"));
        for (name, value) in step["env"].as_object().expect("env") {
            command.env(name, self.expand(value.as_str().expect("a text")));
        }
        let output = command.output().expect("bash runs");
        let id = step["id"].as_str().unwrap_or("comment");
        for line in fs::read_to_string(&outputs).expect("a file").lines() {
            let (name, value) = line.split_once('=').expect("an output");
            self.outputs.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        output
    }

    /// Replaces the one expression of a value.
    fn expand(&self, value: &str) -> String {
        let Some(name) = value.strip_prefix("${{ ").and_then(|it| it.strip_suffix(" }}")) else {
            return value.to_owned();
        };
        self.value(name)
    }

    fn value(&self, name: &str) -> String {
        if let Some(input) = name.strip_prefix("inputs.") {
            let default = self.inputs.get(input).unwrap_or_else(|| panic!("no input {input}"));
            return if default == "${{ github.token }}" {
                "token".to_owned()
            } else {
                default.clone()
            };
        }
        match name {
            "github.action_path" => ROOT.to_owned(),
            "github.repository" => "example/agents".to_owned(),
            "github.event.pull_request.number" => "7".to_owned(),
            "github.event.pull_request.base.sha" => self.base.clone(),
            name if name.starts_with("steps.") => {
                self.outputs.get(name).cloned().unwrap_or_default()
            }
            name => panic!("the runner of this test does not know `{name}`"),
        }
    }

    /// Runs the reusable workflow: its own steps, and the action with what it passes on.
    fn run_workflow(&mut self) -> ActionResult {
        let workflow = fs::read_to_string(Path::new(ROOT).join(".github/workflows/agents.yml"));
        let workflow = parse(&workflow.expect("a file"));
        // Where the action would have built it.
        let built = self.test.path("runner/agentry/bin");
        fs::create_dir_all(&built).expect("a folder");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_agentry"), built.join("agentry"))
            .expect("a link");
        for (name, input) in workflow["on"]["workflow_call"]["inputs"].as_object().expect("inputs")
        {
            let default = match &input["default"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.inputs.entry(name.clone()).or_insert(default);
        }
        let mut result = ActionResult { failed: Vec::new(), log: String::new() };
        for step in workflow["jobs"]["check"]["steps"].as_array().expect("steps") {
            let condition = step["if"].as_str().unwrap_or("success()").replace("always() && ", "");
            let is_on = match condition.strip_prefix("inputs.") {
                Some(input) => self.inputs[input] == "true",
                None => true,
            };
            if step["with"]["path"] == ".agentry-action" {
                // The checkout of the action has examples of its own.
                self.test.write(".agentry-action/examples/loud.agent", crate::test::BROKEN);
            }
            if step["uses"] == "./.agentry-action" {
                for (name, value) in step["with"].as_object().expect("inputs") {
                    let value = self.expand(value.as_str().expect("a text"));
                    assert_eq!(self.inputs[name], value, "the workflow passes `{name}` on");
                }
                let action = self.run();
                result.failed.extend(action.failed);
                result.log += &action.log;
            } else if let (Some(script), true) = (step["run"].as_str(), is_on) {
                assert!(!script.contains("${{"), "{script}");
                let mut command = Command::new("bash");
                command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
                command.current_dir(self.test.path("")).env_clear().env("PATH", "/usr/bin:/bin");
                command.env("HOME", self.test.path("home"));
                let output =
                    command.env("RUNNER_TEMP", self.test.path("runner")).output().expect("bash");
                result.log += &format!("{}{}", text(&output.stdout), text(&output.stderr));
                if !output.status.success() {
                    result.failed.push(script.split('"').next_back().unwrap_or(script).to_owned());
                }
            }
        }
        result
    }

    /// A condition: terms that `&&` joins.
    fn holds(&self, condition: &str, result: &ActionResult) -> bool {
        let is_always = condition.contains("always()");
        let holds = |term: &str| match term.trim() {
            "success()" | "always()" => true,
            term => {
                let (name, is_equal, value) =
                    match (term.split_once(" == "), term.split_once(" != ")) {
                        (Some((name, value)), _) => (name, true, value),
                        (_, Some((name, value))) => (name, false, value),
                        _ => panic!("the runner of this test does not know `{term}`"),
                    };
                (self.value(name) == value.trim_matches('\'')) == is_equal
            }
        };
        (is_always || result.failed.is_empty()) && condition.split("&&").all(holds)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.test.path("runner").join(path)).unwrap_or_default()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn parse(text: &str) -> Value {
    let mut sources = SourceFiles::default();
    let source = sources.add("action.yml", text);
    let mut findings = Findings::default();
    let node = yaml::parse(&source, 0..text.len(), yaml::YamlVersion::V1_2, &mut findings);
    assert!(!findings.has_errors(), "{findings:?}");
    node.to_data().to_json()
}

#[test]
fn a_widened_policy_is_posted_as_a_comment() {
    let mut runner = Runner::new(&[]);
    let result = runner.run();
    assert_eq!(result.failed, [""; 0], "{}", result.log);
    let comment = runner
        .read("comment.md")
        .replace(&runner.base, "[BASE]")
        .replace(&runner.base[..12], "[COMMIT]");
    insta::assert_snapshot!(comment, @"
    <!-- agentry: what agents gained -->
    ### What agents gained

    **`agents/reviewer`** (changed)

    | section | may now | before → now | for example |
    | --- | --- | --- | --- |
    | bash | `git *` | deny → allow | `git` |

    <sub>Compared with `[BASE]` at `[COMMIT]`; 0 other agents unchanged. `agentry policy diff --since` shows the same.</sub>
    ");
    // The guide shows this comment, but for its first and its last line.
    let shown = comment.split_once('\n').and_then(|(_, rest)| rest.split_once("\n<sub>"));
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/guides/check-in-ci.md"));
    assert!(guide.expect("a guide").contains(shown.expect("a comment").0), "{comment}");
    let log = runner.read("gh.log");
    assert!(log.contains("--method POST repos/example/agents/issues/7/comments"), "{log}");
    assert!(runner.read("summary.md").contains("### What agents gained"));
    assert!(runner.test.read("agentry.sarif").contains("\"version\": \"2.1.0\""));
    assert!(!runner.test.has("injected"), "a name of a branch was run");
}

#[test]
fn an_existing_comment_is_updated_and_deny_gains_fails() {
    let mut runner = Runner::new(&[("deny-gains", "true")]);
    runner.test.write("runner/known", "42\n");
    let result = runner.run();
    assert_eq!(result.failed, ["What agents gained"], "{}", result.log);
    let log = runner.read("gh.log");
    assert!(log.contains("--method PATCH repos/example/agents/issues/comments/42"), "{log}");
}

#[test]
fn a_finding_fails_the_check_and_is_annotated() {
    let mut runner = Runner::new(&[]);
    runner.test.write("agents/broken.agent", crate::test::BROKEN);
    commit(&runner.test, "broken");
    let result = runner.run();
    assert_eq!(result.failed, ["Check"], "{}", result.log);
    assert!(result.log.contains("::error file=agents/broken.agent,line="), "{}", result.log);
    // Without a gain nobody is bothered with a new comment.
    let mut quiet = Runner::new(&[]);
    git(&quiet.test, &["checkout", "--quiet", "main"]);
    assert_eq!(quiet.run().failed, [""; 0]);
    assert!(!quiet.read("gh.log").contains("--method"), "{}", quiet.read("gh.log"));
}

#[test]
fn the_workflow_checks_rendered_files_and_the_lock_if_asked() {
    let mut plain = Runner::new(&[]);
    assert_eq!(plain.run_workflow().failed, [""; 0]);
    assert!(plain.test.has("agentry.sarif"));
    let comment = plain.read("comment.md");
    assert!(comment.contains("agents/reviewer") && !comment.contains("loud"), "{comment}");
    let mut strict = Runner::new(&[("render-check", "true"), ("lock-check", "true")]);
    let test = &strict.test;
    test.write("agentry.toml", "[render]\ntargets = [\"claude-code\"]\n");
    test.run("render").exits(0);
    test.run("lock").exits(0);
    let done = strict.run_workflow();
    assert_eq!(done.failed, [""; 0], "{}", done.log);
    let mut stale = Runner::new(&[("render-check", "true"), ("lock-check", "true")]);
    let test = &stale.test;
    test.write("agentry.toml", "[render]\ntargets = [\"claude-code\"]\n");
    test.run("render").exits(0);
    test.run("lock").exits(0);
    test.write("agents/reviewer/system-prompt.md", "You approve.\n");
    let done = stale.run_workflow();
    assert_eq!(done.failed, [" render --check", " lock --check"], "{}", done.log);
}

/// What a pull request or a caller can name: nothing of it is run, and nothing outside is written.
#[test]
fn hostile_names_reach_no_shell_and_no_option() {
    let names = [
        "--upload-pack=touch injected; git-upload-pack",
        "-o injected",
        "$(touch injected)",
        "`touch injected`",
        "a'b\"c; touch injected #",
        "main\ntouch injected",
    ];
    for name in names {
        let mut runner = Runner::new(&[("since", name), ("paths", name)]);
        // A repository on this disk: its `--upload-pack` would be run.
        git(&runner.test, &["remote", "add", "origin", "."]);
        let result = runner.run();
        assert_eq!(result.failed, ["Check", "What agents gained"], "{name}: {}", result.log);
        assert!(!runner.test.has("injected"), "{name}: {}", result.log);
    }
    let mut odd = Runner::new(&[("paths", "-agents\n\n")]);
    for name in ["-agents/quote\"d.agent", "-agents/new\nline.agent", "-agents/::error::x.agent"] {
        odd.test.write(name, crate::test::BROKEN);
    }
    commit(&odd.test, "odd names");
    let result = odd.run();
    assert_eq!(result.failed, ["Check"], "{}", result.log);
    // A path cannot begin an annotation of its own.
    let annotations = result.log.lines().filter(|line| line.starts_with("::"));
    assert!(annotations.clone().count() >= 3, "{}", result.log);
    for line in annotations {
        assert!(line.contains(" file=-agents/"), "{line}");
    }
    let mut linked = Runner::new(&[]);
    linked.test.write("outside", "mine\n");
    std::os::unix::fs::symlink("outside", linked.test.path("agentry.sarif")).expect("a link");
    let result = linked.run();
    assert_eq!(result.failed, ["Check"], "{}", result.log);
    assert_eq!(linked.test.read("outside"), "mine\n");
}

#[test]
fn the_ci_templates_are_valid_yaml() {
    for path in [".pre-commit-hooks.yaml", "ci/gitlab.yml", ".github/workflows/agents.yml"] {
        let text = fs::read_to_string(Path::new(ROOT).join(path)).expect("a file");
        let value = parse(&text);
        assert!(value.is_array() || value.is_object(), "{path}");
    }
}
