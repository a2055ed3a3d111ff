//! Where an imported agent keeps the original front matter of its harness: the extension `x-harness`.
//!
//! Each harness has one block. Preferences are kept under their names, fields with grants in `as-written`.
//! `tools` lists the tools of each section of which the agent did not have all. A field of the model that the
//! definition format lacks is kept under its name in the model.

use std::borrow::Cow;

use agentry_model::Agent;
use agentry_text::Data;

use crate::Target;
use crate::draft::at;
use crate::fields::{TargetField, to_temperature};
use crate::front_matter::list_items;
use crate::render::is_built_in;
use crate::subject::RenderSubject;

/// The tools that the agent had, of each section of which it did not have all.
pub(crate) const TOOLS: &str = "tools";
/// The fields with grants, as they were written.
pub(super) const AS_WRITTEN: &str = "as-written";
/// The preferred models.
pub(crate) const MODEL: &str = "model";
/// The description, which some definition formats limit to one line.
const DESCRIPTION: &str = "description";

/// A field of the model that some definition formats lack.
struct SpareField {
    key: &'static str,
    /// The place in the model.
    place: &'static str,
    get: fn(&Agent) -> Option<Data>,
    set: fn(&mut Agent, &Data),
}

const SPARE: &[SpareField] = &[
    SpareField {
        key: MODEL,
        place: "model.preferred",
        get: |agent| match agent.model.preferred.as_deref()? {
            [one] => Some(Data::str(&one.value)),
            several => Some(Data::strings(several.iter().map(|name| &name.value))),
        },
        set: |agent, value| {
            let names = list_items(value);
            agent.model.preferred = names.map(|names| names.into_iter().map(at).collect());
        },
    },
    SpareField {
        key: "temperature",
        place: "temperature",
        get: |agent| agent.behaviour.temperature.map(|value| Data::Float(value.value)),
        set: |agent, value| agent.behaviour.temperature = to_temperature(value).map(at),
    },
    SpareField {
        key: "max_turns",
        place: "max_turns",
        get: |agent| agent.behaviour.max_turns.map(|value| Data::Int(value.value)),
        set: |agent, value| {
            if let Data::Int(turns) = value {
                agent.behaviour.max_turns = Some(*turns).filter(|turns| *turns > 0).map(at);
            }
        },
    },
    SpareField {
        key: "mode",
        place: "mode",
        get: |agent| agent.identity.mode.map(|mode| Data::str(mode.as_str())),
        set: |agent, value| {
            agent.identity.mode = value.as_str().and_then(|mode| mode.parse().ok()).map(at);
        },
    },
];

/// The extension, with one block per harness.
const KEY: &str = "x-harness";

/// The place of a harness' block, for messages.
pub fn place(harness: &str) -> String {
    format!("{KEY}.{harness}")
}

/// The original front matter that an agent keeps for one harness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OriginalFrontMatter<'a> {
    block: Option<&'a Data>,
}

impl<'a> OriginalFrontMatter<'a> {
    pub(crate) fn of(agent: &'a Agent, harness: &str) -> Self {
        Self { block: agent.extension(KEY).and_then(|all| all.get(harness)) }
    }

    pub(crate) fn get(self, key: &str) -> Option<&'a Data> {
        self.block?.get(key)
    }

    /// Whether the block holds this value.
    pub(crate) fn has(self, key: &str, value: &Data) -> bool {
        self.get(key) == Some(value)
    }

    /// Returns the names in a list of the block.
    pub(crate) fn names(self, key: &str) -> Vec<&'a str> {
        match self.get(key) {
            Some(Data::List(items)) => items.iter().filter_map(Data::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the original value of a field that permits nothing, if it fits.
    pub(crate) fn preference(self, field: &TargetField) -> Option<&'a Data> {
        let fits = field.preference?;
        self.get(field.name).filter(|value| fits(value))
    }

    /// Returns the fields with grants, as they were written.
    pub(crate) fn grants(self) -> Option<&'a Data> {
        self.get(AS_WRITTEN).filter(|grants| matches!(grants, Data::Map(_)))
    }

    /// Whether the agent may have a tool: where it had some tools of a group, it gets only those.
    pub(crate) fn may_have(self, groups: &[Vec<&str>], tool: &str) -> bool {
        let had = self.names(TOOLS);
        let mut others = groups.iter().filter(|group| group.contains(&tool)).flatten();
        had.contains(&tool) || !others.any(|other| had.contains(other))
    }

    /// Returns the original model while it is still the agent's first choice.
    pub(crate) fn model(self, agent: &Agent) -> Option<String> {
        let names = list_items(self.get(MODEL)?)?;
        let first = agent.model.preferred.as_ref()?.first()?;
        names.first().filter(|name| **name == first.value).cloned()
    }
}

/// Stores a value in the block of a harness.
pub(crate) fn set(agent: &mut Agent, harness: &str, key: &str, value: Data) {
    let known = agent.extensions.iter().position(|(known, _)| known == KEY);
    let at = known.unwrap_or_else(|| {
        agent.extensions.push((KEY.to_owned(), at(Data::Map(Vec::new()))));
        agent.extensions.len() - 1
    });
    let Some((_, all)) = agent.extensions.get_mut(at) else { return };
    let mut of_harness = match all.value.get(harness) {
        Some(Data::Map(fields)) => fields.clone(),
        _ => Vec::new(),
    };
    of_harness.retain(|(known, _)| known != key);
    of_harness.push((key.to_owned(), value));
    if let Data::Map(harnesses) = &mut all.value {
        harnesses.retain(|(known, _)| known != harness);
        harnesses.push((harness.to_owned(), Data::Map(of_harness)));
    }
}

