//! What `agentry import` reports: everything that was read leniently, invented, skipped or unknown, with its
//! place, and equal lines once.

use crate::test::Test;

/// A file of a harness, and a line of the report about it.
const REPORTED_CHANGES: &[(&str, &str, &str)] = &[
    // Read leniently.
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: a: b\n---\nHi.\n",
        "it is not valid YAML and was read line by line, as Claude Code does (.claude/agents/x.md:3:15)",
    ),
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: a: b\nmore:\n  deep: c\nodd\n---\nHi.\n",
        "`deep: c` and 1 other line say nothing when it is read line by line (.claude/agents/x.md:5:3)",
    ),
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: a: b\n<one>\n<two>\n\n<three>\n---\nHi.\n",
        "`<one>` and 2 other lines say nothing when it is read line by line (.claude/agents/x.md:4:1)",
    ),
    (
        ".github/agents/x.agent.md",
        "---\nname: x\ndescription: a: b\n---\nHi.\n",
        "`description` should be in quotes: it was read to the end of its line (.github/agents/x.agent.md:3:14)",
    ),
    // Invisible characters.
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\n---\nHi\u{200b} there.\n",
        "U+200B (zero width space) cannot be seen: removed (.claude/agents/x.md:5:3)",
    ),
    (
        ".opencode/agents/x.md",
        "---\ndescription: \"d\u{202e}e\"\n---\nHi.\n",
        "changes the order in which text is shown: removed (.opencode/agents/x.md:2:16)",
    ),
    // Invented descriptions.
    (".opencode/agents/x.md", "---\nmode: all\n---\nHi.\n", "there is none: `\"Hi\"` was made"),
    (
        ".codex/agents/x.toml",
        "name = \"x\"\ndeveloper_instructions = \"Hi.\"\n",
        "there is none: `",
    ),
    (".github/agents/x.agent.md", "---\ntools: [read]\n---\nHi.\n", "there is none: `"),
    // Unknown tools, models and modes.
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\ntools: Read, Frob\n---\nHi.\n",
        "`Frob` is known by its name only: a tool of that name, and no other (.claude/agents/x.md:4:14)",
    ),
    (
        ".pi/agents/x.md",
        "---\nname: x\ndescription: d\ntools: read, frob\n---\nHi.\n",
        "`frob` is of an extension, and is known by its name only (.pi/agents/x.md:4:14)",
    ),
    (
        ".github/agents/x.agent.md",
        "---\ndescription: d\ntools: [read, frob]\n---\nHi.\n",
        "`frob` is not a tool that is known: it is left out (.github/agents/x.agent.md:3:15)",
    ),
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\nmodel: gpt-9\n---\nHi.\n",
        "`gpt-9` is kept as it is written, though Claude Code takes one model, and only its own",
    ),
    (
        ".opencode/agents/x.md",
        "---\ndescription: d\nmodel: opus\n---\nHi.\n",
        "`opus` is kept as it is written, though OpenCode takes one model, as `provider/model`",
    ),
    (
        ".opencode/agents/x.md",
        "---\ndescription: d\nmode: helper\n---\nHi.\n",
        "\"helper\" is not a mode, and OpenCode does not start with it (.opencode/agents/x.md:3:1)",
    ),
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\npermissionMode: yolo\n---\nHi.\n",
        "`yolo` is not a mode of Claude Code, which ignores it: asked about here (.claude/agents/x.md:4:17)",
    ),
    (
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\nmaxTurns: -1\n---\nHi.\n",
        "-1 is not a number of turns",
    ),
];

#[test]
fn changed_values_are_reported_with_their_position() {
    for (path, text, line) in REPORTED_CHANGES {
        let test = Test::new().file(path, text);
        let ran = test.run(&format!("import {path} --to agent-toml -o out")).exits(0);
        assert!(ran.stdout.contains(line), "{line}\n{ran}");
        let ran = test.run("check out").exits(0);
        assert!(ran.stdout.contains("0 errors") || !ran.stdout.contains("error"), "{ran}");
    }
}

