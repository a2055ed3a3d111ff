//! Claude Code: existing settings, the guard, and imported agents.

use agentry_compile::policy::{Action, Section};
use agentry_compile::targets::{RenderScope, target};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::back::{assert_stable, definition, imported};
use crate::claude_code::{one, settings, several};
use crate::policies::{cases, permissions, subject_of};
use crate::{Wish, agent, file, report_of, section};

const HARNESS: &str = "claude-code";
const PATH: &str = ".claude/settings.json";

#[test]
fn existing_settings_are_kept() {
    let mine = "{\n    \"model\": \"opus\",\n    \"permissions\": { \"deny\": [\"Read(.env)\"] },\n    \"env\": {\"A\": \"1\"}\n}\n";
    let existing = [(PATH, mine)];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let (rendered, text) = one(&section("bash", "allow", &["rm *:deny"]), wish);
    assert_eq!(rendered.refused, None);
    assert!(text.starts_with("{\n    \"model\": \"opus\",\n"), "{text}");
    assert!(text.contains("\"Read(.env)\"") && text.contains("\"env\": {\"A\": \"1\"}"), "{text}");
    assert!(text.contains("\"Bash(rm *)\""), "{text}");
}

#[test]
fn t54_stale_rules_are_removed_from_the_settings() {
    let (_, first) = one(&section("bash", "allow", &["rm *:deny"]), Wish::default());
    let existing = [(PATH, first.as_str())];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let (_, second) = one(&section("bash", "allow", &["ls *:ask"]), wish);
    assert!(!second.contains("rm *") && second.contains("\"Bash\""), "{second}");
    let (_, fresh) = one(&section("bash", "allow", &["ls *:ask"]), Wish::default());
    let value = |text: &str| -> serde_json::Value { serde_json::from_str(text).expect("json") };
    assert_eq!(value(&second)["permissions"], value(&fresh)["permissions"]);
    let (_, again) = one(&section("bash", "allow", &["rm *:deny"]), wish);
    assert_eq!(again, first, "the same settings twice are the same text");
}

#[test]
fn project_allows_of_the_user_are_a_gap() {
    let mine = "{\"permissions\": {\"allow\": [\"Bash(*)\", \"Edit\", \"WebFetch\"], \"additionalDirectories\": [\"/\"]}}";
    let existing = [(PATH, mine)];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let (rendered, text) = one(&section("bash", "ask", &["git log*:allow"]), wish);
    assert_eq!(rendered.refused, None);
    assert!(!text.contains("x-agentry"), "{text}");
    for field in ["bash", "edit", "webfetch"] {
        let gap = format!("gap permissions.{field}: your own settings in ");
        assert!(report_of(&rendered).contains(&gap), "{field}:\n{}", report_of(&rendered));
    }
    // No allow of the user lifts a denial.
    let (rendered, text) = one(&section("bash", "ask", &["git push *:deny"]), wish);
    assert_eq!(rendered.refused, None);
    assert!(text.contains("Bash(git push *)"), "{text}");
    let existing = [(PATH, "{\"permissions\": {\"allow\": [\"Bash(*)\", \"WebFetch\"]}}")];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let (rendered, text) = one(&section("bash", "ask", &["git log*:allow"]), wish);
    assert_eq!(rendered.refused, None);
    assert!(file(&rendered, "helper.md").contains("disallowedTools: Skill, Agent\n"));
    assert!(text.contains("\"WebFetch\""), "{text}");
}

#[test]
fn invalid_settings_refuse_the_agent() {
    let cases = [
        ("{\n  \"permissions\": {\n", ".claude/settings.json:1:1`: `{` is never closed"),
        ("{\n  // mine\n}", "settings.json:2:3`: "),
        ("{\"permissions\": {\"ask\": \"x\"}}", "`permissions.ask` must be a list"),
        ("{\"a\": 1, \"a\": 2}", "settings.json:1:"),
        ("[]", "settings.json:1:1`: "),
    ];
    for (text, expected) in cases {
        let existing = [(PATH, text)];
        let wish = Wish { existing: &existing, ..Wish::default() };
        let rendering = several(&[("one", ""), ("two", "")], wish);
        assert_eq!(settings(&rendering), "", "{text}");
        for agent in rendering.agents {
            assert!(agent.files.is_empty());
            let refused = agent.refused.expect(text);
            assert!(refused.message.contains(expected), "{}", refused.message);
        }
    }
}

