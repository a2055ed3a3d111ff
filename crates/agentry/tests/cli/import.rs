//! `agentry import`: agents of harnesses in a definition format.

use crate::test::Test;

#[test]
fn unimportable_paths_are_errors() {
    let test = Test::new().file("notes.md", "# Notes\n").file("empty/x", "");
    for args in [
        "import nowhere --to agent-toml -o out",
        "import notes.md --to agent-toml -o out",
        "import empty --to agent-toml -o out",
        "import notes.md --as nothing --to agent-toml -o out",
        "import notes.md --to nothing -o out",
        "import --to agent-toml -o out",
    ] {
        let ran = test.run(args).exits(2);
        assert!(!ran.stderr.is_empty(), "{ran}");
        assert!(!test.has("out"), "{ran}");
    }
}

/// The directory of a harness is named as readily as the project.
#[test]
fn a_directory_of_a_harness_is_enough() {
    let agent = |name: &str| format!("---\nname: {name}\ndescription: Reviews\n---\nYou review.\n");
    let test = Test::new()
        .file("app/.claude/agents/one.md", agent("one"))
        .file("app/.claude/agents/team/two.md", agent("two"))
        .file("app/.opencode/agents/three.md", "---\ndescription: Answers\n---\nYou answer.\n");
    let cases: [(&str, &[&str]); 4] = [
        ("app", &["one", "two", "three"]),
        ("app/.claude", &["one", "two"]),
        ("app/.claude/agents", &["one", "two"]),
        ("app/.claude/agents/team", &["two"]),
    ];
    for (at, (path, expected)) in cases.into_iter().enumerate() {
        let ran = test.run(&format!("import {path} --to agent-toml -o out{at}")).exits(0);
        for name in ["one", "two", "three"] {
            let is_there = test.has(&format!("out{at}/{name}/agent.toml"));
            assert_eq!(is_there, expected.contains(&name), "{name}: {ran}");
        }
        assert!(ran.stdout.contains(&format!("  {path}/")), "{ran}");
    }
}

#[test]
fn claude_code_fields_without_effect_are_reported() {
    let head = "name: reviewer\ndescription: Use it: always\ntools: Read, Bash(git diff:*)\n";
    let file = ".claude/agents/reviewer.md";
    let test = Test::new()
        .file("agentry.toml", "[render]\ntargets = [\"claude-code\"]\n")
        .file(file, format!("---\n{head}---\nYou read changes.\n"));
    let args = format!("import {file} --to agent-toml -o agents/reviewer");
    let ran = test.run(&args).exits(0);
    for line in [
        "it is not valid YAML and was read line by line, as Claude Code does \
         (.claude/agents/reviewer.md:3:20)",
        "`Bash(git diff:*)`: Claude Code does not restrict by it (.claude/agents/reviewer.md:4:14)",
    ] {
        assert!(ran.stdout.contains(line), "{ran}");
    }
    // The imported file is replaced only on request.
    let ran = test.run("render").exits(1);
    assert!(ran.stdout.contains("pass `--force` once"), "{ran}");
    test.run("render --force").exits(0);
    test.run("render --check").exits(0);
    // A field that only this file has is reported separately.
    test.write(file, format!("---\n{head}more:\n  deep: x\n---\nYou read changes.\n"));
    let ran = test.run(&format!("{args} --dry-run")).exits(0);
    assert!(ran.stdout.contains("  dropped  more      a definition has no place for it"), "{ran}");
}

