//! `[bases]` in `agentry.toml`: bases of agents whose formats have no word for one.

use agentry_formats::own;
use agentry_model::Merge;
use agentry_text::table::{Coerce, Unknown};
use agentry_text::{Entry, Field, Findings, Kind, Map, Node, Record, Spanned, Table, limits, toml};

use crate::config::FILE;
use crate::detect::is_single_file;
use crate::pipeline::Compiled;
use crate::world::World;
use agentry_text::path::join;
use agentry_text::path::normal;

/// An entry of `[bases]` that says more than where the base is.
pub(crate) static ENTRY: Table = Table::new(
    "an entry of `[bases]`",
    &[
        Field::required("base", Kind::Line, "What the agent is built on."),
        Field::optional("merge", Kind::Block(&own::MERGE), "How it is combined with its base."),
    ],
)
.unknown(Unknown::Error);

/// What `agentry.toml` says of an agent's base.
pub(super) fn base(world: &dyn World, compiled: &mut Compiled) -> Option<(Spanned<String>, Merge)> {
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
    let found = said(&entry.value)?;
    compiled.sources = sources;
    Some(found)
}

/// The base alone, or with how it is combined.
fn said(value: &Node) -> Option<(Spanned<String>, Merge)> {
    if value.as_map().is_none() {
        return Some((value.to_spanned()?, Merge::default()));
    }
    let record = Record::new(&ENTRY, value, Coerce::Strict);
    let merge = record.record("merge", &own::MERGE).map(own::read_merge);
    Some((record.str("base")?, merge.unwrap_or_default()))
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
    let is_file = is_single_file(compiled.found.format, &main);
    key == main || (!is_file && key == compiled.dir)
}
