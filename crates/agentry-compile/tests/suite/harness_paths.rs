//! One path of every kind of file of a harness. The fuzz targets include this list too.

/// One path of every kind of file.
pub(crate) const PATHS: &[&str] = &[
    ".claude/agents/x.md",
    "plugins/a/agents/x.md",
    ".opencode/agents/x.md",
    ".pi/agents/x.md",
    ".codex/agents/x.toml",
    ".codex/config.toml",
    ".gemini/agents/x.md",
    ".gemini/settings.json",
    ".github/agents/x.agent.md",
    ".cursor/agents/x.md",
    ".cursor/rules/x.mdc",
    ".cursor/hooks.json",
    ".claude/settings.json",
    "opencode.json",
    ".mcp.json",
    "hooks/hooks.json",
    "skills/x/SKILL.md",
    "AGENTS.md",
    "CLAUDE.md",
];
