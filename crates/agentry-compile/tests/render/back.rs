//! Import from a harness to a definition, and rendering for the same harness.

use agentry_compile::formats::{WriteTarget, convert};
use agentry_compile::model::Format;
use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::import::import;
use agentry_compile::targets::{ImportedAgent, RenderedAgent, target};

use crate::{Wish, rendering};

/// The agent at `path` among these files.
pub(crate) fn imported(
    harness: &str,
    files: &[(&str, &str)],
    path: &str,
) -> Result<ImportedAgent, String> {
    import(target(harness).expect("a target"), &ListedFiles(files), path)
        .map_err(|wrong| format!("{}:{}: {}", wrong.at.line, wrong.at.column, wrong.message))
}

/// The files of an agent in agent-toml, as it was imported.
pub(crate) fn definition(imported: &ImportedAgent) -> Vec<(String, String)> {
    let name = imported.agent.name().to_owned();
    let written = convert(&imported.agent, Format::AgentToml, &WriteTarget::default());
    assert_eq!(written.widened, None);
    let place = |(path, text)| (format!("agents/{name}/{path}"), text);
    written.files.into_iter().map(place).collect()
}

/// What comes of a rendered agent when it is imported and rendered again.
pub(crate) fn again(harness: &str, rendered: &RenderedAgent, wish: Wish<'_>) -> RenderedAgent {
    let files: Vec<_> =
        rendered.files.iter().map(|file| (file.path.as_str(), file.text())).collect();
    let path = files.first().expect("a file").0;
    let imported = imported(harness, &files, path).expect("an agent");
    rendering(harness, &definition(&imported), wish).agents.remove(0)
}

/// Checks that a rendered agent stays the same when it is imported and rendered again.
pub(crate) fn assert_stable(harness: &str, rendered: &RenderedAgent, wish: Wish<'_>) {
    let again = again(harness, rendered, wish);
    assert_eq!(again.refused, None);
    assert_eq!(again.files, rendered.files);
}
