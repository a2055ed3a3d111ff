//! The sample of the document, with all that is around it.

use agentry_compile::targets::Rendering;

use crate::told;

const SAMPLE: &str = include_str!("../../../agentry-formats/src/agent_toml/fixtures/sample.txt");

/// Its files: `=== PATH` begins one.
pub(crate) fn files() -> Vec<(String, String)> {
    let parts = SAMPLE.split("=== ").skip(1);
    let file = |part: &str| {
        let (path, text) = part.split_once('\n').expect("a path and a text");
        (path.to_owned(), text.to_owned())
    };
    parts.map(file).collect()
}

/// All that came of it, programs by their names only.
pub(crate) fn shown(rendering: &Rendering) -> String {
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
