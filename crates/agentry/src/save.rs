//! Writes a file whole or not at all, and several files all or none.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{NamedTempFile, TempPath};

use crate::output::{CliFailure, said};

/// How the names of files start that are not yet, or no longer, in their place.
pub(crate) const PREFIX: &str = ".agentry-";

/// Replaces `path` by `bytes` in one step: a reader sees the old file or the new one.
pub(crate) fn replace(path: &str, bytes: &[u8]) -> io::Result<()> {
    // Through a link, the file itself is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| Path::new(path).to_path_buf());
    if target.exists() && !target.is_file() {
        let why = if target.is_dir() { "is a directory" } else { "it is not a regular file" };
        return Err(io::Error::other(why));
    }
    staged(&target, bytes, true)?.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Whether files that are there already are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplaceMode {
    /// Never.
    Never,
    /// Not yet, but `--force` would.
    Refuse,
    /// They are.
    Force,
}

/// Files that are written together, or not at all.
#[derive(Debug)]
pub(crate) struct FileSaving<'a, T> {
    /// The directory that they lie in, and that no link leads out of; empty where a path is whole.
    pub(crate) dir: &'a str,
    /// Their paths below it, and their texts or bytes.
    pub(crate) files: &'a [(String, T)],
    /// Files elsewhere that belong to them: their whole paths, and their texts.
    pub(crate) beside: &'a [(String, T)],
    /// Files below it that are taken away.
    pub(crate) stale: &'a [String],
    /// What becomes of files that are there already.
    pub(crate) mode: ReplaceMode,
    /// Whether to wait until the disk has them; not worth it for what can be made again.
    pub(crate) durable: bool,
}

impl<T: AsRef<[u8]>> FileSaving<'_, T> {
    /// Writes every file and takes the stale ones away. Where that fails, all is as it was.
    pub(crate) fn save(&self) -> Result<(), CliFailure> {
        let paths = self.files.iter().map(|(path, _)| path);
        for path in paths.chain(self.stale) {
            stays_below(self.dir, path)?;
        }
        for (path, _) in self.beside {
            stays_below("", path)?;
        }
        self.free()?;
        let mut change = SaveTransaction::default();
        match self.carry_out(&mut change) {
            Ok(()) => {
                change.settle();
                self.remove_empty();
                Ok(())
            }
            Err((path, error)) => {
                let shown = path.strip_prefix(".").unwrap_or(&path).display();
                let message = format!("`{shown}` cannot be written: {}", said(&error));
                Err(CliFailure::new(message).hint_opt(change.undo().or_else(|| way_out(&error))))
            }
        }
    }

    fn full(&self, path: &str) -> PathBuf {
        if self.dir.is_empty() { PathBuf::from(path) } else { Path::new(self.dir).join(path) }
    }

    /// Every file with its text.
    fn all(&self) -> impl Iterator<Item = (PathBuf, &[u8])> {
        let below = self.files.iter().map(|(path, text)| (self.full(path), text.as_ref()));
        let beside = self.beside.iter().map(|(path, text)| (PathBuf::from(path), text.as_ref()));
        below.chain(beside)
    }

    /// Refuses to replace what must stay, before anything is written.
    fn free(&self) -> Result<(), CliFailure> {
        for (full, _) in self.all() {
            let Ok(metadata) = fs::symlink_metadata(&full) else { continue };
            let shown = full.display();
            let hint = match self.mode {
                ReplaceMode::Never => "choose another name, or another directory with `--output`",
                ReplaceMode::Refuse => "choose another path, or pass `--force`",
                ReplaceMode::Force if metadata.is_file() => continue,
                ReplaceMode::Force => {
                    let why = if metadata.is_dir() {
                        "is a directory"
                    } else {
                        "it is not a regular file"
                    };
                    return Err(CliFailure::new(format!("`{shown}` cannot be written: {why}")));
                }
            };
            return Err(CliFailure::new(format!("`{shown}` is there already")).hint(hint));
        }
        Ok(())
    }

    /// First every text is on disk under another name; only then do the names change.
    fn carry_out(&self, change: &mut SaveTransaction) -> Result<(), (PathBuf, io::Error)> {
        let mut ready = Vec::new();
        for (full, text) in self.all() {
            let staged = change.parents(&full).and_then(|()| staged(&full, text, self.durable));
            ready.push((staged.map_err(|error| (full.clone(), error))?, full));
        }
        for (file, full) in ready {
            change.put(file, &full).map_err(|error| (full, error))?;
        }
        for path in self.stale {
            let full = self.full(path);
            change.take_away(&full).map_err(|error| (full, error))?;
        }
        Ok(())
    }

    /// Removes the directories that held nothing but stale files.
    fn remove_empty(&self) {
        for path in self.stale {
            for dir in Path::new(path).ancestors().skip(1).filter(|dir| *dir != Path::new("")) {
                if fs::remove_dir(Path::new(self.dir).join(dir)).is_err() {
                    break;
                }
            }
        }
    }
}

