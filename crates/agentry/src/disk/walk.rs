//! Walks through the files below a directory, without what Git ignores. The guard walks through a whole workspace
//! before each call, so a file costs nothing but its entry: no path of its own, and no look at the disk.
//!
//! The rules are those of the crate `ignore`, whose own walk takes several times as long; a test compares the two.

use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_compile::WalkedPath;
use agentry_sandbox::is_placeholder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rayon::prelude::*;

use super::{NEVER, here};
use crate::output::error_text;

/// At most this many directories are read by one thread: more threads would start too late.
const FEW: usize = 200;

/// A directory whose entries are not read yet.
struct OpenDirectory {
    /// What the shown paths of its entries start with.
    shown: String,
    /// Its absolute path.
    path: PathBuf,
    /// Whether its path is UTF-8.
    is_named: bool,
    /// The ignore files above it.
    above: Option<Arc<IgnoreRules>>,
}

/// A [`WalkedPath`] that one thread hands to another.
enum MetPath {
    File(String),
    Unnamed(String),
    Failed(String, String),
}

impl MetPath {
    fn of(walked: WalkedPath<'_>) -> Self {
        match walked {
            WalkedPath::File(path) => Self::File(path.to_owned()),
            WalkedPath::Unnamed(path) => Self::Unnamed(path.to_owned()),
            WalkedPath::Failed(path, why) => Self::Failed(path.to_owned(), why),
        }
    }

