//! Files that hold for other agents are written only on request, and no agent changes the files of another.

use crate::{Wish, agent, file, rendering, report_of};

const UNSHARED: Wish<'_> = Wish { unshared: true, guard: false, ..crate::GUARD };

const DENIES: &str = "[permissions.bash]\nintent = \"ask\"\nrules = [\"git push *:deny\"]\n";

/// Codex never asks about commands, so that it has a shell only where they are allowed.
const ALLOWS: &str = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push *:deny\"]\n";

fn denying(harness: &str) -> &'static str {
    if harness == "codex" { ALLOWS } else { DENIES }
}

#[test]
fn without_shared_the_needed_lines_are_reported() {
    for harness in ["opencode", "claude-code", "pi", "codex", "gemini", "copilot"] {
        for lines in ["", DENIES] {
            let rendering = rendering(harness, &agent("helper", lines), UNSHARED);
            assert!(rendering.shared.is_empty(), "{harness}: {:?}", rendering.shared);
            let rules = |path: &str| path.contains("polic") || path.contains(".rules");
            let mut own = rendering.agents.iter().flat_map(|it| &it.files);
            assert!(own.all(|it| !rules(&it.path)), "{harness}");
        }
    }
    for (harness, line, path) in [
        ("claude-code", "`Bash(git push *)` in `permissions.deny`", ".claude/settings.json"),
        ("codex", "\"git\", \"push\"", ".codex/rules/agentry.rules"),
    ] {
        let mut rendered = rendering(harness, &agent("helper", denying(harness)), UNSHARED);
        let rendered = rendered.agents.remove(0);
        let report = report_of(&rendered);
        assert!(
            report.contains(line) && report.contains(path) && report.contains("`--shared`"),
            "{report}"
        );
    }
}

#[test]
fn a_shared_denial_that_exists_keeps_the_tool() {
    for (harness, own, path, has) in [
        ("claude-code", ".claude/agents/helper.md", ".claude/settings.json", "Bash"),
        ("codex", ".codex/agents/helper.toml", ".codex/rules/agentry.rules", "sandbox_mode"),
    ] {
        let files = agent("helper", denying(harness));
        let shared = rendering(harness, &files, Wish::default());
        let text = shared.shared.iter().find(|it| it.path == path).expect(path).text().to_owned();
        let is_tool = |text: &str| {
            let mut lines = text.lines().filter(|line| !line.starts_with("disallowedTools"));
            lines.any(|line| line.contains(has)) && !text.contains("shell_tool = false")
        };
        assert!(is_tool(file(&shared.agents[0], own)), "{harness}");
        // An earlier rendering stays as it is, and counts.
        let existing = [(path, text.as_str())];
        let later = rendering(harness, &files, Wish { existing: &existing, ..UNSHARED });
        assert!(is_tool(file(&later.agents[0], own)), "{harness}: {}", report_of(&later.agents[0]));
        let kept = later.shared.iter().find(|it| it.path == path).expect(path);
        assert_eq!(kept.text(), text, "{harness}");
        // Also when no agent needs it any more.
        let other = agent("helper", "");
        let later = rendering(harness, &other, Wish { existing: &existing, ..UNSHARED });
        let kept = later.shared.iter().find(|it| it.path == path).expect(path);
        assert_eq!(kept.text(), text, "{harness}");
        let gone = rendering(harness, &other, Wish { existing: &existing, ..Wish::default() });
        let gone = gone.shared.iter().find(|it| it.path == path);
        assert!(gone.is_none_or(|it| !it.text().contains("push")), "{harness}: {gone:?}");
    }
}

#[test]
fn an_agent_never_changes_the_files_of_another() {
    let variants = [
        "",
        DENIES,
        "[permissions.bash]\nintent = \"allow\"\n",
        "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\", \"ls *:ask\"]\n",
        "[permissions.edit]\nintent = \"allow\"\nrules = [\"src/**:deny\"]\n",
        "[permissions.read]\nintent = \"allow\"\nrules = [\"docs/**:deny\", \"x/**:ask\"]\n",
    ];
    for harness in ["opencode", "claude-code", "pi", "codex", "gemini", "copilot"] {
        for unshared in [true, false] {
            for own in variants {
                let beside = |lines: &str| {
                    let mut files = agent("aaa", own);
                    files.extend(agent("zzz", lines));
                    let wish = Wish { unshared, ..Wish::default() };
                    rendering(harness, &files, wish).agents.remove(0).files
                };
                let first = beside("");
                for lines in variants {
                    assert_eq!(beside(lines), first, "{harness} {unshared} {own:?} {lines:?}");
                }
            }
        }
    }
}

#[test]
fn without_shared_the_guard_writes_only_its_hook() {
    let wish = Wish { guard: true, ..UNSHARED };
    let rendering = rendering("claude-code", &agent("helper", DENIES), wish);
    let settings = rendering.shared.iter().find(|it| it.path == ".claude/settings.json");
    let text = settings.expect("settings").text();
    assert!(text.contains("agentry guard claude-code") && !text.contains("permissions"), "{text}");
    let lines: Vec<&str> = rendering.lines.iter().map(|it| it.place.as_str()).collect();
    assert!(lines.contains(&"hooks.PreToolUse"), "{lines:?}");
}
