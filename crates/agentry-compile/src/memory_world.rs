//! A world in memory, for tests, examples and editors.

use crate::memo::SessionMemo;
use std::collections::BTreeMap;
use std::sync::Arc;

use agentry_text::path::normal;

use crate::inherit::BaseMemo;
use crate::resolve::ModelsEndpoint;
use crate::store_reference::{FetchError, StoreRef, StoredAgent};
use crate::world::{
    DirectoryEntry, EntryKind, FileTree, MachineFacts, NoServices, ReadError, WalkedPath, World,
    WorldServices,
};

/// A file that starts with these bytes stands for a link out of the agent's directory.
const LINK: &[u8] = b"-> /";

/// Files by path; directories are implied.
#[derive(Debug, Clone)]
pub struct MemoryWorld {
    files: BTreeMap<String, Vec<u8>>,
    machine: MachineFacts,
    memo: Arc<SessionMemo>,
    /// The agents of its store, by reference.
    stored: BTreeMap<String, StoredAgent>,
}

impl Default for MemoryWorld {
    fn default() -> Self {
        Self {
            files: BTreeMap::new(),
            machine: user(),
            memo: Arc::default(),
            stored: BTreeMap::new(),
        }
    }
}

impl MemoryWorld {
    /// A world of these files, all below the workspace root `""`.
    pub fn new<T: Into<Vec<u8>>>(files: impl IntoIterator<Item = (String, T)>) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path, bytes.into())).collect();
        Self { files, ..Self::default() }
    }

    /// The same world with another home directory of Agentry.
    #[must_use]
    pub fn with_agentry_home(mut self, path: &str) -> Self {
        self.machine.agentry_home = Some(path.to_owned());
        self
    }

    /// Adds an agent to the store, under this reference.
    pub fn store(&mut self, reference: &StoreRef, stored: StoredAgent) {
        self.stored.insert(reference.to_string(), stored);
    }

    /// Adds or replaces a file.
    pub fn write(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.files.insert(path.to_owned(), bytes.into());
    }

    /// The bytes of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }
}

impl FileTree for MemoryWorld {
    fn read(&self, _: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let path = normal(path).ok_or(ReadError::Escapes)?;
        match self.files.get(&path) {
            Some(bytes) if bytes.starts_with(LINK) => Err(ReadError::Escapes),
            Some(bytes) if bytes.len() as u64 > limit => {
                Err(ReadError::TooLarge(bytes.len() as u64))
            }
            Some(bytes) => Ok(bytes.clone()),
            None if self.kind(&path) == EntryKind::Directory => Err(ReadError::NotAFile),
            None => Err(ReadError::Missing),
        }
    }

    fn list(&self, _: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        let path = normal(path).ok_or(ReadError::Escapes)?;
        let prefix = if path.is_empty() { path } else { format!("{path}/") };
        let entry = |name: &String| {
            let rest = name.strip_prefix(&prefix)?;
            Some(match rest.split_once('/') {
                Some((dir, _)) => {
                    DirectoryEntry { name: dir.to_owned(), kind: EntryKind::Directory }
                }
                None => DirectoryEntry { name: rest.to_owned(), kind: EntryKind::File },
            })
        };
        let mut entries: Vec<_> = self.files.keys().filter_map(entry).collect();
        entries.sort();
        entries.dedup();
        if entries.is_empty() { Err(ReadError::Missing) } else { Ok(entries) }
    }

    fn kind(&self, path: &str) -> EntryKind {
        let Some(path) = normal(path) else { return EntryKind::Missing };
        let below = format!("{path}/");
        if self.files.contains_key(&path) {
            EntryKind::File
        } else if path.is_empty() || self.files.keys().any(|name| name.starts_with(&below)) {
            EntryKind::Directory
        } else {
            EntryKind::Missing
        }
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) {
        let path = normal(path).unwrap_or_default();
        let prefix = if path.is_empty() { path } else { format!("{path}/") };
        for name in self.files.keys().filter(|name| name.starts_with(&prefix)) {
            visit(WalkedPath::File(name));
        }
    }

    fn workspace(&self, _: &str) -> String {
        String::new()
    }

    fn inside(&self, _: &str, path: &str) -> bool {
        normal(path).is_some()
    }

    fn absolute(&self, path: &str) -> String {
        format!("/{}", normal(path).unwrap_or_default())
    }

    fn real(&self, path: &str) -> Option<String> {
        normal(path).map(|path| format!("/{path}"))
    }

    fn ignores_case(&self, _: &str) -> bool {
        false
    }
}

impl World for MemoryWorld {
    fn machine(&self) -> &MachineFacts {
        &self.machine
    }

    fn services(&self) -> &dyn WorldServices {
        self
    }

    fn memo(&self) -> &SessionMemo {
        &self.memo
    }

    /// Returns `None`: files can be replaced at any time.
    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}

impl WorldServices for MemoryWorld {
    /// Every variable is set, except those whose names start with `UNSET_`.
    fn has_env(&self, name: &str) -> bool {
        !name.starts_with("UNSET_")
    }

    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError> {
        self.stored.get(&reference.to_string()).cloned().ok_or(FetchError::Missing)
    }

    fn local_models(&self, url: &str) -> Option<Vec<String>> {
        NoServices.local_models(url)
    }

    fn hosted_models(&self, endpoint: &ModelsEndpoint) -> Result<Vec<String>, String> {
        NoServices.hosted_models(endpoint)
    }
}

/// The machine of a world in memory.
fn user() -> MachineFacts {
    MachineFacts {
        home: Some("/home/user".to_owned()),
        agentry_home: Some("/home/user/.agentry".to_owned()),
        user_config: Some("home/user/.config/agentry/config.toml".to_owned()),
        ollama_host: None,
    }
}
