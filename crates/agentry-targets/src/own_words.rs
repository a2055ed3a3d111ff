//! The words by which a harness let an agent do something, kept when the agent is imported and given back
//! when it is rendered for that harness again.
//!
//! What a harness may or may not ask about is asked about in a definition: that is the least that its
//! files may mean. Rendered again, the agent would lose the tool, since that is held against the most that
//! they may mean. So the words are kept as they were written, and count for as long as the definition says
//! what they are read as. What it denies stays denied, which is proved like everything else; what it asks
//! about may then run without a question, which is told as a gap. Whoever wants no gaps, or has the guard,
//! gets no words back.

mod trial;

use crate::memo::RenderMemo;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_model::Agent;
use agentry_policy::Place;
use agentry_text::Data;
use rayon::prelude::*;

use crate::import::Imported;
use crate::proof::{self, Proof};
use crate::rendering::{Loss, LossKind, Rendered, Scope, Settings};
use crate::subject::{Slack, Subject};
use crate::{HarnessFiles, Model, TARGETS, Target, Way, kept, lenient};

use trial::Trial;

/// The words of a harness.
#[derive(Debug)]
pub struct Words {
    /// What they are called in the metadata of an agent.
    pub keys: &'static [&'static str],
    /// The same metadata for all agents that have the same words.
    pub meant: fn(&Data) -> Data,
    /// Whether the model of the harness knows all that a value lets an agent do, which a session without
    /// limits never is. Of a list, each word is asked about by itself as well.
    pub fits: fn(&Subject, &str, &Data) -> bool,
    /// The same words with more of them that take away what the definition denies.
    pub closed: fn(&Subject, &mut [Word]),
    /// Whether metadata means the same as other metadata; where nobody says, the same words do.
    pub same: Option<fn(&Data, &Data) -> bool>,
}

/// One of them, for one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// What it is called.
    pub key: &'static str,
    /// What it says; nothing if it is not there.
    pub value: Option<Data>,
}

/// Where an agent keeps them, in the block of their harness.
pub(crate) const AS_WRITTEN: &str = "as-written";

/// The longest list that counts: each word of it may have to be looked at.
const LONGEST: usize = 100;

/// The words of a list; nothing for anything else, or for a list with something else in it.
pub(crate) fn names(value: &Data) -> Option<Vec<String>> {
    let is_list = match value {
        Data::Str(_) => true,
        Data::List(items) => items.iter().all(|item| item.as_str().is_some()),
        _ => false,
    };
    lenient::words(value).filter(|_| is_list)
}

/// Whether a list is too long to count.
fn is_long(value: &Data) -> bool {
    lenient::words(value).is_some_and(|words| words.len() > LONGEST)
}

/// The metadata of an agent with the words that are given back to it.
pub(crate) fn applied(subject: &Subject, metadata: Data) -> Data {
    let Data::Map(mut fields) = metadata else { return metadata };
    for Word { key, value } in &subject.words {
        let at = fields.iter().position(|(known, _)| known == key);
        match (at.and_then(|at| fields.get_mut(at)), value) {
            (Some((_, field)), Some(value)) => *field = value.clone(),
            (None, Some(value)) => fields.push(((*key).to_owned(), value.clone())),
            (_, None) => fields.retain(|(known, _)| known != key),
        }
    }
    Data::Map(fields)
}

/// The word that is given back under a key, if one is.
pub(crate) fn given<'a>(subject: &'a Subject, key: &str) -> Option<&'a Word> {
    subject.words.iter().find(|word| word.key == key)
}

/// Agents with the words that each of them gets back.
pub(crate) fn given_back<'a>(
    target: &Target,
    mut subjects: Cow<'a, [Subject]>,
    settings: &Settings<'_>,
) -> Cow<'a, [Subject]> {
    let keeps = |subject: &Subject| keeps(&subject.agent, target);
    if settings.guard || settings.close_gaps || !subjects.iter().any(keeps) {
        return subjects;
    }
    subjects.to_mut().par_iter_mut().filter(|subject| keeps(subject)).for_each(|subject| {
        let words = Trial::new(target, subject, settings).and_then(|trial| trial.granted());
        subject.words = words.unwrap_or_default();
    });
    subjects
}

