//! Which files of a repository belong to a harness, by their paths.

use std::sync::OnceLock;

use agentry_targets::{TARGETS, Target, copilot};
use agentry_text::path;

/// What a file of a harness is.
#[derive(Debug, Clone, Copy)]
pub enum HarnessFileKind {
    /// An agent.
    Agent(&'static Target),
    /// An agent of a Claude Code plugin, if its metadata says so.
    PluginAgent,
    /// A file beside agents that the harness does not read.
    Unread(&'static Target),
    /// A skill of the Agent Skills standard.
    Skill,
    /// A file of MCP servers, with the key that holds them.
    Servers(&'static str),
    /// A settings file.
    Settings(SettingsFile),
    /// A file of hooks.
    Hooks(HookDialect),
    /// Text that is sent with every session of a repository.
    Context,
    /// A rule of Cursor.
    CursorRule,
}

/// A settings file of a harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFile {
    /// `.claude/settings.json`.
    Claude,
    /// `opencode.json`.
    Opencode,
    /// `.gemini/settings.json`.
    Gemini,
    /// `.gemini/policies/*.toml`.
    GeminiPolicy,
    /// `.codex/config.toml`.
    Codex,
}

/// The harness that runs the hooks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookDialect {
    /// Claude Code; Codex uses the same format.
    Claude,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
}

impl HarnessFileKind {
    /// A word for the file in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent(target) => target.name,
            Self::PluginAgent => "claude-code",
            Self::Unread(_) => "unread",
            Self::Skill => "skill",
            Self::Servers(_) => "mcp",
            Self::Settings(_) => "settings",
            Self::Hooks(_) => "hooks",
            Self::Context => "context",
            Self::CursorRule => "rule",
        }
    }

    /// Whether the file defines one agent.
    pub fn is_agent(self) -> bool {
        matches!(self, Self::Agent(_) | Self::PluginAgent)
    }

    /// Whether an agent may be rendered to the file, so that nothing in it is written by a person.
    pub fn is_render_target(self) -> bool {
        self.is_agent() || matches!(self, Self::CursorRule)
    }
}

/// Files with one meaning, wherever they are: the end of a path and what it is.
const FILES: &[(&str, HarnessFileKind)] = &[
    ("/SKILL.md", HarnessFileKind::Skill),
    ("/.mcp.json", HarnessFileKind::Servers("mcpServers")),
    ("/.cursor/mcp.json", HarnessFileKind::Servers("mcpServers")),
    ("/.kiro/settings/mcp.json", HarnessFileKind::Servers("mcpServers")),
    ("/.junie/mcp/mcp.json", HarnessFileKind::Servers("mcpServers")),
    ("/.vscode/mcp.json", HarnessFileKind::Servers("servers")),
    ("/.claude/settings.json", HarnessFileKind::Settings(SettingsFile::Claude)),
    ("/.claude/settings.local.json", HarnessFileKind::Settings(SettingsFile::Claude)),
    ("/opencode.json", HarnessFileKind::Settings(SettingsFile::Opencode)),
    ("/opencode.jsonc", HarnessFileKind::Settings(SettingsFile::Opencode)),
    ("/.gemini/settings.json", HarnessFileKind::Settings(SettingsFile::Gemini)),
    ("/.codex/config.toml", HarnessFileKind::Settings(SettingsFile::Codex)),
    ("/.codex/hooks.json", HarnessFileKind::Hooks(HookDialect::Claude)),
    ("/.cursor/hooks.json", HarnessFileKind::Hooks(HookDialect::Cursor)),
    ("/hooks/hooks.json", HarnessFileKind::Hooks(HookDialect::Claude)),
    ("/AGENTS.md", HarnessFileKind::Context),
    ("/AGENTS.override.md", HarnessFileKind::Context),
    ("/CLAUDE.md", HarnessFileKind::Context),
    ("/CLAUDE.local.md", HarnessFileKind::Context),
    ("/GEMINI.md", HarnessFileKind::Context),
    ("/.github/copilot-instructions.md", HarnessFileKind::Context),
];

/// Returns what a file is, by its path; `None` for a file that no harness reads.
pub fn kind_of(path: &str) -> Option<HarnessFileKind> {
    // Most files of a repository have another extension.
    if !["md", "json", "toml", "mdc", "jsonc"].contains(&extension(path)) {
        return None;
    }
    let whole = format!("/{path}");
    let known = FILES.iter().find(|(end, _)| whole.ends_with(end)).map(|(_, kind)| *kind);
    known.or_else(|| agent(&whole)).or_else(|| below(&whole))
}

/// A directory of agents: `/dir/`, the ending of its files, and the harness.
type AgentPlace = (String, &'static str, &'static Target);