/// A file with the text of `target`, beside it: on disk, but not yet in its place.
fn staged(target: &Path, bytes: &[u8], durable: bool) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(parent(target))?;
    file.write_all(bytes)?;
    if let Ok(metadata) = fs::metadata(target) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    if durable {
        file.as_file().sync_all()?;
    }
    Ok(file)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file under such a name that nobody touched for this long belongs to a run that was killed.
const LEFT: Duration = Duration::from_mins(1);

/// Removes from a directory what a run left there that was killed. Old texts that would not go back to
/// their place have longer names, and stay.
pub(crate) fn sweep(dir: &Path) {
    sweep_older(dir, LEFT);
}

fn sweep_older(dir: &Path, least: Duration) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_ours = random
            .is_some_and(|it| it.len() == 6 && it.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let is_left = || fs::symlink_metadata(entry.path()).is_ok_and(|at| is_left(&at, least));
        if is_ours && is_left() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_left(metadata: &fs::Metadata, least: Duration) -> bool {
    let mut touched = metadata.modified().ok();
    // A second name of an old file is as new as that name.
    #[cfg(unix)]
    {
        let since = u64::try_from(std::os::unix::fs::MetadataExt::ctime(metadata)).unwrap_or(0);
        touched = touched.max(SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(since)));
    }
    let age = touched.and_then(|touched| touched.elapsed().ok());
    metadata.is_file() && age.is_some_and(|age| age >= least)
}

/// What was changed so far, so that it can be taken back.
#[derive(Debug, Default)]
struct SaveTransaction {
    steps: Vec<SaveStep>,
}

#[derive(Debug)]
enum SaveStep {
    /// A directory was made.
    Made(PathBuf),
    /// A file was written where there was none.
    Wrote(PathBuf),
    /// A file was replaced or taken away; its old text has another name for now.
    Kept(TempPath, PathBuf),
}

impl SaveTransaction {
    /// Makes the directories above `path` that are missing.
    fn parents(&mut self, path: &Path) -> io::Result<()> {
        let above = parent(path).ancestors().filter(|dir| !dir.as_os_str().is_empty());
        let missing: Vec<_> = above.take_while(|dir| !dir.exists()).collect();
        for dir in missing.into_iter().rev() {
            fs::create_dir(dir)?;
            self.steps.push(SaveStep::Made(dir.to_path_buf()));
        }
        Ok(())
    }

