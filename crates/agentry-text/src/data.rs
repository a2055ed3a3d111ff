//! Plain data without places: what a writer hands to an emitter, and what an agent carries of a
//! block that only one format knows.

use num_bigint::BigInt;

/// A value as JSON has it, with whole numbers of any size and maps in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Data {
    /// Nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number beyond 64 bits.
    Big(BigInt),
    /// Any other number.
    Float(f64),
    /// Text.
    Str(String),
    /// A function call of ACL, `env("X")`; JSON sees its text.
    Call(String, Vec<Data>),
    /// Values in order.
    List(Vec<Data>),
    /// Values by key, in order; no key twice.
    Map(Vec<(String, Data)>),
}

impl Data {
    /// Text.
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// A list of texts.
    pub fn strings<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::str(text.as_ref())).collect())
    }

    /// The value of `key`, if it is a map that has one.
    pub fn get(&self, key: &str) -> Option<&Self> {
        if let Self::Map(entries) = self {
            entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
        } else {
            None
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(text) = self { Some(text) } else { None }
    }

    /// Whether it holds nothing: null, an empty list or an empty map.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            Self::Bool(_)
            | Self::Int(_)
            | Self::Big(_)
            | Self::Float(_)
            | Self::Str(_)
            | Self::Call(..) => false,
        }
    }

    /// The value as JSON. Infinities and NaN, which JSON has no words for, become null.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => (*value).into(),
            Self::Big(value) => value.to_string().parse().map_or(Json::Null, Json::Number),
            Self::Float(value) => {
                serde_json::Number::from_f64(*value).map_or(Json::Null, Json::Number)
            }
            Self::Str(text) => Json::String(text.clone()),
            Self::Call(..) => Json::String(self.call_text()),
            Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Map(entries) => Json::Object(
                entries.iter().map(|(name, value)| (name.clone(), value.to_json())).collect(),
            ),
        }
    }

    fn call_text(&self) -> String {
        let Self::Call(name, arguments) = self else { return String::new() };
        let arguments: Vec<_> = arguments.iter().map(|data| data.to_json().to_string()).collect();
        format!("{name}({})", arguments.join(", "))
    }
}

/// Builds a map field by field and leaves out what has no value.
#[derive(Debug, Default)]
pub struct MapBuilder {
    entries: Vec<(String, Data)>,
}

impl MapBuilder {
    /// A map without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `key`.
    pub fn set(&mut self, key: impl Into<String>, value: Data) -> &mut Self {
        self.entries.push((key.into(), value));
        self
    }

    /// Adds `key` if there is a value.
    pub fn set_opt(&mut self, key: impl Into<String>, value: Option<Data>) -> &mut Self {
        if let Some(value) = value {
            self.set(key, value);
        }
        self
    }

    /// Adds `key` if there is text.
    pub fn str_opt<S: AsRef<str>>(&mut self, key: &str, text: Option<S>) -> &mut Self {
        self.set_opt(key, text.map(|text| Data::str(text.as_ref())))
    }

    /// Adds `key` unless `value` is an empty list or map.
    pub fn set_full(&mut self, key: &str, value: Data) -> &mut Self {
        if !value.is_empty() {
            self.set(key, value);
        }
        self
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The map.
    pub fn build(&mut self) -> Data {
        Data::Map(std::mem::take(&mut self.entries))
    }
}
