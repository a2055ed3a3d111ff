//! The seal of a receipt: its digest and its signature, as the last two lines of its text.

use agentry_compile::text::digest::{self, hex};
use agentry_registry::{PublicKey, SecretKey};

const DIGEST: &str = "digest: \"";
const SIGNATURE: &str = "signature: \"";
/// The digits of a signature.
const SIGNATURE_DIGITS: usize = 128;

/// Adds digest and signature to the body of a receipt.
pub(super) fn seal(body: &str, key: &SecretKey) -> String {
    let digest = digest::of(body.as_bytes());
    let signature = hex(&key.sign(&receipt_message(&digest)));
    format!("{body}{DIGEST}{digest}\"\n{SIGNATURE}{signature}\"\n")
}

/// A text with its seal apart.
pub(super) struct SealedText<'a> {
    pub(super) body: &'a str,
    digest: &'a str,
    signature: &'a str,
}

impl<'a> SealedText<'a> {
    /// Splits the text of a receipt; `None` if it does not end with a seal.
    pub(super) fn split(text: &'a str) -> Option<Self> {
        let rest = text.strip_suffix("\"\n")?;
        let (rest, signature) = rest.rsplit_once(SIGNATURE)?;
        let rest = rest.strip_suffix("\"\n")?;
        let (body, digest) = rest.rsplit_once(DIGEST)?;
        (body.is_empty() || body.ends_with('\n')).then_some(Self { body, digest, signature })
    }

    /// Returns whether the digest is that of the body.
    pub(super) fn has_own_digest(&self) -> bool {
        self.digest == digest::of(self.body.as_bytes())
    }

    /// Returns whether this key signed it.
    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        is_signed(key, &receipt_message(self.digest), self.signature)
    }
}

/// Signs the head of a chain, so that it cannot be set to another value without the key.
pub(super) fn sign_head(key: &SecretKey, chain: &str, count: u64, hash: &str) -> String {
    hex(&key.sign(&head_message(chain, count, hash)))
}

/// Returns whether this key signed the head of a chain.
pub(super) fn is_signed_head(
    key: &PublicKey,
    (chain, count, hash): (&str, u64, &str),
    signature: &str,
) -> bool {
    is_signed(key, &head_message(chain, count, hash), signature)
}

fn is_signed(key: &PublicKey, message: &[u8], signature: &str) -> bool {
    bytes_of(signature).is_some_and(|signature| key.verifies(message, &signature))
}

fn receipt_message(digest: &str) -> Vec<u8> {
    format!("agentry receipt 1\n{digest}\n").into_bytes()
}

fn head_message(chain: &str, count: u64, hash: &str) -> Vec<u8> {
    format!("agentry receipt head 1\n{chain}\n{count}\n{hash}\n").into_bytes()
}

/// The bytes of a signature: exactly its digits, in lower case.
fn bytes_of(digits: &str) -> Option<[u8; 64]> {
    if digits.len() != SIGNATURE_DIGITS {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 64];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}
