//! The memories of one agent in runs of one user: everything that it may read, and where it writes.

use std::path::{Path, PathBuf};

use chrono::DateTime;

use super::MemoryError;
use super::entry::{self, MemoryDraft, MemoryEntry};
use super::folder::{FolderRole, MemoryFolder, sync_directory};
use super::index::{IndexedMemory, MemoryIndex, RefreshEffort, with_index};
use crate::layout::{HomeLayout, has_entries};
use crate::user::UserName;

/// How often a name is tried that another process took.
const MOST_ATTEMPTS: usize = 16;
/// The most memories that a prompt chooses from without a query.
const MOST_FIRST: usize = 400;
/// The most memories that a prompt chooses from by relevance.
const MOST_RELEVANT: usize = 100;

/// The directories with the memories of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPlaces {
    /// The home.
    pub layout: HomeLayout,
    /// The identifier under which the home keeps what users teach the agent.
    pub id: String,
    /// The directory of the agent with its own `memory/`, if its format has one.
    pub directory: Option<PathBuf>,
    /// Whether the agent lives in the home, so that its own memory can be written.
    pub is_installed: bool,
    /// Whose run it is.
    pub user: UserName,
    /// Whether it shares what it remembers with the user's other agents that do.
    pub is_shared: bool,
}

/// The memories of one agent in runs of one user.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    /// What is read.
    folders: Vec<MemoryFolder>,
    /// Where the agent itself writes.
    kept_in: MemoryFolder,
    /// The agent's own folder, if it can be written.
    own: Option<MemoryFolder>,
    /// What this user taught it.
    private: MemoryFolder,
    index: PathBuf,
    notice: IndexNotice,
}

/// Who gets to know that many memories are indexed, which takes seconds.
#[derive(Clone, Copy)]
pub(super) struct IndexNotice(pub(super) fn(usize));

/// A memory that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundMemory {
    /// The memory.
    pub entry: MemoryEntry,
    /// The higher, the better it fits.
    pub score: f64,
}

impl MemoryStore {
    /// The memories at these places. Nothing is read or created yet.
    #[must_use]
    pub fn new(places: &MemoryPlaces) -> Self {
        let MemoryPlaces { layout, id, directory, is_installed, user, is_shared } = places;
        let base = layout.root().to_owned();
        let name = Some(user.as_str().to_owned());
        let own = directory.as_ref().map(|directory| MemoryFolder {
            role: FolderRole::Agent,
            base: directory.clone(),
            path: directory.join("memory"),
            user: None,
        });
        let private = MemoryFolder {
            role: FolderRole::User,
            base: base.clone(),
            path: layout.user_memory(user.as_str(), id),
            user: name.clone(),
        };
        let path = layout.shared_memory(user.as_str());
        let shared = MemoryFolder { role: FolderRole::Shared, base, path, user: name };
        let kept_in = if *is_shared { shared.clone() } else { private.clone() };
        let mut folders: Vec<MemoryFolder> = own.iter().cloned().collect();
        folders.push(private.clone());
        folders.extend(is_shared.then_some(shared));
        let index = layout.memory_index(Some(user.as_str()), id);
        let (own, notice) = (own.filter(|_| *is_installed), IndexNotice(|_| {}));
        Self { folders, kept_in, own, private, index, notice }
    }

    /// The same, and `notice` is called with the number of files before very many are indexed.
    #[must_use]
    pub fn noticing(&self, notice: fn(usize)) -> Self {
        Self { notice: IndexNotice(notice), ..self.clone() }
    }

    /// The same without everything that belongs to a user, for what others will read, such as a recording. What the agent
    /// remembers still belongs to the user.
    #[must_use]
    pub fn without_user(&self, layout: &HomeLayout, id: &str) -> Self {
        let mut store = self.clone();
        store.folders.retain(|folder| folder.role == FolderRole::Agent);
        store.index = layout.memory_index(None, id);
        store
    }

    /// Keeps what the agent remembers, for the user of the run alone.
    pub fn remember(&self, draft: &MemoryDraft, now: i64) -> Result<MemoryEntry, MemoryError> {
        create(&self.kept_in, draft, now)
    }

    /// Keeps what the user teaches in private.
    pub fn teach(&self, draft: &MemoryDraft, now: i64) -> Result<MemoryEntry, MemoryError> {
        create(&self.private, draft, now)
    }

    /// Adds to the agent's own memory, for all its users. An agent that does not live in the home has none that could be
    /// written: then it is kept for the user.
    pub fn add(&self, draft: &MemoryDraft, now: i64) -> Result<MemoryEntry, MemoryError> {
        create(self.own.as_ref().unwrap_or(&self.private), draft, now)
    }

