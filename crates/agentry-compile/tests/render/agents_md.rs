//! AGENTS.md: the policy as text for a reader.

use crate::{Wish, agent, one, rendering, report_of};

const LINES: &str = r#"
[permissions.bash]
intent = "ask"
rules = ["git push*:deny", "git `x`:allow"]
[permissions.edit]
intent = "deny"
[permissions.webfetch]
intent = "allow"
"#;

#[test]
fn agents_are_merged_as_sections_between_marks() {
    let mut files = agent("second", "display_name = \"The Second\"\n");
    files.extend(agent("first", LINES));
    let existing = [("AGENTS.md", "# Mine\n\nKeep this.\n")];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let once = rendering("agents-md", &files, wish);
    assert!(once.agents.iter().all(|agent| agent.refused.is_none() && agent.files.is_empty()));
    insta::assert_snapshot!(once.shared[0].text());
    let existing = [("AGENTS.md", once.shared[0].text())];
    let twice = rendering("agents-md", &files, Wish { existing: &existing, ..Wish::default() });
    assert_eq!(twice.shared, once.shared);
}

#[test]
fn t50_an_unenforced_policy_is_a_gap() {
    let report = report_of(&one("agents-md", LINES, Wish::default()));
    assert!(report.contains("gap permissions.bash: written in words only"), "{report}");
    assert!(report.contains("gap permissions.edit: written in words only"), "{report}");
    assert!(!report.contains("webfetch"), "{report}");
    let silent = crate::report_of(&one("agents-md", "", Wish::default()));
    assert!(silent.contains("gap permissions: what the agent may do is not written"), "{silent}");
}

#[test]
fn a_prompt_with_our_mark_is_refused() {
    let mut files = agent("helper", "");
    files[1].1 = "x\n<!-- end agentry agents -->\ny\n".to_owned();
    let rendering = rendering("agents-md", &files, Wish::default());
    assert!(
        report_of(&rendering.agents[0]).contains("refused instructions: the prompt holds a mark")
    );
    assert!(rendering.shared.is_empty());
}

#[test]
fn a_file_with_broken_marks_is_not_changed() {
    let existing = [("AGENTS.md", "<!-- end agentry agents -->\n")];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let rendering = rendering("agents-md", &agent("helper", ""), wish);
    assert!(rendering.shared.is_empty());
    assert!(report_of(&rendering.agents[0]).contains("refused name: `AGENTS.md` is left alone"));
}

#[test]
fn t54_without_agents_the_marked_part_is_removed() {
    let once = rendering("agents-md", &agent("helper", ""), Wish::default());
    let text = format!("# Mine\n\n{}", once.shared[0].text());
    let existing = [("AGENTS.md", text.as_str())];
    let none =
        rendering::<String>("agents-md", &[], Wish { existing: &existing, ..Wish::default() });
    assert_eq!(none.shared[0].text(), "# Mine\n");
}

#[test]
fn renders_the_chiron_sample() {
    let rendering = rendering("agents-md", &crate::chiron::files(), Wish::default());
    insta::assert_snapshot!(crate::chiron::shown(&rendering));
}
