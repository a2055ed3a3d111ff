//! Formats calls, tools and messages for a difference.

use super::RecordedTool;
use crate::conversation::{Message, MessageBlock, ToolCall};

/// Formats a call.
pub(super) fn shown(call: &ToolCall) -> String {
    format!("{} {}\n", call.tool, call.arguments)
}

/// Formats a tool.
pub(super) fn written(tool: &RecordedTool) -> String {
    let schema = serde_json::to_string_pretty(&tool.schema).unwrap_or_default();
    format!("{}\n{}\n{schema}\n", tool.name, tool.description)
}

/// Formats a message.
pub(super) fn message_text(message: &Message) -> String {
    let block = |block: &MessageBlock| match block {
        MessageBlock::Text { text } | MessageBlock::Thinking { text, .. } => format!("{text}\n"),
        MessageBlock::Call(call) => shown(call),
        MessageBlock::Result { id, text, failed } => {
            format!("{id}{}: {text}\n", if *failed { " failed" } else { "" })
        }
    };
    message.blocks.iter().map(block).collect()
}
