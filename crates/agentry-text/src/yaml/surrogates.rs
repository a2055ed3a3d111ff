//! Surrogate pairs in escapes, which JSON allows and the parser does not: `"\ud83d\ude80"` is one
//! character. The parser gets escapes for private characters in their place.

use std::borrow::Cow;

use saphyr_parser::ScalarStyle;

/// Shifts `\ud8…`–`\udf…` to `\ue8…`–`\uef…`: escapes of the same length, and valid characters.
const SHIFT: u32 = 0xE800 - 0xD800;

/// Returns the text with every surrogate pair replaced. `None` if there is no pair, or if the text
/// already contains such private characters.
pub(super) fn disguised(text: &str) -> Option<String> {
    // `contains` is much faster than looking at each escape.
    let pairs: Vec<usize> = if text.contains("\\u") { pairs(text).collect() } else { Vec::new() };
    if pairs.is_empty() || is_taken(text) {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for half in pairs.into_iter().flat_map(|at| [at + 2, at + 8]) {
        // `d` becomes `e`, `D` becomes `E`.
        if let Some(byte) = bytes.get_mut(half) {
            *byte += 1;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Restores the original text of a scalar.
pub(super) fn revealed(text: Cow<'_, str>, style: ScalarStyle) -> Cow<'_, str> {
    if style == ScalarStyle::DoubleQuoted {
        if text.chars().any(is_disguise) { Cow::Owned(joined(&text)) } else { text }
    } else if text.contains("\\u") {
        Cow::Owned(spelt_out(&text))
    } else {
        text
    }
}

/// Returns the offsets of surrogate pairs. An escaped backslash starts none.
fn pairs(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let half = |at: usize, second: &[u8]| {
        let part = bytes.get(at..at + 6).unwrap_or_default();
        matches!(part, [b'\\', b'u', b'd' | b'D', kind, rest @ ..]
            if second.contains(kind) && rest.iter().all(u8::is_ascii_hexdigit))
    };
    text.match_indices("\\u").map(|(at, _)| at).filter(move |at| {
        let before = bytes.get(..*at).unwrap_or_default();
        let escapes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        escapes % 2 == 0 && half(*at, b"89abAB") && half(at + 6, b"cdefCDEF")
    })
}

/// Reports whether the text already contains characters of the replacement range.
fn is_taken(text: &str) -> bool {
    let escaped = |(at, _): (usize, &str)| {
        let part = text.as_bytes().get(at + 2..at + 4).unwrap_or_default();
        matches!(part, [b'e' | b'E', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'])
    };
    text.chars().any(is_disguise) || text.match_indices("\\u").any(escaped)
}

fn is_disguise(c: char) -> bool {
    matches!(c, '\u{E800}'..='\u{EFFF}')
}

fn joined(text: &str) -> String {
    let unit = |c: char| u16::try_from(u32::from(c) - SHIFT).unwrap_or(0xFFFD);
    let mut units = Vec::with_capacity(text.len());
    for c in text.chars() {
        if is_disguise(c) {
            units.push(unit(c));
        } else {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        }
    }
    String::from_utf16_lossy(&units)
}

/// Restores escapes outside of double quotes, where a backslash is ordinary text.
fn spelt_out(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (at, _) in text.match_indices("\\u") {
        let half = matches!(
            text.as_bytes().get(at + 2..at + 4),
            Some([b'e' | b'E', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'])
        );
        if let Some(byte) = bytes.get_mut(at + 2).filter(|_| half) {
            *byte -= 1;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::yaml::{YamlVersion, parse};
    use crate::{Findings, SourceFile, source::FileId};

    fn read(text: &str) -> Result<String, String> {
        let source = SourceFile::new(FileId(0), "x.yaml", text);
        let mut findings = Findings::default();
        let node = parse(&source, 0..text.len(), YamlVersion::V1_1, &mut findings);
        match findings.iter().next() {
            Some(found) => Err(found.message.clone()),
            None => Ok(node.to_data().to_json().to_string()),
        }
    }

    #[test]
    fn escaped_surrogate_pairs_are_joined() {
        let cases = [
            (r#"{"a": "x\ud83d\ude80y"}"#, Ok(r#"{"a":"x🚀y"}"#)),
            (r#"a: "\uD83D\uDE80\ud83d\ude80""#, Ok(r#"{"a":"🚀🚀"}"#)),
            (r#""\ud83d\ude80": 1"#, Ok(r#"{"🚀":1}"#)),
            (r"a: '\ud83d\ude80'", Ok(r#"{"a":"\\ud83d\\ude80"}"#)),
            (
                "a: |\n  \\uD83D\\ude80\nb: \"\\ud83d\\ude80\"",
                Ok("{\"a\":\"\\\\uD83D\\\\ude80\\n\",\"b\":\"🚀\"}"),
            ),
            (r#"a: "\\ud83d""#, Ok(r#"{"a":"\\ud83d"}"#)),
            (r#"a: "\ud83d""#, Err("`\\ud83d` is one half of a character")),
            (r#"a: "\ude80\ud83d""#, Err("`\\ude80` is one half of a character")),
            (r#"a: "\\ud83d\ude80""#, Err("`\\ude80` is one half of a character")),
        ];
        for (text, expected) in cases {
            let found = read(text);
            let found = found.as_ref().map(String::as_str).map_err(String::as_str);
            assert_eq!(found, expected, "{text}");
        }
    }
}
