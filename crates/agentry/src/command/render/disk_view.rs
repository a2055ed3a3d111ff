//! Reads the files in the directory that is rendered to. Each read is recorded, so that a later run can
//! check whether it would find the same.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use agentry_compile::render::PresentFile;
use agentry_compile::text::path::{join, split};
use agentry_compile::{WorldRecorder, file_digest};

use crate::disk::contents;
use crate::output::error_text;

/// A larger file cannot be a rendered one.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The cached reads of one run: every agent asks for the same directories, and each rendered file is read
/// twice, as the harness finds it and as it may be written.
#[derive(Debug, Default)]
pub(super) struct DiskView {
    /// Directories that were checked, and whether they are absent.
    absent: RwLock<HashMap<String, bool>>,
    /// Directories in which a file was found without a link on the way.
    clear: RwLock<HashSet<String>>,
    /// Files that were read.
    files: RwLock<HashMap<String, ViewedFile>>,
}

/// A file that was read.
#[derive(Debug, Clone)]
struct ViewedFile {
    bytes: Vec<u8>,
    /// The digest that the record keeps.
    digest: String,
}

impl DiskView {
    /// The file at `path` below `root`. A link is reported, since nothing is written through one.
    pub(super) fn present(
        &self,
        recorder: &WorldRecorder<'_>,
        root: &str,
        path: &str,
    ) -> PresentFile {
        let (dir, name) = split(path);
        let is_clear = !dir.is_empty() && read(&self.clear).contains(dir);
        let standing = if is_clear { stands(&join(root, dir), name) } else { stands(root, path) };
        let question = ["present", root, path];
        let at = match standing {
            Ok(at) => at,
            Err(other) => {
                recorder.note(&question, &as_bytes(&other));
                return other;
            }
        };
        // The directories on the way have no links, so later files in them need one check only.
        write(&self.clear).insert(dir.to_owned());
        let known = read(&self.files).get(&join(root, path)).cloned();
        if let Some(ViewedFile { bytes, digest }) = known {
            recorder.note_digest(&question, digest);
            return PresentFile::File(bytes);
        }
        let found = file(&at);
        recorder.note(&question, &as_bytes(&found));
        found
    }

    /// The bytes of a file as a harness finds it, links followed.
    pub(super) fn found(&self, recorder: &WorldRecorder<'_>, path: &str) -> Option<Vec<u8>> {
        let known = known(recorder, path)?;
        let found = known.bytes.clone();
        write(&self.files).insert(path.to_owned(), known);
        Some(found)
    }

    /// Whether a file cannot exist because its directory does not.
    pub(super) fn lies_nowhere(&self, recorder: &WorldRecorder<'_>, path: &str) -> bool {
        let (dir, _) = split(path);
        if dir.is_empty() {
            return false;
        }
        let known = read(&self.absent).get(dir).copied();
        known.unwrap_or_else(|| {
            let absent = missing(dir);
            recorder.note(&["absent", dir], &[u8::from(absent)]);
            // Another thread may have answered first; every caller gets the same answer.
            *write(&self.absent).entry(dir.to_owned()).or_insert(absent)
        })
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes of a file as a harness finds it, links followed.
pub(super) fn found(recorder: &WorldRecorder<'_>, path: &str) -> Option<Vec<u8>> {
    known(recorder, path).map(|known| known.bytes)
}

fn known(recorder: &WorldRecorder<'_>, path: &str) -> Option<ViewedFile> {
    let question = ["found", path];
    let Some(bytes) = follow(path) else {
        recorder.note(&question, &optional(None));
        return None;
    };
    let digest = file_digest(&bytes);
    recorder.note_digest(&question, digest.clone());
    Some(ViewedFile { bytes, digest })
}

/// The names in a directory; `None` if it is not a directory.
pub(super) fn names(recorder: &WorldRecorder<'_>, dir: &str) -> Option<Vec<String>> {
    let names = list(dir);
    recorder.note(&["names", dir], &lines(names.as_deref()));
    names
}

/// Names as an answer that can be recorded.
fn lines(names: Option<&[String]>) -> Vec<u8> {
    optional(names.map(|names| names.join("\n")).as_deref().map(str::as_bytes))
}

/// The present answer to a recorded question; `None` for a question of another module.
pub(super) fn again(question: &[&str]) -> Option<Vec<u8>> {
    match question {
        ["present", root, path] => Some(as_bytes(&look_at(root, path))),
        ["found", path] => Some(optional(follow(path).as_deref())),
        ["absent", path] => Some(vec![u8::from(missing(path))]),
        ["names", dir] => Some(lines(list(dir).as_deref())),
        _ => None,
    }
}

fn as_bytes(present: &PresentFile) -> Vec<u8> {
    match present {
        PresentFile::Nothing => b"-".to_vec(),
        PresentFile::File(bytes) => optional(Some(bytes)),
        PresentFile::Blocked(why) => format!("!{why}").into_bytes(),
    }
}

fn optional(answer: Option<&[u8]>) -> Vec<u8> {
    // The prefix distinguishes an empty file from a missing one.
    answer.map_or_else(|| b"-".to_vec(), |bytes| [b"+", bytes].concat())
}

fn look_at(root: &str, path: &str) -> PresentFile {
    stands(root, path).map_or_else(|other| other, |at| file(&at))
}

/// The path of a regular file without links on the way; else what is there instead.
fn stands(root: &str, path: &str) -> Result<PathBuf, PresentFile> {
    let mut at = PathBuf::from(root);
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(PresentFile::Nothing),
            Err(error) => {
                return Err(PresentFile::Blocked(format!(
                    "cannot be read: {}",
                    error_text(&error)
                )));
            }
        };
        let is_last = parts.peek().is_none();
        if let Some(why) = in_the_way(&metadata, is_last) {
            let at = at.strip_prefix(root).unwrap_or(&at).display();
            return Err(PresentFile::Blocked(why.replace("{}", &format!("`{at}`"))));
        }
    }
    Ok(at)
}

fn file(at: &Path) -> PresentFile {
    match bytes(at) {
        Ok(bytes) => PresentFile::File(bytes),
        Err(why) => PresentFile::Blocked(format!("cannot be read: {why}")),
    }
}

/// Why nothing may be written to this entry or below it; `{}` stands for its path.
fn in_the_way(metadata: &fs::Metadata, is_last: bool) -> Option<&'static str> {
    match (metadata.is_symlink(), is_last) {
        (true, true) => Some("is a link"),
        (true, false) => Some("lies behind the link {}"),
        (false, false) => (!metadata.is_dir()).then_some("lies below the file {}"),
        (false, true) if metadata.is_dir() => Some("is a directory"),
        (false, true) => (!metadata.is_file()).then_some("is not a regular file"),
    }
}

fn follow(path: &str) -> Option<Vec<u8>> {
    // Opening a pipe or a device could block.
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| bytes(Path::new(path)).ok()).flatten()
}

fn missing(path: &str) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn list(dir: &str) -> Option<Vec<String>> {
    let entries = fs::read_dir(dir).ok()?.flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Some(names)
}

/// The bytes of a file, or why it cannot be read.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let file = fs::File::open(path).map_err(|error| error_text(&error))?;
    let size = file.metadata().map_err(|error| error_text(&error))?.len().min(MOST_BYTES);
    let bytes = contents(file, size, MOST_BYTES).map_err(|error| error_text(&error))?;
    if bytes.len() as u64 > MOST_BYTES { Err("it is too large".to_owned()) } else { Ok(bytes) }
}
