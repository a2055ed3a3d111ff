//! Characters that YAML forbids. The parser would stop at some of them without an error, so the
//! text is cut before the first one and that character is reported.

use super::rules::YAML_SYNTAX;
use crate::diagnostic::Findings;
use crate::hygiene::unusual;
use crate::source::{SourceFile, Span};

/// Returns the offset of the first forbidden character.
pub(super) fn first_forbidden(text: &str) -> Option<usize> {
    unusual(text).find(|(_, found)| is_forbidden(*found)).map(|(at, _)| at)
}

fn is_forbidden(found: char) -> bool {
    match found {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        _ => found.is_control(),
    }
}

/// Reports the character at byte `at` of `source`.
pub(super) fn report(source: &SourceFile, at: usize, findings: &mut Findings) {
    let found = source.text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
    let span = Span::new(source.id, at, at + found.len_utf8());
    let code = u32::from(found);
    findings
        .add(&YAML_SYNTAX, span, format!("the character U+{code:04X} cannot stand in YAML"))
        .hint("leave it out, or write it as an escape sequence between double quotes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_forbidden() {
        let cases = [
            ("a: b\n\r\t", None),
            ("a\0b", Some(1)),
            ("é\u{7f}", Some(2)),
            ("é\u{9f}", Some(2)),
            ("\u{85}", None),
            ("a\u{2028}", None),
            ("\u{ffff}", Some(0)),
            ("\u{feff}\u{1f680}", None),
        ];
        for (text, expected) in cases {
            assert_eq!(first_forbidden(text), expected, "{text:?}");
        }
    }
}
