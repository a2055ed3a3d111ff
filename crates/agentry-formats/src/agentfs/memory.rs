//! Memory files: Markdown with optional front matter, anywhere below `memory/`.
//!
//! | field of the file | field of [`MemoryFile`] |
//! | --- | --- |
//! | `type` | `kind` |
//! | `importance`, `created`, `source`, `pinned` | the same |
//! | the text | `text` |

use agentry_model::{Agent, MemoryFile};
use agentry_text::data::MapBuilder;
use agentry_text::{
    Data, Field, FieldKind, FieldTable, Findings, SourceFile, Span, Spanned, limits, path,
};

use super::rules::{EMPTY_MEMORY, NOT_A_TIME};
use super::time::is_rfc3339;
use crate::AgentPackage;
use crate::front_matter::{self, FrontMatterFile};
use crate::skill::is_readme;
use crate::walk::DirectoryWalk;

/// The metadata of a memory file.
pub static MEMORY: FieldTable = FieldTable::new(
    "the memory",
    &[
        Field::optional(
            "type",
            FieldKind::Known(&["fact", "preference", "experience", "rule"]),
            "What kind of thing is remembered.",
        ),
        Field::optional(
            "importance",
            FieldKind::Choice(&["high", "medium", "low"]),
            "How much it matters.",
        ),
        Field::optional("created", FieldKind::Str, "When it was learnt, as RFC 3339 writes times."),
        Field::optional(
            "source",
            FieldKind::Known(&["user_teaching", "interaction", "reflection"]),
            "How it was learnt.",
        ),
        Field::optional("pinned", FieldKind::Bool, "Whether every prompt has it."),
    ],
);

/// Reads every memory of the agent.
pub(super) fn read(package: &mut AgentPackage<'_>, agent: &mut Agent, findings: &mut Findings) {
    for path in list(package, findings) {
        if let Some(source) = package.read(&format!("memory/{path}"), findings) {
            let file = read_file(source, &path, agent, findings);
            agent.memories.push(file);
        }
    }
}

/// Returns the memory files, as sorted paths relative to `memory/`.
fn list(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Vec<String> {
    let mut found = Vec::new();
    let mut walk = DirectoryWalk::new("memory");
    while let Some(folder) = walk.next(package.files, findings) {
        walk.enter(&folder);
        let memories = folder.files().filter(|name| is_memory(name));
        found.extend(memories.map(|name| folder.path_of(name)));
        // The rest of a huge directory is ignored.
        if found.len() >= limits::FILES {
            break;
        }
    }
    found.sort();
    found
}

/// Whether a file is a memory, not an index or a README.
pub fn is_memory(name: &str) -> bool {
    let is_text = name.strip_suffix(".md").is_some_and(|stem| !stem.is_empty());
    is_text && name != "_index.md" && !is_readme(name)
}

fn read_file(
    source: SourceFile,
    path: &str,
    agent: &mut Agent,
    findings: &mut Findings,
) -> MemoryFile {
    let document = FrontMatterFile::read(source, findings);
    let record = document.record(&MEMORY, findings);
    let file = MemoryFile {
        path: path.to_owned(),
        kind: record.str("type"),
        importance: record.word("importance"),
        created: record.str("created"),
        source: record.str("source"),
        pinned: record.bool("pinned"),
        text: document.text(),
    };
    if let Some(created) = file.created.as_ref().filter(|created| !is_rfc3339(created)) {
        let message = format!("`created: {}` is not a time of RFC 3339", created.value);
        findings
            .add(&NOT_A_TIME, created.span, message)
            .hint("write date, time and zone: `2026-01-15T10:30:00Z`");
    }
    if file.text.is_none() {
        let place = Span::start_of(document.source.id);
        findings
            .add(&EMPTY_MEMORY, place, "the memory has no text")
            .hint("write below the metadata what is to be remembered");
    }
    for entry in record.unknown() {
        let data = Spanned::new(entry.value.to_data(), entry.value.span);
        agent.unknown.push((unknown_name(path, &entry.key.text), data));
    }
    file
}

/// Returns the name of an unknown field of a memory file among the agent's unknown fields.
fn unknown_name(path: &str, key: &str) -> String {
    format!("memory/{path}.{key}")
}

/// Writes a memory file, with its original unknown fields.
pub(super) fn write(file: &MemoryFile, unknown: &[(String, Spanned<Data>)]) -> String {
    let MemoryFile { path, kind, importance, created, source, pinned, text } = file;
    let mut fields = MapBuilder::new();
    fields.str_opt("type", kind.as_ref().map(|kind| &kind.value));
    fields.str_opt("importance", importance.as_ref().map(|importance| importance.as_str()));
    fields.str_opt("created", created.as_ref().map(|created| &created.value));
    fields.str_opt("source", source.as_ref().map(|source| &source.value));
    if let Some(pinned) = pinned {
        fields.set("pinned", Data::Bool(pinned.value));
    }
    for (name, data) in unknown {
        if let Some(key) = name.strip_prefix(&unknown_name(path, "")) {
            // The names of unknown fields start with the path of their file.
            fields.set(key, data.value.clone());
        }
    }
    let text = text.as_ref().map_or("", |text| text.value.trim());
    // A text that starts with `---` needs an empty block, or it would be read as front matter.
    if fields.is_empty() && !text.starts_with("---") {
        return format!("{text}\n");
    }
    front_matter::write(&fields.build(), text)
}

/// Returns the path of a written memory: the original one, or another if that could not be read again.
pub(super) fn safe_path(path: &str, at: usize) -> String {
    if path::is_portable(path) && is_memory(path::name(path)) {
        path.to_owned()
    } else {
        format!("memory-{}.md", at + 1)
    }
}
