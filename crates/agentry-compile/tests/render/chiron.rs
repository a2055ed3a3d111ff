//! The sample agent of the document, with all its files.

use agentry_compile::targets::ProjectRendering;

use crate::report_of;

/// The files that the real clients are tested with too: see `conformance/`.
const FILES: &[(&str, &str)] = &[
    (
        "agents/chiron/agent.toml",
        include_str!("../../../../conformance/workspace/agents/chiron/agent.toml"),
    ),
    (
        "agents/chiron/system-prompt.md",
        include_str!("../../../../conformance/workspace/agents/chiron/system-prompt.md"),
    ),
    ("context/profile.md", include_str!("../../../../conformance/workspace/context/profile.md")),
    (
        "rules/languages/nix.md",
        include_str!("../../../../conformance/workspace/rules/languages/nix.md"),
    ),
    (
        "rules/languages/python.md",
        include_str!("../../../../conformance/workspace/rules/languages/python.md"),
    ),
    (
        "rules/concerns/testing.md",
        include_str!("../../../../conformance/workspace/rules/concerns/testing.md"),
    ),
    (
        "skills/systematic-debugging/SKILL.md",
        include_str!("../../../../conformance/workspace/skills/systematic-debugging/SKILL.md"),
    ),
    (
        ".agents/skills/git-master/SKILL.md",
        include_str!("../../../../conformance/workspace/.agents/skills/git-master/SKILL.md"),
    ),
    (
        ".claude/skills/brainstorming/SKILL.md",
        include_str!("../../../../conformance/workspace/.claude/skills/brainstorming/SKILL.md"),
    ),
];

/// The sample of the document: the same fields and rules with different texts.
const SAMPLE: &str = include_str!("../../../agentry-formats/src/agent_toml/fixtures/sample.txt");

/// Its files.
pub(crate) fn files() -> Vec<(String, String)> {
    FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// The rendered agent, the one tested with clients, and the one in the document are the same.
#[test]
fn sample_copies_are_identical() {
    for part in SAMPLE.split("=== ").skip(1) {
        let (path, text) = part.split_once('\n').expect("a path and a text");
        // Clients skip skills without metadata.
        if !path.contains("skills/") {
            let known = FILES.iter().find(|(known, _)| *known == path);
            assert_eq!(known.map(|(_, text)| *text), Some(text), "{path}");
        }
    }
}

/// The whole result, with programs by name only.
pub(crate) fn shown(rendering: &ProjectRendering) -> String {
    let own = rendering.agents.iter().flat_map(|agent| &agent.files);
    let files = own.chain(&rendering.shared);
    let is_program = |path: &str| path.rsplit_once('.').is_some_and(|(_, end)| end != "md");
    let files = files.map(|file| {
        let text = if is_program(&file.path) { "…\n" } else { file.text() };
        format!("=== {}\n{text}", file.path)
    });
    let report = rendering.agents.iter().map(|agent| format!("=== told\n{}\n", report_of(agent)));
    files.chain(report).collect()
}
