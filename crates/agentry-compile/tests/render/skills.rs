//! Skills are copied byte for byte for every harness.

use agentry_compile::targets::TARGETS;

use crate::{Wish, agent, rendering, report_of};

const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\x00\xff\xfe";

#[test]
fn binary_skill_files_are_copied_unchanged() {
    let lines = "skills = [\"pdf\"]\n[permissions.read]\nintent = \"allow\"\n\
                 [permissions.external_directory]\nintent = \"allow\"\n\
                 [permissions.skill]\nintent = \"allow\"\n";
    let files = agent("helper", lines).into_iter().map(|(path, text)| (path, text.into_bytes()));
    let mut files: Vec<(String, Vec<u8>)> = files.collect();
    let skill = b"---\nname: pdf\ndescription: Reads files\n---\nRead.\n".to_vec();
    files.push(("skills/pdf/SKILL.md".to_owned(), skill));
    files.push(("skills/pdf/logo.png".to_owned(), PICTURE.to_vec()));
    for target in TARGETS.iter().filter(|target| target.name != "agents-md") {
        let rendered = rendering(target.name, &files, Wish::default()).agents.remove(0);
        let copy = rendered.files.iter().find(|file| file.path.ends_with("skills/pdf/logo.png"));
        let bytes = copy.map(|file| file.bytes.as_slice());
        assert_eq!(bytes, Some(PICTURE), "{}: {}", target.name, report_of(&rendered));
    }
}

#[test]
fn t47_skills_without_model_invocation_are_dropped() {
    let rendered_with = |line: &str| {
        let mut files = agent("helper", "skills = [\"deploy\"]\n");
        let skill = format!("---\nname: deploy\ndescription: Deploys\n{line}---\nDeploy.\n");
        files.push(("skills/deploy/SKILL.md".to_owned(), skill));
        rendering("claude-code", &files, Wish::default()).agents.remove(0)
    };
    let part = "dropped skills: the skill `deploy` says `disable-model-invocation`";
    for (line, is_reported) in [
        ("disable-model-invocation: true\n", true),
        ("disable-model-invocation: false\n", false),
        ("", false),
    ] {
        let report = report_of(&rendered_with(line));
        assert_eq!(report.contains(part), is_reported, "{line}: {report}");
    }
}
