//! Agent files as Claude Code parses them: the metadata ends at the first `---` after the opening one, even
//! inside a value. Text after that is not metadata, so a list of tools there would be lost.

use agentry_text::{Data, FileId, SourceFile, TextPosition, yaml};

use crate::front_matter::MARK;
use crate::rivals::{self, AgentLanguage, FilesByName};
use crate::{HarnessFiles, front_matter};

/// The directory of agents.
pub(super) const AGENTS: &str = ".claude/agents/";

/// The path that an agent is written to.
pub(super) fn path(name: &str) -> String {
    format!("{AGENTS}{name}.md")
}

/// Returns the agent files of a directory by the names of their agents.
pub(super) fn by_name(files: &dyn HarnessFiles, directory: &str) -> FilesByName {
    rivals::by_name(files, AgentLanguage::Markdown, &[directory], |text| {
        read(text)?.metadata.get("name").and_then(Data::as_str).map(str::to_owned)
    })
}

/// Writes an agent file; `None` if its metadata cannot be written without `---`.
pub(super) fn write(origin: &str, metadata: &Data, body: &str) -> Option<String> {
    let Data::Map(fields) = metadata else { return None };
    let mut head = format!("{MARK}{}\n", origin.replace("---", "-…-"));
    for (key, value) in fields {
        let field = Data::Map(vec![(key.clone(), value.clone())]);
        match value {
            Data::Str(text) if text.contains("---") => {
                // A JSON string is valid YAML, and lets `-` be escaped.
                let text = serde_json::Value::from(text.as_str()).to_string();
                let text = text.replace("--", r"-\x2d");
                head.extend([key.as_str(), ": ", text.as_str(), "\n"]);
            }
            _ => head.push_str(&yaml::emit(&field)),
        }
    }
    let body = body.trim();
    let space = if body.is_empty() { "" } else { "\n" };
    (!head.contains("---")).then(|| format!("---\n{head}---\n{space}{body}{space}"))
}

/// The metadata and the body of an agent file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClaudeFrontMatter {
    pub(super) metadata: Data,
    pub(super) body: String,
    /// Set if the metadata is not valid YAML.
    pub(super) lenient: Option<LineReading>,
}

/// Metadata that is not valid YAML, and was read line by line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LineReading {
    /// Where it is not valid.
    pub(super) at: TextPosition,
    /// Whether Claude Code loads the file: quotes around values are enough.
    pub(super) is_loaded: bool,
    /// Lines that could not be read.
    pub(super) unread: Vec<(TextPosition, String)>,
}

/// Parses an agent file; `None` if there is no metadata.
pub(super) fn read(text: &str) -> Option<ClaudeFrontMatter> {
    let text = front_matter::with_lf(text.trim_start_matches('\u{feff}'));
    let rest = text.strip_prefix("---")?;
    let (blank, rest) = rest.split_once('\n')?;
    let (metadata, body) = rest.split_once("---")?;
    if !blank.trim().is_empty() {
        return None;
    }
    let body = body.trim_start_matches('-').trim().to_owned();
    let strict = front_matter::parse(metadata).filter(|data| matches!(data, Data::Map(_)));
    if let Some(metadata) = strict {
        return Some(ClaudeFrontMatter { metadata, body, lenient: None });
    }
    // The metadata starts in the second line.
    let below = |at: TextPosition| TextPosition { line: at.line + 1, ..at };
    let source = SourceFile::new(FileId::BUILT_IN, "", metadata);
    let wrong = front_matter::checked(&source, 0..metadata.len()).err();
    let at = below(wrong.map_or(TextPosition { line: 1, column: 1 }, |wrong| wrong.at));
    let mut unread = Vec::new();
    let repaired = front_matter::parse(&quoted(metadata)).filter(|it| matches!(it, Data::Map(_)));
    let is_loaded = repaired.is_some();
    let metadata = repaired.unwrap_or_else(|| of_lines(metadata, &mut unread));
    let unread = unread.into_iter().map(|(at, line)| (below(at), line)).collect();
    Some(ClaudeFrontMatter { metadata, body, lenient: Some(LineReading { at, is_loaded, unread }) })
}

/// Puts quotes around the values that need them, as Claude Code does with metadata that it cannot parse
/// (2.1.325, November 2026). A list in brackets stays a list, so its denials hold.
fn quoted(metadata: &str) -> String {
    let mut out = String::new();
    for line in metadata.lines() {
        match field(line).filter(|(_, value)| needs_quotes(value)) {
            Some((key, value)) => {
                out.extend([key, ": '", value.replace('\'', "''").as_str(), "'\n"]);
            }
            None => out.extend([line, "\n"]),
        }
    }
    out
}

/// The key and the value of a line at the top level.
fn field(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!key.is_empty() && key.chars().all(fits)).then_some((key, value.trim()))
}

fn needs_quotes(value: &str) -> bool {
    let has_sign = value.contains(": ") || value.contains(|c: char| "{}[]*&#!|>%@`".contains(c));
    let is_quoted = value.len() > 1
        && (value.starts_with('"') && value.ends_with('"')
            || value.starts_with('\'') && value.ends_with('\''));
    has_sign && !is_quoted && flow_list(value).is_none()
}

