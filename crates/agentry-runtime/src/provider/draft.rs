//! An answer while it arrives: its parts by number, assembled from pieces, within a limit.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AnswerDelta, ModelAnswer, fault};
use crate::context_window::BYTES_PER_TOKEN;
use crate::conversation::{Message, MessageBlock, MessageRole, TokenUsage, ToolCall};
use crate::event::ModelFailure;

/// The most bytes of text and arguments in an answer; no model writes that much.
const LONGEST: usize = 8 << 20;
/// The bytes that a part counts for beside its text, so that very many calls also reach the limit.
const PART: usize = 4 << 10;

/// An answer while it arrives. Everything that is added is also queued for display.
#[derive(Debug, Default)]
pub(super) struct AnswerDraft {
    wire: &'static str,
    model: String,
    parts: BTreeMap<u64, DraftPart>,
    size: usize,
    /// The last value of each token counter.
    counted: BTreeMap<&'static str, u64>,
    usage: TokenUsage,
    stored: u64,
    /// Whether it was truncated by the output limit.
    pub(super) truncated: bool,
    refusal: Option<String>,
    /// The stop reason of the server.
    stop: Option<String>,
    stage: DraftStage,
    shown: Vec<AnswerDelta>,
}

/// How complete an answer is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum DraftStage {
    /// More must arrive.
    #[default]
    Open,
    /// Nothing more must arrive, but something may.
    Complete,
    /// Whatever arrives now does not belong to it.
    Closed,
}

/// Where a wire reports tokens, as JSON pointers.
pub(super) struct TokenPointers {
    /// The objects of an event that have the counters.
    pub(super) places: &'static [&'static str],
    /// Input tokens; the sum counts.
    pub(super) input: &'static [&'static str],
    /// Cached input tokens; the first that exists counts.
    pub(super) cached: &'static [&'static str],
    /// Input tokens that were stored in a cache.
    pub(super) stored: &'static [&'static str],
    /// Output tokens; the sum counts.
    pub(super) output: &'static [&'static str],
}

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Text.
    Text,
    /// Reasoning.
    Thinking,
    /// Arguments of a call.
    Arguments,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DraftPart {
    /// Text.
    Text(String),
    /// Reasoning, and what the provider needs to recognise it.
    Thinking(String, Option<Value>),
    /// A call; its arguments are text until they are complete.
    Call { id: String, tool: String, arguments: String, opaque: Option<Value> },
}

