//! Finds the files of a repository that make git run a program, at its next use there.

use std::fs;
use std::io;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};

use agentry_posix::lexical;

use crate::protected_paths::names_in_repository;

/// Sections and names of settings that run nothing.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
        ],
    ),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("remote", &["url", "pushurl", "fetch", "tagopt"]),
    ("branch", &["remote", "merge", "rebase", "description"]),
    ("submodule", &["url", "active"]),
    ("extensions", &["objectformat"]),
    ("pull", &["rebase", "ff"]),
];

/// The relevant files of a repository.
#[derive(Default)]
pub(super) struct RepositoryFiles {
    /// The files that can make git run something.
    pub(super) deciding: Vec<PathBuf>,
    /// The directories that cannot be read.
    pub(super) shut: Vec<PathBuf>,
}

impl RepositoryFiles {
    /// Finds them for the repository at `git`, which is a directory or a file that points to one.
    pub(super) fn new(git: &Path) -> Self {
        let mut out = Self::default();
        // A `.git` file redirects to another repository, so the file itself decides.
        if !is_directory(git) {
            out.deciding.push(git.to_owned());
            return out;
        }
        let mut waiting = vec![git.to_owned()];
        while let Some(directory) = waiting.pop() {
            out.look_at(&directory);
            for name in ["modules", "worktrees"] {
                out.inside(directory.join(name), &mut waiting);
            }
        }
        out
    }

    /// Adds the files of one git directory itself.
    fn look_at(&mut self, directory: &Path) {
        self.listed(directory);
        self.listed(&directory.join("info"));
        let files = names_in_repository().filter(|(_, name)| !name.is_directory);
        self.deciding.extend(files.map(|(name, _)| directory.join(name)));
        // Git runs a hook by its file name; it creates `.sample` files itself, and never runs them.
        let hooks = self.listed(&directory.join("hooks")).into_iter();
        let hooks = hooks.filter(|path| path.extension().is_none_or(|it| it != "sample"));
        self.deciding.extend(hooks);
        for name in ["hooks", "info", "modules", "worktrees"] {
            self.deciding.extend(Some(directory.join(name)).filter(|path| path.is_symlink()));
        }
    }

    /// Finds repositories below a directory, and links. Their names may contain `/`, so it searches deeper.
    fn inside(&mut self, directory: PathBuf, repositories: &mut Vec<PathBuf>) {
        let mut waiting = vec![directory];
        while let Some(directory) = waiting.pop() {
            for path in self.listed(&directory) {
                let is_one = || path.join("HEAD").exists() || path.join("config").exists();
                if path.is_symlink() {
                    self.deciding.push(path);
                } else if is_directory(&path) {
                    let to = if is_one() { &mut *repositories } else { &mut waiting };
                    to.push(path);
                }
            }
        }
    }

    /// Lists a directory; empty if the path is not a directory.
    fn listed(&mut self, directory: &Path) -> Vec<PathBuf> {
        let found = match fs::symlink_metadata(directory) {
            Ok(found) if found.is_dir() => read(directory),
            Ok(_) => return Vec::new(),
            Err(error) => Err(error),
        };
        found.unwrap_or_else(|error| {
            if !matches!(error.kind(), NotFound | NotADirectory) {
                self.shut.push(directory.to_owned());
            }
            Vec::new()
        })
    }
}

/// Lists a directory, if its entries can also be inspected.
fn read(directory: &Path) -> io::Result<Vec<PathBuf>> {
    // Fails without the search permission; `read_dir` alone would succeed.
    fs::symlink_metadata(directory.join("."))?;
    fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

/// Returns whether a path is a directory, and not a link to one.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Returns whether a file with this content makes git run nothing.
pub(super) fn is_harmless(path: &Path, bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let parent = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let above = path.ancestors().nth(2).and_then(Path::file_name).and_then(|name| name.to_str());
    match path.file_name().and_then(|name| name.to_str()) {
        _ if parent == Some("hooks") => false,
        Some("config" | "config.worktree") => settings(text),
        Some("commondir") => above == Some("worktrees") && text.trim_end() == "../..",
        Some("gitdir") => above == Some("worktrees"),
        Some(".git") => leads_inside(path, text),
        _ => false,
    }
}

/// Returns whether a `.git` file points to the worktrees or submodules of a repository around it.
fn leads_inside(path: &Path, text: &str) -> bool {
    let Some(target) = text.trim_end().strip_prefix("gitdir: ") else { return false };
    let real = lexical(&path.parent().unwrap_or(Path::new("")).join(target));
    let Some(git) = real.ancestors().find(|it| it.file_name().is_some_and(|it| it == ".git"))
    else {
        return false;
    };
    let below = real.strip_prefix(git).unwrap_or(Path::new(""));
    let is_kept = below.starts_with("worktrees") || below.starts_with("modules");
    let around = git.parent().is_some_and(|root| path.starts_with(root));
    // A path that changes when links are resolved could point elsewhere later.
    is_kept && around && fs::canonicalize(&real).is_ok_and(|found| found == real)
}

/// Returns whether all settings are of the kind that runs nothing.
fn settings(text: &str) -> bool {
    let mut names: &[&str] = &[];
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // A backslash continues a line or escapes a character, so the value could be anything.
        if line.contains('\\') {
            return false;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let Some(section) = rest.strip_suffix(']').filter(|it| !it.contains(']')) else {
                return false;
            };
            let section = section.split(' ').next().unwrap_or_default().to_lowercase();
            let Some(found) = HARMLESS.iter().find(|(name, _)| *name == section) else {
                return false;
            };
            names = found.1;
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        // `ext::` runs a command, and an address that starts with a dash is an option.
        let value = value.trim();
        if !names.contains(&name.trim().to_lowercase().as_str())
            || value.contains("::")
            || value.trim_start_matches('"').starts_with('-')
        {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_settings_that_run_programs_are_found() {
        let cases = [
            ("", true),
            ("[core]\n\trepositoryformatversion = 0\n\tbare = false\n", true),
            (
                "[remote \"origin\"]\n\turl = https://example.com/x\n\tfetch = +refs/*:refs/*\n",
                true,
            ),
            ("[branch \"main\"]\n\tremote = origin\n", true),
            ("[core]\n\tfsmonitor = \"touch x\"\n", false),
            ("[core] fsmonitor = x\n", false),
            ("[core]\n\tbare = false\\\n\tx\n", false),
            ("[CORE]\n\tFsMonitor = x\n", false),
            ("[core]\n\tsshCommand = x\n", false),
            ("[include]\n\tpath = /tmp/x\n", false),
            ("[includeIf \"gitdir:x\"]\n\tpath = /tmp/x\n", false),
            ("[alias]\n\tst = !x\n", false),
            ("[remote \"o\"]\n\turl = ext::sh -c x\n", false),
            ("[remote \"o\"]\n\turl = -x\n", false),
            ("[remote \"o\"]\n\tuploadpack = x\n", false),
            ("[remote.o]\n\turl = x\n", false),
            ("[extensions]\n\tworktreeConfig = true\n", false),
            ("[filter \"x\"]\n\tclean = x\n", false),
            ("bare = false\n", false),
        ];
        for (text, expected) in cases {
            assert_eq!(settings(text), expected, "{text}");
        }
    }
}