    /// Moves `file` to its place.
    fn put(&mut self, file: NamedTempFile, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path).is_ok() {
            self.keep(path)?;
            file.persist(path).map_err(|error| error.error)?;
        } else {
            file.persist_noclobber(path).map_err(|error| error.error)?;
            self.steps.push(SaveStep::Wrote(path.to_path_buf()));
        }
        Ok(())
    }

    fn take_away(&mut self, path: &Path) -> io::Result<()> {
        self.keep(path)?;
        fs::remove_file(path)
    }

    /// Gives the old text of `path` a second name.
    fn keep(&mut self, path: &Path) -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(PREFIX);
        let linked = builder.make_in(parent(path), |name| fs::hard_link(path, name));
        let kept = match linked {
            Ok(kept) => kept.into_temp_path(),
            // Not every file system has second names.
            Err(_) => {
                let copy = builder.tempfile_in(parent(path))?.into_temp_path();
                fs::copy(path, &copy)?;
                copy
            }
        };
        self.steps.push(SaveStep::Kept(kept, path.to_path_buf()));
        Ok(())
    }

    /// Forgets the old texts.
    fn settle(self) {
        drop(self.steps);
    }

    /// Takes everything back, last step first; says where an old text is that would not go back.
    fn undo(self) -> Option<String> {
        let mut left = Vec::new();
        for step in self.steps.into_iter().rev() {
            match step {
                SaveStep::Made(dir) => drop(fs::remove_dir(dir)),
                SaveStep::Wrote(path) => drop(fs::remove_file(path)),
                SaveStep::Kept(old, path) => {
                    if let Err(failed) = old.persist(&path)
                        && let Ok(kept) = failed.path.keep()
                    {
                        let kept = lasting(kept);
                        let (path, kept) = (path.display(), kept.display());
                        left.push(format!("the old text of `{path}` is in `{kept}`"));
                    }
                }
            }
        }
        (!left.is_empty()).then(|| left.join(", "))
    }
}

/// What to do about an error, if it can be told.
fn way_out(error: &io::Error) -> Option<String> {
    let is_shut =
        matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    is_shut
        .then(|| "nothing was changed; make the directory writable, or choose another".to_owned())
}

/// The file under a name that is not taken for one that was left behind.
fn lasting(path: PathBuf) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lasting = path.with_file_name(format!("{name}-old"));
    if fs::rename(&path, &lasting).is_ok() { lasting } else { path }
}