impl DraftPart {
    /// Creates a call, with the arguments so far.
    pub(super) fn call(id: &str, tool: &str, arguments: String) -> Self {
        Self::Call { id: id.to_owned(), tool: tool.to_owned(), arguments, opaque: None }
    }

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

/// Returns arguments as text; servers send them as a value or as text.
pub(super) fn written(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

impl AnswerDraft {
    /// Creates an empty answer.
    pub(super) fn new(wire: &'static str, model: &str) -> Self {
        Self { wire, model: model.to_owned(), ..Self::default() }
    }

    /// Begins a part. A second part with the same number is an error.
    pub(super) fn begin(&mut self, key: u64, part: DraftPart) -> Result<(), ModelFailure> {
        self.charge(PART + part.text().len())?;
        match &part {
            DraftPart::Call { tool, .. } => self.shown.push(AnswerDelta::Call(tool.clone())),
            DraftPart::Text(text) => self.show(PieceKind::Text, text),
            DraftPart::Thinking(text, _) => self.show(PieceKind::Thinking, text),
        }
        if self.parts.insert(key, part).is_some() {
            // The parts could no longer be distinguished, so the answer is requested again.
            return Err(fault::temporary("the server repeats itself"));
        }
        Ok(())
    }

    /// Adds a piece to a part. Text and reasoning begin with their first piece; arguments without a call are
    /// dropped.
    pub(super) fn piece(
        &mut self,
        key: u64,
        kind: PieceKind,
        piece: &str,
    ) -> Result<(), ModelFailure> {
        if piece.is_empty() {
            return Ok(());
        }
        if !self.parts.contains_key(&key) {
            match kind {
                PieceKind::Text => self.begin(key, DraftPart::Text(String::new()))?,
                PieceKind::Thinking => self.begin(key, DraftPart::Thinking(String::new(), None))?,
                PieceKind::Arguments => {}
            }
        }
        self.charge(piece.len())?;
        self.show(kind, piece);
        if let Some(part) = self.parts.get_mut(&key) {
            part.text_mut().push_str(piece);
        }
        Ok(())
    }

    fn show(&mut self, kind: PieceKind, piece: &str) {
        let delta = match kind {
            _ if piece.is_empty() => return,
            PieceKind::Text => AnswerDelta::Text(piece.to_owned()),
            PieceKind::Thinking => AnswerDelta::Thinking(piece.to_owned()),
            // Partial JSON is not readable, so arguments are not shown.
            PieceKind::Arguments => return,
        };
        self.shown.push(delta);
    }

    /// Returns what is to be shown since the last call.
    pub(super) fn shown(&mut self) -> std::vec::Drain<'_, AnswerDelta> {
        self.shown.drain(..)
    }

    /// Stores what the model needs back with reasoning or with a call.
    pub(super) fn sign(&mut self, key: u64, value: &Value) {
        let sealed = seal(self.wire, &self.model, value);
        if let Some(DraftPart::Thinking(_, opaque) | DraftPart::Call { opaque, .. }) =
            self.parts.get_mut(&key)
        {
            *opaque = Some(sealed);
        }
    }

    /// Marks a value as readable only for the model of this answer.
    pub(super) fn sealed(&self, value: &Value) -> Value {
        seal(self.wire, &self.model, value)
    }

    /// Returns the part with that number.
    pub(super) fn part(&self, key: u64) -> Option<&DraftPart> {
        self.parts.get(&key)
    }

    /// Returns the number after the last part.
    pub(super) fn next(&self) -> u64 {
        self.parts.last_key_value().map_or(0, |(key, _)| key + 1)
    }

    /// Returns the number of the last part if it has this kind and no signature; else the next number.
    pub(super) fn going_on(&self, kind: PieceKind) -> u64 {
        match (self.parts.last_key_value(), kind) {
            (Some((key, DraftPart::Text(_))), PieceKind::Text)
            | (Some((key, DraftPart::Thinking(_, None))), PieceKind::Thinking) => *key,
            _ => self.next(),
        }
    }

    /// Takes the token counters of an event. A counter that is not repeated keeps its value.
    pub(super) fn count(&mut self, counts: &TokenPointers, event: &Value) {
        let TokenPointers { places, input, cached, stored, output } = *counts;
        for usage in places.iter().filter_map(|place| event.pointer(place)) {
            for &name in [input, cached, stored, output].into_iter().flatten() {
                if let Some(number) = usage.pointer(name).and_then(Value::as_u64) {
                    self.counted.insert(name, number);
                }
            }
        }
        let counted = &self.counted;
        let sum = |names: &[&'static str]| {
            let numbers = names.iter().filter_map(|name| counted.get(name));
            numbers.fold(0_u64, |sum, number| sum.saturating_add(*number))
        };
        let from_cache = cached.iter().find_map(|name| counted.get(name)).copied();
        (self.usage.input, self.usage.output, self.stored) = (sum(input), sum(output), sum(stored));
        // Limited to the input, because cached tokens are a part of it.
        self.usage.cached = from_cache.unwrap_or_default().min(self.usage.input);
    }

    /// Sets the stop reason, unless the text is empty.
    pub(super) fn stop(&mut self, word: &str) {
        if !word.is_empty() {
            self.stop = Some(word.to_owned());
        }
    }

    /// Returns the stop reason.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.stop.as_deref()
    }

    /// Marks that nothing more must arrive.
    pub(super) fn complete(&mut self) {
        self.stage = self.stage.max(DraftStage::Complete);
    }

    /// Marks that whatever arrives now does not belong to it.
    pub(super) fn close(&mut self) {
        self.stage = DraftStage::Closed;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.stage >= DraftStage::Complete
    }

    pub(super) fn is_closed(&self) -> bool {
        self.stage == DraftStage::Closed
    }

    /// Replaces a part by its final version.
    pub(super) fn replace(&mut self, key: u64, part: DraftPart) -> Result<(), ModelFailure> {
        let before = self.parts.get(&key).map_or(0, |part| part.text().len());
        self.charge(part.text().len().saturating_sub(before))?;
        self.parts.insert(key, part);
        Ok(())
    }

