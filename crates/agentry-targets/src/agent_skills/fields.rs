//! The field table of a skill: how each field of the model is written.

use agentry_text::Data;
use agentry_text::data::MapBuilder;

use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::fields::{TargetField, field, model_field, write_name};
use crate::render_result::LossKind::Dropped;
use crate::render_result::RenderedAgent;
use crate::subject::RenderSubject;

const NO_PLACE: &str = "a skill has no place for it";
const ALL_ALLOWED: &str = "`allowed-tools` where everything is allowed";

pub(super) const FIELDS: &[TargetField] = &[
    field("name").stands_for("name", Yes("`name`")).writes(|subject, _| Some(write_name(subject))),
    field("description")
        .stands_for("description", Yes("`description`"))
        .writes(|subject, out| Some(description(subject, out))),
    field("license").writes(|subject, _| {
        subject.agent.identity.license.as_ref().map(|text| Data::str(&text.value))
    }),
    field("metadata").stands_for("display_name", Yes("`metadata`")).writes(about),
    field("allowed-tools"),
    model_field("mode", No("no place")).loses(Dropped, NO_PLACE),
    model_field("tags", Yes("`metadata`")),
    model_field("max_turns", No("no place")).loses(Dropped, NO_PLACE),
    model_field("temperature", No("no place")).loses(Dropped, NO_PLACE),
    model_field("model", No("no place")).loses(Dropped, NO_PLACE),
    model_field("skills", Yes("beside it")),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("tools.mcp", No("no place")).loses(Dropped, NO_PLACE),
    model_field("permissions.bash", Partly(ALL_ALLOWED)),
    model_field("permissions.edit", Partly(ALL_ALLOWED)),
    model_field("permissions.read", Partly(ALL_ALLOWED)),
    model_field("permissions.webfetch", Partly(ALL_ALLOWED)),
    model_field("permissions.websearch", Partly(ALL_ALLOWED)),
    // A list of limits in the body. Nothing enforces it, which is reported.
    model_field("permissions.question", Prompt),
    model_field("permissions.external_directory", Prompt),
    model_field("permissions.mcp", Prompt),
    model_field("permissions.tool", Prompt),
    model_field("permissions.skill", Prompt),
    model_field("permissions.delegate", Prompt),
    model_field("permissions.env", Prompt),
];

/// The description, which the standard limits to 1024 characters.
fn description(subject: &RenderSubject, out: &mut RenderedAgent) -> Data {
    let text = subject.description();
    let length = text.chars().count();
    if length > 1024 {
        let message = format!("the description has {length} characters; a skill has at most 1024");
        out.refuse("description", message, Some("write a shorter one"));
    }
    Data::str(text)
}

/// The `metadata` field, for values without their own field in the standard.
fn about(subject: &RenderSubject, _: &mut RenderedAgent) -> Option<Data> {
    let identity = &subject.agent.identity;
    let mut about = MapBuilder::new();
    about.str_opt("display-name", identity.display_name.as_ref().map(|text| &text.value));
    about.str_opt("version", identity.version.as_ref().map(|text| &text.value));
    about.str_opt("author", identity.author.as_ref().map(|text| &text.value));
    let tags: Vec<&str> = identity.tags.iter().flatten().map(|tag| tag.value.as_str()).collect();
    about.set_opt("tags", (!tags.is_empty()).then(|| Data::str(tags.join(", "))));
    Some(about.build()).filter(|about| !about.is_empty())
}
