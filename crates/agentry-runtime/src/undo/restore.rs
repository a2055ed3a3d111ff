//! Takes the changes of a run back.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::index::{Index, Line};
use super::{There, there};
use crate::private::{self, sync};

/// What became of the changes of one path.
#[derive(Debug, PartialEq, Eq)]
pub enum Undone {
    /// The path is what it was before the run.
    Back,
    /// It was already.
    Same,
    /// It is what somebody else had made of it between two changes of the run.
    Partly,
    /// It is as it was found, for this reason.
    Kept(String),
}

/// Takes the changes of a run back, path by path: only what is still as the run left it, unless
/// `force`. With `dry`, only says what would be done.
pub fn undo(directory: &Path, force: bool, dry: bool) -> io::Result<Vec<(PathBuf, Undone)>> {
    let index = Index::read(directory)?;
    let paths: BTreeSet<&Path> = index.lines.iter().map(|line| line.path.as_path()).collect();
    // What lies deeper comes first, so that directories are empty when their turn comes.
    let undone = paths.into_iter().rev().map(|path| {
        let lines: Vec<&Line> = index.lines.iter().filter(|line| line.path == path).collect();
        let undone = one(directory, path, &lines, force, dry);
        (path.to_path_buf(), undone.unwrap_or_else(|error| Undone::Kept(error.to_string())))
    });
    let mut undone: Vec<_> = undone.collect();
    undone.reverse();
    if !dry {
        remove_made(&index, &undone);
    }
    Ok(undone)
}

fn one(
    directory: &Path,
    path: &Path,
    lines: &[&Line],
    force: bool,
    dry: bool,
) -> io::Result<Undone> {
    let Some(first) = lines.first() else { return Ok(Undone::Same) };
    let now = there(path)?;
    if now == first.before {
        return Ok(Undone::Same);
    }
    let target = if force { 0 } else { reached(lines, &now) };
    let Some(line) = lines.get(target) else {
        return Ok(Undone::Kept(why(lines, &now)));
    };
    if !dry {
        restore(directory, path, &line.before)?;
    }
    Ok(if target == 0 { Undone::Back } else { Undone::Partly })
}

/// The earliest change that can be taken back, going from the last one to the first as long as each
/// has left what is there; the number of changes if not even the last one can.
fn reached(lines: &[&Line], now: &There) -> usize {
    let mut there = now;
    let mut at = lines.len();
    for (number, line) in lines.iter().enumerate().rev() {
        // Killed in the middle: a change that has not begun to change anything is over.
        let is_left = line.left.as_ref().map_or(*there == line.before, |left| left == there);
        if !is_left {
            break;
        }
        there = &line.before;
        at = number;
    }
    at
}

fn why(lines: &[&Line], now: &There) -> String {
    if lines.last().is_some_and(|line| line.left.is_none()) {
        return "the run was killed while it changed this: nobody knows what it left".to_owned();
    }
    match now {
        There::Nothing => "somebody removed it since".to_owned(),
        _ => "somebody changed it since".to_owned(),
    }
}

/// Puts back what was there, in one step.
fn restore(directory: &Path, path: &Path, before: &There) -> io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    match before {
        There::Nothing => match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.and_then(|()| sync(parent)),
        },
        There::File { digest, mode } => {
            let part = beside(path)?;
            fs::create_dir_all(parent)?;
            let mut from = fs::File::open(directory.join(digest))?;
            let options = &mut fs::OpenOptions::new();
            let mut to = private::file(&part, options.write(true).create_new(true))?;
            let copied = io::copy(&mut from, &mut to)
                .and_then(|_| set_mode(&to, *mode))
                .and_then(|()| to.sync_all())
                .and_then(|()| fs::rename(&part, path));
            if copied.is_err() {
                let _ = fs::remove_file(&part);
            }
            copied.and_then(|()| sync(parent))
        }
        There::Link { target } => {
            let part = beside(path)?;
            fs::create_dir_all(parent)?;
            link(target, &part)?;
            fs::rename(&part, path).and_then(|()| sync(parent))
        }
        There::Directory => fs::create_dir_all(path),
    }
}

/// A name in the same directory that nobody uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().ok_or_else(|| io::Error::other("it has no name"))?);
    name.push(format!(".undo-{}", std::process::id()));
    Ok(path.with_file_name(name))
}

/// Removes the directories that the run made for what was taken back, if nobody else uses them.
fn remove_made(index: &Index, undone: &[(PathBuf, Undone)]) {
    // What was taken back an earlier time is as it was.
    let is_back = |path: &Path| {
        let mut found = undone.iter().filter(|(other, _)| other == path);
        found.any(|(_, undone)| matches!(undone, Undone::Back | Undone::Same))
    };
    let lines = index.lines.iter().filter(|line| is_back(&line.path));
    let made: BTreeSet<&PathBuf> = lines.flat_map(|line| &line.made).collect();
    for directory in made.into_iter().rev() {
        // One that is not empty stays.
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(unix)]
fn set_mode(file: &fs::File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &fs::File, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("links cannot be put back here"))
}
