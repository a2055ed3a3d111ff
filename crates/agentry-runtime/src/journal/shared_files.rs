//! The files beside a journal that an engine keeps as well: what changed files were before, and long outputs. Each has a
//! name in the engine, and is content-addressed there.
//!
//! ```text
//! before/<digest>     the bytes of a file before a change
//! before/line-<n>     the line n of the index of changes
//! outputs/<name>      a long output
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentry_compile::text::digest;

use super::{FileUplink, images};
use crate::private_files;

const IMAGE: &str = "before/";
const LINE: &str = "before/line-";
const OUTPUT: &str = "outputs/";
/// The file of the index, in the directory of the before-images.
pub(crate) const INDEX: &str = "index.jsonl";
/// The digits of a SHA-256.
const DIGITS: usize = 64;
/// The largest file that is shared. A larger one stays on the machine that wrote it.
const LARGEST: u64 = 64 << 20;

/// Shares the before-image of this digest.
pub(crate) fn share_image(files: &dyn FileUplink, path: &Path, digest: &str) -> io::Result<()> {
    if fs::metadata(path)?.len() > LARGEST {
        return Ok(());
    }
    files.attach(&format!("{IMAGE}{digest}"), &fs::read(path)?).map_err(io::Error::other)
}

/// Shares the lines of an index from a number on. Returns how many lines there are.
pub(crate) fn share_lines(
    files: &dyn FileUplink,
    directory: &Path,
    first: usize,
) -> io::Result<usize> {
    let text = fs::read_to_string(directory.join(INDEX))?;
    for (number, line) in text.lines().enumerate().skip(first) {
        files.attach(&line_name(number), line.as_bytes()).map_err(io::Error::other)?;
    }
    Ok(text.lines().count())
}

fn line_name(number: usize) -> String {
    format!("{LINE}{number:08}")
}

/// Shares the outputs that are not in `shared` yet, and adds them.
pub(super) fn share_outputs(
    files: &dyn FileUplink,
    directory: &Path,
    shared: &mut BTreeSet<String>,
) -> Result<(), String> {
    let entries = fs::read_dir(directory.join(OUTPUT)).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_small = entry.metadata().is_ok_and(|it| it.is_file() && it.len() <= LARGEST);
        if !is_small || shared.contains(&name) {
            continue;
        }
        let bytes = fs::read(entry.path()).map_err(|error| error.to_string())?;
        files.attach(&format!("{OUTPUT}{name}"), &bytes)?;
        shared.insert(name);
    }
    Ok(())
}

/// Writes the shared files of a run that are missing here. `get` returns the bytes of a digest.
pub fn take_in_files(
    directory: &Path,
    attached: &[(String, String)],
    get: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    for (name, digest) in attached {
        let Some(path) = local_path(directory, name) else { continue };
        if !path.exists() {
            write(&path, &get(digest)?).map_err(failed)?;
        }
    }
    take_in_lines(&images(directory), attached, get)
}

/// Brings the index of changes up to date: it is written anew if its lines are others.
fn take_in_lines(
    directory: &Path,
    attached: &[(String, String)],
    get: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    let mut lines: Vec<_> = attached.iter().filter(|(name, _)| name.starts_with(LINE)).collect();
    if lines.is_empty() {
        return Ok(());
    }
    lines.sort();
    let path = directory.join(INDEX);
    let here = fs::read_to_string(&path).unwrap_or_default();
    let known: Vec<&str> = here.lines().collect();
    let is_known = |at: usize, digest: &str| {
        known.get(at).is_some_and(|line| digest::of(line.as_bytes()) == digest)
    };
    if known.len() >= lines.len() && (0..lines.len()).all(|at| is_known(at, &lines[at].1)) {
        return Ok(());
    }
    let mut text = Vec::new();
    for (at, (_, digest)) in lines.iter().enumerate() {
        match known.get(at).filter(|_| is_known(at, digest)) {
            Some(line) => text.extend(line.bytes()),
            None => text.extend(get(digest)?),
        }
        text.push(b'\n');
    }
    write(&path, &text).map_err(|error| error.to_string())
}