/// The list that a value in brackets is.
fn flow_list(value: &str) -> Option<Data> {
    let list = value.starts_with('[').then(|| front_matter::parse(value)).flatten();
    list.filter(|data| matches!(data, Data::List(_)))
}

/// Reads lines of `key: value`, with each value as plain text; other lines are `unread`.
fn of_lines(metadata: &str, unread: &mut Vec<(TextPosition, String)>) -> Data {
    let mut fields: Vec<(String, Data)> = Vec::new();
    for (number, line) in (1..).zip(metadata.lines()) {
        let mut skip = || {
            let column = line.chars().take_while(|c| c.is_whitespace()).count() + 1;
            unread.push((TextPosition { line: number, column }, line.trim().to_owned()));
        };
        if let Some((key, value)) = field(line) {
            let value = flow_list(value).unwrap_or_else(|| Data::str(without_quotes(value)));
            // The last of two equal keys counts.
            fields.retain(|(known, _)| known != key);
            fields.push((key.to_owned(), value));
        } else if let Some(item) = line.trim_start().strip_prefix("- ") {
            let item = Data::str(without_quotes(item));
            match fields.last_mut().map(|(_, value)| value) {
                Some(Data::List(items)) => items.push(item),
                Some(value) if value == &Data::str("") => *value = Data::List(vec![item]),
                _ => skip(),
            }
        } else if !matches!(line.trim_start().chars().next(), None | Some('#')) {
            skip();
        }
    }
    Data::Map(fields)
}

/// The value without the pair of quotes around it. A quote at one end only is a part of the text.
fn without_quotes(value: &str) -> &str {
    let value = value.trim();
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_front_matter_contains_no_dashes() {
        let metadata = Data::Map(vec![
            ("name".to_owned(), Data::str("x")),
            ("description".to_owned(), Data::str("a ---- b: \"c\"\n--- d")),
            ("tools".to_owned(), Data::str("Read")),
        ]);
        let text = write("a---b/agent.toml", &metadata, "Body\n---\nmore\n").expect("a file");
        let front = read(&text).expect("metadata");
        assert_eq!(front.metadata, metadata, "{text}");
        assert_eq!(front.body, "Body\n---\nmore");
        assert_eq!(front.lenient, None);
    }

    #[test]
    fn common_front_matter_is_read_leniently() {
        let cases: &[(&str, &str, &str)] = &[
            (
                "---\nname: x\ndescription: Use this: it: helps\ntools: Read\n---\nhi",
                "description",
                "Use this: it: helps",
            ),
            ("---\nname: x\ndescription: So: say \"y\"\n---\n", "description", "So: say \"y\""),
            ("---\nname: 'x'\ndescription: So: y\n---\n", "name", "x"),
            ("\u{feff}---\r\nname: x\r\ndescription: y\r\n---\r\nhi\r\n", "name", "x"),
            ("---\nname: x\ndescription: a --- b\ntools: Read\n---\n", "description", "a"),
        ];
        for (text, key, expected) in cases {
            let front = read(text).expect(text);
            assert_eq!(front.metadata.get(key).and_then(Data::as_str), Some(*expected), "{text}");
        }
        assert_eq!(read("no metadata"), None);
        assert_eq!(read("---\nname: x\n"), None);
    }

    /// Each file with what Claude Code 2.1.325 made of `tools` when it was started with it.
    #[test]
    fn broken_front_matter_is_read_as_claude_code_reads_it() {
        let both = Data::strings(["Read", "Grep"]);
        let text = |text: &str| Data::str(text);
        let cases = [
            ("description: a: b\ntools: [\"Read\", \"Grep\"]", both.clone(), true),
            ("description: a: b\ntools: [Read, Grep]", both.clone(), true),
            ("description: a: b\ntools:\n  - Read\n  - Grep", both.clone(), true),
            ("description: a: b\ntools: Read,\n  Grep", text("Read, Grep"), true),
            ("description: a: b\ntools: \"Read, Grep\"", text("Read, Grep"), true),
            ("description: a: b\ntools: Read # only", text("Read # only"), true),
            ("description: a: b\ntools: [Read", text("[Read"), true),
            ("description: [BETA] a\ntools: Read", text("Read"), true),
            ("description: {x} a\ntools: Read", text("Read"), true),
            ("description: !a b\ntools: Read", text("Read"), true),
            ("description: \"a: \\\"b\\\"\" c\ntools: Read", text("Read"), true),
            ("tools: *", text("*"), true),
            ("description: a: b\nhooks:\n  pre:\n    - x: y\ntools: Read", text("Read"), true),
            ("description: \"a\" b\ntools: [Read, Grep]", both.clone(), false),
            ("description: |\n  a\nhint: [a] [b]\ntools: [Read, Grep]", both.clone(), false),
            ("description: a\nb\ntools: [Read, Grep]", both, false),
        ];
        for (fields, tools, is_loaded) in cases {
            let front = read(&format!("---\nname: x\n{fields}\n---\nhi")).expect(fields);
            assert_eq!(front.metadata.get("tools"), Some(&tools), "{fields}");
            assert_eq!(front.lenient.map(|it| it.is_loaded), Some(is_loaded), "{fields}");
        }
    }
}
