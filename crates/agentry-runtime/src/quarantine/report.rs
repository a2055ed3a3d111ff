//! What a command did to something protected and what became of it, for the person and for the model.

use std::fmt;
use std::path::PathBuf;

use agentry_compile::text::report::visible;
use serde::Serialize;

/// Something that was found after a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantineReport {
    /// Where it was found, from the workspace.
    pub path: String,
    /// What commands did.
    pub did: QuarantineAct,
    /// Why they must not.
    pub why: &'static str,
    /// Where what they made is kept, if there was anything.
    pub kept: Option<PathBuf>,
    /// Where what was there before is kept, if it could not be put back or went with its directory.
    pub was: Option<PathBuf>,
    /// What went wrong when it was taken back.
    pub failed: Option<String>,
}

/// What commands did to something protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuarantineAct {
    /// They made it; it was moved away.
    Made,
    /// They changed it; it was put back.
    Changed,
    /// They removed it; it was put back.
    Removed,
    /// They removed or renamed the directory with it, which is their right.
    Gone,
    /// They renamed the directory with it, in which it stays; the path is the new one.
    Renamed,
    /// They made a directory unreadable; its owner may read it again.
    Shut,
}

impl fmt::Display for QuarantineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, did, why, kept, was, failed } = self;
        let (path, failed) = (visible(path), failed.as_deref().map(visible));
        match (did, failed) {
            (QuarantineAct::Made, None) => {
                write!(f, "`{path}` was moved away: commands must not make it")
            }
            (QuarantineAct::Changed, None) => {
                write!(f, "`{path}` was put back: commands must not change it")
            }
            (QuarantineAct::Removed, None) => {
                write!(f, "`{path}` was put back: commands must not remove it")
            }
            (QuarantineAct::Gone, _) => {
                write!(f, "`{path}` is gone, with something protected in it")
            }
            (QuarantineAct::Renamed, _) => {
                write!(f, "`{path}` was renamed, with protected files in it")
            }
            (QuarantineAct::Shut, None) => {
                write!(f, "`{path}` was opened: commands must not shut it")
            }
            (QuarantineAct::Shut, Some(error)) => {
                write!(f, "`{path}` cannot be looked into: {error}")
            }
            (QuarantineAct::Made, Some(error)) => {
                write!(f, "`{path}` must not be made by commands and is still there: {error}")
            }
            (QuarantineAct::Changed | QuarantineAct::Removed, Some(error)) => {
                write!(f, "`{path}` must not be changed by commands and is not as it was: {error}")
            }
        }?;
        write!(f, " ({why})")?;
        if let Some(was) = was {
            write!(f, "; what was there before is kept in `{}`", visible(&was.to_string_lossy()))?;
        }
        match kept {
            Some(kept) => {
                write!(f, "; what was made of it is kept in `{}`", visible(&kept.to_string_lossy()))
            }
            None => Ok(()),
        }
    }
}
