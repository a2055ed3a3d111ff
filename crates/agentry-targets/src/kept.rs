//! What one harness understands and a definition has no word for. An imported agent keeps it in the
//! extension `x-harness`, and gets it back where it is rendered for that harness again. Nothing of that
//! permits anything: tools that are named there only take others of their section away. What an agent was
//! let do stands in the same extension, and is a matter of `own_words`.

use std::borrow::Cow;

use agentry_model::Agent;
use agentry_text::data::MapBuilder;
use agentry_text::{Data, FileId, Span, Spanned};

use crate::Target;
use crate::render::is_built_in;
use crate::subject::Subject;

/// A field that an agent keeps for its harness.
#[derive(Debug)]
pub(crate) struct Kept {
    /// What the harness calls it.
    pub(crate) key: &'static str,
    /// Whether the harness takes a value, whoever wrote it.
    pub(crate) fits: fn(&Data) -> bool,
}

pub(crate) const fn kept(key: &'static str, fits: fn(&Data) -> bool) -> Kept {
    Kept { key, fits }
}

/// Whether a value is one word.
pub(crate) fn is_word(data: &Data) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    data.as_str().is_some_and(|text| !text.is_empty() && text.chars().all(fits))
}

/// The tools that an agent has of a section, where they are not all.
const TOOLS: &str = "tools";
/// What some definitions have no place for, though the model does.
pub(crate) const MODEL: &str = "model";
const TEMPERATURE: &str = "temperature";
const MODE: &str = "mode";
const TURNS: &str = "max_turns";
/// What some definitions have on one line only.
const DESCRIPTION: &str = "description";

/// The extension, with a block a harness.
const KEY: &str = "x-harness";

/// Where it is that an agent keeps something for a harness, in words.
pub fn place(harness: &str) -> String {
    format!("{KEY}.{harness}")
}

/// A value that is kept for a harness.
pub(crate) fn get<'a>(agent: &'a Agent, harness: &str, key: &str) -> Option<&'a Data> {
    agent.extension(KEY)?.get(harness)?.get(key)
}

/// Whether an agent keeps this value for a harness.
pub(crate) fn is(subject: &Subject, harness: &str, key: &str, value: &Data) -> bool {
    get(&subject.agent, harness, key) == Some(value)
}

