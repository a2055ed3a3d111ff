//! File changes of the tools: all changes of a call happen, or none. They can be previewed as a diff, and
//! undone later.

use std::path::PathBuf;

use agentry_compile::policy::Section;

use super::editor_files::FileBefore;
use super::files::{self, FileStamp, touch};
use super::replace::{remove, replace};
use super::{ToolHost, output_cap};
use crate::event::CallJudgement;
use crate::file_diff::file_diff;

/// The most bytes of one diff.
const MOST_OF_DIFF: usize = 16_000;
/// Why a change does not take place that an editor cannot make.
const UNSAVED: &str =
    "it has changes in the editor that are not saved: change it alone, with `edit`";

/// The content of one file before and after a change.
#[derive(Debug)]
pub(super) struct ToolFileChange {
    /// The path as the model wrote it.
    pub(super) name: String,
    /// The real path.
    pub(super) path: PathBuf,
    /// The present content; `None` if the file is new.
    pub(super) before: Option<FileBefore>,
    /// The new content; `None` if the file is deleted.
    pub(super) after: Option<Vec<u8>>,
    /// The file whose permissions a new file gets: the one that is moved there.
    pub(super) like: Option<FileStamp>,
}

impl ToolFileChange {
    /// Returns the change as a unified diff.
    pub(super) fn diff(&self) -> String {
        let before = self.before.as_ref().map(|before| before.bytes.as_slice());
        file_diff(&self.name, before, self.after.as_deref(), MOST_OF_DIFF)
    }

    fn apply(&self, host: &dyn ToolHost) -> std::io::Result<()> {
        if let (Some(FileBefore { stamp, is_unsaved: true, .. }), after) =
            (&self.before, &self.after)
        {
            let after = after.as_ref().ok_or_else(|| std::io::Error::other(UNSAVED))?;
            let change = (self.path.as_path(), after.as_slice(), stamp);
            return host.place().editor.save(change, host.has_commands());
        }
        let before = self.before.as_ref().map(|before| &before.stamp);
        match (&self.after, before) {
            (Some(bytes), before) => {
                replace(&self.path, bytes, before, before.or(self.like.as_ref()))
            }
            (None, Some(before)) => remove(&self.path, before),
            (None, None) => Ok(()),
        }
    }

    /// Restores the content before the change.
    fn take_back(&self) -> std::io::Result<()> {
        let now = files::contents(&self.path)?.map(|(_, stamp)| stamp);
        match (&self.before, now) {
            (Some(FileBefore { bytes, stamp, .. }), now) => {
                replace(&self.path, bytes, now.as_ref(), Some(stamp))
            }
            (None, Some(now)) => remove(&self.path, &now),
            (None, None) => Ok(()),
        }
    }
}

/// Makes all changes or none. The run stores the present content first.
pub(super) fn carry_out(changes: &[ToolFileChange], host: &dyn ToolHost) -> Result<(), String> {
    // An editor cannot take part in «all or none».
    let is_unsaved =
        |change: &&ToolFileChange| change.before.as_ref().is_some_and(|it| it.is_unsaved);
    if let (Some(unsaved), 2..) = (changes.iter().find(is_unsaved), changes.len()) {
        return Err(format!("nothing was changed: `{}`: {UNSAVED}", unsaved.name));
    }
    for change in changes {
        let kept = host.before_change(&change.path);
        kept.map_err(|error| {
            format!("nothing was changed: `{}` could not be kept for undo: {error}", change.name)
        })?;
    }
    let place = host.place();
    for (at, change) in changes.iter().enumerate() {
        // Checked again for each file: several harmless files can together form a repository.
        let applied = files::unprotected(&change.path, &place)
            .and_then(|()| change.apply(host).map_err(|error| files::why(&change.name, &error)));
        let Err(mut message) = applied else { continue };
        let done = changes.get(..at).unwrap_or_default();
        for change in done.iter().rev() {
            if let Err(error) = change.take_back() {
                let why = files::why(&change.name, &error);
                message.push_str("; it stays changed, as it could not be put back: ");
                message.push_str(&why);
            }
        }
        return Err(format!("nothing was changed: {message}"));
    }
    Ok(())
}

/// Returns the diffs of the files that the model may read.
pub(super) fn shown(changes: &[ToolFileChange], host: &dyn ToolHost) -> String {
    let may_read = |change: &&ToolFileChange| {
        change.before.is_none()
            || host.judge(&touch(Section::Read, &change.path)).0 == CallJudgement::Allow
    };
    let diffs: String = changes.iter().filter(may_read).map(ToolFileChange::diff).collect();
    output_cap::text(&diffs)
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestWorkspace;
    use super::*;

    fn change(world: &TestWorkspace, name: &str, after: Option<&str>) -> ToolFileChange {
        let path = world.path(name);
        let before = super::super::EditorFiles::default().contents(&path).unwrap();
        let after = after.map(|it| it.as_bytes().into());
        ToolFileChange { name: name.to_owned(), path, before, after, like: None }
    }

    #[test]
    fn a_failed_change_rolls_back_the_others() {
        let world = TestWorkspace::new();
        let host = world.host();
        world.file("a", "old a");
        world.file("b", "old b");
        let gone = world.file("c", "old c");
        let changes = [
            change(&world, "a", Some("new a")),
            change(&world, "b", None),
            change(&world, "new", Some("new")),
            change(&world, "c", Some("new c")),
        ];
        std::fs::remove_file(gone).unwrap();
        let expected = "nothing was changed: `c`: it was changed in the meantime";
        assert_eq!(carry_out(&changes, &host), Err(expected.to_owned()));
        assert_eq!((world.text("a"), world.text("b")), ("old a".into(), "old b".into()));
        assert!(!world.path("new").exists());
        assert_eq!(host.kept.lock().unwrap().len(), 4);
        assert_eq!(
            carry_out(changes.get(..3).unwrap(), &host),
            Err("nothing was changed: `a`: it was changed in the meantime".to_owned())
        );
    }

    #[test]
    fn changes_are_previewed_as_diffs() {
        let world = TestWorkspace::new();
        world.file("a", "one\ntwo\nthree");
        world.file("bin", [0xff, 0xfe]);
        let cases = [
            (
                change(&world, "a", Some("one\n2\nthree")),
                "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n",
            ),
            (change(&world, "new", Some("x\n")), "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"),
            (change(&world, "bin", Some("x\n")), "--- a/bin\n+++ b/bin\nit is not text\n"),
        ];
        for (change, expected) in cases {
            assert_eq!(change.diff(), expected, "{}", change.name);
        }
        world.file("big", "line\n".repeat(2_000_000));
        let all = change(&world, "big", Some(&"other\n".repeat(100_000)));
        assert!(all.diff().len() < MOST_OF_DIFF + 100);
    }
}
