//! What is done with installed agents: install, update, remove, change, roll back. Every operation holds the lock of its agent,
//! and first commits what a person changed by hand.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use agentry_compile::model::Format;

use crate::database;
use crate::layout::{HomeLayout, is_identifier};
use crate::record::{AgentRecord, InstalledAgent, RecordError};
use crate::repository::{
    AgentRepository, AgentTree, CommitKind, CommitNote, HistoryEntry, RepositoryError,
};

/// How long a process waits for another one that changes the same agent.
const PATIENCE: Duration = Duration::from_mins(1);
/// The pause between two looks at the lock.
const PAUSE: Duration = Duration::from_millis(10);
/// The directory of an agent's memories. An update keeps those that were added since.
const MEMORY: &str = "memory/";

/// Why something could not be done with an installed agent.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The record cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The repository cannot be used.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// A file or directory of the home cannot be used.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The home belongs to another user.
    #[error("the home `{}` belongs to another user (id {owner})", path.display())]
    Foreign {
        /// The home.
        path: PathBuf,
        /// The id of its owner.
        owner: u32,
    },
    /// There is no such agent.
    #[error("no agent `{0}` is installed")]
    Missing(String),
    /// The id cannot be one.
    #[error(
        "`{0}` cannot be an id: use up to 64 lower-case letters, digits, `-`, `_` and `.`, and start with a letter or a digit"
    )]
    Identifier(String),
    /// The id is in use.
    #[error("`{id}` is installed from `{source_text}`")]
    Taken {
        /// The id.
        id: String,
        /// Where the installed one is from.
        source_text: String,
    },
    /// A directory of this name already exists.
    #[error("`{}` is there, and is no agent of the record", .0.display())]
    InTheWay(PathBuf),
    /// Another process holds the lock.
    #[error("another process has been changing `{0}` for a minute")]
    Busy(String),
}

impl HomeError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Repository(error) => error.hint().map(str::to_owned),
            Self::Record(error) => Some(match database::hint(&error.error) {
                Some(hint) => hint.to_owned(),
                None => format!(
                    "`{}` may be damaged; it was not changed. Move it away and install the agents again: their files are \
                     still there",
                    error.path.display()
                ),
            }),
            Self::Foreign { .. } => Some("set AGENTRY_HOME to a directory of your own".to_owned()),
            Self::Missing(_) => Some("`agentry agents` lists those that are".to_owned()),
            Self::Taken { .. } => {
                Some("install this one under another id, with `--id ID`".to_owned())
            }
            Self::InTheWay(_) => Some("move it away first; nothing was changed".to_owned()),
            Self::Io { .. } => {
                Some("make it usable, or set `AGENTRY_HOME` to a directory that is".to_owned())
            }
            Self::Identifier(_) | Self::Busy(_) => None,
        }
    }
}

/// An agent that is to be installed.
#[derive(Debug)]
pub struct AgentInstallation {
    /// The id under which it is installed.
    pub id: String,
    /// Whether the user chose the id. Then an agent of the same name from another source is updated.
    pub is_chosen: bool,
    /// The name that its definition declares.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// Its main file, relative to its root.
    pub main: String,
    /// The full digest of its definition.
    pub digest: String,
    /// Whether it gets a memory.
    pub memory: bool,
    /// Where it is from.
    pub source: String,
    /// Its files.
    pub tree: AgentTree,
}

/// The result of an installation.
#[derive(Debug)]
pub struct InstallOutcome {
    /// The agent as it is recorded now.
    pub agent: InstalledAgent,
    /// The commit, unless nothing changed.
    pub commit: Option<String>,
    /// What was installed before, with its files.
    pub before: Option<(InstalledAgent, AgentTree)>,
}

/// The installed agents of one home.
#[derive(Debug)]
pub struct AgentHome {
    layout: HomeLayout,
    record: AgentRecord,
    /// The current user, who makes the changes that are not an agent's.
    person: String,
}

/// An agent whose lock this process holds.
#[derive(Debug)]
pub struct AgentUnderLock {
    /// Its row.
    pub agent: InstalledAgent,
    /// Its repository, in which nothing is left to commit.
    pub repository: AgentRepository,
    _lock: File,
}

impl AgentHome {
    /// Opens a home and creates it if there is none. `person` is the current user.
    pub fn open(layout: &HomeLayout, person: &str) -> Result<Self, HomeError> {
        let made = |path: PathBuf| {
            fs::create_dir_all(&path).map_err(|error| HomeError::Io { path, error })
        };
        made(layout.root().to_owned())?;
        refuse_foreign(layout.root())?;
        made(layout.agents())?;
        let record = AgentRecord::open(layout)?;
        Ok(Self { layout: layout.clone(), record, person: person.to_owned() })
    }

