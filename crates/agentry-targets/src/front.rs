//! Markdown files with YAML metadata, as most harnesses want their agents.

use agentry_text::{Data, FileId, Source, markdown, yaml};

use crate::lenient;

/// The first words of the line that marks a file as rendered.
pub const MARK: &str = "# rendered by agentry from ";

/// A file: a mark, metadata, and a body. The mark stands on a line of its own, since some readers
/// take a comment after a value for a part of it.
pub fn write(origin: &str, metadata: &Data, body: &str) -> String {
    let fields = if metadata.is_empty() { String::new() } else { yaml::emit(metadata) };
    let body = body.trim();
    let space = if body.is_empty() { "" } else { "\n" };
    let end = if body.is_empty() { "" } else { "\n" };
    format!("---\n{MARK}{origin}\n{fields}---\n{space}{body}{end}")
}

/// The metadata and the body of a file; nothing if there is no metadata that can be read.
pub fn read(text: &str) -> Option<(Data, String)> {
    let source = Source::new(FileId::BUILT_IN, "", text.trim_start_matches('\u{feff}'));
    let parts = markdown::parts(&source);
    let metadata = lenient::parsed(source.text.get(parts.metadata?)?)?;
    let body = source.text.get(parts.body).unwrap_or_default().trim().to_owned();
    Some((metadata, body))
}
