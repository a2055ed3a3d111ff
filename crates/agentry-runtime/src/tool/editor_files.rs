//! Files that the user has open in an editor, with changes that are not saved yet. The policy decides about a
//! path first; an editor only says what is in the file.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::files::{self, FileStamp};

/// The most bytes of a file about which an editor is asked.
const MOST_BYTES: usize = 640 << 10;

/// An editor that has files open.
pub trait OpenFiles: Send + Sync {
    /// Returns the text of a file as the editor has it; `None` if it does not say. Blocks.
    fn text(&self, path: &Path) -> Option<String>;

    /// Replaces the text of a file in the editor, and saves it. Blocks.
    fn save(&self, path: &Path, text: &str) -> Result<(), String>;
}

/// The editor of the user, if there is one.
#[derive(Clone, Default)]
pub struct EditorFiles(pub Option<Arc<dyn OpenFiles>>);

/// The content of a file before it is changed.
#[derive(Debug, Clone)]
pub(super) struct FileBefore {
    /// What is in it, as the user sees it.
    pub(super) bytes: Vec<u8>,
    /// The file on disk.
    pub(super) stamp: FileStamp,
    /// Whether the editor has changes that are not on disk.
    pub(super) is_unsaved: bool,
}

impl EditorFiles {
    /// Returns the text of a file in the editor if it differs from the one on disk.
    pub(super) fn unsaved(&self, path: &Path, on_disk: &[u8]) -> Option<String> {
        if on_disk.len() > MOST_BYTES {
            return None;
        }
        // What is no text on disk is decoded by the editor in a way of its own.
        let on_disk = str::from_utf8(on_disk).ok()?;
        let text = self.0.as_ref()?.text(path)?;
        (!is_same(&text, on_disk)).then_some(text)
    }

    /// Returns the content of a file that is to be changed; `None` if it does not exist.
    pub(super) fn contents(&self, path: &Path) -> io::Result<Option<FileBefore>> {
        let Some((bytes, stamp)) = files::contents(path)? else { return Ok(None) };
        let unsaved = self.unsaved(path, &bytes);
        let is_unsaved = unsaved.is_some();
        let bytes = unsaved.map_or(bytes, String::into_bytes);
        Ok(Some(FileBefore { bytes, stamp, is_unsaved }))
    }

    /// Lets the editor save a file, and checks that it did.
    ///
    /// An editor follows links. So no command of the run may be under way, which could replace a directory by a link between
    /// the check and the write.
    pub(super) fn save(
        &self,
        change: (&Path, &[u8], &FileStamp),
        has_commands: bool,
    ) -> io::Result<()> {
        let (path, text, before) = change;
        let editor = self.0.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        if has_commands {
            return Err(io::Error::other(
                "it has changes in the editor that are not saved, and other programs of the run are under way: \
                 ask the user to save it",
            ));
        }
        let now = files::contents(path)?;
        if now.is_none_or(|(_, stamp)| stamp != *before) {
            return Err(io::Error::other("it was changed in the meantime"));
        }
        let text = str::from_utf8(text).map_err(|_| io::Error::other("it is no UTF-8 text"))?;
        editor.save(path, text).map_err(io::Error::other)?;
        let saved = files::contents(path)?.is_some_and(|(bytes, _)| {
            str::from_utf8(&bytes).is_ok_and(|saved| is_same(saved, text))
        });
        if saved { Ok(()) } else { Err(io::Error::other("the editor did not save it")) }
    }
}

/// Whether two texts are the same for an editor, which may show every line end as LF and keeps a byte-order mark apart.
fn is_same(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    a == b || plain(a) == plain(b)
}

impl fmt::Debug for EditorFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EditorFiles").field(&self.0.is_some()).finish()
    }
}

impl PartialEq for EditorFiles {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Eq for EditorFiles {}

#[cfg(test)]
#[path = "editor_files_tests.rs"]
mod tests;
