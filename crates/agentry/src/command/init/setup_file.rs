//! The files that `init` proposes, each with the reason.

use super::RepositoryContent;

/// A file that is proposed.
#[derive(Debug)]
pub(super) struct SetupFile {
    /// Its path below the root of the workspace.
    pub(super) path: &'static str,
    /// Why, in one line.
    pub(super) reason: &'static str,
    pub(super) text: String,
}

const BASELINE: &str = "agentry-baseline.json";

/// The files for a repository with this content.
pub(super) fn proposed(content: &RepositoryContent) -> Vec<SetupFile> {
    let mut files = vec![SetupFile {
        path: "agentry.toml",
        reason: "the settings of the team",
        text: configuration(content),
    }];
    if content.findings > 0 {
        files.push(SetupFile {
            path: BASELINE,
            reason: "today's findings, so that only new ones are reported",
            text: content.baseline.to_text(),
        });
    }
    files.push(SetupFile {
        path: ".pre-commit-config.yaml",
        reason: "a hook of pre-commit that checks what a commit touches",
        text: HOOK.to_owned(),
    });
    if content.is_on_gitlab {
        files.push(SetupFile {
            path: ".gitlab/agentry.yml",
            reason: "jobs for merge requests; include it in `.gitlab-ci.yml`",
            text: with_checks(GITLAB, content, "    - "),
        });
    }
    if content.is_on_github || !content.is_on_gitlab {
        files.push(SetupFile {
            path: ".github/workflows/agents.yml",
            reason: "a workflow for pull requests, with what agents gained",
            text: with_checks(WORKFLOW, content, "      - run: "),
        });
    }
    files
}

fn configuration(content: &RepositoryContent) -> String {
    let mut lines =
        vec!["# See `agentry check --help`; paths are relative to this file.".to_owned()];
    lines.push("[check]".to_owned());
    if content.findings > 0 {
        lines.push(format!("baseline = \"{BASELINE}\""));
    }
    lines.push("# exclude = [\"vendor\"]".to_owned());
    let names: Vec<String> = content.harnesses.iter().map(|name| format!("\"{name}\"")).collect();
    let names = names.join(", ");
    match (content.harnesses.is_empty(), content.definitions) {
        (true, _) => {}
        (false, 0) => lines.push(format!(
            "\n# One definition for all harnesses: `agentry import . --to agent-toml -o agents`,\n\
             # then list the harnesses here.\n# [render]\n# targets = [{names}]"
        )),
        (false, _) => lines.push(format!("\n[render]\ntargets = [{names}]")),
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Adds the checks of what is locked and rendered. Those for which nothing is there yet are comments: they would fail.
fn with_checks(text: &str, content: &RepositoryContent, start: &str) -> String {
    let checks = [
        (content.is_locked, "agentry lock --check", "once `agentry lock` has pinned the agents"),
        (content.is_rendered, "agentry render --check", "once `agentry render` has written files"),
    ];
    let lines = checks.map(|(is_there, command, when)| {
        if is_there {
            return format!("{start}{command}\n");
        }
        let (indent, item) = start.split_at(start.len() - start.trim_start().len());
        format!("{indent}# {item}{command}  # {when}\n")
    });
    format!("{text}{}", lines.concat())
}

/// Runs the program of the machine: nothing is fetched.
const HOOK: &str = "\
repos:
  - repo: local
    hooks:
      - id: agentry-check
        name: check agents
        entry: agentry check --changed-since HEAD
        language: system
        pass_filenames: false
";

/// Values from outside reach the steps as variables, never as text of a script.
const WORKFLOW: &str = "\
# `agentry` must be on the PATH of the runner.
name: agents
on: pull_request
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    env:
      BASE_SHA: ${{ github.event.pull_request.base.sha }}
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
          persist-credentials: false
      - name: Check
        run: agentry check --changed-since=\"$BASE_SHA\" --format github
      - name: What agents gained
        if: always()
        # Ends with 1 if an agent may do more: a reviewer decides about that.
        continue-on-error: true
        run: agentry policy diff --since=\"$BASE_SHA\" --format markdown >> \"$GITHUB_STEP_SUMMARY\"
";

const GITLAB: &str = "\
# `agentry` must be in the image. Include this file in `.gitlab-ci.yml`.
agentry-gains:
  stage: test
  variables:
    GIT_DEPTH: \"0\"
  rules:
    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"
  # 1: an agent may do more, which a person decides about.
  allow_failure:
    exit_codes: 1
  script:
    - agentry policy diff --since=\"$CI_MERGE_REQUEST_DIFF_BASE_SHA\"

agentry-check:
  stage: test
  variables:
    GIT_DEPTH: \"0\"
  rules:
    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"
  script:
    - agentry check --changed-since=\"$CI_MERGE_REQUEST_DIFF_BASE_SHA\"
";
