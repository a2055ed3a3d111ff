//! GitHub Copilot: one Markdown file an agent, which says what tools it has and nothing else.
//!
//! | model | Copilot |
//! | --- | --- |
//! | `name` | the name of the file: `.github/agents/NAME.agent.md`, for the user `~/.copilot/agents` |
//! | `display_name` | `name` |
//! | `description` | the same |
//! | `mode` | primary: `disable-model-invocation`; subagent: `user-invocable: false` |
//! | `model.preferred` | `model`, the first without a provider |
//! | prompt, `context`, `rules` | the body, at most 30,000 characters |
//! | `skills` | files are copied to `.github/skills` unless Copilot finds them by itself |
//! | `tools.mcp` | `mcp-servers`, and `SERVER/*` among the tools |
//! | `permissions.bash` | `execute`, if everything is allowed |
//! | `permissions.edit`, `.read` | `edit`; `read` and `search`. Copilot itself asks outside the workspace |
//! | `permissions.webfetch`, `.websearch` | `web`, if all of both is allowed |
//! | `permissions.delegate` | `agent`, if everything is allowed |
//! | `permissions.tool` | `todo`, if that one is allowed |
//! | `permissions.question`, `.skill`, `.env`, `tags`, `max_turns`, `temperature` | dropped |
//!
//! There are no rules: what is not allowed as a whole is left out. The list of tools is always
//! written, since an agent without one has all of them. Some of the programs that read these files ask
//! before a command or a change, others do not: so a tool counts as one that never asks where it is
//! written, and as one that asks where it is read.

mod import;
mod tools;
mod write;

use crate::gap::{Blind, Line};
use crate::import::Import;
use agentry_text::Data;

use crate::kept::{Kept, kept};
use crate::own_words::Words;
use crate::{HarnessPlace, Support, Target};

/// What the user calls it.
const NAME: &str = "copilot";

/// What an agent keeps for Copilot.
const KEPT: &[Kept] = &[
    kept("argument-hint", |data| data.as_str().is_some()),
    kept("target", |data| matches!(data.as_str(), Some("vscode" | "github-copilot"))),
    kept("handoffs", |data| matches!(data, Data::List(_))),
    kept("metadata", |data| matches!(data, Data::Map(_))),
];

/// GitHub Copilot.
pub static TARGET: Target = Target {
    name: NAME,
    title: "GitHub Copilot",
    built_in: &[
        "ask",
        "agent",
        "plan",
        "edit",
        "explore",
        "task",
        "general-purpose",
        "code-review",
    ],
    places: &[
        HarnessPlace::rendered(".github/agents/"),
        HarnessPlace::rendered(".github/skills/"),
        HarnessPlace::rendered(".copilot/"),
    ],
    supports: SUPPORTS,
    one_primary: false,
    render: write::render,
    model: tools::model,
    personal: None,
    blind: BLIND,
    guard: None,
    import: Some(Import {
        places: &[(".github/agents", ".md"), (".copilot/agents", ".md")],
        is_one: import::is_one,
        several: None,
        read: import::read,
        overrides: false,
        words: Some(Words::new(&["tools", "agents"], import::fits)),
    }),
};

/// The keys that Copilot and the programs around it know.
const KEYS: &[&str] = &[
    "name",
    "description",
    "target",
    "tools",
    "model",
    "disable-model-invocation",
    "user-invocable",
    "user-invokable",
    "infer",
    "mcp-servers",
    "metadata",
    "argument-hint",
    "mode",
    "hidden",
    "agents",
    "handoffs",
    "agent",
];

const BLIND: &[Blind] = &[Blind {
    name: "commands",
    why: "Copilot does not look at what a command does",
    lines: |command| {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        let lines = [command, "cat .env", "curl https://example.org/"];
        let plain = lines.map(|line| Line::new(line, words(line)));
        let redirected = Line::new(format!("{command} > x"), words(command));
        plain.into_iter().chain([redirected]).collect()
    },
}];

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("file name")),
    ("description", Support::Yes("`description`")),
    ("display_name", Support::Yes("`name`")),
    ("mode", Support::Yes("`disable-model-invocation`, `user-invocable`")),
    ("tags", Support::No("no place")),
    ("max_turns", Support::No("no place")),
    ("temperature", Support::No("no place")),
    ("model", Support::Partly("`model`, the first without a provider")),
    ("skills", Support::Yes("`.github/skills`")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::Yes("`mcp-servers`")),
    ("permissions.bash", Support::Partly("`execute` or not")),
    ("permissions.edit", Support::Partly("`edit` or not")),
    ("permissions.read", Support::Partly("`read`, `search` or not")),
    ("permissions.webfetch", Support::Partly("`web` or not")),
    ("permissions.websearch", Support::Partly("`web` or not")),
    ("permissions.question", Support::No("no such tool")),
    ("permissions.external_directory", Support::Partly("Copilot asks")),
    ("permissions.mcp", Support::Partly("`SERVER/*` or not")),
    ("permissions.tool", Support::Partly("`todo` or not")),
    ("permissions.skill", Support::No("skills are for all agents")),
    ("permissions.delegate", Support::Partly("`agent` or not")),
    ("permissions.env", Support::No("not looked at")),
];
