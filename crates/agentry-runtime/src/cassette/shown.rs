//! What a difference shows, in words.

use super::Tool;
use crate::conversation::{Block, Call, Message};

/// A call, for people.
pub(super) fn shown(call: &Call) -> String {
    format!("{} {}\n", call.tool, call.arguments)
}

/// A tool, for people.
pub(super) fn written(tool: &Tool) -> String {
    let schema = serde_json::to_string_pretty(&tool.schema).unwrap_or_default();
    format!("{}\n{}\n{schema}\n", tool.name, tool.description)
}

/// A message, for people.
pub(super) fn said(message: &Message) -> String {
    let block = |block: &Block| match block {
        Block::Text { text } | Block::Thinking { text, .. } => format!("{text}\n"),
        Block::Call(call) => shown(call),
        Block::Result { id, text, failed } => {
            format!("{id}{}: {text}\n", if *failed { " failed" } else { "" })
        }
    };
    message.blocks.iter().map(block).collect()
}
