//! Writes files atomically: one file whole or not at all, several files all or none.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{NamedTempFile, TempPath};

use crate::output::{CliFailure, error_text};

/// The prefix of temporary files: new ones before they are renamed, old ones until the transaction ends.
pub(crate) const PREFIX: &str = ".agentry-";

/// Replaces `path` by `bytes` in one step: a reader sees the old file or the new one.
pub(crate) fn replace(path: &str, bytes: &[u8]) -> io::Result<()> {
    // A link stays, and the file that it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| Path::new(path).to_path_buf());
    if target.exists() && !target.is_file() {
        let why = if target.is_dir() { "is a directory" } else { "it is not a regular file" };
        return Err(io::Error::other(why));
    }
    let file = staged(&target, bytes)?;
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Whether existing files are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplaceMode {
    /// Never, not even with `--force`.
    Never,
    /// Not without `--force`.
    Refuse,
    /// Always.
    Force,
}

/// Files that are written together, or not at all.
#[derive(Debug)]
pub(crate) struct FileSaving<'a, T> {
    /// The directory of the files, which no link may leave; empty where a path is absolute.
    pub(crate) dir: &'a str,
    /// Their paths below it, and their contents.
    pub(crate) files: &'a [(String, T)],
    /// Further files outside of `dir`: absolute paths and contents.
    pub(crate) beside: &'a [(String, T)],
    /// Files below `dir` that are removed.
    pub(crate) stale: &'a [String],
    /// What to do with existing files.
    pub(crate) mode: ReplaceMode,
    /// Whether to wait for the disk; not needed for files that can be generated again.
    pub(crate) durable: bool,
}

impl<T: AsRef<[u8]>> FileSaving<'_, T> {
    /// Writes every file and removes the stale ones. On failure everything is rolled back.
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
                let message = format!("`{shown}` cannot be written: {}", error_text(&error));
                Err(CliFailure::new(message).hint_opt(change.undo().or_else(|| way_out(&error))))
            }
        }
    }

    fn full(&self, path: &str) -> PathBuf {
        if self.dir.is_empty() { PathBuf::from(path) } else { Path::new(self.dir).join(path) }
    }

    /// Every file with its content.
    fn all(&self) -> impl Iterator<Item = (PathBuf, &[u8])> {
        let below = self.files.iter().map(|(path, text)| (self.full(path), text.as_ref()));
        let beside = self.beside.iter().map(|(path, text)| (PathBuf::from(path), text.as_ref()));
        below.chain(beside)
    }

    /// Refuses to replace existing files, before anything is written.
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

    /// Writes every content under a temporary name first; only then are files renamed.
    fn carry_out(&self, change: &mut SaveTransaction) -> Result<(), (PathBuf, io::Error)> {
        let mut ready = Vec::new();
        for (full, text) in self.all().filter(|(full, text)| !holds(full, text)) {
            let staged = change.parents(&full).and_then(|()| staged(&full, text));
            ready.push((staged.map_err(|error| (full.clone(), error))?, full));
        }
        if self.durable {
            sync(&ready)?;
        }
        // From here on only renames can fail, so that an undo is rarely needed.
        for (file, full) in ready {
            change.put(file, &full).map_err(|error| (full, error))?;
        }
        for path in self.stale {
            let full = self.full(path);
            change.take_away(&full).map_err(|error| (full, error))?;
        }
        Ok(())
    }

    /// Removes the directories that held only stale files.
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

/// The number of files that are synced at the same time.
const SYNCED_TOGETHER: usize = 16;

/// Waits until the files are on the disk. A file system commits files together that are synced at the same
/// time, so that many files take little longer than one.
fn sync(files: &[(NamedTempFile, PathBuf)]) -> Result<(), (PathBuf, io::Error)> {
    let sync_all = |files: &[(NamedTempFile, PathBuf)]| {
        let one = |(file, path): &(NamedTempFile, PathBuf)| {
            file.as_file().sync_all().map_err(|error| (path.clone(), error))
        };
        files.iter().try_for_each(one)
    };
    std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(SYNCED_TOGETHER).max(1));
        let started: Vec<_> = parts.map(|part| scope.spawn(move || sync_all(part))).collect();
        // A thread that panicked has synced nothing for sure.
        let lost = || Err((PathBuf::new(), io::Error::other("it cannot be synced")));
        started.into_iter().try_for_each(|it| it.join().unwrap_or_else(|_| lost()))
    })
}

/// Whether a file has this content already, so that it need not be written.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let has_length = |at: fs::Metadata| at.is_file() && at.len() == bytes.len() as u64;
    fs::symlink_metadata(path).is_ok_and(has_length) && fs::read(path).is_ok_and(|it| it == bytes)
}

