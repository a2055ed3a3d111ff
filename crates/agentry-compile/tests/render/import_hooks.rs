//! What a hook or a plugin may deny is not allowed by what is imported.

use agentry_compile::policy::Section;
use agentry_compile::targets::Imported;

use crate::back::imported;
use crate::import_least::{said, told};

const CLAUDE: &str = ".claude/agents/a.md";
const OPENCODE: &str = ".opencode/agents/a.md";
const ALLOWED: &str = r#""permissions": {"allow": ["Bash", "Edit(/**)"]}"#;

fn claude_code(lines: &str, more: &[(&str, &str)]) -> Imported {
    let text = format!("---\nname: a\ndescription: d\ntools: Bash, Read, Edit\n{lines}---\nP\n");
    let shared = format!("{{{ALLOWED}}}");
    let mut files = vec![(CLAUDE, text.as_str())];
    if more.iter().all(|(path, _)| *path != ".claude/settings.json") {
        files.push((".claude/settings.json", &shared));
    }
    files.extend(more);
    imported("claude-code", &files, CLAUDE).expect("an agent")
}

fn hooks(matcher: &str) -> String {
    let hook = r#"{"type": "command", "command": "./x.sh"}"#;
    format!(r#""hooks": {{"PreToolUse": [{{"matcher": "{matcher}", "hooks": [{hook}]}}]}}"#)
}

#[test]
fn what_a_hook_of_claude_code_may_deny_asks() {
    let bash = "narrowed permissions.bash: a hook of Claude Code decides about it; asks here";
    let shared = format!("{{{ALLOWED}, {}}}", hooks("Bash"));
    let own = format!("{{{}}}", hooks("Bash"));
    let line = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./x.sh\n";
    for (lines, more) in [
        ("", vec![(".claude/settings.json", shared.as_str())]),
        ("", vec![(".claude/settings.local.json", own.as_str())]),
        ("", vec![("~/.claude/settings.json", own.as_str())]),
        (line, vec![]),
    ] {
        let found = claude_code(lines, &more);
        assert_eq!(said(&found, Section::Bash), "ask", "{more:?}");
        assert_eq!(said(&found, Section::Read), "allow", "{more:?}");
        assert!(told(&found).contains(bash), "{}", told(&found));
    }
    let all = format!("{{{}}}", hooks("*"));
    let found = claude_code("", &[(".claude/settings.local.json", &all)]);
    for section in [Section::Bash, Section::Edit, Section::Read] {
        assert_eq!(said(&found, section), "ask");
        assert!(told(&found).contains(&format!("permissions.{section}: a hook")), "{section}");
    }
    // What an agent has no tool for is not asked about.
    assert_eq!(said(&found, Section::Webfetch), "deny");
}

#[test]
fn a_hook_of_claude_code_that_denies_nothing_changes_nothing() {
    for settings in [
        r#"{"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": []}]}}"#.to_owned(),
        format!("{{\"disableAllHooks\": true, {}}}", hooks("*")),
    ] {
        let found = claude_code("", &[(".claude/settings.local.json", &settings)]);
        assert_eq!(said(&found, Section::Bash), "allow", "{settings}");
        assert_eq!(told(&found), "", "{settings}");
    }
    let both = format!("{{\"disableAllHooks\": true, {}}}", hooks("*"));
    let other = ("~/.claude/settings.json", "{\"disableAllHooks\": false}");
    let found = claude_code("", &[(".claude/settings.local.json", &both), other]);
    assert_eq!(said(&found, Section::Bash), "ask");
}

#[test]
fn plugins_of_claude_code_are_told() {
    let settings = r#"{"enabledPlugins": {"x@y": true, "z@y": false}}"#;
    let found = claude_code("", &[("~/.claude/settings.json", settings)]);
    assert_eq!(told(&found), "gap hooks: the plugin `x@y` may bring some, which are not looked at");
}

#[test]
fn what_is_said_of_a_tool_that_is_taken_away_is_told() {
    let found = claude_code("disallowedTools: Bash(rm:*)\n", &[]);
    assert_eq!(said(&found, Section::Bash), "deny");
    let line = "`Bash(rm:*)`: Claude Code takes away all of `Bash` by it";
    assert!(told(&found).contains(line), "{}", told(&found));
}

#[test]
fn what_a_plugin_of_opencode_may_stop_asks() {
    let agent = "---\ndescription: d\n---\nP\n";
    let stops = "export const X = async () => ({ \"tool.execute.before\": async () => {} })";
    let rings = "export const X = async ({ $ }) => ({ event: async () => { await $`ring` } })";
    let cases = [
        (".opencode/plugin/x.js", stops, "ask"),
        (".opencode/plugins/x.ts", stops, "ask"),
        ("~/.config/opencode/plugin/x.js", stops, "ask"),
        (".opencode/plugin/x.js", "export * from \"../x.js\"", "ask"),
        ("opencode.json", r#"{"plugin": ["some-plugin"]}"#, "ask"),
        ("opencode.json", r#"{"plugin": []}"#, "allow"),
        (".opencode/plugin/x.js", rings, "allow"),
        (".opencode/plugin/x.md", stops, "allow"),
    ];
    for (path, text, expected) in cases {
        let files = [(OPENCODE, agent), (path, text)];
        let found = imported("opencode", &files, OPENCODE).expect("an agent");
        assert_eq!(said(&found, Section::Bash), expected, "{path} {text}");
        let is_told = told(&found).contains("of OpenCode decides about it; asks here");
        assert_eq!(is_told, expected == "ask", "{}", told(&found));
    }
}
