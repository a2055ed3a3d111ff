//! Makes untrusted text safe to show: characters that control the terminal or are invisible are escaped.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar as _;

/// The most combining marks on one character. More of them would be drawn over the lines around it.
pub const MOST_MARKS: usize = 4;

/// Returns the text with every control, bidi and zero-width character escaped: `\n`, `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    visible_after("", text)
}

/// Like [`visible`], for a text that goes on where another one ends.
pub fn visible_after<'a>(start: &str, text: &'a str) -> Cow<'a, str> {
    if !text.contains(|char| is_hidden(char) || is_joining(char) || is_mark(char)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = start.chars().next_back();
    let mut marks = start.chars().rev().take(MOST_MARKS).take_while(|char| is_mark(*char)).count();
    for char in text.chars() {
        marks = if is_mark(char) { marks + 1 } else { 0 };
        if marks > MOST_MARKS {
            out.extend(char.escape_unicode());
        } else {
            push(&mut out, before, char);
        }
        before = Some(char);
    }
    Cow::Owned(out)
}

/// Adds one character, escaped if necessary; `before` is the character before it.
pub(super) fn push(out: &mut String, before: Option<char>, char: char) {
    if is_stray(before, char) || is_hidden(char) {
        match char {
            '\n' | '\r' | '\t' => out.extend(char.escape_default()),
            _ => out.extend(char.escape_unicode()),
        }
    } else {
        out.push(char);
    }
}

/// Reports whether a character is drawn onto the one before it.
fn is_mark(char: char) -> bool {
    char >= '\u{300}' && char.width() == Some(0)
}

/// Reports whether a character is shown only as a part of the one before it.
const fn is_joining(char: char) -> bool {
    matches!(char, '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}

/// Reports whether a joining character has nothing to join, so that it only hides data.
fn is_stray(before: Option<char>, char: char) -> bool {
    let Some(before) = before else { return is_joining(char) };
    match char {
        // A zero-width joiner is part of an emoji; after a letter or a space it only hides text.
        '\u{200D}' => before.is_ascii() || before.is_alphanumeric() || is_hidden(before),
        // A variation selector chooses the look of one symbol; the digits are those of keycaps.
        '\u{FE00}'..='\u{FE0F}' => {
            let is_plain = before.is_ascii() && !matches!(before, '0'..='9' | '#' | '*');
            is_plain || is_hidden(before) || is_joining(before)
        }
        _ => false,
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
            ("❤\u{FE0F} 1\u{FE0F}\u{20E3} 葛\u{FE00}", "❤\u{FE0F} 1\u{FE0F}\u{20E3} 葛\u{FE00}"),
            ("a\u{FE01} \u{FE02}", "a\\u{fe01} \\u{fe02}"),
            ("❤\u{FE0F}\u{FE01}\u{FE02}", "❤\u{FE0F}\\u{fe01}\\u{fe02}"),
            ("🏳\u{FE0F}\u{200D}🌈", "🏳\u{FE0F}\u{200D}🌈"),
            ("ที่ न्दि", "ที่ न्दि"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected, "{text:?}");
            // The same in two parts, wherever they are split.
            for (at, _) in text.char_indices() {
                let (start, end) = text.split_at(at);
                let end = visible_after(start, end);
                assert_eq!(visible(start) + end, expected, "{text:?} at {at}");
            }
        }
        let tower = format!("a{}b", "\u{301}".repeat(6));
        let expected = "a\u{301}\u{301}\u{301}\u{301}\\u{301}\\u{301}b";
        assert_eq!(visible(&tower), expected);
        let (start, end) = tower.split_at(5);
        assert_eq!(visible(start) + visible_after(start, end), expected);
    }
}
