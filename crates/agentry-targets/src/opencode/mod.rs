//! OpenCode: one Markdown file an agent, with rules of which the last match wins.
//!
//! | model | OpenCode |
//! | --- | --- |
//! | `name` | the name of the file; a `name` field would rename the agent |
//! | `description`, `mode`, `temperature` | the same |
//! | `max_turns` | `steps`, which only reminds the model |
//! | `model.preferred` | `model`, the first one that names its provider |
//! | prompt, `context`, `rules` | the body, in this order |
//! | `skills` | `permission.skill`; files are copied unless OpenCode finds them by itself |
//! | `permissions.bash`, `.edit`, `.read`, `.external_directory`, `.skill`, `.delegate` | pattern maps, the rules in reverse after `"*"` |
//! | `permissions.webfetch`, `.websearch`, `.question` | one action: OpenCode refuses to start on a map |
//! | `permissions.mcp`, `.tool` | keys by name after the first `"*"` |
//! | `permissions.env` | no place; a variable before a command makes it another command there |
//! | `display_name`, `tags`, `tools.mcp` | dropped: servers are set up for all agents at once |
//!
//! The block starts with `"*"` and names every section, so that nothing that holds for all agents
//! decides; `todowrite` and the like are tools by name. Reading a file is asked about by its path,
//! `.env` files always: our catch-all would take away the question that OpenCode has by itself. The
//! tools that are told a pattern instead of a path get the strictest answer of all reading, which is told.
//!
//! With the guard, what is allowed is asked and one plugin for all agents answers. Nothing is denied then
//! that the source permits; where no rule can tell the two apart, what is denied is asked about as well.

mod blind;
mod encode;
mod files;
mod floor;
mod guard;
mod import;
mod import_patterns;
mod import_plugins;
mod import_reading;
mod layers;
mod memo;
mod names;
mod options;
mod paths;
mod ruleset;
mod words;
mod write;

use agentry_text::Data;

pub(crate) use memo::OpencodeMemo;

use crate::kept::{Kept, is_word, kept};
use crate::{Support, Target};

/// What the user calls it.
const NAME: &str = "opencode";

/// What an agent keeps for OpenCode, which does not start with a value that it does not take.
const KEPT: &[Kept] = &[
    kept("color", |data| data.as_str().is_some_and(is_color)),
    kept("hidden", |data| matches!(data, Data::Bool(_))),
    kept("top_p", |data| matches!(data, Data::Float(value) if (0.0..=1.0).contains(value))),
    kept("variant", is_word),
];

/// `#rrggbb`, or a colour of the theme.
fn is_color(text: &str) -> bool {
    let named = ["primary", "secondary", "accent", "success", "warning", "error", "info"];
    let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6);
    named.contains(&text) || hex.is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()))
}

/// OpenCode.
pub static TARGET: Target = Target {
    name: NAME,
    title: "OpenCode",
    built_in: &["build", "plan", "general", "explore", "compaction", "title", "summary"],
    places: &[".opencode/", ".config/opencode/"],
    supports: SUPPORTS,
    one_primary: false,
    render: write::render,
    model: ruleset::model,
    personal: None,
    blind: blind::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("file name")),
    ("description", Support::Yes("`description`")),
    ("display_name", Support::No("`name` would change the identifier")),
    ("mode", Support::Yes("`mode`")),
    ("tags", Support::No("unknown fields are sent to the model provider")),
    ("max_turns", Support::Partly("`steps`, a reminder and no hard limit")),
    ("temperature", Support::Yes("`temperature`")),
    ("model", Support::Partly("`model`, the first that names its provider")),
    ("skills", Support::Yes("`permission.skill`, `.opencode/skills`")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::No("servers are set up for all agents at once")),
    ("permissions.bash", Support::Yes("`permission.bash`")),
    ("permissions.edit", Support::Yes("`permission.edit`")),
    ("permissions.read", Support::Yes("`permission.read`, `glob`, `grep`, `list`, `lsp`")),
    ("permissions.webfetch", Support::Partly("one action")),
    ("permissions.websearch", Support::Partly("one action")),
    ("permissions.question", Support::Partly("one action")),
    ("permissions.external_directory", Support::Yes("`permission.external_directory`")),
    ("permissions.mcp", Support::Yes("`permission.SERVER_TOOL`")),
    ("permissions.tool", Support::Yes("`permission.TOOL`")),
    ("permissions.skill", Support::Yes("`permission.skill`")),
    ("permissions.delegate", Support::Yes("`permission.task`")),
    ("permissions.env", Support::No("not looked at")),
];
