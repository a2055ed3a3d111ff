//! `[bases]` in `agentry.toml`: bases of agents whose formats have no field for one.

use agentry_formats::agentry_block;
use agentry_model::MergeModes;
use agentry_text::table::{Coercion, UnknownKeys};
use agentry_text::{
    Field, FieldKind, FieldTable, Findings, Spanned, TableRecord, TreeEntry, TreeMap, TreeNode,
    limits, toml,
};

use crate::config::FILE;
use crate::detect::is_single_file;
use crate::pipeline::CompiledAgent;
use crate::world::World;
use agentry_text::path::join;
use agentry_text::path::normal;

/// An entry of `[bases]` with merge modes.
pub(crate) static ENTRY: FieldTable = FieldTable::new(
    "an entry of `[bases]`",
    &[
        Field::required("base", FieldKind::Line, "What the agent is built on."),
        Field::optional(
            "merge",
            FieldKind::Block(&agentry_block::MERGE),
            "How it is combined with its base.",
        ),
    ],
)
.unknown(UnknownKeys::Error);

/// The base of an agent according to `agentry.toml`.
pub(super) fn base(
    world: &dyn World,
    compiled: &mut CompiledAgent,
) -> Option<(Spanned<String>, MergeModes)> {
    let file = join(&compiled.workspace, FILE);
    let bytes = world.read(&compiled.workspace, &file, limits::FILE_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // Most workspaces have no bases: skip parsing the file a second time.
    if !text.contains("bases") {
        return None;
    }
    let mut sources = compiled.sources.clone();
    let source = sources.add(&file, text.trim_start_matches('\u{feff}'));
    let node = toml::parse(&source, &mut Findings::default());
    let entry = entries(&node)?.entries.iter().find(|entry| names(&entry.key.text, compiled))?;
    let found = read_entry(&entry.value)?;
    compiled.sources = sources;
    Some(found)
}

/// Reads an entry: only a base, or a base with merge modes.
fn read_entry(value: &TreeNode) -> Option<(Spanned<String>, MergeModes)> {
    if value.as_map().is_none() {
        return Some((value.to_spanned()?, MergeModes::default()));
    }
    let record = TableRecord::new(&ENTRY, value, Coercion::Strict);
    let merge = record.record("merge", &agentry_block::MERGE).map(agentry_block::read_merge);
    Some((record.str("base")?, merge.unwrap_or_default()))
}

/// The entries of `[bases]`.
pub(crate) fn entries(root: &TreeNode) -> Option<&TreeMap> {
    let named = |entry: &&TreeEntry| entry.key.text == "bases";
    root.as_map()?.entries.iter().find(named)?.value.as_map()
}

/// Whether a key of `[bases]` is the path of this agent: its main file, or its directory.
fn names(key: &str, compiled: &CompiledAgent) -> bool {
    let Some(key) = normal(key) else { return false };
    let main = join(&compiled.dir, &compiled.found.main);
    let is_file = is_single_file(compiled.found.format, &main);
    key == main || (!is_file && key == compiled.dir)
}