    fn show(&self, visit: &mut dyn FnMut(WalkedPath<'_>)) {
        match self {
            Self::File(path) => visit(WalkedPath::File(path)),
            Self::Unnamed(path) => visit(WalkedPath::Unnamed(path)),
            Self::Failed(path, why) => visit(WalkedPath::Failed(path, why.clone())),
        }
    }
}

/// Visits the files below `root`, with paths that start with it. Links are not followed.
pub(super) fn walk(root: &str, visit: &mut dyn FnMut(WalkedPath<'_>)) {
    let path = match fs::canonicalize(here(root)) {
        Ok(path) => path,
        Err(error) => return visit(WalkedPath::Failed(root, error_text(&error))),
    };
    let shown = match root.strip_prefix("./").unwrap_or(root) {
        "" | "." => String::new(),
        root if root.ends_with('/') => root.to_owned(),
        root => format!("{root}/"),
    };
    let above = IgnoreRules::around(&path);
    let mut open = vec![OpenDirectory { shown, path, is_named: true, above }];
    while !open.is_empty() {
        open = if open.len() <= FEW {
            open.into_iter().flat_map(|directory| directory.read(visit)).collect()
        } else {
            read_together(open, visit)
        };
    }
}

/// Reads many directories in parallel.
fn read_together(
    open: Vec<OpenDirectory>,
    visit: &mut dyn FnMut(WalkedPath<'_>),
) -> Vec<OpenDirectory> {
    let read = |directory: OpenDirectory| {
        let mut met = Vec::new();
        let below = directory.read(&mut |walked| met.push(MetPath::of(walked)));
        (met, below)
    };
    let read: Vec<_> = open.into_par_iter().map(read).collect();
    let mut below = Vec::new();
    for (met, directories) in read {
        met.iter().for_each(|path| path.show(visit));
        below.extend(directories);
    }
    below
}

impl OpenDirectory {
    /// Visits its files, and returns its directories.
    fn read(self, visit: &mut dyn FnMut(WalkedPath<'_>)) -> Vec<Self> {
        let mut below = Vec::new();
        let entries = self.entries(visit);
        let rules = IgnoreRules::of(&self.path, &entries, self.above.as_ref());
        let mut shown = self.shown.clone();
        for (name, entry) in entries {
            let is_named = self.is_named && name.to_str().is_some();
            let text = name.to_string_lossy();
            shown.truncate(self.shown.len());
            shown.push_str(&text);
            let is_directory = match entry.file_type() {
                _ if NEVER.contains(&&*text) => continue,
                Ok(kind) => kind.is_dir(),
                Err(error) => {
                    visit(WalkedPath::Failed(&shown, error_text(&error)));
                    continue;
                }
            };
            let ignores = |it: &Arc<IgnoreRules>| it.ignores(&entry.path(), is_directory);
            if rules.as_ref().is_some_and(ignores) {
                continue;
            }
            if is_directory {
                let (path, above) = (entry.path(), rules.clone());
                below.push(Self { shown: format!("{shown}/"), path, is_named, above });
            } else if !is_named {
                visit(WalkedPath::Unnamed(&shown));
            } else if !is_held(&text, &entry) {
                visit(WalkedPath::File(&shown));
            }
        }
        below
    }

    /// Its entries, as far as they can be read.
    fn entries(&self, visit: &mut dyn FnMut(WalkedPath<'_>)) -> Vec<(OsString, DirEntry)> {
        let mut failed = |error: &io::Error| {
            let path = self.shown.strip_suffix('/').unwrap_or(&self.shown);
            visit(WalkedPath::Failed(path, error_text(error)));
        };
        let mut entries = Vec::new();
        match fs::read_dir(&self.path) {
            Ok(all) => all.for_each(|entry| match entry {
                Ok(entry) => entries.push((entry.file_name(), entry)),
                Err(error) => failed(&error),
            }),
            Err(error) => failed(&error),
        }
        entries
    }
}

/// Whether a file is a placeholder for the main file of an agent. Checking every file would take too long.
fn is_held(name: &str, entry: &DirEntry) -> bool {
    name.starts_with("agent.") && is_placeholder(&entry.path())
}

/// The ignore files of a directory, and of those above it.
struct IgnoreRules {
    /// By precedence: `.ignore`, `.gitignore`, and what its repository excludes.
    own: [Gitignore; 3],
    above: Option<Arc<Self>>,
}

impl IgnoreRules {
    /// The rules above a directory: those of the user, and of the directories that contain it.
    fn around(directory: &Path) -> Option<Arc<Self>> {
        let (of_user, _) = Gitignore::global();
        let of_user = [Gitignore::empty(), Gitignore::empty(), of_user];
        let outer = Self::with(of_user, None);
        let mut above: Vec<&Path> = directory.ancestors().skip(1).collect();
        above.reverse();
        above.into_iter().fold(outer, |outer, directory| {
            let has = |name: &str| directory.join(name).exists();
            Self::read(directory, has, outer.as_ref())
        })
    }

    /// The rules below a directory with these entries.
    fn of(
        directory: &Path,
        entries: &[(OsString, DirEntry)],
        above: Option<&Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let has = |name: &str| entries.iter().any(|(own, _)| own == name);
        Self::read(directory, has, above)
    }

    /// The rules below a directory; `has` returns whether it has an entry of this name.
    fn read(
        directory: &Path,
        has: impl Fn(&str) -> bool,
        above: Option<&Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let rules = |file: Option<PathBuf>| {
            let Some(file) = file else { return Gitignore::empty() };
            let mut builder = GitignoreBuilder::new(directory);
            // A pattern that cannot be read is left out, and the others count.
            let _ = builder.add(file);
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        };
        let named = |name: &str| has(name).then(|| directory.join(name));
        let excluded =
            named(".git").and_then(|git| Some(common_directory(git)?.join("info/exclude")));
        let own = [named(".ignore"), named(".gitignore"), excluded].map(rules);
        Self::with(own, above)
    }

    fn with(own: [Gitignore; 3], above: Option<&Arc<Self>>) -> Option<Arc<Self>> {
        if own.iter().all(Gitignore::is_empty) {
            return above.cloned();
        }
        Some(Arc::new(Self { own, above: above.cloned() }))
    }

    /// Whether a walk leaves an entry out. The nearest rule of the first kind that knows the path decides.
    fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        let mut kinds = (0..self.own.len()).filter_map(|kind| {
            let layers = std::iter::successors(Some(self), |layer| layer.above.as_deref());
            let rules = layers.filter_map(|layer| layer.own.get(kind));
            rules.map(|rules| rules.matched(path, is_directory)).find(|found| !found.is_none())
        });
        kinds.next().is_some_and(|found| found.is_ignore())
    }
}

/// The directory of a repository with the settings that its checkouts share; `git` is a `.git`.
fn common_directory(git: PathBuf) -> Option<PathBuf> {
    if !git.is_file() {
        return Some(git);
    }
    let first_line = |file: &Path| Some(fs::read_to_string(file).ok()?.lines().next()?.to_owned());
    let own = PathBuf::from(first_line(&git)?.strip_prefix("gitdir: ")?);
    let common = first_line(&own.join("commondir"))?;
    Some(if common.starts_with('.') { own.join(common) } else { common.into() })
}
