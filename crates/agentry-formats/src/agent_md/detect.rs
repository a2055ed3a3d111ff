//! Distinguishes an agent file from an agent of GitHub Copilot, which has the same ending.

use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Findings, SourceFile, markdown};

use crate::detect::{DetectedFile, has_any_key};

/// Keys of a GitHub Copilot agent.
const COPILOT_KEYS: &[&str] = &[
    "name",
    "tools",
    "model",
    "target",
    "handoffs",
    "mcp-servers",
    "argument-hint",
    "user-invocable",
    "disable-model-invocation",
    "agents",
    "infer",
];

/// Keys that only this format defines.
const OWN_KEYS: &[&str] = &["title", "icon", "status", "required", "recommended", "abilities"];

pub(super) fn is_agent(file: &DetectedFile<'_>) -> bool {
    let is_in_github = file.path.contains(".github/agents/");
    file.fits(|source| !is_in_github && !is_copilot(source))
}

fn is_copilot(source: &SourceFile) -> bool {
    let Some(range) = markdown::parts(source).metadata else { return false };
    if !may_have_key(source.text.get(range.clone()).unwrap_or(""), COPILOT_KEYS) {
        return false;
    }
    let node = yaml::parse(source, range, YamlVersion::V1_2, &mut Findings::default());
    let Some(map) = node.as_map() else { return false };
    has_any_key(map, COPILOT_KEYS) && !has_any_key(map, OWN_KEYS)
}

/// Whether the metadata may have one of `keys`, judged by the starts of its lines. For most files this
/// saves parsing the YAML a second time.
fn may_have_key(metadata: &str, keys: &[&str]) -> bool {
    let starts = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '-', '"', '\'']);
        let begins =
            |key: &&str| line.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key));
        // These signs start YAML in which a key need not be first on its line.
        line.starts_with(['{', '?', '&', '!', '<', '*', '[']) || keys.iter().any(begins)
    };
    // An escape could spell a key differently.
    metadata.contains('\\') || metadata.split(['\n', '\r']).any(starts)
}
