//! What the user's own settings allow is reported, and does not change the rendered files.

use agentry_compile::targets::RenderScope;

use crate::{Wish, agent, rendering, report_of};

const ASKS: &str = "[permissions.bash]\nintent = \"ask\"\nrules = [\"git log*:allow\"]\n\
                    [permissions.edit]\nintent = \"allow\"\nrules = []\n\
                    [permissions.external_directory]\nintent = \"ask\"\nrules = []\n";
const ASKS_ALWAYS: &str = "[permissions.bash]\nintent = \"ask\"\nrules = []\n";

#[test]
fn user_settings_that_allow_more_are_a_gap() {
    let claude = "~/.claude/settings.json";
    let allow = "{\"permissions\": {\"allow\": [\"Edit(//etc/**)\"]}}";
    let more = "{\"permissions\": {\"additionalDirectories\": [\"/srv\"]}}";
    let rule = "prefix_rule(\n  pattern = [\"make\"],\n  decision = \"allow\",\n)\n";
    let policy = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make\"\n\
                  decision = \"allow\"\npriority = 999\n";
    let fetches =
        policy.replace("run_shell_command", "web_fetch").replace("commandPrefix = \"make\"\n", "");
    let (project, user) = (RenderScope::Project, RenderScope::User);
    let cases = [
        ("claude-code", ASKS, claude, allow, project, "by `Edit(//etc/**)`"),
        ("claude-code", ASKS, claude, more, project, "by `/srv`"),
        ("codex", CAREFUL, "~/.codex/rules/default.rules", rule, project, "is ask"),
        ("gemini", ASKS_ALWAYS, ".gemini/policies/mine.toml", policy, user, "is ask"),
        ("gemini", "", "~/.gemini/policies/mine.toml", &fetches, project, "is ask"),
    ];
    for (harness, lines, path, text, scope, expected) in cases {
        let scope = Some(scope);
        let files = agent("helper", lines);
        let plain = rendering(harness, &files, Wish { scope, ..Wish::default() });
        assert_eq!(plain.agents[0].refused, None, "{harness}");
        let existing = [(path, text)];
        let wish = Wish { scope, existing: &existing, ..Wish::default() };
        let widened = rendering(harness, &files, wish);
        assert_eq!(widened.agents[0].refused, None, "{harness}");
        assert_eq!(widened.agents[0].files, plain.agents[0].files, "{harness}");
        assert_eq!(widened.shared, plain.shared, "{harness}");
        let found = report_of(&widened.agents[0]);
        let line = found.lines().find(|line| line.contains("your own settings")).expect(&found);
        assert!(line.starts_with("gap permissions.") && line.contains(expected), "{line}");
        assert!(!report_of(&plain.agents[0]).contains("your own"), "{harness}");
    }
}

#[test]
fn hooks_disabled_by_the_user_are_reported() {
    let existing = [("~/.claude/settings.json", "{\"disableAllHooks\": true}")];
    let wish = Wish { guard: true, existing: &existing, ..Wish::default() };
    let rendered = rendering("claude-code", &agent("helper", ASKS), wish).agents.remove(0);
    assert_eq!(rendered.refused, None);
    assert!(report_of(&rendered).contains("your own settings"), "{}", report_of(&rendered));
}

/// Commands run in the read-only sandbox of Codex, because changes are asked about.
const CAREFUL: &str = "[permissions.bash]\nintent = \"allow\"\nrules = []\n\
                       [permissions.edit]\nintent = \"ask\"\nrules = []\n\
                       [permissions.external_directory]\nintent = \"ask\"\nrules = []\n\
                       [permissions.read]\nintent = \"allow\"\nrules = []\n";

#[test]
fn existing_codex_project_rules_are_considered() {
    let files = agent("helper", CAREFUL);
    let text = |existing: &[(&str, &str)]| {
        let wish = Wish { existing, ..Wish::default() };
        let rendered = rendering("codex", &files, wish).agents.remove(0);
        assert_eq!(rendered.refused, None);
        (crate::file(&rendered, "helper.toml").to_owned(), report_of(&rendered))
    };
    let off = "shell_tool = false";
    assert!(!text(&[]).0.contains(off), "{}", text(&[]).0);
    let allow = "prefix_rule(pattern = [\"make\"], decision = \"allow\")\n";
    assert!(text(&[(".codex/rules/mine.rules", allow)]).0.contains(off));
    let forbid = "prefix_rule(pattern = [\"make\"], decision = \"forbidden\")\n";
    assert!(!text(&[(".codex/rules/mine.rules", forbid)]).0.contains(off));
    let odd = text(&[(".codex/rules/odd.rules", "load(\"x\")\n")]).1;
    assert!(odd.contains("`.codex/rules/odd.rules` holds rules that are not understood"), "{odd}");
}