/// Takes the words from agents that would be refused with them beside others; whether there are any.
/// `refused` are those that are refused already, and `rendered` what became of all others.
pub(crate) fn taken_back(
    subjects: &mut Cow<'_, [Subject]>,
    refused: &[Option<Rendered>],
    rendered: &[Rendered],
) -> bool {
    let left = refused.iter().enumerate().filter(|(_, refused)| refused.is_none());
    let wrong = left.zip(rendered).filter(|(_, rendered)| rendered.refused.is_some());
    let has_words = |at: &usize| subjects.get(*at).is_some_and(|it| !it.words.is_empty());
    let wrong: Vec<usize> = wrong.map(|((at, _), _)| at).filter(has_words).collect();
    for at in &wrong {
        if let Some(subject) = subjects.to_mut().get_mut(*at) {
            subject.words.clear();
        }
    }
    !wrong.is_empty()
}

/// Whether a way does more than the agent may only because it has its words back: what is asked about may
/// run without a question, which is told.
pub(crate) fn excuse(
    target: &Target,
    subject: &Subject,
    way: &Way,
    proof: &Proof,
    out: &mut Rendered,
) -> bool {
    let Proof::Fails { example, source, .. } = proof else { return false };
    if subject.words.is_empty() || subject.within(way, Slack::Questions) != Proof::Holds {
        return false;
    }
    out.unasked.insert(way.section);
    let detail = format!(
        "as it was written: `{example}` is {source} in the source and not asked about in {}; \
         `--close-gaps` takes that away",
        target.title
    );
    out.lose(format!("permissions.{}", way.section), LossKind::Gap, detail);
    true
}

/// Whether a way does more than the agent may, beyond what is told of the `known` ways already.
pub(crate) fn beyond(subject: &Subject, way: &Way, known: &Model) -> Proof {
    let same = |it: &&Way| it.section == way.section && it.tool == way.tool;
    let Some(known) = known.ways.iter().find(same) else { return subject.within(way, Slack::None) };
    match proof::told(&subject.memo, way.section, &way.layers, &known.layers) {
        Proof::Fails { example, target, .. } => {
            let bounds = subject.bounds(way.section);
            let source = proof::action(&bounds.iter().collect::<Vec<_>>(), &example);
            if source <= target { Proof::Holds } else { Proof::Fails { example, source, target } }
        }
        other => other,
    }
}

/// Tells that words are kept which do not come back.
pub(crate) fn report(
    target: &Target,
    subject: &Subject,
    settings: &Settings<'_>,
    out: &mut Rendered,
) {
    let wanted = !settings.guard && !settings.close_gaps;
    if !wanted || !keeps(&subject.agent, target) {
        return;
    }
    if subject.words.is_empty() {
        let detail = "it does not say what the permissions and the settings that are there say, and is \
                      passed over: take it out, or import the agent again";
        out.lose(place(target), LossKind::Narrowed, detail);
        return;
    }
    let kept = kept::get(&subject.agent, target.name, AS_WRITTEN);
    for Word { key, value } in &subject.words {
        let wanted = kept.and_then(|kept| names(kept.get(key)?)).unwrap_or_default();
        let given = value.as_ref().and_then(names).unwrap_or_default();
        let missing = wanted.iter().filter(|word| value.is_some() && !given.contains(word));
        let missing: Vec<String> = missing.map(|word| format!("`{word}`")).collect();
        if !missing.is_empty() {
            let words = missing.join(", ");
            let detail =
                format!("of `{key}`, {words} may do what is denied, or nobody knows it: left out");
            out.lose(place(target), LossKind::Narrowed, detail);
        }
    }
}

fn keeps(agent: &Agent, target: &Target) -> bool {
    let has_words = target.import.as_ref().is_some_and(|import| import.words.is_some());
    has_words && matches!(kept::get(agent, target.name, AS_WRITTEN), Some(Data::Map(_)))
}

/// The harnesses that an agent keeps words for, with these.
pub fn all(agent: &Agent) -> Vec<(&'static Target, &Data)> {
    let words =
        |target: &&'static Target| Some((*target, kept::get(agent, target.name, AS_WRITTEN)?));
    TARGETS.iter().filter(|target| keeps(agent, target)).filter_map(words).collect()
}

