//! The embedded data files and an index of their blocks by program name.
//!
//! One run of Agentry meets few programs, so blocks are parsed only when their program is looked up.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use foldhash::fast::FixedState;

use crate::program::ProgramFacts;
use crate::row;

/// The data files that describe programs.
const FILES: &[&str] = &[
    include_str!("../data/build.txt"),
    include_str!("../data/containers.txt"),
    include_str!("../data/files.txt"),
    include_str!("../data/network.txt"),
    include_str!("../data/shells.txt"),
    include_str!("../data/system.txt"),
    include_str!("../data/text.txt"),
    include_str!("../data/versions.txt"),
    include_str!("../data/wrappers.txt"),
];

static INDEX: LazyLock<HashMap<&str, IndexEntry, FixedState>> = LazyLock::new(|| {
    let mut index = HashMap::with_capacity_and_hasher(1024, FixedState::default());
    for block in blocks_of_programs() {
        for name in heads(block) {
            let entry: &mut IndexEntry = index.entry(name).or_default();
            entry.blocks.push(block);
        }
    }
    index
});

/// The blocks of one program, parsed at the first lookup.
#[derive(Debug, Default)]
struct IndexEntry {
    blocks: Vec<&'static str>,
    facts: OnceLock<ProgramFacts>,
}

/// Returns the facts of a program, by its base name.
pub fn program(name: &str) -> Option<&'static ProgramFacts> {
    let (name, entry) = INDEX.get_key_value(name)?;
    Some(entry.facts.get_or_init(|| row::read(name, &entry.blocks)))
}

/// Lists the names of all programs, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    sorted(|_| true)
}

/// Lists the programs that have a row whose key starts with `key`, sorted.
pub(crate) fn names_with(key: &str) -> impl Iterator<Item = &'static str> {
    // A text search is enough: rows are indented by exactly two spaces.
    let start = format!("\n  {key}");
    sorted(move |entry| entry.blocks.iter().any(|block| block.contains(&start)))
}

fn sorted(is_wanted: impl Fn(&IndexEntry) -> bool) -> impl Iterator<Item = &'static str> {
    let wanted = INDEX.iter().filter(|(_, entry)| is_wanted(entry));
    let mut names: Vec<&str> = wanted.map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.into_iter()
}

/// Lists every block that describes programs; a block of comments alone does not.
pub(crate) fn blocks_of_programs() -> impl Iterator<Item = &'static str> {
    let blocks = FILES.iter().flat_map(|text| blocks(text));
    blocks.filter(|block| heads(block).next().is_some())
}

/// Splits a file into blocks, which are separated by empty lines.
pub(crate) fn blocks(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty())
}

/// Lists the program names at the head of a block.
fn heads(block: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = block.lines().filter(|line| !line.starts_with('#'));
    lines.take_while(|line| !line.starts_with(' ')).flat_map(str::split_ascii_whitespace)
}
