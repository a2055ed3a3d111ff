//! One memory: what its file says, and how a new one is written.

use std::path::PathBuf;

use agentry_compile::formats::agentfs::MEMORY;
use agentry_compile::formats::front_matter::{self, FrontMatterFile};
use agentry_compile::model::{MemoryImportance, MemorySource, MemoryType};
use agentry_compile::text::data::MapBuilder;
use agentry_compile::text::{Data, Findings, Severity, SourceFiles};
use chrono::{DateTime, SecondsFormat};

use super::{MOST_BYTES, MemoryError};

/// A memory, as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryEntry {
    /// The path of its file in its folder, without `.md`.
    pub id: String,
    /// Its type as written; `fact` if none is.
    pub kind: String,
    /// How important it is; medium if nothing is written.
    pub importance: MemoryImportance,
    /// When it was created, as RFC 3339 writes times.
    pub created: String,
    /// The same in seconds since 1970.
    pub created_at: i64,
    /// How it was learnt.
    pub source: Option<String>,
    /// Whether every prompt has it.
    pub is_pinned: bool,
    /// The text.
    pub text: String,
    /// Its file.
    pub path: PathBuf,
    /// The user who taught it in private.
    pub user: Option<String>,
    /// The problem of the file. Its text is used anyway.
    pub problems: Vec<String>,
    /// Whether the metadata cannot be read.
    pub is_broken: bool,
}

/// A memory that is about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDraft {
    /// The text.
    pub text: String,
    /// Its type.
    pub kind: MemoryType,
    /// How important it is.
    pub importance: MemoryImportance,
    /// How it was learnt.
    pub source: MemorySource,
    /// Whether every prompt has it.
    pub is_pinned: bool,
}

/// The content of a file, without its path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParsedMemory {
    pub(super) kind: Option<String>,
    pub(super) importance: MemoryImportance,
    /// As written, and in seconds since 1970.
    pub(super) created: Option<(String, i64)>,
    pub(super) source: Option<String>,
    pub(super) is_pinned: bool,
    pub(super) text: String,
    pub(super) problems: Vec<String>,
    pub(super) is_broken: bool,
}

impl MemoryDraft {
    /// The content of its file.
    pub(super) fn to_file(&self, now: i64) -> Result<String, MemoryError> {
        let text = checked(&self.text)?;
        let mut fields = MapBuilder::new();
        fields.str_opt("type", Some(self.kind.as_str()));
        fields.str_opt("importance", Some(self.importance.as_str()));
        fields.str_opt("created", Some(&written(now)));
        fields.str_opt("source", Some(self.source.as_str()));
        if self.is_pinned {
            fields.set("pinned", Data::Bool(true));
        }
        Ok(front_matter::write(&fields.build(), text))
    }
}

/// A text that can be remembered, without surrounding white space.
pub(super) fn checked(text: &str) -> Result<&str, MemoryError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(MemoryError::Empty);
    }
    if text.len() > MOST_BYTES {
        return Err(MemoryError::TooLong(text.len()));
    }
    Ok(text)
}

/// A time of RFC 3339.
pub(super) fn written(seconds: i64) -> String {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Reads the content of a memory file. Never fails: what is broken is reported, and the text stays.
pub(super) fn parse(content: &str) -> ParsedMemory {
    let mut sources = SourceFiles::default();
    let content = content.trim_start_matches('\u{feff}');
    let source = sources.add("memory", content);
    let mut findings = Findings::default();
    let document = FrontMatterFile::read(source, &mut findings);
    let record = document.record(&MEMORY, &mut findings);
    let mut problems: Vec<String> = Vec::new();
    let is_broken = findings.iter().any(|found| found.severity == Severity::Error);
    for found in findings.iter() {
        problems.push(format!("line {}: {}", sources.start(found.span).line, found.message));
    }
    let created = record.str("created").and_then(|created| {
        let time = DateTime::parse_from_rfc3339(&created.value).ok();
        if time.is_none() {
            let line = sources.start(created.span).line;
            let message = format!("`created: {}` is not a time of RFC 3339", created.value);
            problems.push(format!("line {line}: {message}"));
        }
        time.map(|time| (created.value, time.timestamp()))
    });
    let text = document.text().map(|text| text.value).unwrap_or_default();
    if text.is_empty() {
        problems.push("the memory has no text".to_owned());
    }
    ParsedMemory {
        kind: record.str("type").map(|kind| kind.value),
        importance: record.word("importance").map_or(MemoryImportance::Medium, |it| it.value),
        created,
        source: record.str("source").map(|source| source.value),
        is_pinned: record.bool("pinned").is_some_and(|pinned| pinned.value),
        text,
        problems,
        is_broken,
    }
}

/// The content of a file with another text; its metadata stays byte for byte.
pub(super) fn with_text(content: &str, text: &str) -> Result<String, MemoryError> {
    let text = checked(text)?;
    let mark = if content.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let rest = content.strip_prefix('\u{feff}').unwrap_or(content);
    let source = SourceFiles::default().add("memory", rest);
    let document = FrontMatterFile::read(source, &mut Findings::default());
    let head = rest.get(..document.body.range().start).unwrap_or_default();
    // A text that starts with `---` needs a block before it, or it would be read as metadata.
    let head = if head.is_empty() && text.starts_with("---") { "---\n---\n" } else { head };
    let gap = if head.is_empty() { "" } else { "\n" };
    Ok(format!("{mark}{head}{gap}{text}\n"))
}
