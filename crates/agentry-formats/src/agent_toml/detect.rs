//! Distinguishes an agent from other files called `agent.toml`.

use agentry_text::{Findings, SourceFile, toml};

use crate::detect::{DetectedFile, has_any_key};

pub(super) fn is_agent(file: &DetectedFile<'_>) -> bool {
    file.has_sign || file.fits(is_agent_toml)
}

fn is_agent_toml(source: &SourceFile) -> bool {
    let node = toml::parse(source, &mut Findings::default());
    // A broken or empty file counts as an agent, so that the reader reports what is wrong.
    let Some(map) = node.as_map() else { return true };
    map.is_empty()
        || has_any_key(map, &["permissions"])
        || (has_any_key(map, &["name"]) && has_any_key(map, &["description"]))
}
