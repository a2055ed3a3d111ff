//! A known secret, and the encodings in which it may appear.

use std::collections::BTreeSet;

use agentry_compile::policy::commands::variables::{VariableEffect, setting_to};
use agentry_compile::text::digest::hex;

/// A known secret: the value of a granted variable, or the key of a provider.
#[derive(Clone)]
pub struct KnownSecret {
    /// Its name, for the mark.
    pub name: String,
    value: String,
}

/// Shorter values appear in ordinary text.
const LEAST: usize = 6;
/// The least bytes of one line of a secret with several lines.
const LEAST_OF_A_LINE: usize = 16;
/// Variables whose values are not secret.
const KNOWN: &[&str] = &[
    "HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ",
    "TMPDIR", "EDITOR", "PAGER", "HOSTNAME", "DISPLAY", "CI",
];

impl std::fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

impl KnownSecret {
    /// Creates a secret. `None` if its value is not secret, or too short to be distinguished from other text.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Option<Self> {
        let (name, value) = (name.into(), value.into().trim().to_owned());
        let is_known = KNOWN.contains(&name.as_str())
            || setting_to(&name, Some(&value)) == VariableEffect::Harmless
            // A word such as `production` is in ordinary text; only the name can mark it as secret.
            || (is_word(&value) && !sounds_secret(&name));
        (!is_known && value.len() >= LEAST).then_some(Self { name, value })
    }

    /// Returns the secret as it is, percent-encoded, in base 64, in hexadecimal, and line by line.
    pub(super) fn forms(&self) -> BTreeSet<String> {
        let value = &self.value;
        let mut forms = BTreeSet::from([value.clone(), percent(value)]);
        let lines = value.lines().map(str::trim).filter(|line| line.len() >= LEAST_OF_A_LINE);
        forms.extend(lines.map(str::to_owned));
        let bytes = value.as_bytes();
        let hex = hex(bytes);
        forms.insert(hex.to_uppercase());
        forms.insert(hex);
        // In base 64 the text depends on the position of the secret in a group of three bytes.
        for shift in 0..3 {
            let inside = base64_inside(bytes, shift);
            if inside.len() >= LEAST {
                forms.insert(inside.replace('+', "-").replace('/', "_"));
                forms.insert(inside);
            }
        }
        forms
    }
}

/// Returns whether a value is a single word: `production`.
fn is_word(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns whether a variable looks like a credential by its name.
pub fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "PIN"]
        .iter()
        .any(|part| name.contains(part))
}

/// Percent-encodes a value, as in an address.
fn percent(value: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let sign = |byte: u8| {
        if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    value.bytes().map(sign).collect()
}

/// Returns the base 64 digits that depend on `bytes` alone, if `shift` other bytes come before them.
fn base64_inside(bytes: &[u8], shift: usize) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let all: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
    let bit = |at: usize| all.get(at / 8).map_or(0, |byte| (byte >> (7 - at % 8)) & 1);
    let first = (shift * 8).div_ceil(6);
    let last = all.len() * 8 / 6;
    let sign = |at: usize| {
        let index = (0..6).fold(0_usize, |index, n| index * 2 + usize::from(bit(at * 6 + n)));
        char::from(SIGNS.get(index).copied().unwrap_or(b'A'))
    };
    (first..last).map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_values_are_no_secrets() {
        let cases = [
            ("API_KEY", "s3cret-value", true),
            ("API_KEY", "  s3cret \n", true),
            ("API_KEY", "true", false),
            ("HOME", "/home/me", false),
            ("LC_ALL", "en_US.UTF-8", false),
            ("NODE_ENV", "production", false),
            ("STAGE", "production", false),
            ("DB_PASSWORD", "production", true),
            ("RUST_LOG", "info,agentry=debug", false),
        ];
        for (name, value, expected) in cases {
            assert_eq!(KnownSecret::new(name, value).is_some(), expected, "{name}={value}");
        }
    }

    #[test]
    fn base64_of_a_secret_is_found_at_any_offset() {
        // `hunter22` is aHVudGVyMjI=, `xhunter22` eGh1bnRlcjIy, `xyhunter22` eHlodW50ZXIyMg==.
        let cases = [(0, "aHVudGVyMj"), (1, "h1bnRlcjIy"), (2, "odW50ZXIyM")];
        for (shift, expected) in cases {
            assert_eq!(base64_inside(b"hunter22", shift), expected, "{shift}");
        }
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let secret = KnownSecret::new("KEY", "s3cret-value").expect("a secret");
        assert_eq!(format!("{secret:?}"), "KnownSecret { name: \"KEY\", .. }");
    }
}
