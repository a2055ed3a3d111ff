//! Rejects lines by their characters alone, before they are parsed.

/// The longest line that is analysed. Linux gives no program a longer argument, so `bash -c` cannot run it either.
pub(super) const MAX_BYTES: usize = (128 << 10) - 1;

/// Returns why `text` cannot be understood, if its length or its characters show that.
pub(super) fn trouble(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES {
        return Some("the line is too long".to_owned());
    }
    let odd = text.chars().find(|c| is_odd(*c))?;
    Some(format!("`{}` may hide what the line does", odd.escape_unicode()))
}

/// Whether a character is an ambiguous control character, or invisible.
fn is_odd(c: char) -> bool {
    match c {
        '\t' | '\n' => false,
        c if c.is_ascii() => c.is_ascii_control(),
        '\u{80}'..='\u{a0}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{1680}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// Returns the nesting depth of a text, as if no bracket were quoted.
pub(super) fn nesting(text: &str) -> usize {
    let mut depth = 0usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_control_characters_are_rejected() {
        let cases = [
            ("git log", false),
            ("echo 'grün → ✅'", false),
            ("a\tb\nc", false),
            ("a\rb", true),
            ("a\0b", true),
            ("a\u{1b}[0m", true),
            ("a\u{7f}", true),
            ("a\u{200b}b", true),
            ("a\u{202e}b", true),
            ("a\u{a0}b", true),
        ];
        for (text, expected) in cases {
            assert_eq!(trouble(text).is_some(), expected, "{text:?}");
        }
        assert!(trouble(&"x".repeat(MAX_BYTES + 1)).is_some());
    }
}
