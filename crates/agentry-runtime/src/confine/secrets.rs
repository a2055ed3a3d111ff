//! Finds the files of this machine that have secrets, or that the policy does not allow to read.

use std::fs;
use std::path::{Path, PathBuf};

use agentry_compile::policy::commands::secrets::{self, SecretFile, is_secret};
use agentry_compile::policy::{Action, Judge, Section};

use super::roots::is_denied;

/// The most directory entries that are checked.
const MOST: usize = 300_000;
/// The same for each entry of a directory that only a rule for everything opens, and for all of them.
const MOST_OF_WIDE: usize = 5_000;
const MOST_OF_ALL_WIDE: usize = 50_000;
/// The most files of one directory that are hidden one by one.
const MOST_IN_ONE: usize = 64;

/// Returns the secret files of the system.
pub(super) fn of_system() -> Vec<PathBuf> {
    let rooted = secrets::all().filter(|secret| secret.rooted);
    let rooted = rooted.filter(|secret| !secret.path.starts_with("proc/"));
    rooted.flat_map(|secret| existing(Path::new("/"), secret)).collect()
}

/// Returns the secret files of programs in a home directory.
pub(super) fn of_home(home: &Path) -> Vec<PathBuf> {
    let places = secrets::all().filter(|secret| !secret.rooted && secret.tree);
    let mut found: Vec<PathBuf> = places.flat_map(|secret| existing(home, secret)).collect();
    let text = home.to_str();
    let entries = fs::read_dir(home).into_iter().flatten().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    found
        .extend(paths.filter(|path| path.to_str().is_some_and(|it| is_secret(it, text).is_some())));
    found
}

/// Returns the existing files of one kind of secret below `root`; expands a `*`.
fn existing(root: &Path, secret: SecretFile) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    for part in secret.path.split('/') {
        found = found.iter().flat_map(|path| named(path, part)).collect();
    }
    found
}

/// Returns the entries of a directory with this name, in which one `*` matches anything.
fn named(directory: &Path, name: &str) -> Vec<PathBuf> {
    let Some((start, end)) = name.split_once('*') else {
        let path = directory.join(name);
        return fs::symlink_metadata(&path).map(|_| path).into_iter().collect();
    };
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let fits = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end))
    };
    entries.filter(fits).map(|entry| entry.path()).collect()
}

/// Returns the secrets below `roots`, and what rules deny there. What was not checked is hidden, too.
pub(super) fn below(roots: &[PathBuf], judge: &Judge, narrowed: &mut Vec<String>) -> Vec<PathBuf> {
    let mut search = SecretSearch::new(judge, MOST);
    for root in roots {
        search.directory(root);
    }
    if search.left == 0 {
        narrowed.push(format!("read: only {MOST} files were looked at; the rest is hidden"));
    }
    search.hidden
}

/// Does the same for directories that only a rule for everything opens. They may be the whole machine, so
/// an entry with too many files is hidden as a whole.
pub(super) fn below_wide(
    roots: &[PathBuf],
    judge: &Judge,
    narrowed: &mut Vec<String>,
) -> Vec<PathBuf> {
    let (mut hidden, mut left) = (Vec::new(), MOST_OF_ALL_WIDE);
    for root in roots {
        let mut of_root = Vec::new();
        let mut is_cut = false;
        let entries = fs::read_dir(root).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let limit = MOST_OF_WIDE.min(left);
            let mut search = SecretSearch::new(judge, limit);
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                search.directory(&path);
            }
            left -= limit.saturating_sub(search.left).min(left);
            if search.left == 0 {
                is_cut = true;
                of_root.push(path);
            } else if search.is_closed(&path) {
                of_root.push(path);
            } else {
                of_root.append(&mut search.hidden);
            }
        }
        if is_cut {
            narrowed.push(format!("read: large directories in `{}` are hidden", root.display()));
        }
        if of_root.len() > MOST_IN_ONE {
            of_root = vec![root.clone()];
        }
        hidden.append(&mut of_root);
    }
    hidden
}

struct SecretSearch<'a> {
    judge: &'a Judge,
    /// Whether any rule denies reads.
    denies: bool,
    left: usize,
    hidden: Vec<PathBuf>,
}

impl<'a> SecretSearch<'a> {
    fn new(judge: &'a Judge, left: usize) -> Self {
        let denies = judge
            .rules(Section::Read)
            .any(|(_, rules)| rules.all().any(|rule| rule.action == Action::Deny));
        Self { judge, denies, left, hidden: Vec::new() }
    }

    /// Searches a directory and everything below it, without following links.
    fn directory(&mut self, root: &Path) {
        let mut waiting = vec![root.to_owned()];
        while let Some(directory) = waiting.pop() {
            if self.left == 0 {
                self.hidden.push(directory);
                continue;
            }
            let entries = fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
            let mut hidden = Vec::new();
            for entry in entries {
                let (path, kind) = (entry.path(), entry.file_type());
                self.left = self.left.saturating_sub(1);
                let is_link = kind.as_ref().is_ok_and(fs::FileType::is_symlink);
                if !is_link && self.is_closed(&path) {
                    hidden.push(path);
                // Git objects are named by their hash, so no name there can be that of a secret.
                } else if kind.is_ok_and(|kind| kind.is_dir()) && !path.ends_with(".git/objects") {
                    waiting.push(path);
                }
            }
            // One mount for each file would be too many, and a name that is not UTF-8 cannot be passed on.
            let unsaid = hidden.iter().any(|path: &PathBuf| path.to_str().is_none());
            if unsaid || hidden.len() > MOST_IN_ONE {
                hidden = vec![directory];
            }
            self.hidden.append(&mut hidden);
        }
    }

    /// Returns whether commands must not see this entry.
    fn is_closed(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        is_secret(&text, self.judge.places().home.as_deref()).is_some()
            || (self.denies && is_denied(self.judge, Section::Read, path))
    }
}