/// Where a shared file lies; `None` for a line of the index, and for a name that this program does not give.
fn local_path(directory: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = |text: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
        !text.is_empty() && !text.starts_with('.') && text.bytes().all(is_sign)
    };
    if let Some(digest) = name.strip_prefix(IMAGE) {
        return digest::is_hex(digest, DIGITS).then(|| images(directory).join(digest));
    }
    let output = name.strip_prefix(OUTPUT).filter(|name| is_plain(name))?;
    Some(directory.join(OUTPUT).join(output))
}

/// Writes a file and its missing directories.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    private_files::directories(path.parent().unwrap_or(Path::new("/")))?;
    private_files::replace(path, bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::undo::{BeforeImages, UndoOutcome, undo};

    /// Stores files by their names, as an engine does.
    #[derive(Debug, Default)]
    struct FileShelf(Mutex<BTreeMap<String, Vec<u8>>>);

    impl FileUplink for FileShelf {
        fn attach(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
            let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            files.insert(name.to_owned(), bytes.to_vec());
            Ok(())
        }

        fn bind(&self, _: &str) -> Result<(), String> {
            Ok(())
        }
    }

    impl FileShelf {
        fn take_in(&self, directory: &Path) {
            let files = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let attached: Vec<_> =
                files.iter().map(|(name, bytes)| (name.clone(), digest::of(bytes))).collect();
            let mut get = |digest: &str| {
                let found = files.values().find(|bytes| digest::of(bytes) == digest);
                found.cloned().ok_or_else(|| digest.to_owned())
            };
            take_in_files(directory, &attached, &mut get).expect("files");
        }
    }

    #[test]
    fn another_home_undoes_what_a_run_changed() {
        let root = tempfile::tempdir().expect("a folder");
        let place = root.path().canonicalize().expect("a path");
        let (first, second) = (place.join("first"), place.join("second"));
        let shelf = std::sync::Arc::new(FileShelf::default());
        let file = place.join("file");
        fs::write(&file, "old").expect("a file");
        // Two processes of the run, and the other home looks in between.
        for text in ["new", "newer"] {
            let before = BeforeImages::new(images(&first)).expect("images");
            let before = before.shared_by(Some(shelf.clone()));
            before.keep(&file).expect("an image");
            fs::write(&file, text).expect("a file");
            before.settle().expect("settled");
            shelf.take_in(&second);
            shelf.take_in(&second);
        }
        let undone = undo(&[images(&second)], false, false).expect("undone");
        assert_eq!(undone, [(file.clone(), UndoOutcome::Back)]);
        assert_eq!(fs::read_to_string(&file).expect("a file"), "old");
    }

    #[test]
    fn names_lead_nowhere_else() {
        let digest = "a".repeat(DIGITS);
        let cases = [
            (format!("before/{digest}"), true),
            ("outputs/1.txt".to_owned(), true),
            ("before/index.jsonl".to_owned(), false),
            ("before/line-00000001".to_owned(), false),
            (format!("before/../{digest}"), false),
            ("outputs/../journal.db".to_owned(), false),
            ("outputs/.hidden".to_owned(), false),
            ("outputs/".to_owned(), false),
            ("journal.db".to_owned(), false),
            ("/etc/passwd".to_owned(), false),
        ];
        for (name, expected) in cases {
            assert_eq!(local_path(Path::new("/run"), &name).is_some(), expected, "{name}");
        }
    }

    #[test]
    fn outputs_are_shared_once() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("outputs")).expect("a folder");
        fs::write(root.path().join("outputs/1.txt"), "long").expect("a file");
        let (shelf, mut shared) = (FileShelf::default(), BTreeSet::new());
        share_outputs(&shelf, root.path(), &mut shared).expect("shared");
        fs::write(root.path().join("outputs/1.txt"), "another").expect("a file");
        share_outputs(&shelf, root.path(), &mut shared).expect("shared");
        let other = root.path().join("other");
        shelf.take_in(&other);
        assert_eq!(fs::read_to_string(other.join("outputs/1.txt")).expect("a file"), "long");
    }
}