/// The directories in which harnesses look for agents.
fn places() -> &'static [AgentPlace] {
    static PLACES: OnceLock<Vec<AgentPlace>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let all = TARGETS.iter().copied();
        let places = all.filter_map(|target| Some((target, target.import.as_ref()?.places)));
        let place = |(target, places): (&'static Target, &'static [(&str, &'static str)])| {
            places.iter().map(move |(dir, end)| (format!("/{dir}/"), *end, target))
        };
        places.flat_map(place).collect()
    })
}

/// Whether a path is in a directory in which a harness looks for agents.
pub fn is_placed(path: &str) -> bool {
    agent_place(&format!("/{path}")).is_some()
}

/// Returns the directory of agents that a path is below, with the rest of the path.
pub(super) fn agent_place(whole: &str) -> Option<(&'static AgentPlace, &str)> {
    places().iter().find_map(|place| {
        let at = whole.rfind(&place.0)?;
        Some((place, whole.get(at + place.0.len()..)?))
    })
}

fn agent(whole: &str) -> Option<HarnessFileKind> {
    let ((_, end, target), rest) = agent_place(whole)?;
    let name = path::name(rest);
    if is_prose(name) {
        return None;
    }
    let nested = rest.contains('/');
    match (name.ends_with(end), target.name) {
        // Gemini does not look into directories below this one.
        (true, "gemini") if nested => Some(HarnessFileKind::Unread(target)),
        (true, _) => Some(HarnessFileKind::Agent(target)),
        // A Markdown agent, copied from a harness that has them.
        (false, "codex") if extension(name) == "md" => Some(HarnessFileKind::Unread(target)),
        (false, _) => None,
    }
}

/// Files that are recognised by the directory that they are in.
fn below(whole: &str) -> Option<HarnessFileKind> {
    let (dir, name) = path::split(whole);
    if whole.contains("/.cursor/rules/") && extension(name) == "mdc" {
        return Some(HarnessFileKind::CursorRule);
    }
    if dir.ends_with("/.gemini/policies") && extension(name) == "toml" {
        return Some(HarnessFileKind::Settings(SettingsFile::GeminiPolicy));
    }
    if whole.contains("/.claude/rules/") && extension(name) == "md" {
        return Some(HarnessFileKind::Context);
    }
    // Copilot's agents may be anywhere; only the metadata distinguishes them from definitions.
    if name.ends_with(".agent.md") {
        return Some(HarnessFileKind::Agent(&copilot::TARGET));
    }
    // `agents/` of a plugin; in a hidden directory it belongs to another program.
    let (above, _) = whole.rsplit_once("/agents/")?;
    let is_hidden = path::name(above).starts_with('.');
    (extension(name) == "md" && !is_hidden && !is_prose(name))
        .then_some(HarnessFileKind::PluginAgent)
}

/// The part of a name after its last dot, as harnesses compare it: case matters.
fn extension(path: &str) -> &str {
    path::name(path).rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Whether a file beside agents is a text about them, such as a README.
fn is_prose(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let is_loud = stem.len() > 1 && !stem.contains(|c: char| c.is_ascii_lowercase());
    name.starts_with(['_', '.']) || stem.eq_ignore_ascii_case("readme") || is_loud
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harness_files_are_recognised_by_path() {
        let cases = [
            (".claude/agents/x.md", "claude-code"),
            ("web/.claude/agents/team/x.md", "claude-code"),
            (".claude/agents/README.md", ""),
            (".claude/agents/CONTRIBUTING.md", ""),
            (".opencode/agent/x.md", "opencode"),
            (".opencode/agents/deep/x.md", "opencode"),
            (".pi/agents/x.md", "pi"),
            (".codex/agents/x.toml", "codex"),
            (".codex/agents/x.md", "unread"),
            (".gemini/agents/x.md", "gemini"),
            (".gemini/agents/deep/x.md", "unread"),
            (".github/agents/x.agent.md", "copilot"),
            (".github/chatmodes/x.chatmode.md", "copilot"),
            (".github/chatmodes/x.md", ""),
            (".cursor/agents/x.md", "cursor"),
            (".cursor/rules/a/x.mdc", "rule"),
            ("plugins/a/agents/x.md", "claude-code"),
            ("agents/team/x.md", "claude-code"),
            ("agents/help_x.agent.md", "copilot"),
            (".qwen/agents/x.md", ""),
            ("docs/skills/pdf/SKILL.md", "skill"),
            (".mcp.json", "mcp"),
            (".vscode/mcp.json", "mcp"),
            ("mcp.json", ""),
            (".claude/settings.local.json", "settings"),
            ("opencode.jsonc", "settings"),
            ("my-opencode.json", ""),
            ("hooks/hooks.json", "hooks"),
            ("web/AGENTS.md", "context"),
            ("MY-AGENTS.md", ""),
            ("src/main.rs", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(kind_of(path).map_or("", HarnessFileKind::as_str), expected, "{path}");
        }
    }
}
