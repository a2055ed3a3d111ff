//! The files of a commit of the user's own repository, read without a checkout: what an agent was before a change.
//!
//! Only plumbing commands run, hardened as for installed agents; the work tree is never shown to Git, so no filter of the
//! repository is run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::repository::{GitProgram, RepositoryError, TreeMode};

/// The most links on the way to one file.
const MOST_LINKS: usize = 40;

/// The files of one commit.
#[derive(Debug)]
pub struct RepositoryRevision {
    root: PathBuf,
    commit: String,
    files: BTreeMap<String, RevisionFile>,
    directories: BTreeSet<String>,
    objects: Mutex<ObjectReader>,
}

#[derive(Debug)]
struct RevisionFile {
    mode: TreeMode,
    object: String,
}

/// What a revision has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevisionEntry {
    /// A file, or a link to one.
    File,
    /// A directory, or a link to one.
    Directory,
    /// A link out of the repository, or a circle of links.
    Escapes,
    /// Nothing.
    Missing,
}

/// Why a file of a revision cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RevisionReadError {
    /// It is larger than the limit; the size.
    #[error("it has {0} bytes, which is too large")]
    TooLarge(u64),
    /// Git does not have the bytes, as in a clone without all objects.
    #[error("the repository does not have its bytes")]
    Absent,
}

impl RepositoryRevision {
    /// Opens the repository around `start` at the commit where the current branch left `reference`. Where the histories do
    /// not meet, as in a shallow clone, it is the commit of `reference` itself.
    pub fn open(start: &Path, reference: &str) -> Result<Self, RepositoryError> {
        let (root, git_dir) = find_repository(start)?;
        let git = GitProgram::find()?;
        let id = |args: &[&str]| -> Option<String> {
            let found = git.run(&git_dir, args.iter().copied(), Vec::new()).ok()?;
            let found = String::from_utf8(found).ok()?.trim().to_owned();
            (!found.is_empty()).then_some(found)
        };
        let named = format!("{reference}^{{commit}}");
        let named = id(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named]);
        // Before the first commit there is nothing to compare with, and everything is new: a hook must work then, too.
        let is_unborn =
            || reference == "HEAD" && id(&["symbolic-ref", "--quiet", "HEAD"]).is_some();
        let (commit, listed) = match named {
            Some(named) => {
                let commit = id(&["merge-base", &named, "HEAD"]).unwrap_or(named);
                let list = ["ls-tree", "-r", "-z", "--full-tree", &commit];
                let listed = git.run(&git_dir, list, Vec::new())?;
                (commit, listed)
            }
            None if is_unborn() => ("no commit".to_owned(), Vec::new()),
            None => return Err(RepositoryError::NoRevision(reference.to_owned())),
        };
        let files = files(&listed);
        let directories = files.keys().flat_map(|path| above(path)).map(str::to_owned).collect();
        let objects = Mutex::new(ObjectReader::start(&git, &git_dir)?);
        Ok(Self { root, commit, files, directories, objects })
    }

    /// The directory that the paths of the commit start at, with links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// What is at a path; links are followed.
    pub fn kind(&self, path: &str) -> RevisionEntry {
        let Some(path) = self.follow(path) else { return RevisionEntry::Escapes };
        if path.is_empty() || self.directories.contains(&path) {
            RevisionEntry::Directory
        } else if self.files.contains_key(&path) {
            RevisionEntry::File
        } else {
            RevisionEntry::Missing
        }
    }

    /// The bytes of a file, at most `limit` of them. `None` if there is no file.
    pub fn read(&self, path: &str, limit: u64) -> Option<Result<Vec<u8>, RevisionReadError>> {
        let file = self.files.get(&self.follow(path)?)?;
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        Some(objects.read(&file.object, limit))
    }

    /// The names in a directory, sorted. `None` if there is no directory.
    pub fn list(&self, path: &str) -> Option<Vec<String>> {
        let path = self.follow(path)?;
        if !path.is_empty() && !self.directories.contains(&path) {
            return None;
        }
        let prefix = if path.is_empty() { path } else { format!("{path}/") };
        let below = self.files.range(prefix.clone()..);
        let below = below.map_while(|(file, _)| file.strip_prefix(&prefix));
        let mut names: Vec<String> =
            below.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()).collect();
        names.sort();
        names.dedup();
        Some(names)
    }

    /// The path with every link on the way followed; `None` if one leads out of the repository.
    fn follow(&self, path: &str) -> Option<String> {
        let mut rest: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut done = String::new();
        let mut links = 0;
        while let Some(part) = rest.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    let up = done.rfind('/').unwrap_or(0);
                    if done.is_empty() {
                        return None;
                    }
                    done.truncate(up);
                    continue;
                }
                part if done.is_empty() => part.clone_into(&mut done),
                part => done = format!("{done}/{part}"),
            }
            let Some(RevisionFile { mode: TreeMode::Link, object }) = self.files.get(&done) else {
                continue;
            };
            links += 1;
            let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
            let target = String::from_utf8(objects.read(object, 4096).ok()?).ok()?;
            if links > MOST_LINKS || target.starts_with('/') {
                return None;
            }
            done.truncate(done.rfind('/').unwrap_or(0));
            rest.extend(target.split('/').rev().map(str::to_owned));
        }
        Some(done)
    }
}

