//! Finds the workspace of a directory. Every agent asks, so each directory is checked once.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use agentry_sandbox::is_placeholder;

/// The memoised answers.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceCache {
    /// The answers, by the exact text of the path.
    answers: RwLock<HashMap<String, Arc<str>>>,
    known: RwLock<HashMap<PathBuf, WorkspaceMarks>>,
}

/// The nearest directories with a marker file, at or above a directory.
#[derive(Debug, Clone, Default)]
struct WorkspaceMarks {
    config: Option<Arc<str>>,
    git: Option<Arc<str>>,
}

impl WorkspaceCache {
    /// The nearest directory at or above `path` with `agentry.toml`, else with `.git`, else the
    /// current directory. Above the current directory its name is absolute.
    pub(crate) fn of(&self, path: &str) -> String {
        let known = self.answers.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some(root) = known {
            return root.as_ref().to_owned();
        }
        let root = self.find(path);
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.insert(path.to_owned(), Arc::from(root.as_str()));
        root
    }

    fn find(&self, path: &str) -> String {
        // `..` would make the directories of the text wrong; the real path is asked instead.
        let climbs = Path::new(path).components().any(|part| part == Component::ParentDir);
        if climbs
            && let Some(real) = fs::canonicalize(path)
                .ok()
                .and_then(|real| real.into_os_string().into_string().ok())
        {
            return self.of(&real);
        }
        let mut marks = WorkspaceMarks::default();
        let mut unknown = Vec::new();
        for dir in upwards(path) {
            match self.known(&dir) {
                Some(known) => {
                    marks = known;
                    break;
                }
                None => unknown.push(dir),
            }
        }
        // From the outermost directory down, since each one inherits the markers above it.
        for dir in unknown.into_iter().rev() {
            marks = marks.at(&dir);
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.insert(dir, marks.clone());
        }
        marks.config.or(marks.git).map_or(String::new(), |root| root.as_ref().to_owned())
    }

    fn known(&self, dir: &Path) -> Option<WorkspaceMarks> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(dir).cloned()
    }
}

impl WorkspaceMarks {
    /// The markers for a directory directly below.
    fn at(self, dir: &Path) -> Self {
        let name = || Some(Arc::from(dir.to_string_lossy()));
        // A placeholder of a running sandbox is not a workspace.
        let has = |mark: &str| dir.join(mark).exists() && !is_placeholder(&dir.join(mark));
        Self {
            config: if has("agentry.toml") { name() } else { self.config },
            git: if has(".git") { name() } else { self.git },
        }
    }
}

/// The directory `path` and all above it, nearest first, across the current directory.
fn upwards(path: &str) -> impl Iterator<Item = PathBuf> {
    let path = Path::new(path);
    let is_relative = !path.is_absolute();
    let above_here = std::iter::once_with(std::env::current_dir)
        .filter_map(Result::ok)
        .flat_map(|here| here.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>());
    let here_and_below = path.ancestors().map(Path::to_path_buf);
    here_and_below.chain(is_relative.then_some(above_here).into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_workspace_root_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        let make = |path: &str| std::fs::create_dir_all(folder.path().join(path)).unwrap();
        ["a/.git", "a/b/c/d", "a/b/.git", "e/f", "e/g/.git"].into_iter().for_each(make);
        std::fs::write(folder.path().join("a/agentry.toml"), "").unwrap();
        std::fs::write(folder.path().join("e/agentry.toml"), "").unwrap();
        let workspaces = WorkspaceCache::default();
        let cases = [
            ("a/b/c/d", "a"),
            ("a/b", "a"),
            ("a", "a"),
            ("e/f", "e"),
            ("e/g", "e"),
            ("e/nowhere/at/all", "e"),
        ];
        for (path, expected) in cases.iter().chain(&cases) {
            let found = workspaces.of(&format!("{root}/{path}"));
            assert_eq!(found, format!("{root}/{expected}"), "{path}");
        }
    }
}
