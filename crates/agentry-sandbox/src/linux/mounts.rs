//! The file tree that confined commands see: made of copies of mounts, then entered.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::system::{self, Attributes};
use crate::{Confinement, Network};

/// Where the tree is put together; nothing of the machine is seen there, only by this process.
const STAGING: &str = "/tmp";
/// Devices that every program may use.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
/// Directories that every run has for itself.
const OWN: &[&str] = &["tmp", "run", "var/tmp", "dev/shm"];
/// What the names of the network are looked up with, on some systems below `/run`.
const RESOLVER: &str = "/run/systemd/resolve";

/// Copies of mounts and where they go.
struct Copy {
    tree: OwnedFd,
    to: PathBuf,
    directory: bool,
}

/// Puts the tree together, all but `/proc`, and says where it is.
pub(crate) fn build(confinement: &Confinement) -> io::Result<PathBuf> {
    let Confinement { reads, writes, read_only, hidden, network, limits: _ } = confinement;
    let whole = reads.iter().any(|path| path == Path::new("/"));
    let read = Attributes { read_only: true, no_devices: true };
    let write = Attributes { read_only: false, no_devices: true };
    // Everything is copied before anything is covered.
    let root = if whole { Some(copy(Path::new("/"), read)?) } else { None };
    let resolver = matches!(network, Network::Full).then(|| PathBuf::from(RESOLVER));
    let reads: Vec<PathBuf> =
        reads.iter().filter(|path| !whole || is_covered(path)).cloned().chain(resolver).collect();
    let mut copies = copies(&reads, read)?;
    copies.extend(copies_of(writes, write)?);
    copies.extend(copies_of(read_only, read)?);
    let devices = devices()?;
    let staging = Path::new(STAGING);
    system::mount("tmpfs", staging, libc::MS_NOSUID | libc::MS_NODEV, "mode=0755")?;
    if let Some(root) = &root {
        system::attach(root.as_fd(), staging)?;
    }
    skeleton(staging, whole)?;
    populate_devices(staging, &devices)?;
    if !whole {
        links(staging, &reads)?;
    }
    for copy in copies {
        put(staging, &copy)?;
    }
    mask(staging, hidden)?;
    Ok(staging.to_owned())
}

/// Whether a path lies where every run has a directory for itself.
fn is_covered(path: &Path) -> bool {
    OWN.iter().any(|own| path.starts_with(Path::new("/").join(own)))
}

fn copy(path: &Path, attributes: Attributes) -> io::Result<OwnedFd> {
    let tree = system::clone_tree(path)?;
    system::set_attributes(tree.as_fd(), attributes)?;
    Ok(tree)
}

fn copies_of(paths: &[PathBuf], attributes: Attributes) -> io::Result<Vec<Copy>> {
    copies(paths, attributes)
}

/// Copies of what exists, the shorter paths first: what lies in another goes on top of it.
fn copies(paths: &[PathBuf], attributes: Attributes) -> io::Result<Vec<Copy>> {
    let mut paths: Vec<PathBuf> =
        paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    paths.sort();
    paths.dedup();
    let each = |path: PathBuf| {
        let directory = path.is_dir();
        let tree = copy(&path, attributes)?;
        Ok(Copy { tree, to: path, directory })
    };
    paths.into_iter().map(each).collect()
}

fn devices() -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let attributes = Attributes { read_only: false, no_devices: false };
    let exists = |name: &&&str| Path::new("/dev").join(name).exists();
    let each = |name: &&'static str| Ok((*name, copy(&Path::new("/dev").join(name), attributes)?));
    DEVICES.iter().filter(exists).map(each).collect()
}

/// Directories of its own, and an empty `/proc` and `/dev`.
fn skeleton(root: &Path, whole: bool) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    let exists = |name: &str| root.join(name).is_dir();
    if !whole {
        for name in ["proc", "dev", "tmp", "run", "var/tmp"] {
            fs::create_dir_all(root.join(name))?;
        }
    }
    system::mount("tmpfs", &root.join("dev"), libc::MS_NOSUID, "mode=0755")?;
    fs::create_dir(root.join("dev/shm"))?;
    fs::create_dir(root.join("dev/pts"))?;
    for name in OWN.iter().filter(|name| exists(name)) {
        let path = root.join(name);
        // A link leads to another of them.
        if fs::symlink_metadata(&path)?.is_dir() {
            system::mount("tmpfs", &path, flags, "mode=1777,size=50%")?;
        }
    }
    Ok(())
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

/// Links that stand for a directory that may be read, such as `/bin`.
fn links(root: &Path, reads: &[PathBuf]) -> io::Result<()> {
    for path in reads.iter().filter(|path| path.is_symlink()) {
        let inside = root.join(path.strip_prefix("/").unwrap_or(path));
        if let Some(parent) = inside.parent() {
            fs::create_dir_all(parent)?;
        }
        if fs::symlink_metadata(&inside).is_err() {
            symlink(fs::canonicalize(path)?, inside)?;
        }
    }
    Ok(())
}

/// Puts a copy to its place, which is made if it is not there.
fn put(root: &Path, copy: &Copy) -> io::Result<()> {
    let inside = root.join(copy.to.strip_prefix("/").unwrap_or(&copy.to));
    if !inside.exists() {
        if let Some(parent) = inside.parent() {
            fs::create_dir_all(parent)?;
        }
        if copy.directory {
            fs::create_dir_all(&inside)?;
        } else {
            fs::write(&inside, "")?;
        }
    }
    system::attach(copy.tree.as_fd(), &inside)
}

/// Covers what nobody may see with something empty that cannot be opened.
fn mask(root: &Path, hidden: &[PathBuf]) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let store = root.join("dev/shm");
    let blank = store.join("blank");
    fs::write(&blank, "")?;
    fs::set_permissions(&blank, Permissions::from_mode(0))?;
    for path in hidden {
        let Ok(real) = fs::canonicalize(root.join(path.strip_prefix("/").unwrap_or(path))) else {
            continue;
        };
        if real.is_dir() {
            system::mount("tmpfs", &real, flags | libc::MS_RDONLY, "mode=0000,size=4k")?;
        } else {
            let nothing = copy(&blank, Attributes { read_only: true, no_devices: true })?;
            system::attach(nothing.as_fd(), &real)?;
        }
    }
    fs::remove_file(&blank)
}
