//! The fields of a target as rows: the name in the harness, the place in the model, how the field is read
//! and written, what is lost, and whether the original value of an imported file may be restored.
//!
//! Import, rendering, loss reports, the list of known fields and the support matrix all come from these
//! rows. A file is written in the order of the rows.

use agentry_model::AgentMode;
use agentry_text::Data;
use agentry_text::data::MapBuilder;

use crate::FieldSupport;
use crate::draft::{ImportDraft, at};
use crate::original::{self, OriginalFrontMatter};
use crate::render_result::{LossKind, RenderedAgent};
use crate::subject::RenderSubject;

/// A field of a harness, a field of the model, or a pair of both.
#[derive(Debug, Clone, Copy)]
pub struct TargetField {
    /// The name in the metadata of the harness; empty where the harness has no such field.
    pub name: &'static str,
    /// The place in the model, such as `max_turns`; empty for a field that only the harness has.
    pub place: &'static str,
    /// How the harness supports the field of the model, for the support matrix.
    pub support: Option<FieldSupport>,
    /// Reads a value of the harness into the model.
    pub(crate) read: Option<fn(&Data, &mut ImportDraft)>,
    /// Writes the value for the harness; `None` leaves the field out.
    pub(crate) write: Option<fn(&RenderSubject, &mut RenderedAgent) -> Option<Data>>,
    /// What is lost of the field of the model.
    pub(crate) loss: Option<FieldLoss>,
    /// What the import reports where the field is set.
    pub(crate) note: Option<&'static str>,
    /// For a field that permits nothing: whether a value is safe to restore. The original
    /// value is restored then.
    pub(crate) preference: Option<fn(&Data) -> bool>,
    /// For a field that lets an agent do something.
    pub(crate) grant: Option<FieldGrant>,
}

/// What is lost of a field of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldLoss {
    kind: LossKind,
    detail: &'static str,
    /// Whether the agent has something to lose; by default, whether the field of the model is set.
    when: Option<fn(&RenderSubject) -> bool>,
}

/// A field that lets an agent do something. Its original value is restored only after a proof.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldGrant {
    /// Whether the model of the harness covers everything that a value permits. For a list, each item is
    /// also asked about on its own.
    pub(crate) fits: fn(&RenderSubject, &Data) -> bool,
    /// Whether the field removes permissions. Such fields are tried first, because a list of tools only
    /// proves correct beside the list of tools that are removed.
    takes_away: bool,
}

/// The fields of the model that every target has a row for, in the order of the documentation.
pub const MODEL_FIELDS: &[&str] = &[
    "name",
    "description",
    "display_name",
    "mode",
    "tags",
    "max_turns",
    "temperature",
    "model",
    "skills",
    "context",
    "rules",
    "tools.mcp",
    "permissions.bash",
    "permissions.edit",
    "permissions.read",
    "permissions.webfetch",
    "permissions.websearch",
    "permissions.question",
    "permissions.external_directory",
    "permissions.mcp",
    "permissions.tool",
    "permissions.skill",
    "permissions.delegate",
    "permissions.env",
];

/// Starts the row of a field that the harness knows.
pub(crate) const fn field(name: &'static str) -> TargetField {
    TargetField {
        name,
        place: "",
        support: None,
        read: None,
        write: None,
        loss: None,
        note: None,
        preference: None,
        grant: None,
    }
}

/// Starts the row of a model field that becomes rules or text of the prompt, or is dropped.
pub(crate) const fn model_field(place: &'static str, support: FieldSupport) -> TargetField {
    TargetField { place, support: Some(support), ..field("") }
}

impl TargetField {
    /// Names the field of the model.
    pub(crate) const fn stands_for(self, place: &'static str, support: FieldSupport) -> Self {
        Self { place, support: Some(support), ..self }
    }

    pub(crate) const fn reads(self, read: fn(&Data, &mut ImportDraft)) -> Self {
        Self { read: Some(read), ..self }
    }

    pub(crate) const fn writes(
        self,
        write: fn(&RenderSubject, &mut RenderedAgent) -> Option<Data>,
    ) -> Self {
        Self { write: Some(write), ..self }
    }

    /// Reports a loss wherever the field of the model is set.
    pub(crate) const fn loses(self, kind: LossKind, detail: &'static str) -> Self {
        Self { loss: Some(FieldLoss { kind, detail, when: None }), ..self }
    }

    /// Reports a loss under another condition.
    pub(crate) const fn loses_when(
        self,
        when: fn(&RenderSubject) -> bool,
        kind: LossKind,
        detail: &'static str,
    ) -> Self {
        Self { loss: Some(FieldLoss { kind, detail, when: Some(when) }), ..self }
    }

    /// Makes the import report the field.
    pub(crate) const fn noted(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }

    /// Marks a field that permits nothing; its value is restored where it fits.
    pub(crate) const fn preferred(self, fits: fn(&Data) -> bool) -> Self {
        Self { preference: Some(fits), ..self }
    }

