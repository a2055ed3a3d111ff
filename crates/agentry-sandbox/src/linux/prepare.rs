//! What is made on the machine before the helper starts: placeholders, a private directory, control
//! groups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::groups::{self, Groups};
use super::leavings::{Leaving, Leavings, is_placeholder};
use crate::{BackEnd, Confinement, Error, Private};

/// What was made; it goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) groups: Groups,
    pub(crate) private: Private,
    _leavings: Option<Leavings>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Nobody is in them any more: the helper has ended.
        self.groups.directories.iter().for_each(|directory| drop(groups::remove(directory)));
    }
}

/// Makes what `confinement` needs, and gives it back with what does not exist yet replaced by what
/// stands for it.
pub(crate) fn prepare(
    back_end: BackEnd,
    mut confinement: Confinement,
    directory: Option<&Path>,
) -> Result<(Prepared, Confinement), Error> {
    let mut leavings = directory.map(Leavings::new).transpose()?;
    if back_end == BackEnd::Namespaces {
        let held = leavings.as_ref().map(Leavings::held_by_others).unwrap_or_default();
        let placeholders = placeholders(&mut confinement, &held);
        if !placeholders.is_empty() {
            let Some(leavings) = &mut leavings else {
                return Err(Error::SetUp("what does not exist yet cannot be protected".to_owned()));
            };
            leavings.record(placeholders.iter().cloned())?;
            placeholders.iter().try_for_each(|leaving| leavings.place(leaving))?;
        }
    }
    let candidates = groups::candidates();
    if let Some(leavings) = &mut leavings {
        let groups = candidates.iter().map(|it| Leaving::Group(it.directory.clone()));
        leavings.record(groups)?;
    }
    let groups = groups::make(&candidates, &confinement.limits);
    let private = match back_end {
        BackEnd::Namespaces => {
            let temporary = PathBuf::from("/tmp");
            let home = confinement.private.first().cloned().unwrap_or_else(|| temporary.clone());
            Private { home, temporary }
        }
        BackEnd::Landlock => private_directory(&mut confinement, leavings.as_mut())?,
    };
    Ok((Prepared { groups, private, _leavings: leavings }, confinement))
}

/// The directory of a run that has no file tree of its own.
fn private_directory(
    confinement: &mut Confinement,
    leavings: Option<&mut Leavings>,
) -> Result<Private, Error> {
    let Some(leavings) = leavings else {
        let temporary = PathBuf::from("/nonexistent");
        return Ok(Private { home: temporary.clone(), temporary });
    };
    let root = leavings.own_directory();
    let made = Leaving::Private(root.clone());
    leavings.record([made.clone()])?;
    leavings.place(&made)?;
    let root = fs::canonicalize(root)?;
    let private = Private { home: root.join("home"), temporary: root.join("tmp") };
    fs::create_dir(&private.home)?;
    fs::create_dir(&private.temporary)?;
    confinement.writes.push(root);
    Ok(private)
}

/// What must stand where something protected does not exist yet: for a missing file itself, for one in
/// a missing directory the outermost of those, which is then protected instead.
fn placeholders(confinement: &mut Confinement, held: &[Leaving]) -> Vec<Leaving> {
    let writes = confinement.writes.clone();
    let mut out: Vec<Leaving> = Vec::new();
    for path in confinement.read_only.iter_mut().chain(&mut confinement.hidden) {
        if !writes.iter().any(|root| path.starts_with(root)) {
            continue;
        }
        let Some(missing) = outermost_missing(path, held) else { continue };
        // What another run holds stays what it is.
        let is_held = held.contains(&Leaving::Directory(missing.clone()));
        let leaving = if missing == *path && !is_held {
            Leaving::File(missing.clone())
        } else {
            Leaving::Directory(missing.clone())
        };
        *path = missing;
        // A file of one name and a directory of the same: the first will do.
        let same = |other: &Leaving| other.path() == leaving.path();
        if !out.iter().any(same) {
            out.push(leaving);
        }
    }
    out
}

/// The first part of `path` that is not there, or that only stands for something, also for another run.
fn outermost_missing(path: &Path, held: &[Leaving]) -> Option<PathBuf> {
    let mut ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.reverse();
    let absent = |path: &&&Path| {
        let found = fs::symlink_metadata(path);
        found.is_err_and(|error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }) || is_placeholder(path)
            || held.contains(&Leaving::Directory(path.to_path_buf()))
    };
    ancestors.iter().find(absent).map(|path| (*path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Network};

    #[test]
    fn what_another_run_holds_stays_what_it_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(".tool");
        fs::create_dir(&path).expect("a directory");
        let held = [Leaving::Directory(path.clone())];
        for protected in [path.clone(), path.join("settings")] {
            let mut confinement = Confinement {
                reads: Vec::new(),
                writes: vec![dir.path().to_owned()],
                read_only: Vec::new(),
                hidden: vec![protected],
                private: Vec::new(),
                network: Network::Off,
                limits: Limits::default(),
            };
            assert_eq!(placeholders(&mut confinement, &held), held);
            assert_eq!(confinement.hidden, [path.as_path()]);
        }
    }
}
