//! The field table of OpenCode agents. The name is the file name; a `name` field would rename the agent.

use agentry_model::AgentMode;
use agentry_text::Data;

use super::NAME;
use super::grants::{is_permission, is_tool_map};
use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::draft::at;
use crate::fields::{
    ModelName, TargetField, field, is_switch, is_word, model_field, read_description,
    read_temperature, read_turns, write_temperature,
};
use crate::render_result::LossKind::{self, Dropped, Gap};
use crate::render_result::RenderedAgent;
use crate::subject::RenderSubject;

pub(super) const FIELDS: &[TargetField] = &[
    field("name"),
    model_field("name", Yes("file name")),
    field("description")
        .stands_for("description", Yes("`description`"))
        .reads(read_description)
        .writes(|subject, _| {
            subject.agent.identity.description.as_ref().map(|text| Data::str(&text.value))
        }),
    field("mode")
        .stands_for("mode", Yes("`mode`"))
        .reads(|value, draft| {
            draft.agent.identity.mode = value.as_str().and_then(|mode| mode.parse().ok()).map(at);
            if draft.agent.identity.mode.is_none() {
                let value = value.to_json();
                let detail = format!("{value} is not a mode, and OpenCode does not start with it");
                draft.lose("mode", LossKind::Dropped, detail);
            }
        })
        .writes(|subject, _| {
            let mode = subject.agent.identity.mode.map_or(AgentMode::All, |mode| mode.value);
            Some(Data::str(mode.as_str()))
        }),
    field("model")
        .stands_for("model", Partly("`model`, the first that names its provider"))
        .reads(|value, draft| MODEL.read(value, draft))
        .writes(|subject, out| MODEL.write(subject, out)),
    field("temperature")
        .stands_for("temperature", Yes("`temperature`"))
        .reads(read_temperature)
        .writes(write_temperature),
    // The older name of `steps`; if both are set, `steps` counts.
    field("maxSteps").reads(read_turns),
    field("steps")
        .stands_for("max_turns", Partly("`steps`, a reminder and no hard limit"))
        .reads(read_turns)
        .writes(steps)
        .loses_when(
            has_steps,
            Gap,
            "`steps` only reminds the model; OpenCode continues if it does not stop",
        ),
    // OpenCode does not start with a value that it does not accept.
    field("color").preferred(|value| value.as_str().is_some_and(is_color)),
    field("hidden").preferred(is_switch),
    field("top_p")
        .preferred(|value| matches!(value, Data::Float(value) if (0.0..=1.0).contains(value))),
    field("variant").preferred(is_word),
    field("permission").grants(|_, value| is_permission(value)),
    field("tools").grants(|_, value| is_tool_map(value)),
    field("disable"),
    model_field("display_name", No("`name` would change the identifier"))
        .loses(Dropped, "a `name` field would change the identifier"),
    model_field("tags", No("unknown fields are sent to the model provider"))
        .loses(Dropped, "OpenCode would send unknown fields to the model provider"),
    model_field("skills", Yes("`permission.skill`, `.opencode/skills`")),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("tools.mcp", No("servers are set up for all agents at once")),
    model_field("permissions.bash", Yes("`permission.bash`")),
    model_field("permissions.edit", Yes("`permission.edit`")),
    model_field("permissions.read", Yes("`permission.read`, `glob`, `grep`, `list`, `lsp`")),
    // OpenCode refuses to start with a map here.
    model_field("permissions.webfetch", Partly("one action")),
    model_field("permissions.websearch", Partly("one action")),
    model_field("permissions.question", Partly("one action")),
    model_field("permissions.external_directory", Yes("`permission.external_directory`")),
    model_field("permissions.mcp", Yes("`permission.SERVER_TOOL`")),
    model_field("permissions.tool", Yes("`permission.TOOL`")),
    model_field("permissions.skill", Yes("`permission.skill`")),
    model_field("permissions.delegate", Yes("`permission.task`")),
    // OpenCode reads a variable before a command as part of another command.
    model_field("permissions.env", No("not looked at")),
];

const MODEL: ModelName = ModelName {
    harness: NAME,
    named: |model| model.contains('/').then(|| model.to_owned()),
    loss: "OpenCode takes one model, as `provider/model`",
};

/// Writes the most turns; OpenCode would not start with a value below one.
fn steps(subject: &RenderSubject, _: &mut RenderedAgent) -> Option<Data> {
    let steps = subject.agent.behaviour.max_turns.filter(|steps| steps.value > 0)?;
    Some(Data::Int(steps.value))
}

fn has_steps(subject: &RenderSubject) -> bool {
    subject.agent.behaviour.max_turns.is_some_and(|steps| steps.value > 0)
}

/// Whether a text is `#rrggbb`, or a colour of the theme.
pub(super) fn is_color(text: &str) -> bool {
    let named = ["primary", "secondary", "accent", "success", "warning", "error", "info"];
    let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6);
    named.contains(&text) || hex.is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()))
}
