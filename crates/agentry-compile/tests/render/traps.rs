//! Traps that several targets share, each by its name.

use agentry_compile::targets::{ProjectRendering, TARGETS};

use crate::back::imported;
use crate::claude_code::{settings, several};
use crate::{Wish, agent, chiron, file, one, rendering, report_of, section};

/// Every file of a rendering with its text.
fn all(rendering: &ProjectRendering) -> Vec<(&str, &str)> {
    let own = rendering.agents.iter().flat_map(|agent| &agent.files);
    own.chain(&rendering.shared).map(|file| (file.path.as_str(), file.text())).collect()
}

/// An agent of Claude Code, and whether its settings have a rule.
fn has_rule(lines: &str, rule: &str) -> (bool, String) {
    let rendering = several(&[("helper", lines)], Wish::default());
    let text = settings(&rendering);
    (text.contains(&format!("\"{rule}\"")), format!("{text}\n{}", report_of(&rendering.agents[0])))
}

#[test]
fn t6_a_same_name_above_the_project_is_refused() {
    let markdown = "---\npermission: allow\n---\nMine.\n";
    let settings = "{\"agent\": {\"helper\": {\"permission\": \"allow\"}}}";
    let places = [
        ("../.opencode/agents/helper.md", markdown),
        ("../../.opencode/mode/helper.md", markdown),
        ("../opencode.json", settings),
        ("../.opencode/opencode.jsonc", settings),
    ];
    for place in places {
        // A path above the repository has no name here.
        let above = [place, ("../README.md", ""), ("../../README.md", "")];
        let rendered = one("opencode", "", Wish { existing: &above, ..Wish::default() });
        let refused = rendered.refused.expect(place.0).message;
        assert!(refused.starts_with(&format!("`{}` is about an agent", place.0)), "{refused}");
    }
    let above = [("../.opencode/agents/other.md", markdown), ("../opencode.json", "{}")];
    let rendered = one("opencode", "", Wish { existing: &above, ..Wish::default() });
    assert_eq!(rendered.refused, None);
}

#[test]
fn t6_t40_a_name_taken_by_another_file_is_refused() {
    let mine = "---\nname: helper\ndescription: Mine\n---\nMine.\n";
    let cases = [
        ("opencode", ".opencode/agents/mine.md", true),
        ("opencode", ".opencode/agent/deep/down/mine.md", true),
        ("claude-code", ".claude/agents/mine.md", true),
        ("claude-code", ".claude/agents/team/mine.md", true),
        // The nearest file wins, and that is the rendered one.
        ("claude-code", "../.claude/agents/mine.md", false),
        ("claude-code", "~/.claude/agents/mine.md", false),
    ];
    for (harness, path, is_refused) in cases {
        let existing = [(path, mine)];
        let rendered = one(harness, "", Wish { existing: &existing, ..Wish::default() });
        assert_eq!(rendered.refused.is_some(), is_refused, "{path}: {}", report_of(&rendered));
    }
    let other = mine.replace("helper", "other");
    for (harness, path, _) in cases {
        let existing = [(path, other.as_str())];
        let rendered = one(harness, "", Wish { existing: &existing, ..Wish::default() });
        assert_eq!(rendered.refused, None, "{path}");
    }
}

#[test]
fn t23_a_star_never_widens_over_directories_in_claude_code() {
    // A denial may match more, an allow never: the tool is removed instead.
    let (has, rules) = has_rule(&section("edit", "allow", &["src/*:deny"]), "Edit(/src/*)");
    assert!(has, "{rules}");
    let lines = section("edit", "deny", &["src/*:allow"]);
    let rendering = several(&[("helper", &lines)], Wish::default());
    assert!(!settings(&rendering).contains("Edit("), "{}", settings(&rendering));
    let report = report_of(&rendering.agents[0]);
    assert!(report.contains("narrowed permissions.edit"), "{report}");
}

#[test]
fn t27_claude_code_keeps_rules_below_a_directory() {
    let lines = section("edit", "allow", &["~/p/**:deny"])
        + &section("external_directory", "allow", &[])
        + &section("read", "allow", &[]);
    let (has, report) = has_rule(&lines, "Edit(~/p/**)");
    assert!(has, "{report}");
    assert!(!report.contains("refused"), "{report}");
}

#[test]
fn t34_commands_keep_their_case() {
    let lines = section("bash", "allow", &["RM *:deny"]);
    let rendered = one("opencode", &lines, Wish::default());
    assert!(file(&rendered, ".md").contains("    RM *: deny\n"), "{}", report_of(&rendered));
    assert!(!file(&rendered, ".md").contains(" rm "));
    let (has, report) = has_rule(&lines, "Bash(RM *)");
    assert!(has, "{report}");
}

