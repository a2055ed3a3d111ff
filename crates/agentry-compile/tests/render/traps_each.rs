//! Traps that every target must pass, for targets without their own test.

use agentry_compile::targets::{
    LossKind, ProjectRendering, RenderScope, RenderedAgent, RenderedFile, TARGETS,
};

use crate::claude_code::{lost, settings, several};
use crate::{Wish, agent, chiron, file, one, rendering, report_of, section};

/// An agent of Codex, and the rules that all agents share there.
fn codex(lines: &str) -> (RenderedAgent, String) {
    let mut rendering = rendering("codex", &agent("helper", lines), Wish::default());
    let rules = rendering.shared.iter().find(|file| file.path == ".codex/rules/agentry.rules");
    let rules = rules.map(|file| file.text().to_owned()).unwrap_or_default();
    (rendering.agents.remove(0), rules)
}

/// The Claude Code settings for an agent with these rules about commands.
fn claude_code(intent: &str, rules: &[&str]) -> (RenderedAgent, String) {
    let mut rendering = several(&[("helper", &section("bash", intent, rules))], Wish::default());
    let text = settings(&rendering);
    (rendering.agents.remove(0), text)
}

#[test]
fn t2_the_first_of_two_equal_patterns_wins() {
    let (rendered, text) = claude_code("allow", &["git *:ask", "git *:deny"]);
    assert_eq!(rendered.refused, None);
    assert!(text.contains("\"Bash(git *)\""), "{text}");
    assert_eq!(text.matches("Bash(git *)").count(), 2, "once, and in what is ours: {text}");
    assert!(!text.contains("\"deny\""), "{text}");
    // In Codex the strictest rule wins: an allow before a denial is lost, and reported.
    let (rendered, rules) = codex(&section("bash", "ask", &["git *:allow", "git *:deny"]));
    assert_eq!(rendered.refused, None);
    assert!(!rules.contains("\"allow\""), "{rules}");
    assert!(lost(&rendered, LossKind::Narrowed, "permissions.bash"), "{}", report_of(&rendered));
}

#[test]
fn t3_no_rule_is_written_after_a_catch_all() {
    for all in ["*", "**"] {
        let rule = format!("{all}:allow");
        let (rendered, text) = claude_code("deny", &[&rule, "rm *:deny"]);
        assert!(file(&rendered, ".md").contains("Bash"), "{}", report_of(&rendered));
        assert!(!text.contains("Bash(rm"), "{text}");
        let (rendered, rules) = codex(&section("bash", "deny", &[&rule]));
        assert_eq!(rendered.refused, None, "{all}");
        assert!(!rules.contains("forbidden") && !rules.contains("\"allow\""), "{rules}");
    }
}

#[test]
fn t26_t32_special_characters_are_literal_in_codex() {
    let cases = [
        ("npm run test:unit", Some("[\"npm\", \"run\", \"test:unit\"]")),
        ("curl https://h:8080/x", Some("[\"curl\", \"https://h:8080/x\"]")),
        ("x [c] {d,e}", Some("[\"x\", \"[c]\", \"{d,e}\"]")),
        ("a?b *", Some("[\"a?b\"]")),
        // A part of a word cannot be a prefix rule; the words before it can.
        ("curl https://h:8080/*", Some("[\"curl\"]")),
        ("cur*", None),
    ];
    for (pattern, expected) in cases {
        let (rendered, rules) = codex(&section("bash", "ask", &[&format!("{pattern}:deny")]));
        assert_eq!(rendered.refused, None, "{pattern}");
        let has_shell = !file(&rendered, ".toml").contains("shell_tool = false");
        match expected {
            Some(words) if has_shell => {
                let rule = format!("prefix_rule(pattern = {words}, decision = \"forbidden\")");
                assert!(rules.contains(&rule), "{pattern}: {rules}");
            }
            // If words cannot be distinguished from wildcards, the shell tool is switched off.
            _ => {
                assert!(!has_shell, "{pattern}: {rules}");
                assert!(lost(&rendered, LossKind::Narrowed, "permissions.bash"), "{pattern}");
            }
        }
    }
}

#[test]
fn t33_an_address_rule_with_a_path_removes_the_tool() {
    let lines = section("webfetch", "deny", &["https://docs.example.org/*:allow"]);
    for harness in ["codex", "copilot", "pi"] {
        let rendered = one(harness, &lines, Wish::default());
        assert_eq!(rendered.refused, None, "{harness}");
        assert!(lost(&rendered, LossKind::Narrowed, "permissions.webfetch"), "{harness}");
        let texts: String = rendered.files.iter().map(RenderedFile::text).collect();
        for tool in ["web_search = \"live\"", "fetch_content", "fetch", "docs.example.org"] {
            assert!(!texts.contains(tool), "{harness} {tool}: {texts}");
        }
    }
}

#[test]
fn t39_copilot_writes_only_known_keys() {
    let known = [
        "---",
        "# rendered by agentry",
        "name: ",
        "description: ",
        "tools: ",
        "disable-model-invocation: ",
        "user-invocable: ",
        "model: ",
    ];
    let lines = "mode = \"primary\"\ntags = [\"x\"]\nmax_turns = 3\n";
    let rendered = one("copilot", lines, Wish::default());
    let text = file(&rendered, ".agent.md");
    let head = text.split("\n\n").next().unwrap_or_default();
    assert!(head.lines().all(|line| known.iter().any(|it| line.starts_with(it))), "{head}");
}