/// The root of the repository around `start`, and the paths of all files of its last commit, sorted.
pub fn committed_paths(start: &Path) -> Result<(PathBuf, Vec<String>), RepositoryError> {
    let (root, git_dir) = find_repository(start)?;
    let list = ["ls-tree", "-r", "-z", "--full-tree", "HEAD"];
    let listed = GitProgram::find()?.run(&git_dir, list, Vec::new())?;
    Ok((root, files(&listed).into_keys().collect()))
}

/// The directories above a path.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Reads the output of `ls-tree -z`. Submodules and names that are not UTF-8 are left out: no agent is read from there.
fn files(listed: &[u8]) -> BTreeMap<String, RevisionFile> {
    let file = |line: &[u8]| {
        let (facts, path) = str::from_utf8(line).ok()?.split_once('\t')?;
        let mut facts = facts.split(' ');
        let mode = TreeMode::from_git(facts.next()?)?;
        let object = facts.nth(1)?.to_owned();
        Some((path.to_owned(), RevisionFile { mode, object }))
    };
    listed.split(|byte| *byte == 0).filter_map(file).collect()
}

/// The root of the repository at or above `start`, and its Git directory. A worktree or a submodule names it in a file.
pub(crate) fn find_repository(start: &Path) -> Result<(PathBuf, PathBuf), RepositoryError> {
    let unfit = |path: &Path, why: &str| RepositoryError::Unfit {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let start = start
        .canonicalize()
        .map_err(|error| RepositoryError::Io { path: start.to_owned(), error })?;
    for root in start.ancestors() {
        let git = root.join(".git");
        let Ok(found) = git.metadata() else { continue };
        if found.is_dir() {
            return Ok((root.to_owned(), git));
        }
        let text = std::fs::read_to_string(&git).unwrap_or_default();
        let named = text.strip_prefix("gitdir: ").map(|path| root.join(path.trim_end()));
        return match named.filter(|path| path.is_dir()) {
            Some(git) => Ok((root.to_owned(), git)),
            None => Err(unfit(&git, "names no Git directory")),
        };
    }
    Err(RepositoryError::NoRepository(start))
}

/// One `cat-file` that answers for as long as it is asked.
#[derive(Debug)]
struct ObjectReader {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl ObjectReader {
    fn start(git: &GitProgram, git_dir: &Path) -> Result<Self, RepositoryError> {
        let failed = |why: String| RepositoryError::Git { command: "cat-file".to_owned(), why };
        let mut command =
            git.command(git_dir, &["cat-file", "--batch=%(objectsize)"].map(OsStr::new));
        let mut child =
            command.stderr(Stdio::null()).spawn().map_err(|error| failed(error.to_string()))?;
        let (questions, answers) = (child.stdin.take(), child.stdout.take());
        let answers = answers.ok_or_else(|| failed("it has no output".to_owned()))?;
        Ok(Self { child, questions, answers: BufReader::new(answers) })
    }

    fn read(&mut self, object: &str, limit: u64) -> Result<Vec<u8>, RevisionReadError> {
        self.ask(object, limit).unwrap_or(Err(RevisionReadError::Absent))
    }

    fn ask(&mut self, object: &str, limit: u64) -> io::Result<Result<Vec<u8>, RevisionReadError>> {
        let questions = self.questions.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(questions, "{object}")?;
        questions.flush()?;
        let mut line = String::new();
        self.answers.by_ref().take(4096).read_line(&mut line)?;
        // A missing object is answered by `ID missing`.
        let Ok(size) = line.trim_end().parse::<u64>() else {
            return Ok(Err(RevisionReadError::Absent));
        };
        // The rest of the answer and its line end must be taken in any case: the next answer follows it.
        let mut body = self.answers.by_ref().take(size.saturating_add(1));
        if size > limit {
            io::copy(&mut body, &mut io::sink())?;
            return Ok(Err(RevisionReadError::TooLarge(size)));
        }
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes)?;
        bytes.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        Ok(Ok(bytes))
    }
}

impl Drop for ObjectReader {
    fn drop(&mut self) {
        // Without questions it ends by itself; a kill covers a Git that does not.
        drop(self.questions.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
