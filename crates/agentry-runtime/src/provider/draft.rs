//! An answer while it comes: its parts by number, put together from pieces, within a limit.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::BYTES_PER_TOKEN;
use super::{Answered, fault};
use crate::conversation::{Block, Call, Message, Role, Usage};
use crate::event::Failure;

/// The most bytes of text and arguments in an answer; no model writes as much in one go.
const LONGEST: usize = 8 << 20;
/// What a part counts for beside its text: a storm of calls is too long as well.
const PART: usize = 4 << 10;

/// An answer while it comes.
#[derive(Debug, Default)]
pub(super) struct Draft {
    parts: BTreeMap<u64, Part>,
    size: usize,
    /// What it used up.
    pub(super) usage: Usage,
    /// Of the tokens read, those that were put into a cache.
    pub(super) stored: u64,
    /// Whether it was cut off by its length.
    pub(super) truncated: bool,
    refusal: Option<String>,
}

/// A part of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// Text.
    Text(String),
    /// What the model thinks, and what the provider needs to recognise it.
    Thinking(String, Option<Value>),
    /// A call; its arguments are a text until they are complete.
    Call { id: String, tool: String, arguments: String, opaque: Option<Value> },
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Thinking(text, _) | Self::Call { arguments: text, .. } => text,
        }
    }

    fn text_mut(&mut self) -> &mut String {
        match self {
            Self::Text(text) | Self::Thinking(text, _) | Self::Call { arguments: text, .. } => text,
        }
    }
}

impl Draft {
    /// Begins a part. Nobody begins the same one twice.
    pub(super) fn begin(&mut self, key: u64, mut part: Part) -> Result<(), Failure> {
        self.charge(PART + part.text_mut().len())?;
        if self.parts.insert(key, part).is_some() {
            return Err(fault::temporary("the server repeats itself"));
        }
        Ok(())
    }

    /// Whether there is such a part.
    fn has(&self, key: u64) -> bool {
        self.parts.contains_key(&key)
    }

    /// The part of that number.
    pub(super) fn part(&mut self, key: u64) -> Option<&mut Part> {
        self.parts.get_mut(&key)
    }

    /// The number of the part that would be the last.
    pub(super) fn next(&self) -> u64 {
        self.parts.last_key_value().map_or(0, |(key, _)| key + 1)
    }

    /// The last part and its number.
    pub(super) fn last(&mut self) -> Option<(u64, &mut Part)> {
        self.parts.iter_mut().next_back().map(|(key, part)| (*key, part))
    }

    /// Adds to the text of a part; what belongs to no part is left out.
    pub(super) fn append(&mut self, key: u64, piece: &str) -> Result<(), Failure> {
        self.charge(piece.len())?;
        if let Some(part) = self.parts.get_mut(&key) {
            part.text_mut().push_str(piece);
        }
        Ok(())
    }

    /// Adds to the text of a part, which is begun if it is not there.
    pub(super) fn extend(&mut self, key: u64, part: Part, piece: &str) -> Result<(), Failure> {
        if !self.has(key) {
            self.begin(key, part)?;
        }
        self.append(key, piece)
    }

    /// Puts a part in the place of another one, which was the same as far as it had come.
    pub(super) fn replace(&mut self, key: u64, mut part: Part) -> Result<(), Failure> {
        let before = self.parts.get_mut(&key).map_or(0, |part| part.text_mut().len());
        self.charge(part.text_mut().len().saturating_sub(before))?;
        self.parts.insert(key, part);
        Ok(())
    }

    /// The provider stopped the answer: its calls are not to be run.
    pub(super) fn refuse(&mut self, reason: &str) {
        self.parts.retain(|_, part| !matches!(part, Part::Call { .. }));
        let text = format!("(the answer was refused: {reason})");
        self.parts.insert(self.next(), Part::Text(text.clone()));
        self.refusal = Some(text);
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.size = self.size.saturating_add(bytes);
        if self.size > LONGEST {
            let limit = LONGEST >> 20;
            return Err(fault::permanent(format!("the answer is longer than {limit} MiB")));
        }
        Ok(())
    }

    /// What was used up so far: what the server says, and at least what it has sent.
    pub(super) fn used_up(&self) -> Usage {
        let written: usize = self.parts.values().map(|part| part.text().len()).sum();
        let output = self.usage.output.max((written as u64).div_ceil(BYTES_PER_TOKEN));
        Usage { output, ..self.usage }
    }

    /// The answer.
    pub(super) fn finish(self) -> Answered {
        let blocks = self.parts.into_values().filter_map(block).collect();
        Answered {
            message: Message { role: Role::Assistant, blocks },
            usage: self.usage,
            stored: self.stored,
            truncated: self.truncated,
            refusal: self.refusal,
        }
    }
}

fn block(part: Part) -> Option<Block> {
    Some(match part {
        Part::Text(text) if text.is_empty() => return None,
        Part::Text(text) => Block::Text { text },
        Part::Thinking(text, None) if text.is_empty() => return None,
        Part::Thinking(text, opaque) => Block::Thinking { text, opaque },
        Part::Call { id, tool, arguments, opaque } => {
            Block::Call(Call { id, tool, arguments: arguments_of(arguments), opaque })
        }
    })
}

/// What a call is made with; what is no JSON stays a text.
fn arguments_of(text: String) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Marks what only this model behind this wire understands.
pub(super) fn seal(wire: &str, model: &str, value: &Value) -> Value {
    json!({ wire: { "model": model, "value": value } })
}

/// What was sealed for this model behind this wire.
pub(super) fn opened<'a>(sealed: Option<&'a Value>, wire: &str, model: &str) -> Option<&'a Value> {
    let own = sealed?.get(wire)?;
    own.get("value").filter(|_| own.get("model").and_then(Value::as_str) == Some(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> Part {
        Part::Call {
            id: "1".to_owned(),
            tool: "t".to_owned(),
            arguments: arguments.to_owned(),
            opaque: None,
        }
    }

    #[test]
    fn arguments_are_whatever_came() {
        let deep = "[".repeat(200);
        let cases = [
            ("", json!({})),
            (" ", json!({})),
            (r#"{"a":1}"#, json!({ "a": 1 })),
            (r#"{"a":"#, json!("{\"a\":")),
            ("[1]", json!([1])),
            (&deep, json!(deep)),
        ];
        for (text, expected) in cases {
            let mut draft = Draft::default();
            draft.begin(0, call(text)).unwrap();
            let answered = draft.finish();
            let found: Vec<_> =
                answered.message.calls().map(|call| call.arguments.clone()).collect();
            assert_eq!(found, [expected], "{text}");
        }
    }

    #[test]
    fn an_answer_has_a_limit() {
        let mut draft = Draft::default();
        draft.begin(0, call("")).unwrap();
        let piece = "x".repeat(1 << 20);
        let failed = (0..10).find_map(|_| draft.append(0, &piece).err()).expect("too long");
        assert_eq!(failed.message, "the answer is longer than 8 MiB");
        let mut draft = Draft::default();
        assert!((0..3_000).any(|key| draft.begin(key, call("")).is_err()), "a storm of calls");
    }

    #[test]
    fn what_is_sealed_is_for_one_model() {
        let sealed = seal("a", "m", &json!("secret"));
        let cases = [("a", "m", Some(json!("secret"))), ("a", "n", None), ("b", "m", None)];
        for (wire, model, expected) in cases {
            assert_eq!(opened(Some(&sealed), wire, model), expected.as_ref(), "{wire} {model}");
        }
    }
}
