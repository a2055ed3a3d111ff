//! The metadata of pi-subagents, which is not YAML but a line-based dialect.
//!
//! Quotes around a whole value are removed, and nothing inside is unescaped. A comment after a value belongs
//! to the value. Lists use commas or `- ` lines. A file that starts with a byte order mark has no metadata.
//! Rendered metadata means the same to a YAML parser.

use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Data, FileId, Findings, SourceFile};

use crate::front_matter::{MARK, with_lf};

/// The fields of a file in order; of two with the same name, the later one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PiFields(pub(super) Vec<(String, String)>);

impl PiFields {
    /// Returns the value of a field.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().rfind(|(other, _)| other == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the entries of a list; `None` if the field is missing.
    pub(super) fn list(&self, key: &str) -> Option<Vec<String>> {
        self.get(key).map(list)
    }

    fn set(&mut self, key: &str, value: String) {
        self.0.retain(|(other, _)| other != key);
        self.0.push((key.to_owned(), value));
    }
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PiValue {
    /// A text, which may need quotes.
    Text(String),
    /// A value that is written unchanged: JSON, a number, or nothing.
    Raw(String),
}

/// Writes a file: mark, fields and body. Fails with the key of a value that the dialect cannot express.
pub(super) fn write(
    origin: &str,
    fields: &[(&str, PiValue)],
    body: &str,
) -> Result<String, String> {
    let mut out = format!("---\n{MARK}{origin}\n");
    for (key, value) in fields {
        let spelled = match value {
            PiValue::Raw(text) => Some(text.clone()),
            PiValue::Text(text) => spelled(text),
        };
        let spelled = spelled.ok_or_else(|| (*key).to_owned())?;
        let space = if spelled.is_empty() { "" } else { " " };
        out.extend([key, ":", space, spelled.as_str(), "\n"]);
    }
    let body = with_lf(body);
    let body = trim(&body);
    let (space, end) = if body.is_empty() { ("", "") } else { ("\n", "\n") };
    Ok(format!("{out}---\n{space}{body}{end}"))
}

/// Writes a text so that both Pi and a YAML parser read it back; `None` if that is impossible.
fn spelled(text: &str) -> Option<String> {
    if text.is_empty() || text.contains(is_break) {
        return None;
    }
    let quoted = [text.to_owned(), format!("\"{text}\""), format!("'{text}'")];
    // A block has no quotes, and so takes any of them.
    let mut ways = quoted.into_iter().chain([format!(">-\n  {text}")]);
    ways.find(|way| pi_reads(way).as_deref() == Some(text) && yaml_reads(way, text))
}

fn pi_reads(way: &str) -> Option<String> {
    let (fields, _) = read(&format!("---\nkey: {way}\n---\n"))?;
    fields.get("key").map(str::to_owned)
}

fn yaml_reads(way: &str, text: &str) -> bool {
    let source = SourceFile::new(FileId::BUILT_IN, "", &format!("key: {way}\n"));
    // The text must mean the same in both versions of YAML.
    [YamlVersion::V1_1, YamlVersion::V1_2].into_iter().all(|version| {
        let mut findings = Findings::default();
        let node = yaml::parse(&source, 0..source.text.len(), version, &mut findings);
        findings.iter().next().is_none()
            && node.to_data().get("key").and_then(Data::as_str) == Some(text)
    })
}

/// Returns the fields and the body of a file; `None` if Pi sees no metadata in it.
pub(super) fn read(text: &str) -> Option<(PiFields, String)> {
    let text = with_lf(text);
    let rest = text.strip_prefix("---")?;
    let end = rest.find("\n---")?;
    let lines = rest.get(..end)?.split_once('\n').map_or("", |(_, lines)| lines);
    let body = trim(rest.get(end + "\n---".len()..)?).to_owned();
    let mut reader = PiReader::default();
    for line in lines.split('\n') {
        reader.line(line);
    }
    reader.flush();
    Some((reader.fields, body))
}

/// Returns the entries of a list, separated by commas or one per line.
pub(super) fn list(value: &str) -> Vec<String> {
    let entries = value.split('\n').flat_map(|line| {
        let line = trim(line);
        let item = line.strip_prefix('-').filter(|rest| rest.starts_with([' ', '\t']));
        item.map_or(line, trim).split(',')
    });
    entries.map(trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

#[derive(Debug, Default)]
struct PiReader {
    fields: PiFields,
    /// A key whose value may follow on the next lines.
    open: Option<OpenField>,
}

#[derive(Debug)]
struct OpenField {
    key: String,
    style: BlockStyle,
    lines: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockStyle {
    Plain,
    Literal,
    Folded,
}

impl PiReader {
    fn line(&mut self, line: &str) {
        if let Some(open) = &mut self.open {
            let blank = trim(line).is_empty();
            let is_inside = line.starts_with(char::is_whitespace);
            if is_inside || (blank && open.style != BlockStyle::Plain) {
                open.lines.push(line.to_owned());
                return;
            }
        }
        self.flush();
        let Some((key, value)) = key_and_value(line) else { return };
        let style = match value {
            "" => BlockStyle::Plain,
            "|" | "|-" => BlockStyle::Literal,
            ">" | ">-" => BlockStyle::Folded,
            value => {
                let value = unquoted(value);
                if !value.is_empty() {
                    self.fields.set(key, value.to_owned());
                    return;
                }
                BlockStyle::Plain
            }
        };
        self.open = Some(OpenField { key: key.to_owned(), style, lines: Vec::new() });
    }

    fn flush(&mut self) {
        let Some(OpenField { key, style, lines }) = self.open.take() else { return };
        let indented =
            lines.iter().find(|line| !trim(line).is_empty() && line.starts_with([' ', '\t']));
        let prefix: String = indented
            .into_iter()
            .flat_map(|line| line.chars())
            .take_while(|c| " \t".contains(*c))
            .collect();
        let plain = lines.iter().map(|line| line.strip_prefix(&prefix).unwrap_or(line));
        let block = plain.collect::<Vec<_>>().join("\n");
        let block = block.strip_prefix('\n').unwrap_or(&block);
        let value = if style == BlockStyle::Folded { folded(block) } else { block.to_owned() };
        self.fields.set(&key, value);
    }
}

/// Splits a line `key: value`; any other line is ignored.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_key = !key.is_empty() && key.chars().all(plain) && !value.contains(is_break);
    is_key.then_some((key, trim(value)))
}

/// Removes quotes around a whole value.
fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    // A lone quote is both the first and the last character, so nothing remains.
    if value.len() == 1 && value.starts_with(['"', '\'']) {
        return "";
    }
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// Joins lines by spaces; more indented lines and empty ones stay separate.
fn folded(block: &str) -> String {
    let mut out = String::new();
    let (mut before, mut blank) = (false, 0);
    for line in block.split('\n').map(str::trim_end) {
        if line.is_empty() {
            blank += usize::from(!out.is_empty());
            continue;
        }
        let further = line.starts_with(char::is_whitespace);
        if !out.is_empty() {
            match (blank, further || before) {
                (0, false) => out.push(' '),
                (0, true) => out.push('\n'),
                (blank, apart) => out.push_str(&"\n".repeat(blank + usize::from(apart))),
            }
        }
        out.push_str(line);
        (before, blank) = (further, 0);
    }
    trim(&out).to_owned()
}

/// Whether a character ends a line in JavaScript's regular expressions, which hides the key before it.
fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Removes white space at both ends as JavaScript defines it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read_as_pi_reads_it() {
        let cases = [
            ("tools: [read, grep]", "tools", Some("[read, grep]")),
            ("tools: read # all", "tools", Some("read # all")),
            ("tools:", "tools", Some("")),
            ("tools:\n  - read\n  - \"bash\"", "tools", Some("- read\n- \"bash\"")),
            ("a: \"x \\\" y\"", "a", Some("x \\\" y")),
            ("a: 'x'", "a", Some("x")),
            ("a: x: y", "a", Some("x: y")),
            ("a: >-\n  one\n  two\n\n  three", "a", Some("one two\nthree")),
            ("a: |\n  one\n    two", "a", Some("one\n  two")),
            ("a: 1\na: 2", "a", Some("2")),
            (" a: 1", "a", None),
            ("# a: 1", "a", None),
            ("a: x\u{2028}y", "a", None),
        ];
        for (lines, key, expected) in cases {
            let (fields, _) = read(&format!("---\n{lines}\n---\nBody\n")).expect("metadata");
            assert_eq!(fields.get(key), expected, "{lines}");
        }
        assert_eq!(read("\u{feff}---\nname: x\n---\n"), None);
        assert_eq!(read("---\nname: x\n"), None);
        let crlf = read("---\r\nname: x\r\n---\r\nBody\r\n").expect("metadata");
        assert_eq!((crlf.0.get("name"), crlf.1.as_str()), (Some("x"), "Body"));
    }

    #[test]
    fn lists_are_read_with_commas_or_lines() {
        let cases: &[(&str, &[&str])] = &[
            ("read, bash", &["read", "bash"]),
            ("- read\n- bash, edit", &["read", "bash", "edit"]),
            ("[read, grep]", &["[read", "grep]"]),
            ("", &[]),
            ("-x, y", &["-x", "y"]),
        ];
        for (value, expected) in cases {
            assert_eq!(list(value), *expected, "{value}");
        }
    }

    #[test]
    fn written_values_are_read_alike_by_pi_and_yaml() {
        let cases = [
            ("Answers questions", Some("Answers questions")),
            ("Use this: always", Some("\"Use this: always\"")),
            ("say \"x\": y", Some("'say \"x\": y'")),
            ("\"a\" and \"b\"", Some("'\"a\" and \"b\"'")),
            ("it's \"x\": y", Some(">-\n  it's \"x\": y")),
            ("'a' \"b\" # c", Some(">-\n  'a' \"b\" # c")),
            ("yes", Some("\"yes\"")),
            ("null", Some("\"null\"")),
            ("- x", Some("\"- x\"")),
            ("*x", Some("\"*x\"")),
            ("a #b", Some("\"a #b\"")),
            ("---", Some("---")),
            (">-", Some("\">-\"")),
            ("back\\slash: x", Some("'back\\slash: x'")),
            ("{{ x }}", Some("\"{{ x }}\"")),
            ("", None),
            ("a\nb", None),
        ];
        for (text, expected) in cases {
            assert_eq!(spelled(text).as_deref(), expected, "{text}");
        }
    }
}
