//! The Git repository of an installed agent: every change is a commit, and nothing that the repository contains is run.
//!
//! ```text
//! work tree edited by hand ─commit_edits─▶ HEAD
//! new files ─change─▶ commit at refs/agentry/next ─▶ work tree ─▶ HEAD      (a kill in between is completed later)
//! ```

mod agent_tree;
mod checkout;
mod commit_note;
mod git_program;
mod tree_diff;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

pub use agent_tree::{AgentTree, TreeFile, TreeMode};
pub use checkout::{CheckoutResult, GitCheckout, PackedCommit, pack_commit, receive_result};
pub use commit_note::{CommitKind, CommitNote};
pub use tree_diff::text_diff;

use agent_tree::GIT;
pub(crate) use git_program::GitProgram;

/// The branch of a new repository.
const BRANCH: &str = "refs/heads/main";
/// The commit of a change whose files are not all in the work tree yet.
const NEXT: &str = "refs/agentry/next";
/// Entries of a Git directory that say that a person is in the middle of something.
const UNFINISHED: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("BISECT_LOG", "a bisection"),
];
/// The most commits that are read.
const MOST_COMMITS: usize = 10_000;

/// Why the repository of an agent cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// There is no `git`.
    #[error("`git` is not installed: it is in no absolute directory of `PATH`")]
    NoGit,
    /// Git failed.
    #[error("`git {command}` failed: {why}")]
    Git {
        /// The plumbing command.
        command: String,
        /// What it reported.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The directory is not the root of a plain repository.
    #[error("`{}` {why}", path.display())]
    Unfit {
        /// The directory.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// No directory above has a repository.
    #[error("`{}` is not in a Git repository", .0.display())]
    NoRepository(PathBuf),
    /// The person is in the middle of something.
    #[error("`{}` is in the middle of {what}", path.display())]
    Unfinished {
        /// The directory.
        path: PathBuf,
        /// What it is in the middle of.
        what: &'static str,
    },
    /// A repository lies in the repository.
    #[error("`{0}` is a submodule or a repository of its own; an agent can have neither")]
    Submodule(String),
    /// A file name is not UTF-8.
    #[error("the name of `{}` is not UTF-8", .0.display())]
    Name(PathBuf),
    /// A file or a link is where a directory should be.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The tree is too large.
    #[error("the agent is too large: {0}")]
    TooLarge(&'static str),
    /// There is no such commit in the history of the agent.
    #[error("the history has no commit `{0}`")]
    NoCommit(String),
    /// The repository of the user has no such commit.
    #[error("the repository has no commit `{0}`")]
    NoRevision(String),
    /// More than one commit starts with these digits.
    #[error("several commits start with `{0}`")]
    ManyCommits(String),
}

impl RepositoryError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoGit => Some("install Git; the history of installed agents is kept with it"),
            Self::Unfinished { .. } => {
                Some("finish or abort it with `git`, then try again; nothing was changed")
            }
            Self::Unfit { .. } | Self::Submodule(_) | Self::NotADirectory(_) => Some(
                "nothing was changed; repair it with `git`, or uninstall the agent and install it again",
            ),
            Self::NoRepository(_) => {
                Some("start it inside a repository, or leave out the commit to compare with")
            }
            Self::Name(_) => Some("rename the file"),
            Self::NoRevision(_) => Some(
                "name a branch, a tag or a commit that this clone has; a shallow clone has only the last ones \
                 (`git fetch` brings more)",
            ),
            Self::NoCommit(_) | Self::ManyCommits(_) => Some("`agentry history` lists the commits"),
            Self::Git { .. } | Self::Io { .. } | Self::TooLarge(_) => None,
        }
    }
}

/// One commit of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Its id.
    pub commit: String,
    /// When it was made, in seconds since the Unix epoch.
    pub time: i64,
    /// Who made it.
    pub author: String,
    /// Which kind of author that is.
    pub kind: CommitKind,
    /// The run in which it was made.
    pub run: Option<String>,
    /// What changed and why.
    pub message: String,
}