    /// All memories, the newest first, and the files that cannot be read.
    pub fn list(&self) -> Result<(Vec<MemoryEntry>, Vec<MemoryError>), MemoryError> {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            for (path, _) in folder.walk(false)?.files {
                match folder.entry(&path) {
                    Ok(entry) => entries.extend(entry),
                    Err(error) => unreadable.push(error),
                }
            }
        }
        entries.sort_by(|a, b| (b.created_at, &a.path).cmp(&(a.created_at, &b.path)));
        Ok((entries, unreadable))
    }

    /// Whether it has anything that only its user may read.
    #[must_use]
    pub fn has_private(&self) -> bool {
        let mut private = self.folders.iter().filter(|folder| folder.role != FolderRole::Agent);
        private.any(|folder| has_entries(&folder.path))
    }

    /// The memories with words of the query, the best first.
    pub fn search(
        &self,
        query: &str,
        most: usize,
        effort: RefreshEffort,
        now: i64,
    ) -> Result<Vec<FoundMemory>, MemoryError> {
        with_index(&self.index, &self.folders, |index| {
            let is_whole = index.refresh(&self.folders, effort, self.notice)?;
            let (found, are_current) = self.ranked(index, query, most, now)?;
            if is_whole || are_current {
                return Ok(found);
            }
            // A file that was found is not what the index has: all files are compared once.
            index.refresh(&self.folders, RefreshEffort::Full, self.notice)?;
            Ok(self.ranked(index, query, most, now)?.0)
        })
    }

    /// The memories for a prompt, in their order: pinned and important ones, then those that fit the prompt, then the
    /// others. Also how many there are in all.
    pub(super) fn for_prompt(
        &self,
        prompt: &str,
        now: i64,
    ) -> Result<(Vec<MemoryEntry>, usize), MemoryError> {
        with_index(&self.index, &self.folders, |index| {
            index.refresh(&self.folders, RefreshEffort::Full, self.notice)?;
            let first = index.first(MOST_FIRST)?;
            let (lead, rest): (Vec<_>, Vec<_>) = first.into_iter().partition(IndexedMemory::leads);
            let relevant = scored(index.search(prompt)?, now).into_iter().take(MOST_RELEVANT);
            let mut seen = std::collections::HashSet::new();
            let mut entries = Vec::new();
            for memory in lead.into_iter().chain(relevant.map(|(it, _)| it)).chain(rest) {
                if seen.insert((memory.role, memory.path.clone()))
                    && let Some((entry, _)) = self.load(&memory)?
                {
                    entries.push(entry);
                }
            }
            Ok((entries, index.len()?))
        })
    }

    /// Replaces the text of a memory; the metadata stays as it is.
    pub fn replace_text(&self, id: &str, text: &str) -> Result<MemoryEntry, MemoryError> {
        let (folder, path, entry) = self.find(id)?;
        if entry.is_broken {
            let problem = entry.problems.first().cloned().unwrap_or_default();
            return Err(MemoryError::Broken { path: entry.path, problem });
        }
        let content = content(folder, &path)?;
        folder.replace(&path, &entry::with_text(&content, text)?)?;
        self.find(id).map(|(_, _, entry)| entry)
    }

    /// The whole content of the file of a memory.
    pub fn content(&self, id: &str) -> Result<String, MemoryError> {
        let (folder, path, _) = self.find(id)?;
        content(folder, &path)
    }

    /// Replaces the whole file of a memory, unless it is not `before` any more.
    pub fn replace_content(
        &self,
        id: &str,
        before: &str,
        after: &str,
    ) -> Result<MemoryEntry, MemoryError> {
        let (folder, path, entry) = self.find(id)?;
        if content(folder, &path)? != before {
            return Err(MemoryError::Changed(entry.path));
        }
        if after.trim().is_empty() {
            return Err(MemoryError::Empty);
        }
        folder.replace(&path, after)?;
        self.find(id).map(|(_, _, entry)| entry)
    }

    /// Removes a memory.
    pub fn forget(&self, id: &str) -> Result<MemoryEntry, MemoryError> {
        let (folder, path, entry) = self.find(id)?;
        folder.remove(&path)?;
        Ok(entry)
    }

    /// The one memory with this id, or with this file.
    fn find(&self, id: &str) -> Result<(&MemoryFolder, String, MemoryEntry), MemoryError> {
        let mut found = Vec::new();
        for folder in &self.folders {
            for (path, _) in folder.walk(false)?.files {
                let is_meant = path.strip_suffix(".md") == Some(id)
                    || folder.path.join(&path) == Path::new(id);
                if is_meant && let Some(entry) = folder.entry(&path)? {
                    found.push((folder, path, entry));
                }
            }
        }
        if found.len() > 1 {
            let paths = found.into_iter().map(|(_, _, entry)| entry.path).collect();
            return Err(MemoryError::Ambiguous { id: id.to_owned(), paths });
        }
        found.pop().ok_or_else(|| MemoryError::Unknown(id.to_owned()))
    }

    /// The best memories, and whether the index has them as they are now.
    fn ranked(
        &self,
        index: &MemoryIndex,
        query: &str,
        most: usize,
        now: i64,
    ) -> Result<(Vec<FoundMemory>, bool), MemoryError> {
        let (mut found, mut are_current) = (Vec::new(), true);
        for (memory, score) in scored(index.search(query)?, now).into_iter().take(most) {
            match self.load(&memory)? {
                Some((entry, is_current)) => {
                    are_current &= is_current;
                    found.push(FoundMemory { entry, score });
                }
                None => are_current = false,
            }
        }
        Ok((found, are_current))
    }

    /// Reads the file of an indexed memory, and says whether the index has it as it is. A stamp that is not trusted never
    /// equals that of a file.
    fn load(&self, memory: &IndexedMemory) -> Result<Option<(MemoryEntry, bool)>, MemoryError> {
        let folder = self.folders.iter().find(|folder| folder.role == memory.role);
        let Some(folder) = folder else { return Ok(None) };
        let Some(content) = folder.read(&memory.path)? else { return Ok(None) };
        let is_current = memory.stamp == content.stamp;
        Ok(Some((folder.to_entry(&memory.path, &content), is_current)))
    }
}

