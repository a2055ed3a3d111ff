//! Codex: one TOML file an agent, rules about commands for everybody at once.
//!
//! | model | Codex |
//! | --- | --- |
//! | `name`, `description` | the same; the file is `.codex/agents/NAME.toml` |
//! | `model.preferred` | `model`, the first that Codex knows |
//! | prompt, `context`, `rules` | `developer_instructions`, in this order |
//! | `skills` | files are copied to `.agents/skills`; `skills.include_instructions` |
//! | `permissions.bash` | `features.shell_tool`, `approval_policy`, and `prefix_rule`s |
//! | `permissions.edit` | `sandbox_mode` and `approval_policy`: one of four answers |
//! | `permissions.read` | all or nothing: every sandbox can read every file |
//! | `permissions.webfetch`, `.websearch` | `web_search`: `live` if all of both is allowed, `cached` if all searches are |
//! | `permissions.question`, `.mcp`, `.tool`, `.delegate`, `.env`, `tools.mcp` | left out |
//! | `display_name`, `mode`, `tags`, `max_turns`, `temperature` | dropped |
//!
//! Of several ways to set an agent up, the first is chosen that permits no more than the source; the
//! last one permits nothing. `danger-full-access` is never among them.
//!
//! Rules about commands are prefixes of words; the strictest of all that match decides. They hold for
//! every session and every agent of a project, so that only such are written as all rendered agents
//! want, and never one that allows something.
//!
//! What other files in `.codex/rules` of the project allow counts; what they forbid is not relied on.
//! What the user's own `~/.codex/rules` allow is a gap of that user.
//!
//! Codex 0.166 takes only the instructions, the model and what is switched off (`features.shell_tool`,
//! `skills.include_instructions`) from the file of an agent. Sandbox, approvals, search and servers are
//! those of the session that starts it (seen by running it; the documentation says otherwise). So they
//! are written for what they say and for other versions, and told as a gap, with the command that
//! starts a session that is as strict.

mod blind;
mod calls;
mod import;
mod listed;
mod prefix;
mod rivals;
mod role;
mod servers;
mod setup;
mod write;

use crate::import::Import;
use std::collections::BTreeSet;

use agentry_text::Data;

use crate::kept::{Kept, is_word, kept};
use crate::own_words::Words;
use crate::{HarnessPlace, Support, Target};

/// What the user calls it.
const NAME: &str = "codex";

/// What an agent keeps for Codex, which ignores an agent with a value that it does not take.
const KEPT: &[Kept] = &[
    kept("model_reasoning_effort", |data| {
        let words = ["none", "minimal", "low", "medium", "high", "xhigh"];
        data.as_str().is_some_and(|word| words.contains(&word))
    }),
    kept("model_reasoning_summary", is_word),
    kept("model_verbosity", is_word),
    kept("personality", is_word),
    kept("service_tier", is_word),
    kept("nickname_candidates", are_names),
];

/// Whether these are different names that Codex could give to an agent.
fn are_names(data: &Data) -> bool {
    let Data::List(items) = data else { return false };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let is_name = |name: &str| !name.trim().is_empty() && name.chars().all(fits);
    let names: BTreeSet<&str> = items.iter().filter_map(Data::as_str).map(str::trim).collect();
    !names.is_empty() && names.len() == items.len() && names.into_iter().all(is_name)
}

/// Codex.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Codex",
    built_in: &["default", "explorer", "worker", "awaiter", "monitor"],
    places: &[HarnessPlace::rendered(".codex/"), HarnessPlace::rendered(".agents/skills/")],
    supports: SUPPORTS,
    one_primary: false,
    render: write::render,
    model: role::model,
    personal: Some(role::PERSONAL),
    blind: blind::BLIND,
    guard: None,
    import: Some(Import {
        places: &[(".codex/agents", ".toml")],
        is_one: |path, _| path.contains(".codex/agents/"),
        several: Some(import::SEVERAL),
        read: import::read,
        overrides: true,
        words: Some(Words::new(role::WORDS, role::fits)),
    }),
};

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("`name`")),
    ("description", Support::Yes("`description`")),
    ("display_name", Support::No("no place")),
    ("mode", Support::Partly("every agent is a subagent")),
    ("tags", Support::No("an unknown field makes Codex ignore the agent")),
    ("max_turns", Support::No("no place")),
    ("temperature", Support::No("no place")),
    ("model", Support::Partly("`model`, the first that Codex knows")),
    ("skills", Support::Yes("`.agents/skills`")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::No("servers are those of the session")),
    (
        "permissions.bash",
        Support::Partly("`features.shell_tool`, `approval_policy`, `prefix_rule`"),
    ),
    ("permissions.edit", Support::Partly("`sandbox_mode`, `approval_policy`")),
    ("permissions.read", Support::Partly("all or nothing")),
    ("permissions.webfetch", Support::Partly("`web_search`")),
    ("permissions.websearch", Support::Partly("`web_search`")),
    ("permissions.question", Support::No("not for agents")),
    ("permissions.external_directory", Support::Partly("`sandbox_mode`")),
    ("permissions.mcp", Support::No("servers are those of the session")),
    ("permissions.tool", Support::No("no other tools")),
    ("permissions.skill", Support::Partly("`skills.include_instructions`")),
    ("permissions.delegate", Support::No("a subagent starts no other one")),
    ("permissions.env", Support::No("not looked at")),
];