    /// The record of installed agents.
    #[must_use]
    pub fn record(&self) -> &AgentRecord {
        &self.record
    }

    /// The directories of the home.
    #[must_use]
    pub fn layout(&self) -> &HomeLayout {
        &self.layout
    }

    /// The current user.
    #[must_use]
    pub fn person(&self) -> &str {
        &self.person
    }

    /// The agent with this id.
    pub fn find(&self, id: &str) -> Result<InstalledAgent, HomeError> {
        self.record.find(id)?.ok_or_else(|| HomeError::Missing(id.to_owned()))
    }

    /// Locks an agent and commits what was changed by hand.
    pub fn lock(&self, id: &str) -> Result<AgentUnderLock, HomeError> {
        self.find(id)?;
        let lock = self.locked(id)?;
        // It may have been removed while this process waited.
        let agent = self.find(id)?;
        let repository = AgentRepository::open(&agent.path)?;
        repository.commit_edits(&self.person)?;
        Ok(AgentUnderLock { agent, repository, _lock: lock })
    }

    /// Installs an agent, or updates the one with its id as one commit.
    pub fn install(&self, new: AgentInstallation) -> Result<InstallOutcome, HomeError> {
        if !is_identifier(&new.id) {
            return Err(HomeError::Identifier(new.id));
        }
        let _lock = self.locked(&new.id)?;
        let old = match self.record.find(&new.id)? {
            Some(old) => Some(old),
            None => unrecorded(&self.layout.agent(&new.id), &new)?,
        };
        match old {
            Some(old) => self.update(old, new),
            None => self.add(new),
        }
    }