#[test]
fn the_guard_keeps_the_tools_and_only_denials() {
    let wish = Wish { guard: true, ..Wish::default() };
    let lines = section("bash", "ask", &["git log*:allow", "rm *:deny"]);
    let (rendered, text) = one(&lines, wish);
    let agent = file(&rendered, "helper.md");
    for expected in ["Bash", "matcher: \"*\"", "onFailure: block", "|| exit 2", "--digest sha256:"]
    {
        assert!(agent.contains(expected), "{expected}: {agent}");
    }
    let value: serde_json::Value = serde_json::from_str(&text).expect("json");
    assert_eq!(value["permissions"], serde_json::json!({"deny": ["Bash(rm *)"]}));
    assert!(value["hooks"]["PreToolUse"][0]["hooks"][0]["command"].is_string());
    assert!(report_of(&rendered).contains("disableAllHooks"), "{}", report_of(&rendered));
}

#[test]
fn the_guard_writes_no_denial_that_another_agent_lacks() {
    let wish = Wish { guard: true, ..Wish::default() };
    let (careful, free) = (section("bash", "allow", &["rm *:deny"]), section("bash", "allow", &[]));
    let rendering = several(&[("careful", &careful), ("free", &free)], wish);
    assert!(!settings(&rendering).contains("rm *"), "{}", settings(&rendering));
    assert!(rendering.agents.iter().all(|agent| file(agent, ".md").contains("Bash")));
    let list = rendering.shared.iter().find(|file| file.path.ends_with("agentry-guard.json"));
    let list = list.expect("a list of agents").text();
    assert!(list.contains("\"careful\"") && list.contains("\"free\""), "{list}");
}

#[test]
fn disabled_hooks_refuse_the_guard() {
    let existing = [(".claude/settings.local.json", "{\"disableAllHooks\": true}")];
    let wish = Wish { guard: true, existing: &existing, ..Wish::default() };
    let (rendered, _) = one(&section("bash", "ask", &["git log*:allow"]), wish);
    assert!(rendered.refused.is_some());
}

#[test]
fn the_guard_is_refused_in_the_user_scope() {
    let wish = Wish { guard: true, scope: Some(RenderScope::User), ..Wish::default() };
    let (rendered, _) = one("", wish);
    assert!(rendered.refused.is_some() && rendered.files.is_empty());
}

#[test]
fn an_imported_agent_renders_to_the_same_file() {
    let cases = [
        section("edit", "deny", &[]),
        section("bash", "deny", &[]) + &section("webfetch", "deny", &[]),
        "max_turns = 7\n".to_owned() + &section("websearch", "deny", &[]),
    ];
    for lines in cases {
        let (rendered, _) = one(&lines, Wish::default());
        assert_stable(HARNESS, &rendered, Wish::default());
    }
}

#[test]
fn import_reads_the_settings_around_an_agent() {
    let agent =
        "---\nname: helper\ndescription: Helps\ntools: Read, Bash, WebFetch\n---\nYou help.\n";
    let settings = "{\"permissions\": {\"allow\": [\"Bash(git log:*)\", \"WebFetch(domain:x.org)\"], \
                    \"ask\": [\"Bash(git push *)\"], \"deny\": [\"Bash(rm *)\", \"Read(//etc/**)\"]}}";
    let files = [(".claude/agents/helper.md", agent), (PATH, settings)];
    let found = imported(HARNESS, &files, ".claude/agents/helper.md").expect("an agent");
    let definition = definition(&found);
    let toml = &definition.iter().find(|(path, _)| path.contains("agent.toml")).expect("toml").1;
    for expected in [
        "\"rm *:deny\"",
        "\"git push *:ask\"",
        "\"git log *:allow\"",
        "\"x.org:allow\"",
        "\"/etc/**:deny\"",
    ] {
        assert!(toml.contains(expected), "{expected}: {toml}");
    }
    let permissions = found.agent.policy.permissions.expect("permissions");
    let intent = |section| permissions.get(section).and_then(|it| it.intent).map(|it| it.value);
    assert_eq!(intent(Section::Bash), Some(Action::Ask));
    assert_eq!(intent(Section::Edit), Some(Action::Deny));
    assert_eq!(intent(Section::Tool), Some(Action::Deny));
}

#[test]
fn t20_a_tool_with_brackets_is_imported_as_ask() {
    let agent =
        "---\nname: helper\ndescription: Helps\ntools: Read, Bash(git status*)\n---\nYou help.\n";
    let found = imported(HARNESS, &[("a/.claude/agents/x.md", agent)], "a/.claude/agents/x.md");
    let permissions = found.expect("an agent").agent.policy.permissions.expect("permissions");
    let bash = permissions.get(Section::Bash).expect("bash");
    assert_eq!((bash.intent.map(|it| it.value), bash.rules.len()), (Some(Action::Ask), 0));
}

