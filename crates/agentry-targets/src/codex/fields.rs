//! The field table of Codex agents. Codex ignores an agent with an unknown field or value.

use std::collections::BTreeSet;

use agentry_text::Data;

use super::NAME;
use super::role::{TEMPORARY, is_feature};
use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::fields::{
    ModelName, TargetField, field, is_primary, is_word, model_field, write_description, write_name,
};
use crate::render_result::LossKind::Dropped;

const NO_PLACE: &str = "the file of an agent of Codex has no place for it";

pub(super) const FIELDS: &[TargetField] = &[
    field("name").stands_for("name", Yes("`name`")).writes(|subject, _| Some(write_name(subject))),
    field("description")
        .stands_for("description", Yes("`description`"))
        .writes(|subject, _| Some(write_description(subject))),
    field("model")
        .stands_for("model", Partly("`model`, the first that Codex knows"))
        .reads(|value, draft| MODEL.read(value, draft))
        .writes(|subject, out| MODEL.write(subject, out)),
    field("model_reasoning_effort").preferred(|value| {
        is_one_of(value, &["none", "minimal", "low", "medium", "high", "xhigh"])
    }),
    field("model_reasoning_summary").preferred(is_word),
    field("model_verbosity").preferred(is_word),
    field("personality").preferred(is_word),
    field("service_tier").preferred(is_word),
    field("nickname_candidates").preferred(are_names),
    field("sandbox_mode").grants(|_, value| is_one_of(value, &["read-only", "workspace-write"])),
    // `untrusted` is no longer supported.
    field("approval_policy")
        .grants(|_, value| is_one_of(value, &["on-failure", "on-request", "never"])),
    field("web_search").grants(|_, value| is_one_of(value, &["disabled", "cached", "live"])),
    field("developer_instructions"),
    field("features").grants(|_, value| match value {
        Data::Map(fields) => fields.iter().all(|(key, value)| is_feature(key, value)),
        _ => false,
    }),
    field("tools").grants(|_, value| has_switches(value, &["view_image"])),
    field("skills").grants(|_, value| has_switches(value, &["include_instructions"])),
    field("sandbox_workspace_write").grants(|_, value| has_switches(value, &TEMPORARY)),
    field("mcp_servers").reads(|value, draft| draft.servers(value)),
    model_field("display_name", No("no place")).loses(Dropped, NO_PLACE),
    model_field("mode", Partly("every agent is a subagent"))
        .loses_when(is_primary, Dropped, NO_PLACE),
    model_field("tags", No("an unknown field makes Codex ignore the agent"))
        .loses(Dropped, NO_PLACE),
    model_field("max_turns", No("no place")).loses(Dropped, NO_PLACE),
    model_field("temperature", No("no place")).loses(Dropped, NO_PLACE),
    model_field("skills", Yes("`.agents/skills`")),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("tools.mcp", No("servers are those of the session")).loses(Dropped, NO_PLACE),
    model_field(
        "permissions.bash",
        Partly("`features.shell_tool`, `approval_policy`, `prefix_rule`"),
    ),
    model_field("permissions.edit", Partly("`sandbox_mode`, `approval_policy`")),
    // Every sandbox can read every file.
    model_field("permissions.read", Partly("all or nothing")),
    // `live` if every fetch and search is allowed, `cached` if only every search is.
    model_field("permissions.webfetch", Partly("`web_search`")),
    model_field("permissions.websearch", Partly("`web_search`")),
    model_field("permissions.question", No("not for agents")),
    model_field("permissions.external_directory", Partly("`sandbox_mode`")),
    model_field("permissions.mcp", No("servers are those of the session")),
    model_field("permissions.tool", No("no other tools")),
    model_field("permissions.skill", Partly("`skills.include_instructions`")),
    model_field("permissions.delegate", No("a subagent starts no other one")),
    model_field("permissions.env", No("not looked at")),
];

const MODEL: ModelName =
    ModelName { harness: NAME, named, loss: "Codex takes one model, which is OpenAI's" };

/// Returns the name of a model in Codex; `None` if Codex does not know it.
fn named(model: &str) -> Option<String> {
    let name = model.strip_prefix("openai/").unwrap_or(model);
    let known = ["gpt-", "codex-", "o1", "o3", "o4"];
    known.iter().any(|start| name.starts_with(start)).then(|| name.to_owned())
}

fn is_one_of(value: &Data, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&word))
}

/// Whether a table contains only these switches.
fn has_switches(value: &Data, known: &[&str]) -> bool {
    let Data::Map(fields) = value else { return false };
    fields
        .iter()
        .all(|(key, value)| known.contains(&key.as_str()) && matches!(value, Data::Bool(_)))
}

/// Whether these are distinct names that Codex could give to an agent.
fn are_names(data: &Data) -> bool {
    let Data::List(items) = data else { return false };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let is_name = |name: &str| !name.trim().is_empty() && name.chars().all(fits);
    let names: BTreeSet<&str> = items.iter().filter_map(Data::as_str).map(str::trim).collect();
    !names.is_empty() && names.len() == items.len() && names.into_iter().all(is_name)
}
