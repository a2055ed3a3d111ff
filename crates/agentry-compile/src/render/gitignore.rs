//! Finds directories that a search without a glob skips because of a `.gitignore`.
//!
//! Only names without wildcards count, and only inside a repository, as in ripgrep. A directory with a
//! pattern that is not understood here is searched.

use std::rc::Rc;

use super::file_search::{fits, without_classes};
use crate::world::{EntryKind, World};

/// The most bytes that are read of one file.
const MOST: u64 = 256 * 1024;

/// The ignored directories below a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoredFiles(Rc<IgnoredNames>);

#[derive(Debug, Clone, Default)]
struct IgnoredNames {
    /// Whether the directory is in a repository.
    in_git: bool,
    /// Names of directories that are ignored everywhere.
    anywhere: Vec<String>,
    /// Paths of ignored directories.
    places: Vec<String>,
    /// Patterns of names that are excepted with `!`.
    again: Vec<String>,
}

impl IgnoredFiles {
    /// What is ignored below a directory, by its own files and those of its parents.
    pub(super) fn at(world: &dyn World, directory: &str) -> Self {
        let directory = directory.trim_end_matches('/');
        let ends = directory.match_indices('/').filter_map(|(at, _)| directory.get(..at));
        ends.chain([directory]).fold(Self::default(), |above, it| above.below(world, it))
    }

    /// What is ignored below a subdirectory.
    pub(super) fn below(&self, world: &dyn World, directory: &str) -> Self {
        let directory = directory.trim_end_matches('/');
        let read = |name: &str| {
            let bytes = world.read("/", &format!("{directory}/{name}"), MOST);
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let is_root = world.kind(&format!("{directory}/.git")) != EntryKind::Missing;
        let texts = [".gitignore", ".ignore", ".rgignore"].map(read);
        if !is_root && texts.iter().all(String::is_empty) {
            return self.clone();
        }
        let mut names = (*self.0).clone();
        // A nested repository ignores the files of the outer one.
        if is_root {
            names = IgnoredNames { in_git: true, again: names.again, ..IgnoredNames::default() };
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            names.again.extend(line.trim().strip_prefix('!').map(last));
        }
        let [own, ..] = texts;
        own.lines().for_each(|line| names.add(directory, line.trim_end()));
        Self(Rc::new(names))
    }

    /// Whether the directory with this path and name is skipped.
    pub(super) fn has(&self, path: &str, name: &str) -> bool {
        let IgnoredNames { in_git, anywhere, places, again } = &*self.0;
        let is_named =
            || anywhere.iter().any(|it| it == name) || places.iter().any(|it| it == path);
        *in_git && is_named() && !again.iter().any(|pattern| fits(pattern, name))
    }
}

impl IgnoredNames {
    fn add(&mut self, directory: &str, line: &str) {
        // Anything but a plain name is not interpreted: such directories are searched.
        if line.is_empty() || line.contains(['!', '#', '*', '?', '[', '\\']) {
            return;
        }
        let name = line.trim_end_matches('/');
        match name.strip_prefix('/') {
            Some(below) => self.places.push(format!("{directory}/{below}")),
            None if name.contains('/') => self.places.push(format!("{directory}/{name}")),
            None => self.anywhere.push(name.to_owned()),
        }
    }
}

/// The pattern for the last part of a path.
pub(super) fn last(pattern: &str) -> String {
    let name = pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    without_classes(name).replace('\\', "*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryWorld;

    type Files<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn gitignored_directories_of_a_repository_are_skipped() {
        let git = ("w/.git/config", "");
        let modules = ("w/.gitignore", "# all\nnode_modules/\n/out\na/b\n*.log\n");
        let cases: [(Files, &str, bool); 12] = [
            (&[git, modules], "/w/node_modules", true),
            (&[git, modules], "/w/src/node_modules", true),
            (&[git, modules], "/w/out", true),
            (&[git, modules], "/w/src/out", false),
            (&[git, modules], "/w/a/b", true),
            (&[git, modules], "/w/x.log", false),
            (&[modules], "/w/node_modules", false),
            (&[git, modules, ("w/src/.git/config", "")], "/w/src/node_modules", false),
            (&[git, modules, ("w/src/.gitignore", "!node_*\n")], "/w/src/node_modules", false),
            (&[git, modules, ("w/.ignore", "!/x/node_modules/\n")], "/w/node_modules", false),
            (&[git, modules, ("w/.rgignore", "!**\n")], "/w/out", false),
            (&[git, modules, ("w/src/.gitignore", "!.env.example\n")], "/w/src/node_modules", true),
        ];
        for (files, path, expected) in cases {
            let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
            let world = MemoryWorld::new(files);
            let (directory, name) = path.rsplit_once('/').expect("a path");
            assert_eq!(IgnoredFiles::at(&world, directory).has(path, name), expected, "{path}");
        }
    }
}
