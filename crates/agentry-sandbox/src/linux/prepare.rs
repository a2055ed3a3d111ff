//! Creates what a sandbox needs before the helper starts: placeholders, a private directory, control groups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::git;
use super::groups::{self, ControlGroups, WantedGroups};
use super::leftovers::{LeftoverList, RunLeftover};
use crate::{BackEnd, Confinement, PrivateDirectories, SandboxError, is_placeholder};

/// What was created. It is removed on drop.
#[derive(Debug)]
pub(crate) struct PreparedSandbox {
    pub(crate) groups: ControlGroups,
    pub(crate) private: PrivateDirectories,
    /// Placeholders of hidden paths that do not exist yet.
    pub(crate) stand_ins: Vec<PathBuf>,
    /// The path and the content of the list that git ignores.
    pub(crate) unseen_by_git: Option<(PathBuf, String)>,
    _leavings: Option<LeftoverList>,
}

impl Drop for PreparedSandbox {
    fn drop(&mut self) {
        // They are empty now, because the helper has ended.
        self.groups.remove();
    }
}

/// Creates what `confinement` needs. Returns the confinement with missing paths replaced by their placeholders.
pub(crate) fn prepare(
    back_end: BackEnd,
    mut confinement: Confinement,
    directory: Option<&Path>,
    wanted: WantedGroups,
) -> Result<(PreparedSandbox, Confinement), SandboxError> {
    let mut leavings = directory.map(LeftoverList::new).transpose()?;
    let placed = match back_end {
        BackEnd::Namespaces => placed(&mut confinement, leavings.as_mut())?,
        BackEnd::Landlock => Vec::new(),
    };
    let unseen_by_git = git::unseen(&confinement, &placed);
    let is_placed = |path: &&PathBuf| placed.iter().any(|leaving| leaving.path() == **path);
    let stand_ins = confinement.hidden.iter().filter(is_placed).cloned().collect();
    let groups = joined(wanted, &confinement, leavings.as_mut())?;
    let private = match back_end {
        BackEnd::Namespaces => {
            let temporary = PathBuf::from("/tmp");
            let home = confinement.private.first().cloned().unwrap_or_else(|| temporary.clone());
            // If the machine's `/tmp` is writable, the run has no private one for the list.
            let own = !confinement.writes.iter().any(|root| temporary.starts_with(root));
            let listed = own && !unseen_by_git.is_empty();
            let unseen_by_git = listed.then(|| temporary.join(git::FILE));
            PrivateDirectories { home, temporary, unseen_by_git }
        }
        BackEnd::Landlock => private_directory(&mut confinement, leavings.as_mut())?,
    };
    let unseen_by_git = private.unseen_by_git.clone().map(|path| (path, unseen_by_git));
    let prepared =
        PreparedSandbox { groups, private, stand_ins, unseen_by_git, _leavings: leavings };
    Ok((prepared, confinement))
}

/// Creates the control groups, recorded before they exist.
fn joined(
    wanted: WantedGroups,
    confinement: &Confinement,
    leavings: Option<&mut LeftoverList>,
) -> Result<ControlGroups, SandboxError> {
    let (directories, candidates) = match &wanted {
        WantedGroups::Nothing => return Ok(ControlGroups::default()),
        WantedGroups::Joined(groups) => (groups.directories.clone(), Vec::new()),
        WantedGroups::New => {
            let candidates = groups::candidates();
            (candidates.iter().map(|it| it.directory.clone()).collect(), candidates)
        }
    };
    if let Some(leavings) = leavings {
        leavings.record(directories.into_iter().map(RunLeftover::Group))?;
    }
    Ok(match wanted {
        WantedGroups::Joined(groups) => groups,
        WantedGroups::New | WantedGroups::Nothing => groups::make(&candidates, &confinement.limits),
    })
}

/// Creates placeholders for protected paths that do not exist yet.
fn placed(
    confinement: &mut Confinement,
    leavings: Option<&mut LeftoverList>,
) -> Result<Vec<RunLeftover>, SandboxError> {
    let held = leavings.as_ref().map(|it| it.held_by_others()).unwrap_or_default();
    let mut placeholders = placeholders(confinement, &held);
    match leavings {
        _ if placeholders.is_empty() => {}
        None => {
            return Err(SandboxError::SetUp(
                "what does not exist yet cannot be protected".to_owned(),
            ));
        }
        Some(leavings) => {
            leavings.record(placeholders.iter().cloned())?;
            for leaving in &mut placeholders {
                place(confinement, leavings, leaving)?;
            }
        }
    }
    placeholders.retain(|leaving| fs::symlink_metadata(leaving.path()).is_ok());
    Ok(placeholders)
}

