//! The sample of the agent-toml document, with all files around it.

use agentry_compile::targets::ProjectRendering;

use crate::told;

/// The files that the real clients are asked about, too: see `conformance/`.
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

/// The sample of the document: the same fields and rules, its sentences in other words.
const SAMPLE: &str = include_str!("../../../agentry-formats/src/agent_toml/fixtures/sample.txt");

/// Its files.
pub(crate) fn files() -> Vec<(String, String)> {
    FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// What is rendered, compared with the clients and written in the document is one agent.
#[test]
fn there_is_one_sample() {
    for part in SAMPLE.split("=== ").skip(1) {
        let (path, text) = part.split_once('\n').expect("a path and a text");
        // Skills need metadata, or clients pass over them.
        if !path.contains("skills/") {
            let known = FILES.iter().find(|(known, _)| *known == path);
            assert_eq!(known.map(|(_, text)| *text), Some(text), "{path}");
        }
    }
}

/// All that came of it, programs by their names only.
pub(crate) fn shown(rendering: &ProjectRendering) -> String {
    let own = rendering.agents.iter().flat_map(|agent| &agent.files);
    let files = own.chain(&rendering.shared);
    let is_program = |path: &str| path.rsplit_once('.').is_some_and(|(_, end)| end != "md");
    let files = files.map(|file| {
        let text = if is_program(&file.path) { "…\n" } else { file.text() };
        format!("=== {}\n{text}", file.path)
    });
    let told = rendering.agents.iter().map(|agent| format!("=== told\n{}\n", told(agent)));
    files.chain(told).collect()
}
