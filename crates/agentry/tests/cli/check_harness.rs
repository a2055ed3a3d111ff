//! `agentry check` on the files of harnesses: a small repository, named files, many findings, fixes.

use crate::test::{HELPER, Test};

/// A repository with several harnesses, each with a mistake that really happens.
fn repository() -> Test {
    Test::new()
        .file(
            ".claude/agents/reviewer.md",
            "---\nname: reviewer\ndescription: Reviews a change: correctness first\ntools: Read, Grep, Bash(git diff *)\nmodel: sonet\n---\n\nYou review.\n",
        )
        .file(
            ".claude/settings.json",
            "{\n  \"permissions\": {\n    \"allow\": [\"Bash(git push origin *)\"],\n    \"deny\": [\"Bash(git push *)\", \"Write(secrets/**)\"]\n  },\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"bash\", \"hooks\": [{\"type\": \"command\", \"command\": \".claude/hooks/guard.sh\"}]}\n    ]\n  }\n}\n",
        )
        .file(
            ".opencode/agents/docs.md",
            "---\ndescription: Writes documentation\nmode: sub\npermission:\n  write: deny\n  bash:\n    \"git *\": allow\n    \"*\": ask\n---\n\nYou write.\n",
        )
        .file(
            ".pi/agents/scouting.md",
            "---\nname: scouting\ndescription: Looks around\ntools: [read, grep]\n---\n\nYou look.\n",
        )
        .file(
            ".codex/agents/fixer.toml",
            "name = \"fixer\"\ndescription = \"Repairs tests\"\nsandbox_mode = \"workspace\"\n",
        )
        .file(
            ".gemini/agents/auditor.md",
            "---\nname: auditor\ndescription: Looks for holes\ntools: [Read, run_shell_command]\n---\n\nYou look.\n",
        )
        .file("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files\n---\n\nSee [forms](FORMS.md).\n")
        .file(
            ".mcp.json",
            "{\"mcpServers\": {\"search\": {\"command\": \"search-server\", \"agrs\": [\"--fast\"]}}}\n",
        )
        .file("CLAUDE.md", "# Project\n\n@AGENTS.md\n\nSee [the style](docs/style.md).\n")
        .file("helper.agent", HELPER)
}

#[test]
fn check_reports_files_of_several_harnesses() {
    insta::assert_snapshot!(repository().run("check"));
}

#[test]
fn json_lists_agents_and_harness_files() {
    let report = repository().run("check --format json").exits(1).json();
    let list = |key: &str, name: &str| -> Vec<String> {
        let items = report[key].as_array().expect("a list");
        items
            .iter()
            .map(|it| format!("{} {}", it["path"].as_str().unwrap_or(""), it[name]))
            .collect()
    };
    assert_eq!(
        list("agents", "format"),
        [
            "helper.agent \"manifest\"",
            ".claude/agents/reviewer.md \"claude-code\"",
            ".codex/agents/fixer.toml \"codex\"",
            ".gemini/agents/auditor.md \"gemini\"",
            ".opencode/agents/docs.md \"opencode\"",
            ".pi/agents/scouting.md \"pi\"",
        ]
    );
    assert_eq!(
        list("files", "kind"),
        [
            ".claude/settings.json \"settings\"",
            ".mcp.json \"mcp\"",
            "CLAUDE.md \"context\"",
            "skills/pdf/SKILL.md \"skill\"",
        ]
    );
    assert_eq!(report["summary"]["agents"], 6);
    assert_eq!(report["summary"]["files"], 4);
}

#[test]
fn check_accepts_any_file_of_an_agent() {
    let test = repository()
        .file(
            "agents/a/agent.toml",
            "name = \"a\"\ndescription = \"Answers questions\"\nteam = 1\n",
        )
        .file("agents/a/system-prompt.md", "You answer.\n")
        .file("notes.txt", "x\n")
        .file(".claude/commands/x.md", "Do it.\n");
    let cases = [
        ("check agents/a/system-prompt.md", 0, "checked 1 agent"),
        ("check .claude/agents/reviewer.md", 0, "checked 1 agent"),
        ("check skills/pdf/SKILL.md", 0, "checked 1 file"),
        ("check .claude/commands/x.md", 0, "there is nothing to check"),
        ("check notes.txt", 2, "is not an agent definition"),
        ("check --as claude-code .opencode/agents", 1, "checked 1 agent"),
        ("check --as pi .pi", 1, "checked 1 agent"),
    ];
    for (args, exit, expected) in cases {
        let ran = test.run(args).exits(exit);
        assert!(format!("{ran}").contains(expected), "{ran}");
    }
}

#[test]
fn many_findings_of_one_rule_are_grouped() {
    let mut test = Test::new()
        .file(".claude/agents/z.md", "---\ndescription: Answers questions\n---\nYou answer.\n");
    for at in 0..40 {
        let content = format!(
            "---\nname: a{at}\ndescription: Answers questions about topic {at}\ntools: Read, Browser\n---\nYou answer.\n"
        );
        test = test.file(format!(".claude/agents/a{at:02}.md"), &content);
    }
    insta::assert_snapshot!(test.run("check"));
    let report = test.run("check --format json").exits(1).json();
    assert_eq!(report["diagnostics"].as_array().map(Vec::len), Some(41));
}

#[test]
fn fix_repairs_harness_files() {
    let test = repository();
    test.run("check .pi .claude/agents --fix").exits(0);
    let content = test.read(".pi/agents/scouting.md");
    assert!(content.contains("tools: read, grep\n"), "{content}");
    let content = test.read(".claude/agents/reviewer.md");
    assert!(content.contains("description: 'Reviews a change: correctness first'\n"), "{content}");
}

#[test]
fn rendered_files_are_not_checked_twice() {
    let test = Test::new().file("helper.agent", HELPER);
    test.run("render helper.agent --target claude-code,opencode,gemini,codex,copilot,pi,cursor");
    insta::assert_snapshot!(test.run("check"), @r#"
    $ agentry check
    --- stdout
    checked 1 agent: all good
    --- exit 0
    "#);
}
