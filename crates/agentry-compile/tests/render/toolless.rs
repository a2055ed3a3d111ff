//! An agent for which every tool of a harness would grant too much.

use crate::{Wish, one, report_of};

const SECTIONS: [&str; 9] =
    ["read", "edit", "bash", "webfetch", "websearch", "skill", "delegate", "mcp", "tool"];

/// An agent that may do `allowed` in some sections and nothing else.
fn lines(allowed: &[(&str, &str)]) -> String {
    let rules = |section: &str| -> Vec<String> {
        let of_section = allowed.iter().filter(|(known, _)| *known == section);
        of_section.map(|(_, pattern)| format!("{pattern}:allow")).collect()
    };
    let section = |name: &&str| {
        format!("[permissions.{name}]\nintent = \"deny\"\nrules = {:?}\n", rules(name))
    };
    SECTIONS.iter().map(section).collect()
}

#[test]
fn an_agent_left_without_tools_is_reported() {
    let some = lines(&[("read", "src/**"), ("bash", "git status")]);
    for harness in ["claude-code", "pi", "codex", "gemini", "copilot"] {
        let report = report_of(&one(harness, &some, Wish::default()));
        let way_out = if ["claude-code", "pi"].contains(&harness) {
            "; `--guard` would keep them"
        } else {
            ""
        };
        let line = format!("narrowed permissions: no tool is left{way_out}");
        assert!(report.lines().any(|known| known == line), "{harness}:\n{report}");
        // If the source grants no tool, none is lost.
        let report = report_of(&one(harness, &lines(&[]), Wish::default()));
        assert!(!report.contains("no tool is left"), "{harness}:\n{report}");
        let guard = Wish { guard: true, ..Wish::default() };
        let report = report_of(&one(harness, &some, guard));
        assert!(!report.contains("`--guard` would"), "{harness}:\n{report}");
    }
}
