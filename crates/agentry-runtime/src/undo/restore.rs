//! Undoes the changes of a run, by its index and its before-images.

use agentry_posix::fd::OwnedFd;
use agentry_posix::unix::fs::PermissionsExt as _;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use agentry_posix::fs::{AtFlags, Mode, OFlags};
use agentry_posix::io::Errno;

use super::index::{PathChange, UndoIndex};
use super::{PathImage, there, untouchable};
use crate::tool::files::{self, MissingDirectory};

/// The result of undoing the changes of one path.
#[derive(Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The path is restored to its state before the run.
    Back,
    /// It had that state already.
    Same,
    /// It is restored to what another program had written between two changes of the run.
    Partly,
    /// It is unchanged, for this reason.
    Kept(String),
    /// It is unchanged even with `force`: a link is on the way, or it is protected.
    Refused(String),
}

/// A change, and the directory with the images of its run.
pub(super) struct PlacedChange<'a> {
    pub(super) images: &'a Path,
    pub(super) change: PathChange,
}

/// Undoes the changes of a run and of its delegates, path by path, the newest first. Each run has a directory of
/// images. Without `force`, only where the file is still as the runs left it. With `dry`, only returns what would
/// be done.
pub fn undo(
    directories: &[PathBuf],
    force: bool,
    dry: bool,
) -> io::Result<Vec<(PathBuf, UndoOutcome)>> {
    let mut changes = Vec::new();
    for images in directories {
        let lines = UndoIndex::read(images)?.lines.into_iter();
        changes.extend(lines.map(|change| PlacedChange { images, change }));
    }
    Ok(undo_changes(changes, force, dry))
}

/// Undoes these changes, path by path.
pub(super) fn undo_changes(
    mut changes: Vec<PlacedChange<'_>>,
    force: bool,
    dry: bool,
) -> Vec<(PathBuf, UndoOutcome)> {
    // A stable sort: changes of one run stay in their order.
    changes.sort_by_key(|placed| placed.change.at);
    let paths: BTreeSet<&Path> = changes.iter().map(|it| it.change.path.as_path()).collect();
    // Deeper paths come first, so that directories are empty when they are handled.
    let undone = paths.into_iter().rev().map(|path| {
        let lines: Vec<_> = changes.iter().filter(|it| it.change.path == path).collect();
        let undone = one(path, &lines, force, dry);
        (path.to_path_buf(), undone.unwrap_or_else(|error| UndoOutcome::Kept(error.to_string())))
    });
    let mut undone: Vec<_> = undone.collect();
    undone.reverse();
    if !dry {
        remove_made(&changes, &undone);
    }
    undone
}

fn one(
    path: &Path,
    lines: &[&PlacedChange<'_>],
    force: bool,
    dry: bool,
) -> io::Result<UndoOutcome> {
    let Some(first) = lines.first() else { return Ok(UndoOutcome::Same) };
    if let Some(why) = untouchable(path) {
        return Ok(UndoOutcome::Refused(why));
    }
    let now = there(path)?;
    if now == first.change.before {
        return Ok(UndoOutcome::Same);
    }
    let target = if force { 0 } else { reached(lines, &now) };
    let Some(line) = lines.get(target) else {
        return Ok(UndoOutcome::Kept(why(lines, &now)));
    };
    if !dry {
        restore(line.images, path, &line.change.before)?;
    }
    Ok(if target == 0 { UndoOutcome::Back } else { UndoOutcome::Partly })
}

/// Returns the index of the earliest change that can be undone. Goes back from the last change as long as
/// each has left what is there now; returns the number of changes if not even the last can be undone.
fn reached(lines: &[&PlacedChange<'_>], now: &PathImage) -> usize {
    let mut there = now;
    let mut at = lines.len();
    for (number, PlacedChange { change: line, .. }) in lines.iter().enumerate().rev() {
        // The run was killed during this change: if nothing has changed yet, there is nothing to undo.
        let is_left = line.left.as_ref().map_or(*there == line.before, |left| left == there);
        if !is_left {
            break;
        }
        there = &line.before;
        at = number;
    }
    at
}

fn why(lines: &[&PlacedChange<'_>], now: &PathImage) -> String {
    if lines.last().is_some_and(|line| line.change.left.is_none()) {
        return "the run was killed while it changed this: its state is not known".to_owned();
    }
    match now {
        PathImage::Nothing => "it was removed since".to_owned(),
        _ => "it was changed since".to_owned(),
    }
}

/// Restores what was there, in one step, without following a link.
pub(super) fn restore(directory: &Path, path: &Path, before: &PathImage) -> io::Result<()> {
    if *before == PathImage::Nothing {
        return remove(path, AtFlags::empty());
    }
    let (parent, name) = files::parent(path, MissingDirectory::IsMade)?;
    let part = beside(&name);
    match before {
        PathImage::Nothing => return Ok(()),
        PathImage::Directory => {
            match agentry_posix::fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        PathImage::File { digest, mode } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let made =
                agentry_posix::fs::openat(&parent, &part, flags, Mode::from_raw_mode(0o600))?;
            let filled = fill(File::from(made), &directory.join(digest), *mode);
            if filled.is_err() {
                let _ = agentry_posix::fs::unlinkat(&parent, &part, AtFlags::empty());
            }
            filled?;
        }
        PathImage::Link { target } => agentry_posix::fs::symlinkat(target, &parent, &part)?,
    }
    if let Err(error) = agentry_posix::fs::renameat(&parent, &part, &parent, &name) {
        let _ = agentry_posix::fs::unlinkat(&parent, &part, AtFlags::empty());
        return Err(error.into());
    }
    sync(&parent)
}

fn fill(mut to: File, image: &Path, mode: u32) -> io::Result<()> {
    io::copy(&mut File::open(image)?, &mut to)?;
    // The setuid and setgid bits are not restored: the file may have another owner now.
    to.set_permissions(Permissions::from_mode(mode & 0o1777))?;
    to.sync_all()
}

/// Removes a file, or an empty directory, without following a link.
fn remove(path: &Path, flags: AtFlags) -> io::Result<()> {
    let (parent, name) = files::parent(path, MissingDirectory::Fails)?;
    match agentry_posix::fs::unlinkat(&parent, &name, flags) {
        Err(Errno::NOENT) => Ok(()),
        other => other.map_err(io::Error::from).and_then(|()| sync(&parent)),
    }
}

/// Flushes the entries of a directory to disk.
fn sync(directory: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(agentry_posix::fs::fsync(agentry_posix::fs::openat(directory, ".", flags, Mode::empty())?)?)
}

/// Returns an unused name in the same directory.
fn beside(name: &OsStr) -> OsString {
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".undo-{}", std::process::id()));
    part
}

/// Removes the directories that the run created for the undone files, if they are empty.
fn remove_made(changes: &[PlacedChange<'_>], undone: &[(PathBuf, UndoOutcome)]) {
    // A path that an earlier undo restored has its original state, so it counts too.
    let is_back = |path: &Path| {
        let mut found = undone.iter().filter(|(other, _)| other == path);
        found.any(|(_, undone)| matches!(undone, UndoOutcome::Back | UndoOutcome::Same))
    };
    let lines = changes.iter().map(|it| &it.change).filter(|line| is_back(&line.path));
    let made: BTreeSet<&PathBuf> = lines.flat_map(|line| &line.made).collect();
    for directory in made.into_iter().rev() {
        // A directory that is not empty stays.
        let _ = remove(directory, AtFlags::REMOVEDIR);
    }
}
