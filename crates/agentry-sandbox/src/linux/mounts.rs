//! Builds the file tree that confined commands see, from copies of mounts.
//!
//! A protected path inside a writable directory becomes a mount of its own, and so does every directory
//! and link on the way to it: a mount point cannot be renamed, removed or replaced.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::leftovers::place_file;
use super::pins::{MountPin, pins};
use super::system::{self, CopyAttributes};
use crate::{Confinement, NetworkAccess};

/// Where the tree is built. It is a new mount that only this process sees.
const STAGING: &str = "/tmp";
/// Devices that every command may use.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
/// Directories that are private to every run.
const OWN: &[&str] = &["tmp", "run", "var/tmp", "dev/shm"];
/// The DNS configuration of systemd, which lies below the private `/run`.
const RESOLVER: &str = "/run/systemd/resolve";

const READ: CopyAttributes = CopyAttributes { read_only: true, no_devices: true };
const WRITE: CopyAttributes = CopyAttributes { read_only: false, no_devices: true };

/// A copy of mounts, and its target path.
struct MountCopy {
    tree: OwnedFd,
    to: PathBuf,
    kind: MountKind,
    attributes: CopyAttributes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MountKind {
    Directory,
    File,
    Link,
}

/// The built tree, and the paths that must stay mounts.
pub(crate) struct MountTree {
    pub(crate) root: PathBuf,
    /// Paths as commands see them.
    pub(crate) mounted: Vec<PathBuf>,
}

/// Builds the tree, except for `/proc`.
pub(crate) fn build(confinement: &Confinement, stand_ins: &[PathBuf]) -> io::Result<MountTree> {
    let Confinement { reads, writes, read_only, hidden, private, empty, network, limits, .. } =
        confinement;
    let whole = reads.iter().any(|path| path == Path::new("/"));
    // Copy everything and follow all links first: mounts on the new tree will hide the originals.
    let root = if whole { Some(copy(Path::new("/"), READ)?) } else { None };
    let resolver = matches!(network, NetworkAccess::Full).then(|| PathBuf::from(RESOLVER));
    let covered = |path: &&PathBuf| !whole || is_covered(path, private);
    let reads: Vec<PathBuf> = reads.iter().filter(covered).cloned().chain(resolver).collect();
    let mut copies = copies(&real(&reads), READ)?;
    copies.extend(copies_of_writes(writes)?);
    let pins = pins(writes, read_only, hidden)?;
    let pinned = existing(pins.iter().map(pinned))?;
    let hidden = real(hidden);
    let devices = devices()?;
    let staging = Path::new(STAGING);
    let size = format!("mode=0755,size={}", limits.memory);
    system::mount("tmpfs", staging, libc::MS_NOSUID | libc::MS_NODEV, &size)?;
    if let Some(root) = &root {
        system::attach(root.as_fd(), staging)?;
    }
    skeleton(staging, whole, limits.memory)?;
    own(staging, private, limits.memory)?;
    if !whole {
        empty.iter().try_for_each(|path| fs::create_dir_all(inside(staging, path)))?;
    }
    populate_devices(staging, &devices)?;
    if !whole {
        links(staging, &reads)?;
    }
    for copy in copies {
        // What another program removes meanwhile is left out, which only makes the tree smaller.
        if let Err(error) = put(staging, &copy)
            && !is_gone(&copy.tree, &error)
        {
            return Err(error);
        }
    }
    let mut mounted = put_pins(staging, pinned)?;
    mounted.extend(mask(staging, hidden, stand_ins)?);
    Ok(MountTree { root: staging.to_owned(), mounted })
}

/// Mounts the pins, and returns the paths that must stay mounts: those that still exist.
fn put_pins(staging: &Path, pinned: Vec<MountCopy>) -> io::Result<Vec<PathBuf>> {
    /// A file that is replaced more often than this while it is mounted is refused.
    const MOST_TRIES: usize = 8;
    let mut mounted = Vec::new();
    for mut pin in pinned {
        let inside = inside(staging, &pin.to);
        let mut tries = 0;
        let is_put = loop {
            let Err(error) = put(staging, &pin) else { break true };
            tries += 1;
            if !is_gone(&pin.tree, &error) || tries > MOST_TRIES {
                return Err(error);
            }
            // Another program has replaced it: the new one is protected.
            match copy(&inside, pin.attributes) {
                Ok(tree) => pin.tree = tree,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break false,
                Err(error) => return Err(error),
            }
        };
        mounted.extend(is_put.then_some(pin.to));
    }
    Ok(mounted)
}

/// Whether a copy could not be mounted because its original was removed.
fn is_gone(tree: &OwnedFd, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || rustix::fs::fstat(tree).is_ok_and(|found| found.st_nlink == 0)
}

/// The copies of paths that still exist.
fn existing(copies: impl Iterator<Item = io::Result<MountCopy>>) -> io::Result<Vec<MountCopy>> {
    let is_there = |copy: &io::Result<MountCopy>| {
        !copy.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    copies.filter(is_there).collect()
}

/// Whether a path lies in a directory that is private to the run.
fn is_covered(path: &Path, private: &[PathBuf]) -> bool {
    OWN.iter().any(|own| path.starts_with(Path::new("/").join(own)))
        || private.iter().any(|own| path.starts_with(own))
}

fn copy(path: &Path, attributes: CopyAttributes) -> io::Result<OwnedFd> {
    let tree = system::clone_tree(path)?;
    system::set_attributes(tree.as_fd(), attributes)?;
    Ok(tree)
}

/// The canonical paths of those that exist.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// Copies the writable directories. Refuses a path through a link, because the link could be changed
/// to lead elsewhere.
fn copies_of_writes(writes: &[PathBuf]) -> io::Result<Vec<MountCopy>> {
    if let Some(path) =
        writes.iter().find(|path| fs::canonicalize(path).is_ok_and(|it| it != **path))
    {
        let message = format!("`{}` leads through a link and cannot be written", path.display());
        return Err(io::Error::other(message));
    }
    copies(&real(writes), WRITE)
}

/// Copies paths, the shorter first, so that a nested path is mounted on top of its parent.
fn copies(paths: &[PathBuf], attributes: CopyAttributes) -> io::Result<Vec<MountCopy>> {
    let mut paths = paths.to_vec();
    paths.sort();
    paths.dedup();
    let each = |path: PathBuf| {
        let kind = if path.is_dir() { MountKind::Directory } else { MountKind::File };
        let tree = copy(&path, attributes)?;
        Ok(MountCopy { tree, to: path, kind, attributes })
    };
    existing(paths.into_iter().map(each))
}

fn pinned(pin: &MountPin) -> io::Result<MountCopy> {
    let kind = match fs::symlink_metadata(&pin.path)?.file_type() {
        it if it.is_symlink() => MountKind::Link,
        it if it.is_dir() => MountKind::Directory,
        _ => MountKind::File,
    };
    let attributes = if pin.read_only { READ } else { WRITE };
    let tree = copy(&pin.path, attributes)?;
    Ok(MountCopy { tree, to: pin.path.clone(), kind, attributes })
}

fn devices() -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let attributes = CopyAttributes { read_only: false, no_devices: false };
    let exists = |name: &&&str| Path::new("/dev").join(name).exists();
    let each = |name: &&'static str| Ok((*name, copy(&Path::new("/dev").join(name), attributes)?));
    DEVICES.iter().filter(exists).map(each).collect()
}

/// Creates the private directories, and an empty `/proc` and `/dev`.
fn skeleton(root: &Path, whole: bool, size: u64) -> io::Result<()> {
    let exists = |name: &str| root.join(name).is_dir();
    if !whole {
        for name in ["proc", "dev", "tmp", "run", "var/tmp"] {
            fs::create_dir_all(root.join(name))?;
        }
    }
    system::mount("tmpfs", &root.join("dev"), libc::MS_NOSUID, "mode=0755,size=64k")?;
    fs::create_dir(root.join("dev/shm"))?;
    fs::create_dir(root.join("dev/pts"))?;
    for name in OWN.iter().filter(|name| exists(name)) {
        let path = root.join(name);
        // A link, as from `/var/tmp` to `/tmp`, points to another of these directories.
        if fs::symlink_metadata(&path)?.is_dir() {
            empty(&path, size)?;
        }
    }
    Ok(())
}

/// Mounts the private directories of the confinement.
fn own(root: &Path, private: &[PathBuf], size: u64) -> io::Result<()> {
    for path in private {
        let inside = inside(root, path);
        // In a read-only tree, a missing directory cannot be created and stays missing.
        if fs::create_dir_all(&inside).is_ok() {
            empty(&inside, size)?;
        }
    }
    Ok(())
}

fn empty(path: &Path, size: u64) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    system::mount("tmpfs", path, flags, &format!("mode=1777,size={size}"))
}

