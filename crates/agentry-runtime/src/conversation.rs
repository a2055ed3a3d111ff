//! What was said, whoever said it: the same for every provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The person, or what tools answered.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: MessageRole,
    /// Its parts, in order.
    pub blocks: Vec<MessageBlock>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageBlock {
    /// Text.
    Text {
        /// It.
        text: String,
    },
    /// What the model thought. Some providers want it back exactly as it came.
    Thinking {
        /// As far as it can be read.
        text: String,
        /// What the provider needs to recognise it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// A call of a tool.
    Call(ToolCall),
    /// What a call gave.
    Result {
        /// The call.
        id: String,
        /// What the model is told.
        text: String,
        /// Whether it failed or was refused.
        failed: bool,
    },
}

/// A call of a tool, as the model made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// By which its result is named; unique in a run.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What it is called with; what could not be read as JSON is a text.
    pub arguments: Value,
    /// What the provider needs to recognise the call, beside its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
}

/// What a turn used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Of these, tokens from a cache.
    pub cached: u64,
    /// Tokens written, thinking included.
    pub output: u64,
    /// What it cost, in millionths of a US dollar; nothing if no price is known.
    pub cost: Option<u64>,
}

impl TokenUsage {
    /// Whether nothing was used up.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Message {
    /// What a person says.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, blocks: vec![MessageBlock::Text { text: text.into() }] }
    }

    /// The calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            MessageBlock::Call(call) => Some(call),
            MessageBlock::Text { .. }
            | MessageBlock::Thinking { .. }
            | MessageBlock::Result { .. } => None,
        })
    }

    /// Whether it tells what calls gave.
    pub fn has_results(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, MessageBlock::Result { .. }))
    }

    /// About how many bytes a model reads in it.
    pub fn weight(&self) -> usize {
        let block = |block: &MessageBlock| match block {
            MessageBlock::Text { text }
            | MessageBlock::Thinking { text, .. }
            | MessageBlock::Result { text, .. } => text.len(),
            MessageBlock::Call(call) => call.tool.len() + call.arguments.to_string().len(),
        };
        self.blocks.iter().map(block).sum()
    }

    /// Its text, without what was thought.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            MessageBlock::Text { text } => Some(text.as_str()),
            MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {
                None
            }
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// At most so many characters of a text.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
