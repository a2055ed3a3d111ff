//! Questions of a server to the user: a message, and a few fields to fill in.

use serde_json::{Map, Value, json};

use crate::clean_text::clean_start;
use crate::limits;

/// The most bytes of a text in a question.
const TEXT_BYTES: usize = 2 << 10;
/// The most choices of a field.
const CHOICES: usize = 50;

/// A question of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationRequest {
    /// What it asks, cleaned.
    pub message: String,
    /// The fields to fill in.
    pub fields: Vec<ElicitationField>,
}

/// One field of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationField {
    /// Its key in the answer.
    pub key: String,
    /// Its title, or its key.
    pub title: String,
    /// What it means.
    pub description: String,
    /// The values to choose from; empty for free input.
    pub choices: Vec<FieldChoice>,
    /// Whether it must be filled in.
    pub is_required: bool,
    /// The value without input.
    pub default: Option<Value>,
    /// Its type.
    kind: ElicitationKind,
}

/// A value to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChoice {
    /// The value that is sent.
    pub value: String,
    /// What the user sees.
    pub title: String,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ElicitationKind {
    Text,
    Number,
    Integer,
    Bool,
    Several,
}

/// What the user typed into a field, as a value; or why it does not fit.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldAnswer {
    /// The value to send.
    Value(Value),
    /// Nothing is sent for the field.
    Empty,
    /// The text does not fit, for this reason.
    Unfit(String),
}

/// The answer of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// The fields, filled in.
    Accept(Map<String, Value>),
    /// The user does not want to answer.
    Decline,
    /// The user left, or no user is present.
    Cancel,
}

impl ElicitationAnswer {
    /// Reads an answer of a client. What is no answer counts as none.
    pub(crate) fn from_json(answer: &Value) -> Self {
        match answer.get("action").and_then(Value::as_str) {
            Some("accept") => {
                let content = answer.get("content").and_then(Value::as_object);
                Self::Accept(content.cloned().unwrap_or_default())
            }
            Some("decline") => Self::Decline,
            _ => Self::Cancel,
        }
    }

    /// The answer as the protocol has it.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Accept(content) => json!({"action": "accept", "content": content}),
            Self::Decline => json!({"action": "decline"}),
            Self::Cancel => json!({"action": "cancel"}),
        }
    }
}

impl ElicitationRequest {
    /// Reads the parameters of a question.
    pub fn read(params: &Value) -> Result<Self, String> {
        if params.get("mode").and_then(Value::as_str).is_some_and(|mode| mode != "form") {
            return Err("only questions with fields are put to the user".to_owned());
        }
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let schema = params.get("requestedSchema").cloned().unwrap_or_else(|| json!({}));
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        if properties.len() > limits::FIELDS {
            return Err(format!("a question has at most {} fields", limits::FIELDS));
        }
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let field = |(key, field): (&String, &Value)| {
            ElicitationField::read(key, field, required.contains(&key.as_str()))
        };
        let fields = properties.iter().map(field).collect::<Result<_, _>>()?;
        Ok(Self { message: clean_start(message, TEXT_BYTES).text, fields })
    }

    /// The answer with every default, and without the fields that have none.
    pub fn defaults(&self) -> Map<String, Value> {
        let filled = self.fields.iter().filter_map(|field| {
            let default = field.default.clone()?;
            Some((field.key.clone(), default))
        });
        filled.collect()
    }
}

impl ElicitationField {
    fn read(key: &str, field: &Value, is_required: bool) -> Result<Self, String> {
        let text = |name: &str| {
            let text = field.get(name).and_then(Value::as_str).unwrap_or_default();
            clean_start(text, TEXT_BYTES).text
        };
        let kind = match field.get("type").and_then(Value::as_str) {
            Some("string") => ElicitationKind::Text,
            Some("number") => ElicitationKind::Number,
            Some("integer") => ElicitationKind::Integer,
            Some("boolean") => ElicitationKind::Bool,
            Some("array") => ElicitationKind::Several,
            _ => {
                return Err(format!(
                    "the field `{}` has no simple type",
                    clean_start(key, 100).text
                ));
            }
        };
        let choices = match kind {
            ElicitationKind::Bool => ["true", "false"].map(FieldChoice::plain).to_vec(),
            ElicitationKind::Several => choices(field.get("items").unwrap_or(&Value::Null))?,
            ElicitationKind::Text | ElicitationKind::Number | ElicitationKind::Integer => {
                choices(field)?
            }
        };
        let title = Some(text("title")).filter(|title| !title.is_empty());
        Ok(Self {
            key: key.to_owned(),
            title: title.unwrap_or_else(|| clean_start(key, 100).text),
            description: text("description"),
            choices,
            is_required,
            default: field.get("default").cloned(),
            kind,
        })
    }

    /// Whether several values can be chosen, separated by commas.
    pub fn takes_several(&self) -> bool {
        self.kind == ElicitationKind::Several
    }