impl std::fmt::Debug for IndexNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IndexNotice")
    }
}

impl IndexedMemory {
    /// Whether it comes before everything that is relevant.
    fn leads(&self) -> bool {
        let weight = self.weight;
        weight.is_pinned || weight.importance == agentry_compile::model::MemoryImportance::High
    }
}

/// The memories with their scores, the best first.
fn scored(found: Vec<IndexedMemory>, now: i64) -> Vec<(IndexedMemory, f64)> {
    let score = |memory: IndexedMemory| {
        let score = memory.weight.score(memory.relevance, now);
        (memory, score)
    };
    let mut scored: Vec<_> = found.into_iter().map(score).collect();
    scored.sort_by(|(a, first), (b, second)| {
        let newer = b.weight.created_at.cmp(&a.weight.created_at);
        second.total_cmp(first).then(newer).then_with(|| a.path.cmp(&b.path))
    });
    scored
}

fn content(folder: &MemoryFolder, path: &str) -> Result<String, MemoryError> {
    let gone = || MemoryError::Unknown(path.trim_end_matches(".md").to_owned());
    let content = folder.read(path)?.ok_or_else(gone)?;
    match content.problems.into_iter().next() {
        // What was repaired while it was read must not be written back.
        Some(problem) => Err(MemoryError::Broken { path: folder.path.join(path), problem }),
        None => Ok(content.text),
    }
}

/// Writes a memory under a name that no other has.
fn create(
    folder: &MemoryFolder,
    draft: &MemoryDraft,
    now: i64,
) -> Result<MemoryEntry, MemoryError> {
    let content = draft.to_file(now)?;
    for _ in 0..MOST_ATTEMPTS {
        let name = format!("{}.md", new_id(now));
        if folder.create(&name, &content)? {
            sync_directory(&folder.path);
            return folder.entry(&name)?.ok_or(MemoryError::Unknown(name));
        }
    }
    let taken = std::io::ErrorKind::AlreadyExists.into();
    Err(MemoryError::io("written", &folder.path, taken))
}

/// A new id: when, and a random part.
fn new_id(now: i64) -> String {
    let time = DateTime::from_timestamp(now, 0).unwrap_or_default().format("%Y%m%d_%H%M%S");
    let mut random = [0; 8];
    if getrandom::fill(&mut random).is_err() {
        // Without random numbers the process and the time in nanoseconds still differ.
        let nanos = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |time| time.subsec_nanos());
        random = (u64::from(std::process::id()) << 32 | u64::from(nanos)).to_be_bytes();
    }
    format!("mem_{time}_{:016x}", u64::from_be_bytes(random))
}

/// Whether a file was written by [`MemoryStore`], not by a person: only such files are outside of an agent's digest.
#[must_use]
pub fn is_written_at_run_time(path: &str) -> bool {
    let Some(name) = path.strip_suffix(".md").and_then(|id| id.strip_prefix("mem_")) else {
        return false;
    };
    let parts: Vec<&str> = name.split('_').collect();
    let is_number =
        |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_random =
        |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(parts.as_slice(), [date, time, random]
        if is_number(date, 8) && is_number(time, 6) && is_random(random))
}
