//! Names that decide what an agent may do wherever they stand: of harnesses' settings, and of
//! Agentry's files.

use agentry_policy::path::is_inside;

/// Names of files and directories.
pub(super) const NAMES: &[&str] = &[
    ".agentry",
    ".agents",
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".mcp.json",
    ".opencode",
    ".pi",
    "agentry.lock",
    "agentry.toml",
    "opencode.json",
    "opencode.jsonc",
];
/// Pairs of a directory and a name in it.
const PAIRS: &[(&str, &str)] =
    &[(".config", "opencode"), (".config", "agentry"), (".github", "agents")];

/// The part of a path up to such a name. Where the workspace itself is below one, that says nothing
/// about what it holds.
pub(super) fn named<'a>(real: &'a str, workspace: &str) -> Option<&'a str> {
    let skipped =
        if is_inside(real, workspace) { workspace.trim_end_matches('/').len() } else { 0 };
    let mut at = skipped;
    let mut before = "";
    for name in real.get(skipped..)?.split('/') {
        at += name.len();
        let is_pair = PAIRS.iter().any(|(first, second)| *first == before && *second == name);
        if NAMES.contains(&name) || is_pair {
            return real.get(..at);
        }
        // The `/` behind it.
        at += 1;
        before = name;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_anywhere() {
        let cases = [
            ("/w/.claude", Some("/w/.claude")),
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
            assert_eq!(named(path, workspace), expected, "{path}");
        }
    }
}
