//! Parses the reference of a definition to its base.

use crate::store_reference::StoreRef;

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BaseReference {
    /// A file or a directory, and the digest that it must have.
    Path(String, Option<String>),
    /// An agent of the store.
    Stored(StoreRef),
    /// An agent in an OCI registry, as `oci://…`, and its digest if it is pinned.
    Oci(String, Option<String>),
    /// A file on the web, with its digest.
    Url(String),
}

impl BaseReference {
    /// Parses a reference that was already checked for problems.
    pub(super) fn parse(text: &str) -> Self {
        if text.starts_with("ag1:") {
            return Self::Stored(StoreRef::Short(text.to_owned()));
        }
        if text.starts_with("sha256:") {
            return Self::Stored(StoreRef::Full(text.to_owned()));
        }
        let (place, pin) = match text.rsplit_once('#') {
            Some((place, pin)) => (place, Some(pin.to_owned())),
            None => (text, None),
        };
        match place.split_once("://") {
            Some(("oci", rest)) => return Self::Oci(text.to_owned(), pinned(rest).or(pin)),
            Some(_) => return Self::Url(text.to_owned()),
            // Before the check for `@`, which a path may contain.
            None if is_path(place) => return Self::Path(place.to_owned(), pin),
            None => {}
        }
        match place.rsplit_once('@') {
            Some((_, digest)) if digest.starts_with("sha256:") => {
                Self::Oci(format!("oci://{text}"), Some(digest.to_owned()))
            }
            Some((name, version)) if !name.contains('/') => {
                let (name, version) = (name.to_owned(), version.to_owned());
                Self::Stored(StoreRef::Named { name, version })
            }
            // The colon belongs to a tag or port of an OCI reference.
            _ if place.contains(':') => Self::Oci(format!("oci://{text}"), pin),
            _ => Self::Path(place.to_owned(), pin),
        }
    }
}

/// The digest at the end of an OCI reference.
fn pinned(place: &str) -> Option<String> {
    let (_, digest) = place.rsplit_once('@')?;
    digest.starts_with("sha256:").then(|| digest.to_owned())
}

fn is_path(place: &str) -> bool {
    const ENDS: &[&str] = &[".agent", ".yaml", ".yml", ".md", ".toml", ".json"];
    place.starts_with(['.', '/']) || ENDS.iter().any(|end| place.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_references_parse_to_their_kind() {
        let path = |text: &str| BaseReference::Path(text.to_owned(), None);
        let named = |name: &str, version: &str| {
            let (name, version) = (name.to_owned(), version.to_owned());
            BaseReference::Stored(StoreRef::Named { name, version })
        };
        let oci = |text: &str, digest: Option<&str>| {
            BaseReference::Oci(text.to_owned(), digest.map(str::to_owned))
        };
        let url = BaseReference::Url("https://example.org/x.agent#sha256:12".to_owned());
        let cases = [
            ("./base.agent", path("./base.agent")),
            ("base.agent", path("base.agent")),
            ("shared/base", path("shared/base")),
            ("/srv/base", path("/srv/base")),
            ("./b@1.0.0", path("./b@1.0.0")),
            ("./x#sha256:12", BaseReference::Path("./x".to_owned(), Some("sha256:12".to_owned()))),
            ("ag1:0123", BaseReference::Stored(StoreRef::Short("ag1:0123".to_owned()))),
            ("sha256:0123", BaseReference::Stored(StoreRef::Full("sha256:0123".to_owned()))),
            ("helper@1.2.0", named("helper", "1.2.0")),
            ("ghcr.io/example/helper:1.2", oci("oci://ghcr.io/example/helper:1.2", None)),
            (
                "ghcr.io/e/helper@sha256:12",
                oci("oci://ghcr.io/e/helper@sha256:12", Some("sha256:12")),
            ),
            ("ghcr.io/e/h:1@sha256:12", oci("oci://ghcr.io/e/h:1@sha256:12", Some("sha256:12"))),
            ("oci://ghcr.io/e/helper:1.2", oci("oci://ghcr.io/e/helper:1.2", None)),
            ("oci://ghcr.io/e/h@sha256:12", oci("oci://ghcr.io/e/h@sha256:12", Some("sha256:12"))),
            (
                "oci://ghcr.io/e/h:1#sha256:12",
                oci("oci://ghcr.io/e/h:1#sha256:12", Some("sha256:12")),
            ),
            ("https://example.org/x.agent#sha256:12", url),
        ];
        for (text, expected) in cases {
            assert_eq!(BaseReference::parse(text), expected, "{text}");
        }
    }
}
