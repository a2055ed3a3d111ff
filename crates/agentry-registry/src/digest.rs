//! SHA-256 as the store writes it: `sha256:` and 64 lower-case digits.

use agentry_compile::model::digest::hex;
use sha2::{Digest as _, Sha256};

/// How a full digest starts.
pub(crate) const PREFIX: &str = "sha256:";

/// The digest of `bytes`.
pub(crate) fn of(bytes: &[u8]) -> String {
    format!("{PREFIX}{}", hex(&Sha256::digest(bytes)))
}

/// The digits of a full digest, or `None` if the text is not one.
pub(crate) fn digits(digest: &str) -> Option<&str> {
    digest.strip_prefix(PREFIX).filter(|digits| is_hex(digits, 64))
}

/// Whether a text is `count` lower-case hexadecimal digits.
pub(crate) fn is_hex(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The bytes that `N` pairs of hexadecimal digits stand for.
pub(crate) fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
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
        let digest = of(b"abc");
        assert_eq!(
            digest,
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let digits = digits(&digest).unwrap();
        assert_eq!(bytes::<32>(digits).map(|bytes| hex(&bytes)).as_deref(), Some(digits));
        let cases = ["", "sha256:", "sha256:BA", &digest[..70], &digest.to_uppercase(), "sha256:é"];
        for text in cases {
            assert_eq!(super::digits(text), None, "{text}");
        }
    }
}
