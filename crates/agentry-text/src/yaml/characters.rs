//! Characters that YAML forbids. The parser would stop at some of them without a word, so the text
//! is cut before the first one and the cut is reported.

use super::Version;
use super::rules::YAML_SYNTAX;
use crate::diagnostic::Findings;
use crate::hygiene::unusual;
use crate::source::{Source, Span};

/// Where the first forbidden character stands.
pub(super) fn first_forbidden(text: &str, version: Version) -> Option<usize> {
    unusual(text).find(|(_, found)| is_forbidden(*found, version)).map(|(at, _)| at)
}

/// Control characters; in YAML 1.1 also the line breaks that 1.2 reads as text.
fn is_forbidden(found: char, version: Version) -> bool {
    match found {
        '\t' | '\n' | '\r' => false,
        '\u{85}' | '\u{2028}' | '\u{2029}' => version == Version::V1_1,
        '\u{fffe}' | '\u{ffff}' => true,
        _ => found.is_control(),
    }
}

/// Reports the character at byte `at` of `source`.
pub(super) fn report(source: &Source, at: usize, findings: &mut Findings) {
    let found = source.text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
    let span = Span::new(source.id, at, at + found.len_utf8());
    let code = u32::from(found);
    findings
        .add(&YAML_SYNTAX, span, format!("the character U+{code:04X} cannot stand in YAML"))
        .hint("leave it out, or write it as an escape sequence between double quotes");
}

#[cfg(test)]
mod tests {
    use super::Version::{V1_1, V1_2};
    use super::*;

    #[test]
    fn control_characters_are_forbidden() {
        let cases = [
            ("a: b\n\r\t", V1_1, None),
            ("a\0b", V1_2, Some(1)),
            ("é\u{7f}", V1_2, Some(2)),
            ("é\u{9f}", V1_2, Some(2)),
            ("\u{85}", V1_2, None),
            ("\u{85}", V1_1, Some(0)),
            ("a\u{2028}", V1_1, Some(1)),
            ("\u{ffff}", V1_1, Some(0)),
            ("\u{feff}\u{1f680}", V1_1, None),
        ];
        for (text, version, expected) in cases {
            assert_eq!(first_forbidden(text, version), expected, "{text:?}");
        }
    }
}
