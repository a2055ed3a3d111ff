//! `agentry check`: the four output formats and the exit codes.

use crate::test::{BROKEN, HELPER, Test, WARNED};

#[test]
fn a_valid_agent_is_all_good() {
    let test = Test::new().file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    checked 1 agent: all good
    --- exit 0
    "#);
}

#[test]
fn findings_in_the_human_format() {
    let test = Test::new().file("agents/broken.agent", BROKEN).file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0104]: `filesystem` cannot be `readwrite`
     --> agents/broken.agent:5:21
      |
    5 | trust: {filesystem: readwrite}
      |                     ^^^^^^^^^
      |
      = help: use one of `none`, `read-only`, `scoped`, `full`

    warning[AG0101]: the manifest has no field `team`
     --> agents/broken.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 2 agents: 1 error, 1 warning
    --- exit 1
    "#);
}

#[test]
fn findings_in_the_json_format() {
    let test = Test::new().file("broken.agent", BROKEN).file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check --format json"), @r#"
    $ agentry check --format json
    --- stdout
    {
      "agents": [
        {
          "path": "broken.agent",
          "format": "manifest",
          "name": "broken"
        },
        {
          "path": "helper.agent",
          "format": "manifest",
          "name": "helper"
        }
      ],
      "files": [],
      "diagnostics": [
        {
          "code": "AG0101",
          "name": "unknown-field",
          "severity": "warning",
          "message": "the manifest has no field `team`",
          "path": "broken.agent",
          "line": 4,
          "column": 1,
          "end_line": 4,
          "end_column": 5,
          "hint": null,
          "fix": null,
          "related": []
        },
        {
          "code": "AG0104",
          "name": "unknown-value",
          "severity": "error",
          "message": "`filesystem` cannot be `readwrite`",
          "path": "broken.agent",
          "line": 5,
          "column": 21,
          "end_line": 5,
          "end_column": 30,
          "hint": "use one of `none`, `read-only`, `scoped`, `full`",
          "fix": null,
          "related": []
        }
      ],
      "failures": [],
      "summary": {
        "agents": 2,
        "files": 0,
        "errors": 1,
        "warnings": 1,
        "notes": 0
      }
    }
    --- exit 1
    "#);
}

#[test]
fn json_without_findings() {
    let test = Test::new();
    insta::assert_snapshot!(test.run("check --format json"), @r#"
    $ agentry check --format json
    --- stdout
    {
      "agents": [],
      "files": [],
      "diagnostics": [],
      "failures": [],
      "summary": {
        "agents": 0,
        "files": 0,
        "errors": 0,
        "warnings": 0,
        "notes": 0
      }
    }
    --- stderr
    note: no agent found in `.`
      = help: looked for `*.agent`, `*.agent.md`, and directories with `agent.toml`, `agent.yaml`, `agent.json` or `instructions.md`
    --- exit 0
    "#);
}

#[test]
fn findings_in_the_sarif_format() {
    let ran = Test::new().file("broken.agent", BROKEN).run("check --format sarif").exits(1);
    let mut log = ran.json();
    // Every rule is described; rules without findings are left out here.
    let run = &mut log["runs"][0];
    let used: Vec<_> = run["results"].as_array().expect("results").clone();
    let rules = run["tool"]["driver"]["rules"].as_array_mut().expect("rules");
    assert!(rules.len() > 60, "{}", rules.len());
    rules.retain(|rule| used.iter().any(|result| result["ruleId"] == rule["id"]));
    for rule in rules {
        let help = rule.as_object_mut().expect("a rule").remove("help").expect("help");
        assert!(help["markdown"].as_str().is_some_and(|text| text.contains("Good")), "{help}");
    }
    insta::assert_snapshot!(format!("{log:#}"), @r#"
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        {
          "tool": {
            "driver": {
              "name": "agentry",
              "semanticVersion": "0.1.0",
              "rules": [
                {
                  "id": "AG0101",
                  "name": "UnknownField",
                  "shortDescription": {
                    "text": "unknown field"
                  },
                  "fullDescription": {
                    "text": "A key that the format does not have is ignored by every reader, so a misspelt field silently does nothing. Keys that start with `x-` are extensions and never reported.",
                    "markdown": "A key that the format does not have is ignored by every reader, so a misspelt field silently does nothing. Keys that start with `x-` are extensions and never reported."
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "AG0104",
                  "name": "UnknownValue",
                  "shortDescription": {
                    "text": "unknown value"
                  },
                  "fullDescription": {
                    "text": "The field takes one of a few words. Another word is refused rather than replaced by a default, because not understood means not allowed.",
                    "markdown": "The field takes one of a few words. Another word is refused rather than replaced by a default, because not understood means not allowed."
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                }
              ]
            }
          },
          "columnKind": "unicodeCodePoints",
          "newlineSequences": [
            "\r\n",
            "\n",
            "\r"
          ],
          "results": [
            {
              "ruleId": "AG0101",
              "level": "warning",
              "message": {
                "text": "the manifest has no field `team`"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "broken.agent"
                    },
                    "region": {
                      "startLine": 4,
                      "startColumn": 1,
                      "endLine": 4,
                      "endColumn": 5
                    }
                  }
                }
              ],
              "partialFingerprints": {
                "agentry/v1": "b2261035b17b09ac:1"
              },
              "ruleIndex": 45
            },
            {
              "ruleId": "AG0104",
              "level": "error",
              "message": {
                "text": "`filesystem` cannot be `readwrite`\n\nhelp: use one of `none`, `read-only`, `scoped`, `full`"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "broken.agent"
                    },
                    "region": {
                      "startLine": 5,
                      "startColumn": 21,
                      "endLine": 5,
                      "endColumn": 30
                    }
                  }
                }
              ],
              "partialFingerprints": {
                "agentry/v1": "2334156c5fb3cd3f:1"
              },
              "ruleIndex": 48
            }
          ]
        }
      ]
    }
    "#);
    assert_eq!(ran.stderr, "");
}