/// Removes a value from the block of a harness.
pub(super) fn remove(agent: &mut Agent, harness: &str, key: &str) {
    let all = agent.extensions.iter_mut().filter(|(known, _)| known == KEY);
    let of_harness = all.filter_map(|(_, all)| match &mut all.value {
        Data::Map(harnesses) => harnesses.iter_mut().find(|(known, _)| known == harness),
        _ => None,
    });
    for (_, fields) in of_harness {
        if let Data::Map(fields) = fields {
            fields.retain(|(known, _)| known != key);
        }
    }
}

/// Removes what permits nothing from the block of a harness, and the blocks of the others.
pub(super) fn keep_grants_only(agent: &mut Agent, target: &Target) {
    let is_grant = |key: &str| target.fields.iter().any(|it| it.name == key && it.grant.is_some());
    let is_preference =
        |key: &str| target.fields.iter().any(|it| it.name == key && it.preference.is_some());
    let is_spare = |key: &str| matches!(key, MODEL | DESCRIPTION | "temperature" | "max_turns");
    let permits_nothing = |key: &str| !is_grant(key) && (is_preference(key) || is_spare(key));
    for (_, all) in agent.extensions.iter_mut().filter(|(known, _)| known == KEY) {
        let Data::Map(harnesses) = &mut all.value else { continue };
        harnesses.retain(|(harness, _)| harness == target.name);
        for (_, fields) in harnesses {
            if let Data::Map(fields) = fields {
                fields.retain(|(key, _)| !permits_nothing(key));
            }
        }
    }
}

/// Returns an agent with nothing but the fields that [`completed`] looks at.
pub fn spare_fields(agent: &Agent) -> Agent {
    Agent {
        identity: agent.identity.clone(),
        model: agent.model.clone(),
        behaviour: agent.behaviour.clone(),
        ..Agent::default()
    }
}

/// Returns the agent with every spare field kept in its block that `result`, the converted agent, lacks;
/// `None` if it lacks none. Also returns the places of these fields in the model.
pub fn completed(
    agent: &Agent,
    result: &Agent,
    harness: &str,
) -> Option<(Agent, Vec<&'static str>)> {
    let mut more = agent.clone();
    let mut places = Vec::new();
    for SpareField { key, place, get, .. } in SPARE {
        if let Some(value) = get(agent).filter(|_| get(result).is_none()) {
            set(&mut more, harness, key, value);
            places.push(*place);
        }
    }
    let [description, declared] = [agent, result].map(|agent| agent.identity.description.as_ref());
    let [description, declared] =
        [description, declared].map(|text| text.map(|text| text.value.as_str()));
    if let Some(text) =
        description.filter(|_| declared != description && is_alike(declared, description))
    {
        set(&mut more, harness, DESCRIPTION, Data::str(text));
        places.push("description");
    }
    (!places.is_empty()).then_some((more, places))
}

/// Whether two texts differ only in white space and a final full stop.
fn is_alike(one: Option<&str>, other: Option<&str>) -> bool {
    let plain = |text: Option<&str>| {
        let text = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        text.trim_end_matches('.').trim_end().to_owned()
    };
    plain(one) == plain(other)
}

/// The name in the harness, if the definition has another name or the harness has a built-in agent of that
/// name.
const NAME: &str = "name";

/// Keeps the name that an agent had in its harness.
pub(crate) fn keep_name(agent: &mut Agent, target: &Target, called: Option<String>) {
    let own = is_built_in(target, agent.name()).then(|| agent.name().to_owned());
    if let Some(name) = called.or(own).filter(|name| is_name(name)) {
        set(agent, target.name, NAME, Data::str(name));
    }
}

/// Whether a text is valid as a file name on every system, and as an agent name.
fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // Windows drops a final dot, and `..` could leave the directory.
    let plain = text.chars().all(fits) && !text.contains("..") && !text.ends_with('.');
    plain && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns the original name of an agent, if it is rendered again under the same name.
pub(crate) fn name<'a>(target: &Target, subject: &'a RenderSubject) -> Option<&'a str> {
    let kept =
        OriginalFrontMatter::of(&subject.agent, target.name).get(NAME).and_then(Data::as_str)?;
    // An alias in `agentry.toml` overrides the original name.
    let same = agentry_model::slug(kept) == subject.name || kept == subject.name;
    (is_name(kept) && same && subject.agent.name() == agentry_model::slug(kept)).then_some(kept)
}

/// Fills fields that agents leave out from what they keep for a harness.
pub(crate) fn filled<'a>(
    target: &Target,
    subjects: &'a [RenderSubject],
) -> Cow<'a, [RenderSubject]> {
    let harness = target.name;
    let keeps =
        |subject: &RenderSubject| OriginalFrontMatter::of(&subject.agent, harness).block.is_some();
    if !subjects.iter().any(keeps) {
        return Cow::Borrowed(subjects);
    }
    let mut all = subjects.to_vec();
    for subject in &mut all {
        fill(&mut subject.agent, harness);
        if let Some(name) = name(target, subject).map(str::to_owned) {
            subject.name = name;
        }
    }
    Cow::Owned(all)
}

fn fill(agent: &mut Agent, harness: &str) {
    for SpareField { key, get, set, .. } in SPARE {
        let original = OriginalFrontMatter::of(agent, harness).get(key).cloned();
        if let Some(value) = original.filter(|_| get(agent).is_none()) {
            set(agent, &value);
        }
    }
    let description = OriginalFrontMatter::of(agent, harness).get(DESCRIPTION);
    let description = description.and_then(|text| text.as_str().map(str::to_owned));
    // The original counts only while the definition's description still has the same text.
    if let (Some(original), Some(declared)) = (description, agent.identity.description.as_mut())
        && is_alike(Some(&original), Some(&declared.value))
    {
        declared.value = original;
    }
}
