//! `[bases]` in `agentry.toml`: bases of agents whose formats have no word for one.

use agentry_model::{Field, Format};
use agentry_text::{Entry, Findings, Map, Node, Spanned, limits, toml};

use crate::config::FILE;
use crate::detect::is_manifest_file;
use crate::pipeline::Compiled;
use crate::world::World;
use agentry_text::path::join;
use agentry_text::path::normal;

/// The base that `agentry.toml` names for an agent.
pub(super) fn base(world: &dyn World, compiled: &mut Compiled) -> Field<String> {
    let file = join(&compiled.workspace, FILE);
    let bytes = world.read(&compiled.workspace, &file, limits::FILE_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // Nearly every workspace is spared a second reading.
    if !text.contains("bases") {
        return None;
    }
    let mut sources = compiled.sources.clone();
    let source = sources.add(&file, text.trim_start_matches('\u{feff}'));
    let node = toml::parse(&source, &mut Findings::default());
    let entry = entries(&node)?.entries.iter().find(|entry| names(&entry.key.text, compiled))?;
    let base: Spanned<String> = entry.value.to_spanned()?;
    compiled.sources = sources;
    Some(base)
}

/// The entries of `[bases]`.
pub(crate) fn entries(root: &Node) -> Option<&Map> {
    let named = |entry: &&Entry| entry.key.text == "bases";
    root.as_map()?.entries.iter().find(named)?.value.as_map()
}

/// Whether a key of `[bases]` is the path of this agent: its main file, or its directory.
fn names(key: &str, compiled: &Compiled) -> bool {
    let Some(key) = normal(key) else { return false };
    let main = join(&compiled.dir, &compiled.found.main);
    let is_file = compiled.found.format == Format::AgentMd || is_manifest_file(&main);
    key == main || (!is_file && key == compiled.dir)
}
