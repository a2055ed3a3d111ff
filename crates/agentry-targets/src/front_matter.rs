//! Markdown files with YAML front matter, which most harnesses use for agents. Files are written strictly.
//! They are read leniently: colons without quotes, lists with commas, CRLF.

use std::borrow::Cow;

use agentry_text::markdown;
use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Data, FileId, Findings, Severity, SourceFile, TextPosition};

use crate::import::ImportError;

/// The start of the line that marks a file as rendered.
pub const MARK: &str = "# rendered by agentry from ";

/// Writes a file: mark, metadata and body. The mark has its own line, because some parsers read a comment
/// after a value as part of that value.
pub fn write(origin: &str, metadata: &Data, body: &str) -> String {
    let fields = if metadata.is_empty() { String::new() } else { yaml::emit(metadata) };
    let body = body.trim();
    let space = if body.is_empty() { "" } else { "\n" };
    let end = if body.is_empty() { "" } else { "\n" };
    format!("---\n{MARK}{origin}\n{fields}---\n{space}{body}{end}")
}

/// Returns the metadata and the body of a file; `None` if there is no valid metadata.
pub fn read(text: &str) -> Option<(Data, String)> {
    let source = SourceFile::new(FileId::BUILT_IN, "", text.trim_start_matches('\u{feff}'));
    let parts = markdown::parts(&source);
    let metadata = parse(source.text.get(parts.metadata?)?)?;
    let body = source.text.get(parts.body).unwrap_or_default().trim().to_owned();
    Some((metadata, body))
}

/// A Markdown file with metadata, read leniently.
#[derive(Debug, PartialEq)]
pub(crate) struct FrontMatter {
    /// The metadata.
    pub(crate) metadata: Data,
    /// The text below it.
    pub(crate) body: String,
    /// Where the reader was lenient.
    pub(crate) notes: Vec<(TextPosition, String)>,
}

/// The text with LF line ends. Most texts have no other, and are not copied.
pub(crate) fn with_lf(text: &str) -> Cow<'_, str> {
    // Looking for one byte is many times faster than for two.
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Whether a file starts with front matter, so that it is meant to be an agent.
pub(crate) fn has_metadata(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with("---")
}

/// Reads a file leniently, or returns the first error.
pub(crate) fn read_leniently(text: &str) -> Result<FrontMatter, ImportError> {
    let text = with_lf(text.trim_start_matches('\u{feff}'));
    let source = SourceFile::new(FileId::BUILT_IN, "", &text);
    let parts = markdown::parts(&source);
    let range = parts.metadata.ok_or("it has no metadata between two lines of `---`")?;
    let body = source.text.get(parts.body).unwrap_or_default().trim().to_owned();
    let written = source.text.get(range.clone()).unwrap_or_default();
    let mut notes = Vec::new();
    let metadata = match checked(&source, range.clone()) {
        Ok(metadata) => metadata,
        Err(wrong) => {
            // Harnesses without a YAML parser accept unquoted values: quote them and parse again.
            let first = source.position(range.start).line;
            let (quoted, found) = quoted(written, first);
            notes = found;
            parse(&quoted).ok_or(wrong)?
        }
    };
    let metadata = match metadata {
        Data::Null => Data::Map(Vec::new()),
        Data::Map(fields) => Data::Map(fields),
        _ => {
            let message = "its metadata is not a list of `key: value`".to_owned();
            return Err(ImportError::at(message, source.position(range.start)));
        }
    };
    Ok(FrontMatter { metadata, body, notes })
}

/// Parses YAML, or returns its first error.
pub(crate) fn checked(
    source: &SourceFile,
    range: std::ops::Range<usize>,
) -> Result<Data, ImportError> {
    let mut findings = Findings::default();
    let node = yaml::parse(source, range, YamlVersion::V1_2, &mut findings);
    match findings.iter().find(|found| found.severity == Severity::Error) {
        None => Ok(node.to_data()),
        Some(found) => Err(ImportError::at(
            format!("its metadata is not YAML: {}", found.message),
            source.position(found.span.start as usize),
        )),
    }
}