fn populate_devices(root: &Path, devices: &[(&str, OwnedFd)]) -> io::Result<()> {
    let dev = root.join("dev");
    for (name, tree) in devices {
        let path = dev.join(name);
        fs::write(&path, "")?;
        system::attach(tree.as_fd(), &path)?;
    }
    let options = "newinstance,ptmxmode=0666,mode=0620";
    if system::mount("devpts", &dev.join("pts"), libc::MS_NOSUID | libc::MS_NOEXEC, options).is_ok()
    {
        symlink("pts/ptmx", dev.join("ptmx"))?;
    }
    symlink("/proc/self/fd", dev.join("fd"))?;
    for (number, name) in ["stdin", "stdout", "stderr"].into_iter().enumerate() {
        symlink(format!("/proc/self/fd/{number}"), dev.join(name))?;
    }
    Ok(())
}

/// Recreates links to readable directories, such as `/bin`.
fn links(root: &Path, reads: &[PathBuf]) -> io::Result<()> {
    for path in reads.iter().filter(|path| path.is_symlink()) {
        let inside = inside(root, path);
        if let Some(parent) = inside.parent() {
            fs::create_dir_all(parent)?;
        }
        if fs::symlink_metadata(&inside).is_err() {
            // A link whose target was removed meanwhile leads nowhere, as outside.
            let Ok(target) = fs::canonicalize(path) else { continue };
            symlink(target, inside)?;
        }
    }
    Ok(())
}

