//! The world of one object: a workspace that holds its files and nothing else. What an agent is called
//! by its content is computed here, the same on every machine.

use agentry_compile::model::Format;
use agentry_compile::{
    Entry, EntryKind, FetchError, Found, MemoryWorld, ReadError, StoreRef, Stored, Walked, World,
    digest, read,
};

use crate::path::split;

/// Who answers for the agents that another one inherits from.
pub(crate) type Fetch<'f> = dyn Fn(&StoreRef) -> Result<Stored, FetchError> + Sync + 'f;

/// The files of one object, and a way to its bases.
pub(crate) struct ObjectWorld<'f> {
    files: MemoryWorld,
    fetch: &'f Fetch<'f>,
}

impl<'f> ObjectWorld<'f> {
    pub(crate) fn new<'b>(
        files: impl IntoIterator<Item = (String, &'b [u8])>,
        fetch: &'f Fetch<'f>,
    ) -> Self {
        Self { files: MemoryWorld::new(files), fetch }
    }

    /// The full digest of the agent with this main file.
    pub(crate) fn digest(&self, main: &str, format: Format) -> String {
        let (dir, name) = split(main);
        let found =
            Found { path: main.to_owned(), dir: dir.to_owned(), main: name.to_owned(), format };
        digest(self, &read(self, &found))
    }
}

impl World for ObjectWorld<'_> {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        // A file in memory that looks like a link is none here.
        match self.files.get(path) {
            Some(bytes) if bytes.len() as u64 <= limit => Ok(bytes.to_owned()),
            _ => self.files.read(root, path, limit),
        }
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<Entry>, ReadError> {
        self.files.list(root, path)
    }

    fn kind(&self, path: &str) -> EntryKind {
        self.files.kind(path)
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(Walked<'_>) + Send)) {
        self.files.walk(path, visit);
    }

    fn workspace(&self, path: &str) -> String {
        self.files.workspace(path)
    }

    fn inside(&self, root: &str, path: &str) -> bool {
        self.files.inside(root, path)
    }

    fn has_env(&self, name: &str) -> bool {
        self.files.has_env(name)
    }

    fn absolute(&self, path: &str) -> String {
        self.files.absolute(path)
    }

    fn real(&self, path: &str) -> Option<String> {
        self.files.real(path)
    }

    fn ignores_case(&self, path: &str) -> bool {
        self.files.ignores_case(path)
    }

    fn home(&self) -> Option<String> {
        None
    }

    fn user_config(&self) -> Option<String> {
        None
    }

    fn fetch(&self, reference: &StoreRef) -> Result<Stored, FetchError> {
        (self.fetch)(reference)
    }
}
