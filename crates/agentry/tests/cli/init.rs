//! `agentry init`: proposes files for a repository, and never overwrites one.

use crate::test::{BROKEN, HELPER, Test};

const CLAUDE: &str = "---\nname: reviewer\ndescription: Reviews a change. Use it after each commit.\n---\nYou review.\n";

#[test]
fn a_repository_with_findings_gets_a_baseline() {
    let test = Test::new().file("broken.agent", BROKEN).file(".claude/agents/reviewer.md", CLAUDE);
    insta::assert_snapshot!(test.run("init --dry-run"), @r#"
    $ agentry init --dry-run
    --- stdout
    found 1 definition, 1 agent of claude-code, 2 findings

    would write agentry.toml: the settings of the team
        # See `agentry check --help`; paths are relative to this file.
        [check]
        baseline = "agentry-baseline.json"
        # exclude = ["vendor"]

        [render]
        targets = ["claude-code"]

    would write agentry-baseline.json: today's findings, so that only new ones are reported
        {
          "version": 1,
          "findings": [
            {"path":"broken.agent","code":"AG0101","message":"the manifest has no field `team`","count":1},
            {"path":"broken.agent","code":"AG0104","message":"`filesystem` cannot be `readwrite`","count":1}
          ]
        }

    would write .pre-commit-config.yaml: a hook of pre-commit that checks what a commit touches
        repos:
          - repo: local
            hooks:
              - id: agentry-check
                name: check agents
                entry: agentry check --changed-since HEAD
                language: system
                pass_filenames: false

    would write .github/workflows/agents.yml: a workflow for pull requests, with what agents gained
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
                run: agentry check --changed-since="$BASE_SHA" --format github
              - name: What agents gained
                if: always()
                # Ends with 1 if an agent may do more: a reviewer decides about that.
                continue-on-error: true
                run: agentry policy diff --since="$BASE_SHA" --format markdown >> "$GITHUB_STEP_SUMMARY"
              # - run: agentry lock --check  # once `agentry lock` has pinned the agents
              # - run: agentry render --check  # once `agentry render` has written files

    nothing was written; `agentry init` asks about each file, `--yes` writes all
    --- exit 0
    "#);
    assert!(!test.has("agentry.toml"), "nothing is written");
    insta::assert_snapshot!(test.run("init --yes"), @"
    $ agentry init --yes
    --- stdout
    found 1 definition, 1 agent of claude-code, 2 findings

    wrote agentry.toml: the settings of the team
    wrote agentry-baseline.json: today's findings, so that only new ones are reported
    wrote .pre-commit-config.yaml: a hook of pre-commit that checks what a commit touches
    wrote .github/workflows/agents.yml: a workflow for pull requests, with what agents gained
    next: `agentry check`, then commit these files; `agentry lock` pins what you reviewed
    --- exit 0
    ");
    // The files work: only new findings are reported.
    test.run("check --deny-warnings").exits(0);
    test.write("new.agent", BROKEN.replace("broken", "other"));
    test.run("check").exits(1);
}

#[test]
fn existing_files_are_kept_and_files_written_together() {
    let test = Test::new()
        .file("helper.agent", HELPER)
        .file("agentry.toml", "# mine\n")
        .file(".github/CODEOWNERS", "* @example\n");
    let first = test.run("init --yes").exits(0);
    assert!(first.stdout.contains("agentry.toml is there already"), "{first}");
    assert_eq!(test.read("agentry.toml"), "# mine\n");
    let workflow = test.read(".github/workflows/agents.yml");
    test.write(".github/workflows/agents.yml", "mine\n");
    test.run("init --yes").exits(0);
    assert_eq!(test.read(".github/workflows/agents.yml"), "mine\n");
    assert!(workflow.contains("--changed-since=\"$BASE_SHA\""), "{workflow}");
    // A file where a directory is needed: nothing is written at all.
    let blocked = Test::new().file("helper.agent", HELPER).file(".github", "");
    blocked.run("init --yes").exits(2);
    assert!(!blocked.has("agentry.toml"));
}

#[test]
fn init_without_a_terminal_writes_nothing() {
    let test = Test::new().file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("init"), @"
    $ agentry init
    --- stdout
    found 1 definition, no agents of harnesses, 0 findings

    --- stderr
    error: nothing was written, because nobody can be asked
      = help: `--dry-run` shows what would be written, `--yes` writes it
    --- exit 2
    ");
    let value = test.run("init --dry-run --format json").exits(0).json();
    assert_eq!(value["definitions"], 1);
    assert_eq!(value["files"][0]["path"], "agentry.toml");
    assert_eq!(value["files"][0]["state"], "proposed");
}

#[test]
fn the_next_step_and_the_checks_fit_what_is_there() {
    let empty = Test::new().run("init --yes").exits(0);
    assert!(empty.stdout.contains("`agentry new agent-toml NAME` begins an agent"), "{empty}");
    let claude = Test::new().file(".claude/agents/reviewer.md", CLAUDE).run("init --yes").exits(0);
    assert!(claude.stdout.contains("`agentry import . --to agent-toml -o agents`"), "{claude}");
    let test = Test::new()
        .file("helper.agent", HELPER)
        .file("agentry.toml", "[render]\ntargets = [\"claude-code\"]\n");
    test.run("render").exits(0);
    test.run("lock").exits(0);
    test.run("init --yes").exits(0);
    let workflow = test.read(".github/workflows/agents.yml");
    assert!(
        workflow.ends_with(
            "\n      - run: agentry lock --check\n      - run: agentry render --check\n"
        )
    );
}

#[test]
fn gitlab_gets_jobs_of_its_own() {
    let test = Test::new().file("helper.agent", HELPER).file(".gitlab-ci.yml", "stages: [test]\n");
    test.run("init --yes").exits(0);
    let jobs = test.read(".gitlab/agentry.yml");
    assert!(jobs.contains("policy diff --since") && jobs.contains("exit_codes: 1"), "{jobs}");
    assert!(jobs.trim_end().ends_with("has written files"), "{jobs}");
    assert!(!test.has(".github"));
    assert_eq!(test.read(".gitlab-ci.yml"), "stages: [test]\n");
}
