//! The field table of Cursor agents.

use agentry_text::Data;

use super::NAME;
use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::fields::{
    ModelName, TargetField, field, is_primary, is_switch, is_text, model_field, read_description,
    write_description, write_name,
};
use crate::original::{self, OriginalFrontMatter};
use crate::render_result::LossKind::Dropped;
use crate::render_result::RenderedAgent;
use crate::subject::RenderSubject;

const NO_PLACE: &str = "Cursor has no place for it";
const NO_LIST: &str = "asked about; an agent without it becomes a rule";

pub(super) const FIELDS: &[TargetField] = &[
    // Without a name, the file name counts.
    field("name").stands_for("name", Yes("`name`")).writes(|subject, _| Some(write_name(subject))),
    field("description")
        .stands_for("description", Yes("`description`"))
        .reads(read_description)
        .writes(|subject, _| Some(write_description(subject))),
    field("model")
        .stands_for("model", Partly("`model`, the first without its provider"))
        .reads(|value, draft| match value.as_str() {
            Some("inherit") => {}
            // Whatever Cursor takes for it; no other harness has such a name.
            Some(fast @ "fast") => {
                original::set(&mut draft.agent, NAME, original::MODEL, Data::str(fast));
            }
            _ => MODEL.read(value, draft),
        })
        .writes(model),
    // A read-only agent edits nothing, and Cursor asks before its commands.
    field("readonly"),
    field("is_background").preferred(is_switch),
    // Fields of a rule.
    field("globs").preferred(is_text),
    field("alwaysApply").preferred(is_switch),
    model_field("display_name", No("no place")).loses(Dropped, NO_PLACE),
    model_field("mode", Partly("every agent is a subagent")).loses_when(
        is_primary,
        Dropped,
        "every agent of Cursor is a subagent",
    ),
    model_field("tags", No("no place")).loses(Dropped, NO_PLACE),
    model_field("max_turns", No("no place")).loses(Dropped, NO_PLACE),
    model_field("temperature", No("no place")).loses(Dropped, NO_PLACE),
    model_field("skills", Yes("`.cursor/skills`")),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("tools.mcp", No("servers are those of the project"))
        .loses(Dropped, "servers of Cursor are set up for all agents, in `.cursor/mcp.json`"),
    model_field("permissions.bash", Partly(NO_LIST)),
    model_field("permissions.edit", Partly("shown for review, or `readonly`")),
    model_field("permissions.read", Partly("all of the workspace, or a rule")),
    model_field("permissions.webfetch", Partly(NO_LIST)),
    model_field(
        "permissions.websearch",
        Partly("not asked about; an agent without it becomes a rule"),
    ),
    model_field("permissions.question", No("a subagent asks nobody")),
    model_field("permissions.external_directory", Partly("Cursor asks")),
    model_field("permissions.mcp", Partly(NO_LIST)),
    model_field("permissions.tool", No("no other tools")),
    model_field("permissions.skill", No("skills are for all agents")),
    model_field("permissions.delegate", Partly("every agent, or a rule")),
    model_field("permissions.env", No("not looked at")),
];

const MODEL: ModelName =
    ModelName { harness: NAME, named, loss: "Cursor takes one model, by its own name for it" };

/// Returns the name of a model in Cursor, which uses no provider prefix.
fn named(model: &str) -> Option<String> {
    model.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Writes the model, or `fast` if the agent was imported with it and names no other one.
fn model(subject: &RenderSubject, out: &mut RenderedAgent) -> Option<Data> {
    let fast = Data::str("fast");
    let is_fast = OriginalFrontMatter::of(&subject.agent, NAME).has(original::MODEL, &fast);
    if is_fast && subject.agent.model.preferred.is_none() {
        return Some(fast);
    }
    MODEL.write(subject, out)
}
