//! The field table of AGENTS.md, which is plain text and has no fields itself.

use agentry_model::AgentMode;

use crate::FieldSupport::{No, Prompt, Yes};
use crate::fields::{TargetField, model_field};
use crate::render_result::LossKind::Dropped;

const NO_PLACE: &str = "AGENTS.md has no place for it";

pub(super) const FIELDS: &[TargetField] = &[
    model_field("name", Yes("heading")),
    model_field("description", Yes("first paragraph")),
    model_field("display_name", Yes("first paragraph")),
    model_field("mode", No("no place")).loses_when(
        |subject| subject.agent.identity.mode.is_some_and(|mode| mode.value != AgentMode::All),
        Dropped,
        NO_PLACE,
    ),
    model_field("tags", No("no place")).loses(Dropped, NO_PLACE),
    model_field("max_turns", No("no place")).loses(Dropped, NO_PLACE),
    model_field("temperature", No("no place")).loses(Dropped, NO_PLACE),
    model_field("model", No("no place")).loses(Dropped, NO_PLACE),
    model_field("skills", No("no place")).loses(Dropped, NO_PLACE),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("tools.mcp", No("no place")).loses(Dropped, NO_PLACE),
    // A list of limits at the end of the section. Nothing enforces it, which is reported.
    model_field("permissions.bash", Prompt),
    model_field("permissions.edit", Prompt),
    model_field("permissions.read", Prompt),
    model_field("permissions.webfetch", Prompt),
    model_field("permissions.websearch", Prompt),
    model_field("permissions.question", Prompt),
    model_field("permissions.external_directory", Prompt),
    model_field("permissions.mcp", Prompt),
    model_field("permissions.tool", Prompt),
    model_field("permissions.skill", Prompt),
    model_field("permissions.delegate", Prompt),
    model_field("permissions.env", Prompt),
];
