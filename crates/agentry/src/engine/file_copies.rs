//! The files beside the journals of an engine: this home gets a copy of them, so that it can show and undo what a run
//! changed.

use std::path::Path;

use agentry_engine::EngineSession;
use agentry_runtime::engine::EngineFailure;
use agentry_runtime::journal::{self, JournalError, take_in_files};

use super::refused;

/// Copies the files of a run that are missing here.
pub(super) fn copy_files(
    session: &EngineSession,
    home: &Path,
    id: &str,
) -> Result<(), JournalError> {
    let failed = |failure: EngineFailure| refused(id, &failure.to_string());
    let attached = session.attached(id).map_err(failed)?;
    let mut get = |digest: &str| session.get(digest).map_err(|failure| failure.to_string());
    let taken = take_in_files(&journal::runs(home).join(id), &attached, &mut get);
    taken.map_err(|why| refused(id, &format!("its files cannot be copied: {why}")))
}
