//! The files around an agent of a harness: those of its project, of the user, of the directories above the
//! project, and of the machine.

use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use crate::memo::RenderMemo;

/// Where a path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRoot {
    /// The root of the project, or the home directory where agents are rendered for the user.
    Project,
    /// The home directory. It does not exist where the project is the home directory itself.
    Home,
    /// A directory above the project, within the same repository.
    Above,
    /// The root of the file system.
    Machine,
}

/// A file or a directory that a harness looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HarnessPath<'p> {
    /// The root that the path starts from.
    pub root: FileRoot,
    /// The path below the root. Above a project it starts with `../` per level; on the machine, with `/`.
    pub path: &'p str,
}

impl<'p> HarnessPath<'p> {
    /// Parses a path as the tables of a target write it: `~/` is the home directory, `../` leads above the
    /// project, `/` is the root of the machine, and every other path is in the project.
    pub fn parse(text: &'p str) -> Self {
        let (root, path) = match text.strip_prefix("~/") {
            Some(rest) => (FileRoot::Home, rest),
            None if text.starts_with("../") => (FileRoot::Above, text),
            None if text.starts_with('/') => (FileRoot::Machine, text),
            None => (FileRoot::Project, text),
        };
        Self { root, path }
    }
}

impl fmt::Display for HarnessPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let home = if self.root == FileRoot::Home { "~/" } else { "" };
        write!(f, "{home}{}", self.path)
    }
}

/// Why an existing file cannot be read, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub String);

/// The files that a harness would find. `Ok(None)` means that the file does not exist.
pub trait HarnessFiles: Sync {
    /// The text of a file.
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable>;

    /// The names in a directory, whose path ends with `/`.
    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable>;

    /// The memo of the session; without one, reading a harness only takes longer.
    fn memo(&self) -> Option<&RenderMemo> {
        None
    }
}

impl<T: HarnessFiles + ?Sized> HarnessFiles for &T {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        (**self).read(path)
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        (**self).list(dir)
    }

    fn memo(&self) -> Option<&RenderMemo> {
        (**self).memo()
    }
}

impl dyn HarnessFiles + '_ {
    /// Returns the text of a file by a path for [`HarnessPath::parse`]. An unreadable file counts as missing
    /// here; an import reports it in its own implementation of [`HarnessFiles::read`].
    pub fn text(&self, path: &str) -> Option<String> {
        self.read(HarnessPath::parse(path)).ok().flatten()
    }

    /// Returns the names in a directory, by the same rules.
    pub fn names(&self, dir: &str) -> Option<Vec<String>> {
        self.list(HarnessPath::parse(dir)).ok().flatten()
    }
}

/// The existing files, each read once, because every agent of a project needs the project's settings.
#[derive(Debug)]
pub struct FilesOnce<F> {
    existing: F,
    texts: RwLock<KnownTexts>,
    names: RwLock<HashMap<String, Option<Vec<String>>>>,
}

/// The files that were read, with their texts if they exist.
pub type KnownTexts = HashMap<String, Option<String>>;

impl<F> FilesOnce<F> {
    /// Files of which these texts are known already.
    pub fn new(existing: F, texts: KnownTexts) -> Self {
        Self { existing, texts: RwLock::new(texts), names: RwLock::default() }
    }

    /// Whether one of these files was read.
    pub fn looked_at(&self, files: &KnownTexts) -> bool {
        let known = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        files.keys().any(|path| known.contains_key(path))
    }
}

impl<F: HarnessFiles> HarnessFiles for FilesOnce<F> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        once(&self.texts, path, || self.existing.read(path))
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        once(&self.names, dir, || self.existing.list(dir))
    }
}

/// The memoised result for a path; found and memoised on the first call.
fn once<T: Clone>(
    known: &RwLock<HashMap<String, Option<T>>>,
    path: HarnessPath<'_>,
    find: impl FnOnce() -> Result<Option<T>, Unreadable>,
) -> Result<Option<T>, Unreadable> {
    let key = path.to_string();
    if let Some(known) = known.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(known.clone());
    }
    let found = find()?;
    let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
    Ok(known.entry(key).or_insert(found).clone())
}

/// What a changed file system shows at a path.
pub(crate) enum FileChange {
    /// The existing file or directory.
    None,
    /// No file or directory.
    Hidden,
    /// A file with this text.
    Text(String),
}