/// The path in the tree that is being built.
fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Mounts a copy at its target path, which is created if missing.
fn put(root: &Path, copy: &MountCopy) -> io::Result<()> {
    let inside = inside(root, &copy.to);
    if copy.kind != MountKind::Link && !inside.exists() {
        if let Some(parent) = inside.parent() {
            fs::create_dir_all(parent)?;
        }
        if copy.kind == MountKind::Directory {
            fs::create_dir_all(&inside)?;
        } else {
            // It may be in a directory of the user, where an empty `agentry.lock` would be read as a broken one.
            place_file(&inside)?;
        }
    }
    system::attach(copy.tree.as_fd(), &inside)
}

/// Hides paths under empty mounts, and returns the paths that existed. An empty mount cannot be opened, so
/// no program takes it for the real file. A stand-in for a missing path can be opened, so that no
/// program fails because of it.
fn mask(root: &Path, hidden: Vec<PathBuf>, stand_ins: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
    let (closed, open) = (root.join("dev/shm/closed"), root.join("dev/shm/open"));
    for (blank, mode) in [(&closed, 0o000), (&open, 0o444)] {
        fs::write(blank, "")?;
        fs::set_permissions(blank, Permissions::from_mode(mode))?;
    }
    let mut masked = Vec::new();
    for path in hidden {
        let inside = inside(root, &path);
        let Ok(found) = fs::symlink_metadata(&inside) else { continue };
        let is_stand_in = stand_ins.contains(&path);
        let covered = if found.is_dir() {
            let mode = if is_stand_in { "0555" } else { "0000" };
            system::mount("tmpfs", &inside, flags, &format!("mode={mode},size=4k"))
        } else {
            let nothing = copy(if is_stand_in { &open } else { &closed }, READ)?;
            system::attach(nothing.as_fd(), &inside)
        };
        match covered {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            covered => {
                covered?;
                masked.push(path);
            }
        }
    }
    fs::remove_file(&closed)?;
    fs::remove_file(&open)?;
    Ok(masked)
}
