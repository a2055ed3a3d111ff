//! The files of repositories that get mounts, because git would run what commands write there. The quarantine
//! handles what no mount can protect.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::protected_paths::walk::{NextDirectory, WorkspaceWalk};
use crate::protected_paths::{CommandBarrier, fold, names_in_repository};

/// The most repositories that get mounts.
const MOST: usize = 24;

/// Returns the protected paths in the repositories of a workspace.
pub(super) fn protected(workspace: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for git in found(workspace) {
        let own = git.parent() == Some(workspace);
        match fs::symlink_metadata(&git) {
            Ok(found) if found.is_dir() => out.extend(inside(&git, own)),
            Ok(_) => {
                out.extend(target(&git).iter().flat_map(|git| inside(git, false)));
                out.push(git);
            }
            Err(_) => {}
        }
    }
    out
}

/// Returns the protected paths in a git directory. In that of the workspace also those that do not exist yet,
/// if git works with an empty placeholder there.
fn inside(git: &Path, own: bool) -> Vec<PathBuf> {
    let mounted = names_in_repository().filter_map(|(name, about)| match about.barrier {
        CommandBarrier::Placeholder => Some((own, git.join(name))),
        CommandBarrier::Mount => Some((false, git.join(name))),
        CommandBarrier::Quarantine | CommandBarrier::ToolsOnly => None,
    });
    let needed = mounted.filter(|(missing_too, path)| *missing_too || path.exists());
    needed.map(|(_, path)| path).collect()
}

/// Returns where a `.git` file points, and the main repository of that worktree.
fn target(git: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(git).unwrap_or_default();
    let real = |from: &Path, to: &str| fs::canonicalize(from.join(to.trim_end())).ok();
    let to = text.strip_prefix("gitdir: ").zip(git.parent());
    let Some(to) = to.and_then(|(to, from)| real(from, to)) else { return Vec::new() };
    let common = fs::read_to_string(to.join("commondir")).ok();
    let common = common.and_then(|common| real(&to, &common));
    std::iter::once(to).chain(common).collect()
}

/// Returns the repositories of a workspace, those near its root first.
fn found(workspace: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let root = NextDirectory { path: workspace.to_owned(), whole: false };
    WorkspaceWalk::default().over([root], |visited| {
        let mut next = Vec::new();
        for entry in visited.entries {
            let path = visited.path.join(&entry.name);
            if entry.is_marked && fold(&entry.name) == ".git" {
                out.push(path);
            } else if entry.is_directory {
                next.push(NextDirectory { path, whole: false });
            }
        }
        if out.len() < MOST { ControlFlow::Continue(next) } else { ControlFlow::Break(()) }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_files_of_repositories_and_worktrees_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        let files = [
            (".git", "gitdir: main/.git/worktrees/w\n"),
            ("main/.git/worktrees/w/commondir", "../..\n"),
            ("main/.git/config", ""),
            ("main/.git/hooks/x", ""),
            ("a/sub/.git/config", ""),
            ("a/sub/.git/modules/m/config", ""),
        ];
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("written");
        }
        let mut found = protected(&root);
        found.sort();
        found.dedup();
        let expected = [
            ".git",
            "a/sub/.git/config",
            "a/sub/.git/modules",
            "main/.git/config",
            "main/.git/hooks",
            "main/.git/worktrees/w/commondir",
        ];
        assert_eq!(found, expected.map(|name| root.join(name)));
    }
}
