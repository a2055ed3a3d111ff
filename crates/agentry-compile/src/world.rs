//! The only access to files, facts about the machine, and services. A path is text with `/`, absolute or
//! relative to the current directory, as the user wrote it.

use std::fmt;

use crate::memo::SessionMemo;

use crate::inherit::BaseMemo;
use crate::resolve::ModelsEndpoint;
use crate::store_reference::{FetchError, StoreRef, StoredAgent};

/// Everything the pipeline needs from outside: files, facts about the machine, and services.
///
/// No method has a default, here or in [`WorldServices`]: a wrapper that forgets one does not compile. A
/// wrapper that changes only files is a [`FileLayer`].
pub trait World: FileTree {
    /// The facts about the machine, fixed while the program runs.
    fn machine(&self) -> &MachineFacts;

    /// The services: environment, store, model servers.
    fn services(&self) -> &dyn WorldServices;

    /// The memo of the session.
    fn memo(&self) -> &SessionMemo;

    /// The memoised bases. `None` if files may change between two reads.
    fn bases(&self) -> Option<&BaseMemo>;
}

/// Facts about the machine and its user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// The user's home directory, as an absolute path.
    pub home: Option<String>,
    /// Agentry's home directory as an absolute path, whether it exists or not.
    pub agentry_home: Option<String>,
    /// The user's configuration file, whether it exists or not.
    pub user_config: Option<String>,
    /// The address of the user's model server, as `OLLAMA_HOST` gives it.
    pub ollama_host: Option<String>,
}

/// Services that answer single questions: the environment, the store, model servers.
pub trait WorldServices: Sync {
    /// Whether the environment has a variable of this name with a value.
    fn has_env(&self, name: &str) -> bool;

    /// Fetches an agent from the store.
    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError>;

    /// The models that a server on this machine lists at `url`. `None` if it does not answer within two
    /// seconds.
    fn local_models(&self, url: &str) -> Option<Vec<String>>;

    /// The models that a hosted provider lists, or why it did not answer.
    fn hosted_models(&self, endpoint: &ModelsEndpoint) -> Result<Vec<String>, String>;
}

/// A machine without variables, store and model servers.
pub struct NoServices;

impl WorldServices for NoServices {
    fn has_env(&self, _: &str) -> bool {
        false
    }

    fn fetch(&self, _: &StoreRef) -> Result<StoredAgent, FetchError> {
        Err(FetchError::NoStore)
    }

    fn local_models(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn hosted_models(&self, _: &ModelsEndpoint) -> Result<Vec<String>, String> {
        Err("no model server can be reached from here".to_owned())
    }
}

/// Files and directories, links included.
pub trait FileTree: Sync {
    /// The bytes of the file `path`, at most `limit` of them. A link that leaves `root` is refused.
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError>;

    /// The entries of the directory `path`, sorted by name. A link that leaves `root` is refused.
    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError>;

    /// The kind of entry at `path`, with links followed.
    fn kind(&self, path: &str) -> EntryKind;

    /// Every file below the directory `path` that is not ignored, in any order.
    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send));

    /// The root of the workspace: the nearest one at or above `path`.
    fn workspace(&self, path: &str) -> String;

    /// Whether `path`, with links and `..` resolved, lies inside `root`.
    fn inside(&self, root: &str, path: &str) -> bool;

    /// `path` as an absolute path. Links are not followed.
    fn absolute(&self, path: &str) -> String;

    /// The real path of an absolute path: links are followed before `..` is applied. For a path that does not
    /// exist, the real parent with the rest. `None` if it cannot be determined.
    fn real(&self, path: &str) -> Option<String>;

    /// Whether the file system at `path` ignores the case of names.
    fn ignores_case(&self, path: &str) -> bool;

    // The defaults below use the methods above: a tree that keeps them is slower, but never wrong.

    /// [`read`](Self::read) for a file that will be read again soon, so that its bytes may be cached.
    fn peek(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.read(root, path, limit)
    }

    /// [`real`](Self::real) for many paths; directories that they share are resolved once.
    fn real_of_all(&self, paths: &[String]) -> Vec<Option<String>> {
        paths.iter().map(|path| self.real(path)).collect()
    }
}

/// An overlay on other files. It implements only the methods that it changes; all others are forwarded to
/// the files below.
pub trait FileLayer: Sync {
    /// The files below.
    fn below(&self) -> &dyn FileTree;

    /// See [`FileTree::read`].
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.below().read(root, path, limit)
    }

    /// See [`FileTree::peek`]. Calls this layer's own `read`, which may give another result.
    fn peek(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        FileLayer::read(self, root, path, limit)
    }

    /// See [`FileTree::list`].
    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        self.below().list(root, path)
    }

    /// See [`FileTree::kind`].
    fn kind(&self, path: &str) -> EntryKind {
        self.below().kind(path)
    }

    /// See [`FileTree::walk`].
    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) {
        self.below().walk(path, visit);
    }

    /// See [`FileTree::workspace`].
    fn workspace(&self, path: &str) -> String {
        self.below().workspace(path)
    }

    /// See [`FileTree::inside`].
    fn inside(&self, root: &str, path: &str) -> bool {
        self.below().inside(root, path)
    }

    /// See [`FileTree::absolute`].
    fn absolute(&self, path: &str) -> String {
        self.below().absolute(path)
    }

    /// See [`FileTree::real`].
    fn real(&self, path: &str) -> Option<String> {
        self.below().real(path)
    }

    /// See [`FileTree::ignores_case`].
    fn ignores_case(&self, path: &str) -> bool {
        self.below().ignores_case(path)
    }
}

impl<T: FileLayer> FileTree for T {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        FileLayer::read(self, root, path, limit)
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        FileLayer::list(self, root, path)
    }

    fn kind(&self, path: &str) -> EntryKind {
        FileLayer::kind(self, path)
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) {
        FileLayer::walk(self, path, visit);
    }

    fn workspace(&self, path: &str) -> String {
        FileLayer::workspace(self, path)
    }

    fn inside(&self, root: &str, path: &str) -> bool {
        FileLayer::inside(self, root, path)
    }

    fn absolute(&self, path: &str) -> String {
        FileLayer::absolute(self, path)
    }

    fn real(&self, path: &str) -> Option<String> {
        FileLayer::real(self, path)
    }

    fn ignores_case(&self, path: &str) -> bool {
        FileLayer::ignores_case(self, path)
    }

    fn peek(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        FileLayer::peek(self, root, path, limit)
    }
}

/// An entry that a walk visits.
#[derive(Debug)]
pub enum WalkedPath<'a> {
    /// A file, or a link to one.
    File(&'a str),
    /// A file whose name is not UTF-8, with the name as far as it can be shown.
    Unnamed(&'a str),
    /// An entry that could not be read, with the reason.
    Failed(&'a str, String),
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// The bare name.
    pub name: String,
    /// Its kind, with links followed.
    pub kind: EntryKind,
}

/// The kind of entry at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link to a directory above it; following it would never end.
    Loop,
    /// A socket, a device, a pipe.
    Other,
    /// Nothing, or a link to nothing.
    Missing,
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// It does not exist.
    Missing,
    /// It is a directory, a device, a pipe.
    NotAFile,
    /// It is larger than the limit; the size.
    TooLarge(u64),
    /// A link leaves the agent's directory.
    Escapes,
    /// The system reported an error; its message.
    Refused(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is none"),
            Self::NotAFile => f.write_str("it is not a file"),
            Self::TooLarge(size) => write!(f, "it has {size} bytes, which is too large"),
            Self::Escapes => f.write_str("a link leads out of its directory"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}
