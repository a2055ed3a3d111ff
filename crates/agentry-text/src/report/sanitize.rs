//! Makes untrusted text safe to show: characters that control the terminal or are invisible are escaped.

use std::borrow::Cow;

/// Returns the text with every control, bidi and zero-width character escaped: `\n`, `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) && !text.contains('\u{200D}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    for char in text.chars() {
        push(&mut out, before, char);
        before = Some(char);
    }
    Cow::Owned(out)
}

/// Adds one character, escaped if necessary; `before` is the character before it.
pub(super) fn push(out: &mut String, before: Option<char>, char: char) {
    // A zero-width joiner is part of an emoji; after a letter or a space it only hides text.
    let stray = char == '\u{200D}'
        && before.is_none_or(|char| char.is_ascii() || char.is_alphanumeric() || is_hidden(char));
    if stray || is_hidden(char) {
        match char {
            '\n' | '\r' | '\t' => out.extend(char.escape_default()),
            _ => out.extend(char.escape_unicode()),
        }
    } else {
        out.push(char);
    }
}

/// Reports whether a character controls the terminal, changes the reading order, or is invisible.
pub fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{00AD}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
            | '\u{200B}' | '\u{200C}' | '\u{200E}' | '\u{200F}'
            | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        let cases = [
            ("plain `text`, 日本語, é", "plain `text`, 日本語, é"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{202E}gnp.exe\u{9b}2J", "\\u{202e}gnp.exe\\u{9b}2J"),
            ("pass\u{200D}word", "pass\\u{200d}word"),
            ("\u{1F469}\u{200D}\u{1F680}", "\u{1F469}\u{200D}\u{1F680}"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }
}
