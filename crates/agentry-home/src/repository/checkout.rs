//! A commit of a user's repository in a fresh directory of another machine, and what a run made of it as a commit.
//!
//! ```text
//! repository ─pack_commit─▶ bytes ─▶ GitCheckout::create      <directory>/repository   bare, out of reach of the run
//!                                                             <directory>/work         the files, with a `.git` for the agent
//! GitCheckout::result ─▶ commit on top of the first one, as a pack and as a patch ─receive_result─▶ repository
//! ```
//!
//! Git reads no file of the work tree but `.gitignore`, and runs nothing: no hook, no filter, no configuration of the
//! repository that names a program. Files are written and read as they are in the commit, without line-end conversion.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use agentry_compile::policy::commands::secrets::is_secret;
use agentry_posix::unix::ffi::OsStringExt as _;
use agentry_posix::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

use super::agent_tree::refuse_links;
use super::{
    AgentRepository, AgentTree, CommitNote, GIT, GitProgram, RepositoryError, TreeFile, TreeMode,
    quoted,
};
use crate::revision::find_repository;

/// The most bytes of all files of a checkout, and the most files.
const MOST_BYTES: u64 = 256 << 20;
const MOST_FILES: usize = 200_000;
/// The commit that a checkout was made of.
const BASE: &str = "agentry-base";
/// The branch of the repository that the agent sees.
const BRANCH: &str = "agentry";
/// The commit of the result, in the repository out of reach of the run.
const RESULT: &str = "refs/agentry/result";

/// A commit with its files and without its history.
#[derive(Debug, Clone)]
pub struct PackedCommit {
    /// Its id.
    pub commit: String,
    /// The root of the repository.
    pub root: PathBuf,
    /// Its objects, as Git packs them.
    pub pack: Vec<u8>,
}

/// Packs a commit of the repository around `start`.
pub fn pack_commit(start: &Path, revision: &str) -> Result<PackedCommit, RepositoryError> {
    let (root, git_dir) = find_repository(start)?;
    let git = GitProgram::find()?;
    let missing = || RepositoryError::NoRevision(revision.to_owned());
    let named = format!("{revision}^{{commit}}");
    let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options", &named];
    let commit = git.run(&git_dir, verify, Vec::new()).map_err(|_| missing())?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let list = ["rev-list", "--objects", "--no-walk", &commit, "--"];
    let listed = git.run(&git_dir, list, Vec::new())?;
    let ids = listed.split(|byte| *byte == b'\n');
    let ids = ids.filter_map(|line| line.split(|byte| *byte == b' ').next());
    let mut input = Vec::new();
    for id in ids.filter(|id| !id.is_empty()) {
        input.extend(id);
        input.push(b'\n');
    }
    let pack = git.run(&git_dir, ["pack-objects", "--stdout", "--quiet"], input)?;
    Ok(PackedCommit { commit, root, pack })
}

/// What a run made of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutResult {
    /// The commit that the checkout was made of.
    pub base: String,
    /// The commit on top of it; the same one if nothing was changed.
    pub commit: String,
    /// The files that differ.
    pub files: Vec<String>,
    /// The objects that the base does not have.
    pub pack: Vec<u8>,
    /// The difference as `git apply` reads it.
    pub patch: Vec<u8>,
}

/// A checkout of one commit.
#[derive(Debug)]
pub struct GitCheckout {
    directory: PathBuf,
    repository: AgentRepository,
}

impl GitCheckout {
    /// Makes a checkout in `directory`. What an earlier attempt left there is removed.
    pub fn create(directory: &Path, commit: &str, pack: &[u8]) -> Result<Self, RepositoryError> {
        Self::make(directory, (commit, pack), None)
    }

    /// Makes a checkout of `base` with the files of a result of it, which another machine handed in: its commit and its pack.
    pub fn restore(
        directory: &Path,
        base: (&str, &[u8]),
        result: (&str, &[u8]),
    ) -> Result<Self, RepositoryError> {
        Self::make(directory, base, Some(result).filter(|(commit, _)| *commit != base.0))
    }

    fn make(
        directory: &Path,
        (commit, pack): (&str, &[u8]),
        result: Option<(&str, &[u8])>,
    ) -> Result<Self, RepositoryError> {
        let failed = |error| RepositoryError::Io { path: directory.to_owned(), error };
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let checkout = Self::at(directory)?;
        agentry_runtime::create_private_directories(directory).map_err(failed)?;
        fs::create_dir(checkout.work()).map_err(failed)?;
        let git = &checkout.repository.git;
        let shown = checkout.work().join(GIT);
        for git_dir in [&checkout.repository.git_dir, &shown] {
            fill(git, git_dir, commit, pack)?;
        }
        let tree = match result {
            None => checkout.tree(commit)?,
            Some((result, pack)) => {
                checkout.git(&["index-pack", "--stdin", "--strict"], pack.to_vec())?;
                checkout.git(&["update-ref", RESULT, result], Vec::new())?;
                checkout.tree(result)?
            }
        };
        write_new(&checkout.work(), &tree)?;
        // `git status` of the agent shows nothing yet.
        git.run(&shown, ["read-tree", "HEAD"], Vec::new())?;
        // Last: without it, the checkout is not whole.
        fs::write(checkout.repository.git_dir.join(BASE), commit).map_err(failed)?;
        Ok(checkout)
    }

