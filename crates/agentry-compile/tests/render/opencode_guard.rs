//! OpenCode with the guard: allowed calls become `ask`, and the plugin answers.

use crate::{GUARD, agent, chiron, file, one, rendering, report_of};

#[test]
fn allows_are_written_as_ask_for_the_plugin() {
    let lines = r#"
[permissions.bash]
intent = "allow"
rules = ["rm *:deny", "git push*:ask"]
[permissions.edit]
intent = "allow"
rules = ["src/**:deny"]
[permissions.webfetch]
intent = "deny"
rules = ["docs.example.org:allow"]
"#;
    let rendered = one("opencode", lines, GUARD);
    let text = file(&rendered, "helper.md");
    for expected in [
        "  bash:\n    \"*\": ask\n    git push*: ask\n    rm *: deny\n",
        "  edit:\n    \"*\": ask\n    src/*: deny\n",
        "\n  webfetch: ask\n",
        "\n  read: ask\n",
        "\n  external_directory: ask\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let report = report_of(&rendered);
    assert!(!report.contains("narrowed"), "{report}");
    assert!(
        report.contains("without the plugin, OpenCode asks where webfetch is denied"),
        "{report}"
    );
    assert!(report.contains("gap guard: with `--pure`"), "{report}");
}

#[test]
fn all_agents_share_one_guard_plugin() {
    let files = [agent("helper", ""), agent("other", "")].concat();
    let rendering = rendering("opencode", &files, GUARD);
    let [plugin] = rendering.shared.as_slice() else { panic!("one plugin") };
    assert_eq!(plugin.path, ".opencode/plugins/agentry-guard.js");
    assert!(plugin.text().starts_with("// rendered by agentry from "), "{}", plugin.text());
    for name in ["helper", "other"] {
        let entry = format!("\"{name}\":[\"agents/{name}/agent.toml\",\"");
        assert!(plugin.text().contains(&entry), "{}", plugin.text());
    }
}

#[test]
fn the_chiron_sample_is_exact_with_the_guard() {
    let rendered = rendering("opencode", &chiron(), GUARD).agents.remove(0);
    assert_eq!(rendered.refused, None);
    let report = report_of(&rendered);
    assert!(!report.contains("narrowed"), "{report}");
}
