//! What a hook or plugin may deny is not allowed in the imported agent.

use agentry_compile::policy::Section;
use agentry_compile::targets::ImportedAgent;

use crate::back::imported;
use crate::import_least::{report_of, rules_of};

const CLAUDE: &str = ".claude/agents/a.md";
const OPENCODE: &str = ".opencode/agents/a.md";
const ALLOWED: &str = r#""permissions": {"allow": ["Bash", "Edit(/**)"]}"#;

fn claude_code(lines: &str, more: &[(&str, &str)]) -> ImportedAgent {
    by_claude_code(lines, more).expect("an agent")
}

fn by_claude_code(lines: &str, more: &[(&str, &str)]) -> Result<ImportedAgent, String> {
    let text = format!("---\nname: a\ndescription: d\ntools: Bash, Read, Edit\n{lines}---\nP\n");
    let shared = format!("{{{ALLOWED}}}");
    let mut files = vec![(CLAUDE, text.as_str())];
    if more.iter().all(|(path, _)| *path != ".claude/settings.json") {
        files.push((".claude/settings.json", &shared));
    }
    files.extend(more);
    imported("claude-code", &files, CLAUDE)
}

fn hooks(matcher: &str) -> String {
    let hook = r#"{"type": "command", "command": "./x.sh"}"#;
    format!(r#""hooks": {{"PreToolUse": [{{"matcher": "{matcher}", "hooks": [{hook}]}}]}}"#)
}

#[test]
fn tools_with_a_claude_code_pre_hook_ask() {
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
        assert_eq!(rules_of(&found, Section::Bash), "ask", "{more:?}");
        assert_eq!(rules_of(&found, Section::Read), "allow", "{more:?}");
        assert!(report_of(&found).contains(bash), "{}", report_of(&found));
    }
    let all = format!("{{{}}}", hooks("*"));
    let found = claude_code("", &[(".claude/settings.local.json", &all)]);
    for section in [Section::Bash, Section::Edit, Section::Read] {
        assert_eq!(rules_of(&found, section), "ask");
        assert!(report_of(&found).contains(&format!("permissions.{section}: a hook")), "{section}");
    }
    // The agent has no tool for it, so the hook does not matter.
    assert_eq!(rules_of(&found, Section::Webfetch), "deny");
}

#[test]
fn claude_code_hooks_that_cannot_deny_are_ignored() {
    for settings in [
        r#"{"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": []}]}}"#.to_owned(),
        format!("{{\"disableAllHooks\": true, {}}}", hooks("*")),
    ] {
        let found = claude_code("", &[(".claude/settings.local.json", &settings)]);
        assert_eq!(rules_of(&found, Section::Bash), "allow", "{settings}");
        assert_eq!(report_of(&found), "", "{settings}");
    }
    let both = format!("{{\"disableAllHooks\": true, {}}}", hooks("*"));
    let other = ("~/.claude/settings.json", "{\"disableAllHooks\": false}");
    let found = claude_code("", &[(".claude/settings.local.json", &both), other]);
    assert_eq!(rules_of(&found, Section::Bash), "ask");
}

#[test]
fn unreadable_claude_code_plugins_are_a_gap() {
    let settings = r#"{"enabledPlugins": {"x@y": true, "z@y": false}}"#;
    let found = claude_code("", &[("~/.claude/settings.json", settings)]);
    let line = "gap hooks: the plugin `x@y` may bring some: `~/.claude/plugins/installed_plugins.json` \
                cannot be read";
    assert_eq!(report_of(&found), line);
}

