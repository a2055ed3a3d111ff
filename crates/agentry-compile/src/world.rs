//! The one door to files. Paths are text with `/` between their parts, relative to the current
//! directory or absolute, as the user named them.

use std::fmt;

use agentry_text::path::join;

use crate::inherit::Bases;
use crate::resolve::Endpoint;
use crate::stored::{FetchError, StoreRef, Stored};

/// Everything that the pipeline asks of the outside.
pub trait World: Sync {
    /// The bytes of the file `path`, at most `limit` of them. A link that leaves `root` is refused.
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError>;

    /// The same, of a file that will be read again soon: who has the bytes may keep them until then.
    fn peek(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.read(root, path, limit)
    }

    /// What the directory `path` holds, sorted by name. A link that leaves `root` is refused.
    fn list(&self, root: &str, path: &str) -> Result<Vec<Entry>, ReadError>;

    /// What is at `path`, links followed.
    fn kind(&self, path: &str) -> EntryKind;

    /// Every file below the directory `path` that is not ignored, in any order.
    fn walk(&self, path: &str, visit: &mut (dyn FnMut(Walked<'_>) + Send));

    /// The nearest directory at or above `path` that is the root of a workspace.
    fn workspace(&self, path: &str) -> String;

    /// Whether `path`, links and `..` resolved, lies inside `root`.
    fn inside(&self, root: &str, path: &str) -> bool;

    /// Whether the environment has a variable of this name with a value.
    fn has_env(&self, name: &str) -> bool;

    /// `path` from the root of the file system, as text; links are not followed.
    fn absolute(&self, path: &str) -> String;

    /// Where an absolute path really leads: every link followed before `..` is applied. What does not
    /// exist yet is its real parent and the rest. Nothing if it cannot be told.
    fn real(&self, path: &str) -> Option<String>;

    /// The same of many paths at once: directories that they share are looked at once.
    fn real_of_all(&self, paths: &[String]) -> Vec<Option<String>> {
        paths.iter().map(|path| self.real(path)).collect()
    }

    /// Whether the file system at `path` takes `A` and `a` for the same name.
    fn ignores_case(&self, path: &str) -> bool;

    /// The home directory of the user, from the root of the file system.
    fn home(&self) -> Option<String>;

    /// Agentry's own directory, from the root of the file system, whether it exists or not.
    fn agentry_home(&self) -> Option<String> {
        self.home().map(|home| join(&home, ".agentry"))
    }

    /// Where the user's model server listens, as `OLLAMA_HOST` says it.
    fn ollama_host(&self) -> Option<String> {
        None
    }

    /// The user's own configuration file, whether it exists or not.
    fn user_config(&self) -> Option<String>;

    /// An agent of the store. Nothing if there is no store.
    fn fetch(&self, reference: &StoreRef) -> Result<Stored, FetchError> {
        let _ = reference;
        Err(FetchError::NoStore)
    }

    /// The bases that were read already, in a world that does not change. Nothing where it may.
    fn bases(&self) -> Option<&Bases> {
        None
    }

    /// The models that a server on this machine lists at `url`. Nothing if none answers within two
    /// seconds.
    fn local_models(&self, _url: &str) -> Option<Vec<String>> {
        None
    }

    /// The models that a hosted provider lists, or why it does not answer.
    fn hosted_models(&self, _endpoint: &Endpoint) -> Result<Vec<String>, String> {
        Err("nobody can be asked from here".to_owned())
    }
}

/// Something met on a walk.
#[derive(Debug)]
pub enum Walked<'a> {
    /// A file, or a link to one.
    File(&'a str),
    /// A file whose name is not UTF-8, and the name as far as it can be shown.
    Unnamed(&'a str),
    /// Something that could not be looked into: its path and why.
    Failed(&'a str, String),
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
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
    /// A link to a directory that it lies in: who follows it walks in a circle.
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
    /// The system refused, in its words.
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
