//! OpenCode: tools that read many files at once have one verdict for all of them.

use crate::{Wish, agent, file, one, rendering, report_of};

/// The tools that search.
const TOOLS: [&str; 4] = ["glob", "grep", "list", "lsp"];

fn read(intent: &str, rules: &[&str]) -> String {
    format!("[permissions.read]\nintent = \"{intent}\"\nrules = {rules:?}\n")
}

#[test]
fn searches_get_the_strictest_read_verdict() {
    let plain = Wish::default();
    let guard = Wish { guard: true, ..plain };
    let close = Wish { close_gaps: true, ..plain };
    let cases = [
        (read("allow", &[]), plain, "allow", ""),
        (read("allow", &[]), guard, "ask", ""),
        (read("allow", &[]), close, "ask", "are asked about altogether"),
        (read("ask", &[]), plain, "ask", ""),
        (read("deny", &[]), guard, "deny", ""),
        (read("allow", &["secret/**:deny"]), plain, "deny", "are denied altogether"),
        (read("allow", &["secret/**:deny"]), guard, "ask", ""),
        (read("allow", &["*.pem:ask"]), plain, "ask", "are asked about altogether"),
        (read("allow", &["*.pem:ask"]), guard, "ask", ""),
        (read("deny", &["src/**:allow"]), plain, "deny", "are denied altogether"),
        (read("deny", &["src/**:allow"]), guard, "ask", ""),
    ];
    for (lines, wish, action, expected) in cases {
        let rendered = one("opencode", &lines, wish);
        let text = file(&rendered, "helper.md");
        for tool in TOOLS {
            assert!(text.contains(&format!("\n  {tool}: {action}\n")), "{lines}{tool}\n{text}");
        }
        let report = report_of(&rendered);
        let is_reported =
            report.contains("narrowed permissions.read: `glob`, `grep`, `list`, `lsp` are");
        assert_eq!(is_reported, !expected.is_empty(), "{lines}{report}");
        assert!(report.contains(expected), "{lines}{report}");
    }
}

/// A call that the guard asks about must not run because the rules below it allow it.
#[test]
fn with_the_guard_no_rule_allows_a_call() {
    let lines = "[permissions.bash]\nintent = \"allow\"\n[permissions.edit]\nintent = \"allow\"\n";
    let wish = Wish { guard: true, ..Wish::default() };
    let rendering = rendering("opencode", &agent("helper", lines), wish);
    let text = file(&rendering.agents[0], "helper.md");
    for tool in TOOLS.iter().chain(&["bash", "edit", "read", "external_directory"]) {
        assert!(!text.contains(&format!("\n  {tool}: allow\n")), "{tool}\n{text}");
    }
    // The plugin sees that a rule allows the tool, so a question becomes a refusal there.
    let lines = "[permissions.websearch]\nintent = \"allow\"\n";
    let rendering = crate::rendering("opencode", &agent("helper", lines), wish);
    let plugin = rendering.shared[0].text();
    assert!(plugin.contains("[\"websearch\",true]") && plugin.contains("[\"bash\",false]"));
    assert!(plugin.contains("decision === \"ask\" && isAllowed("), "{plugin}");
    // What the guard allows, it answers for, whichever tool it is.
    let plugin = rendering.shared[0].text();
    assert!(plugin.contains("permission !== call.tool) return") && !plugin.contains("LEFT"));
}