/// The installation directory of the plugin `x@y`.
const INSTALLED: (&str, &str) = (
    "~/.claude/plugins/installed_plugins.json",
    r#"{"version": 2, "plugins": {"x@y": [{"scope": "user", "installPath": "/home/u/.claude/plugins/cache/y/x/1.0.0"}]}}"#,
);
const ENABLED: (&str, &str) =
    (".claude/settings.local.json", r#"{"enabledPlugins": {"x@y": true}}"#);

#[test]
fn tools_with_a_plugin_hook_ask() {
    let manifest = "~/.claude/plugins/cache/y/x/1.0.0/.claude-plugin/plugin.json";
    let file = "~/.claude/plugins/cache/y/x/1.0.0/hooks/hooks.json";
    let plain = r#"{"name": "x"}"#;
    let wrapped = format!("{{{}}}", hooks("Bash"));
    let inner = r#"{"PreToolUse": [{"matcher": "Bash", "hooks": []}]}"#;
    let inline = format!(r#"{{"name": "x", "hooks": {inner}}}"#);
    let named = r#"{"name": "x", "hooks": "./hooks/hooks.json"}"#;
    let cases: &[(&str, Option<&str>, &str)] = &[
        (plain, None, "allow"),
        (plain, Some(&wrapped), "ask"),
        (&inline, None, "ask"),
        (named, Some(inner), "ask"),
        (plain, Some(r#"{"hooks": {"PostToolUse": []}}"#), "allow"),
    ];
    for (manifest_text, hooks_text, expected) in cases {
        let mut more = vec![INSTALLED, ENABLED, (manifest, *manifest_text)];
        more.extend(hooks_text.map(|text| (file, text)));
        let found = claude_code("", &more);
        assert_eq!(rules_of(&found, Section::Bash), *expected, "{manifest_text} {hooks_text:?}");
        let line = "permissions.bash: the plugin `x@y` of Claude Code decides about it; asks here";
        assert_eq!(report_of(&found).contains(line), *expected == "ask", "{}", report_of(&found));
        assert!(!report_of(&found).contains("gap hooks"), "{}", report_of(&found));
    }
    for (more, line) in [
        (vec![INSTALLED, ENABLED], "plugin.json` cannot be read"),
        (vec![INSTALLED, ENABLED, (manifest, r#"{"hooks": 5}"#)], "is not understood"),
    ] {
        let found = claude_code("", &more);
        assert!(report_of(&found).contains(line), "{line}\n{}", report_of(&found));
    }
}

#[test]
fn managed_claude_code_denials_are_imported() {
    let managed = "/etc/claude-code/managed-settings.json";
    let part = "/etc/claude-code/managed-settings.d/10-more.json";
    let denies = r#"{"permissions": {"deny": ["Bash(rm:*)", "Read(/x)"], "allow": ["WebFetch"]}}"#;
    for path in [managed, part] {
        let found = claude_code("", &[(path, denies)]);
        assert_eq!(rules_of(&found, Section::Bash), "rm *:deny allow", "{path}");
        let report = report_of(&found);
        assert!(report.contains(&format!("`{path}` denies `Bash(rm:*)` and more")), "{report}");
        assert!(report.contains("allows `WebFetch` in every project: not taken over"), "{report}");
        assert_eq!(rules_of(&found, Section::Webfetch), "deny");
    }
    let only = r#"{"allowManagedPermissionRulesOnly": true}"#;
    let found = claude_code("", &[(managed, only)]);
    assert_eq!(rules_of(&found, Section::Bash), "ask");
    // No other setting switches its hooks off.
    let hook = format!("{{{}}}", hooks("Bash"));
    let off = (".claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    let found = claude_code("", &[(managed, &hook), off]);
    assert_eq!(rules_of(&found, Section::Bash), "ask");
}

/// A file that exists and is not understood may deny something.
#[test]
fn malformed_settings_refuse_the_import() {
    let rm = r#"{"permissions": {}, "permissions": {"deny": ["Bash(rm *)"]}}"#;
    let cases = [
        ("{", "1:1` is not understood"),
        ("[]", "1:1` is not understood"),
        (
            rm,
            "1:21` is not understood, so that what it denies would be lost: the key `permissions` is here twice; the harness takes the last: remove one",
        ),
        ("{ // why\n}", "1:3`: JSON has no comments"),
        (r#"{"permissions": {"deny": "Bash"}}"#, "`permissions.deny` must be a list of texts"),
    ];
    for path in [
        ".claude/settings.json",
        ".claude/settings.local.json",
        "~/.claude/settings.json",
        "/etc/claude-code/managed-settings.json",
        "/etc/claude-code/managed-settings.d/10-more.json",
    ] {
        for (text, expected) in cases {
            let why = by_claude_code("", &[(path, text)]).expect_err(text);
            assert!(why.contains(path) && why.contains(expected), "{path}: {why}");
        }
    }
    let manifest = "~/.claude/plugins/cache/y/x/1.0.0/.claude-plugin/plugin.json";
    let hooks = "~/.claude/plugins/cache/y/x/1.0.0/hooks/hooks.json";
    for more in [
        vec![INSTALLED, ENABLED, (manifest, r#"{"name": "x"}"#), (hooks, "{")],
        vec![INSTALLED, ENABLED, (manifest, r#"{"hooks": {}, "hooks": {}}"#)],
        vec![(INSTALLED.0, "{"), ENABLED],
    ] {
        let why = by_claude_code("", &more).expect_err("what is not understood");
        assert!(why.contains("is not understood"), "{why}");
    }
}

#[test]
fn delegation_is_limited_to_the_named_agents() {
    let head = "---\nname: a\ndescription: d\n";
    for (tools, expected) in [
        ("Read, Agent(helper, other)", "helper:allow other:allow deny"),
        ("Read, Task(helper)", "helper:allow deny"),
        ("Read, Agent(helper), Agent", "allow"),
        ("Read, Agent", "allow"),
    ] {
        let text = format!("{head}tools: {tools}\n---\nP\n");
        let found = imported("claude-code", &[(CLAUDE, &text)], CLAUDE).expect("an agent");
        assert_eq!(rules_of(&found, Section::Delegate), expected, "{tools}");
    }
    let path = ".github/agents/a.agent.md";
    for (agents, expected) in
        [("[helper]", "helper:ask deny"), ("[]", "deny"), ("['*']", "ask"), ("{}", "deny")]
    {
        let text = format!("---\ndescription: d\ntools: [read, agent]\nagents: {agents}\n---\nP\n");
        let found = imported("copilot", &[(path, &text)], path).expect("an agent");
        assert_eq!(rules_of(&found, Section::Delegate), expected, "{agents}");
    }
}

#[test]
fn a_disallowed_tool_with_a_pattern_is_denied_and_reported() {
    let found = claude_code("disallowedTools: Bash(rm:*)\n", &[]);
    assert_eq!(rules_of(&found, Section::Bash), "deny");
    let line = "`Bash(rm:*)`: Claude Code takes away all of `Bash` by it";
    assert!(report_of(&found).contains(line), "{}", report_of(&found));
}

#[test]
fn tools_with_an_opencode_plugin_hook_ask() {
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
        assert_eq!(rules_of(&found, Section::Bash), expected, "{path} {text}");
        let is_reported = report_of(&found).contains("of OpenCode decides about it; asks here");
        assert_eq!(is_reported, expected == "ask", "{}", report_of(&found));
    }
}