/// A name that only looks like a tool grants nothing.
#[test]
fn a_tool_name_with_hidden_characters_is_refused() {
    let path = ".claude/agents/x.md";
    let content = "---\nname: x\ndescription: d\ntools: Re\u{200b}ad\n---\nHi.\n";
    let test = Test::new().file(path, content);
    let ran = test.run(&format!("import {path} --to agent-toml -o out")).exits(2);
    assert!(ran.stderr.contains("x.md:4:10` cannot be imported"), "{ran}");
    assert!(ran.stderr.contains("is not what it seems: U+200B"), "{ran}");
}

#[test]
fn skipped_files_beside_agents_are_listed() {
    let agent = "---\nname: a\ndescription: d\ntools: Read\n---\nHello.\n";
    let test = Test::new()
        .file(".claude/agents/a.md", agent)
        .file(".claude/agents/README.md", "# Agents\n")
        .file(".claude/agents/notes.txt", "x\n")
        .file(".claude/agents/template.md", "---\ndescription: d\n---\nHello.\n")
        .file(".gemini/agents/far.md", "---\nname: far\nkind: remote\n---\n")
        .file(".opencode/agents/off.md", "---\ndescription: d\ndisable: true\n---\nHello.\n");
    let ran = test.run("import . --to agent-toml -o out").exits(0);
    for line in [
        "\nimported 1 agent (claude-code); nothing is lost, 5 skipped\n",
        "  skipped   .claude/agents/README.md: it has no metadata: no agent for Claude Code\n",
        "  skipped   .claude/agents/notes.txt: its name does not end with `.md`\n",
        "  skipped   .claude/agents/template.md: its metadata has no `name`: no agent for Claude Code\n",
        "  skipped   .gemini/agents/far.md: it runs elsewhere (`kind: remote`)\n",
        "  skipped   .opencode/agents/off.md: it is switched off (`disable`)\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}{ran}");
    }
    let ran = test.run("import . --to agent-toml -o more --format json").exits(0);
    assert!(ran.stdout.contains("\"path\": \".gemini/agents/far.md\""), "{ran}");
    // A named file that its harness does not use is an error.
    test.run("import .opencode/agents/off.md --to agent-toml -o x").exits(2);
}

/// Equal lines are one line with a count, whatever path stands in them.
#[test]
fn equal_report_lines_are_grouped() {
    let agents = (0..30).fold(Test::new(), |test, at| {
        let text =
            format!("---\nname: a{at}\ndescription: Does it.\ntools: Read, Frob{at}\n---\nHi.\n");
        test.file(format!(".claude/agents/a{at}.md"), text)
    });
    let ran = agents.run("import . --to agent-toml -o out --dry-run").exits(0);
    assert!(ran.stdout.lines().count() < 20, "{ran}");
    for line in [
        "would import 30 agents (claude-code)",
        "  imported  27 more\n",
        "e.g. `Frob0` is known by its name only: a tool of that name, and no other (all 30 agents, e.g. \
         .claude/agents/a0.md:4:14)",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{ran}");
    }
    let ran = agents.run("import . --to agent-toml -o out --dry-run -v").exits(0);
    for at in 0..30 {
        let line = format!("no other (.claude/agents/a{at}.md:4:14)");
        assert!(ran.stdout.contains(&line), "{line}\n{ran}");
    }
    let ran = agents.run("import . --to agent-toml -o out --dry-run -q").exits(0);
    let expected = "would import 30 agents (claude-code); 60 lost or changed in agent-toml\n";
    assert_eq!(ran.stdout, expected);
    let ran = agents.run("import . --to agent-toml -o out --dry-run --format json").exits(0);
    assert_eq!(ran.stdout.matches("is known by its name only").count(), 30, "{ran}");
}