/// A temporary file with the content of `target`, in the same directory.
fn staged(target: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    // Less the umask, as for any new file; the default of a temporary file is 0600.
    builder.permissions(agentry_posix::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(parent(target))?;
    file.write_all(bytes)?;
    // A replaced file keeps its permissions.
    if let Ok(metadata) = fs::metadata(target) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    Ok(file)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file that is older than this belongs to a killed run.
const LEFT: Duration = Duration::from_mins(1);

/// Removes the temporary files of killed runs from a directory. Old contents that could not be restored
/// have longer names, and stay.
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
    // A hard link has the modification time of the old file; only its change time is new.
    {
        let since =
            u64::try_from(agentry_posix::unix::fs::MetadataExt::ctime(metadata)).unwrap_or(0);
        touched = touched.max(SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(since)));
    }
    let age = touched.and_then(|touched| touched.elapsed().ok());
    metadata.is_file() && age.is_some_and(|age| age >= least)
}

/// The steps so far, so that they can be rolled back.
#[derive(Debug, Default)]
struct SaveTransaction {
    steps: Vec<SaveStep>,
}

#[derive(Debug)]
enum SaveStep {
    /// A directory was created.
    Made(PathBuf),
    /// A file was written where none existed.
    Wrote(PathBuf),
    /// A file was replaced or removed; its old content has a temporary name.
    Kept(TempPath, PathBuf),
}

impl SaveTransaction {
    /// Creates the missing directories above `path`.
    fn parents(&mut self, path: &Path) -> io::Result<()> {
        let above = parent(path).ancestors().filter(|dir| !dir.as_os_str().is_empty());
        let missing: Vec<_> = above.take_while(|dir| !dir.exists()).collect();
        for dir in missing.into_iter().rev() {
            fs::create_dir(dir)?;
            self.steps.push(SaveStep::Made(dir.to_path_buf()));
        }
        Ok(())
    }

    /// Renames `file` to `path`.
    fn put(&mut self, file: NamedTempFile, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path).is_ok() {
            self.keep(path)?;
            file.persist(path).map_err(|error| error.error)?;
        } else {
            // Fails if another process created the file meanwhile.
            file.persist_noclobber(path).map_err(|error| error.error)?;
            self.steps.push(SaveStep::Wrote(path.to_path_buf()));
        }
        Ok(())
    }

    fn take_away(&mut self, path: &Path) -> io::Result<()> {
        self.keep(path)?;
        fs::remove_file(path)
    }

    /// Gives the old content of `path` a second name.
    fn keep(&mut self, path: &Path) -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(PREFIX);
        let linked = builder.make_in(parent(path), |name| fs::hard_link(path, name));
        let kept = match linked {
            Ok(kept) => kept.into_temp_path(),
            // Not every file system has hard links.
            Err(_) => {
                let copy = builder.tempfile_in(parent(path))?.into_temp_path();
                fs::copy(path, &copy)?;
                copy
            }
        };
        self.steps.push(SaveStep::Kept(kept, path.to_path_buf()));
        Ok(())
    }

    /// Drops the old contents, which removes their temporary files.
    fn settle(self) {
        drop(self.steps);
    }

    /// Rolls back every step, last first; reports an old content that could not be restored.
    fn undo(self) -> Option<String> {
        let mut left = Vec::new();
        for step in self.steps.into_iter().rev() {
            match step {
                // Fails on a directory with files of others, which then stays.
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

/// A hint for an error, if there is one.
fn way_out(error: &io::Error) -> Option<String> {
    let is_shut =
        matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    is_shut
        .then(|| "nothing was changed; make the directory writable, or choose another".to_owned())
}

/// Renames the file, so that a sweep does not take it for a temporary one.
fn lasting(path: PathBuf) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lasting = path.with_file_name(format!("{name}-old"));
    if fs::rename(&path, &lasting).is_ok() { lasting } else { path }
}

/// Refuses a path that leaves `dir`, by its parts or through an existing link. An absolute path must not be
/// a link itself.
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
        // Also refuses `..` and absolute paths.
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

    /// Every file below `dir` with its content, sorted.
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
    fn a_failed_save_restores_all_files() {
        let long = "n".repeat(300);
        let below_a_file = "a/b";
        let cases: [(&str, &[&str], &[&str]); 7] = [
            // The content can be stored, but not renamed: other files are renamed by then.
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
    fn only_temporary_files_of_killed_runs_are_removed() {
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
    fn existing_files_are_replaced_only_by_force() {
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

    #[test]
    fn saved_files_keep_their_permissions() {
        use agentry_posix::unix::fs::PermissionsExt as _;
        let folder = old();
        let mode = |name: &str| {
            fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777
        };
        fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(folder.path().join("plain"), "").unwrap();
        assert!(save(folder.path(), &["a", "b"], &[], ReplaceMode::Force).is_ok());
        assert_eq!((mode("a"), mode("b")), (0o640, mode("plain")));
    }

    #[test]
    fn saving_through_links_and_devices_is_refused() {
        use agentry_posix::unix::fs::symlink;
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

    fn listing_names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}
