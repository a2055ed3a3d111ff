//! References to another definition, in `base` and under `agents`.

use semver::Version;

/// Why a reference cannot be used: the problem, and a hint.
pub type ReferenceProblem = (&'static str, &'static str);

const PIN: &str = "add the digest of what is expected there: `…#sha256:` and 64 digits";
const FORMS: &str =
    "use a path, `ag1:…`, `sha256:…`, `name@version`, an OCI reference, or a URL with a digest";

/// Returns the problem of a reference, if there is one.
pub fn problem(text: &str) -> Option<ReferenceProblem> {
    if text.trim().is_empty() {
        return Some(("is empty", "remove it, or say where the definition is"));
    }
    if text.chars().any(char::is_control) {
        return Some(("holds a control character", FORMS));
    }
    if let Some(digits) = text.strip_prefix("ag1:") {
        return (!is_hex(digits, 12)).then_some(("is not `ag1:` and 12 digits", FORMS));
    }
    if text.starts_with("sha256:") {
        return (!is_sha256(text)).then_some(("is not `sha256:` and 64 digits", FORMS));
    }
    // A pin is the digest of the content that is expected behind a reference.
    let (place, pin) = match text.rsplit_once('#') {
        Some((place, pin)) => (place, Some(pin)),
        None => (text, None),
    };
    if pin.is_some_and(|pin| !is_sha256(pin)) {
        return Some(("is pinned by something that is not a digest", PIN));
    }
    match place.split_once("://") {
        Some(("http" | "https", _)) if pin.is_none() => Some(("is a URL without a digest", PIN)),
        Some(("http" | "https" | "oci", _)) => None,
        Some(_) => Some(("has a scheme that is not read", FORMS)),
        None if place.starts_with('~') => {
            Some(("starts with `~`, which stands for nothing here", "write the whole path"))
        }
        None => place_problem(place),
    }
}

/// Returns the problem of a reference that is not a URL: a path, `name@version`, or an OCI reference.
fn place_problem(place: &str) -> Option<ReferenceProblem> {
    let path = place.starts_with(['.', '/']) || is_file(place);
    match place.rsplit_once('@') {
        // A path may contain `@`, so it is not split.
        _ if path => None,
        Some((_, digest)) if digest.starts_with("sha256:") => {
            (!is_sha256(digest)).then_some(("is pinned by something that is not a digest", PIN))
        }
        // With a `/` it is an OCI reference, which is not checked further.
        Some((name, version)) if !name.contains('/') => Version::parse(version)
            .is_err()
            .then_some(("does not end in a semantic version", "write `name@1.2.3`")),
        _ => None,
    }
}

/// Whether a reference without `./` or `/` still ends like a file.
fn is_file(place: &str) -> bool {
    [".agent", ".yaml", ".yml", ".md", ".toml", ".json"].iter().any(|end| place.ends_with(end))
}

fn is_sha256(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| is_hex(digits, 64))
}

fn is_hex(text: &str, length: usize) -> bool {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == length && text.bytes().all(digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_base_references_are_errors() {
        let digest = "0123456789abcdef".repeat(4);
        let good = [
            "./parent.agent".to_owned(),
            "../shared/base".to_owned(),
            "/srv/agents/base.agent".to_owned(),
            "parent.agent".to_owned(),
            "agents.d/parent.agent".to_owned(),
            "ag1:429769c6fa4c".to_owned(),
            format!("sha256:{digest}"),
            "researcher@1.2.0".to_owned(),
            "ghcr.io/example/researcher:1.2".to_owned(),
            format!("ghcr.io/example/researcher@sha256:{digest}"),
            "oci://ghcr.io/example/researcher:1.2".to_owned(),
            format!("https://example.org/x.agent#sha256:{digest}"),
            format!("./x.agent#sha256:{digest}"),
        ];
        for text in good {
            assert_eq!(problem(&text), None, "{text}");
        }
        let bad = [
            ("", "is empty"),
            ("a\nb", "holds a control character"),
            ("ag1:429769c6fa4", "is not `ag1:` and 12 digits"),
            ("ag1:429769C6FA4C", "is not `ag1:` and 12 digits"),
            ("sha256:12", "is not `sha256:` and 64 digits"),
            ("https://example.org/x.agent", "is a URL without a digest"),
            ("https://example.org/x.agent#v2", "is pinned by something that is not a digest"),
            ("./x.agent#sha256:12", "is pinned by something that is not a digest"),
            ("file:///srv/x.agent", "has a scheme that is not read"),
            ("~/x.agent", "starts with `~`, which stands for nothing here"),
            ("researcher@latest", "does not end in a semantic version"),
            ("ghcr.io/x/y@sha256:12", "is pinned by something that is not a digest"),
        ];
        for (text, expected) in bad {
            assert_eq!(problem(text).map(|(what, _)| what), Some(expected), "{text}");
        }
    }
}
