//! The report about one protected path that a command touched, for the user and the model.

use std::fmt;
use std::path::PathBuf;

use agentry_compile::text::report::visible;
use serde::Serialize;

/// What was found after a command, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuarantineReport {
    /// The path, relative to the workspace.
    pub path: String,
    /// What the command did.
    pub did: QuarantineAct,
    /// Why it must not do that.
    pub why: &'static str,
    /// Where the command's version is kept, if there is one.
    pub kept: Option<PathBuf>,
    /// Where the original is kept, if it could not be restored or went with its directory.
    pub was: Option<PathBuf>,
    /// Why it could not be restored.
    pub failed: Option<String>,
}

/// What a command did to a protected path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuarantineAct {
    /// It created the path; the file was moved to the quarantine.
    Made,
    /// It changed the file; the original was restored.
    Changed,
    /// It removed the file; the original was restored.
    Removed,
    /// It removed or renamed the directory around it, which is allowed.
    Gone,
    /// It renamed the directory around it; the report has the new path.
    Renamed,
    /// It made a directory unreadable; its owner can read it again.
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
