//! Tags: those for plain data are applied. Every other tag is reported, and its value is not used.

use std::ops::Range;

use saphyr_parser::Tag;

use super::YamlVersion;
use super::build::YamlBuilder;
use super::rules::{YAML_RARE_TAG, YAML_SYNTAX, YAML_TAG};
use super::{binary, scalar, tagged_scalar};
use crate::source::Span;
use crate::tree::{TreeKey, TreeNode, TreeValue};

const PREFIX: &str = "tag:yaml.org,2002:";

/// The kind of a tag.
enum TagMeaning {
    /// A tag of YAML itself: `!!str`.
    Core(String),
    /// `!`: the type does not depend on the text.
    Unspecific,
    /// An application's tag.
    Other,
}

impl TagMeaning {
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

/// The effect of a tag on a list or map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagShape {
    /// None.
    Natural,
    /// The value is dropped, because the tag is refused.
    Dropped,
    /// `!!set`: the keys of a map become a list.
    Set,
    /// `!!omap` and `!!pairs`: each map of the list has one entry, which becomes a list of key and value.
    Pairs,
}

impl YamlBuilder<'_> {
    /// Returns the value of a scalar with a tag, which is between `before` and the scalar.
    pub(super) fn tagged(
        &mut self,
        tag: &Tag,
        text: &str,
        before: usize,
        range: &Range<usize>,
    ) -> TreeValue {
        self.check_tag_end(before);
        let value = match (TagMeaning::of(tag), self.version) {
            (TagMeaning::Core(name), YamlVersion::V1_1) if name == "binary" => {
                return self.binary(text, before, range);
            }
            // `PyYAML` resolves the text all the same, even in quotes.
            (TagMeaning::Unspecific, YamlVersion::V1_1) => scalar::plain(text, self.version).ok(),
            (TagMeaning::Unspecific, YamlVersion::V1_2) => Some(TreeValue::Str(text.to_owned())),
            (TagMeaning::Core(name), version) => tagged_scalar::tagged(&name, text, version),
            (TagMeaning::Other, _) => None,
        };
        value.unwrap_or_else(|| {
            self.refuse(tag, before, range.start, "this value");
            TreeValue::Null
        })
    }

    /// Returns the effect of the tag of a list or map. The tag is between the cursor and `start`.
    pub(super) fn shape(&mut self, tag: &Tag, is_list: bool, start: usize) -> TagShape {
        self.check_tag_end(self.cursor);
        let shape = match (TagMeaning::of(tag), is_list, self.version) {
            (TagMeaning::Unspecific, ..) => TagShape::Natural,
            (TagMeaning::Core(name), true, _) if name == "seq" => TagShape::Natural,
            (TagMeaning::Core(name), false, _) if name == "map" => TagShape::Natural,
            (TagMeaning::Core(name), false, YamlVersion::V1_1) if name == "set" => TagShape::Set,
            (TagMeaning::Core(name), true, YamlVersion::V1_1)
                if name == "omap" || name == "pairs" =>
            {
                TagShape::Pairs
            }
            _ => TagShape::Dropped,
        };
        match shape {
            TagShape::Natural => {}
            TagShape::Set | TagShape::Pairs => self.warn_rare(self.cursor, start),
            TagShape::Dropped => {
                let what = if is_list { "a list" } else { "a map" };
                self.refuse(tag, self.cursor, start, what);
            }
        }
        shape
    }

    /// Applies the effect of a tag to the list or map `value`.
    pub(super) fn shaped(&mut self, value: TreeValue, shape: TagShape, span: Span) -> TreeValue {
        match (shape, value) {
            (TagShape::Set, TreeValue::Map(map)) => {
                // Python's sets have no fixed order, so the digest of a manifest would change from
                // run to run.
                if map.entries.len() > 1 {
                    let message = "the values of a set have no order, so no hash can be made";
                    self.findings.add(&YAML_SYNTAX, span, message).hint("write a list");
                }
                TreeValue::List(map.entries.into_iter().map(|entry| key_node(entry.key)).collect())
            }
            (TagShape::Pairs, TreeValue::List(items)) => {
                TreeValue::List(items.into_iter().map(|item| self.pair(item)).collect())
            }
            (_, value) => value,
        }
    }

    /// Returns the key and the value of a map with one entry, as a list.
    fn pair(&mut self, item: TreeNode) -> TreeNode {
        let span = item.span;
        let entries = if let TreeValue::Map(map) = item.value { map.entries } else { Vec::new() };
        if entries.len() != 1 {
            let message = "each value of this list must be a map of one key";
            self.findings.add(&YAML_SYNTAX, span, message);
        }
        let parts = entries.into_iter().flat_map(|entry| [key_node(entry.key), entry.value]);
        TreeNode::new(TreeValue::List(parts.collect()), span)
    }

    /// Reports a tag without a space after it: YAML 1.1 reads the next characters as part of the tag.
    fn check_tag_end(&mut self, before: usize) {
        let watched = self.version == YamlVersion::V1_1 && !self.exact;
        let tag = self.places.seek(before, b"!", b":-?,").filter(|_| watched);
        let Some(at) = tag else { return };
        let end = self.places.word_end(at);
        let follows = self.places.at(end).is_some_and(|byte| !byte.is_ascii_whitespace());
        // `!!str"x"` is one word for `word_end`, which does not end at quotes.
        let quoted = self.places.slice(at..end).contains(['"', '\'']);
        if (follows || quoted) && !self.places.slice(at..end).starts_with("!<") {
            let span = self.places.span(at..end);
            self.findings.add(&YAML_SYNTAX, span, "no space follows the tag").hint("add a space");
        }
    }

    /// Decodes `!!binary`. The text is not readable in the source, but digests depend on it.
    fn binary(&mut self, text: &str, before: usize, range: &Range<usize>) -> TreeValue {
        let decoded = binary::decode(text).and_then(|bytes| String::from_utf8(bytes).ok());
        match decoded {
            Some(text) => {
                self.warn_rare(before, range.start);
                TreeValue::Str(text)
            }
            None => {
                let span = self.places.span(range.clone());
                self.findings.add(&YAML_SYNTAX, span, "this is not text in base64");
                TreeValue::Null
            }
        }
    }

    /// Reports a tag of YAML 1.1 that few readers know. Its value is used anyway.
    fn warn_rare(&mut self, before: usize, start: usize) {
        let (range, written) = self.written_tag(before, start);
        let message = format!("the tag `{written}` means nothing to most readers");
        let span = self.places.span(range);
        self.findings.add(&YAML_RARE_TAG, span, message).hint("write the value without it");
    }

    /// Returns the tag between `before` and `start`.
    fn written_tag(&self, before: usize, start: usize) -> (Range<usize>, String) {
        let at = self.places.seek(before, b"!", b":-?,").unwrap_or(start);
        let range = at..self.places.word_end(at);
        (range.clone(), self.places.slice(range).to_owned())
    }

    fn refuse(&mut self, tag: &Tag, before: usize, start: usize, what: &str) {
        let (range, written) = self.written_tag(before, start);
        let known = ["str", "int", "float", "bool", "null", "timestamp", "seq", "map"];
        let message = match TagMeaning::of(tag) {
            TagMeaning::Core(name) if known.contains(&name.as_str()) => {
                format!("the tag `{written}` does not fit {what}")
            }
            _ => format!("the tag `{written}` is not known here"),
        };
        let span = self.places.span(range);
        self.findings.add(&YAML_TAG, span, message).hint("leave the tag out");
    }
}

/// Returns a key as a value.
fn key_node(key: TreeKey) -> TreeNode {
    let TreeKey { text, span, other } = key;
    TreeNode::new(other.map_or(TreeValue::Str(text), |other| *other), span)
}
