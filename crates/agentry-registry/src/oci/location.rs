//! `oci://host/repository[:tag][@sha256:…][#sha256:…]`: where an agent lies in a registry.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use agentry_compile::text::digest;

use super::error::OciError;

/// How a reference starts.
const SCHEME: &str = "oci://";
/// The longest repository, as registries have it.
const LONGEST: usize = 255;
/// The longest tag.
const LONGEST_TAG: usize = 128;

/// A place in a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OciReference {
    /// The host, with its port if one is written.
    pub host: String,
    /// The repository in the registry.
    pub repository: String,
    /// The tag, if one is written.
    pub tag: Option<String>,
    /// The digest of the OCI manifest after `@`.
    pub digest: Option<String>,
    /// The digest of the agent after `#`, as `agentry hash --full` prints it.
    pub content: Option<String>,
}

impl OciReference {
    /// Whether a text is meant as such a reference.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// `host/repository`, as trust settings and credentials name it.
    pub fn place(&self) -> String {
        format!("{}/{}", self.host, self.repository)
    }

    /// Whether the registry runs on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let name = match self.host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => &self.host,
        };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The same place with another tag and no digest.
    pub(crate) fn tagged(&self, tag: &str) -> Self {
        Self { tag: Some(tag.to_owned()), digest: None, content: None, ..self.clone() }
    }

    /// The same place, pinned to a manifest.
    pub(crate) fn pinned(&self, digest: &str) -> Self {
        Self { digest: Some(digest.to_owned()), ..self.clone() }
    }
}

impl FromStr for OciReference {
    type Err = OciError;

    fn from_str(text: &str) -> Result<Self, OciError> {
        let unfit = |why: &str| {
            OciError::Unfit(format!("`{}` is not an OCI reference: {why}", text.escape_debug()))
        };
        let rest =
            text.strip_prefix(SCHEME).ok_or_else(|| unfit("it does not start with `oci://`"))?;
        let (rest, content) = split(rest, '#');
        let (rest, digest) = split(rest, '@');
        for pin in [&content, &digest].into_iter().flatten() {
            digest::digits(pin).ok_or_else(|| unfit("a digest is `sha256:` and 64 digits"))?;
        }
        let (host, rest) = rest.split_once('/').ok_or_else(|| unfit("it names no repository"))?;
        let (repository, tag) = split(rest, ':');
        if !is_host(host) {
            return Err(unfit("its host is not one"));
        }
        if repository.len() > LONGEST || !repository.split('/').all(is_component) {
            let why =
                "a repository has lower-case letters and digits, with `.`, `_`, `-` between them";
            return Err(unfit(why));
        }
        if tag.as_deref().is_some_and(|tag| !is_tag(tag)) {
            return Err(unfit("a tag has letters, digits, `_`, `.` and `-`"));
        }
        let (host, repository) = (host.to_owned(), repository.to_owned());
        Ok(Self { host, repository, tag, digest, content })
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, repository, tag, digest, content } = self;
        write!(f, "{SCHEME}{host}/{repository}")?;
        let parts = [(':', tag), ('@', digest), ('#', content)];
        parts.into_iter().try_for_each(|(mark, part)| match part {
            Some(part) => write!(f, "{mark}{part}"),
            None => Ok(()),
        })
    }
}

/// The text before a mark, and what follows it.
fn split(text: &str, mark: char) -> (&str, Option<String>) {
    match text.split_once(mark) {
        Some((first, rest)) => (first, Some(rest.to_owned())),
        None => (text, None),
    }
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_named = |name: &str| {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        !name.is_empty() && !name.starts_with(['.', '-']) && name.bytes().all(is_fit)
    };
    let is_address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_address = is_address.is_some_and(|name| name.parse::<IpAddr>().is_ok());
    (is_address || is_named(name)) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

fn is_component(part: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = |byte: Option<u8>| byte.is_some_and(is_alphanumeric);
    let is_fit = |byte: u8| is_alphanumeric(byte) || matches!(byte, b'.' | b'_' | b'-');
    ends(part.bytes().next())
        && ends(part.bytes().last())
        && part.bytes().all(is_fit)
        && !part.contains("..")
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_fit = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'-');
    tag.len() <= LONGEST_TAG && tag.bytes().next().is_some_and(is_word) && tag.bytes().all(is_fit)
}

/// The tag for a version. Tags cannot contain `+`; Helm replaces it in the same way.
pub(crate) fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oci_references_round_trip() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let good = [
            "oci://ghcr.io/team/reviewer".to_owned(),
            "oci://localhost:5000/reviewer:1.2.0".to_owned(),
            "oci://[::1]:5000/a/b/c__d:latest".to_owned(),
            format!("oci://ghcr.io/team/reviewer@{digest}"),
            format!("oci://ghcr.io/team/reviewer:1@{digest}#{digest}"),
            format!("oci://ghcr.io/team/reviewer:1#{digest}"),
        ];
        for text in good {
            let reference: OciReference = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(reference.to_string(), text);
        }
        let bad = [
            "ghcr.io/x",
            "oci://",
            "oci://host",
            "oci:///x",
            "oci://host/",
            "oci://host/../x",
            "oci://host/a/../b",
            "oci://host/UPPER",
            "oci://host/a//b",
            "oci://ho st/a",
            "oci://user:secret@host/a",
            "oci://host:99999/a",
            "oci://host/a:b c",
            "oci://host/a:../b",
            "oci://host/a@sha256:12",
            "oci://host/a#12",
            "oci://host/a?x=1",
        ];
        for text in bad {
            assert!(text.parse::<OciReference>().is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_registries_are_recognised() {
        let cases = [
            ("localhost:5000", true),
            ("127.0.0.9", true),
            ("[::1]:443", true),
            ("localhost.example.org", false),
            ("ghcr.io", false),
        ];
        for (host, expected) in cases {
            let reference: OciReference = format!("oci://{host}/x").parse().expect("a reference");
            assert_eq!(reference.is_loopback(), expected, "{host}");
        }
    }
}
