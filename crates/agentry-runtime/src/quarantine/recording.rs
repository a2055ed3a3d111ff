//! Cassettes that Agentry itself writes under protected names while commands run, perhaps those of another
//! run. Each is noted before it is written, so that no quarantine removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentry_compile::text::digest::sha256;
use serde::{Deserialize, Serialize};

/// The note, in the directory of a run.
const NOTE: &str = "recorded.json";

#[derive(Serialize, Deserialize)]
struct RecordedFile {
    path: PathBuf,
    digest: String,
}

/// Notes that the run with this directory is about to copy `from` to `path`.
pub fn note(run: &Path, from: &Path, path: &Path) -> io::Result<()> {
    let digest = sha256(fs::read(from)?);
    let recorded = RecordedFile { path: path.to_owned(), digest };
    fs::write(run.join(NOTE), serde_json::to_vec(&recorded)?)
}

/// Returns whether any run beside this quarantine has written this content to the path since then.
pub(super) fn is_own(quarantine: &Path, path: &Path, digest: &str, since: SystemTime) -> bool {
    let Some(runs) = quarantine.parent().and_then(Path::parent) else { return false };
    let entries = fs::read_dir(runs).into_iter().flatten().filter_map(Result::ok);
    // The clock of a file system can be behind by one step.
    let is_new = |note: &PathBuf| {
        let written = fs::metadata(note).and_then(|found| found.modified());
        written.is_ok_and(|written| written + Duration::from_secs(1) > since)
    };
    let notes = entries.map(|entry| entry.path().join(NOTE)).filter(is_new);
    let mut notes = notes.filter_map(|note| {
        let text = fs::read(note).ok()?;
        serde_json::from_slice::<RecordedFile>(&text).ok()
    });
    notes.any(|note| note.path == path && note.digest == digest)
}