    /// Marks a field that lets an agent do something; its value is restored where that is proved.
    pub(crate) const fn grants(self, fits: fn(&RenderSubject, &Data) -> bool) -> Self {
        Self { grant: Some(FieldGrant { fits, takes_away: false }), ..self }
    }

    /// Marks a field that removes permissions; its value is restored where that is proved.
    pub(crate) const fn takes_away(self, fits: fn(&RenderSubject, &Data) -> bool) -> Self {
        Self { grant: Some(FieldGrant { fits, takes_away: true }), ..self }
    }
}

/// Whether the harness has a field with this name.
pub(crate) fn is_known(fields: &[TargetField], name: &str) -> bool {
    !name.is_empty() && fields.iter().any(|field| field.name == name)
}

/// Returns the fields with grants, those that remove permissions first.
pub(crate) fn grants(fields: &'static [TargetField]) -> Vec<(&'static str, FieldGrant)> {
    let grants = fields.iter().filter_map(|field| Some((field.name, field.grant?)));
    let (mut first, others): (Vec<_>, Vec<_>) = grants.partition(|(_, grant)| grant.takes_away);
    first.extend(others);
    first
}

/// Builds the metadata of an agent in the order of the rows. `computed` holds the fields that need more
/// than the agent. Original preferences that fit, and original grants that were proved, are restored.
pub(crate) fn write(
    fields: &[TargetField],
    (subject, harness): (&RenderSubject, &str),
    mut computed: Vec<(&str, Data)>,
    out: &mut RenderedAgent,
) -> Data {
    let original = OriginalFrontMatter::of(&subject.agent, harness);
    let mut metadata = MapBuilder::new();
    for field in fields.iter().filter(|field| !field.name.is_empty()) {
        let known = computed.iter().position(|(name, _)| *name == field.name);
        let value = match (field.write, known) {
            (Some(write), _) => write(subject, out),
            (None, Some(at)) => Some(computed.remove(at).1),
            (None, None) => original.preference(field).cloned(),
        };
        metadata.set_opt(field.name, value);
    }
    original::applied(subject, metadata.build())
}

/// Reports the fields of the model that the harness does not get.
pub(crate) fn report_losses(
    fields: &[TargetField],
    subject: &RenderSubject,
    out: &mut RenderedAgent,
) {
    for field in fields {
        let Some(FieldLoss { kind, detail, when }) = field.loss else { continue };
        if when.map_or_else(|| is_set(subject, field.place), |when| when(subject)) {
            out.lose(field.place, kind, detail);
        }
    }
}

/// Whether an agent sets a field of the model.
fn is_set(subject: &RenderSubject, place: &str) -> bool {
    let agent = &subject.agent;
    match place {
        "display_name" => agent.identity.display_name.is_some(),
        "mode" => agent.identity.mode.is_some(),
        "tags" => agent.identity.tags.as_ref().is_some_and(|tags| !tags.is_empty()),
        "max_turns" => agent.behaviour.max_turns.is_some(),
        "temperature" => agent.behaviour.temperature.is_some(),
        "model" => agent.model.preferred.is_some(),
        "skills" => !subject.skills.is_empty(),
        "tools.mcp" => agent.tools.mcp.as_ref().is_some_and(|servers| !servers.is_empty()),
        _ => false,
    }
}

/// Whether an agent is only for the main session.
pub(crate) fn is_primary(subject: &RenderSubject) -> bool {
    subject.agent.identity.mode.is_some_and(|mode| mode.value == AgentMode::Primary)
}

/// The name of the agent in the harness.
pub(crate) fn write_name(subject: &RenderSubject) -> Data {
    Data::str(&subject.name)
}

pub(crate) fn write_description(subject: &RenderSubject) -> Data {
    Data::str(subject.description())
}

pub(crate) fn write_display_name(subject: &RenderSubject, _: &mut RenderedAgent) -> Option<Data> {
    subject.agent.identity.display_name.as_ref().map(|name| Data::str(&name.value))
}

pub(crate) fn write_turns(subject: &RenderSubject, _: &mut RenderedAgent) -> Option<Data> {
    subject.agent.behaviour.max_turns.map(|turns| Data::Int(turns.value))
}

pub(crate) fn write_temperature(subject: &RenderSubject, _: &mut RenderedAgent) -> Option<Data> {
    subject.agent.behaviour.temperature.map(|value| Data::Float(value.value))
}

/// How a harness with one model per agent chooses it.
pub(crate) struct ModelName {
    /// The harness.
    pub(crate) harness: &'static str,
    /// Maps a model to its name in the harness; `None` for an unknown model.
    pub(crate) named: fn(&str) -> Option<String>,
    /// The loss detail where the agent names no known model, or several.
    pub(crate) loss: &'static str,
}