    fn add(&self, new: AgentInstallation) -> Result<InstallOutcome, HomeError> {
        let target = self.layout.agent(&new.id);
        let staging = self.layout.staging();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| HomeError::Io { path, error }
        };
        fs::create_dir_all(&staging).map_err(failed(&staging))?;
        let place = tempfile::tempdir_in(&staging).map_err(failed(&staging))?;
        let root = place.path().join(&new.id);
        fs::create_dir(&root).map_err(failed(&root))?;
        let repository = AgentRepository::create(&root)?;
        let commit = repository.change(&new.tree, &self.install_note("install", &new))?;
        fs::rename(&root, &target).map_err(failed(&target))?;
        let agent = self.put(new)?;
        Ok(InstallOutcome { agent, commit: Some(commit), before: None })
    }

    fn update(
        &self,
        old: InstalledAgent,
        new: AgentInstallation,
    ) -> Result<InstallOutcome, HomeError> {
        let is_same = old.name == new.name && (old.source == new.source || new.is_chosen);
        if !is_same {
            return Err(HomeError::Taken { id: old.id, source_text: old.source });
        }
        let repository = AgentRepository::open(&old.path)?;
        repository.commit_edits(&self.person)?;
        let before = match repository.head()? {
            Some(head) => repository.tree(&head)?,
            None => AgentTree::default(),
        };
        let mut new = AgentInstallation { memory: new.memory || old.memory, ..new };
        keep_memories(&repository, &before, &mut new.tree)?;
        let commit = if before == new.tree {
            None
        } else {
            Some(repository.change(&new.tree, &self.install_note("update", &new))?)
        };
        let agent = self.put(new)?;
        Ok(InstallOutcome { agent, commit, before: Some((old, before)) })
    }

    /// Removes an agent with its history. What users taught it, its runs and receipts stay.
    pub fn uninstall(&self, id: &str) -> Result<InstalledAgent, HomeError> {
        self.find(id)?;
        let _lock = self.locked(id)?;
        let agent = self.find(id)?;
        let staging = self.layout.staging();
        let failed = |error| HomeError::Io { path: agent.path.clone(), error };
        fs::create_dir_all(&staging).map_err(failed)?;
        let place = tempfile::tempdir_in(&staging).map_err(failed)?;
        self.record.remove(id)?;
        match fs::rename(&agent.path, place.path().join(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(agent),
        }
    }

    /// Records the digest of an agent after its files changed.
    pub fn record_digest(
        &self,
        locked: &AgentUnderLock,
        digest: String,
    ) -> Result<InstalledAgent, HomeError> {
        let agent = InstalledAgent { digest, ..locked.agent.clone() };
        self.record.put(&agent)?;
        Ok(agent)
    }

    fn put(&self, new: AgentInstallation) -> Result<InstalledAgent, HomeError> {
        let AgentInstallation {
            id,
            is_chosen: _,
            name,
            format,
            main,
            digest,
            memory,
            source,
            tree: _,
        } = new;
        let path = self.layout.agent(&id);
        let agent = InstalledAgent { id, name, format, path, main, digest, memory, source };
        self.record.put(&agent)?;
        Ok(agent)
    }

    fn install_note(&self, verb: &str, new: &AgentInstallation) -> CommitNote {
        let mut note =
            CommitNote::new(CommitKind::Install, &self.person, format!("{verb} {}", new.name));
        note.reason = Some(format!("From `{}`, {}.", new.source, new.digest));
        note
    }

    /// Takes the lock of an id. The system releases it when this process ends.
    fn locked(&self, id: &str) -> Result<File, HomeError> {
        let path = self.layout.agent_lock(id);
        let failed = |error| HomeError::Io { path: path.clone(), error };
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        let end = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(PAUSE),
                Err(fs::TryLockError::WouldBlock) => return Err(HomeError::Busy(id.to_owned())),
                Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

impl AgentUnderLock {
    /// The files of the last commit.
    pub fn tree(&self) -> Result<AgentTree, HomeError> {
        match self.repository.head()? {
            Some(head) => Ok(self.repository.tree(&head)?),
            None => Ok(AgentTree::default()),
        }
    }

    /// The history, newest first.
    pub fn history(&self) -> Result<Vec<HistoryEntry>, HomeError> {
        Ok(self.repository.history()?)
    }

    /// Returns to the files of a commit, as a new commit. Returns `None` if they are the present ones.
    pub fn roll_back(&self, commit: &str, person: &str) -> Result<Option<String>, HomeError> {
        let commit = self.repository.find_commit(commit)?;
        let (old, now) = (self.repository.tree(&commit)?, self.tree()?);
        if old == now {
            return Ok(None);
        }
        let short = commit.get(..12).unwrap_or(&commit);
        let history = self.history()?;
        let subject = history.iter().find(|entry| entry.commit == commit);
        let subject = subject.and_then(|entry| entry.message.lines().next()).unwrap_or_default();
        let mut note =
            CommitNote::new(CommitKind::Rollback, person, format!("roll back to {short}"));
        note.reason = Some(format!("The files are those of «{subject}» ({commit})."));
        Ok(Some(self.repository.change(&old, &note)?))
    }
}

/// The agent of a directory without a row: its installation was killed before it was recorded, or the record was lost. Anything
/// else that is there may be a person's: it stays, and is reported.
fn unrecorded(target: &Path, new: &AgentInstallation) -> Result<Option<InstalledAgent>, HomeError> {
    if target.symlink_metadata().is_err() {
        return Ok(None);
    }
    let in_the_way = || HomeError::InTheWay(target.to_owned());
    let history = AgentRepository::open(target).and_then(|repository| repository.history());
    let history = history.map_err(|_| in_the_way())?;
    let first = history.last().filter(|entry| entry.kind == CommitKind::Install);
    let subject = first.and_then(|entry| entry.message.lines().next());
    if subject != Some(format!("install {}", new.name).as_str()) {
        return Err(in_the_way());
    }
    Ok(Some(InstalledAgent {
        id: new.id.clone(),
        name: new.name.clone(),
        format: new.format,
        path: target.to_owned(),
        main: new.main.clone(),
        digest: String::new(),
        memory: new.memory,
        source: new.source.clone(),
    }))
}

/// Adds the memories to an update that no installation brought: they were learned since.
fn keep_memories(
    repository: &AgentRepository,
    before: &AgentTree,
    new: &mut AgentTree,
) -> Result<(), HomeError> {
    let is_memory = |path: &&String| path.starts_with(MEMORY) || path.contains("/memory/");
    if !before.files.keys().any(|path| is_memory(&path)) {
        return Ok(());
    }
    let history = repository.history()?;
    let installed = history.iter().find(|entry| entry.kind == CommitKind::Install);
    let installed = match installed {
        Some(entry) => repository.tree(&entry.commit)?,
        None => AgentTree::default(),
    };
    let learned = before
        .files
        .iter()
        .filter(|(path, file)| is_memory(path) && installed.files.get(*path) != Some(file));
    for (path, file) in learned {
        new.files.entry(path.clone()).or_insert_with(|| file.clone());
    }
    Ok(())
}

/// Refuses a home of another user, as Git does: files that one of them creates could not be used by
/// the other. A missing directory has no owner.
pub fn refuse_foreign(root: &Path) -> Result<(), HomeError> {
    use agentry_posix::unix::fs::MetadataExt as _;
    let found = match fs::metadata(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(|error| HomeError::Io { path: root.to_owned(), error })?,
    };
    let owner = found.uid();
    let own = agentry_posix::process::geteuid().as_raw();
    if owner == own { Ok(()) } else { Err(HomeError::Foreign { path: root.to_owned(), owner }) }
}
