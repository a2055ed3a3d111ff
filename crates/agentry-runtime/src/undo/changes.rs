//! What runs changed: each file as it was before its first change, and as it is now. Changes by commands are
//! not recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use similar::ChangeTag;

use super::index::UndoIndex;
use super::restore::PlacedChange;
use super::{PathImage, there};
use crate::file_diff;
use crate::tool::files;

/// The largest file whose lines are compared.
const MOST_BYTES: u64 = 512 * 1024;
/// The longest diff of all files.
const MOST_DIFF: usize = 2 * 1024 * 1024;

/// A file that a run changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFileChange {
    /// Its path.
    pub path: PathBuf,
    /// The number of new lines.
    pub added: usize,
    /// The number of lines that are gone.
    pub removed: usize,
    /// The change as a unified diff. It has no lines if one of both states is no text or too long.
    pub diff: String,
}

/// Returns the files that differ from what was there before the runs whose images lie in these directories.
/// Changes nothing.
pub fn changed_files(directories: &[PathBuf]) -> io::Result<Vec<RunFileChange>> {
    let mut changes = Vec::new();
    for images in directories {
        let lines = UndoIndex::look(images)?.lines.into_iter();
        changes.extend(lines.map(|change| PlacedChange { images, change }));
    }
    compared_with_now(changes)
}

/// The files of these changes that differ from what they were before the first one.
pub(super) fn compared_with_now(all: Vec<PlacedChange<'_>>) -> io::Result<Vec<RunFileChange>> {
    let mut first: BTreeMap<PathBuf, PlacedChange<'_>> = BTreeMap::new();
    for placed in all {
        let path = &placed.change.path;
        if first.get(path).is_none_or(|known| placed.change.at < known.change.at) {
            first.insert(path.clone(), placed);
        }
    }
    let mut differing = Vec::new();
    for (path, PlacedChange { images, change }) in first {
        let now = there(&path)?;
        if now != change.before {
            differing.push(compared(path, (images, &change.before), &now));
        }
    }
    Ok(differing)
}

/// Joins the diffs of all files, up to a limit.
pub fn joined_diff(changed: &[RunFileChange]) -> String {
    let mut out = String::new();
    for (at, file) in changed.iter().enumerate() {
        if out.len() > MOST_DIFF {
            let _ = writeln!(out, "… and {} further files", changed.len() - at);
            break;
        }
        out.push_str(&file.diff);
    }
    out
}

fn compared(path: PathBuf, before: (&Path, &PathImage), now: &PathImage) -> RunFileChange {
    let header = |image: &PathImage, side: &str| match image {
        PathImage::Nothing => "/dev/null".to_owned(),
        _ => format!("{side}{}", path.display()),
    };
    let (from, to) = (header(before.1, "a"), header(now, "b"));
    let (Some(old), Some(new)) = (text_before(before), text_at(&path, now)) else {
        let diff = format!("--- {from}\n+++ {to}\nthe contents are not text, or too long\n");
        return RunFileChange { path, added: 0, removed: 0, diff };
    };
    let diff = file_diff::by_lines(&old, &new);
    let count = |tag: ChangeTag| diff.iter_all_changes().filter(|it| it.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let diff = diff.unified_diff().header(&from, &to).to_string();
    RunFileChange { path, added, removed, diff }
}

/// The text of an image that is kept.
fn text_before((directory, image): (&Path, &PathImage)) -> Option<String> {
    match image {
        PathImage::Nothing => Some(String::new()),
        PathImage::File { digest, .. } => text_of(fs::File::open(directory.join(digest)).ok()?),
        PathImage::Link { .. } | PathImage::Directory => None,
    }
}

/// The text of a file now.
fn text_at(path: &Path, image: &PathImage) -> Option<String> {
    match image {
        PathImage::Nothing => Some(String::new()),
        PathImage::File { .. } => text_of(files::open(path).ok()?),
        PathImage::Link { .. } | PathImage::Directory => None,
    }
}

fn text_of(file: fs::File) -> Option<String> {
    let is_small = file.metadata().is_ok_and(|found| found.len() <= MOST_BYTES);
    is_small.then(|| io::read_to_string(file).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::undo::BeforeImages;

    #[test]
    fn changed_files_are_compared_with_their_before_image() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let images = BeforeImages::new(root.join("images")).unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            images.keep(&path).unwrap();
            fs::write(&path, text).unwrap();
            images.settle().unwrap();
        };
        fs::write(root.join("old"), "one\ntwo\n").unwrap();
        fs::write(root.join("same"), "one\n").unwrap();
        write("old", "one\n2\n");
        write("old", "one\n2\n3\n");
        write("new", "x\n");
        write("same", "other\n");
        write("same", "one\n");
        let changed = changed_files(&[root.join("images")]).unwrap();
        let stats: Vec<_> = changed
            .iter()
            .map(|it| (it.path.file_name().unwrap().to_str().unwrap(), it.added, it.removed))
            .collect();
        assert_eq!(stats, [("new", 1, 0), ("old", 2, 1)]);
        assert!(changed[0].diff.starts_with("--- /dev/null\n"), "{}", changed[0].diff);
        assert!(changed[1].diff.contains("-two\n+2\n+3\n"), "{}", changed[1].diff);
        let joined = joined_diff(&changed);
        assert!(joined.contains("+x\n") && joined.contains("+3\n"), "{joined}");
        assert_eq!(changed_files(&[root.join("none")]).unwrap(), []);
    }
}