/// Parses YAML; `None` if it has errors.
pub(crate) fn parse(text: &str) -> Option<Data> {
    let source = SourceFile::new(FileId::BUILT_IN, "", text);
    let mut findings = Findings::default();
    let node = yaml::parse(&source, 0..text.len(), YamlVersion::V1_2, &mut findings);
    let broken = findings.iter().any(|found| found.severity == Severity::Error);
    (!broken).then(|| node.to_data())
}

/// Quotes each plain value, which is how harnesses without a YAML parser read a line. `first` is the number of
/// the first line.
fn quoted(text: &str, first: usize) -> (String, Vec<(TextPosition, String)>) {
    let mut notes = Vec::new();
    let mut line = |(number, line): (usize, &str)| {
        let Some((key, value)) = line.split_once(": ") else { return line.to_owned() };
        let value = value.trim();
        // Only top-level keys: nested lines and comments keep their meaning.
        let top = !key.starts_with([' ', '\t', '-', '#', '"', '\'']);
        let is_plain = !value.is_empty() && !value.starts_with(['"', '\'', '[', '{', '|', '>']);
        let asks_for_it = value.contains(": ") || value.contains(" #") || value.ends_with(':');
        // These characters start an alias, a tag or another construct of YAML.
        let is_odd = value.starts_with(['*', '&', '!', '%', '@', '`', '-', '?']);
        if !(top && is_plain && (asks_for_it || is_odd)) {
            return line.to_owned();
        }
        let at = TextPosition { line: number, column: key.chars().count() + 3 };
        notes
            .push((at, format!("`{key}` should be in quotes: it was read to the end of its line")));
        format!("{key}: '{}'", value.replace('\'', "''"))
    };
    let lines: Vec<String> = (first..).zip(text.lines()).map(&mut line).collect();
    (lines.join("\n") + "\n", notes)
}

/// Returns the items of a list, or of a text with commas; `None` for other values.
pub(crate) fn list_items(data: &Data) -> Option<Vec<String>> {
    let texts: Vec<&str> = match data {
        Data::Str(text) => text.split(',').collect(),
        Data::List(items) => items.iter().filter_map(Data::as_str).collect(),
        _ => return None,
    };
    let trimmed = texts.into_iter().map(str::trim).filter(|word| !word.is_empty());
    Some(trimmed.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_errors_have_a_line() {
        let cases = [
            ("---\na: 1\nb: [x\n---\n", 3),
            ("---\r\na: 1\r\nb:\r\n\t- x\r\n---\r\n", 4),
            ("---\n- a: 1\n---\n", 2),
            ("no metadata", 1),
        ];
        for (text, line) in cases {
            let wrong = read_leniently(text).expect_err(text);
            assert_eq!(wrong.at.line, line, "{text}: {wrong:?}");
        }
        assert_eq!(read_leniently("---\n---\nx").map(|front| front.body), Ok("x".to_owned()));
    }

    #[test]
    fn common_front_matter_is_read_leniently() {
        let cases = [
            ("---\ndescription: a\n---\nx", Some("a"), 0),
            ("---\r\ndescription: Use this: always\r\n---\r\nx", Some("Use this: always"), 1),
            ("\u{feff}---\ndescription: it's: so\n---\n", Some("it's: so"), 1),
            ("---\ndescription: @x\n---\n", Some("@x"), 1),
            ("---\ndescription: [x\n---\n", None, 0),
            ("description: a\n", None, 0),
        ];
        for (text, expected, notes) in cases {
            let front = read_leniently(text).ok();
            let found = front.as_ref().and_then(|front| front.metadata.get("description"));
            assert_eq!(found.and_then(Data::as_str), expected, "{text}");
            assert_eq!(front.map_or(0, |front| front.notes.len()), notes, "{text}");
        }
    }

    #[test]
    fn lists_are_read_with_commas_or_as_yaml() {
        let both = ["a", "b c"].map(str::to_owned).to_vec();
        assert_eq!(list_items(&Data::str("a, b c,")), Some(both.clone()));
        assert_eq!(list_items(&Data::strings(["a", "b c"])), Some(both));
        assert_eq!(list_items(&Data::Int(1)), None);
    }
}
