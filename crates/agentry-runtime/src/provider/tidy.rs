//! Makes a conversation valid for every provider. After a compaction, a cancelled turn or a change of models,
//! results may lack their call, calls may lack a result, and names may be invalid for another provider.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::ProviderRequest;
use crate::conversation::{Message, MessageBlock, MessageRole};

/// Prepares messages for a wire, one by one: every call is followed by its result, and no part is empty.
/// Without tools, calls and results become text.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageTidier {
    /// The calls without a result so far.
    open: Vec<String>,
}

impl MessageTidier {
    /// Returns the next message, and what must come before it.
    pub(super) fn next<'a>(&mut self, message: &'a Message, tools: bool) -> Vec<Cow<'a, Message>> {
        let mut list = Vec::new();
        if !tools {
            list.push(Cow::Owned(calls_as_text(message)));
        } else if message.role == MessageRole::Assistant {
            // Two answers in a row: the calls of the first one need results before the second.
            list.extend(self.rest());
            self.open = message.calls().map(|call| call.id.clone()).collect();
            list.push(Cow::Borrowed(message));
        } else {
            list.push(answering(message, &self.open));
            self.open.clear();
        }
        // Providers reject empty text and messages without parts.
        list.retain_mut(|message| {
            if message.blocks.iter().any(is_empty) {
                message.to_mut().blocks.retain(|block| !is_empty(block));
            }
            !message.blocks.is_empty()
        });
        list
    }

    /// Returns failed results for the calls that have none, at the end of the conversation.
    pub(super) fn rest<'a>(&self) -> Option<Cow<'a, Message>> {
        let blocks: Vec<MessageBlock> = self.open.iter().map(|id| no_result(id)).collect();
        (!blocks.is_empty()).then(|| Cow::Owned(Message { role: MessageRole::User, blocks }))
    }
}

/// Returns the whole conversation, ready for a wire.
pub(super) fn tidied<'a>(request: &ProviderRequest<'a>) -> Vec<Cow<'a, Message>> {
    let mut tidy = MessageTidier::default();
    let tools = !request.tools.is_empty();
    let mut list: Vec<_> =
        request.messages.iter().flat_map(|message| tidy.next(message, tools)).collect();
    list.extend(tidy.rest());
    list
}

fn is_empty(block: &MessageBlock) -> bool {
    matches!(block, MessageBlock::Text { text } if text.trim().is_empty())
}

fn no_result(id: &str) -> MessageBlock {
    MessageBlock::Result { id: id.to_owned(), text: "there is no result".to_owned(), failed: true }
}

