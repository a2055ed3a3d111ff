//! Checks fuzzer input as files of harnesses.

use agentry_compile::text::report::human;
use agentry_compile::{
    FixMode, MemoryWorld, WorkspaceConfig, check_harness, discover_all, fix_harness,
};

/// One path of every kind of file.
const PATHS: &[&str] = &[
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
    "skills/x/SKILL.md",
    "AGENTS.md",
    "CLAUDE.md",
];

/// Checks, shows and fixes the bytes as every kind of file.
pub fn everywhere(bytes: &[u8]) {
    let world = MemoryWorld::new(PATHS.iter().map(|path| ((*path).to_owned(), bytes.to_vec())));
    let found = discover_all(&world, &[String::new()], None, &|_| false);
    let config = WorkspaceConfig::default();
    for file in &found.harness {
        let checked = check_harness(&world, file, &config);
        for diagnostic in &checked.diagnostics {
            let style = human::ReportStyle::default();
            let text = human::render(diagnostic, &checked.sources, style);
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        }
        fix_harness(&world, file, &config, FixMode::Unsafe);
    }
}
