//! Distinguishes a manifest from other files called `agent.yaml`.

use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Findings, SourceFile};

use super::ENDING;
use crate::detect::{DetectedFile, has_any_key};

/// Keys of other files called `agent.yaml`: Kubernetes objects, agents of other frameworks.
const OTHER_KEYS: &[&str] = &[
    "kind",
    "metadata",
    "spec",
    "spec_version",
    "agent_class",
    "instruction",
    "instructions",
    "prompt",
    "system_prompt",
    "goal",
    "backstory",
    "root_agent",
    "sub_agents",
    "image",
];

pub(super) fn is_agent(file: &DetectedFile<'_>) -> bool {
    file.path.ends_with(ENDING) || file.fits(is_manifest)
}

/// Whether a file has a key of a manifest, and no key of another format.
fn is_manifest(source: &SourceFile) -> bool {
    let node =
        yaml::parse(source, 0..source.text.len(), YamlVersion::V1_1, &mut Findings::default());
    // A broken manifest counts, so that its reader reports it; a template with `{{` does not parse by design.
    let Some(map) = node.as_map() else { return !source.text.contains("{{") };
    let is_template = source.text.trim_start().starts_with("{{");
    !is_template
        && !has_any_key(map, OTHER_KEYS)
        && (map.is_empty()
            || has_any_key(map, &["name", "apiVersion", "trust", "behavior", "base"]))
}