/// The words of a list that an agent keeps for a harness.
pub(crate) fn names<'a>(subject: &'a Subject, harness: &str, key: &str) -> Vec<&'a str> {
    match get(&subject.agent, harness, key) {
        Some(Data::List(kept)) => kept.iter().filter_map(Data::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether a list that an agent keeps for a harness has this word.
pub(crate) fn lists(subject: &Subject, harness: &str, key: &str, word: &str) -> bool {
    names(subject, harness, key).contains(&word)
}

/// Keeps a value for a harness.
pub(crate) fn set(agent: &mut Agent, harness: &str, key: &str, value: Data) {
    let known = agent.extensions.iter().position(|(known, _)| known == KEY);
    let at = known.unwrap_or_else(|| {
        agent.extensions.push((KEY.to_owned(), placeless(Data::Map(Vec::new()))));
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

/// Keeps a value for a harness no longer.
pub(crate) fn remove(agent: &mut Agent, harness: &str, key: &str) {
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

fn placeless<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId::BUILT_IN))
}

/// What an agent keeps for a harness, as far as the harness takes it.
pub(crate) fn fields<'a>(
    subject: &'a Subject,
    harness: &str,
    fields: &'static [Kept],
) -> Vec<(&'static str, &'a Data)> {
    let value = |field: &'static Kept| {
        let value = get(&subject.agent, harness, field.key)?;
        (field.fits)(value).then_some((field.key, value))
    };
    fields.iter().filter_map(value).collect()
}

/// Writes that into the metadata of the agent.
pub(crate) fn write(
    subject: &Subject,
    harness: &str,
    kept: &'static [Kept],
    metadata: &mut MapBuilder,
) {
    for (key, value) in fields(subject, harness, kept) {
        metadata.set(key, value.clone());
    }
}

/// Keeps which tools an agent has of each group of which it has some, and not those that are `usual`.
pub(crate) fn keep_tools(
    agent: &mut Agent,
    harness: &str,
    groups: &[Vec<&str>],
    usual: impl Fn(&str) -> bool,
    has: impl Fn(&str) -> bool,
) {
    let some = groups.iter().filter(|group| !group.iter().all(|tool| has(tool) == usual(tool)));
    let tools: Vec<&str> = some.flatten().copied().filter(|tool| has(tool)).collect();
    if !tools.is_empty() {
        set(agent, harness, TOOLS, Data::strings(tools));
    }
}

/// Whether an agent keeps a tool by its name.
pub(crate) fn keeps(subject: &Subject, harness: &str, tool: &str) -> bool {
    lists(subject, harness, TOOLS, tool)
}

/// Whether an agent may have a tool of these groups: where it keeps some of a group, only those.
pub(crate) fn may_have(subject: &Subject, harness: &str, groups: &[Vec<&str>], tool: &str) -> bool {
    let Some(Data::List(kept)) = get(&subject.agent, harness, TOOLS) else { return true };
    let is_kept = |tool: &str| kept.iter().any(|it| it.as_str() == Some(tool));
    let mut others = groups.iter().filter(|group| group.contains(&tool)).flatten();
    is_kept(tool) || !others.any(|other| is_kept(other))
}

/// Keeps the first model of an agent for a harness that would not know it by its name.
pub(crate) fn keep_model(agent: &mut Agent, harness: &str, is_known: impl Fn(&str) -> bool) {
    let first = agent.model.preferred.as_ref().and_then(|names| names.first());
    let first = first.map(|name| name.value.clone()).filter(|name| !is_known(name));
    if let Some(name) = first {
        set(agent, harness, MODEL, Data::str(name));
    }
}

/// The model that an agent had in a harness, while it would rather have that than any other.
pub(crate) fn model(subject: &Subject, harness: &str) -> Option<String> {
    let kept = crate::lenient::words(get(&subject.agent, harness, MODEL)?)?;
    let first = subject.agent.model.preferred.as_ref()?.first()?;
    kept.first().filter(|name| **name == first.value).cloned()
}

/// The agent with all that its harness understands and that `result`, what a definition format made of
/// it, does not say; nothing if it says all of that. And what these fields of the model are called.
pub fn completed(
    agent: &Agent,
    result: &Agent,
    harness: &str,
) -> Option<(Agent, Vec<&'static str>)> {
    let Agent { identity, model, behaviour, .. } = agent;
    let mut more = agent.clone();
    let mut names = Vec::new();
    let mut keep = |name, key, value: Option<Data>, is_said: bool| {
        if let Some(value) = value.filter(|_| !is_said) {
            set(&mut more, harness, key, value);
            names.push(name);
        }
    };
    let models = model.preferred.as_ref().map(|names| match names.as_slice() {
        [one] => Data::str(&one.value),
        several => Data::strings(several.iter().map(|name| &name.value)),
    });
    keep("model.preferred", MODEL, models, result.model.preferred.is_some());
    let temperature = behaviour.temperature.map(|value| Data::Float(value.value));
    keep("temperature", TEMPERATURE, temperature, result.behaviour.temperature.is_some());
    let turns = behaviour.max_turns.map(|value| Data::Int(value.value));
    keep("max_turns", TURNS, turns, result.behaviour.max_turns.is_some());
    let played = identity.mode.map(|mode| Data::str(mode.as_str()));
    keep("mode", MODE, played, result.identity.mode.is_some());
    let description = identity.description.as_ref().map(|text| text.value.as_str());
    let said = result.identity.description.as_ref().map(|text| text.value.as_str());
    let same = said == description || !says_the_same(said, description);
    keep("description", DESCRIPTION, description.map(Data::str), same);
    (!names.is_empty()).then_some((more, names))
}

/// Whether two texts differ only in their blanks and in the full stop at the end.
fn says_the_same(one: Option<&str>, other: Option<&str>) -> bool {
    let plain = |text: Option<&str>| {
        let text = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        text.trim_end_matches('.').trim_end().to_owned()
    };
    plain(one) == plain(other)
}

/// What a harness called the agent, if the definition has another name or the harness has an agent of that
/// name itself.
const NAME: &str = "name";

/// Keeps what a harness called an agent.
pub(crate) fn keep_name(agent: &mut Agent, target: &Target, called: Option<String>) {
    let own = is_built_in(target, agent.name()).then(|| agent.name().to_owned());
    if let Some(name) = called.or(own).filter(|name| is_name(name)) {
        set(agent, target.name, NAME, Data::str(name));
    }
}

/// Whether a text can be the name of a file everywhere, and of an agent.
fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = text.chars().all(fits) && !text.contains("..") && !text.ends_with('.');
    plain && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// What a harness called an agent that it is rendered for again under its own name.
pub(crate) fn name<'a>(target: &Target, subject: &'a Subject) -> Option<&'a str> {
    let kept = get(&subject.agent, target.name, NAME).and_then(Data::as_str)?;
    let same = agentry_model::slug(kept) == subject.name || kept == subject.name;
    (is_name(kept) && same && subject.agent.name() == agentry_model::slug(kept)).then_some(kept)
}

/// Agents with what they keep for a harness where they say nothing else.
pub(crate) fn filled<'a>(target: &Target, subjects: &'a [Subject]) -> Cow<'a, [Subject]> {
    let harness = target.name;
    let keeps = |subject: &Subject| {
        subject.agent.extension(KEY).is_some_and(|kept| kept.get(harness).is_some())
    };
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
    let kept = |key: &str| get(agent, harness, key).cloned();
    let models = kept(MODEL).and_then(|data| crate::lenient::words(&data));
    let temperature = match kept(TEMPERATURE) {
        Some(Data::Float(value)) => Some(value),
        Some(Data::Int(value)) => i32::try_from(value).ok().map(f64::from),
        _ => None,
    };
    let turns = match kept(TURNS) {
        Some(Data::Int(turns)) if turns > 0 => Some(turns),
        _ => None,
    };
    let mode = kept(MODE).and_then(|mode| mode.as_str()?.parse().ok());
    let description = kept(DESCRIPTION).and_then(|text| text.as_str().map(str::to_owned));
    let Agent { identity, model, behaviour, .. } = agent;
    let models = models.map(|names| names.into_iter().map(placeless).collect());
    model.preferred = model.preferred.take().or(models);
    behaviour.temperature = behaviour.temperature.or(temperature.map(placeless));
    behaviour.max_turns = behaviour.max_turns.or(turns.map(placeless));
    identity.mode = identity.mode.or(mode.map(placeless));
    // What was kept counts only while the definition says the same on one line.
    let said = identity.description.as_mut();
    if let (Some(kept), Some(said)) = (description, said)
        && says_the_same(Some(&kept), Some(&said.value))
    {
        said.value = kept;
    }
}
