//! Files in directories that agents are rendered to: each belongs to the list of rendered files, to an agent in the lock,
//! or to a person who claims it. Anything else was put there without a review.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use agentry_compile::render::{LedgerEntry, RenderLedger};
use agentry_compile::targets::{HarnessPlace, PlaceRole, target};
use agentry_compile::text::digest::sha256;
use agentry_compile::text::path::join;
use agentry_compile::text::{Severity, limits};
use agentry_compile::{EntryKind, FileTree as _, ReadError, WorkspaceConfig};

use super::audit_finding::{AuditFinding, EDITED_FILE, UNCLAIMED_FILE};
use super::workspace_part::WorkspacePart;
use crate::command::render::LEDGER;
use crate::disk::DiskWorld;
use crate::output::CliFailure;

/// More files than this are not listed one by one.
const MOST_FILES: usize = 10_000;
/// Deeper directories than this are read by no harness.
const MOST_DEPTH: usize = 16;

/// What is wrong below one workspace; nothing if it has no list of rendered files.
pub(super) fn findings(
    disk: &DiskWorld,
    config: &WorkspaceConfig,
    parts: &[WorkspacePart],
) -> Result<Vec<AuditFinding>, CliFailure> {
    let Some(ledger) = ledger(disk, &config.root)? else { return Ok(Vec::new()) };
    let mut findings: Vec<AuditFinding> =
        ledger.entries().iter().filter_map(|entry| edited(disk, config, entry)).collect();
    let claimed: BTreeSet<&String> =
        parts.iter().filter(|it| it.kind == "agent").flat_map(|it| &it.files).collect();
    for directory in directories(&ledger) {
        let directory = join(&config.root, directory.trim_end_matches('/'));
        for file in files_below(disk, &config.root, &directory) {
            let key = config.from_root(&file);
            let is_claimed = ledger.get(&key).is_some()
                || config.owns_path(&file)
                || claimed.contains(&disk.absolute(&file));
            if !is_claimed {
                let message = "nothing claims this file beside rendered ones; remove it, or list it in \
                    `own` of `[audit]` in `agentry.toml`";
                findings.push(AuditFinding::file(UNCLAIMED_FILE, Severity::Error, &file, message));
            }
        }
    }
    Ok(findings)
}

/// The list of rendered files of a directory; `None` if it has none.
fn ledger(disk: &DiskWorld, root: &str) -> Result<Option<RenderLedger>, CliFailure> {
    let path = join(root, LEDGER);
    let bytes = match disk.read(root, &path, 8 * limits::FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(ReadError::Missing) => return Ok(None),
        Err(error) => return Err(CliFailure::new(format!("`{path}` cannot be read: {error}"))),
    };
    let ledger = RenderLedger::parse(&String::from_utf8_lossy(&bytes))
        .map_err(|why| CliFailure::new(format!("`{path}` is no list of rendered files: {why}")))?;
    Ok(Some(ledger))
}

/// The lists of rendered files, by directory, each read once.
#[derive(Default)]
pub(super) struct LedgerCache {
    known: Mutex<BTreeMap<String, Option<Arc<RenderLedger>>>>,
}

impl LedgerCache {
    /// Whether the list of a directory above a file has it. Agents may be rendered to any directory.
    pub(super) fn has(&self, disk: &DiskWorld, file: &str) -> bool {
        let file = disk.absolute(file);
        let above = file.match_indices('/').map(|(at, _)| file.split_at(at));
        above.filter(|(root, _)| !root.is_empty()).any(|(root, rest)| {
            let ledger = self.of(disk, root);
            ledger.is_some_and(|it| it.get(rest.trim_start_matches('/')).is_some())
        })
    }

    /// A list that cannot be read proves nothing; for a workspace it is reported.
    fn of(&self, disk: &DiskWorld, root: &str) -> Option<Arc<RenderLedger>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || ledger(disk, root).ok().flatten().map(Arc::new);
        known.entry(root.to_owned()).or_insert_with(read).clone()
    }
}

/// The directories of harnesses that have a rendered file.
fn directories(ledger: &RenderLedger) -> BTreeSet<&'static str> {
    let place = |entry: &LedgerEntry| -> Option<&'static HarnessPlace> {
        let places = target(&entry.target)?.places;
        let is_directory =
            |it: &&HarnessPlace| it.role == PlaceRole::Rendered && it.path.ends_with('/');
        places.iter().filter(is_directory).find(|it| it.covers(&entry.path))
    };
    ledger.entries().iter().filter_map(place).map(|place| place.path).collect()
}

/// The files below a directory, also those that `.gitignore` excludes: a harness reads them anyway.
/// A link that leaves the workspace is one of them itself: what is there is not listed.
fn files_below(disk: &DiskWorld, root: &str, directory: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        let entries = disk.list(root, &directory);
        // A directory that leads elsewhere or is too deep cannot be claimed by the names of its files.
        let is_small = depth < MOST_DEPTH && found.len() < MOST_FILES;
        let Some(entries) = entries.ok().filter(|_| is_small) else {
            found.push(directory);
            continue;
        };
        found.extend(unreadable_names(disk, &directory));
        for entry in entries {
            let path = join(&directory, &entry.name);
            match entry.kind {
                EntryKind::Directory => directories.push((path, depth + 1)),
                EntryKind::File | EntryKind::Loop | EntryKind::Other | EntryKind::Missing => {
                    found.push(path);
                }
            }
        }
    }
    found.sort();
    found
}

/// The entries whose names are not UTF-8: Agentry reads none of them, and a harness may.
fn unreadable_names(disk: &DiskWorld, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(disk.absolute(directory)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().err());
    names.map(|name| join(directory, &name.to_string_lossy())).collect()
}

/// A rendered file that was changed after it was written. One that was merged with a person's settings is checked by
/// `render --check`.
fn edited(disk: &DiskWorld, config: &WorkspaceConfig, entry: &LedgerEntry) -> Option<AuditFinding> {
    if entry.merge.is_some() {
        return None;
    }
    let path = join(&config.root, &entry.path);
    let bytes = disk.read(&config.root, &path, 64 * limits::FILE_BYTES);
    let message = match bytes {
        Ok(bytes) if sha256(&bytes) == entry.sha256 => return None,
        Ok(_) => "it was changed after it was rendered; `agentry render` writes it again",
        Err(ReadError::Missing) => return None,
        Err(_) => "it was rendered, and cannot be read",
    };
    Some(AuditFinding::file(EDITED_FILE, Severity::Error, &path, message))
}