    /// Converts what the user typed. Nothing means the default.
    pub fn answer(&self, typed: &str) -> FieldAnswer {
        let typed = typed.trim();
        if typed.is_empty() {
            return match (&self.default, self.is_required) {
                (Some(default), _) => FieldAnswer::Value(default.clone()),
                (None, false) => FieldAnswer::Empty,
                (None, true) => FieldAnswer::Unfit("it must be filled in".to_owned()),
            };
        }
        match self.kind {
            ElicitationKind::Text => {
                self.choose(typed).map_or_else(FieldAnswer::Unfit, FieldAnswer::Value)
            }
            ElicitationKind::Number => match typed.parse::<f64>() {
                Ok(number) if number.is_finite() => FieldAnswer::Value(json!(number)),
                _ => FieldAnswer::Unfit("it is no number".to_owned()),
            },
            ElicitationKind::Integer => match typed.parse::<i64>() {
                Ok(number) => FieldAnswer::Value(json!(number)),
                Err(_) => FieldAnswer::Unfit("it is no whole number".to_owned()),
            },
            ElicitationKind::Bool => match typed.to_lowercase().as_str() {
                "true" | "yes" | "y" => FieldAnswer::Value(json!(true)),
                "false" | "no" | "n" => FieldAnswer::Value(json!(false)),
                _ => FieldAnswer::Unfit("answer yes or no".to_owned()),
            },
            ElicitationKind::Several => {
                let chosen = typed.split(',').map(|word| self.choose(word.trim()));
                match chosen.collect::<Result<Vec<_>, _>>() {
                    Ok(values) => FieldAnswer::Value(Value::Array(values)),
                    Err(why) => FieldAnswer::Unfit(why),
                }
            }
        }
    }

    fn choose(&self, typed: &str) -> Result<Value, String> {
        if self.choices.is_empty() {
            return Ok(json!(typed));
        }
        let is_it = |choice: &&FieldChoice| choice.value == typed || choice.title == typed;
        let chosen = self.choices.iter().find(is_it);
        chosen
            .map(|choice| json!(choice.value))
            .ok_or_else(|| "it is none of the choices".to_owned())
    }
}

impl FieldChoice {
    fn plain(value: &str) -> Self {
        Self { value: value.to_owned(), title: clean_start(value, 200).text }
    }
}

/// The values of a field: `enum` with `enumNames`, or `oneOf`/`anyOf` with titles.
fn choices(field: &Value) -> Result<Vec<FieldChoice>, String> {
    let list = |name: &str| field.get(name).and_then(Value::as_array);
    let found: Vec<FieldChoice> = if let Some(values) = list("enum") {
        let titles = list("enumNames");
        let choice = |(at, value): (usize, &Value)| {
            let value = value.as_str()?;
            let title = titles.and_then(|titles| titles.get(at)?.as_str()).unwrap_or(value);
            let title = clean_start(title, 200).text;
            Some(FieldChoice { value: value.to_owned(), title })
        };
        values.iter().enumerate().filter_map(choice).collect()
    } else if let Some(values) = list("oneOf").or_else(|| list("anyOf")) {
        let choice = |value: &Value| {
            let constant = value.get("const")?.as_str()?;
            let title = value.get("title").and_then(Value::as_str).unwrap_or(constant);
            Some(FieldChoice { value: constant.to_owned(), title: clean_start(title, 200).text })
        };
        values.iter().filter_map(choice).collect()
    } else {
        Vec::new()
    };
    if found.len() > CHOICES {
        return Err(format!("a field has at most {CHOICES} choices"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> ElicitationRequest {
        ElicitationRequest::read(&json!({"message": "who\u{202E}?", "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Your name", "default": "Ada"},
                "age": {"type": "integer"},
                "rate": {"type": "number"},
                "sure": {"type": "boolean"},
                "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["red", "green"]},
                "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
            },
            "required": ["age"],
        }}))
        .unwrap()
    }

    #[test]
    fn typed_answers_become_values() {
        let asked = asked();
        assert_eq!(asked.message, "who?");
        let unfit = |why: &str| FieldAnswer::Unfit(why.to_owned());
        let value = FieldAnswer::Value;
        let cases = [
            ("name", "", value(json!("Ada"))),
            ("name", " Eve ", value(json!("Eve"))),
            ("age", "", unfit("it must be filled in")),
            ("age", "4x", unfit("it is no whole number")),
            ("age", "41", value(json!(41))),
            ("rate", "", FieldAnswer::Empty),
            ("rate", "1.5", value(json!(1.5))),
            ("rate", "NaN", unfit("it is no number")),
            ("sure", "Yes", value(json!(true))),
            ("sure", "perhaps", unfit("answer yes or no")),
            ("colour", "green", value(json!("g"))),
            ("colour", "r", value(json!("r"))),
            ("colour", "blue", unfit("it is none of the choices")),
            ("tags", "A, a", value(json!(["a", "a"]))),
            ("tags", "b", unfit("it is none of the choices")),
        ];
        for (key, typed, expected) in cases {
            let field = asked.fields.iter().find(|field| field.key == key).unwrap();
            assert_eq!(field.answer(typed), expected, "{key} {typed}");
        }
        assert_eq!(Value::Object(asked.defaults()), json!({"name": "Ada"}));
    }

    #[test]
    fn invalid_elicitation_requests_are_refused() {
        let many: Map<String, Value> =
            (0..21).map(|at| (at.to_string(), json!({"type": "string"}))).collect();
        let cases = [
            json!({"mode": "url", "url": "https://evil.example", "message": "log in"}),
            json!({"requestedSchema": {"properties": many}}),
            json!({"requestedSchema": {"properties": {"a": {"type": "object"}}}}),
            json!({"requestedSchema": {"properties": {"a": {"type": "string", "enum": vec!["x"; 51]}}}}),
        ];
        for params in cases {
            assert!(ElicitationRequest::read(&params).is_err(), "{params}");
        }
    }
}
