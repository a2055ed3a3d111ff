//! Gemini CLI: one Markdown file an agent with a list of tools, and rules in a policy file.
//!
//! | model | Gemini |
//! | --- | --- |
//! | `name` | `name`, and the name of the file |
//! | `description`, `display_name`, `max_turns` | the same |
//! | `temperature` | `temperature`, which Gemini 0.61 does not send |
//! | `model.preferred` | `model`, the first of Google's |
//! | prompt, `context`, `rules` | the body, in this order |
//! | `skills` | `activate_skill`; files are copied to `.gemini/skills` unless Gemini finds them |
//! | `tools.mcp` | `mcp_servers`, and `mcp_*` among the tools |
//! | `permissions.bash` | `run_shell_command`, with a `commandRegex` for each rule |
//! | `permissions.edit` | `replace`, `write_file`: one action, never outside the workspace |
//! | `permissions.read` | `read_file`, `list_directory`, `glob`, `grep_search`: the same |
//! | `permissions.webfetch`, `.websearch`, `.question` | `web_fetch`, `google_web_search`, `ask_user` |
//! | `permissions.skill`, `.mcp` | rules by name; where nobody reads them, single tools of servers by their names |
//! | `permissions.tool` | `write_todos`, if that one is allowed |
//! | `permissions.delegate` | left out: an agent of Gemini starts no other one |
//! | `mode`, `tags`, `permissions.env` | dropped |
//!
//! Rules have unique descending priorities and name the agent, so that the first match wins, as in the
//! model. They hold only where Gemini reads them: in the home directory of the user, or with
//! `--policy`. For a project they are written all the same, but the agent has only such tools as it
//! may use without them: whoever starts Gemini may leave `--policy` out.
//!
//! Other policy files of the user change nothing that is written: what they allow beyond the source is
//! a gap of that user.
//!
//! A regular expression stands behind `"command":"` in the arguments as JSON, which anchors its start;
//! its end is anchored by the closing quote. It has no group with a quantifier and at most 2,048
//! characters: Gemini drops a rule whose expression has, and goes on without it. A rule without an
//! expression would be subject to Gemini's own list of harmless commands, which are never asked about.

mod blind;
mod encode;
mod import;
mod import_extensions;
mod import_settings;
mod personal;
mod policy;
mod regex;
mod tools;
mod trust;
mod write;

use crate::import::Import;
use agentry_text::Data;

use crate::kept::{Kept, kept};
use crate::own_words::Words;
use crate::{HarnessPlace, Support, Target, lenient};

/// What the user calls it.
const NAME: &str = "gemini";

/// What an agent keeps for Gemini.
const KEPT: &[Kept] =
    &[kept("timeout_mins", |data| matches!(data, Data::Int(minutes) if *minutes > 0))];

/// Gemini CLI.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Gemini CLI",
    built_in: &[
        "codebase_investigator",
        "cli_help",
        "generalist",
        "browser_agent",
        "memory_manager",
    ],
    places: &[HarnessPlace::rendered(".gemini/")],
    supports: SUPPORTS,
    one_primary: false,
    render: write::render,
    model: tools::model,
    personal: Some(personal::PERSONAL),
    blind: blind::BLIND,
    guard: None,
    import: Some(Import {
        places: &[(".gemini/agents", ".md")],
        is_one: |path, text| path.contains(".gemini/agents/") && lenient::is_meant(text),
        several: None,
        read: import::read,
        overrides: false,
        words: Some(Words::new(&["tools"], import::fits)),
    }),
};

/// The keys of an agent; any other makes Gemini reject it.
const KEYS: &[&str] = &[
    "kind",
    "name",
    "description",
    "display_name",
    "tools",
    "mcp_servers",
    "model",
    "temperature",
    "max_turns",
    "timeout_mins",
];

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("`name`")),
    ("description", Support::Yes("`description`")),
    ("display_name", Support::Yes("`display_name`")),
    ("mode", Support::Partly("every agent is a subagent")),
    ("tags", Support::No("an unknown field makes Gemini reject the agent")),
    ("max_turns", Support::Yes("`max_turns`")),
    ("temperature", Support::Partly("`temperature`, which is not sent")),
    ("model", Support::Partly("`model`, the first of Google's")),
    ("skills", Support::Yes("`activate_skill`, `.gemini/skills`")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::Yes("`mcp_servers`")),
    ("permissions.bash", Support::Yes("rules with `commandRegex`")),
    ("permissions.edit", Support::Partly("one action inside the workspace")),
    ("permissions.read", Support::Partly("one action inside the workspace")),
    ("permissions.webfetch", Support::Partly("one action")),
    ("permissions.websearch", Support::Partly("one action")),
    ("permissions.question", Support::Partly("one action")),
    ("permissions.external_directory", Support::No("files outside are out of reach")),
    ("permissions.mcp", Support::Partly("rules by server, or server and tool")),
    ("permissions.tool", Support::Partly("`write_todos` or not")),
    ("permissions.skill", Support::Yes("rules by name")),
    ("permissions.delegate", Support::No("a subagent starts no other one")),
    ("permissions.env", Support::No("not looked at")),
];