/// The repository of one agent. The caller holds the lock of the agent.
#[derive(Debug)]
pub struct AgentRepository {
    root: PathBuf,
    git_dir: PathBuf,
    git: GitProgram,
}

impl AgentRepository {
    /// Creates an empty repository in an existing directory.
    pub fn create(root: &Path) -> Result<Self, RepositoryError> {
        let git = GitProgram::find()?;
        let repository = Self { root: root.to_owned(), git_dir: root.join(GIT), git };
        let branch = format!("--initial-branch={}", BRANCH.trim_start_matches("refs/heads/"));
        repository.git(["init", "--quiet", "--template=", &branch], Vec::new())?;
        Ok(repository)
    }

    /// Opens the repository at `root`, unless a person is in the middle of something there.
    pub fn open(root: &Path) -> Result<Self, RepositoryError> {
        let unfit =
            |why: &str| RepositoryError::Unfit { path: root.to_owned(), why: why.to_owned() };
        let git_dir = root.join(GIT);
        match git_dir.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(unfit("is a worktree of another repository or a submodule")),
            Err(_) if root.join("HEAD").is_file() && root.join("objects").is_dir() => {
                return Err(unfit("is a bare repository"));
            }
            Err(_) => return Err(unfit("is not a Git repository")),
        }
        if git_dir.join("commondir").symlink_metadata().is_ok() {
            return Err(unfit("is a worktree of another repository"));
        }
        if let Some((_, what)) =
            UNFINISHED.iter().find(|(name, _)| git_dir.join(name).symlink_metadata().is_ok())
        {
            return Err(RepositoryError::Unfinished { path: root.to_owned(), what });
        }
        let repository = Self { root: root.to_owned(), git_dir, git: GitProgram::find()? };
        let is_bare = repository.git(["rev-parse", "--is-bare-repository"], Vec::new())?;
        if is_bare.starts_with(b"true") {
            return Err(unfit("is a bare repository"));
        }
        repository.complete_change()?;
        Ok(repository)
    }

    /// The commit that HEAD leads to; `None` if there is none yet.
    pub fn head(&self) -> Result<Option<String>, RepositoryError> {
        self.commit_at(&self.branch()?)
    }

    /// The files of a commit.
    pub fn tree(&self, commit: &str) -> Result<AgentTree, RepositoryError> {
        let files = self.listed(commit)?.into_iter().map(|(path, mode, object)| {
            match TreeMode::from_git(&mode) {
                Some(mode) => Ok((path, mode, object)),
                None => Err(RepositoryError::Submodule(path)),
            }
        });
        self.tree_of(files.collect::<Result<_, _>>()?)
    }

    /// The paths of a commit, each with its mode and its object.
    fn listed(&self, commit: &str) -> Result<Vec<(String, String, String)>, RepositoryError> {
        let listed = self.git(["ls-tree", "-r", "-z", "--full-tree", commit], Vec::new())?;
        let listed =
            String::from_utf8(listed).map_err(|_| self.damaged("a name in it is not UTF-8"))?;
        let mut paths = Vec::new();
        for line in listed.split('\0').filter(|line| !line.is_empty()) {
            let (facts, path) =
                line.split_once('\t').ok_or_else(|| self.damaged("its tree cannot be read"))?;
            let mut facts = facts.split(' ');
            let (mode, object) =
                (facts.next().unwrap_or_default(), facts.nth(1).unwrap_or_default());
            // A tree that was made by hand can have such names; they would be written to the work tree.
            if path
                .split('/')
                .any(|part| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(GIT))
            {
                return Err(self.damaged("a path in it leads out of the agent"));
            }
            paths.push((path.to_owned(), mode.to_owned(), object.to_owned()));
        }
        Ok(paths)
    }

    /// The files of some objects.
    fn tree_of(
        &self,
        paths: Vec<(String, TreeMode, String)>,
    ) -> Result<AgentTree, RepositoryError> {
        let objects = self.objects(paths.iter().map(|(_, _, object)| object.as_str()))?;
        let files = paths
            .into_iter()
            .zip(objects)
            .map(|((path, mode, _), bytes)| (path, TreeFile { mode, bytes }));
        Ok(AgentTree { files: files.collect() })
    }

    /// The files of the work tree, as they are now.
    pub fn work_tree(&self) -> Result<AgentTree, RepositoryError> {
        let tracked = match self.head()? {
            Some(head) => self.tree(&head)?,
            None => AgentTree::default(),
        };
        AgentTree::read(&self.root, |path| tracked.files.contains_key(path))
    }

    /// Commits what was changed by hand as the change of `person`. Returns the commit, or `None` if nothing was.
    pub fn commit_edits(&self, person: &str) -> Result<Option<String>, RepositoryError> {
        let head = self.head()?;
        let old = head.as_deref().map(|head| self.tree(head)).transpose()?.unwrap_or_default();
        let new = AgentTree::read(&self.root, |path| old.files.contains_key(path))?;
        let paths = old.changed_paths(&new);
        if paths.is_empty() {
            return Ok(None);
        }
        let subject = format!("edit {}", listed(&paths));
        let note = CommitNote::new(CommitKind::Person, person, subject);
        let branch = self.branch()?;
        let commit = self.import(&branch, head.as_deref(), &new, &note)?;
        self.refresh_index();
        Ok(Some(commit))
    }

    /// Replaces the files of the agent by `new` as one commit. What was changed by hand must be committed already.
    pub fn change(&self, new: &AgentTree, note: &CommitNote) -> Result<String, RepositoryError> {
        let head = self.head()?;
        let commit = self.import(NEXT, head.as_deref(), new, note)?;
        self.complete_change()?;
        Ok(commit)
    }

    /// The history, newest first.
    pub fn history(&self) -> Result<Vec<HistoryEntry>, RepositoryError> {
        let Some(head) = self.head()? else { return Ok(Vec::new()) };
        let most = format!("--max-count={MOST_COMMITS}");
        let ids = self.git(["rev-list", "--first-parent", &most, &head, "--"], Vec::new())?;
        let ids = String::from_utf8_lossy(&ids).into_owned();
        let ids: Vec<&str> = ids.lines().collect();
        let commits = self.objects(ids.iter().copied())?;
        let entries =
            ids.iter().zip(commits).map(|(id, bytes)| entry(id, &String::from_utf8_lossy(&bytes)));
        Ok(entries.collect())
    }

    /// The full id of a commit of the history that is named by its first digits.
    pub fn find_commit(&self, text: &str) -> Result<String, RepositoryError> {
        let is_id = text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let missing = || RepositoryError::NoCommit(text.to_owned());
        if !is_id {
            return Err(missing());
        }
        let wanted = text.to_lowercase();
        let history = self.history()?;
        let mut fitting = history.into_iter().filter(|entry| entry.commit.starts_with(&wanted));
        let found = fitting.next().ok_or_else(missing)?;
        if fitting.next().is_some() {
            Err(RepositoryError::ManyCommits(text.to_owned()))
        } else {
            Ok(found.commit)
        }
    }

    /// Completes a change that a killed process began: its files, then the branch.
    fn complete_change(&self) -> Result<(), RepositoryError> {
        let Some(next) = self.commit_at(NEXT)? else { return Ok(()) };
        let branch = self.branch()?;
        let head = self.commit_at(&branch)?;
        let old = head.as_deref().map(|head| self.tree(head)).transpose()?.unwrap_or_default();
        // A file that was edited by hand meanwhile stays, and becomes the person's change.
        old.write_changes(&self.tree(&next)?, &self.root)?;
        let zero = "0".repeat(next.len());
        let before = head.as_deref().unwrap_or(&zero);
        let moves = format!(
            "start\nupdate {branch} {next} {before}\ndelete {NEXT} {next}\nprepare\ncommit\n"
        );
        self.git(["update-ref", "--stdin"], moves.into_bytes())?;
        self.refresh_index();
        Ok(())
    }

    /// Makes a commit with exactly these files and returns its id.
    fn import(
        &self,
        reference: &str,
        parent: Option<&str>,
        tree: &AgentTree,
        note: &CommitNote,
    ) -> Result<String, RepositoryError> {
        let files = tree.files.iter().map(|(path, file)| (path.as_str(), Some(file)));
        self.import_changes((reference, parent), note, true, files)
    }

    /// The branch that HEAD names.
    fn branch(&self) -> Result<String, RepositoryError> {
        let unfit = |why: String| RepositoryError::Unfit { path: self.root.clone(), why };
        let head = self.git(["symbolic-ref", "--quiet", "HEAD"], Vec::new());
        let head =
            head.map_err(|_| unfit("has no current branch (HEAD is detached)".to_owned()))?;
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        if head.starts_with("refs/heads/") {
            Ok(head)
        } else {
            Err(unfit(format!("has `{head}` as its branch")))
        }
    }

    fn commit_at(&self, reference: &str) -> Result<Option<String>, RepositoryError> {
        let found =
            self.git(["for-each-ref", "--format=%(refname) %(objectname)", reference], Vec::new())?;
        let found = String::from_utf8_lossy(&found).into_owned();
        let mut lines = found.lines().filter_map(|line| line.split_once(' '));
        Ok(lines.find(|(name, _)| *name == reference).map(|(_, id)| id.to_owned()))
    }

    /// The contents of objects, in the order of their ids.
    fn objects<'a>(
        &self,
        ids: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Vec<u8>>, RepositoryError> {
        let ids: Vec<&str> = ids.collect();
        let input = ids.iter().flat_map(|id| id.bytes().chain([b'\n'])).collect();
        let output = self.git(["cat-file", "--batch=%(objectsize)"], input)?;
        let mut rest = output.as_slice();
        let mut objects = Vec::with_capacity(ids.len());
        for _ in ids {
            let object =
                next_object(&mut rest).ok_or_else(|| self.damaged("an object is missing"))?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// Lets `git status` show nothing. This crate does not use the index, so a failure is ignored.
    fn refresh_index(&self) {
        let _ = self.git(["read-tree", "HEAD"], Vec::new());
    }

    fn damaged(&self, why: &str) -> RepositoryError {
        RepositoryError::Unfit { path: self.root.clone(), why: format!("is damaged: {why}") }
    }

    fn git<'a>(
        &self,
        args: impl IntoIterator<Item = &'a str>,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, RepositoryError> {
        self.git.run(&self.git_dir, args, input)
    }
}

