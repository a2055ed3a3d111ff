//! `agentry convert`: files that an agent names by relative paths are found from the new directory.

use crate::test::{HELPER, Test};

const AGENT_TOML: &str = "name = \"helper\"\ndescription = \"Answers questions\"\n\
    context = [\"../../docs/style.md\"]\nrules = [\"tone\"]\n";

fn with_context() -> Test {
    Test::new()
        .file("agents/helper/agent.toml", AGENT_TOML)
        .file("agents/helper/system-prompt.md", "You answer questions.\n")
        .file("docs/style.md", "Write short sentences.\n")
        .file("rules/tone.md", "- Stay polite\n")
}

#[test]
fn relative_paths_are_adapted_to_the_new_directory() {
    let test = with_context();
    let ran = test.run("convert agents/helper --to agent-toml -o moved/deep/er/helper").exits(0);
    assert!(ran.stdout.contains("nothing is lost"), "{ran}");
    let written = test.read("moved/deep/er/helper/agent.toml");
    assert!(written.contains(r#"context = ["../../../../docs/style.md"]"#), "{written}");
    assert!(written.contains(r#"rules = ["tone"]"#), "{written}");
    test.run("check moved --deny-warnings").exits(0);
    let same = test.run("convert agents/helper --to agent-toml -o agents/helper --force").exits(0);
    assert!(same.stdout.contains("nothing is lost"), "{same}");
    assert!(test.read("agents/helper/agent.toml").contains("../../docs/style.md"));
}

#[test]
fn files_outside_the_workspace_are_inlined() {
    let test = with_context().file("other/agentry.toml", "");
    insta::assert_snapshot!(test.run("convert agents/helper --to agent-toml -o other/helper"), @r#"
    $ agentry convert agents/helper --to agent-toml -o other/helper
    --- stdout
    wrote other/helper/agent.toml
    wrote other/helper/system-prompt.md
    lost in agent-toml:
      context     changed  `docs/style.md` was copied to the end of the system text
      rule_files  changed  `rules/tone.md` was copied into the rules
      rules       changed  moved to the end of the prompt, under `## Rules`
      system      changed  what has no field of its own was added at its end
    --- exit 0
    "#);
    insta::assert_snapshot!(test.read("other/helper/system-prompt.md"), @r#"
    You answer questions.

    <context path="docs/style.md">
    Write short sentences.
    </context>

    ## Rules

    - Stay polite
    "#);
    assert!(!test.read("other/helper/agent.toml").contains("context"));
    test.run("check other --deny-warnings").exits(0);
}

#[test]
fn a_format_without_references_inlines_files() {
    let test = with_context();
    insta::assert_snapshot!(test.run("convert agents/helper --to manifest -o helper.agent"), @r#"
    $ agentry convert agents/helper --to manifest -o helper.agent
    --- stdout
    wrote helper.agent
    lost in manifest:
      context      changed   `docs/style.md` was copied to the end of the system text
      permissions  narrowed  what was asked about is denied: a manifest without `trust` has none
      rule_files   changed   `rules/tone.md` was copied into the rules
    --- exit 0
    "#);
    insta::assert_snapshot!(test.read("helper.agent"), @r#"
    apiVersion: agent/v1
    name: helper
    description: Answers questions

    soul: |
      You answer questions.

      <context path="docs/style.md">
      Write short sentences.
      </context>
    rules: |
      - Stay polite
    "#);
}

/// A file that no model may see is not copied, and reported as lost.
#[test]
fn a_file_that_cannot_be_copied_is_a_loss() {
    let test = with_context().file("docs/style.md", "Hidden \u{202e}text\n");
    let ran = test.run("convert agents/helper --to manifest -o helper.agent").exits(0);
    assert!(ran.stdout.contains("`../../docs/style.md` cannot be reached"), "{ran}");
    assert!(!test.read("helper.agent").contains("Hidden"));
}

const SCRIPT: &str = "async function run(ctx, inputs) {\n  return inputs;\n}\n";

#[test]
fn missing_workspace_scripts_are_copied() {
    let tool = "---\nkind: script\ndescription: Echoes\npath: scripts/echo.js\n---\n";
    let test = Test::new()
        .file("agents/helper/instructions.md", "You answer questions.\n")
        .file("agents/helper/tools/echo.md", tool)
        .file("scripts/echo.js", SCRIPT)
        .file("other/agentry.toml", "");
    test.run("convert agents/helper --to agent-dir -o moved/helper").exits(0);
    assert!(!test.has("moved/helper/scripts"));
    test.run("check moved").exits(0);
    test.run("convert agents/helper --to agent-dir -o other/helper").exits(0);
    assert_eq!(test.read("other/helper/scripts/echo.js"), SCRIPT);
    test.run("check other").exits(0);
}

#[test]
fn an_unreachable_base_refuses_the_conversion() {
    let child = format!("base: ./base.agent\n{HELPER}agents: {{other: {{ref: ../x.agent}}}}\n");
    let test = Test::new()
        .file("agents/child.agent", child)
        .file("agents/base.agent", "name: base\n")
        .file("other/agentry.toml", "");
    test.run("convert agents/child.agent --to manifest -o moved/deep/child.agent").exits(0);
    let written = test.read("moved/deep/child.agent");
    assert!(written.contains("base: ../../agents/base.agent"), "{written}");
    assert!(written.contains("ref: ../../x.agent"), "{written}");
    insta::assert_snapshot!(test.run("convert agents/child.agent --to manifest -o other/child.agent"), @r#"
    $ agentry convert agents/child.agent --to manifest -o other/child.agent
    --- stderr
    error: `agents/child.agent` cannot be moved to `other/child.agent`: its base `./base.agent` cannot be reached from there
      = help: keep it in the same workspace
    --- exit 1
    "#);
    assert!(!test.has("other/child.agent"));
}

#[test]
fn skill_files_that_are_not_copied_are_listed() {
    let skill = "---\nname: review\ndescription: Reviews a change\n---\n\nRun `scripts/run.sh`.\n";
    let test = with_context()
        .file("agents/helper/skills/review/SKILL.md", skill)
        .file("agents/helper/skills/review/scripts/run.sh", "true\n");
    let ran = test.run("convert agents/helper --to agent-dir -o moved").exits(0);
    assert!(ran.stdout.contains("`scripts` beside it is not copied"), "{ran}");
}
