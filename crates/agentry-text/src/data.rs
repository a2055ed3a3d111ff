//! Plain data without spans: the input of emitters, and the content of blocks that only one format has.

use num_bigint::BigInt;

/// A value of JSON, with integers of any size and ordered maps.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Data {
    /// Null.
    #[default]
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
    /// A function call of ACL, `env("X")`; in JSON it is a string.
    Call(String, Vec<Data>),
    /// Values in order.
    List(Vec<Data>),
    /// Values by key, in order; the keys are unique.
    Map(Vec<(String, Data)>),
}

impl Data {
    /// A string.
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// A list of strings.
    pub fn strings<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::str(text.as_ref())).collect())
    }

    /// Returns the value of `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        if let Self::Map(entries) = self {
            entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
        } else {
            None
        }
    }

    /// Returns the string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Str(text) = self { Some(text) } else { None }
    }

    /// Reports whether it is null, an empty list or an empty map.
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

    /// Converts the value to JSON. Infinities and NaN, which JSON does not have, become null.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => (*value).into(),
            // This loses precision; `json::emit` writes such integers without it.
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

/// Builds a map field by field and skips absent values.
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

    /// Adds `key` if there is a string.
    pub fn str_opt<S: AsRef<str>>(&mut self, key: &str, text: Option<S>) -> &mut Self {
        self.set_opt(key, text.map(|text| Data::str(text.as_ref())))
    }

    /// Adds `key` unless `value` is null, an empty list or an empty map.
    pub fn set_full(&mut self, key: &str, value: Data) -> &mut Self {
        if !value.is_empty() {
            self.set(key, value);
        }
        self
    }

    /// Reports whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the map and leaves the builder empty.
    pub fn build(&mut self) -> Data {
        Data::Map(std::mem::take(&mut self.entries))
    }
}
