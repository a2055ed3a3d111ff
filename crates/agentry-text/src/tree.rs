//! The tree that YAML, TOML, JSON and ACL are all parsed into: scalars, lists and maps with spans.
//! [`crate::SourceFile::slice`] returns the raw text of a scalar for its span.

use std::collections::HashMap;

use num_bigint::BigInt;

use crate::data::Data;
use crate::source::{Span, Spanned};

/// A value with its span.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeNode {
    /// The bytes it was parsed from; for a scalar, its raw text with quotes.
    pub span: Span,
    /// The value.
    pub value: TreeValue,
    /// Whether it is a scalar without quotes, whose type its language derives from the text.
    pub plain: bool,
}

/// The value of a [`TreeNode`].
#[derive(Debug, Clone, PartialEq)]
pub enum TreeValue {
    /// `null`, `~` or an empty value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond 64 bits.
    Big(BigInt),
    /// Any other number.
    Float(f64),
    /// Text.
    Str(String),
    /// A date or time literal, in ISO form as its language prints it.
    Date(String),
    /// A function call of ACL: its name and its arguments.
    Call(String, Vec<TreeNode>),
    /// Values in order.
    List(Vec<TreeNode>),
    /// Values by key.
    Map(TreeMap),
}

impl TreeValue {
    /// Returns a name for messages: `a string`.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Big(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Str(_) => "a string",
            Self::Date(_) => "a date",
            Self::Call(..) => "a function call",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// Parses an integer with an optional sign; `None` for other text and for too many digits.
    pub(crate) fn whole(digits: &str, radix: u32) -> Option<Self> {
        if digits.len() > MOST_DIGITS {
            return None;
        }
        // Nearly all numbers fit 64 bits; the larger type is the fallback.
        let small = i64::from_str_radix(digits, radix).ok().map(Self::Int);
        small.or_else(|| BigInt::parse_bytes(digits.as_bytes(), radix).map(Self::Big))
    }

    /// Parses a number of digits, signs, a point and an exponent only.
    pub(crate) fn number(text: &str) -> Option<Self> {
        // Rust's parser would also accept `inf` and `nan`.
        let plain = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        if !text.chars().all(plain) {
            return None;
        }
        if text.contains(['.', 'e', 'E']) {
            // `1e999` would become infinite.
            text.parse().ok().filter(|value: &f64| value.is_finite()).map(Self::Float)
        } else {
            Self::whole(text, 10)
        }
    }
}

impl From<bool> for TreeValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for TreeValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for TreeValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<String> for TreeValue {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

/// The most digits of an integer; the time to parse one grows with their square.
const MOST_DIGITS: usize = 1000;

/// Keys and values in source order. A duplicate key is here twice; the last one counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeMap {
    /// The entries, in source order.
    pub entries: Vec<TreeEntry>,
    /// Whether the keys are labels of ACL blocks: `providers "openai" { … }`.
    pub labelled: bool,
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeEntry {
    /// The key.
    pub key: TreeKey,
    /// The value.
    pub value: TreeNode,
}

/// A key: its text, and its value if it is not a string.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeKey {
    /// The key as text: the string itself, or the raw text of another scalar.
    pub text: String,
    /// Where it is in the source.
    pub span: Span,
    /// The value of a key that is not a string (`1:`, `true:`, `[a]:`).
    pub other: Option<Box<TreeValue>>,
}

impl TreeKey {
    /// A key that is a string.
    pub fn string(text: impl Into<String>, span: Span) -> Self {
        Self { text: text.into(), span, other: None }
    }
}

impl From<Vec<TreeEntry>> for TreeMap {
    fn from(entries: Vec<TreeEntry>) -> Self {
        Self { entries, labelled: false }
    }
}

impl TreeMap {
    /// Returns the value of `key`; of a duplicate key, the last.
    pub fn get(&self, key: &str) -> Option<&TreeNode> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns the entry of `key`; of a duplicate key, the last.
    pub fn entry(&self, key: &str) -> Option<&TreeEntry> {
        self.entries.iter().rev().find(|entry| entry.key.text == key)
    }

    /// Reports whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl TreeNode {
    /// A value with its span, not plain.
    pub fn new(value: TreeValue, span: Span) -> Self {
        Self { span, value, plain: false }
    }

    /// Converts plain data; every node gets the same span.
    pub fn from_data(data: &Data, span: Span) -> Self {
        let value = match data {
            Data::Null => TreeValue::Null,
            Data::Bool(value) => TreeValue::Bool(*value),
            Data::Int(value) => TreeValue::Int(*value),
            Data::Big(value) => TreeValue::Big(value.clone()),
            Data::Float(value) => TreeValue::Float(*value),
            Data::Str(text) => TreeValue::Str(text.clone()),
            Data::Call(name, arguments) => {
                let arguments = arguments.iter().map(|data| Self::from_data(data, span));
                TreeValue::Call(name.clone(), arguments.collect())
            }
            Data::List(items) => {
                TreeValue::List(items.iter().map(|data| Self::from_data(data, span)).collect())
            }
            Data::Map(entries) => {
                let entry = |(key, data): &(String, Data)| TreeEntry {
                    key: TreeKey::string(key, span),
                    value: Self::from_data(data, span),
                };
                TreeValue::Map(TreeMap::from(entries.iter().map(entry).collect::<Vec<_>>()))
            }
        };
        Self::new(value, span)
    }

    /// An empty map, for an empty document.
    pub fn empty_map(span: Span) -> Self {
        Self::new(TreeValue::Map(TreeMap::default()), span)
    }

    /// Returns the map, if it is one.
    pub fn as_map(&self) -> Option<&TreeMap> {
        if let TreeValue::Map(map) = &self.value { Some(map) } else { None }
    }

    /// Returns the list, if it is one.
    pub fn as_list(&self) -> Option<&[TreeNode]> {
        if let TreeValue::List(list) = &self.value { Some(list) } else { None }
    }

    /// Returns the text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let TreeValue::Str(text) = &self.value { Some(text) } else { None }
    }

    /// Returns the text with its span, if it is a string.
    pub fn to_spanned(&self) -> Option<Spanned<String>> {
        self.as_str().map(|text| Spanned::new(text.to_owned(), self.span))
    }

    /// Returns the value without spans. A date becomes a string.
    pub fn to_data(&self) -> Data {
        match &self.value {
            TreeValue::Null => Data::Null,
            TreeValue::Bool(value) => Data::Bool(*value),
            TreeValue::Int(value) => Data::Int(*value),
            TreeValue::Big(value) => Data::Big(value.clone()),
            TreeValue::Float(value) => Data::Float(*value),
            TreeValue::Str(text) | TreeValue::Date(text) => Data::Str(text.clone()),
            TreeValue::Call(name, arguments) => {
                Data::Call(name.clone(), arguments.iter().map(Self::to_data).collect())
            }
            TreeValue::List(items) => Data::List(items.iter().map(Self::to_data).collect()),
            TreeValue::Map(map) => map.to_data(),
        }
    }
}

impl TreeMap {
    /// Returns the map without spans; a duplicate key has its first position and its last value.
    pub fn to_data(&self) -> Data {
        let mut entries: Vec<(String, Data)> = Vec::with_capacity(self.entries.len());
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(self.entries.len());
        for TreeEntry { key, value } in &self.entries {
            let place = *places.entry(&key.text).or_insert(entries.len());
            match entries.get_mut(place) {
                Some((_, slot)) => *slot = value.to_data(),
                None => entries.push((key.text.clone(), value.to_data())),
            }
        }
        Data::Map(entries)
    }
}