    /// The checkout whose files are at `work`; `None` if that is no checkout.
    #[must_use]
    pub fn of_work(work: &Path) -> Option<Self> {
        let directory = work.parent()?;
        let checkout = Self::at(directory).ok()?;
        (work == checkout.work() && checkout.base().is_ok()).then_some(checkout)
    }

    /// Whether this commit is the last result that was made of it, or that it was restored from.
    #[must_use]
    pub fn has_result(&self, commit: &str) -> bool {
        let last = self.repository.commit_at(RESULT).ok();
        last.and_then(|last| last.or_else(|| self.base().ok())).is_some_and(|last| last == commit)
    }

    fn at(directory: &Path) -> Result<Self, RepositoryError> {
        let repository = AgentRepository {
            root: directory.join("work"),
            git_dir: directory.join("repository"),
            git: GitProgram::find()?,
        };
        Ok(Self { directory: directory.to_owned(), repository })
    }

    /// The directory of its files.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.repository.root.clone()
    }

    /// The directory of the checkout.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn base(&self) -> Result<String, RepositoryError> {
        let path = self.repository.git_dir.join(BASE);
        fs::read_to_string(&path).map_err(|error| RepositoryError::Io { path, error })
    }

    /// The files of a commit. Submodules are left out: their commits are in other repositories.
    fn tree(&self, commit: &str) -> Result<AgentTree, RepositoryError> {
        let listed = self.repository.listed(commit)?;
        if listed.len() > MOST_FILES {
            return Err(RepositoryError::TooLarge("the commit has more than 200,000 files"));
        }
        let files = listed
            .into_iter()
            .filter_map(|(path, mode, object)| Some((path, TreeMode::from_git(&mode)?, object)));
        self.repository.tree_of(files.collect())
    }

    /// Commits what is in the work tree now. Ignored files, and untracked ones that hold secrets, are left out.
    pub fn result(&self, note: &CommitNote) -> Result<CheckoutResult, RepositoryError> {
        let base = self.base()?;
        let before = self.tree(&base)?;
        let after = self.read(&before, &base)?;
        let files: Vec<String> =
            before.changed_paths(&after).into_iter().map(str::to_owned).collect();
        // An earlier result is replaced.
        let _ = self.git(&["update-ref", "-d", RESULT], Vec::new());
        if files.is_empty() {
            let commit = base.clone();
            return Ok(CheckoutResult { base, commit, files, pack: Vec::new(), patch: Vec::new() });
        }
        let changes = files.iter().map(|path| (path.as_str(), after.files.get(path)));
        let commit = self.repository.import_changes((RESULT, Some(&base)), note, false, changes)?;
        let revisions = format!("{commit}\n^{base}\n").into_bytes();
        let pack = self.git(&["pack-objects", "--revs", "--stdout", "--quiet"], revisions)?;
        let diff = ["diff-tree", "-p", "--binary", "--full-index", "--no-renames"];
        let plain = ["--no-ext-diff", "--no-textconv", "--no-color"];
        let args = [&diff[..], &plain[..], &[base.as_str(), commit.as_str(), "--"]].concat();
        let patch = self.git(&args, Vec::new())?;
        Ok(CheckoutResult { base, commit, files, pack, patch })
    }

    fn git(&self, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>, RepositoryError> {
        self.repository.git(args.iter().copied(), input)
    }

    /// The files of the work tree that are tracked or not ignored.
    fn read(&self, before: &AgentTree, base: &str) -> Result<AgentTree, RepositoryError> {
        self.git(&["read-tree", base], Vec::new())?;
        let work = format!("--work-tree={}", self.repository.root.display());
        let list = [&work, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = self.git(&list, Vec::new())?;
        let listed = String::from_utf8(listed).map_err(|error| {
            RepositoryError::Name(std::ffi::OsString::from_vec(error.into_bytes()).into())
        })?;
        let paths: BTreeSet<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        let (mut tree, mut total) = (AgentTree::default(), 0);
        for path in paths {
            let is_tracked = before.files.contains_key(path);
            let is_private = !is_tracked && is_secret(&format!("/{path}"), None).is_some();
            // A repository in the repository is listed as a directory.
            if path.ends_with('/') || is_private {
                continue;
            }
            // A directory that became a link leads out of the checkout: what was below it is gone.
            if refuse_links(&self.repository.root, path).is_err() {
                continue;
            }
            let full = self.repository.root.join(path);
            let file = read_file(&full).map_err(|error| RepositoryError::Io { path: full, error });
            let Some(file) = file? else { continue };
            total += file.bytes.len() as u64;
            if total > MOST_BYTES || tree.files.len() >= MOST_FILES {
                return Err(RepositoryError::TooLarge(
                    "the result has more than 200,000 files or 256 MiB",
                ));
            }
            tree.files.insert(path.to_owned(), file);
        }
        Ok(tree)
    }
}

/// Makes a repository with the objects of one commit, whose parents it does not have.
fn fill(
    git: &GitProgram,
    git_dir: &Path,
    commit: &str,
    pack: &[u8],
) -> Result<(), RepositoryError> {
    let format = if commit.len() == 64 { "sha256" } else { "sha1" };
    let (format, branch) =
        (format!("--object-format={format}"), format!("--initial-branch={BRANCH}"));
    git.run(git_dir, ["init", "--quiet", "--template=", &format, &branch], Vec::new())?;
    let shallow = git_dir.join("shallow");
    fs::write(&shallow, format!("{commit}\n"))
        .map_err(|error| RepositoryError::Io { path: shallow, error })?;
    git.run(git_dir, ["index-pack", "--stdin"], pack.to_vec())?;
    let branch = format!("refs/heads/{BRANCH}");
    git.run(git_dir, ["update-ref", &branch, commit], Vec::new()).map(drop)
}

/// Writes files into an empty directory. They need not survive a crash of the machine: no run has begun.
fn write_new(root: &Path, tree: &AgentTree) -> Result<(), RepositoryError> {
    for (path, TreeFile { mode, bytes }) in &tree.files {
        refuse_links(root, path)?;
        let full = root.join(path);
        let written = || -> io::Result<()> {
            fs::create_dir_all(full.parent().unwrap_or(root))?;
            if *mode == TreeMode::Link {
                let target = std::ffi::OsString::from_vec(bytes.clone());
                return agentry_posix::unix::fs::symlink(target, &full);
            }
            let mode = if *mode == TreeMode::Executable { 0o755 } else { 0o644 };
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true).mode(mode).open(&full)?.write_all(bytes)
        };
        written().map_err(|error| RepositoryError::Io { path: full.clone(), error })?;
    }
    Ok(())
}

