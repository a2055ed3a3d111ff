//! Walks directories for `glob`, `grep` and `list`: what may be shown, in which order, and when to stop.
//!
//! A directory is judged as `directory/*`; after that, every file is judged by itself. A name is shown unless
//! the file may not be read at all. Content is shown only if it may be read without approval, or if the user
//! approved the directory and the file has no secret.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agentry_compile::policy::Section;
use agentry_compile::policy::commands::secrets::is_secret;
use agentry_compile::text::report::visible;
use ignore::{DirEntry, WalkBuilder};
use tokio::sync::mpsc::{Receiver, channel};

use super::files::{self, touch};
use super::read::{readable, touched};
use super::{CallLocation, ToolHost, ToolTouch, permit, real};
use crate::event::CallJudgement;

/// The most entries of a walk.
const MOST_ENTRIES: usize = 200_000;
/// How many entries the walk may be ahead of its reader.
const AT_A_TIME: usize = 64;

/// Returns what a call that reads a file or walks a directory touches.
pub(super) fn touches(path: Option<&str>, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
    let path = files::resolve(path.unwrap_or("."), place)?;
    if path.is_dir() {
        files::visible(&path, place)?;
        return Ok(vec![touch(Section::Read, &path.join("*"))]);
    }
    touched(&path, place)
}

/// The root of a walk.
pub(super) struct WalkRoot<'a> {
    /// The real path.
    pub(super) path: PathBuf,
    /// Whether it is a directory.
    pub(super) is_directory: bool,
    /// Whether the policy asks about it, so that the user has approved it.
    asked: bool,
    host: &'a dyn ToolHost,
    place: CallLocation,
}

/// How much of a file may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileVisibility {
    /// Its content.
    All,
    /// Its name.
    Name,
    /// Nothing.
    Nothing,
}

impl<'a> WalkRoot<'a> {
    /// Creates the root for a path, if the call may read it.
    pub(super) fn new(path: Option<&str>, host: &'a dyn ToolHost) -> Result<Self, String> {
        let place = host.place();
        let name = path.unwrap_or(".");
        let real = files::resolve(name, &place)?;
        if !real.is_dir() {
            let path = readable(name, host)?;
            return Ok(Self { path, is_directory: false, asked: false, host, place });
        }
        files::visible(&real, &place)?;
        // The same subject as in `touches`, so that the approval of the call counts.
        let inside = touch(Section::Read, &real.join("*"));
        permit(host, &inside)?;
        let asked = host.judge(&inside).0 == CallJudgement::Ask;
        Ok(Self { path: real, is_directory: true, asked, host, place })
    }

    /// Returns how much of a file below the root may be shown.
    pub(super) fn seen(&self, path: &Path) -> FileVisibility {
        let Some(text) = path.to_str() else { return FileVisibility::Nothing };
        if files::is_hidden(path, &self.place) {
            return FileVisibility::Nothing;
        }
        // A directory on the way may have been replaced by a link.
        if path.parent().is_none_or(|parent| real(parent).as_deref() != Some(parent)) {
            return FileVisibility::Nothing;
        }
        match self.host.judge(&touch(Section::Read, path)).0 {
            CallJudgement::Allow => FileVisibility::All,
            CallJudgement::Deny => FileVisibility::Nothing,
            CallJudgement::Ask => {
                let home = self.place.home.as_ref().and_then(|home| home.to_str());
                let secret = is_secret(text, home).is_some();
                if self.asked && !secret { FileVisibility::All } else { FileVisibility::Name }
            }
        }
    }

    /// Returns the shown form of a path: relative to the working directory if it is below it, with control
    /// characters made visible.
    pub(super) fn called(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.place.directory).unwrap_or(path);
        visible(&below.to_string_lossy()).into_owned()
    }

    /// Walks everything below that version control does not ignore, sorted by name, until `each` stops
    /// it. Links are not followed. Returns whether the walk was complete.
    pub(super) async fn walk(&self, mut each: impl FnMut(&DirEntry) -> WalkFlow) -> bool {
        let mut entries = entries(&self.path, self.place.clone());
        let mut number = 0;
        while let Some(entry) = entries.recv().await {
            number += 1;
            if number > MOST_ENTRIES || each(&entry) == WalkFlow::Enough {
                return false;
            }
        }
        true
    }
}

/// Walks in a thread, which ends when the receiver is dropped: a file system may block, and a call can be
/// cancelled at any time.
fn entries(path: &Path, place: CallLocation) -> Receiver<DirEntry> {
    let (sender, receiver) = channel(AT_A_TIME);
    let walk = WalkBuilder::new(path)
        .hidden(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            // Hidden files are walked, except the inside of a repository.
            entry.file_name() != ".git" && !files::is_hidden(entry.path(), &place)
        })
        .build();
    std::thread::spawn(move || {
        for entry in walk.flatten() {
            if sender.blocking_send(entry).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Whether to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkFlow {
    More,
    Enough,
}

/// Adds notes about hidden files and an incomplete walk to the list.
pub(super) fn report(mut found: String, hidden: usize, complete: bool) -> String {
    if found.is_empty() {
        found.push_str("nothing was found\n");
    }
    if hidden > 0 {
        let files = if hidden == 1 { "file is" } else { "files are" };
        let _ = write!(
            found,
            "
[{hidden} {files} not shown: the policy does not allow it]"
        );
    }
    if !complete {
        found.push_str("\n[there is more: narrow the search]");
    }
    found
}
