//! Scalars in single or double quotes.

use std::borrow::Cow;

use super::YamlRefusal;
use super::reader::{DOCUMENT_MARKS, is_break};
use super::scan::{ScalarParts, YamlScanner, ends_word};

const OPEN: &str = "the quote is never closed";

impl<'t> YamlScanner<'t> {
    /// Reads a scalar between two `quote`s.
    pub(super) fn quoted(&mut self, quote: char) -> Result<Cow<'t, str>, YamlRefusal> {
        let mut text = ScalarParts::default();
        self.reader.forward();
        loop {
            self.quoted_words(quote, &mut text)?;
            if self.reader.peek() == Some(quote) {
                self.reader.forward();
                return Ok(text.finish());
            }
            self.quoted_spaces(&mut text)?;
        }
    }

    fn quoted_words(&mut self, quote: char, text: &mut ScalarParts<'t>) -> Result<(), YamlRefusal> {
        let is_double = quote == '"';
        loop {
            let is_text = |c: char| c != quote && !(is_double && c == '\\') && !ends_word(c);
            text.push(self.reader.take_while(is_text));
            match self.reader.peek() {
                // In single quotes, `''` is the only escape.
                Some('\'') if !is_double && self.reader.second() == Some('\'') => {
                    text.push("'");
                    self.reader.take(2);
                }
                Some('\\') if is_double => self.escape(text)?,
                _ => return Ok(()),
            }
        }
    }

    fn escape(&mut self, text: &mut ScalarParts<'t>) -> Result<(), YamlRefusal> {
        let Some(found) = self.reader.second() else { return Err(self.reader.refuse(OPEN)) };
        // A backslash at the end of a line joins it to the next one without a space.
        if is_break(found) {
            self.reader.forward();
            self.reader.line_break();
            return self.quoted_breaks(text).map(|_| ());
        }
        if let Some(digits) = digits(found) {
            return self.numbered(digits, text);
        }
        let Some(meant) = meaning(found) else {
            return Err(self.reader.refuse("this is not an escape sequence"));
        };
        text.push_char(meant);
        self.reader.take(2);
        Ok(())
    }

    /// Reads `\x41` and its longer forms. A surrogate pair, as JSON writes it, is one character.
    fn numbered(&mut self, digits: usize, text: &mut ScalarParts<'t>) -> Result<(), YamlRefusal> {
        let refusal = self.reader.refuse("this escape sequence names no character");
        let code = code_at(self.reader.rest(), digits).ok_or(refusal)?;
        let mut length = 2 + digits;
        let mut meant = char::from_u32(code);
        if (0xD800..0xDC00).contains(&code) {
            let after = self.reader.rest().get(length..).unwrap_or("");
            let width = after.chars().nth(1).and_then(self::digits).unwrap_or(0);
            let low = code_at(after, width).filter(|low| (0xDC00..0xE000).contains(low));
            meant = low.and_then(|low| {
                char::from_u32(0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00))
            });
            length += 2 + width;
        }
        text.push_char(meant.ok_or(refusal)?);
        self.reader.take(length);
        Ok(())
    }

    /// Takes spaces, or a line break with the text that folding makes of it.
    fn quoted_spaces(&mut self, text: &mut ScalarParts<'t>) -> Result<(), YamlRefusal> {
        let blanks = self.reader.take_while(|c| matches!(c, ' ' | '\t'));
        if self.reader.peek().is_none() {
            return Err(self.reader.refuse(OPEN));
        }
        let Some(first) = self.reader.line_break() else {
            text.push(blanks);
            return Ok(());
        };
        if first != "\n" {
            text.push(first);
        }
        let any = self.quoted_breaks(text)?;
        if first == "\n" && !any {
            text.push(" ");
        }
        Ok(())
    }

    /// Takes empty lines and indentation; returns whether there were any line breaks.
    fn quoted_breaks(&mut self, text: &mut ScalarParts<'t>) -> Result<bool, YamlRefusal> {
        let mut any = false;
        loop {
            // `PyYAML` refuses these lines even inside quotes.
            if self.reader.at_document_mark(DOCUMENT_MARKS) {
                return Err(self.reader.refuse("a quoted text cannot hold this line"));
            }
            self.reader.take_while(|c| matches!(c, ' ' | '\t'));
            let Some(found) = self.reader.line_break() else { return Ok(any) };
            text.push(found);
            any = true;
        }
    }
}

/// Returns the character that a backslash and this character stand for.
fn meaning(found: char) -> Option<char> {
    Some(match found {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '\\' | '/' => found,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}

/// Returns how many digits follow a backslash and this character.
fn digits(found: char) -> Option<usize> {
    match found {
        'x' => Some(2),
        'u' => Some(4),
        'U' => Some(8),
        _ => None,
    }
}

/// Returns the code of an escape sequence with this number of digits.
fn code_at(text: &str, digits: usize) -> Option<u32> {
    let digits = text.strip_prefix('\\')?.get(1..=digits)?;
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if all { u32::from_str_radix(digits, 16).ok() } else { None }
}
