//! What is found where files are rendered to. Each look is written down, so that a later run can tell
//! whether it would find the same.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use agentry_compile::Recorder;
use agentry_compile::render::Present;
use agentry_compile::text::path::{join, split};

use crate::disk::contents;
use crate::output::said;

/// A file that is larger was not rendered.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What is at `path` below `root`. Nothing is written through a link. `clear` are the directories on the
/// way to other files in which nothing was found that stands in the way.
pub(super) fn present(
    recorder: &Recorder<'_>,
    (root, path): (&str, &str),
    clear: &RwLock<HashSet<String>>,
) -> Present {
    let (dir, name) = split(path);
    let known = |dir: &str| clear.read().unwrap_or_else(PoisonError::into_inner).contains(dir);
    let found = if !dir.is_empty() && known(dir) {
        look_at(&join(root, dir), name)
    } else {
        let found = look_at(root, path);
        if matches!(found, Present::File(_)) {
            clear.write().unwrap_or_else(PoisonError::into_inner).insert(dir.to_owned());
        }
        found
    };
    recorder.note(&["present", root, path], &as_bytes(&found));
    found
}

/// The bytes of a file as a harness finds it, links followed.
pub(super) fn found(recorder: &Recorder<'_>, path: &str) -> Option<Vec<u8>> {
    let found = follow(path);
    recorder.note(&["found", path], &optional(found.as_deref()));
    found
}

/// The names in a directory, a line each; nothing if it is none.
pub(super) fn names(recorder: &Recorder<'_>, dir: &str) -> Option<String> {
    let names = list(dir);
    recorder.note(&["names", dir], &optional(names.as_deref().map(str::as_bytes)));
    names
}

/// Whether there is nothing at a path.
pub(super) fn is_absent(recorder: &Recorder<'_>, path: &str) -> bool {
    let absent = missing(path);
    recorder.note(&["absent", path], &[u8::from(absent)]);
    absent
}

/// The answer of one of these looks now; nothing for a question that is none of theirs.
pub(super) fn again(question: &[&str]) -> Option<Vec<u8>> {
    match question {
        ["present", root, path] => Some(as_bytes(&look_at(root, path))),
        ["found", path] => Some(optional(follow(path).as_deref())),
        ["absent", path] => Some(vec![u8::from(missing(path))]),
        ["names", dir] => Some(optional(list(dir).as_deref().map(str::as_bytes))),
        _ => None,
    }
}

fn as_bytes(present: &Present) -> Vec<u8> {
    match present {
        Present::Nothing => b"-".to_vec(),
        Present::File(bytes) => optional(Some(bytes)),
        Present::Blocked(why) => format!("!{why}").into_bytes(),
    }
}

fn optional(answer: Option<&[u8]>) -> Vec<u8> {
    answer.map_or_else(|| b"-".to_vec(), |bytes| [b"+", bytes].concat())
}

fn look_at(root: &str, path: &str) -> Present {
    let mut at = PathBuf::from(root);
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Present::Nothing,
            Err(error) => return Present::Blocked(format!("cannot be read: {}", said(&error))),
        };
        let is_last = parts.peek().is_none();
        if let Some(why) = in_the_way(&metadata, is_last) {
            let at = at.strip_prefix(root).unwrap_or(&at).display();
            return Present::Blocked(why.replace("{}", &format!("`{at}`")));
        }
    }
    match bytes(&at) {
        Ok(bytes) => Present::File(bytes),
        Err(why) => Present::Blocked(format!("cannot be read: {why}")),
    }
}

/// Why nothing may be written to, or below, what is there, which is `{}`.
fn in_the_way(metadata: &fs::Metadata, is_last: bool) -> Option<&'static str> {
    match (metadata.is_symlink(), is_last) {
        (true, true) => Some("is a link"),
        (true, false) => Some("lies behind the link {}"),
        (false, false) => (!metadata.is_dir()).then_some("lies below the file {}"),
        (false, true) if metadata.is_dir() => Some("is a directory"),
        (false, true) => (!metadata.is_file()).then_some("is no ordinary file"),
    }
}

fn follow(path: &str) -> Option<Vec<u8>> {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| bytes(Path::new(path)).ok()).flatten()
}

fn missing(path: &str) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn list(dir: &str) -> Option<String> {
    let entries = fs::read_dir(dir).ok()?.flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Some(names.join("\n"))
}

/// The bytes of a file, or why they cannot be had.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let file = fs::File::open(path).map_err(|error| said(&error))?;
    let size = file.metadata().map_err(|error| said(&error))?.len().min(MOST_BYTES);
    let bytes = contents(file, size, MOST_BYTES).map_err(|error| said(&error))?;
    if bytes.len() as u64 > MOST_BYTES { Err("it is too large".to_owned()) } else { Ok(bytes) }
}
