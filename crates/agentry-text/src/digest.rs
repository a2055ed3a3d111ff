//! SHA-256 and hexadecimal digits as text. A digest is `sha256:` and 64 lower-case digits.

use sha2::{Digest as _, Sha256};

/// How a digest starts.
pub const PREFIX: &str = "sha256:";

/// Returns the digest of `bytes`.
pub fn of(bytes: impl AsRef<[u8]>) -> String {
    format!("{PREFIX}{}", sha256(bytes))
}

/// Returns only the 64 digits of the digest of `bytes`.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns `bytes` as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' - 10 + value };
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    String::from_utf8(digits).unwrap_or_default()
}

/// Returns the start of a digest, which is enough for people: `sha256:` and 12 digits.
pub fn short(digest: &str) -> String {
    digest.chars().take(PREFIX.len() + 12).collect()
}

/// Returns the digits of a digest; `None` if the text is not one.
pub fn digits(digest: &str) -> Option<&str> {
    digest.strip_prefix(PREFIX).filter(|digits| is_hex(digits, 64))
}

/// Reports whether a text is `count` lower-case hexadecimal digits.
pub fn is_hex(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the bytes that `N` pairs of hexadecimal digits stand for.
pub fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    if !is_hex(digits, N * 2) {
        return None;
    }
    let mut out = [0; N];
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_convert_to_bytes_and_back() {
        let digest = of("abc");
        assert_eq!(
            digest,
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(short(&digest), "sha256:ba7816bf8f01");
        let digits = digits(&digest).unwrap();
        assert_eq!(bytes::<32>(digits).map(|bytes| hex(&bytes)).as_deref(), Some(digits));
        let cases = ["", "sha256:", "sha256:BA", &digest[..70], &digest.to_uppercase(), "sha256:é"];
        for text in cases {
            assert_eq!(super::digits(text), None, "{text}");
        }
    }
}