/// Returns a message that answers the `open` calls: their results come first, and no others are left.
fn answering<'a>(message: &'a Message, open: &[String]) -> Cow<'a, Message> {
    let results = message.blocks.iter().filter_map(|block| match block {
        MessageBlock::Result { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let results: Vec<&str> = results.collect();
    let leads =
        message.blocks.iter().take(open.len()).all(|it| matches!(it, MessageBlock::Result { .. }));
    if leads && results.len() == open.len() && open.iter().all(|id| results.contains(&id.as_str()))
    {
        return Cow::Borrowed(message);
    }
    let mut blocks = Vec::new();
    for id in open {
        let own = |block: &&MessageBlock| matches!(block, MessageBlock::Result { id: other, .. } if other == id);
        blocks.push(message.blocks.iter().find(own).cloned().unwrap_or_else(|| no_result(id)));
    }
    for block in &message.blocks {
        match block {
            MessageBlock::Result { id, .. } if open.contains(id) => {}
            // A result without its call is kept as text, because its content may still matter.
            other => blocks.push(block_as_text(other)),
        }
    }
    Cow::Owned(Message { role: message.role, blocks })
}

/// Returns a message with calls and results as text.
fn calls_as_text(message: &Message) -> Message {
    let blocks =
        message.blocks.iter().filter(|block| !matches!(block, MessageBlock::Thinking { .. }));
    Message { role: message.role, blocks: blocks.map(block_as_text).collect() }
}

fn block_as_text(block: &MessageBlock) -> MessageBlock {
    let text = match block {
        MessageBlock::Call(call) => format!("(called `{}` with {})", call.tool, call.arguments),
        MessageBlock::Result { text, failed: false, .. } => format!("(a call gave: {text})"),
        MessageBlock::Result { text, failed: true, .. } => format!("(a call failed: {text})"),
        MessageBlock::Text { .. } | MessageBlock::Thinking { .. } => return block.clone(),
    };
    MessageBlock::Text { text }
}

/// Returns where the current exchange begins: after the last message with text of the user.
pub(super) fn present(messages: &[Cow<'_, Message>]) -> usize {
    messages.iter().rposition(|message| has_user_text(message)).map_or(0, |at| at + 1)
}

/// Returns whether a message has text of the user.
pub(super) fn has_user_text(message: &Message) -> bool {
    let text =
        |block: &MessageBlock| matches!(block, MessageBlock::Text { .. }) && !is_empty(block);
    message.role == MessageRole::User && message.blocks.iter().any(text)
}

/// Replaces the characters of a name or id that some providers reject.
pub(super) fn plain(name: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    // Some providers limit names to 64 characters.
    let plain: String = name.chars().take(64).map(sign).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

/// Returns the arguments of a call as a map, which providers require.
pub(super) fn arguments(value: &Value) -> Value {
    if value.is_object() { value.clone() } else { json!({ "arguments": value }) }
}

/// Returns a result as text, for wires that have no field for a failure.
pub(super) fn result(text: &str, failed: bool) -> String {
    if failed { format!("error: {text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Map;

    use super::*;
    use crate::conversation::ToolCall;
    use crate::tool::ToolSpec;

    fn text(text: &str) -> MessageBlock {
        MessageBlock::Text { text: text.to_owned() }
    }

    fn call(id: &str) -> MessageBlock {
        let (id, tool) = (id.to_owned(), "t".to_owned());
        MessageBlock::Call(ToolCall { id, tool, arguments: json!({}), opaque: None })
    }

    fn result(id: &str) -> MessageBlock {
        MessageBlock::Result { id: id.to_owned(), text: "r".to_owned(), failed: false }
    }

    /// Returns a conversation in one line: `u` and `a` for the role, then the parts.
    fn line(messages: &[Cow<'_, Message>]) -> String {
        let part = |block: &MessageBlock| match block {
            MessageBlock::Text { text } => text.clone(),
            MessageBlock::Thinking { .. } => "thinking".to_owned(),
            MessageBlock::Call(call) => format!("+{}", call.id),
            MessageBlock::Result { id, failed: false, .. } => format!("={id}"),
            MessageBlock::Result { id, failed: true, .. } => format!("!{id}"),
        };
        let one = |message: &Cow<'_, Message>| {
            let parts: Vec<_> = message.blocks.iter().map(part).collect();
            let speaker = if message.role == MessageRole::User { "u" } else { "a" };
            format!("{speaker}[{}]", parts.join(" "))
        };
        messages.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_and_results_are_paired() {
        let u = |blocks: Vec<MessageBlock>| Message { role: MessageRole::User, blocks };
        let a = |blocks: Vec<MessageBlock>| Message { role: MessageRole::Assistant, blocks };
        let tool = ToolSpec { name: "t".to_owned(), description: String::new(), schema: json!({}) };
        let some = std::slice::from_ref(&tool);
        let cases = [
            (vec![u(vec![text("hi")]), a(vec![text("")]), u(vec![text("x")])], some, "u[hi] u[x]"),
            (
                vec![a(vec![call("1"), call("2")]), u(vec![result("1"), result("2")])],
                some,
                "a[+1 +2] u[=1 =2]",
            ),
            (vec![u(vec![result("1")])], some, "u[(a call gave: r)]"),
            (
                vec![a(vec![call("1"), call("2")]), u(vec![text("x"), result("2")])],
                some,
                "a[+1 +2] u[!1 =2 x]",
            ),
            (vec![a(vec![call("1")]), a(vec![text("x")])], some, "a[+1] u[!1] a[x]"),
            (vec![a(vec![call("1")])], some, "a[+1] u[!1]"),
            (
                vec![a(vec![call("1")]), u(vec![result("1")])],
                &[],
                "a[(called `t` with {})] u[(a call gave: r)]",
            ),
        ];
        for (messages, tools, expected) in cases {
            let extra = Map::new();
            let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
            let request = ProviderRequest {
                model: "m",
                system: "",
                messages: &messages,
                tools,
                temperature: None,
                most_output: 1,
                extra: &extra,
            };
            assert_eq!(line(&tidied(&request)), expected);
        }
    }

    #[test]
    fn tool_names_are_made_valid() {
        let cases =
            [("read_file", "read_file"), ("functions.read:0", "functions_read_0"), ("", "unknown")];
        for (name, expected) in cases {
            assert_eq!(plain(name), expected, "{name}");
        }
    }
}