/// Takes the next object from the output of `cat-file --batch`.
fn next_object(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let size: usize = str::from_utf8(rest.get(..end)?).ok()?.parse().ok()?;
    let start = end + 1;
    let object = rest.get(start..start + size)?.to_owned();
    *rest = rest.get(start + size + 1..)?;
    Some(object)
}

/// Reads a commit object.
fn entry(id: &str, commit: &str) -> HistoryEntry {
    let (head, message) = commit.split_once("\n\n").unwrap_or((commit, ""));
    let author = head.lines().find_map(|line| line.strip_prefix("author ")).unwrap_or_default();
    let (name, rest) = author.rsplit_once('>').unwrap_or((author, ""));
    let name = name.split_once(" <").map_or(name, |(name, _)| name);
    let time = rest.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0);
    let (kind, run) = commit_note::kind_and_run(message);
    HistoryEntry {
        commit: id.to_owned(),
        time,
        author: name.to_owned(),
        kind,
        run,
        message: commit_note::text_of(message),
    }
}

/// A path as `fast-import` reads it.
fn quoted(path: &str) -> String {
    let mut out = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => drop(write!(out, "\\{byte:03o}")),
            _ => out.push(byte.into()),
        }
    }
    out.push('"');
    out
}

/// Some paths, for the first line of a message.
fn listed(paths: &[&str]) -> String {
    let some = paths.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(3) {
        0 => some,
        more => format!("{some} and {more} more"),
    }
}