#[test]
fn t44_no_byte_order_mark_and_no_carriage_return_is_written() {
    for target in TARGETS {
        let mut files = agent("helper", "");
        files[1].1 = "\u{feff}You answer.\r\n---\r\nAlways.\r\n".to_owned();
        let rendering = rendering(target.name, &files, Wish::default());
        for (path, text) in all(&rendering) {
            assert!(!text.contains(['\u{feff}', '\r']), "{path}: {text:?}");
        }
        let report: Vec<&str> = all(&rendering).into_iter().map(|(_, text)| text).collect();
        let report = report.concat();
        assert!(
            report.contains("You answer.") && report.contains("Always."),
            "{}: {report}",
            target.name
        );
    }
}

#[test]
fn t50_an_ask_is_never_written_as_allow() {
    let lines = section("bash", "ask", &[]) + &section("webfetch", "ask", &[]);
    let rendered = one("opencode", &lines, Wish::default());
    assert!(file(&rendered, ".md").contains("  bash: ask\n"), "{}", report_of(&rendered));
    // Claude Code asks by itself. With the gaps closed, a question is written out.
    assert_eq!(settings(&several(&[("helper", &lines)], Wish::default())), "");
    let closed = several(&[("helper", &lines)], Wish { close_gaps: true, ..Wish::default() });
    let text = settings(&closed);
    let value: serde_json::Value = serde_json::from_str(&text).expect("settings");
    let ask = value["permissions"]["ask"].as_array().expect("questions");
    assert!(ask.iter().any(|it| it == "WebSearch"), "{text}");
    assert_eq!(value["permissions"]["allow"], serde_json::Value::Null, "{text}");
}

/// Where each harness looks for agents, including those of other harnesses.
const LOOKED_AT: &[(&str, &[&str])] = &[
    ("opencode", &[".opencode/agent/", ".opencode/agents/", ".opencode/mode/", ".opencode/modes/"]),
    ("claude-code", &[".claude/agents/"]),
    ("pi", &[".pi/agents/", ".agents/"]),
    ("codex", &[".codex/agents/"]),
    ("gemini", &[".gemini/agents/"]),
    ("copilot", &[".github/agents/"]),
];

#[test]
fn t52_no_target_writes_into_agent_paths_of_another() {
    for target in TARGETS {
        let rendering = rendering(target.name, &chiron(), Wish::default());
        for (harness, dirs) in LOOKED_AT.iter().filter(|(harness, _)| *harness != target.name) {
            for (path, _) in all(&rendering) {
                let is_read = dirs.iter().any(|dir| path.starts_with(dir));
                // pi-subagents skips the skills of the open standard.
                let is_skill = path.starts_with(".agents/skills/");
                assert!(!is_read || is_skill, "{harness} would read `{path}` of {}", target.name);
            }
        }
    }
}

#[test]
fn import_reports_what_user_settings_allow_or_deny() {
    let path = ".claude/agents/helper.md";
    let files = [
        (path, "---\nname: helper\ndescription: Answers\n---\nYou answer.\n"),
        (
            "~/.claude/settings.json",
            "{\"permissions\": {\"allow\": [\"Bash\"], \"deny\": [\"Read(x)\", \"Edit\"]}}",
        ),
    ];
    let losses = imported("claude-code", &files, path).expect("an agent").losses;
    let report: Vec<&str> = losses.iter().map(|loss| loss.detail.as_str()).collect();
    let report = report.join("\n");
    assert!(
        report.contains("your own `~/.claude/settings.json` allows `Bash` in every project"),
        "{report}"
    );
    assert!(report.contains("denies `Read(x)` and more in every project"), "{report}");
}

#[test]
fn import_includes_user_denials() {
    let path = ".claude/agents/helper.md";
    let files = [
        (path, "---\nname: helper\ndescription: Answers\ntools: Bash, Edit\n---\nYou answer.\n"),
        (
            ".claude/settings.json",
            r#"{"permissions": {"allow": ["Bash", "Edit"], "defaultMode": "acceptEdits"}}"#,
        ),
        (
            "~/.claude/settings.json",
            r#"{"permissions": {"deny": ["Bash(rm *)", "Edit(/own/**)"], "ask": ["Bash(git push*)"]}}"#,
        ),
    ];
    let agent = imported("claude-code", &files, path).expect("an agent").agent;
    let report = format!("{:?}", agent.policy);
    for pattern in ["rm *", "git push*", "~/.claude/own/**"] {
        assert!(report.contains(pattern), "{pattern}: {report}");
    }
}
