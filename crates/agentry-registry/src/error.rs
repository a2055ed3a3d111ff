//! The errors of the store, with messages and hints for the user.

use std::io;
use std::path::Path;

/// Why the store refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system reported an error.
    #[error("`{path}` cannot be {verb}: {}", error_text(.error))]
    Io {
        /// What failed, as a participle for the message: `read`, `written`.
        verb: &'static str,
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A later Agentry wrote the store.
    #[error("the store `{path}` has format {found}; this agentry knows formats up to {known}")]
    Newer {
        /// The path of the store.
        path: String,
        /// Its format.
        found: u64,
        /// The latest format that this build can read.
        known: u64,
    },
    /// There is no store yet.
    #[error("there is no store at `{0}` yet")]
    NoStore(String),
    /// The store has no such agent.
    #[error("the store has no `{0}`")]
    Missing(String),
    /// A file of the store differs from what was written.
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
        /// The reference as written.
        reference: String,
        /// The full digests.
        digests: Vec<String>,
    },
    /// A bare name where `name@version` is required.
    #[error("`{name}` names no version; the store has {}", quoted(.versions))]
    NoVersion {
        /// The name.
        name: String,
        /// The versions of that name: `name@version`, the oldest first.
        versions: Vec<String>,
    },
    /// A name and version that already belong to other content.
    #[error("`{name}@{version}` is `{digest}` already, and stays so")]
    Taken {
        /// The name.
        name: String,
        /// The version.
        version: String,
        /// The digest that they belong to.
        digest: String,
    },
    /// The same agent, but one of its other files differs.
    #[error("`{name}@{version}` is in the store with another `{path}`")]
    OtherFile {
        /// The name.
        name: String,
        /// The version.
        version: String,
        /// The file that differs.
        path: String,
    },
    /// A name to drop that a lock or another object needs.
    #[error("`{name}` is needed by `{by}`")]
    Needed {
        /// The name to drop.
        name: String,
        /// The lock or the agent that needs it.
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
    /// The signatures do not satisfy the user's settings.
    #[error("{why}")]
    Untrusted {
        /// What is wrong with them.
        why: String,
        /// The keys that signed it and are not trusted.
        signers: Vec<String>,
    },
}

impl StoreError {
    /// What the user can do about it.
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

/// The texts in backticks, separated by commas.
fn quoted(all: &[String]) -> String {
    all.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")
}

/// The system's message in lower case, without its error number.
fn error_text(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
