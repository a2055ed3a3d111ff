//! The field table of Gemini CLI agents. Any other field makes Gemini reject the agent.

use agentry_text::Data;

use super::NAME;
use super::import::is_tool_list;
use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::fields::{
    ModelName, TargetField, field, is_primary, model_field, read_description, read_display_name,
    read_temperature, read_turns, write_description, write_display_name, write_name,
    write_temperature, write_turns,
};
use crate::render_result::LossKind::Dropped;

pub(super) const FIELDS: &[TargetField] = &[
    field("kind").writes(|_, _| Some(Data::str("local"))),
    field("name").stands_for("name", Yes("`name`")).writes(|subject, _| Some(write_name(subject))),
    field("description")
        .stands_for("description", Yes("`description`"))
        .reads(read_description)
        .writes(|subject, _| Some(write_description(subject))),
    field("display_name")
        .stands_for("display_name", Yes("`display_name`"))
        .reads(read_display_name)
        .writes(write_display_name),
    field("model")
        .stands_for("model", Partly("`model`, the first of Google's"))
        .reads(|value, draft| {
            if value.as_str() != Some("inherit") {
                MODEL.read(value, draft);
            }
        })
        .writes(|subject, out| MODEL.write(subject, out)),
    field("temperature")
        .stands_for("temperature", Partly("`temperature`, which is not sent"))
        .reads(read_temperature)
        .writes(write_temperature)
        .loses(Dropped, "Gemini 0.61 does not send it"),
    field("max_turns")
        .stands_for("max_turns", Yes("`max_turns`"))
        .reads(read_turns)
        .writes(write_turns),
    field("timeout_mins").preferred(|value| matches!(value, Data::Int(minutes) if *minutes > 0)),
    field("tools").grants(|_, value| is_tool_list(value)),
    field("mcp_servers")
        .stands_for("tools.mcp", Yes("`mcp_servers`"))
        .reads(|value, draft| draft.servers(value)),
    model_field("mode", Partly("every agent is a subagent")).loses_when(
        is_primary,
        Dropped,
        "every agent of Gemini is a subagent",
    ),
    model_field("tags", No("an unknown field makes Gemini reject the agent"))
        .loses(Dropped, "Gemini rejects an agent with fields that it does not know"),
    model_field("skills", Yes("`activate_skill`, `.gemini/skills`")),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("permissions.bash", Yes("rules with `commandRegex`")),
    model_field("permissions.edit", Partly("one action inside the workspace")),
    model_field("permissions.read", Partly("one action inside the workspace")),
    model_field("permissions.webfetch", Partly("one action")),
    model_field("permissions.websearch", Partly("one action")),
    model_field("permissions.question", Partly("one action")),
    model_field("permissions.external_directory", No("files outside are out of reach")),
    model_field("permissions.mcp", Partly("rules by server, or server and tool")),
    model_field("permissions.tool", Partly("`write_todos` or not")),
    model_field("permissions.skill", Yes("rules by name")),
    model_field("permissions.delegate", No("a subagent starts no other one")),
    model_field("permissions.env", No("not looked at")),
];

const MODEL: ModelName =
    ModelName { harness: NAME, named, loss: "Gemini takes one model, which is Google's" };

/// Returns the name of a model in Gemini; `None` if it is not one of Google's.
pub(super) fn named(model: &str) -> Option<String> {
    let name = model.strip_prefix("google/").or_else(|| model.strip_prefix("gemini/"));
    let name = name.unwrap_or(model);
    name.starts_with("gemini-").then(|| name.to_owned())
}
