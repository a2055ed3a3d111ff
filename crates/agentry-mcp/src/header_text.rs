//! Texts in headers of HTTP, which take only visible ASCII.

/// A text as the value of a header: Base64 in a frame where it could not be sent as it is.
pub(crate) fn header_text(text: &str) -> String {
    let is_framed = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_plain = text.chars().all(|c| matches!(c, ' '..='~'))
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !is_framed;
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", base64(text.as_bytes())) }
}

/// Encodes bytes in the alphabet for addresses, without padding.
pub(crate) fn base64_url(bytes: &[u8]) -> String {
    base64(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// Encodes bytes in the usual alphabet, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            let index = (number >> (18 - 6 * at)) & 63;
            let letter = LETTERS.get(index as usize).copied().unwrap_or(b'=');
            out.push(if at > three.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_texts_are_encoded() {
        let cases = [
            ("plain name", "plain name"),
            ("é", "=?base64?w6k=?="),
            (" a", "=?base64?IGE=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ];
        for (text, expected) in cases {
            assert_eq!(header_text(text), expected, "{text:?}");
        }
    }
}
