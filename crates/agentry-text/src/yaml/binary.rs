//! Base64 as Python's lenient decoder reads it: other characters are skipped, and text after the
//! padding is ignored.

/// Decodes `text`; `None` if it is not ASCII or its last group is incomplete.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut position, mut pads, mut left) = (0_u8, 0_u8, 0_u8);
    for byte in text.bytes() {
        if byte == b'=' {
            pads = pads.saturating_add(1);
            // Enough padding completes the group; Python ignores everything after it.
            if position >= 2 && position + pads.min(4) >= 4 {
                return Some(out);
            }
            continue;
        }
        let Some(value) = value_of(byte) else { continue };
        // Python counts only padding characters that follow each other.
        pads = 0;
        match position {
            0 => {}
            1 => out.push(left << 2 | value >> 4),
            2 => out.push(left << 4 | value >> 2),
            _ => out.push(left << 6 | value),
        }
        left = value;
        position = (position + 1) % 4;
    }
    (position == 0).then_some(out)
}

/// Returns the six bits of a character; `None` for one that is skipped.
fn value_of(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base64_is_decoded_leniently() {
        let cases: &[(&str, Option<&[u8]>)] = &[
            ("", Some(b"")),
            ("aGk=", Some(b"hi")),
            ("aGVsbG8=", Some(b"hello")),
            (" aGVs\nbG8= ", Some(b"hello")),
            ("YQ==", Some(b"a")),
            ("YQ==YQ==", Some(b"a")),
            ("YQ=", None),
            ("YQ", None),
            ("Y", None),
            ("=", Some(b"")),
            ("/w==", Some(&[0xFF])),
            ("é", None),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(text).as_deref(), *expected, "{text:?}");
        }
    }
}