/// Files of which some are replaced or hidden, for trial renderings.
pub(crate) struct ChangedFiles<'a> {
    pub(crate) below: &'a dyn HarnessFiles,
    pub(crate) change: &'a (dyn Fn(HarnessPath<'_>) -> FileChange + Sync),
}

impl HarnessFiles for ChangedFiles<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        match (self.change)(path) {
            FileChange::None => self.below.read(path),
            FileChange::Hidden => Ok(None),
            FileChange::Text(text) => Ok(Some(text)),
        }
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        match (self.change)(dir) {
            FileChange::Hidden => Ok(None),
            FileChange::None | FileChange::Text(_) => self.below.list(dir),
        }
    }

    fn memo(&self) -> Option<&RenderMemo> {
        self.below.memo()
    }
}

/// The files as seen from a directory of the project, which ends with `/`.
pub(crate) struct FilesBelow<'a> {
    pub(crate) files: &'a dyn HarnessFiles,
    pub(crate) dir: &'a str,
}

impl HarnessFiles for FilesBelow<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        self.files.read(HarnessPath::parse(&format!("{}{path}", self.dir)))
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        self.files.list(HarnessPath::parse(&format!("{}{dir}", self.dir)))
    }

    fn memo(&self) -> Option<&RenderMemo> {
        self.files.memo()
    }
}

/// Files together with the memo of a session.
pub(crate) struct MemoFiles<'a> {
    pub(crate) below: &'a dyn HarnessFiles,
    pub(crate) memo: &'a RenderMemo,
}

impl HarnessFiles for MemoFiles<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        self.below.read(path)
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        self.below.list(dir)
    }

    fn memo(&self) -> Option<&RenderMemo> {
        Some(self.memo)
    }
}

/// An in-memory list of files by paths for [`HarnessPath::parse`], for tests and tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListedFiles<'a>(pub &'a [(&'a str, &'a str)]);

impl HarnessFiles for ListedFiles<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        let path = path.to_string();
        let found = self.0.iter().find(|(known, _)| *known == path);
        Ok(found.map(|(_, text)| (*text).to_owned()))
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        let dir = dir.to_string();
        let below = self.0.iter().filter_map(|(known, _)| known.strip_prefix(&*dir));
        let names = below.filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        Ok((!names.is_empty()).then_some(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harness_paths_are_parsed_with_their_root() {
        let cases = [
            (".claude/settings.json", FileRoot::Project, ".claude/settings.json"),
            ("~/.claude/settings.json", FileRoot::Home, ".claude/settings.json"),
            ("../../.pi/", FileRoot::Above, "../../.pi/"),
            ("/etc/codex/config.toml", FileRoot::Machine, "/etc/codex/config.toml"),
        ];
        for (text, root, path) in cases {
            let parsed = HarnessPath::parse(text);
            assert_eq!(parsed, HarnessPath { root, path }, "{text}");
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn file_contents_are_cached_and_failures_retried() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        #[derive(Default)]
        struct CountedFiles(AtomicUsize);
        impl HarnessFiles for CountedFiles {
            fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
                self.0.fetch_add(1, Ordering::Relaxed);
                match path.path {
                    "there" => Ok(Some("text".to_owned())),
                    "missing" => Ok(None),
                    _ => Err(Unreadable("closed".to_owned())),
                }
            }

            fn list(&self, _: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
                self.0.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
        }
        let known = KnownTexts::from([("known".to_owned(), None)]);
        let (counted, mut reads) = (CountedFiles::default(), 0);
        let files = FilesOnce::new(&counted, known);
        let cases = [("there", 1), ("missing", 1), ("known", 0), ("~/there", 1), ("closed", 3)];
        for (path, expected) in cases {
            for _ in 0..3 {
                let found = files.read(HarnessPath::parse(path));
                assert_eq!(found.is_err(), path == "closed", "{path}");
            }
            reads += expected;
            assert_eq!(counted.0.load(Ordering::Relaxed), reads, "{path}");
        }
        (0..3).for_each(|_| drop(files.list(HarnessPath::parse("dir/"))));
        assert_eq!(counted.0.load(Ordering::Relaxed), reads + 1);
        assert!(files.looked_at(&KnownTexts::from([("there".to_owned(), None)])));
        assert!(!files.looked_at(&KnownTexts::from([("other".to_owned(), None)])));
    }
}
