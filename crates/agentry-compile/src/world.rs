//! The one way to files, to facts about the machine and to its services. Paths are text with `/`
//! between their parts, relative to the current directory or absolute, as the user named them.

use std::fmt;

use crate::memo::SessionMemo;

use crate::inherit::BaseMemo;
use crate::resolve::ModelsEndpoint;
use crate::store_reference::{FetchError, StoreRef, StoredAgent};

/// Everything that the pipeline asks of the outside: files, facts about the machine, and services.
///
/// No method has a default, here or in [`WorldServices`]: a wrapper that leaves one out does not
/// compile. One that changes only files is a [`FileLayer`].
pub trait World: FileTree {
    /// What is fixed about the machine while the program runs.
    fn machine(&self) -> &MachineFacts;

    /// Who answers what neither files nor facts can.
    fn services(&self) -> &dyn WorldServices;

    /// What the session has found out so far.
    fn memo(&self) -> &SessionMemo;

    /// The bases that were read already. `None` where files may change between two reads.
    fn bases(&self) -> Option<&BaseMemo>;
}

/// Facts about the machine and its user. A plain value: to change one is to copy the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// The home directory of the user, from the root of the file system.
    pub home: Option<String>,
    /// Agentry's own directory, from the root of the file system, whether it exists or not.
    pub agentry_home: Option<String>,
    /// The user's own configuration file, whether it exists or not.
    pub user_config: Option<String>,
    /// Where the user's model server listens, as `OLLAMA_HOST` gives it.
    pub ollama_host: Option<String>,
}

/// Questions that have to be asked one by one: the environment, the agent store, model servers.
pub trait WorldServices: Sync {
    /// Whether the environment has a variable of this name with a value.
    fn has_env(&self, name: &str) -> bool;

    /// An agent of the store.
    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError>;

    /// The models that a server on this machine lists at `url`. `None` if none answers within two
    /// seconds.
    fn local_models(&self, url: &str) -> Option<Vec<String>>;

    /// The models that a hosted provider lists, or why it does not answer.
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

    /// What the directory `path` holds, sorted by name. A link that leaves `root` is refused.
    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError>;

    /// What is at `path`, links followed.
    fn kind(&self, path: &str) -> EntryKind;

    /// Every file below the directory `path` that is not ignored, in any order.
    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send));

    /// The nearest directory at or above `path` that is the root of a workspace.
    fn workspace(&self, path: &str) -> String;

    /// Whether `path`, links and `..` resolved, lies inside `root`.
    fn inside(&self, root: &str, path: &str) -> bool;

    /// `path` from the root of the file system, as text; links are not followed.
    fn absolute(&self, path: &str) -> String;

    /// Where an absolute path really leads: every link followed before `..` is applied. What does not
    /// exist yet is its real parent and the rest. `None` if that cannot be found out.
    fn real(&self, path: &str) -> Option<String>;

    /// Whether the file system at `path` takes `A` and `a` for the same name.
    fn ignores_case(&self, path: &str) -> bool;

    // The defaults below are shortcuts through the methods above: a tree without its own is slower,
    // never wrong.

    /// [`read`](Self::read) of a file that will be read again soon, so that its bytes may be cached.
    fn peek(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.read(root, path, limit)
    }

    /// [`real`](Self::real) of many paths: directories that they share are looked at once.
    fn real_of_all(&self, paths: &[String]) -> Vec<Option<String>> {
        paths.iter().map(|path| self.real(path)).collect()
    }
}

/// Files that lie over other files. A layer writes only the answers that it changes; all others are
/// those of the files below.
pub trait FileLayer: Sync {
    /// The files below.
    fn below(&self) -> &dyn FileTree;

    /// See [`FileTree::read`].
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.below().read(root, path, limit)
    }

    /// See [`FileTree::peek`]. Goes through this layer's own `read`, which may answer otherwise.
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

/// Something met on a walk.
#[derive(Debug)]
pub enum WalkedPath<'a> {
    /// A file, or a link to one.
    File(&'a str),
    /// A file whose name is not UTF-8, and the name as far as it can be shown.
    Unnamed(&'a str),
    /// Something that could not be looked into: its path and why.
    Failed(&'a str, String),
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// The bare name.
    pub name: String,
    /// What it is, links followed.
    pub kind: EntryKind,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link to a directory that it lies in: following it leads in a circle.
    Loop,
    /// A socket, a device, a pipe.
    Other,
    /// Nothing, or a link to nothing.
    Missing,
}

/// Why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// There is none.
    Missing,
    /// It is a directory, a device, a pipe.
    NotAFile,
    /// It is larger than the limit; its size.
    TooLarge(u64),
    /// A link that leaves the agent's directory.
    Escapes,
    /// The system refused; its own message.
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
