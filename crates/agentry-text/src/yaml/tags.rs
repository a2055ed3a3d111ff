//! Tags: those of plain data are obeyed, every other one is refused and its value never used.

use std::ops::Range;

use saphyr_parser::Tag;

use super::YamlVersion;
use super::build::YamlBuilder;
use super::rules::{YAML_RARE_TAG, YAML_SYNTAX, YAML_TAG};
use super::{binary, scalar, tagged_scalar};
use crate::source::Span;
use crate::tree::{TreeKey, TreeNode, TreeValue};

const PREFIX: &str = "tag:yaml.org,2002:";

/// What a tag says of its value.
enum TagMeaning {
    /// One of the tags that YAML itself has: `!!str`.
    Core(String),
    /// `!`: do not look at the text to find the type.
    Unspecific,
    /// A tag of somebody else.
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

/// What a tag makes of a list or a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagShape {
    /// What it is anyway.
    Natural,
    /// Nothing: the tag is refused.
    Dropped,
    /// `!!set`: the keys of a map.
    Set,
    /// `!!omap` and `!!pairs`: the one key and the one value of each map of a list.
    Pairs,
}

impl YamlBuilder<'_> {
    /// The value of a scalar with a tag, which stands between `before` and the scalar.
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
            // The reference looks at the text all the same, even between quotes.
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

    /// What the tag of a list or map makes of it; it stands between the cursor and `start`.
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

    /// The list or map `value` as its tag has it.
    pub(super) fn shaped(&mut self, value: TreeValue, shape: TagShape, span: Span) -> TreeValue {
        match (shape, value) {
            (TagShape::Set, TreeValue::Map(map)) => {
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

    /// The key and the value of a map that has one of each.
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

    /// Reports a tag that no blank divides from what follows: to readers of YAML 1.1 that belongs to it.
    fn check_tag_end(&mut self, before: usize) {
        let watched = self.version == YamlVersion::V1_1 && !self.exact;
        let tag = self.places.seek(before, b"!", b":-?,").filter(|_| watched);
        let Some(at) = tag else { return };
        let end = self.places.word_end(at);
        let follows = self.places.at(end).is_some_and(|byte| !byte.is_ascii_whitespace());
        let quoted = self.places.slice(at..end).contains(['"', '\'']);
        if (follows || quoted) && !self.places.slice(at..end).starts_with("!<") {
            let span = self.places.span(at..end);
            self.findings.add(&YAML_SYNTAX, span, "no space follows the tag").hint("add a space");
        }
    }

    /// The text that `!!binary` stands for: nobody can see what it says, but hashes depend on it.
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

    /// Refuses a tag whose value is read all the same.
    fn warn_rare(&mut self, before: usize, start: usize) {
        let (range, written) = self.written_tag(before, start);
        let message = format!("the tag `{written}` means nothing to most readers");
        let span = self.places.span(range);
        self.findings.add(&YAML_RARE_TAG, span, message).hint("write the value without it");
    }

    /// The tag between `before` and `start`.
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

/// A key as a value of its own.
fn key_node(key: TreeKey) -> TreeNode {
    let TreeKey { text, span, other } = key;
    TreeNode::new(other.map_or(TreeValue::Str(text), |other| *other), span)
}
