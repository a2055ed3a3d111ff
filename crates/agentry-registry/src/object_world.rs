//! The world of one object: a workspace with its files and nothing else. The digest of a stored agent is
//! computed here, so it is the same on every machine.

use agentry_compile::SessionMemo;
use agentry_compile::model::Format;
use agentry_compile::text::path::split;
use agentry_compile::{
    BaseMemo, CompiledAgent, FetchError, FileLayer, FileTree, FoundAgent, MachineFacts,
    MemoryWorld, ModelsEndpoint, NoServices, ReadError, StoreRef, StoredAgent, World,
    WorldServices, digest, read,
};

/// Fetches a base from the store.
pub(crate) type FetchBase<'f> = dyn Fn(&StoreRef) -> Result<StoredAgent, FetchError> + Sync + 'f;

/// The files of one object, and access to its bases.
pub(crate) struct ObjectWorld<'f> {
    files: MemoryWorld,
    /// Default facts, so that no machine's settings change the digest.
    machine: MachineFacts,
    fetch: &'f FetchBase<'f>,
}

impl<'f> ObjectWorld<'f> {
    pub(crate) fn new<'b>(
        files: impl IntoIterator<Item = (String, &'b [u8])>,
        fetch: &'f FetchBase<'f>,
    ) -> Self {
        Self { files: MemoryWorld::new(files), machine: MachineFacts::default(), fetch }
    }

    /// The full digest of the agent with the main file `main`.
    pub(crate) fn digest(&self, main: &str, format: Format) -> String {
        digest(self, &self.compiled(main, format))
    }

    /// The agent with the main file `main`.
    pub(crate) fn compiled(&self, main: &str, format: Format) -> CompiledAgent {
        let (dir, name) = split(main);
        let found = FoundAgent {
            path: main.to_owned(),
            dir: dir.to_owned(),
            main: name.to_owned(),
            format,
        };
        read(self, &found)
    }
}

impl FileLayer for ObjectWorld<'_> {
    fn below(&self) -> &dyn FileTree {
        &self.files
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        // `MemoryWorld` treats some contents as links; files of an object are never links.
        match self.files.get(path) {
            Some(bytes) if bytes.len() as u64 <= limit => Ok(bytes.to_owned()),
            _ => self.files.read(root, path, limit),
        }
    }
}

impl World for ObjectWorld<'_> {
    fn machine(&self) -> &MachineFacts {
        &self.machine
    }

    fn services(&self) -> &dyn WorldServices {
        self
    }

    fn memo(&self) -> &SessionMemo {
        self.files.memo()
    }

    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}

impl WorldServices for ObjectWorld<'_> {
    fn has_env(&self, name: &str) -> bool {
        self.files.has_env(name)
    }

    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError> {
        (self.fetch)(reference)
    }

    fn local_models(&self, url: &str) -> Option<Vec<String>> {
        NoServices.local_models(url)
    }

    fn hosted_models(&self, endpoint: &ModelsEndpoint) -> Result<Vec<String>, String> {
        NoServices.hosted_models(endpoint)
    }
}
