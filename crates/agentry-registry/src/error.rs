//! Why the store would not, in words for a person.

use std::io;
use std::path::Path;

/// Why the store refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("`{path}` cannot be {verb}: {}", said(.error))]
    Io {
        /// What was to be done: `read`, `written`.
        verb: &'static str,
        /// Where.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// A later Agentry wrote it.
    #[error("the store `{path}` has format {found}; this agentry knows formats up to {known}")]
    Newer {
        /// Where the store is.
        path: String,
        /// Its format.
        found: u64,
        /// The latest format that is known here.
        known: u64,
    },
    /// There is no store yet.
    #[error("there is no store at `{0}` yet")]
    NoStore(String),
    /// The store has no such agent.
    #[error("the store has no `{0}`")]
    Missing(String),
    /// Something in the store is not what was put there.
    #[error("`{object}` in the store is damaged: {why}")]
    Damaged {
        /// The digest of the object, or the path of another file of the store.
        object: String,
        /// What was found.
        why: String,
    },
    /// A short digest of several agents.
    #[error("`{reference}` is {} agents of the store: {}", .digests.len(), .digests.join(", "))]
    Ambiguous {
        /// What was asked for.
        reference: String,
        /// The full digests.
        digests: Vec<String>,
    },
    /// A bare name where one version must be named.
    #[error("`{name}` names no version; the store has {}", quoted(.versions))]
    NoVersion {
        /// The name.
        name: String,
        /// What there is: `name@version`, the oldest first.
        versions: Vec<String>,
    },
    /// A name and version that mean something else already.
    #[error("`{name}@{version}` is `{digest}` already, and stays so")]
    Taken {
        /// The name.
        name: String,
        /// The version.
        version: String,
        /// What it means.
        digest: String,
    },
    /// The same agent, with another file beside it.
    #[error("`{name}@{version}` is in the store with another `{path}`")]
    OtherFile {
        /// The name.
        name: String,
        /// The version.
        version: String,
        /// The file that differs.
        path: String,
    },
    /// A name that is given up while others need it.
    #[error("`{name}` is needed by `{by}`")]
    Needed {
        /// What was to be given up.
        name: String,
        /// Who needs it.
        by: String,
    },
    /// The same content under another name.
    #[error("the same content is in the store as `{name}@{version}`")]
    OtherName {
        /// The name there.
        name: String,
        /// The version there.
        version: String,
    },
    /// The text is no reference, name, version, path or key.
    #[error("{0}")]
    Unfit(String),
    /// The signatures are not those that were asked for.
    #[error("{why}")]
    Untrusted {
        /// What is wrong with them.
        why: String,
        /// The keys that signed it and are not trusted.
        signers: Vec<String>,
    },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Newer { .. } => Some("use the newer agentry that wrote it"),
            Self::NoStore(_) => Some("`agentry push AGENT` makes one"),
            Self::Missing(_) => Some("`agentry list` shows what there is"),
            Self::Damaged { .. } => {
                Some("push the agent again from its files, or remove it with `agentry gc --drop`")
            }
            Self::Ambiguous { .. } => Some("use the full digest"),
            Self::NoVersion { .. } => Some("say which: `--drop NAME@VERSION`"),
            Self::Taken { .. } | Self::OtherFile { .. } => {
                Some("give the agent a new version, in its definition or with `--version`")
            }
            Self::Needed { .. } => Some("drop them together, or update the lock first"),
            Self::OtherName { .. } => Some("use that name, or change the agent first"),
            Self::Untrusted { signers, .. } if !signers.is_empty() => {
                return Some(format!(
                    "if you trust who holds the key, add {} to `trusted` in `[signing]` of your own config.toml",
                    quoted(signers)
                ));
            }
            Self::Untrusted { .. } => Some(
                "`agentry sign` signs it; the key must be in `trusted` in `[signing]` of your own \
                 config.toml",
            ),
            Self::Io { .. } | Self::Unfit(_) => None,
        };
        hint.map(str::to_owned)
    }

    pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io("read", path)
    }

    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io("written", path)
    }

    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::Io { verb, path, error }
    }

    pub(crate) fn damaged(object: &str, why: impl Into<String>) -> Self {
        Self::Damaged { object: object.to_owned(), why: why.into() }
    }
}

/// A list of what people may type.
fn quoted(all: &[String]) -> String {
    all.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")
}

/// What the system says went wrong, without its number.
fn said(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
