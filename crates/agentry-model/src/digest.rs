//! The digest of an agent: SHA-256 of its canonical JSON (RFC 8785).

use agentry_text::Data;
use sha2::{Digest as _, Sha256};

/// The canonical JSON of `data`: keys sorted, numbers and strings in their one form.
pub fn canonical_json(data: &Data) -> Vec<u8> {
    serde_jcs::to_vec(&data.to_json()).unwrap_or_default()
}

/// `sha256:` and the digest of the canonical JSON of `data`.
pub fn full(data: &Data) -> String {
    bytes(&canonical_json(data))
}

/// `sha256:` and the digest of `bytes`.
pub fn bytes(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