/// Refuses a path that would leave `dir`, by its parts or through a link that stands there. A path
/// that is whole must not be a link itself.
fn stays_below(dir: &str, path: &str) -> Result<(), CliFailure> {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|at| at.is_symlink());
    let refuse = |path: &Path| {
        let message = format!("`{}` is a link; nothing is written through it", path.display());
        Err(CliFailure::new(message).hint("remove it, or choose another path"))
    };
    if dir.is_empty() {
        return if is_link(Path::new(path)) { refuse(Path::new(path)) } else { Ok(()) };
    }
    let mut at = Path::new(dir).to_path_buf();
    for part in Path::new(path).components() {
        let Component::Normal(name) = part else {
            return Err(CliFailure::new(format!("`{path}` would be written outside `{dir}`")));
        };
        at.push(name);
        if is_link(&at) {
            return refuse(&at);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file below `dir` with its text, sorted.
    fn listing(dir: &Path) -> Vec<String> {
        let mut out = Vec::new();
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                out.push(format!("{name}/"));
                out.extend(listing(&path).into_iter().map(|inner| format!("{name}/{inner}")));
            } else {
                out.push(format!("{name}={}", fs::read_to_string(&path).unwrap()));
            }
        }
        out.sort();
        out
    }

    fn old() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("skills/old")).unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        fs::write(folder.path().join("skills/old/x"), "2").unwrap();
        folder
    }

    fn save(
        folder: &Path,
        files: &[&str],
        stale: &[&str],
        mode: ReplaceMode,
    ) -> Result<(), CliFailure> {
        let files: Vec<_> = files.iter().map(|path| ((*path).to_owned(), "new")).collect();
        let stale: Vec<_> = stale.iter().map(|path| (*path).to_owned()).collect();
        let dir = folder.to_str().unwrap();
        FileSaving { dir, files: &files, beside: &[], stale: &stale, mode, durable: true }.save()
    }

    #[test]
    fn all_is_as_it_was_when_one_file_cannot_be_written() {
        let long = "n".repeat(300);
        let below_a_file = "a/b";
        let cases: [(&str, &[&str], &[&str]); 7] = [
            // The text can be stored, but not under its name: names have changed by then.
            ("a name too long", &["a", "b/c", &long], &[]),
            ("a stale file taken away before", &["b"], &["skills/old/x", &long]),
            ("a stale file that is none", &["a", "b"], &["skills"]),
            ("a file where a folder should be", &["b/c", below_a_file], &[]),
            ("a folder where a file should be", &["b", "skills/old"], &[]),
            ("a folder too long", &["a", &format!("{long}/x")], &[]),
            ("a path that leaves", &["a", "../b"], &[]),
        ];
        for (case, files, stale) in cases {
            let folder = old();
            let before = listing(folder.path());
            assert!(save(folder.path(), files, stale, ReplaceMode::Force).is_err(), "{case}");
            assert_eq!(listing(folder.path()), before, "{case}");
        }
    }

    #[test]
    fn only_what_a_killed_run_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let names = [".agentry-aB3xYz", ".agentry-notes1x", ".agentry-aB3xYz-old", "aB3xYz", "b"];
        for name in names {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join(".agentry-folder")).unwrap();
        sweep(folder.path());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), names.len() + 1);
        sweep_older(folder.path(), Duration::ZERO);
        assert!(!folder.path().join(".agentry-aB3xYz").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), names.len());
    }

    #[test]
    fn what_is_there_is_replaced_only_by_force() {
        for mode in [ReplaceMode::Never, ReplaceMode::Refuse] {
            let folder = old();
            let before = listing(folder.path());
            assert!(save(folder.path(), &["b", "a"], &[], mode).is_err());
            assert_eq!(listing(folder.path()), before, "{mode:?}");
        }
        let folder = old();
        assert!(save(folder.path(), &["b/c", "a"], &["skills/old/x"], ReplaceMode::Force).is_ok());
        assert_eq!(listing(folder.path()), ["a=new", "b/", "b/c=new"]);
    }

    #[cfg(unix)]
    #[test]
    fn modes_stay_and_new_files_are_as_open_as_others() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = old();
        let mode = |name: &str| {
            fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777
        };
        fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(folder.path().join("plain"), "").unwrap();
        assert!(save(folder.path(), &["a", "b"], &[], ReplaceMode::Force).is_ok());
        assert_eq!((mode("a"), mode("b")), (0o640, mode("plain")));
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_written_through_and_no_device_replaced() {
        use std::os::unix::fs::symlink;
        let folder = old();
        symlink("../..", folder.path().join("up")).unwrap();
        symlink("nowhere", folder.path().join("dangling")).unwrap();
        symlink("/dev/null", folder.path().join("device")).unwrap();
        let before = listing_names(folder.path());
        for path in ["up/x", "dangling", "device"] {
            assert!(save(folder.path(), &["b", path], &[], ReplaceMode::Force).is_err(), "{path}");
            assert_eq!(listing_names(folder.path()), before, "{path}");
            let whole = folder.path().join(path).to_str().unwrap().to_owned();
            let files = [(whole, "new".to_owned())];
            if path != "up/x" {
                let saving = FileSaving {
                    dir: "",
                    files: &files,
                    beside: &[],
                    stale: &[],
                    mode: ReplaceMode::Force,
                    durable: true,
                };
                assert!(saving.save().is_err(), "{path}");
            }
        }
        let device = [("/dev/full".to_owned(), "new".to_owned())];
        let saving = FileSaving {
            dir: "",
            files: &device,
            beside: &[],
            stale: &[],
            mode: ReplaceMode::Force,
            durable: true,
        };
        assert!(saving.save().is_err());
        assert!(replace("/dev/full", b"new").is_err());
        assert!(!Path::new("/dev/full").is_file());
    }

    #[cfg(unix)]
    fn listing_names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