    /// Marks the answer as refused by the provider, and removes its calls.
    pub(super) fn refuse(&mut self, reason: &str) {
        // A refused answer may be incomplete, and so may its calls.
        self.parts.retain(|_, part| !matches!(part, DraftPart::Call { .. }));
        let text = format!("(the answer was refused: {reason})");
        self.parts.insert(self.next(), DraftPart::Text(text.clone()));
        self.refusal = Some(text);
    }

    fn charge(&mut self, bytes: usize) -> Result<(), ModelFailure> {
        self.size = self.size.saturating_add(bytes);
        if self.size > LONGEST {
            let limit = LONGEST >> 20;
            return Err(fault::permanent(format!("the answer is longer than {limit} MiB")));
        }
        Ok(())
    }

    /// Returns the usage so far: what the server reports, but at least what it has sent.
    pub(super) fn used_up(&self) -> TokenUsage {
        let written: usize = self.parts.values().map(|part| part.text().len()).sum();
        let output = self.usage.output.max((written as u64).div_ceil(BYTES_PER_TOKEN as u64));
        TokenUsage { output, ..self.usage }
    }

    /// Returns the finished answer.
    pub(super) fn finish(self) -> ModelAnswer {
        let blocks = self.parts.into_values().filter_map(block).collect();
        ModelAnswer {
            message: Message { role: MessageRole::Assistant, blocks },
            usage: self.usage,
            stored: self.stored,
            truncated: self.truncated,
            refusal: self.refusal,
        }
    }
}

fn block(part: DraftPart) -> Option<MessageBlock> {
    Some(match part {
        DraftPart::Text(text) if text.is_empty() => return None,
        DraftPart::Text(text) => MessageBlock::Text { text },
        // Empty reasoning with a signature is kept: the provider needs the signature back.
        DraftPart::Thinking(text, None) if text.is_empty() => return None,
        DraftPart::Thinking(text, opaque) => MessageBlock::Thinking { text, opaque },
        DraftPart::Call { id, tool, arguments, opaque } => {
            MessageBlock::Call(ToolCall { id, tool, arguments: arguments_of(arguments), opaque })
        }
    })
}

/// Parses the arguments of a call; text that is not JSON stays a string.
fn arguments_of(text: String) -> Value {
    if text.trim().is_empty() {
        // Some models send no arguments for a tool without parameters.
        return json!({});
    }
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Marks a value as readable only for this model and wire.
fn seal(wire: &str, model: &str, value: &Value) -> Value {
    json!({ wire: { "model": model, "value": value } })
}

/// Returns a value that was marked for this model and wire.
pub(super) fn opened<'a>(sealed: Option<&'a Value>, wire: &str, model: &str) -> Option<&'a Value> {
    let own = sealed?.get(wire)?;
    own.get("value").filter(|_| own.get("model").and_then(Value::as_str) == Some(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> DraftPart {
        DraftPart::call("1", "t", arguments.to_owned())
    }

    #[test]
    fn invalid_call_arguments_are_kept_as_text() {
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
            let mut draft = AnswerDraft::default();
            draft.begin(0, call(text)).unwrap();
            let answered = draft.finish();
            let found: Vec<_> =
                answered.message.calls().map(|call| call.arguments.clone()).collect();
            assert_eq!(found, [expected], "{text}");
        }
    }

    #[test]
    fn an_answer_has_a_limit() {
        let mut draft = AnswerDraft::default();
        draft.begin(0, call("")).unwrap();
        let piece = "x".repeat(1 << 20);
        let failed = (0..10)
            .find_map(|_| draft.piece(0, PieceKind::Arguments, &piece).err())
            .expect("too long");
        assert_eq!(failed.message, "the answer is longer than 8 MiB");
        let mut draft = AnswerDraft::default();
        assert!((0..3_000).any(|key| draft.begin(key, call("")).is_err()), "a storm of calls");
    }

    #[test]
    fn sealed_reasoning_opens_only_for_its_model() {
        let sealed = seal("a", "m", &json!("secret"));
        let cases = [("a", "m", Some(json!("secret"))), ("a", "n", None), ("b", "m", None)];
        for (wire, model, expected) in cases {
            assert_eq!(opened(Some(&sealed), wire, model), expected.as_ref(), "{wire} {model}");
        }
    }
}