#[test]
fn t41_max_turns_must_be_positive() {
    let rendered = one("claude-code", "max_turns = 7\n", Wish::default());
    assert!(file(&rendered, ".md").contains("\nmaxTurns: 7\n"), "{}", report_of(&rendered));
    let rendered = one("claude-code", "", Wish::default());
    assert!(!file(&rendered, ".md").contains("maxTurns"));
    let world = agent("helper", "max_turns = 0\n");
    assert!(crate::policies::subject_of(&world).is_none(), "an error of the definition");
}

#[test]
fn t43_denied_sections_are_disabled_in_codex() {
    let sections = ["bash", "edit", "webfetch", "websearch", "skill", "mcp", "tool"];
    let lines: String = sections.iter().map(|name| section(name, "deny", &[])).collect();
    let (rendered, _) = codex(&lines);
    let text = file(&rendered, ".toml");
    for off in ["shell_tool = false", "web_search = \"disabled\"", "sandbox_mode = \"read-only\""] {
        assert!(text.contains(off), "{off}: {text}");
    }
}

#[test]
fn t45_prompts_stay_whole_and_trimming_is_reported() {
    let long = "word ".repeat(5_000);
    let cases = [
        ("You answer.\n", "You answer.", false),
        ("You answer {{ x }} and {file:./x}.\n", "You answer {{ x }} and {file:./x}.", false),
        ("You answer.\n\n\n", "You answer.", true),
        (long.as_str(), long.trim_end(), true),
    ];
    for harness in ["opencode", "claude-code", "gemini", "codex", "copilot", "pi"] {
        for (prompt, expected, is_trimmed) in cases {
            let mut files = agent("helper", "");
            files[1].1 = prompt.to_owned();
            let rendered = rendering(harness, &files, Wish::default()).agents.remove(0);
            let texts: Vec<&str> = rendered.files.iter().map(RenderedFile::text).collect();
            assert!(texts.iter().any(|text| text.contains(expected)), "{harness} {prompt:.20}");
            let is_reported = lost(&rendered, LossKind::Dropped, "system");
            assert_eq!(
                is_reported,
                is_trimmed,
                "{harness} {prompt:.20?}: {}",
                report_of(&rendered)
            );
        }
    }
}

#[test]
fn t46_an_unsupported_mode_is_reported() {
    for harness in ["gemini", "codex"] {
        let rendered = one(harness, "mode = \"primary\"\n", Wish::default());
        assert!(lost(&rendered, LossKind::Dropped, "mode"), "{harness}: {}", report_of(&rendered));
        let rendered = one(harness, "", Wish::default());
        assert!(!lost(&rendered, LossKind::Dropped, "mode"), "{harness}: {}", report_of(&rendered));
    }
}

#[test]
fn t49_edit_covers_write() {
    let all = |action| {
        ["edit", "external_directory"].map(|name| section(name, action, &[])).concat()
            + &section("bash", "deny", &[])
    };
    let rendered = one("copilot", &all("allow"), Wish::default());
    assert!(
        file(&rendered, ".md").contains("tools: [read, search, edit]"),
        "{}",
        report_of(&rendered)
    );
    let rendered = one("copilot", &all("deny"), Wish::default());
    assert!(!file(&rendered, ".md").contains("edit"), "{}", file(&rendered, ".md"));
    // The sandbox of Codex limits all writes, not only edits.
    let (rendered, _) = codex(&all("deny"));
    assert!(file(&rendered, ".toml").contains("sandbox_mode = \"read-only\""));
}

#[test]
fn t50_unattended_modes_are_reported_as_a_gap() {
    let gap = "not with `opencode --auto`";
    for guard in [false, true] {
        let wish = Wish { guard, ..Wish::default() };
        let rendered = one("opencode", &section("bash", "ask", &[]), wish);
        assert!(report_of(&rendered).contains(gap), "{}", report_of(&rendered));
    }
    let sections = [
        "bash",
        "edit",
        "read",
        "webfetch",
        "websearch",
        "question",
        "external_directory",
        "mcp",
        "tool",
        "skill",
        "delegate",
    ];
    let lines: String = sections.iter().map(|name| section(name, "deny", &[])).collect();
    let rendered = one("opencode", &lines, Wish::default());
    assert!(!report_of(&rendered).contains(gap), "{}", report_of(&rendered));
}

/// Every path of a rendering.
fn paths(rendering: &ProjectRendering) -> Vec<&str> {
    let own = rendering.agents.iter().flat_map(|agent| &agent.files);
    own.chain(&rendering.shared).map(|file| file.path.as_str()).collect()
}

/// Targets that are rendered together never write one file with two texts, in either scope, with or without
/// the guard.
#[test]
fn t52_targets_rendered_together_never_clash() {
    for scope in [RenderScope::Project, RenderScope::User] {
        for guard in [false, true] {
            let wish = Wish { guard, scope: Some(scope), ..Wish::default() };
            let all: Vec<ProjectRendering> =
                TARGETS.iter().map(|target| rendering(target.name, &chiron(), wish)).collect();
            for (at, one) in all.iter().enumerate() {
                for other in all.iter().skip(at + 1) {
                    let theirs = paths(other);
                    let both = paths(one).into_iter().filter(|path| theirs.contains(path));
                    // Files with the content of several targets, and skills of the open standard.
                    let clash = both.into_iter().find(|path| {
                        !path.ends_with("AGENTS.md") && !path.starts_with(".agents/skills/")
                    });
                    assert_eq!(clash, None, "{scope:?} {guard}");
                }
            }
        }
    }
}
