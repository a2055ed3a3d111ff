//! Claude Code: one Markdown file an agent with its tools, and rules in settings that hold for all
//! agents of a project, of which the strictest wins.
//!
//! | model | Claude Code |
//! | --- | --- |
//! | `name` | `name`; a file without it is skipped |
//! | `description` | `description`, never with `---`, which would end the metadata |
//! | `max_turns` | `maxTurns`, which holds for subagents |
//! | `model.preferred` | `model`, the first that Claude Code has |
//! | prompt, `context`, `rules` | the body, in this order |
//! | `skills` | `skills`; files are copied to `.claude/skills` unless they are there |
//! | `tools.mcp` | `mcpServers`, for this agent alone |
//! | a section that allows everything | the tool, and an allow in `.claude/settings.json` if every agent says so and no other agent is there |
//! | a section that asks about everything | the tool, and an ask for the whole of it |
//! | asks and denials in a section that allows | the same in the settings; a denial only if it harms no other agent |
//! | anything else | the tool is removed: `tools`, `disallowedTools` |
//! | `permissions.external_directory` | allows for `Read` and `Edit`; Claude Code asks about the rest |
//! | `permissions.tool` | only tools that are allowed by name |
//! | `permissions.question` | `AskUserQuestion`, which subagents never have |
//! | `display_name`, `mode`, `tags`, `temperature`, `permissions.env` | dropped |
//!
//! The user's own `~/.claude/settings.json` changes nothing that is written: what it allows beyond the
//! source is a gap of that user.
//!
//! With the guard each call is put to `agentry guard` by a hook in the metadata and one in the
//! settings, which hold only those denials that are denials in every agent.

mod blind;
mod encode;
mod front;
mod guard;
mod hook;
mod import;
mod import_hooks;
mod import_plugins;
mod losses;
mod memo;
mod paths;
mod patterns;
mod rule;
mod ruleset;
mod settings;
mod share;
mod tools;
mod words;
mod write;

use agentry_text::Data;

pub(crate) use memo::ClaudeMemo;

use crate::kept::{Kept, is_word, kept};
use crate::{Support, Target};

/// What the user calls it.
const NAME: &str = "claude-code";

/// What an agent keeps for Claude Code. Not `memory`, which brings tools, nor a mode that asks less.
const KEPT: &[Kept] = &[
    kept("permissionMode", |data| {
        matches!(data.as_str(), Some("default" | "manual" | "plan" | "dontAsk"))
    }),
    kept("color", is_word),
    kept("effort", is_word),
    kept("background", |data| matches!(data, Data::Bool(_))),
    kept("initialPrompt", |data| data.as_str().is_some()),
];

/// Where an imported agent keeps the names of skills that are not there: they may come with a plugin, or lie
/// in the home of whoever starts it.
const OTHER_SKILLS: &str = "skills";

/// Where an imported agent keeps the names of servers that are set up elsewhere.
const OTHER_SERVERS: &str = "mcpServers";

/// Claude Code.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Claude Code",
    built_in: &["explore", "plan", "general-purpose", "claude", "statusline-setup"],
    places: &[".claude/"],
    supports: SUPPORTS,
    one_primary: false,
    render: write::render,
    model: ruleset::model,
    personal: Some(ruleset::PERSONAL),
    blind: blind::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("`name`")),
    ("description", Support::Yes("`description`")),
    ("display_name", Support::No("the name is shown")),
    ("mode", Support::No("every agent can be started either way")),
    ("tags", Support::No("no place")),
    ("max_turns", Support::Partly("`maxTurns`, which holds for subagents")),
    ("temperature", Support::No("not set by agents")),
    ("model", Support::Partly("`model`, the first that Claude Code has")),
    ("skills", Support::Yes("`skills`, `.claude/skills`")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::Yes("`mcpServers`")),
    (
        "permissions.bash",
        Support::Partly("rules for all agents, the strictest wins; else the tool is removed"),
    ),
    (
        "permissions.edit",
        Support::Partly("rules for all agents, the strictest wins; else the tools are removed"),
    ),
    (
        "permissions.read",
        Support::Partly("rules for all agents, the strictest wins; else the tools are removed"),
    ),
    ("permissions.webfetch", Support::Partly("by host; else the tool is removed")),
    ("permissions.websearch", Support::Partly("one action")),
    ("permissions.question", Support::Partly("only where a person started the agent")),
    ("permissions.external_directory", Support::Partly("allows; the rest is asked")),
    ("permissions.mcp", Support::Partly("servers of the agent, and rules by name")),
    ("permissions.tool", Support::Partly("tools that are allowed by name")),
    ("permissions.skill", Support::Partly("rules for all agents, by name")),
    ("permissions.delegate", Support::Partly("rules for all agents, by name")),
    ("permissions.env", Support::No("not looked at")),
];
