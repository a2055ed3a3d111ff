//! References to agents of the store, and how names become file names.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use agentry_compile::StoreRef;
use agentry_compile::text::digest;

use crate::error::StoreError;

/// How a short digest starts.
const SHORT: &str = "ag1:";
/// The longest name or version, in bytes.
const LONGEST: usize = 80;

/// A reference to an agent of the store, as the user writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentReference {
    /// `sha256:…`, `ag1:…` or `name@version`.
    Exact(StoreRef),
    /// A bare name, which means its latest version.
    Latest(String),
}

impl FromStr for AgentReference {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text.starts_with(digest::PREFIX) {
            let fits = digest::digits(text).is_some();
            return if fits {
                Ok(Self::Exact(StoreRef::Full(text.to_owned())))
            } else {
                Err(StoreError::Unfit(format!(
                    "`{text}` is not a digest: `sha256:` is followed by 64 lower-case digits and \
                     letters a–f"
                )))
            };
        }
        if let Some(digits) = text.strip_prefix(SHORT) {
            let fits = !digits.is_empty() && digest::is_hex(digits, digits.len());
            return if fits {
                Ok(Self::Exact(StoreRef::Short(text.to_owned())))
            } else {
                Err(StoreError::Unfit(format!("`{text}` is not a digest of a manifest")))
            };
        }
        // A name cannot contain `@`, so the last one separates the version.
        match text.rsplit_once('@') {
            Some((name, version)) => {
                fits_name(name)?;
                fits_version(version)?;
                let (name, version) = (name.to_owned(), version.to_owned());
                Ok(Self::Exact(StoreRef::Named { name, version }))
            }
            None => {
                fits_name(text)?;
                Ok(Self::Latest(text.to_owned()))
            }
        }
    }
}

impl fmt::Display for AgentReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(StoreRef::Short(text) | StoreRef::Full(text) | StoreRef::Remote(text))
            | Self::Latest(text) => f.write_str(text),
            Self::Exact(StoreRef::Named { name, version }) => write!(f, "{name}@{version}"),
        }
    }
}

/// Refuses a text that cannot be the name of an agent in the store.
pub(crate) fn fits_name(name: &str) -> Result<(), StoreError> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > LONGEST {
        "it is too long"
    } else if name.trim() != name {
        "it starts or ends with a space"
    } else if name.starts_with(['.', '-']) {
        "it starts with a dot or a hyphen"
    } else if name.contains(['/', '\\', '@', ':', '#']) || name.chars().any(char::is_control) {
        "it has one of `/`, `\\`, `@`, `:`, `#` or a control character"
    } else {
        return Ok(());
    };
    Err(StoreError::Unfit(format!("`{name}` cannot be a name in the store: {why}")))
}

/// Refuses a text that cannot be a version in the store.
pub(crate) fn fits_version(version: &str) -> Result<(), StoreError> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
    if !version.is_empty() && version.len() <= LONGEST && version.chars().all(is_fit) {
        return Ok(());
    }
    Err(StoreError::Unfit(format!(
        "`{version}` cannot be a version in the store: use letters, digits, `.`, `+`, `-` and `_`"
    )))
}

/// Escapes a text as a file name. Two texts never get the same one, even where case is ignored.
pub(crate) fn file_name(text: &str) -> String {
    let mut out = String::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => out.push(byte.into()),
            // Windows drops a dot at the end of a name, and `.` and `..` are directories.
            b'.' if at > 0 && at + 1 < text.len() => out.push('.'),
            _ => {
                let _ = write!(out, "%{byte:02x}");
            }
        }
    }
    out
}

/// The text that [`file_name`] escaped, or `None` if it never makes this name.
pub(crate) fn text_of(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let pair = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(pair, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    // Only the canonical spelling counts, or two files could have one name.
    String::from_utf8(bytes).ok().filter(|text| file_name(text) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_references_round_trip() {
        let full = format!("sha256:{}", "0a".repeat(32));
        let named = |name: &str, version: &str| {
            let (name, version) = (name.to_owned(), version.to_owned());
            Some(AgentReference::Exact(StoreRef::Named { name, version }))
        };
        let cases = [
            (full.as_str(), Some(AgentReference::Exact(StoreRef::Full(full.clone())))),
            (
                "ag1:0123456789ab",
                Some(AgentReference::Exact(StoreRef::Short("ag1:0123456789ab".into()))),
            ),
            ("reviewer", Some(AgentReference::Latest("reviewer".into()))),
            ("Legal Advisor@1.0.0", named("Legal Advisor", "1.0.0")),
            ("自我@1", named("自我", "1")),
            ("sha256:12", None),
            ("ag1:", None),
            ("", None),
            ("@1.0.0", None),
            ("a@", None),
            ("../a", None),
            ("a/b@1", None),
            ("a@1/2", None),
            ("/etc/passwd", None),
        ];
        for (text, expected) in cases {
            let reference = text.parse::<AgentReference>().ok();
            assert_eq!(reference, expected, "{text}");
            if let Some(reference) = reference {
                assert_eq!(reference.to_string(), text);
            }
        }
    }

    #[test]
    fn names_convert_to_file_names_and_back() {
        let cases = [
            ("reviewer", "reviewer"),
            ("1.0.0-rc.1", "1.0.0-rc.1"),
            ("Reviewer", "%52eviewer"),
            ("..", "%2e%2e"),
            ("a.", "a%2e"),
            ("a b%", "a%20b%25"),
            ("ä", "%c3%a4"),
        ];
        for (text, expected) in cases {
            assert_eq!(file_name(text), expected, "{text}");
            assert_eq!(text_of(expected).as_deref(), Some(text), "{text}");
        }
        for other in ["%", "%5", "%zz", "A", "%61", "."] {
            assert_eq!(text_of(other), None, "{other}");
        }
    }
}