/// Where an agent keeps its words, in words; what is lost or told of them is told of this field.
pub fn place(target: &Target) -> String {
    format!("{}.{AS_WRITTEN}", kept::place(target.name))
}

/// The agent without words that a format made useless: `result`, which it made of the agent, says
/// something else than they do. Nothing if they count.
pub fn forgotten(
    target: &Target,
    agent: &Agent,
    result: &Agent,
    files: &dyn HarnessFiles,
) -> Option<Agent> {
    if !keeps(agent, target) {
        return None;
    }
    let subject = Subject::of(result.clone(), &Place::default(), &Arc::default());
    let counts = anywhere(files, |settings| {
        Trial::new(target, &subject, settings).is_some_and(|trial| trial.useful().is_some())
    });
    let mut bare = agent.clone();
    kept::remove(&mut bare, target.name, AS_WRITTEN);
    (!counts).then_some(bare)
}

/// Renders for a project that nothing is known of but its files.
pub(crate) fn anywhere<T>(files: &dyn HarnessFiles, render: impl FnOnce(&Settings<'_>) -> T) -> T {
    render(&Settings {
        scope: Scope::Project,
        guard: false,
        close_gaps: false,
        force: true,
        options: &[],
        existing: files,
    })
}

/// Keeps the words of an imported agent that it would not have after it was rendered again, as far as it
/// would get them back.
pub(crate) fn keep(
    target: &Target,
    (imported, memo): (&mut Imported, &Arc<RenderMemo>),
    metadata: &Data,
    files: &dyn HarnessFiles,
) {
    let Some(words) = target.import.as_ref().and_then(|import| import.words.as_ref()) else {
        return;
    };
    let written = words.keys.iter().filter_map(|key| {
        let value = metadata.get(key).filter(|value| **value != Data::Null)?;
        Some(((*key).to_owned(), value.clone()))
    });
    let written: Vec<(String, Data)> = written.collect();
    if written.iter().any(|(_, value)| is_long(value)) {
        return;
    }
    let mut agent = imported.agent.clone();
    kept::set(&mut agent, target.name, AS_WRITTEN, Data::Map(written));
    let subject = Subject::of(agent, &Place::default(), memo);
    let granted = anywhere(files, |settings| {
        let trial = Trial::new(target, &subject, settings)?;
        let plain = trial.read(&[]);
        let has_them = plain.is_some_and(|plain| words.agree(&plain.metadata, metadata));
        trial.useful().filter(|_| !has_them)
    });
    if let Some(granted) = granted {
        imported.losses.insert(told(target, &granted, words.keys, metadata));
        imported.agent = subject.agent;
    }
}

/// Says what is kept.
fn told(target: &Target, granted: &[Word], keys: &[&str], metadata: &Data) -> Loss {
    let given = |key: &&str| granted.iter().any(|word| word.key == *key);
    let names = keys.iter().filter(|key| given(key) && metadata.get(key).is_some());
    let names: Vec<String> = names.map(|key| format!("`{key}`")).collect();
    let what = match names.as_slice() {
        [] => "that nothing is said of tools comes".to_owned(),
        [one] => format!("{one} comes"),
        several => format!("{} come", several.join(", ")),
    };
    let title = target.title;
    let detail = format!("{what} back to {title} while the permissions stay as they are");
    Loss { field: place(target), kind: LossKind::Changed, detail }
}

impl Words {
    /// Words that are compared as they are written, and that nothing can be added to.
    pub(crate) const fn new(
        keys: &'static [&'static str],
        fits: fn(&Subject, &str, &Data) -> bool,
    ) -> Self {
        Self { keys, meant: Data::clone, fits, closed: |_, _| {}, same: None }
    }

    fn agree(&self, one: &Data, other: &Data) -> bool {
        self.same.map_or_else(|| self.said(one) == self.said(other), |same| same(one, other))
    }

    /// What metadata says by them, whatever the order and the kind of a list.
    fn said(&self, metadata: &Data) -> Vec<Option<Data>> {
        let metadata = (self.meant)(metadata);
        let value = |key: &&str| {
            let value = metadata.get(key)?;
            let sorted = lenient::words(value).map(|it| it.into_iter().collect::<BTreeSet<_>>());
            Some(sorted.map_or_else(|| value.clone(), Data::strings))
        };
        self.keys.iter().map(value).collect()
    }
}
