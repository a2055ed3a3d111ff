//! Limits on what a model gets to read: how long texts are cut so that they fit the context window.

use std::sync::Arc;

use serde_json::Value;

use crate::conversation::{Message, MessageBlock};

/// The bytes of a token, for estimates.
pub(crate) const BYTES_PER_TOKEN: usize = 4;
/// The context window to assume if it is not known, in tokens.
const USUAL_WINDOW: u64 = 64_000;
/// A text of at most this many bytes is never cut.
const LEAST: usize = 200;
/// The bytes to reserve for the note about what is left out.
const NOTE: usize = 60;
/// The text before the name of the file that has the whole of a cut text.
pub(crate) const KEPT_IN: &str = "all of it is in `";

/// Returns the most bytes of all results of one answer: a quarter of the context window.
pub(crate) fn most_of_results(window: Option<u64>) -> usize {
    let tokens = usize::try_from(window.unwrap_or(USUAL_WINDOW)).unwrap_or(usize::MAX);
    (tokens / 4).saturating_mul(BYTES_PER_TOKEN)
}

/// Returns the most bytes per text, so that all texts together have at most `most`. What short texts do
/// not need goes to the longer ones.
pub(crate) fn fair_share(lengths: &[usize], most: usize) -> usize {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let mut left = most;
    for (at, length) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        // Texts are visited from the shortest, so every later one is at least as long as this one.
        if *length > share {
            return share.max(LEAST);
        }
        left -= length;
    }
    usize::MAX
}

/// Returns the start and the end of a text with more than `most` bytes, with a note in between. The note
/// names the file with the whole text, if `text` has such a note already. `None` if it is short enough.
pub(crate) fn cut(text: &str, most: usize) -> Option<String> {
    cut_from(text, most, None)
}

/// Like [`cut`], but returns the text itself if it is short enough.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    cut(text, most).unwrap_or_else(|| text.to_owned())
}

/// Like [`cut`], for a text that is also in the file `kept`.
pub(crate) fn cut_from(text: &str, most: usize, kept: Option<&str>) -> Option<String> {
    let most = most.max(LEAST);
    if text.len() <= most {
        return None;
    }
    let kept = kept.or_else(|| kept_in(text));
    let kept = kept.map_or(String::new(), |path| format!("; {KEPT_IN}{path}`"));
    // A file name that does not fit the limit is left out.
    let kept = if kept.len() + NOTE < most { kept } else { String::new() };
    let room = most.saturating_sub(NOTE + kept.len());
    // The start gets three quarters: it usually has the most important lines.
    let head = start(text, room / 4 * 3);
    let tail = end(text, room / 4);
    let left_out = text.len() - head.len() - tail.len();
    Some(format!("{head}\n[{left_out} bytes are left out here{kept}]\n{tail}"))
}

/// Returns the file that has the whole of a cut text, if the text names one.
pub(crate) fn kept_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(KEPT_IN)?;
    rest.split_once('`').map(|(path, _)| path)
}

/// Estimates the bytes that a model reads in all messages.
pub(crate) fn weight(messages: &[Arc<Message>]) -> usize {
    messages.iter().map(|message| message.weight()).sum()
}

/// Cuts the longest texts, until all messages together have at most `most` bytes or nothing more can be
/// cut. Returns whether anything was cut.
pub(crate) fn shorten(messages: &mut [Arc<Message>], most: usize) -> bool {
    let mut lengths = Vec::new();
    pieces(messages, &mut |text| lengths.push(text.len()));
    let rest = weight(messages).saturating_sub(lengths.iter().sum());
    let share = fair_share(&lengths, most.saturating_sub(rest));
    let mut changed = false;
    pieces(messages, &mut |text| {
        if let Some(short) = cut(text, share)
            && short.len() < text.len()
        {
            *text = short;
            changed = true;
        }
    });
    changed
}

/// Visits every text that may be cut. Reasoning may not: some providers require it back unchanged.
fn pieces(messages: &mut [Arc<Message>], take: &mut dyn FnMut(&mut String)) {
    for message in messages {
        for block in &mut Arc::make_mut(message).blocks {
            match block {
                MessageBlock::Result { text, .. } | MessageBlock::Text { text } => take(text),
                MessageBlock::Call(call) => strings(&mut call.arguments, take),
                MessageBlock::Thinking { .. } => {}
            }
        }
    }
}

/// Visits the strings in a JSON value. The recursion is bounded by the depth limit of the JSON parser.
fn strings(value: &mut Value, take: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter_mut().for_each(|item| strings(item, take)),
        Value::Object(fields) => fields.values_mut().for_each(|item| strings(item, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns at most `most` bytes from the start of a text, cut between characters.
pub(crate) fn start(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns at most `most` bytes from the end of a text, cut between characters.
pub(crate) fn end(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{MessageRole, ToolCall};
    use serde_json::json;

    #[test]
    fn short_texts_leave_their_share_to_long_ones() {
        let cases: &[(&[usize], usize, usize)] = &[
            (&[], 10, usize::MAX),
            (&[100, 200, 300], 600, usize::MAX),
            // The short text leaves its rest to the long ones.
            (&[1_000, 9_000, 9_000], 7_000, 3_000),
            (&[9_000, 9_000, 9_000], 3_000, 1_000),
            (&[9_000, 9_000], 10, LEAST),
        ];
        for (lengths, most, expected) in cases {
            assert_eq!(fair_share(lengths, *most), *expected, "{lengths:?}");
        }
    }

    #[test]
    fn a_cut_text_names_the_file_with_all_of_it() {
        assert_eq!(cut("short", 0), None);
        assert_eq!(shortened("short", 0), "short");
        let long = "ä".repeat(1_000);
        let short = cut(&long, 500).expect("a cut");
        assert!(short.len() <= 500 && short.contains(" bytes are left out here]"), "{short}");
        assert!(short.starts_with('ä') && short.ends_with('ä'), "{short}");
        let kept = format!("{long}\n[5 bytes are left out here; {KEPT_IN}/run/1.txt`]\n{long}");
        let short = cut(&kept, 500).expect("a cut");
        assert!(short.len() <= 500 && short.contains("; all of it is in `/run/1.txt`]"), "{short}");
    }

    #[test]
    fn shortening_cuts_the_longest_pieces() {
        let call = |text: &str| {
            let arguments = json!({ "path": "a", "content": [text] });
            MessageBlock::Call(ToolCall {
                id: "c".into(),
                tool: "t".into(),
                arguments,
                opaque: None,
            })
        };
        let result =
            |text: String| MessageBlock::Result { id: "c".to_owned(), text, failed: false };
        let thinking = MessageBlock::Thinking { text: "z".repeat(900), opaque: None };
        let messages = vec![
            Message::user("q".repeat(300)),
            Message {
                role: MessageRole::Assistant,
                blocks: vec![thinking, call(&"y".repeat(5_000))],
            },
            Message { role: MessageRole::User, blocks: vec![result("x".repeat(9_000))] },
        ];
        let mut messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        assert!(shorten(&mut messages, 4_000));
        let weight = super::weight(&messages);
        assert!((2_500..=4_000).contains(&weight), "{weight}");
        assert_eq!(*messages[0], Message::user("q".repeat(300)), "the short one is whole");
        assert_eq!(
            messages[1].blocks[0].clone(),
            MessageBlock::Thinking { text: "z".repeat(900), opaque: None }
        );
        assert!(!shorten(&mut messages, 4_000), "once is enough");
        // Even with a tiny limit, shortening ends.
        while shorten(&mut messages, 10) {}
        assert!(super::weight(&messages) < 2_000);
    }
}