#[test]
fn findings_in_the_github_format() {
    let test = Test::new().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("check --format github"), @r#"
    $ agentry check --format github
    --- stdout
    ::warning file=broken.agent,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
    ::error file=broken.agent,line=5,col=21,endLine=5,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: use one of `none`, `read-only`, `scoped`, `full`
    --- exit 1
    "#);
}

#[test]
fn warnings_fail_only_when_denied() {
    let test = Test::new().file("warned.agent", WARNED);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0101]: the manifest has no field `team`
     --> warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 1 agent: 1 warning
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("check --deny-warnings"), @r#"
    $ agentry check --deny-warnings
    --- stdout
    warning[AG0101]: the manifest has no field `team`
     --> warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 1 agent: 1 warning
    --- exit 1
    "#);
}

#[test]
fn a_missing_path_is_an_error() {
    let test = Test::new().file("broken.agent", BROKEN);
    insta::assert_snapshot!(test.run("check nowhere"), @r#"
    $ agentry check nowhere
    --- stderr
    error: `nowhere` does not exist
      = help: name a file or a directory; `agentry agents` lists installed agents
    --- exit 2
    "#);
    // The other paths are still checked, and the worse exit code wins.
    insta::assert_snapshot!(test.run("check --format github broken.agent nowhere"), @r#"
    $ agentry check --format github broken.agent nowhere
    --- stdout
    ::warning file=broken.agent,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
    ::error file=broken.agent,line=5,col=21,endLine=5,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: use one of `none`, `read-only`, `scoped`, `full`
    --- stderr
    error: `nowhere` does not exist
      = help: name a file or a directory; `agentry agents` lists installed agents
    --- exit 2
    "#);
}

#[test]
fn a_file_that_is_no_agent_is_an_error() {
    let test = Test::new().file("notes.txt", "Buy milk.\n");
    insta::assert_snapshot!(test.run("check notes.txt"), @r#"
    $ agentry check notes.txt
    --- stderr
    error: `notes.txt` is not an agent definition
      = help: pass the format with `--as agent-md|agent-toml|manifest|agentfs|agent-dir`
    --- exit 2
    "#);
    // A named configuration is checked as such.
    let test = test.file("helper.agent", HELPER).file("agentry.toml", "[check]\nlevel = 1\n");
    let ran = test.run("check helper.agent agentry.toml").exits(0);
    assert!(ran.stdout.contains("agentry.toml:2"), "{ran}");
    assert!(!ran.stderr.contains("is not an agent definition"), "{ran}");
}

#[test]
fn a_directory_without_agents_is_noted() {
    let test = Test::new().file("docs/notes.txt", "Buy milk.\n");
    insta::assert_snapshot!(test.run("check docs"), @r#"
    $ agentry check docs
    --- stderr
    note: no agent found in `docs`
      = help: looked for `*.agent`, `*.agent.md`, and directories with `agent.toml`, `agent.yaml`, `agent.json` or `instructions.md`
    --- exit 0
    "#);
    let test = test.file("helper.agent", HELPER);
    insta::assert_snapshot!(test.run("check docs helper.agent"), @r#"
    $ agentry check docs helper.agent
    --- stdout
    checked 1 agent: all good
    --- stderr
    note: no agent found in `docs`
    --- exit 0
    "#);
}

#[test]
fn an_agent_named_by_several_paths_is_checked_once() {
    let test = Test::new().file("a/helper.agent", HELPER).file("b/warned.agent", WARNED);
    insta::assert_snapshot!(test.run("check b a a/helper.agent ./a"), @r#"
    $ agentry check b a a/helper.agent ./a
    --- stdout
    warning[AG0101]: the manifest has no field `team`
     --> b/warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 2 agents: 1 warning
    --- exit 0
    "#);
}

#[test]
fn as_reads_a_file_in_the_given_format() {
    let test = Test::new().file("notes.txt", BROKEN);
    insta::assert_snapshot!(test.run("check notes.txt --as manifest --format github"), @r#"
    $ agentry check notes.txt --as manifest --format github
    --- stdout
    ::warning file=notes.txt,line=4,col=1,endLine=4,endColumn=5,title=AG0101 unknown-field::the manifest has no field `team`
    ::error file=notes.txt,line=5,col=21,endLine=5,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: use one of `none`, `read-only`, `scoped`, `full`
    --- exit 1
    "#);
    insta::assert_snapshot!(test.run("check notes.txt --as manifst"), @r#"
    $ agentry check notes.txt --as manifst
    --- stderr
    error: invalid value 'manifst' for '--as <FORMAT>'
      [possible values: agent-md, agent-toml, manifest, agentfs, agent-dir, opencode, claude-code, pi, codex, gemini, copilot, cursor]

      tip: a similar value exists: 'manifest'

    For more information, try '--help'.
    --- exit 2
    "#);
}

#[test]
fn a_duplicate_agent_name_warns() {
    let test = Test::new().file("a.agent", HELPER).file("b.agent", HELPER);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG0009]: the name `helper` is taken by `a.agent`
     --> b.agent:1:7
      |
    1 | name: helper
      |       ^^^^^^
      |
      = help: give each agent of the workspace its own name

    checked 2 agents: 1 warning
    --- exit 0
    "#);
}

#[test]
fn findings_are_hidden_where_a_reason_is_given() {
    let allowed =
        format!("{HELPER}# agentry: allow(unknown-field) read by our own tooling\nteam: support\n");
    let test = Test::new().file("helper.agent", allowed);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    checked 1 agent: all good
    --- exit 0
    "#);
    let unexplained = format!("{HELPER}# agentry: allow(unknown-field)\nteam: support\n");
    let test = Test::new().file("helper.agent", unexplained);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0007]: this suppression gives no reason
     --> helper.agent:4:3
      |
    4 | # agentry: allow(unknown-field)
      |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: say why after the closing parenthesis

    checked 1 agent: 1 error
    --- exit 1
    "#);
    let unknown = format!("{HELPER}# agentry: allow(unknwon-field) read by us\n");
    let test = Test::new().file("helper.agent", unknown);
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    error[AG0007]: there is no rule `unknwon-field`
     --> helper.agent:4:3
      |
    4 | # agentry: allow(unknwon-field) read by us
      |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: `agentry rules` lists them all

    checked 1 agent: 1 error
    --- exit 1
    "#);
}

#[test]
fn notes_are_counted_and_never_fail() {
    let config = "[check]\nseverity = { unknown-field = \"note\" }\n";
    let test = Test::new().file("agentry.toml", config).file("warned.agent", WARNED);
    insta::assert_snapshot!(test.run("check --deny-warnings"), @r#"
    $ agentry check --deny-warnings
    --- stdout
    note[AG0101]: the manifest has no field `team`
     --> warned.agent:4:1
      |
    4 | team: support
      | ^^^^

    checked 1 agent: 1 note
    --- exit 0
    "#);
}

/// Receipts lie beside the agents of a home, as well as below a single agent.
#[test]
fn receipts_of_a_home_are_checked() {
    let receipt = "receipt_id: odd\nrepo_ref: a1b2c3d4\nsession: {agent_id: helper}\n";
    let home = Test::new()
        .file(
            "home/agents/helper/agent.json",
            "{\"name\": \"Helper\", \"description\": \"Answers\", \"llm\": {}}",
        )
        .file("home/agents/helper/persona.md", "## L0\n\nYou answer questions.\n")
        .file("home/agents/helper/principles.md", "## Never Do\n\n- Guess\n")
        .file("home/runs/run_1/receipts/a.yaml", receipt)
        .file("other/runs/run_1/receipts/a.yaml", receipt);
    insta::assert_snapshot!(home.run("check"), @r#"
    $ agentry check
    --- stdout
    warning[AG6071]: `odd` is not an id of a receipt
     --> home/runs/run_1/receipts/a.yaml:1:13
      |
    1 | receipt_id: odd
      |             ^^^
      |
      = help: write `rcpt_`, the date, the time and six characters: `rcpt_20260115_143022_abc123`

    checked 1 agent: 1 warning
    --- exit 0
    "#);
    home.run("check home --deny-warnings").exits(1);
    home.run("check home/agents/helper --deny-warnings").exits(0);
    let ignored = home.file("home/.gitignore", "runs/\n");
    ignored.run("check --deny-warnings").exits(0);
}