#[test]
fn t21_permission_modes_never_import_as_allow() {
    for (mode, expected) in [
        ("bypassPermissions", Action::Ask),
        ("acceptEdits", Action::Ask),
        ("dontAsk", Action::Deny),
    ] {
        let agent = format!(
            "---\nname: helper\ndescription: Helps\npermissionMode: {mode}\n---\nYou help.\n"
        );
        let found = imported(HARNESS, &[(".claude/agents/x.md", &agent)], ".claude/agents/x.md");
        let found = found.expect("an agent");
        assert!(found.losses.iter().any(|loss| loss.field == "permissionMode"), "{mode}");
        let permissions = found.agent.policy.permissions.expect("permissions");
        let edit = permissions.get(Section::Edit).and_then(|it| it.intent).map(|it| it.value);
        assert_eq!(edit, Some(expected), "{mode}");
    }
}

/// What the mode does not guarantee is reported: for a parent, for plugins, in the background.
#[test]
fn t21_limits_of_permission_modes_are_reported() {
    let parts = ["a session above that asks less decides instead", "a plugin", "leaves it out"];
    for (lines, mode, background) in [
        ("permissionMode = \"plan\"", true, false),
        ("permissionMode = \"dontAsk\"\nbackground = true", true, true),
        ("permissionMode = \"default\"\nbackground = false", false, false),
        ("background = true", false, true),
        // Never written, so nothing has to be reported.
        ("permissionMode = \"bypassPermissions\"", false, false),
    ] {
        let lines = format!("[x-harness.claude-code]\n{lines}\n");
        let rendered = several(&[("helper", &lines)], Wish::default()).agents.remove(0);
        let report = report_of(&rendered);
        let line = report.lines().find(|line| line.starts_with("gap permissions: `permissionMode"));
        let is_reported = line.is_some_and(|line| parts.iter().all(|part| line.contains(part)));
        assert_eq!(is_reported, mode, "{lines}: {report}");
        assert!(!file(&rendered, "helper.md").contains("bypass"), "{lines}");
        let lost =
            report.contains("narrowed permissions: `background`: no user can be asked there");
        assert_eq!(lost, background, "{lines}: {report}");
    }
}

#[test]
fn common_front_matter_variants_are_imported() {
    let cases = [
        "---\nname: helper\ndescription: Use this: it helps. Examples: <example>Context: x</example>\ntools: Read, Grep\n---\nYou help.\n",
        "\u{feff}---\r\nname: helper\r\ndescription: Helps\r\ntools:\r\n  - Read\r\n  - Grep\r\n---\r\nYou help.\r\n",
        "---\nname: helper\ndescription: Helps\ntools: [Read, Grep]\ncolor: red\n---\nYou help.\n",
    ];
    for text in cases {
        let found = imported(HARNESS, &[(".claude/agents/x.md", text)], ".claude/agents/x.md");
        let found = found.expect(text);
        assert_eq!(found.agent.name(), "helper");
        let system = found.agent.instructions.system.as_ref().map(|it| it.value.as_str());
        assert_eq!(system, Some("You help."), "{text}");
        let permissions = found.agent.policy.permissions.expect("permissions");
        assert_eq!(permissions.mildest(Section::Read), Action::Allow, "{text}");
        assert_eq!(permissions.mildest(Section::Bash), Action::Deny, "{text}");
    }
    let guard = target(HARNESS).and_then(|target| target.guard.as_ref()).expect("a guard");
    assert!((guard.question)("no question").is_err());
}

#[test]
fn agents_never_widen_each_other() {
    let mut runner = TestRunner::new(Config {
        cases: cases(25),
        failure_persistence: None,
        ..Config::default()
    });
    let agents = (permissions(), permissions(), any::<bool>());
    let property = |(one, two, guard): (String, String, bool)| {
        let wish = Wish { guard, ..Wish::default() };
        let known = |lines: &String| subject_of(&agent("helper", lines)).is_some();
        if !known(&one) || !known(&two) {
            return Ok(());
        }
        let rendering = several(&[("one", &one), ("two", &two)], wish);
        for refused in rendering.agents.iter().filter_map(|agent| agent.refused.as_ref()) {
            // If only the last check finds a widening, the encoder has a defect.
            prop_assert!(!refused.message.contains("would be"), "{}", refused.message);
        }
        Ok(())
    };
    runner.run(&agents, property).expect("never wider");
}
