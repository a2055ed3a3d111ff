//! Field tables: one description of the fields of a document. Three things are made from it:
//! validation ([`validate`](fn@validate)), the JSON Schema for editors ([`crate::schema`]) and the
//! reference page ([`reference`](fn@reference)).
//!
//! A table is data. A reader first validates a tree against its table, which reports wrong names,
//! types and values. Then it gets the values through a [`crate::TableRecord`], which reports nothing again.

mod form;
mod meaning;
mod reference;
pub mod rules;
#[cfg(test)]
mod tests;
mod validate;

pub use form::TextForm;
pub use meaning::meaning;
pub use reference::reference;
pub use validate::{full_version, validate};

/// The fields that a map may have.
#[derive(Debug)]
pub struct FieldTable {
    /// The name of such a map in messages: `trust`, `the metadata`.
    pub title: &'static str,
    /// The fields, in the order in which they are documented and written.
    pub fields: &'static [Field],
    /// How keys are compared.
    pub keys: KeyMatching,
    /// How a key that is not in the table is handled.
    pub unknown: UnknownKeys,
}

/// One field of a [`FieldTable`].
#[derive(Debug)]
pub struct Field {
    /// The key, as documented.
    pub name: &'static str,
    /// Other spellings that real files use.
    pub aliases: &'static [&'static str],
    /// What the value may be.
    pub kind: FieldKind,
    /// Whether it must be present.
    pub need: FieldNeed,
    /// What it is for: one sentence of Markdown.
    pub doc: &'static str,
}

/// The type of a value.
#[derive(Debug)]
pub enum FieldKind {
    /// Text.
    Str,
    /// Text on one line.
    Line,
    /// Text of a certain form. The reader of the format reports text that does not fit.
    Form(&'static TextForm),
    /// A list of texts of a certain form, or one text with commas between them.
    Forms(&'static TextForm),
    /// `true` or `false`.
    Bool,
    /// An integer from the first to the second, inclusive.
    Int(i64, i64),
    /// A number from the first to the second, inclusive.
    Float(f64, f64),
    /// A semantic version, as a string.
    Semver,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, in any case.
    ChoiceAnyCase(&'static [&'static str]),
    /// Text; one of these words is expected, another gets a warning.
    Known(&'static [&'static str]),
    /// Values of one kind, in order.
    List(&'static FieldKind),
    /// A list of texts, or one text.
    Strings,
    /// Values of one kind, with free keys.
    Map(&'static FieldKind),
    /// A map with a field table.
    Block(&'static FieldTable),
    /// One of several kinds; the first one with the shape of the value is used.
    Either(&'static [FieldKind]),
    /// Anything.
    Any,
}

/// Whether a field must be present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldNeed {
    /// Its absence is an error.
    Required,
    /// It may be left out.
    Optional,
    /// It may be left out and then has this value, written as JSON.
    Default(&'static str),
    /// It must not be present, for this reason.
    Excluded(&'static str),
}

/// How keys are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatching {
    /// As written.
    Exact,
    /// Ignoring case.
    AnyCase,
    /// `snake_case`, `camelCase` and `kebab-case` are the same key.
    SnakeOrCamel,
}

/// How a key that is not in the table is handled. `x-…` keys are always silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKeys {
    /// Kept, with a warning.
    Warn,
    /// Kept, without a finding.
    Silent,
    /// An error.
    Error,
}

/// Whether a scalar of another type is converted to the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coercion {
    /// Nothing is converted.
    Strict,
    /// `"12"` and `12.0` are integers, `"yes"` and `1` booleans, as for the manifest's reference.
    Lax,
}

/// An integer without bounds.
pub const ANY_INT: FieldKind = FieldKind::Int(i64::MIN, i64::MAX);
/// Any number.
pub const ANY_FLOAT: FieldKind = FieldKind::Float(f64::NEG_INFINITY, f64::INFINITY);

impl Field {
    /// A field that must be present.
    pub const fn required(name: &'static str, kind: FieldKind, doc: &'static str) -> Self {
        Self { name, aliases: &[], kind, need: FieldNeed::Required, doc }
    }

    /// A field that may be left out.
    pub const fn optional(name: &'static str, kind: FieldKind, doc: &'static str) -> Self {
        Self { name, aliases: &[], kind, need: FieldNeed::Optional, doc }
    }

    /// A field with a default value (JSON).
    pub const fn default(
        name: &'static str,
        kind: FieldKind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, aliases: &[], kind, need: FieldNeed::Default(default), doc }
    }

    /// A field that must not be present; `why` completes «`x` is not part of this format: …».
    pub const fn excluded(name: &'static str, why: &'static str) -> Self {
        Self { name, aliases: &[], kind: FieldKind::Any, need: FieldNeed::Excluded(why), doc: why }
    }

    /// Returns the field with other spellings.
    #[must_use]
    pub const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

impl FieldTable {
    /// A table with exact keys that warns about unknown ones.
    pub const fn new(title: &'static str, fields: &'static [Field]) -> Self {
        Self { title, fields, keys: KeyMatching::Exact, unknown: UnknownKeys::Warn }
    }

    /// Returns the table with other key rules.
    #[must_use]
    pub const fn keys(mut self, keys: KeyMatching) -> Self {
        self.keys = keys;
        self
    }

    /// Returns the table with another handling of unknown keys.
    #[must_use]
    pub const fn unknown(mut self, unknown: UnknownKeys) -> Self {
        self.unknown = unknown;
        self
    }

    /// Returns the field that `key` spells.
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| self.is_key(field, key))
    }

    /// Reports whether `key` is a spelling of `field`, which must be in this table.
    pub fn is_key(&self, field: &Field, key: &str) -> bool {
        self.keys.same(field.name, key)
            || field.aliases.iter().any(|alias| self.keys.same(alias, key))
    }

    /// Returns every key that is allowed, for «did you mean».
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let wanted = |field: &&Field| !matches!(field.need, FieldNeed::Excluded(_));
        self.fields.iter().filter(wanted).map(|field| field.name)
    }
}

impl KeyMatching {
    /// Reports whether two spellings are the same key.
    pub fn same(self, a: &str, b: &str) -> bool {
        match self {
            Self::Exact => a == b,
            _ if differ_at_once(a, b) => false,
            // ASCII first, which is faster; the second test is for other scripts.
            Self::AnyCase => a.eq_ignore_ascii_case(b) || lower(a).eq(lower(b)),
            Self::SnakeOrCamel => a == b || plain(a).eq(plain(b)),
        }
    }
}

/// Reports whether two keys start with different ASCII letters. This cheap test excludes most pairs.
fn differ_at_once(a: &str, b: &str) -> bool {
    let first = |key: &str| key.bytes().next().filter(u8::is_ascii_alphanumeric);
    match (first(a), first(b)) {
        (Some(a), Some(b)) => !a.eq_ignore_ascii_case(&b),
        _ => false,
    }
}

/// Returns a key in lower case.
fn lower(key: &str) -> impl Iterator<Item = char> {
    key.chars().flat_map(char::to_lowercase)
}

/// Returns a key in lower case, without `_` and `-`.
fn plain(key: &str) -> impl Iterator<Item = char> {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase)
}

/// Reports whether a key is an extension, which is never reported.
pub fn is_extension(key: &str) -> bool {
    key.starts_with("x-") || key.starts_with("x_") || key.starts_with("X-")
}
