//! OpenCode: a tool that searches many files gets one verdict for all of them.

use crate::{Wish, agent, file, one, rendering, told};

/// The tools that search.
const TOOLS: [&str; 4] = ["glob", "grep", "list", "lsp"];

fn read(intent: &str, rules: &[&str]) -> String {
    format!("[permissions.read]\nintent = \"{intent}\"\nrules = {rules:?}\n")
}

#[test]
fn the_strictest_answer_of_reading_is_told() {
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
        let told = told(&rendered);
        let is_told = told.contains("narrowed permissions.read: `glob`, `grep`, `list`, `lsp` are");
        assert_eq!(is_told, !expected.is_empty(), "{lines}{told}");
        assert!(told.contains(expected), "{lines}{told}");
    }
}

/// What the guard asks about must not run because the rules below it allow it.
#[test]
fn nothing_that_the_guard_decides_about_is_allowed_below_it() {
    let lines = "[permissions.bash]\nintent = \"allow\"\n[permissions.edit]\nintent = \"allow\"\n";
    let wish = Wish { guard: true, ..Wish::default() };
    let rendering = rendering("opencode", &agent("helper", lines), wish);
    let text = file(&rendering.agents[0], "helper.md");
    for tool in TOOLS.iter().chain(&["bash", "edit", "read", "external_directory"]) {
        assert!(!text.contains(&format!("\n  {tool}: allow\n")), "{tool}\n{text}");
    }
    // Where a rule allows a tool altogether, the plugin knows it: a question is a refusal there.
    let lines = "[permissions.websearch]\nintent = \"allow\"\n";
    let rendering = crate::rendering("opencode", &agent("helper", lines), wish);
    let plugin = rendering.shared[0].text();
    assert!(plugin.contains("[\"websearch\",true]") && plugin.contains("[\"bash\",false]"));
    assert!(plugin.contains("decision === \"ask\" && isAllowed("), "{plugin}");
    // What it allows it answers for, whichever tool it is.
    let plugin = rendering.shared[0].text();
    assert!(plugin.contains("permission !== call.tool) return") && !plugin.contains("LEFT"));
}
