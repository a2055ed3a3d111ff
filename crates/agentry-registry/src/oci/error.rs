//! What can go wrong with a registry, with messages and hints for the user.

use super::location::OciReference;
use crate::error::StoreError;

/// Why a registry, its answer or a cached copy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// The text is no reference.
    #[error("{0}")]
    Unfit(String),
    /// This machine cannot ask any registry.
    #[error("no registry can be asked: {0}")]
    Machine(String),
    /// There is no connection.
    #[error("`{host}` cannot be reached: {why}")]
    Unreachable {
        /// The registry.
        host: String,
        /// The reason.
        why: String,
    },
    /// The registry wants other credentials, or some.
    #[error("`{host}` {why}")]
    Login {
        /// The registry.
        host: String,
        /// What it wants.
        why: String,
    },
    /// A credential file or helper cannot be used.
    #[error("{0}")]
    Credentials(String),
    /// The registry does not permit it.
    #[error("`{host}` does not permit to {act} `{place}`")]
    Denied {
        /// The registry.
        host: String,
        /// What was asked for: `read`, `write`.
        act: &'static str,
        /// The repository.
        place: String,
    },
    /// The registry has no such repository, tag or blob.
    #[error("the registry has no `{0}`")]
    Missing(String),
    /// It answers with an error, also after some retries.
    #[error("`{host}` answers with the status {status}, also after {tries} attempts")]
    Busy {
        /// The registry.
        host: String,
        /// The last status.
        status: u16,
        /// How often it was asked.
        tries: u32,
    },
    /// An answer that breaks the rules of the protocol.
    #[error("`{host}` {what}")]
    Protocol {
        /// The registry.
        host: String,
        /// What it did.
        what: String,
    },
    /// What lies there is not an intact agent.
    #[error("`{reference}` is refused: {why}")]
    Refused {
        /// The reference.
        reference: String,
        /// What is wrong.
        why: String,
    },
    /// A tag that has other content.
    #[error("`{reference}` has other content already (`{digest}`)")]
    Taken {
        /// The tag.
        reference: String,
        /// The digest of its manifest.
        digest: String,
    },
    /// An agent whose definition says that it is private.
    #[error("`{0}` is private: its `access_control` has `visibility: private`")]
    Private(String),
    /// An agent whose base others do not have.
    #[error("`{name}` has the base `{base}`, which lies in your own store only")]
    LocalBase {
        /// The agent.
        name: String,
        /// The reference of the base.
        base: String,
    },
    /// The signatures do not satisfy the settings.
    #[error("{why}")]
    Untrusted {
        /// What is missing.
        why: String,
        /// The keys that signed it.
        signers: Vec<String>,
    },
    /// The store or the cache failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OciError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unfit(_) => {
                "write `oci://HOST/REPOSITORY:TAG`, or `oci://HOST/REPOSITORY@sha256:…`"
            }
            Self::Unreachable { .. } => {
                "check the address and the network; an agent that was pulled before needs neither"
            }
            Self::Login { .. } => {
                "log in with `docker login` or `podman login`; agentry uses the same files and helpers"
            }
            Self::Denied { .. } => "log in as a user who may, or ask its owner",
            Self::Missing(reference) => return Some(missing(reference)),
            Self::Busy { .. } => "try again later",
            Self::Taken { .. } => "push it under another tag, or replace it with `--force`",
            Self::Private(_) => {
                "pass `--private-ok` if everyone who reads the registry may have it"
            }
            Self::LocalBase { .. } => "push the base to a registry first, and name it by `oci://…`",
            Self::Store(error) => return error.hint(),
            Self::Untrusted { signers, .. } if !signers.is_empty() => {
                return Some(format!(
                    "if you trust who holds the key, add `{}` for this repository in `[signing]` of your own config.toml",
                    signers.join("`, `")
                ));
            }
            Self::Untrusted { .. } => {
                "ask its owner to sign it: `agentry sign`, then `agentry push AGENT oci://…`"
            }
            Self::Machine(_)
            | Self::Credentials(_)
            | Self::Protocol { .. }
            | Self::Refused { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether a copy in the cache may stand in: the registry did not answer at all.
    pub(crate) fn is_offline(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Busy { .. })
    }

    pub(crate) fn refused(reference: &impl ToString, why: impl Into<String>) -> Self {
        Self::Refused { reference: reference.to_string(), why: why.into() }
    }
}

/// What to do about a reference that leads to nothing.
fn missing(reference: &str) -> String {
    match reference.parse::<OciReference>() {
        Ok(OciReference { host, repository, tag, digest, .. }) if tag.is_some() || digest.is_some() => {
            format!("`agentry list oci://{host}/{repository}` shows its tags")
        }
        // Without a login, many registries answer so for whatever is not public.
        _ => "check the name; if the repository is not public, log in with `docker login` or `podman login`"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_about_a_missing_reference_fits_it() {
        let cases = [
            ("oci://host:5000/a/b:1", "`agentry list oci://host:5000/a/b` shows its tags"),
            ("oci://host/a/b", "check the name"),
        ];
        for (reference, expected) in cases {
            let hint = OciError::Missing(reference.to_owned()).hint().unwrap_or_default();
            assert!(hint.starts_with(expected), "{reference}: {hint}");
        }
    }
}