impl ModelName {
    /// Writes the first model that the harness knows; the original one while the agent still prefers it.
    pub(crate) fn write(&self, subject: &RenderSubject, out: &mut RenderedAgent) -> Option<Data> {
        let preferred = subject.agent.model.preferred.as_ref()?;
        let original = OriginalFrontMatter::of(&subject.agent, self.harness).model(&subject.agent);
        let known = || preferred.iter().find_map(|model| (self.named)(&model.value));
        let found = original.or_else(known);
        // The other models are lost even if the first one is written.
        if found.is_none() || preferred.len() > 1 {
            out.lose("model", LossKind::Dropped, self.loss);
        }
        found.map(Data::str)
    }

    /// Reads a model. A name that rendering could not derive again is kept as it is written.
    pub(crate) fn read(&self, value: &Data, draft: &mut ImportDraft) {
        let Some(model) = value.as_str() else {
            draft.lose("model", LossKind::Dropped, "it is not text");
            return;
        };
        draft.models([model].into_iter());
        draft.keep_model(self.harness, |model| (self.named)(model).is_some());
        if (self.named)(model).is_none() {
            let detail = format!("`{model}` is kept as it is written, though {}", self.loss);
            draft.lose("model", LossKind::Changed, detail);
        }
    }
}

pub(crate) fn read_description(value: &Data, draft: &mut ImportDraft) {
    match value {
        Data::Str(text) => draft.description(Some(text)),
        _ => draft.lose("description", LossKind::Dropped, "it is not text"),
    }
}

pub(crate) fn read_display_name(value: &Data, draft: &mut ImportDraft) {
    draft.agent.identity.display_name = value.as_str().map(|text| at(text.to_owned()));
    if draft.agent.identity.display_name.is_none() {
        draft.lose("display_name", LossKind::Dropped, "it is not text");
    }
}

/// Reads the most turns that an agent may take.
pub(crate) fn read_turns(value: &Data, draft: &mut ImportDraft) {
    let turns = match value {
        Data::Int(turns) => Some(*turns),
        Data::Str(turns) => turns.parse().ok(),
        _ => None,
    };
    draft.agent.behaviour.max_turns = turns.filter(|turns| *turns > 0).map(at);
    if draft.agent.behaviour.max_turns.is_none() {
        let detail = format!("{} is not a number of turns", value.to_json());
        draft.lose("max_turns", LossKind::Dropped, detail);
    }
}

/// Reads the sampling temperature.
pub(crate) fn read_temperature(value: &Data, draft: &mut ImportDraft) {
    draft.agent.behaviour.temperature = to_temperature(value).map(at);
    if draft.agent.behaviour.temperature.is_none() {
        draft.lose(
            "temperature",
            LossKind::Dropped,
            format!("{} is not a number", value.to_json()),
        );
    }
}

/// Accepts a number with or without a fraction.
pub(crate) fn to_temperature(value: &Data) -> Option<f64> {
    match value {
        Data::Float(value) => Some(*value),
        Data::Int(value) => i32::try_from(*value).ok().map(f64::from),
        _ => None,
    }
}

/// Whether a value is one word.
pub(crate) fn is_word(data: &Data) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    data.as_str().is_some_and(|text| !text.is_empty() && text.chars().all(fits))
}

/// Whether a value is `true` or `false`.
pub(crate) fn is_switch(data: &Data) -> bool {
    matches!(data, Data::Bool(_))
}

/// Whether a value is text.
pub(crate) fn is_text(data: &Data) -> bool {
    data.as_str().is_some()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentry_model::Agent;
    use agentry_policy::PolicyContext;

    use super::*;
    use crate::TARGETS;

    /// An agent with a value in every field that rows read and write.
    fn sample() -> RenderSubject {
        let mut agent = Agent::default();
        agent.identity.name = Some(at("sample".to_owned()));
        agent.identity.description = Some(at("Answers questions".to_owned()));
        agent.identity.display_name = Some(at("The Sample".to_owned()));
        agent.identity.mode = Some(at(AgentMode::Subagent));
        agent.behaviour.max_turns = Some(at(7));
        agent.behaviour.temperature = Some(at(0.5));
        let models = ["claude-x", "gemini-x", "gpt-x", "a/b"];
        agent.model.preferred = Some(models.map(|name| at(name.to_owned())).into());
        RenderSubject::of(agent, &PolicyContext::default(), &Arc::default())
    }

    #[test]
    fn target_fields_round_trip() {
        let subject = sample();
        let mut checked = 0;
        for (target, field) in
            TARGETS.iter().flat_map(|it| it.fields.iter().map(move |row| (it, row)))
        {
            let (Some(read), Some(write)) = (field.read, field.write) else { continue };
            let value = write(&subject, &mut RenderedAgent::default());
            let Some(value) = value else { panic!("{} {}: nothing", target.name, field.name) };
            let mut draft = ImportDraft::new("sample", "Hi.");
            read(&value, &mut draft);
            let back = RenderSubject::of(draft.agent, &PolicyContext::default(), &Arc::default());
            let again = write(&back, &mut RenderedAgent::default());
            assert_eq!(again, Some(value), "{} {}", target.name, field.name);
            checked += 1;
        }
        assert!(checked > 15, "{checked}");
    }
}
