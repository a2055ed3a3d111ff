//! Names that decide what an agent may do, or what others run, wherever they stand: those that are
//! protected in a run as well, and a few more that harnesses and Agentry read.

use std::borrow::Cow;

use agentry_policy::path::is_inside;

use crate::protected::{find, find_made, fold, names};

/// Who would write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// A tool that writes files.
    Tool,
    /// A command; `git` writes to its repository.
    Command,
}

/// Files and directories beside those of the one list.
const MORE: &[&str] = &[".agents", ".claude.json", ".config/agentry", ".github/agents"];

/// All names that are left alone.
pub(super) fn all(by: By) -> impl Iterator<Item = &'static str> {
    let made = move |path: &&str| by == By::Tool || find_made(&folded(path)).is_some();
    names().iter().map(|name| name.path).filter(made).chain(MORE.iter().copied())
}

/// What of the names that no command makes would be below a path which ends like the start of one of
/// them: `hooks` below a `.git`.
pub(super) fn below(real: &str) -> impl Iterator<Item = &'static str> {
    let parts: Vec<String> = folded(real).into_iter().map(Cow::into_owned).collect();
    let rest = move |name: &'static str| {
        let ends = name.match_indices('/').map(|(at, _)| at);
        let mut halves = ends.filter_map(|at| name.split_at_checked(at));
        let is_end = |start: &str| {
            let mut known = parts.iter().rev();
            start.rsplit('/').all(|wanted| known.next().is_some_and(|part| part == wanted))
        };
        let (_, rest) = halves.find(|(start, _)| is_end(start))?;
        Some(rest.trim_start_matches('/'))
    };
    all(By::Command).filter_map(rest)
}

/// The part of a path up to such a name. Where the workspace itself is below one, that says nothing
/// about what it holds.
pub(super) fn named<'a>(real: &'a str, workspace: &str, by: By) -> Option<&'a str> {
    let skipped =
        if is_inside(real, workspace) { workspace.trim_end_matches('/').len() } else { 0 };
    let parts = folded(real.get(skipped..)?);
    let found = match by {
        By::Tool => find(&parts),
        By::Command => find_made(&parts),
    };
    let more = (0..parts.len()).find_map(|at| {
        let is_here = |name: &&&str| {
            let mut rest = parts.iter().skip(at);
            name.split('/').all(|wanted| rest.next().is_some_and(|part| part == wanted))
        };
        MORE.iter().find(is_here).map(|name| at + name.split('/').count())
    });
    let count = found.map(|hit| hit.parts).into_iter().chain(more).min()?;
    let below = real.get(skipped..)?.trim_start_matches('/');
    let length: usize = below.split('/').take(count).map(|part| part.len() + 1).sum();
    real.get(..real.len() - below.len() + length.saturating_sub(1))
}

fn folded(path: &str) -> Vec<Cow<'_, str>> {
    path.split('/').filter(|part| !part.is_empty()).map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_anywhere() {
        let cases = [
            ("/w/.claude", Some("/w/.claude")),
            ("/w/.Claude/x", Some("/w/.Claude")),
            ("/w/.git/hooks/pre-commit", Some("/w/.git/hooks")),
            ("/w/sub/.git/config", Some("/w/sub/.git/config")),
            ("/w/.git/HEAD", None),
            ("/w/.vscode/tasks.json", Some("/w/.vscode/tasks.json")),
            ("/w/.vscode/words.txt", None),
            ("/w/a/b.cassette.jsonl", Some("/w/a/b.cassette.jsonl")),
            ("/w/.config/agentry/x", Some("/w/.config/agentry")),
            ("/w/a/.claude/x", Some("/w/a/.claude")),
            ("/other/opencode.json", Some("/other/opencode.json")),
            ("/w/.github/agents/x.md", Some("/w/.github/agents")),
            ("/w/.github/workflows/x", None),
            ("/w/agents/x", None),
            ("/w/.claude2", None),
            ("/v/.claude/worktrees/x/a", None),
            ("/v/.claude/worktrees/x/.pi/a", Some("/v/.claude/worktrees/x/.pi")),
        ];
        for (path, expected) in cases {
            let workspace = if path.starts_with("/v") { "/v/.claude/worktrees/x" } else { "/w" };
            assert_eq!(named(path, workspace, By::Command), expected, "{path}");
        }
        for path in ["/w/.git/HEAD", "/w/.git/hooks/pre-commit"] {
            assert_eq!(named(path, "/w", By::Tool), Some("/w/.git"), "{path}");
        }
        let commands = || all(By::Command);
        assert!(commands().any(|name| name == ".git/hooks") && commands().all(|it| it != ".git"));
        assert!(all(By::Tool).any(|name| name == ".git"));
        assert!(below("/w/sub/.GIT").any(|name| name == "hooks"));
        assert_eq!(below("/w/.github").collect::<Vec<_>>(), ["agents"]);
        assert_eq!(below("/w/.git/info").collect::<Vec<_>>(), ["attributes"]);
        assert_eq!(below("/w/info").count() + below("/w/src").count(), 0);
    }
}
