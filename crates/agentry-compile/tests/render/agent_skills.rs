//! Agent Skills: an agent rendered as a skill.

use crate::{Wish, agent, file, one, rendering, report_of};

const READS: &str = r#"
[permissions.read]
intent = "allow"
[permissions.external_directory]
intent = "allow"
[permissions.bash]
intent = "allow"
"#;

#[test]
fn t43_tools_are_one_text_with_spaces() {
    let rendered = one("agent-skills", READS, Wish::default());
    let text = file(&rendered, ".agents/skills/helper/SKILL.md");
    // The shell could write, so it has the verdict `ask`.
    assert!(text.contains("\nallowed-tools: Read Grep Glob\n"), "{text}");
    let none = one("agent-skills", "", Wish::default());
    assert!(!file(&none, "SKILL.md").contains("allowed-tools"));
}

#[test]
fn t42_descriptions_are_quoted() {
    for description in ["a: b", "say \\\"x\\\"", "- x", "yes", "it's: \\\"x\\\" # y", "---"] {
        let mut files = agent("helper", "");
        files[0].1 = files[0].1.replace("Answers questions", description);
        let rendered = rendering("agent-skills", &files, Wish::default()).agents.remove(0);
        // It is found again under its name, with a description.
        assert!(rendered.refused.is_none(), "{description}: {}", report_of(&rendered));
    }
}

#[test]
fn t55_names_outside_the_standard_are_refused() {
    let mut files = agent("helper", "");
    let long = "a".repeat(65);
    for (_, text) in &mut files {
        *text = text.replace("helper", &long);
    }
    for (path, _) in &mut files {
        *path = path.replace("helper", &long);
    }
    let rendered = rendering("agent-skills", &files, Wish::default()).agents.remove(0);
    assert!(
        report_of(&rendered).contains("has not 1 to 64 characters"),
        "{}",
        report_of(&rendered)
    );
}

#[test]
fn a_long_description_is_refused() {
    let mut files = agent("helper", "");
    files[0].1 = files[0].1.replace("Answers questions", &"long ".repeat(206));
    let rendered = rendering("agent-skills", &files, Wish::default()).agents.remove(0);
    assert!(
        report_of(&rendered).contains("refused description: the description has 1029 characters")
    );
    assert!(rendered.files.is_empty());
}

#[test]
fn t47_skills_are_rendered_beside_the_agent() {
    let skill = |dir: &str, name: &str| {
        let text = format!("---\nname: {name}\ndescription: x\n---\nDo.\n");
        (format!("{dir}/{name}/SKILL.md"), text)
    };
    let mut files = agent("helper", "skills = [\"one\", \"two\", \"none\"]\n");
    files.extend([skill("skills", "one"), skill(".agents/skills", "two")]);
    let rendered = rendering("agent-skills", &files, Wish::default()).agents.remove(0);
    let paths: Vec<_> = rendered.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, [".agents/skills/helper/SKILL.md", ".agents/skills/one/SKILL.md"]);
    assert!(report_of(&rendered).contains("dropped skills: the skill `none` was not found"));

    let mut files = agent("helper", "skills = [\"helper\"]\n");
    files.push(skill("skills", "helper"));
    let rendered = rendering("agent-skills", &files, Wish::default()).agents.remove(0);
    assert!(report_of(&rendered).contains("refused skills: the agent and its skill `helper`"));
}

#[test]
fn t50_an_unenforced_policy_is_a_gap() {
    let report =
        report_of(&one("agent-skills", "[permissions.bash]\nintent = \"ask\"\n", Wish::default()));
    assert!(report.contains("gap permissions.bash: written in words only"), "{report}");
}

#[test]
fn renders_the_chiron_sample() {
    let rendering = rendering("agent-skills", &crate::chiron::files(), Wish::default());
    insta::assert_snapshot!(crate::chiron::shown(&rendering));
}