#[test]
fn import_reads_cursor_agents_and_permissions() {
    let test = Test::new()
        .file(".cursor/agents/x.md", "---\nname: x\ndescription: y\n---\nx\n")
        .file(".cursor/cli.json", r#"{"permissions": {"deny": ["Shell(rm)"]}}"#);
    for args in [
        "import . --to agent-toml -o first",
        "import .cursor/agents/x.md --as cursor --to agent-toml -o second",
    ] {
        let ran = test.run(args).exits(0);
        assert!(ran.stdout.contains("(cursor)"), "{ran}");
    }
    assert!(test.read("second/agent.toml").contains("\"rm *:deny\""));
    test.run("render second --target cursor --force").exits(0);
    // Its denial holds for the command line tool only, so it becomes a rule.
    assert!(test.read(".cursor/rules/x.mdc").contains("`rm *` never"));
}

/// The original grants of Copilot come back from every format that keeps the rules; where a format has
/// narrower rules, the import reports that they do not.
#[test]
fn original_grants_are_restored_or_reported_lost() {
    let file = ".github/agents/fixer.agent.md";
    let written =
        "---\nname: fixer\ndescription: Fixes bugs\ntools: [read, edit, execute]\n---\nFix.\n";
    for (format, to, comes) in [
        ("agent-toml", "agents/fixer", true),
        ("agentfs", "agents/fixer", true),
        ("agent-dir", "agents/fixer", true),
        ("manifest", "agents/fixer.agent", false),
        ("agent-md", "agents/fixer.agent.md", true),
    ] {
        let test = Test::new().file("agentry.toml", "").file(file, written);
        let ran = test.run(&format!("import {file} --to {format} -o {to}")).exits(0);
        test.run("render --target copilot --force").exits(0);
        let tools = ["read", "edit", "execute"].iter().all(|tool| test.read(file).contains(tool));
        assert!(tools || !comes, "{format}\n{ran}{}", test.read(file));
    }
}

/// A review of a definition shows that a harness may ask less than the definition.
#[test]
fn original_grants_are_shown_in_policy_commands() {
    let bare = "name = \"fixer\"\ndescription = \"Fixes bugs\"\n";
    let more = format!("{bare}[x-harness.copilot.as-written]\ntools = [\"execute\"]\n");
    let test = Test::new()
        .file("old/fixer/agent.toml", bare)
        .file("old/fixer/system-prompt.md", "Fix.\n")
        .file("new/fixer/agent.toml", more)
        .file("new/fixer/system-prompt.md", "Fix.\n");
    let ran = test.run("policy show new/fixer").exits(0);
    let line = "rendered for copilot, what is asked about may run without a question";
    assert!(ran.stdout.contains(line), "{ran}");
    let ran = test.run("policy diff old/fixer new/fixer").exits(1);
    assert!(ran.stdout.contains("gained: in copilot, what is asked about"), "{ran}");
    test.run("policy diff new/fixer old/fixer").exits(0);
    test.run("policy diff new/fixer new/fixer").exits(0);
}

/// The smallest agent of each harness that a definition keeps completely.
const SMALL: &[(&str, &str)] = &[
    (".claude/agents/a.md", "---\nname: a\ndescription: d\ntools: Read, Grep, Glob\n---\nHello.\n"),
    (".opencode/agents/b.md", "---\ndescription: d\nmode: subagent\n---\nHello.\n"),
    (".pi/agents/c.md", "---\nname: c\ndescription: d\ntools: read, grep, find, ls\n---\nHello.\n"),
    (
        ".codex/agents/d.toml",
        "name = \"d\"\ndescription = \"d\"\ndeveloper_instructions = \"Hello.\"\n\
         [features]\nshell_tool = false\n[tools]\nview_image = false\n",
    ),
    (".gemini/agents/e.md", "---\nname: e\ndescription: d\ntools: [read_file]\n---\nHello.\n"),
    (".github/agents/f.agent.md", "---\ndescription: d\ntools: [read, search]\n---\nHello.\n"),
    (".cursor/agents/g.md", "---\nname: g\ndescription: d\n---\nHello.\n"),
];

#[test]
fn strict_imports_lossless_agents() {
    let mut test = Test::new();
    for (path, text) in SMALL {
        test = test.file(path, text);
    }
    for (at, (path, _)) in SMALL.iter().enumerate() {
        test.run(&format!("import {path} --to agent-toml --strict -o out{at}")).exits(0);
        assert_eq!(test.read(format!("out{at}/system-prompt.md")), "Hello.\n", "{path}");
    }
    let ran = test.run("import . --to agent-toml --strict -o all").exits(0);
    assert!(ran.stdout.contains("imported 7 agents"), "{ran}");
}

#[test]
fn an_imported_reader_keeps_read_in_a_manifest() {
    for (path, text) in SMALL.iter().filter(|(path, _)| !path.starts_with(".codex")) {
        let test = Test::new().file(path, text);
        let ran = test.run(&format!("import {path} --to manifest -o x.agent")).exits(0);
        let read_only = ran.stdout.contains("filesystem read-only");
        assert!(read_only, "{ran}");
    }
}

#[test]
fn a_denied_file_keeps_other_reads_in_a_manifest() {
    let test = Test::new()
        .file(".claude/agents/x.md", "---\nname: x\ndescription: d\ntools: Read\n---\nHello.\n")
        .file(".claude/settings.json", r#"{"permissions": {"deny": ["Read(./.env)"]}}"#);
    let ran = test.run("import .claude/agents/x.md --to manifest -o x.agent").exits(0);
    let manifest = test.read("x.agent");
    assert!(manifest.contains("filesystem: read-only"), "{manifest}");
    assert!(
        manifest.contains("\n      read:\n        intent: allow\n        rules:"),
        "{manifest}"
    );
    let is_reported =
        |line: &str| line.contains("permissions.read") && line.contains("kept in `x-agentry`");
    assert!(ran.stdout.lines().any(is_reported), "{ran}");
    for (file, verdict) in [("src/a.rs", "allow"), (".env", "deny")] {
        let ran = test.run(&format!("policy why x.agent read {file}"));
        assert!(ran.stdout.starts_with(verdict), "{ran}");
    }
}

#[test]
fn harness_specific_fields_are_kept() {
    let agent = "---\nname: x\ndescription: \"One.\\n\\nTwo.\"\ntools: Read\nmodel: opus\ncolor: red\n---\nHello.\n";
    for format in ["agent-toml", "manifest", "agent-md", "agentfs"] {
        let test = Test::new().file(".claude/agents/x.md", agent);
        let output = match format {
            "manifest" => "agents/x.agent",
            "agent-md" => "agents/x.agent.md",
            _ => "agents/x",
        };
        test.run(&format!("import .claude/agents/x.md --to {format} -o {output}")).exits(0);
        test.run(&format!("render {output} --target claude-code --force")).exits(0);
        let file = test.read(".claude/agents/x.md");
        for line in ["\nmodel: opus\n", "\ncolor: red\n", "\n  One.\n\n  Two.\n"] {
            assert!(file.contains(line), "{format}: {line}\n{file}");
        }
    }
}

#[test]
fn readme_files_are_skipped_and_broken_agents_reported() {
    let mut test = Test::new().file(SMALL[5].0, SMALL[5].1);
    for dir in [".claude", ".pi", ".gemini", ".github", ".cursor"] {
        test = test.file(format!("{dir}/agents/README.md"), "# Agents\n\nThese are ours.\n");
    }
    let ran = test.run("import . --to agent-toml -o out").exits(0);
    assert!(ran.stdout.contains("imported 1 agent"), "{ran}");
    test.write(".github/agents/g.agent.md", "---\ndescription: d\n tools: [read]\n---\nHello.\n");
    let ran = test.run("import . --to agent-toml -o more").exits(2);
    let line = "`.github/agents/g.agent.md:3:7` cannot be imported: its metadata is not YAML";
    assert!(ran.stderr.contains(line), "{ran}");
    // Invalid UTF-8 is reported; a definition cannot hold NUL.
    let latin = b"---\nname: x\ndescription: caf\xe9\ntools: Read\n---\nHello.\n";
    test.write(".claude/agents/x.md", latin);
    let ran = test.run("import .claude/agents/x.md --to agent-toml -o x --dry-run").exits(0);
    assert!(ran.stdout.contains("the file is not UTF-8"), "{ran}");
    test.write(".claude/agents/x.md", "---\nname: x\ndescription: a\0b\n---\nHello.\n");
    let ran = test.run("import .claude/agents/x.md --to agent-toml -o x").exits(2);
    assert!(ran.stderr.contains("x.md:3:15` cannot be imported"), "{ran}");
}

#[test]
fn agents_in_opencode_settings_are_imported() {
    let settings = "{ // mine\n \"agent\": {\"reviewer\": {\"description\": \"d\", \"prompt\": \"{file:./p.txt}\"},\n \
        \"off\": {\"disable\": true}, \"build\": {\"model\": \"x/y\"}, \"placed\": {\"steps\": 3},},\n}";
    let config = "[agents.scout]\ndescription = \"Looks around\"\nconfig_file = \"roles/s.toml\"\n\
        [agents.cfg]\ndescription = \"Has a file\"\nconfig_file = \"agents/cfg-file.toml\"\n";
    let scout = "developer_instructions = \"Look.\"\nsandbox_mode = \"read-only\"\n";
    let test = Test::new()
        .file("opencode.jsonc", settings)
        .file("p.txt", "You review.\n")
        .file(".opencode/agents/placed.md", "---\ndescription: e\n---\nHi.\n")
        .file(".codex/config.toml", config)
        .file(".codex/roles/s.toml", scout)
        .file(".codex/agents/cfg-file.toml", scout);
    let ran = test.run("import . --to agent-toml -o out").exits(0);
    assert!(ran.stdout.contains("imported 4 agents"), "{ran}");
    assert_eq!(test.read("out/reviewer/system-prompt.md"), "You review.\n");
    assert!(test.read("out/placed/agent.toml").contains("max_turns = 3"));
    for (name, description) in [("scout", "Looks around"), ("cfg", "Has a file")] {
        let toml = test.read(format!("out/{name}/agent.toml"));
        assert!(toml.contains(&format!("description = \"{description}\"")), "{toml}");
        assert!(toml.contains("[permissions.bash]\nintent = \"ask\""), "{toml}");
    }
    for (file, output) in [("opencode.jsonc", "one"), (".codex/config.toml", "two")] {
        test.run(&format!("import {file} --to agent-toml -o {output}")).exits(0);
        assert!(test.has(&format!("{output}/agent.toml")), "{file}");
    }
    let ran = test.file("x/opencode.json", "{}").run("import x/opencode.json --to agent-toml -o y");
    assert!(ran.exits(2).stderr.contains("holds no agent of OpenCode"));
}

#[test]
fn one_agent_in_several_harnesses_is_imported_once() {
    let test = Test::new()
        .file(".claude/agents/x.md", "---\nname: x\ndescription: d\ntools: Read\n---\nHello.\n")
        .file(".opencode/agents/x.md", "---\ndescription: d\n---\nHello.\n")
        .file(
            ".github/agents/x.agent.md",
            "---\ndescription: d\ntools: [read, todo]\n---\nHello.\n",
        );
    let ran = test.run("import . --to agent-toml -o out").exits(0);
    for (dir, name) in [("x", "x"), ("x-opencode", "x-opencode"), ("x-copilot", "x-copilot")] {
        let toml = test.read(format!("out/{dir}/agent.toml"));
        assert!(toml.contains(&format!("name = \"{name}\"")), "{toml}");
    }
    let line =
        "`.claude/agents/x.md` is called `x` too: this one became `x-copilot`; keep one (2 agents";
    assert!(ran.stdout.contains(line), "{ran}");
    // Two equal agents are imported once.
    let toml = "---\nname: x\ndescription: d\ntools: Read\n---\nHello.\n";
    let test = Test::new().file(".claude/agents/x.md", toml).file(".claude/agents/more/x.md", toml);
    let ran = test.run("import . --to agent-toml -o out").exits(0);
    let line = "skipped   .claude/agents/x.md: it says what `.claude/agents/more/x.md` says";
    assert!(ran.stdout.contains(line), "{ran}");
    assert!(ran.stdout.contains("imported 1 agent"), "{ran}");
}

#[test]
fn import_writes_all_agents_or_none() {
    let test = Test::new()
        .file(".gemini/agents/a.md", "---\nname: a\ndescription: d\n---\nHello.\n")
        .file(".gemini/agents/b.md", "---\nname: [b\n---\n");
    let ran = test.run("import . --to agent-toml -o out").exits(2);
    assert!(!test.has("out"), "{ran}");
    assert!(ran.stderr.contains("nothing was written: all agents are, or none"), "{ran}");
    test.run("import .gemini/agents/a.md --to agent-toml -o out").exits(0);
}

#[test]
fn invalid_names_are_converted_and_reported() {
    let toml = "---\nname: Upper_Case Name\ndescription: d\ntools: Read\n---\nHello.\n";
    let test = Test::new().file(".claude/agents/x.md", toml);
    let ran = test.run("import . --to agent-toml -o out").exits(0);
    assert!(test.read("out/upper-case-name/agent.toml").contains("name = \"upper-case-name\""));
    assert!(ran.stdout.contains("`Upper_Case Name` became `upper-case-name`"), "{ran}");
}

/// A file that may deny something and cannot be read must not count as absent.
#[test]
fn an_unreadable_settings_file_refuses_the_import() {
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(17 * 1024 * 1024));
    let plugin = r#"{"enabledPlugins": {"x@y": true}}"#;
    let installed = r#"{"plugins": {"x@y": [{"installPath": "/h/.claude/plugins/x"}]}}"#;
    let claude = ".claude/agents/a.md";
    let cases = [
        (claude, "home/.claude/settings.json", "~/.claude/settings.json"),
        (claude, ".claude/settings.json", ".claude/settings.json"),
        (claude, "home/.claude/plugins/x/hooks/hooks.json", "~/.claude/plugins/x/hooks/hooks.json"),
        (".opencode/agents/b.md", "opencode.json", "opencode.json"),
        (
            ".gemini/agents/e.md",
            ".gemini/extensions/x/gemini-extension.json",
            ".gemini/extensions/x/gemini-extension.json",
        ),
    ];
    for (agent, path, shown) in cases {
        let written = SMALL.iter().find(|(file, _)| *file == agent).expect("an agent").1;
        let project = || {
            Test::new()
                .file(agent, written)
                .file(".claude/settings.local.json", plugin)
                .file("home/.claude/plugins/installed_plugins.json", installed)
        };
        for (test, why) in [
            (project().file(path, &large), "and at most 16 MiB are read; make it smaller"),
            (project().file(format!("{path}/x"), ""), "it is not a regular file; replace"),
        ] {
            for args in [format!("import {agent}"), "import .".to_owned()] {
                let ran = test.run(&format!("{args} --to agent-toml -o out")).exits(2);
                let what = format!("`{shown}` is there and cannot be read");
                assert!(ran.stderr.contains(&what) && ran.stderr.contains(why), "{ran}");
                assert!(!test.has("out"), "{ran}");
            }
        }
    }
}

#[test]
fn denials_in_large_settings_are_imported() {
    let padding = "x".repeat(2 * 1024 * 1024);
    let settings = format!(r#"{{"permissions": {{"deny": ["Read"]}}, "x": "{padding}"}}"#);
    let (agent, written) = SMALL[0];
    let args = "import .claude/agents/a.md --to agent-toml -o out";
    for path in ["home/.claude/settings.json", ".claude/settings.local.json"] {
        let test = Test::new().file(agent, written).file(path, &settings);
        test.run(args).exits(0);
        let toml = test.read("out/agent.toml");
        assert!(toml.contains("[permissions.read]\nintent = \"deny\""), "{toml}");
    }
    // Every link is followed, as the harness does.
    #[cfg(unix)]
    {
        let other = Test::new().file("s.json", &settings);
        let target = other.path("s.json");
        let test = Test::new().file(agent, written);
        let test = test.link(".claude/settings.json", target.to_str().expect("a path"));
        test.run(args).exits(0);
        assert!(test.read("out/agent.toml").contains("[permissions.read]\nintent = \"deny\""));
    }
}

/// A directory of agents that cannot be listed is not empty.
#[cfg(unix)]
#[test]
fn unlistable_agent_directories_are_reported() {
    use std::fs::{Permissions, set_permissions};
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    let (agent, written) = SMALL[0];
    let shut = |dir: &str| {
        let test = Test::new().file(agent, written).file(format!("{dir}/x.md"), "");
        set_permissions(test.path(dir), Permissions::from_mode(0o000)).expect("a directory");
        test
    };
    let refused = "ermission denied";
    let mut cases = vec![
        (Test::new().file(".pi/agents", ""), ".pi/agents", "it is not a directory"),
        (Test::new().link(".github/agents", "agents"), ".github/agents", "ymbolic link"),
        (Test::new().link(".claude/agents/more", "more"), ".claude/agents/more", "ymbolic link"),
        (shut(".gemini/agents"), ".gemini/agents", refused),
        (shut(".claude/agents/team"), ".claude/agents/team", refused),
    ];
    // Root can list every directory.
    let is_shut = std::fs::read_dir(cases[3].0.path(".gemini/agents")).is_err();
    if !is_shut {
        let reported = writeln!(std::io::stderr(), "SKIPPED: this user may list every directory");
        reported.expect("a place to say it");
    }
    cases.retain(|(_, _, why)| is_shut || *why != refused);
    for (test, dir, why) in cases {
        let test = test.file(agent, written);
        let ran = test.run("import . --to agent-toml -o out").exits(2);
        let message = format!("agents in `{dir}` cannot be listed: ");
        assert!(ran.stderr.contains(&message) && ran.stderr.contains(why), "{dir}: {ran}");
        assert!(ran.stderr.contains("make it a directory that you can read"), "{ran}");
        assert!(ran.stdout.contains("would import 1 agent"), "{ran}");
        assert!(ran.stderr.contains("all agents are, or none"), "{ran}");
        assert!(!test.has("out"), "{ran}");
        test.run(&format!("import {agent} --to agent-toml -o out")).exits(0);
        if why == refused {
            let open = Permissions::from_mode(0o700);
            set_permissions(test.path(dir), open).expect("a directory");
        }
    }
}

/// A missing directory of agents is no failure; links are followed as the harness does.
#[cfg(unix)]
#[test]
fn missing_and_linked_agent_directories_are_handled() {
    let (agent, written) = SMALL[0];
    let other = Test::new().file("a.md", written);
    let away = other.path(".");
    let test = Test::new().file(".pi", "").link(".gemini/agents", "nowhere");
    let test = test.link(".claude/agents", away.to_str().expect("a path"));
    let ran = test.run("import . --to agent-toml -o out").exits(0);
    assert!(ran.stdout.contains("imported 1 agent (claude-code)"), "{ran}");
    assert!(ran.stdout.contains(agent), "{ran}");
}

#[test]
fn an_oversized_agent_directory_is_reported() {
    let (agent, written) = SMALL[0];
    let other = Test::new().file(agent, written);
    for number in 0..10_001 {
        other.write(format!("many/{number}"), "");
    }
    let test = Test::new().link(".claude/agents", other.path(".").to_str().expect("a path"));
    let ran = test.run("import . --to agent-toml -o out").exits(2);
    assert!(ran.stderr.contains("`.claude/agents` holds more than 10000 files"), "{ran}");
    assert!(!test.has("out"), "{ran}");
}

#[test]
fn codex_settings_that_are_not_toml_are_reported() {
    let (agent, written) = SMALL[0];
    let config = "model = \"x\"\n[agents.scout\ndescription = \"d\"\nconfig_file = \"s.toml\"\n";
    let test = Test::new().file(agent, written).file(".codex/config.toml", config);
    let (codex, role) = SMALL[3];
    let test = test.file(codex, role);
    for args in ["import .", "import .codex/config.toml", "import .codex/agents/d.toml"] {
        let ran = test.run(&format!("{args} --to agent-toml -o out")).exits(2);
        assert!(ran.stderr.contains("`.codex/config.toml:2:"), "{ran}");
        assert!(ran.stderr.contains("is not understood"), "{ran}");
        assert!(!test.has("out"), "{ran}");
    }
    test.run("import . --as claude-code --to agent-toml -o out").exits(0);
    // A byte order mark is no mistake.
    let config = "\u{feff}[agents.scout]\ndescription = \"d\"\nconfig_file = \"agents/d.toml\"\n";
    test.write(".codex/config.toml", config.replace("agents/d", "roles/d"));
    test.write(".codex/roles/d.toml", role);
    let ran = test.run("import .codex/config.toml --to agent-toml -o more").exits(0);
    assert!(ran.stdout.contains("config.toml#scout"), "{ran}");
}

#[test]
fn malformed_agent_settings_are_reported() {
    let (agent, written) = SMALL[0];
    let test = Test::new().file(agent, written).file("opencode.json", "{\"agent\": {\"x\": {}}");
    for args in ["import .", "import opencode.json"] {
        let ran = test.run(&format!("{args} --to agent-toml -o out")).exits(2);
        assert!(ran.stderr.contains("`opencode.json:1:1` is not understood"), "{ran}");
        assert!(!test.has("out"), "{ran}");
    }
    test.run("import . --as claude-code --to agent-toml -o out").exits(0);
    // An agent that is too large is reported too.
    test.write(".claude/agents/b.md", written.to_owned() + &"x".repeat(1024 * 1024));
    let ran = test.run("import . --as claude-code --to agent-toml -o more").exits(2);
    assert!(ran.stderr.contains("b.md` cannot be read: it has "), "{ran}");
}
