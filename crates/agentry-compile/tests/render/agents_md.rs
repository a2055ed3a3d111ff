//! AGENTS.md: instructions for every agent that reads it.

use crate::{Wish, agent, one, rendering, told};

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
fn every_agent_is_a_section_between_the_marks() {
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
fn t50_what_nobody_makes_sure_of_is_told() {
    let told = told(&one("agents-md", LINES, Wish::default()));
    assert!(told.contains("gap permissions.bash: written in words only"), "{told}");
    assert!(told.contains("gap permissions.edit: written in words only"), "{told}");
    assert!(!told.contains("webfetch"), "{told}");
    let silent = crate::told(&one("agents-md", "", Wish::default()));
    assert!(silent.contains("gap permissions: what the agent may do is not written"), "{silent}");
}

#[test]
fn a_prompt_with_our_mark_is_refused() {
    let mut files = agent("helper", "");
    files[1].1 = "x\n<!-- end agentry agents -->\ny\n".to_owned();
    let rendering = rendering("agents-md", &files, Wish::default());
    assert!(told(&rendering.agents[0]).contains("refused instructions: the prompt holds a mark"));
    assert!(rendering.shared.is_empty());
}

#[test]
fn broken_marks_are_left_alone() {
    let existing = [("AGENTS.md", "<!-- end agentry agents -->\n")];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let rendering = rendering("agents-md", &agent("helper", ""), wish);
    assert!(rendering.shared.is_empty());
    assert!(told(&rendering.agents[0]).contains("refused name: `AGENTS.md` is left alone"));
}

#[test]
fn t54_the_last_agent_takes_the_part_with_it() {
    let once = rendering("agents-md", &agent("helper", ""), Wish::default());
    let text = format!("# Mine\n\n{}", once.shared[0].text());
    let existing = [("AGENTS.md", text.as_str())];
    let none =
        rendering::<String>("agents-md", &[], Wish { existing: &existing, ..Wish::default() });
    assert_eq!(none.shared[0].text(), "# Mine\n");
}

#[test]
fn the_sample_of_the_document() {
    let rendering = rendering("agents-md", &crate::chiron::files(), Wish::default());
    insta::assert_snapshot!(crate::chiron::shown(&rendering));
}
