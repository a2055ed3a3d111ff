//! The file that a cassette is written to. It is checked before the run costs anything.

use agentry_posix::fd::OwnedFd;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use agentry_posix::fs::{AtFlags, Mode, OFlags};
use agentry_posix::io::Errno;
use serde_json::Value;

use super::PART;
use crate::protected_paths::{self, ProtectedKind};
use crate::tool::files::{self, MissingDirectory};
use crate::tool::real;

/// The most bytes of the first line that are read.
const MOST: u64 = 64 << 10;

/// Returns the real path of a cassette to record. Fails if its directory is not writable, or if the path has
/// something other than a cassette.
pub fn admit(path: &Path) -> io::Result<PathBuf> {
    let target = real(&std::path::absolute(path)?);
    let target = target.ok_or_else(|| io::Error::other("it is not known where it leads"))?;
    replaceable(&target)?;
    // Creating and removing a file shows that the directory is writable.
    let (parent, part) = part(&target)?;
    agentry_posix::fs::unlinkat(&parent, &part, AtFlags::empty())?;
    Ok(target)
}

/// Copies a recording to `target`, which was admitted before the run. Follows no link, whatever the run did
/// to the directories there.
pub fn keep(recorded: &Path, target: &Path) -> io::Result<()> {
    replaceable(target)?;
    let mut from = File::open(recorded)?;
    let (parent, name) = part(target)?;
    let file =
        agentry_posix::fs::openat(&parent, &name, OFlags::WRONLY | OFlags::NOFOLLOW, Mode::empty());
    let filled = file.map_err(io::Error::from).map(File::from).and_then(|mut to| {
        io::copy(&mut from, &mut to)?;
        to.sync_all()
    });
    let last = target.file_name().unwrap_or_default();
    let kept =
        filled.and_then(|()| Ok(agentry_posix::fs::renameat(&parent, &name, &parent, last)?));
    if kept.is_err() {
        let _ = agentry_posix::fs::unlinkat(&parent, &name, AtFlags::empty());
    }
    kept
}

/// Creates an empty file beside `target`, and replaces one that a killed run has left.
fn part(target: &Path) -> io::Result<(OwnedFd, OsString)> {
    let (parent, mut name) = files::parent(target, MissingDirectory::Fails)?;
    name.push(PART);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let make = || agentry_posix::fs::openat(&parent, &name, flags, Mode::from_raw_mode(0o666));
    match make() {
        Err(Errno::EXIST) => {
            agentry_posix::fs::unlinkat(&parent, &name, AtFlags::empty())?;
            make()?;
        }
        other => drop(other?),
    }
    Ok((parent, name))
}

fn replaceable(target: &Path) -> io::Result<()> {
    let file = match files::open(target) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let empty = file.metadata()?.len() == 0;
    if (!empty || is_others(target)) && !is_cassette(file)? {
        return Err(io::Error::other("it is not a cassette, and is not replaced by one"));
    }
    Ok(())
}

/// Returns whether the name belongs to another protected file, even if that is empty.
fn is_others(target: &Path) -> bool {
    let named = target.file_name().map(Path::new).and_then(protected_paths::why_protected);
    named != Some(ProtectedKind::Recorded.why()) && protected_paths::why_protected(target).is_some()
}

fn is_cassette(file: File) -> io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(file.take(MOST)).read_until(b'\n', &mut line)?;
    let header: Option<Value> = serde_json::from_slice(&line).ok();
    Ok(header.is_some_and(|header| header.get("cassette").is_some_and(Value::is_u64)))
}

#[cfg(test)]
mod tests {
    use agentry_posix::unix::fs::symlink;
    use std::fs;

    use super::*;

    #[test]
    fn only_cassette_files_are_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("directory")).unwrap();
        fs::write(root.join("agentry.toml"), "[check]\n").unwrap();
        fs::write(root.join("other.json"), "{\"name\": 1}\n").unwrap();
        fs::write(root.join("old"), "{\"cassette\":1,\"agent\":\"x\"}\n{}\n").unwrap();
        fs::write(root.join("empty"), "").unwrap();
        fs::create_dir(root.join(".claude")).unwrap();
        for name in ["agentry.lock", ".claude/settings.json", ".claude/a.cassette.jsonl"] {
            fs::write(root.join(name), "").unwrap();
        }
        let cases = [
            ("new", true),
            ("old", true),
            ("empty", true),
            ("agentry.toml", false),
            ("agentry.lock", false),
            (".claude/settings.json", false),
            (".claude/a.cassette.jsonl", true),
            ("other.json", false),
            ("directory", false),
            ("missing/new", false),
            ("old/new", false),
        ];
        for (name, expected) in cases {
            assert_eq!(admit(&root.join(name)).is_ok(), expected, "{name}");
        }
        assert_eq!(fs::read_dir(root).unwrap().count(), 7, "nothing is left");
    }
    #[test]
    fn links_that_the_run_made_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let recorded = root.join("recorded");
        fs::write(&recorded, "{\"cassette\":1}\n").unwrap();
        fs::write(root.join("profile"), "theirs").unwrap();
        fs::create_dir(root.join("tapes")).unwrap();
        fs::create_dir(root.join("elsewhere")).unwrap();
        let target = admit(&root.join("tapes/a")).unwrap();
        symlink(root.join("profile"), root.join("tapes/a.part")).unwrap();
        keep(&recorded, &target).unwrap();
        assert_eq!(fs::read_to_string(root.join("profile")).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(&target).unwrap(), "{\"cassette\":1}\n");
        assert_eq!(fs::read_dir(root.join("tapes")).unwrap().count(), 1);
        fs::remove_dir_all(root.join("tapes")).unwrap();
        symlink("elsewhere", root.join("tapes")).unwrap();
        assert!(keep(&recorded, &target).is_err());
        assert_eq!(fs::read_dir(root.join("elsewhere")).unwrap().count(), 0);
    }
}
