//! The messages of a run, in one form for every provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The user, or the results of tools.
    User,
    /// The language model.
    Assistant,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who it is from.
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
        /// The text.
        text: String,
    },
    /// The model's reasoning. Some providers require it back unchanged.
    Thinking {
        /// The readable part.
        text: String,
        /// What the provider needs to recognise it, such as a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// A tool call.
    Call(ToolCall),
    /// The result of a tool call.
    Result {
        /// The id of the call.
        id: String,
        /// The text that the model gets.
        text: String,
        /// Whether it failed or was refused.
        failed: bool,
    },
}

/// A tool call, as the model made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the result to the call; unique in a run.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// Its arguments; a JSON string if they could not be parsed as JSON.
    pub arguments: Value,
    /// What the provider needs to recognise the call, beside its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
}

/// The tokens and money that a turn used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Input tokens that came from a cache.
    pub cached: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// The cost in millionths of a US dollar; `None` if no price is known.
    pub cost: Option<u64>,
}

impl TokenUsage {
    /// Returns whether no token was used.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Message {
    /// Creates a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, blocks: vec![MessageBlock::Text { text: text.into() }] }
    }

    /// Returns its tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            MessageBlock::Call(call) => Some(call),
            MessageBlock::Text { .. }
            | MessageBlock::Thinking { .. }
            | MessageBlock::Result { .. } => None,
        })
    }

    /// Returns whether it has results of tool calls.
    pub fn has_results(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, MessageBlock::Result { .. }))
    }

    /// Returns about how many bytes the model reads in it.
    pub fn weight(&self) -> usize {
        let block = |block: &MessageBlock| match block {
            MessageBlock::Text { text }
            | MessageBlock::Thinking { text, .. }
            | MessageBlock::Result { text, .. } => text.len(),
            MessageBlock::Call(call) => call.tool.len() + call.arguments.to_string().len(),
        };
        self.blocks.iter().map(block).sum()
    }

    /// Returns its text, without the reasoning.
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
