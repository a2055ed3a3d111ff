//! What of repositories, and of the settings of other harnesses, commands must not change: whoever uses
//! them next would run it. What no mount can protect is left to the quarantine.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::protected::{Name, names};

/// The most entries of a workspace among which repositories are looked for, and the most of those.
const MOST: usize = 20_000;
const MOST_REPOSITORIES: usize = 24;
/// What of a repository is protected even if it is missing: git does without it, or a comment in it.
const ALWAYS: &[&str] = &["hooks", "config"];
/// What is protected if it is there.
const IF_THERE: &[&str] = &["config.worktree", "commondir", "info/attributes", "modules"];

/// What is protected in the repositories of a workspace.
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

/// What is protected in a directory of git.
fn inside(git: &Path, own: bool) -> Vec<PathBuf> {
    let always = ALWAYS.iter().map(|name| git.join(name)).filter(|path| own || path.exists());
    let there = IF_THERE.iter().map(|name| git.join(name)).filter(|path| path.exists());
    always.chain(there).collect()
}

/// Where a file `.git` leads, and the repository that this is a part of.
fn target(git: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(git).unwrap_or_default();
    let real = |from: &Path, to: &str| fs::canonicalize(from.join(to.trim_end())).ok();
    let to = text.strip_prefix("gitdir: ").zip(git.parent());
    let Some(to) = to.and_then(|(to, from)| real(from, to)) else { return Vec::new() };
    let common = fs::read_to_string(to.join("commondir")).ok();
    let common = common.and_then(|common| real(&to, &common));
    std::iter::once(to).chain(common).collect()
}

/// The repositories of a workspace, those near its root first.
fn found(workspace: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut waiting = VecDeque::from([workspace.to_owned()]);
    let mut left = MOST;
    while let Some(directory) = waiting.pop_front() {
        for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
            left = left.saturating_sub(1);
            if entry.file_name() == ".git" {
                out.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push_back(entry.path());
            }
        }
        if left == 0 || out.len() >= MOST_REPOSITORIES {
            break;
        }
    }
    out
}

/// The directories of harnesses at the root of a workspace. One that is missing, or only stands for that
/// while another run lasts, is spoken of by a name in it, so that a directory stands for it.
pub(super) fn harnesses(workspace: &Path) -> Vec<PathBuf> {
    let is_one = |name: &&Name| {
        name.is_directory && !name.path.contains('/') && name.why.starts_with("it decides")
    };
    let at = |name: &Name| {
        let path = workspace.join(name.path);
        let is_used = !path.is_dir() || fs::read_dir(&path).is_ok_and(|it| it.count() > 0);
        if path.exists() && is_used { path } else { path.join("settings") }
    };
    names().iter().filter(is_one).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_and_where_files_lead() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        let files = [
            (".git", "gitdir: main/.git/worktrees/w\n"),
            ("main/.git/worktrees/w/commondir", "../..\n"),
            ("main/.git/config", ""),
            ("main/.git/hooks/x", ""),
            ("a/sub/.git/config", ""),
            ("a/sub/.git/modules/m/config", ""),
            (".claude/settings.json", ""),
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
        fs::create_dir(root.join(".pi")).expect("a directory");
        let found = harnesses(&root);
        assert!(found.contains(&root.join(".pi/settings")), "{found:?}");
        assert!(found.contains(&root.join(".claude")), "{found:?}");
        assert!(found.contains(&root.join(".codex/settings")), "{found:?}");
    }
}
