//! Field tables: one description of what a document may hold, which feeds the reader
//! ([`validate`](fn@validate)), the editor's JSON Schema ([`crate::schema`]) and the page of the
//! reference ([`reference`](fn@reference)).
//!
//! A table is data. A reader validates a tree against its table first, which reports everything that
//! is wrong with names, types and values; then it picks values through a [`crate::TableRecord`], which is
//! silent about what was reported already.

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

/// What a map may hold.
#[derive(Debug)]
pub struct FieldTable {
    /// What a person calls such a map: `trust`, `the metadata`.
    pub title: &'static str,
    /// The fields, in the order in which they are documented and written.
    pub fields: &'static [Field],
    /// How keys are compared.
    pub keys: KeyMatching,
    /// What becomes of a key that no field has.
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
    /// Whether it must be there.
    pub need: FieldNeed,
    /// What it is for: one sentence of Markdown.
    pub doc: &'static str,
}

/// What a value may be.
#[derive(Debug)]
pub enum FieldKind {
    /// Text.
    Str,
    /// Text on one line.
    Line,
    /// Text of a certain form; what does not fit is the reader's to report.
    Form(&'static TextForm),
    /// A list of texts of a certain form, or one text with commas between them.
    Forms(&'static TextForm),
    /// `true` or `false`.
    Bool,
    /// A whole number from the first to the second.
    Int(i64, i64),
    /// A number from the first to the second.
    Float(f64, f64),
    /// A semantic version, as a string.
    Semver,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, in any case.
    ChoiceAnyCase(&'static [&'static str]),
    /// Text; one of these words is expected, another is a warning.
    Known(&'static [&'static str]),
    /// Values of one kind, in order.
    List(&'static FieldKind),
    /// A list of texts, or one text.
    Strings,
    /// Values of one kind by names that the author chooses.
    Map(&'static FieldKind),
    /// A map with fields of its own.
    Block(&'static FieldTable),
    /// One of several kinds; the first that fits by its shape is taken.
    Either(&'static [FieldKind]),
    /// Anything.
    Any,
}

/// Whether a field must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldNeed {
    /// Its absence is an error.
    Required,
    /// It may be left out.
    Optional,
    /// It may be left out and then has this value, written as JSON.
    Default(&'static str),
    /// It must not be there; says why.
    Excluded(&'static str),
}

/// How keys are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatching {
    /// As written.
    Exact,
    /// Without regard to case.
    AnyCase,
    /// `snake_case`, `camelCase` and `kebab-case` spell the same key.
    SnakeOrCamel,
}

/// What becomes of a key that no field has. `x-…` keys are silent everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKeys {
    /// Kept, with a warning.
    Warn,
    /// Kept, without a word.
    Silent,
    /// An error.
    Error,
}

/// Whether a scalar of another type may stand for the one that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coercion {
    /// Types are as written.
    Strict,
    /// `"12"` and `12.0` are whole numbers, `"yes"` and `1` booleans, as the manifest's reference reads them.
    Lax,
}

/// The least and most of a whole number without bounds of its own.
pub const ANY_INT: FieldKind = FieldKind::Int(i64::MIN, i64::MAX);
/// Any number.
pub const ANY_FLOAT: FieldKind = FieldKind::Float(f64::NEG_INFINITY, f64::INFINITY);

impl Field {
    /// A field that must be there.
    pub const fn required(name: &'static str, kind: FieldKind, doc: &'static str) -> Self {
        Self { name, aliases: &[], kind, need: FieldNeed::Required, doc }
    }

    /// A field that may be left out.
    pub const fn optional(name: &'static str, kind: FieldKind, doc: &'static str) -> Self {
        Self { name, aliases: &[], kind, need: FieldNeed::Optional, doc }
    }

    /// A field that has a value (JSON) when left out.
    pub const fn default(
        name: &'static str,
        kind: FieldKind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, aliases: &[], kind, need: FieldNeed::Default(default), doc }
    }

    /// A field that must not be there; `why` completes «`x` is not part of this format: …».
    pub const fn excluded(name: &'static str, why: &'static str) -> Self {
        Self { name, aliases: &[], kind: FieldKind::Any, need: FieldNeed::Excluded(why), doc: why }
    }

    /// The same field with other spellings.
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

    /// The same table with other key rules.
    #[must_use]
    pub const fn keys(mut self, keys: KeyMatching) -> Self {
        self.keys = keys;
        self
    }

    /// The same table with another answer to unknown keys.
    #[must_use]
    pub const fn unknown(mut self, unknown: UnknownKeys) -> Self {
        self.unknown = unknown;
        self
    }

    /// The field that `key` spells.
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| self.is_key(field, key))
    }

    /// Whether `key` is a spelling of `field`, which is one of this table.
    pub fn is_key(&self, field: &Field, key: &str) -> bool {
        self.keys.same(field.name, key)
            || field.aliases.iter().any(|alias| self.keys.same(alias, key))
    }

    /// Every key that may be written, for «did you mean».
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let wanted = |field: &&Field| !matches!(field.need, FieldNeed::Excluded(_));
        self.fields.iter().filter(wanted).map(|field| field.name)
    }
}

impl KeyMatching {
    /// Whether two spellings are one key.
    pub fn same(self, a: &str, b: &str) -> bool {
        match self {
            Self::Exact => a == b,
            _ if differ_at_once(a, b) => false,
            Self::AnyCase => a.eq_ignore_ascii_case(b) || lower(a).eq(lower(b)),
            Self::SnakeOrCamel => a == b || plain(a).eq(plain(b)),
        }
    }
}

/// Whether two keys start with different letters of ASCII, as most keys do that are not the same.
fn differ_at_once(a: &str, b: &str) -> bool {
    let first = |key: &str| key.bytes().next().filter(u8::is_ascii_alphanumeric);
    match (first(a), first(b)) {
        (Some(a), Some(b)) => !a.eq_ignore_ascii_case(&b),
        _ => false,
    }
}

/// The letters of a key in lower case.
fn lower(key: &str) -> impl Iterator<Item = char> {
    key.chars().flat_map(char::to_lowercase)
}

/// The letters of a key in lower case, without `_` and `-`.
fn plain(key: &str) -> impl Iterator<Item = char> {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase)
}

/// Whether a key is an extension, about which nothing is said.
pub fn is_extension(key: &str) -> bool {
    key.starts_with("x-") || key.starts_with("x_") || key.starts_with("X-")
}
