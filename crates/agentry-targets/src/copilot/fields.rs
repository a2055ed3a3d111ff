//! The field table of GitHub Copilot agents. The name of an agent is its file name.

use agentry_model::AgentMode;
use agentry_policy::Section;
use agentry_text::Data;

use super::NAME;
use super::import::{is_agent_list, is_tool_list};
use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::draft::at;
use crate::fields::{
    ModelName, TargetField, field, is_text, model_field, read_description, write_description,
};
use crate::front_matter::list_items;
use crate::original::{self, OriginalFrontMatter};
use crate::render_result::LossKind::Dropped;
use crate::render_result::RenderedAgent;
use crate::subject::RenderSubject;

const NO_PLACE: &str = "Copilot has no place for it";
const UNDOCUMENTED: &str = "GitHub Copilot says nothing about it";

pub(super) const FIELDS: &[TargetField] = &[
    model_field("name", Yes("file name")),
    field("name")
        .stands_for("display_name", Yes("`name`"))
        .reads(|value, draft| {
            let shown = value.as_str().filter(|shown| *shown != draft.agent.name());
            draft.agent.identity.display_name = shown.map(|shown| at(shown.to_owned()));
        })
        .writes(|subject, _| {
            let shown = subject.agent.identity.display_name.as_ref();
            Some(Data::str(shown.map_or(subject.name.as_str(), |name| &name.value)))
        }),
    field("description")
        .stands_for("description", Yes("`description`"))
        .reads(read_description)
        .writes(|subject, _| Some(write_description(subject))),
    field("disable-model-invocation")
        .stands_for("mode", Yes("`disable-model-invocation`, `user-invocable`"))
        .writes(|subject, _| has_mode(subject, AgentMode::Primary).then_some(Data::Bool(true))),
    field("user-invocable")
        .writes(|subject, _| has_mode(subject, AgentMode::Subagent).then_some(Data::Bool(false))),
    // Older names of these two fields.
    field("user-invokable"),
    field("infer"),
    field("mode"),
    field("model")
        .stands_for("model", Partly("`model`, the first without a provider"))
        .reads(|value, draft| {
            let models = list_items(value).unwrap_or_default();
            draft.models(models.iter().map(String::as_str));
            draft.keep_model(NAME, |model| named(model).is_some());
        })
        .writes(model),
    field("tools").grants(|_, value| is_tool_list(value)),
    field("agents").grants(|_, value| is_agent_list(value)),
    field("mcp-servers")
        .stands_for("tools.mcp", Yes("`mcp-servers`"))
        .reads(|value, draft| draft.servers(value)),
    field("argument-hint").preferred(is_text),
    field("target").preferred(|value| matches!(value.as_str(), Some("vscode" | "github-copilot"))),
    field("handoffs").preferred(|value| matches!(value, Data::List(_))),
    field("metadata").preferred(|value| matches!(value, Data::Map(_))),
    model_field("tags", No("no place")).loses(Dropped, NO_PLACE),
    model_field("max_turns", No("no place")).loses(Dropped, NO_PLACE),
    model_field("temperature", No("no place")).loses(Dropped, NO_PLACE),
    model_field("skills", Yes("`.github/skills`")),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field("permissions.bash", Partly("`execute` or not")),
    model_field("permissions.edit", Partly("`edit` or not")),
    model_field("permissions.read", Partly("`read`, `search` or not")),
    model_field("permissions.webfetch", Partly("`web` or not")),
    model_field("permissions.websearch", Partly("`web` or not")),
    model_field("permissions.question", No("no such tool")).loses_when(
        |subject| subject.grants(Section::Question),
        Dropped,
        UNDOCUMENTED,
    ),
    model_field("permissions.external_directory", Partly("Copilot asks")),
    model_field("permissions.mcp", Partly("`SERVER/*` or not")),
    model_field("permissions.tool", Partly("`todo` or not")),
    model_field("permissions.skill", No("skills are for all agents")).loses_when(
        |subject| subject.grants(Section::Skill),
        Dropped,
        UNDOCUMENTED,
    ),
    model_field("permissions.delegate", Partly("`agent` or not")),
    model_field("permissions.env", No("not looked at")),
];

const MODEL: ModelName =
    ModelName { harness: NAME, named, loss: "Copilot takes one model, by its own name for it" };

/// Returns the name of a model in Copilot, which uses no provider prefix.
fn named(model: &str) -> Option<String> {
    (!model.contains('/')).then(|| model.to_owned())
}

/// Writes the first model that Copilot knows, or the whole original list.
fn model(subject: &RenderSubject, out: &mut RenderedAgent) -> Option<Data> {
    let preferred = subject.agent.model.preferred.as_ref()?;
    let all = Data::strings(preferred.iter().map(|model| &model.value));
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    if preferred.len() > 1 && original.has(original::MODEL, &all) {
        return Some(all);
    }
    MODEL.write(subject, out)
}

fn has_mode(subject: &RenderSubject, mode: AgentMode) -> bool {
    subject.agent.identity.mode.is_some_and(|known| known.value == mode)
}