/// What is at a path; `None` if there is nothing that Git stores. No link on the way is followed.
fn read_file(full: &Path) -> io::Result<Option<TreeFile>> {
    let found = match fs::symlink_metadata(full) {
        Ok(found) => found,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if found.is_symlink() {
        let bytes = fs::read_link(full)?.into_os_string().into_vec();
        return Ok(Some(TreeFile { mode: TreeMode::Link, bytes }));
    }
    if !found.is_file() {
        return Ok(None);
    }
    let file = agentry_runtime::open_without_links(full)?;
    let is_program = file.metadata()?.permissions().mode() & 0o100 != 0;
    let mode = if is_program { TreeMode::Executable } else { TreeMode::Plain };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(Some(TreeFile { mode, bytes }))
}

/// Stores the result of a run in the repository around `start`, as the commit of a reference, which is returned. Nothing
/// else of the repository changes.
pub fn receive_result(
    start: &Path,
    run: &str,
    result: &CheckoutResult,
) -> Result<String, RepositoryError> {
    let (_, git_dir) = find_repository(start)?;
    let git = GitProgram::find()?;
    let has = |commit: &str| {
        let named = format!("{commit}^{{commit}}");
        let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options", &named];
        git.run(&git_dir, verify, Vec::new()).map(drop)
    };
    has(&result.base).map_err(|_| RepositoryError::NoRevision(result.base.clone()))?;
    if !result.pack.is_empty() {
        git.run(&git_dir, ["index-pack", "--stdin", "--strict"], result.pack.clone())?;
    }
    has(&result.commit).map_err(|_| RepositoryError::NoRevision(result.commit.clone()))?;
    let reference = format!("refs/agentry/runs/{run}");
    git.run(&git_dir, ["update-ref", &reference, &result.commit], Vec::new())?;
    Ok(reference)
}

impl AgentRepository {
    /// Makes a commit of some changes: each path with its new file, or without one. `starts_empty` drops the files of the
    /// parent first.
    pub(super) fn import_changes<'a>(
        &self,
        (reference, parent): (&str, Option<&str>),
        note: &CommitNote,
        starts_empty: bool,
        changes: impl IntoIterator<Item = (&'a str, Option<&'a TreeFile>)>,
    ) -> Result<String, RepositoryError> {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let (time, author) = (time.map_or(0, |it| it.as_secs()), note.signature());
        let message = note.message();
        let mut stream = format!(
            "feature done\ncommit {reference}\nauthor {author} {time} +0000\ncommitter {author} {time} +0000\n\
             data {}\n{message}\n",
            message.len()
        )
        .into_bytes();
        if let Some(parent) = parent {
            stream.extend(format!("from {parent}\n").bytes());
        }
        if starts_empty {
            stream.extend(b"deleteall\n");
        }
        for (path, file) in changes {
            let Some(TreeFile { mode, bytes }) = file else {
                stream.extend(format!("D {}\n", quoted(path)).bytes());
                continue;
            };
            let head =
                format!("M {} inline {}\ndata {}\n", mode.as_git(), quoted(path), bytes.len());
            stream.extend(head.bytes());
            stream.extend(bytes);
            stream.push(b'\n');
        }
        stream.extend(b"done\n");
        self.git(["fast-import", "--quiet", "--date-format=raw"], stream)?;
        self.commit_at(reference)?.ok_or_else(|| self.damaged("a commit was not stored"))
    }
}
