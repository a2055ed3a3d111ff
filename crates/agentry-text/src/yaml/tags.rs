//! Tags: those of plain data are obeyed, every other one is refused and its value never used.

use std::ops::Range;

use saphyr_parser::Tag;

use super::Version;
use super::build::Builder;
use super::rules::{YAML_SYNTAX, YAML_TAG};
use super::{binary, scalar};
use crate::tree::Value;

const PREFIX: &str = "tag:yaml.org,2002:";

/// What a tag says of its value.
enum Meaning {
    /// One of the tags that YAML itself has: `!!str`.
    Core(String),
    /// `!`: do not look at the text to find the type.
    Unspecific,
    /// A tag of somebody else.
    Other,
}

impl Meaning {
    fn of(tag: &Tag) -> Self {
        let Tag { handle, suffix } = tag;
        match (handle.as_str(), suffix.as_str()) {
            ("", "!") => Self::Unspecific,
            (PREFIX, name) => Self::Core(name.to_owned()),
            _ => {
                let whole = format!("{handle}{suffix}");
                whole.strip_prefix(PREFIX).map_or(Self::Other, |name| Self::Core(name.to_owned()))
            }
        }
    }
}

impl Builder<'_> {
    /// The value of a scalar with a tag, which stands between `before` and the scalar.
    pub(super) fn tagged(
        &mut self,
        tag: &Tag,
        text: &str,
        before: usize,
        range: &Range<usize>,
    ) -> Value {
        self.check_tag_end(before);
        let value = match (Meaning::of(tag), self.version) {
            (Meaning::Core(name), Version::V1_1) if name == "binary" => {
                return self.binary(tag, text, before, range);
            }
            // The reference looks at the text all the same, even between quotes.
            (Meaning::Unspecific, Version::V1_1) => scalar::plain(text, self.version).ok(),
            (Meaning::Unspecific, Version::V1_2) => Some(Value::Str(text.to_owned())),
            (Meaning::Core(name), version) => scalar::tagged(&name, text, version),
            (Meaning::Other, _) => None,
        };
        value.unwrap_or_else(|| {
            self.refuse(tag, before, range.start, "this value");
            Value::Null
        })
    }

    /// Whether the tag of a list or map is refused; it stands between the cursor and `start`.
    pub(super) fn refuses(&mut self, tag: &Tag, is_list: bool, start: usize) -> bool {
        self.check_tag_end(self.cursor);
        let wanted = if is_list { "seq" } else { "map" };
        let fits = match Meaning::of(tag) {
            Meaning::Unspecific => true,
            Meaning::Core(name) => name == wanted,
            Meaning::Other => false,
        };
        if !fits {
            self.refuse(tag, self.cursor, start, if is_list { "a list" } else { "a map" });
        }
        !fits
    }

    /// Reports a tag that no blank divides from what follows: to readers of YAML 1.1 that belongs to it.
    fn check_tag_end(&mut self, before: usize) {
        let tag = self.places.seek(before, b"!", b":-?,").filter(|_| self.version == Version::V1_1);
        let Some(at) = tag else { return };
        let end = self.places.word_end(at);
        let follows = self.places.at(end).is_some_and(|byte| !byte.is_ascii_whitespace());
        let quoted = self.places.slice(at..end).contains(['"', '\'']);
        if (follows || quoted) && !self.places.slice(at..end).starts_with("!<") {
            let span = self.places.span(at..end);
            self.findings.add(&YAML_SYNTAX, span, "no space follows the tag").hint("add a space");
        }
    }

    /// The text that `!!binary` stands for. It is refused, because nobody can see what it says, and
    /// still read, because hashes depend on it.
    fn binary(&mut self, tag: &Tag, text: &str, before: usize, range: &Range<usize>) -> Value {
        let decoded = binary::decode(text).and_then(|bytes| String::from_utf8(bytes).ok());
        match decoded {
            Some(text) => {
                self.refuse(tag, before, range.start, "this value");
                Value::Str(text)
            }
            None => {
                let span = self.places.span(range.clone());
                self.findings.add(&YAML_SYNTAX, span, "this is no text in base64");
                Value::Null
            }
        }
    }

    fn refuse(&mut self, tag: &Tag, before: usize, start: usize, what: &str) {
        let at = self.places.seek(before, b"!", b":-?,").unwrap_or(start);
        let end = self.places.word_end(at);
        let written = self.places.slice(at..end);
        let known = ["str", "int", "float", "bool", "null", "timestamp", "seq", "map"];
        let message = match Meaning::of(tag) {
            Meaning::Core(name) if known.contains(&name.as_str()) => {
                format!("the tag `{written}` does not fit {what}")
            }
            _ => format!("the tag `{written}` is not known here"),
        };
        let span = self.places.span(at..end);
        self.findings.add(&YAML_TAG, span, message).hint("leave the tag out");
    }
}
