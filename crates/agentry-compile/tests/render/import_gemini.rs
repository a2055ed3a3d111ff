//! What Gemini's settings remove is not granted by the imported agent.

use agentry_compile::policy::Section;
use agentry_compile::targets::ImportedAgent;

use crate::back::imported;
use crate::import_least::{report_of, rules_of};

const AGENT: &str = ".gemini/agents/a.md";
const PROJECT: &str = ".gemini/settings.json";

fn with(lines: &str, files: &[(&str, &str)]) -> Result<ImportedAgent, String> {
    let text = format!("---\nname: a\ndescription: d\n{lines}---\nP\n");
    let files = [&[(AGENT, text.as_str())], files].concat();
    imported("gemini", &files, AGENT)
}

fn by(settings: &str) -> ImportedAgent {
    with("", &[(PROJECT, settings)]).expect("an agent")
}

#[test]
fn excluded_tools_are_denied() {
    let cases = [
        (r#"{"tools": {"exclude": ["run_shell_command"]}}"#, Section::Bash, "deny"),
        (r#"{"excludeTools": ["ShellTool"]}"#, Section::Bash, "deny"),
        (
            r#"{"tools": {"exclude": ["run_shell_command(rm -rf)"]}}"#,
            Section::Bash,
            "rm -rf*:deny ask",
        ),
        (r#"{"tools": {"exclude": ["write_file"]}}"#, Section::Edit, "deny"),
        (r#"{"tools": {"exclude": ["write_file"]}}"#, Section::Read, "allow"),
        (r#"{"tools": {"exclude": ["glob"]}}"#, Section::Read, "allow"),
        (r#"{"tools": {"exclude": ["google_web_search"]}}"#, Section::Websearch, "deny"),
        (r#"{"tools": {"exclude": ["del"]}}"#, Section::Mcp, "*/del:deny ask"),
        (r#"{"tools": {"exclude": ["mcp_g_del"]}}"#, Section::Mcp, "g/del:deny ask"),
        (r#"{"tools": {"exclude": ["mcp_g_*"]}}"#, Section::Mcp, "g/*:deny ask"),
        (r#"{"tools": {"exclude": "run_shell_command"}}"#, Section::Bash, "deny"),
        (r#"{"skills": {"disabled": ["pdf"]}}"#, Section::Skill, "pdf:deny ask"),
        (r#"{"skills": {"enabled": false}}"#, Section::Skill, "deny"),
    ];
    for (settings, section, expected) in cases {
        assert_eq!(rules_of(&by(settings), section), expected, "{settings}");
    }
}

#[test]
fn tools_outside_the_core_list_are_denied() {
    let sections = [Section::Read, Section::Edit, Section::Bash, Section::Websearch, Section::Mcp];
    let cases = [
        (r#"{"tools": {"core": ["read_file"]}}"#, ["allow", "deny", "deny", "deny", "deny"]),
        (r#"{"coreTools": ["ShellTool"]}"#, ["deny", "deny", "ask", "deny", "deny"]),
        (
            r#"{"tools": {"core": ["run_shell_command(git)", "mcp_g_x"]}}"#,
            ["deny", "deny", "**/git *:deny git *:ask deny", "deny", "g/x:ask deny"],
        ),
        (r#"{"tools": {"core": []}}"#, ["deny"; 5]),
        ("{ // nothing\n}", ["allow", "ask", "ask", "allow", "ask"]),
    ];
    for (settings, expected) in cases {
        let found = by(settings);
        assert_eq!(sections.map(|section| rules_of(&found, section)), expected, "{settings}");
    }
}

#[test]
fn excluded_server_tools_are_denied() {
    let cases = [
        (r#"{"mcpServers": {"g": {"command": "x", "excludeTools": ["del"]}}}"#, "g/del:deny ask"),
        (r#"{"mcpServers": {"g": {"includeTools": ["get"]}}}"#, "g/get:ask g/*:deny ask"),
        (
            r#"{"mcpServers": {"g": {"includeTools": ["get", "del"], "excludeTools": ["del"]}}}"#,
            "g/get:ask g/del:deny g/*:deny g/del:deny ask",
        ),
        (r#"{"mcp": {"excluded": ["g"]}}"#, "g/*:deny ask"),
        (r#"{"mcp": {"allowed": ["g"]}}"#, "g/*:ask deny"),
        (r#"{"allowMCPServers": []}"#, "deny"),
        (
            r#"{"mcp": {"allowed": ["g"]}, "mcpServers": {"g": {"excludeTools": ["del"]}}}"#,
            "g/del:deny g/*:ask deny",
        ),
    ];
    for (settings, expected) in cases {
        assert_eq!(rules_of(&by(settings), Section::Mcp), expected, "{settings}");
    }
    let settings = r#"{"mcp": {"allowed": ["g"]}}"#;
    let found = with("tools: [mcp_h_x, mcp_g_y]\n", &[(PROJECT, settings)]).expect("an agent");
    assert_eq!(rules_of(&found, Section::Mcp), "g/*:deny h/x:deny g/y:ask deny");
    let own = "mcp_servers:\n  g:\n    command: x\n    excludeTools: [del]\n";
    assert_eq!(rules_of(&with(own, &[]).expect("an agent"), Section::Mcp), "g/del:deny ask");
}

#[test]
fn settings_that_allow_more_are_dropped_and_reported() {
    let settings = r#"{
        "tools": {"allowed": ["run_shell_command"], "sandbox": true, "frobnicate": 1},
        "mcpServers": {"g": {"command": "x", "trust": true, "what": 1}}
    }"#;
    let found = by(settings);
    assert_eq!(rules_of(&found, Section::Bash), "ask");
    assert_eq!(rules_of(&found, Section::Mcp), "ask");
    let lines = report_of(&found);
    for line in [
        "`tools.allowed` in `.gemini/settings.json`: not taken over",
        "`tools.sandbox` in `.gemini/settings.json` is not understood",
        "`tools.frobnicate` in `.gemini/settings.json` is not understood",
        "mcpServers.g: Gemini CLI trusts the server",
        "mcpServers.g: `what` is not understood",
    ] {
        assert!(lines.contains(line), "{line}\n{lines}");
    }
    let own = ("~/.gemini/settings.json", r#"{"tools": {"exclude": ["google_web_search"]}}"#);
    let found = with("", &[own]).expect("an agent");
    assert_eq!(rules_of(&found, Section::Websearch), "deny");
    assert!(
        report_of(&found).contains("your own `~/.gemini/settings.json`"),
        "{}",
        report_of(&found)
    );
}

#[test]
fn unknown_settings_deny_all_sections() {
    for settings in [
        r#"{"tools": {"exclude": 5}}"#,
        r#"{"tools": {"exclude": ["write_*"]}}"#,
        r#"{"tools": {"core": {"a": 1}}}"#,
        r#"{"policyPaths": ["x.toml"]}"#,
    ] {
        let found = by(settings);
        for section in [Section::Read, Section::Bash, Section::Mcp] {
            assert_eq!(rules_of(&found, section), "deny", "{settings}");
        }
        assert!(report_of(&found).contains("is not understood"), "{settings}");
    }
    let why = with("", &[(PROJECT, "{")]).expect_err("no agent");
    assert!(why.contains("`.gemini/settings.json:1:1` is not understood"), "{why}");
}

#[test]
fn tools_with_a_before_hook_ask() {
    let found = by(r#"{"hooks": {"BeforeTool": [{"matcher": "*", "hooks": []}]}}"#);
    assert_eq!(rules_of(&found, Section::Read), "ask");
    assert!(report_of(&found).contains("permissions.read: a hook of Gemini CLI decides about it"));
    let found = by(r#"{"tools": {"confirmationRequired": ["google_web_search"]}}"#);
    assert_eq!(rules_of(&found, Section::Websearch), "ask");
    assert_eq!(rules_of(&found, Section::Read), "allow");
}

#[test]
fn tools_excluded_by_an_extension_are_denied() {
    let own = "~/.gemini/extensions/x/gemini-extension.json";
    let excludes = r#"{"name": "x", "excludeTools": ["run_shell_command"]}"#;
    let servers = r#"{"mcpServers": {"g": {"command": "g", "excludeTools": ["del"]}}}"#;
    for path in [own, ".gemini/extensions/x/gemini-extension.json"] {
        let found = with("", &[(path, excludes)]).expect("an agent");
        assert_eq!(rules_of(&found, Section::Bash), "deny", "{path}");
        let found = with("", &[(path, servers)]).expect("an agent");
        assert_eq!(rules_of(&found, Section::Mcp), "g/del:deny ask", "{path}");
    }
    let line =
        "changed permissions: what your own `~/.gemini/extensions/x/gemini-extension.json` takes";
    let found = with("", &[(own, excludes)]).expect("an agent");
    assert!(report_of(&found).contains(line), "{}", report_of(&found));
    let hooks = ("~/.gemini/extensions/x/hooks/hooks.json", r#"{"hooks": {"BeforeTool": []}}"#);
    let found = with("tools: [read_file]\n", &[(own, "{}"), hooks]).expect("an agent");
    assert_eq!(rules_of(&found, Section::Read), "ask");
    // What is not checked is reported.
    let policies = ("~/.gemini/extensions/x/policies/a.toml", "");
    let found = with("", &[(own, "{}"), policies]).expect("an agent");
    let line = "gap permissions: `~/.gemini/extensions/x/policies/` is not looked at";
    assert!(report_of(&found).contains(line), "{}", report_of(&found));
    for (more, file) in [(vec![(own, "{")], own), (vec![(own, "{}"), (hooks.0, "{")], hooks.0)] {
        let why = with("", &more).expect_err("what is not understood");
        assert!(why.contains(&format!("`{file}:1:1` is not understood")), "{why}");
    }
}

#[test]
fn tools_excluded_by_system_settings_are_denied() {
    let excludes = r#"{"tools": {"exclude": ["run_shell_command"]}}"#;
    let found = with("", &[("/etc/gemini-cli/settings.json", excludes)]).expect("an agent");
    assert_eq!(rules_of(&found, Section::Bash), "deny");
    let line = "changed permissions: what `/etc/gemini-cli/settings.json` takes away is taken over";
    assert!(report_of(&found).contains(line), "{}", report_of(&found));
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 5\n";
    let found = with("", &[("/etc/gemini-cli/policies/a.toml", rule)]).expect("an agent");
    assert_eq!(rules_of(&found, Section::Bash), "deny");
}

/// MCP tools that rules name in one word.
#[test]
fn rules_on_single_server_tools_are_imported() {
    let cases =
        [("mcp_gh_x", "gh/x:deny ask"), ("mcp_gh_*", "gh/*:deny ask"), ("mcp_*_x", "*/x:deny ask")];
    for (tool, expected) in cases {
        let rule =
            format!("[[rule]]\ntoolName = \"{tool}\"\ndecision = \"deny\"\npriority = 100\n");
        let found = with("", &[("~/.gemini/policies/p.toml", &rule)]).expect("an agent");
        assert_eq!(rules_of(&found, Section::Mcp), expected, "{tool}: {}", report_of(&found));
    }
}
