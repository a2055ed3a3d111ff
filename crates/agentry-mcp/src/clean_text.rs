//! Text of a server without what could deceive a reader: commands to a terminal, characters that cannot be
//! seen, and characters that change the order of others.

use std::str::Chars;

use agentry_text::hygiene;
use agentry_text::report::is_hidden;
use serde_json::Value;

/// A cleaned text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanText {
    /// The text.
    pub text: String,
    /// How many characters were removed.
    pub removed: usize,
}

/// Removes terminal sequences, control, bidi, tag and other invisible characters.
pub fn clean(text: &str) -> CleanText {
    let mut out = text.to_owned();
    // Removing a character can make a sequence or a broken emoji of its neighbours, so it is repeated. A
    // text only gets shorter; what is hidden deeper than this is not worth keeping in part.
    for _ in 0..16 {
        let next = cleaned_once(&out);
        if next.len() == out.len() {
            break;
        }
        out = next;
    }
    let removed = text.chars().count().saturating_sub(out.chars().count());
    CleanText { text: out, removed }
}

fn cleaned_once(text: &str) -> String {
    let text = without_sequences(text);
    let text = hygiene::cleaned(&text);
    let is_shown = |c: &char| matches!(c, '\n' | '\t' | '\u{200D}') || !is_hidden(*c);
    text.chars().filter(is_shown).collect()
}

/// Cleans a text and cuts it to at most `most` bytes.
pub(crate) fn clean_start(text: &str, most: usize) -> CleanText {
    let CleanText { mut text, removed } = clean(text);
    if text.len() > most {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    CleanText { text, removed }
}

/// Cleans every text in a value, and returns how many characters were removed. Returns an error for a key
/// that has such characters, because a value without it would mean something else.
pub fn clean_value(value: &mut Value) -> Result<usize, String> {
    match value {
        Value::String(text) => {
            let CleanText { text: clean, removed } = clean(text);
            *text = clean;
            Ok(removed)
        }
        Value::Array(items) => items.iter_mut().map(clean_value).sum(),
        Value::Object(fields) => {
            if let Some(key) = fields.keys().find(|key| clean(key).removed > 0) {
                return Err(format!("the key `{}` has hidden characters", clean(key).text));
            }
            fields.values_mut().map(clean_value).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(0),
    }
}

/// Removes whole terminal sequences; without their first character the rest would stay as text.
fn without_sequences(text: &str) -> String {
    if !text.contains(['\u{1b}', '\u{9b}', '\u{9d}', '\u{90}']) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control(&mut rest),
            '\u{9d}' | '\u{90}' => skip_string(&mut rest),
            c => out.push(c),
        }
    }
    out
}

/// Skips what follows an escape character.
fn skip_escape(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_control(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            skip_string(rest);
        }
        // A sequence of two characters, unless the second is a line break.
        Some(c) if !c.is_control() && c.is_ascii() => *rest = ahead,
        _ => {}
    }
}

/// Skips the parameters and the final character of a control sequence. A sequence that is not valid ends
/// at its first wrong character.
fn skip_control(rest: &mut Chars<'_>) {
    const LONGEST: usize = 64;
    for _ in 0..LONGEST {
        let mut ahead = rest.clone();
        match ahead.next() {
            Some(' '..='?') => *rest = ahead,
            Some('@'..='~') => {
                *rest = ahead;
                return;
            }
            _ => return,
        }
    }
}

/// Skips a string for the terminal, such as a title or a link, up to its end. Without an end within a line
/// only the start is skipped, so that a server cannot hide the rest of its text.
fn skip_string(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            '\u{7}' | '\u{9c}' => {
                *rest = ahead;
                return;
            }
            '\u{1b}' if ahead.clone().next() == Some('\\') => {
                ahead.next();
                *rest = ahead;
                return;
            }
            '\n' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_characters_are_removed() {
        let cases = [
            ("plain\ntext\t, é, 日本語", "plain\ntext\t, é, 日本語"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{9b}2Jgone", "gone"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]no end\nnext", "no end\nnext"),
            ("\u{1b}(Bx", "Bx"),
            ("\u{1b}", ""),
            ("a\u{202E}b\u{2066}c", "abc"),
            ("\u{E0069}\u{E0067}n", "n"),
            ("a\u{200B}b\u{FEFF}", "ab"),
            ("x\u{E0100}\u{E01EF}y", "xy"),
            ("\u{1F469}\u{200D}\u{1F4BB}", "\u{1F469}\u{200D}\u{1F4BB}"),
            ("a\r\nb\0\u{7}", "a\nb"),
        ];
        for (text, expected) in cases {
            let found = clean(text);
            assert_eq!(found.text, expected, "{text:?}");
            let removed = text.chars().count() - expected.chars().count();
            assert_eq!(found.removed, removed, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(clean_start("ääää", 5).text, "ää…");
        assert_eq!(clean_start("ab", 5).text, "ab");
    }

    #[test]
    fn values_are_cleaned_and_keys_refused() {
        let mut value = json!({"a": ["x\u{202E}", {"b": "\u{1b}[1my"}], "n": 1});
        assert_eq!(clean_value(&mut value), Ok(5));
        assert_eq!(value, json!({"a": ["x", {"b": "y"}], "n": 1}));
        let mut value = json!({"a\u{200B}": 1});
        assert!(clean_value(&mut value).is_err());
    }

    proptest! {
        #[test]
        fn cleaning_is_idempotent(text in any::<String>()) {
            let once = clean(&text).text;
            prop_assert_eq!(clean(&once), CleanText { text: once, removed: 0 });
        }

        #[test]
        fn cleaned_text_has_no_terminal_commands(
            text in "[a\u{1b}\u{9b}\\[\\]m;\u{7}\u{202E}\u{E0061}\u{200D}\n]{0,20}"
        ) {
            let found = clean(&text).text;
            let shown = |c: char| matches!(c, '\n' | '\t' | '\u{200D}') || !is_hidden(c);
            prop_assert!(found.chars().all(shown), "{:?}", found);
        }
    }
}