/// Creates one placeholder. If another program removes a directory on the way, that directory gets the
/// placeholder; if it removes the whole writable directory, there is nothing to protect.
fn place(
    confinement: &mut Confinement,
    leavings: &mut LeftoverList,
    leaving: &mut RunLeftover,
) -> Result<(), SandboxError> {
    /// A directory that comes and goes more often than this refuses the run.
    const MOST_TRIES: usize = 8;
    for _ in 0..MOST_TRIES {
        match leavings.place(leaving) {
            Err(error) if is_closed(&error) => {
                close(confinement, leaving.path());
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return Ok(other?),
        }
        let Confinement { writes, read_only, hidden, .. } = confinement;
        // A directory that comes back later is not writable, because nothing protects what is in it.
        writes.retain(|root| root.exists());
        let wanted = leaving.path().to_owned();
        if !writes.iter().any(|root| wanted.starts_with(root)) {
            return Ok(());
        }
        let Some(missing) = outermost_missing(&wanted, &[]) else { continue };
        if missing != wanted {
            let same = |path: &&mut PathBuf| **path == wanted;
            read_only.iter_mut().chain(hidden).filter(same).for_each(|it| it.clone_from(&missing));
            *leaving = RunLeftover::Directory(missing);
            leavings.record([leaving.clone()])?;
        }
    }
    Err(SandboxError::Io(io::ErrorKind::NotFound.into()))
}

/// Whether this user cannot create anything there.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Makes the parent directory read-only where not even a placeholder can be created. Otherwise its owner
/// could make it writable during the run.
fn close(confinement: &mut Confinement, missing: &Path) {
    let Confinement { read_only, hidden, .. } = confinement;
    read_only.retain(|path| path != missing);
    hidden.retain(|path| path != missing);
    read_only.extend(missing.parent().map(Path::to_owned));
}

/// Creates the private directory of a run without its own file tree.
fn private_directory(
    confinement: &mut Confinement,
    leavings: Option<&mut LeftoverList>,
) -> Result<PrivateDirectories, SandboxError> {
    let Some(leavings) = leavings else {
        let temporary = PathBuf::from("/nonexistent");
        return Ok(PrivateDirectories { home: temporary.clone(), temporary, unseen_by_git: None });
    };
    let root = leavings.own_directory();
    let made = RunLeftover::Private(root.clone());
    leavings.record([made.clone()])?;
    leavings.place(&made)?;
    let root = fs::canonicalize(root)?;
    let private = PrivateDirectories {
        home: root.join("home"),
        temporary: root.join("tmp"),
        unseen_by_git: None,
    };
    fs::create_dir(&private.home)?;
    fs::create_dir(&private.temporary)?;
    confinement.writes.push(root);
    Ok(private)
}

/// The placeholders to create. If a parent directory is missing too, the outermost missing one gets the
/// placeholder and is protected instead.
fn placeholders(confinement: &mut Confinement, held: &[RunLeftover]) -> Vec<RunLeftover> {
    let Confinement { writes, read_only, hidden, directories, .. } = confinement;
    // What does not exist cannot be written, also if another program makes it later.
    writes.retain(|root| root.exists());
    let mut out: Vec<RunLeftover> = Vec::new();
    for path in read_only.iter_mut().chain(hidden) {
        if !writes.iter().any(|root| path.starts_with(root)) {
            continue;
        }
        let Some(missing) = outermost_missing(path, held) else { continue };
        // A placeholder directory of another run is shared, and stays a directory.
        let is_held = held.contains(&RunLeftover::Directory(missing.clone()));
        let leaving = if missing == *path && !is_held && !directories.contains(path) {
            RunLeftover::File(missing.clone())
        } else {
            RunLeftover::Directory(missing.clone())
        };
        *path = missing;
        // If a file and a directory are wanted at one path, the first is enough.
        let same = |other: &RunLeftover| other.path() == leaving.path();
        if !out.iter().any(same) {
            out.push(leaving);
        }
    }
    out
}

/// The first part of `path` that does not exist, or is only a placeholder of this or another run.
fn outermost_missing(path: &Path, held: &[RunLeftover]) -> Option<PathBuf> {
    let mut ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.reverse();
    let absent = |path: &&&Path| {
        let found = fs::symlink_metadata(path);
        found.is_err_and(|error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }) || is_placeholder(path)
            || held.contains(&RunLeftover::Directory(path.to_path_buf()))
    };
    ancestors.iter().find(absent).map(|path| (*path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path where not even root can create a file.
    #[test]
    fn a_directory_without_placeholders_is_read_only() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = PathBuf::from("/sys");
        let mut confinement = Confinement {
            writes: vec![root.clone()],
            read_only: vec![root.join("agentry.toml"), root.join("agents/new")],
            hidden: vec![root.join(".env")],
            ..Confinement::default()
        };
        let mut leavings = LeftoverList::new(dir.path()).expect("a file");
        let placed = placed(&mut confinement, Some(&mut leavings)).expect("no error");
        assert_eq!(placed, []);
        assert_eq!(confinement.hidden, Vec::<PathBuf>::new());
        assert!(confinement.read_only.iter().all(|path| *path == root), "{confinement:?}");
    }

    #[test]
    fn placeholders_of_another_run_keep_their_kind() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(".tool");
        fs::create_dir(&path).expect("a directory");
        let held = [RunLeftover::Directory(path.clone())];
        for protected in [path.clone(), path.join("settings")] {
            let mut confinement = Confinement {
                writes: vec![dir.path().to_owned()],
                hidden: vec![protected],
                ..Confinement::default()
            };
            assert_eq!(placeholders(&mut confinement, &held), held);
            assert_eq!(confinement.hidden, [path.as_path()]);
        }
    }
}
