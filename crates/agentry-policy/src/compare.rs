//! Exact questions about policies: is one at most as permissive as another, which rules never
//! decide, what did a change gain and lose.
//!
//! A side is the layers of one section; the strictest of them decides. Where a bound is reached
//! there is no answer, and no answer must be taken for «no».

mod groups;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::automata::fold::Folder;
use crate::automata::machine::{Machine, NONE};
pub use crate::automata::subject::Example;
use crate::automata::{TooLarge, search};
use crate::known::Known;
use crate::pattern::{Kind, Pattern, Protections, Subject};
use crate::{Action, Places, Rule, Rules};

/// Which rule decides, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decision {
    /// The index of its layer.
    pub layer: usize,
    /// Its index there; the number of rules for the intent.
    pub rule: usize,
    /// Its answer.
    pub action: Action,
}

/// The answer to [`refines`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is so.
    Yes,
    /// It is not so, and this shows it.
    No(Witness),
    /// Nobody knows, for this reason; to be taken for «no».
    Unknown(String),
}

/// A subject about which the first side is milder than the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// One of the shortest.
    pub subject: Example,
    /// What decides on the first side; nothing when it has no layer.
    pub first: Option<Decision>,
    /// What decides on the second side.
    pub second: Option<Decision>,
}

/// A rule that never decides about what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// Its index.
    pub rule: usize,
    /// The earlier rules that decide about what it matches; none if it matches nothing at all.
    pub covered_by: Vec<usize>,
    /// A subject that it matches.
    pub example: Option<Example>,
    /// A subject that it decides about all the same, because a deny or an ask also reaches other
    /// ways to write a command: `/bin/rm` for `rm`.
    pub still: Option<Example>,
}

/// What changed between two versions of a section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// What is less strict now.
    pub gained: Vec<Change>,
    /// What is stricter now.
    pub lost: Vec<Change>,
    /// Why this is not the whole truth; then it must be taken for a gain.
    pub unknown: Option<String>,
}

/// Subjects that one rule used to decide about and another one does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The narrower pattern of the two.
    pub pattern: String,
    /// The old answer.
    pub from: Action,
    /// The new answer.
    pub to: Action,
    /// One of the shortest subjects.
    pub example: String,
    /// What decided; nothing when there was no layer.
    pub old: Option<Decision>,
    /// What decides.
    pub new: Option<Decision>,
}

impl From<TooLarge> for Answer {
    fn from(_: TooLarge) -> Self {
        Self::Unknown(TOO_LARGE.to_owned())
    }
}

const TOO_LARGE: &str = "the rules are too many or too tangled to compare";
const KINDS: &str = "the two sides are about different kinds of subjects";

/// The rule that decides about `subject`: the strictest over the layers, the first of those that
/// are as strict. Nothing without layers.
pub fn decide(
    layers: &[&Rules],
    subject: Subject<'_>,
    protections: Protections,
) -> Option<Decision> {
    let mut strictest: Option<Decision> = None;
    for (layer, rules) in layers.iter().enumerate() {
        let (rule, action) = decider(rules, subject, protections);
        if strictest.is_none_or(|before| action > before.action) {
            strictest = Some(Decision { layer, rule, action });
        }
    }
    strictest
}

/// The index of the rule that decides about `subject`, and its answer.
pub(crate) fn decider(
    rules: &Rules,
    subject: Subject<'_>,
    protections: Protections,
) -> (usize, Action) {
    let encoded = OnceCell::new();
    let holds =
        |(_, rule): &(usize, &Rule)| rule.pattern.matches_encoded(subject, protections, &encoded);
    let found = rules.rules.iter().enumerate().find(holds);
    found.map_or((rules.rules.len(), rules.intent.action), |(index, rule)| (index, rule.action))
}

/// Whether `first` is at most as permissive as `second`: nowhere milder.
pub fn refines(first: &[&Rules], second: &[&Rules], protections: Protections) -> Answer {
    let Some(kind) = kind(first, second) else { return Answer::Unknown(KINDS.to_owned()) };
    if second.is_empty() || holds_all(first, second) || is_plainly_stricter(first, second) {
        return Answer::Yes;
    }
    match milder(kind, first, second, protections) {
        Ok(None) => Answer::Yes,
        Ok(Some(subject)) => {
            let both = |subject: Subject<'_>| {
                (decide(first, subject, protections), decide(second, subject, protections))
            };
            let subject = subject.filled(both);
            let (first, second) = subject.with(both);
            Answer::No(Witness { subject, first, second })
        }
        Err(too_large) => too_large.into(),
    }
}

/// A shortest subject about which `first` is milder.
fn milder(
    kind: Kind,
    first: &[&Rules],
    second: &[&Rules],
    protections: Protections,
) -> Result<Option<Example>, TooLarge> {
    let folder = Folder::new(kind, protections)?;
    let Some(groups) = groups::split(first, second) else {
        let text = milder_text(&folder, first, second)?;
        return Ok(text.map(|text| Example::decode(kind, &text)));
    };
    let mut shortest: Option<String> = None;
    for group in &groups {
        let [first, second] =
            [&group.first, &group.second].map(|side| side.iter().collect::<Vec<_>>());
        let text = milder_text(&folder, &first, &second)?;
        let size = |text: &String| text.chars().count();
        shortest = match (shortest, text) {
            (Some(before), Some(text)) if size(&before) <= size(&text) => Some(before),
            (before, text) => text.or(before),
        };
    }
    Ok(shortest.map(|text| Example::decode(kind, &text)))
}

/// The text of a shortest subject about which `first` is milder.
fn milder_text(
    folder: &Folder,
    first: &[&Rules],
    second: &[&Rules],
) -> Result<Option<String>, TooLarge> {
    let first = actions(folder, first)?;
    let second = actions(folder, second)?;
    let mut found = None;
    search::outputs(&first, &second, |a, b, text| {
        if a != NONE && b != NONE && a < b {
            found = Some(text());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The lists of a side: the patterns of their rules, and the actions.
type Side = Vec<Vec<(Pattern, Action)>>;

/// Sides that were made already: what an agent may do is compared with many lists.
static SIDES: Known<(Protections, Side), Result<Arc<Machine>, TooLarge>> = Known::at_most(100);

/// The machine of a side whose outputs are the actions.
pub(crate) fn actions(folder: &Folder, layers: &[&Rules]) -> Result<Arc<Machine>, TooLarge> {
    let list = |rules: &&Rules| {
        rules.all().map(|rule| (rule.pattern.clone(), rule.action)).collect::<Vec<_>>()
    };
    // Without a list, nothing tells what kind of subjects it is about.
    if layers.is_empty() {
        return make_actions(folder, layers).map(Arc::new);
    }
    let question = (folder.protections, layers.iter().map(list).collect());
    SIDES.get(question, || make_actions(folder, layers).map(Arc::new))
}

fn make_actions(folder: &Folder, layers: &[&Rules]) -> Result<Machine, TooLarge> {
    side(
        folder,
        layers,
        |layer, rule| {
            let action = |rules: &&Rules| rules.rules.get(rule).unwrap_or(&rules.intent).action;
            number(layers.get(layer).map_or(Action::Allow, action))
        },
        action,
    )
}

fn number(action: Action) -> u32 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}

fn action(number: u32) -> Action {
    match number {
        0 => Action::Allow,
        1 => Action::Ask,
        _ => Action::Deny,
    }
}

/// The machine of a side: the strictest over its layers.
fn side(
    folder: &Folder,
    layers: &[&Rules],
    label: impl Fn(usize, usize) -> u32,
    action: impl Fn(u32) -> Action,
) -> Result<Machine, TooLarge> {
    let mut strictest: Option<Machine> = None;
    for (layer, rules) in layers.iter().enumerate() {
        let machine = folder.rules(rules, |rule| label(layer, rule))?;
        strictest = Some(match strictest {
            None => machine,
            Some(before) => folder.strictest(&before, &machine, &action)?,
        });
    }
    // Without layers nothing is taken away.
    Ok(strictest.unwrap_or_else(|| folder.universe.as_ref().clone().relabel(|_| label(0, 0))))
}

/// The rules of a section that never decide about the subjects that they say; what a deny or an ask
/// reaches beyond its words does not count. Nothing if a bound was reached.
pub fn dead(rules: &Rules, protections: Protections) -> Option<Vec<Dead>> {
    // Nearly always every rule decides about something that its own words spell out.
    if (0..rules.rules.len()).all(|at| decides_plainly(rules, at, protections)) {
        return Some(Vec::new());
    }
    find_dead(rules, protections).ok()
}

/// Whether a rule decides about a subject made of its own words, with something short or nothing in
/// the place of each wildcard.
fn decides_plainly(rules: &Rules, at: usize, protections: Protections) -> bool {
    let Some(pattern) = rules.rules.get(at).map(|rule| &rule.pattern) else { return false };
    ["x", "qq7", ""].iter().any(|fill| {
        let subject = plain(pattern, fill);
        subject.with(|subject| {
            let as_written = pattern.as_written();
            as_written.as_ref().unwrap_or(pattern).matches_under(subject, protections)
                && decider(rules, subject, protections).0 == at
        })
    })
}

fn plain(pattern: &Pattern, fill: &str) -> Example {
    let text = pattern.text.trim_start_matches("**/").replace("**", "*").replace('*', fill);
    match pattern.kind() {
        Kind::Command => Example::Command(
            text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
        ),
        Kind::Path if !text.starts_with(['/', '~']) => {
            Example::Text(format!("{}/{text}", Places::default().workspace))
        }
        Kind::Web => {
            let (scheme, rest) = text.split_once("://").unwrap_or(("https", &text));
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let port = if host.contains(':') {
                ""
            } else if scheme == "http" {
                ":80"
            } else {
                ":443"
            };
            Example::Text(format!("{scheme}://{host}{port}/{path}"))
        }
        Kind::Path | Kind::Name | Kind::Text => Example::Text(text),
    }
}

fn find_dead(rules: &Rules, protections: Protections) -> Result<Vec<Dead>, TooLarge> {
    let folder = Folder::new(rules.section.kind(), protections)?;
    let all = folder.rules(rules, index)?;
    let deciding: BTreeSet<u32> = all.outputs.iter().copied().collect();
    let mut found = Vec::new();
    for (at, rule) in rules.rules.iter().enumerate() {
        let decides = deciding.contains(&index(at));
        let words = rule.pattern.as_written();
        if decides && words.is_none() {
            continue;
        }
        let words = folder.leaf(&words.unwrap_or_else(|| rule.pattern.clone()))?;
        let Some(mut dead) = coverage(at, rules.section.kind(), &words, &all)? else { continue };
        if decides {
            dead.still = decided(at, rules.section.kind(), &folder.leaf(&rule.pattern)?, &all)?;
        }
        found.push(dead);
    }
    Ok(found)
}

/// Which rules decide about the subjects of `own`; nothing if the rule itself is one of them.
fn coverage(
    rule: usize,
    kind: Kind,
    own: &Machine,
    all: &Machine,
) -> Result<Option<Dead>, TooLarge> {
    let mut covered_by = BTreeSet::new();
    let mut example = None;
    search::outputs_within(own, all, |decides, text| {
        example.get_or_insert_with(|| Example::decode(kind, &text()));
        covered_by.insert(decides as usize);
        if decides == index(rule) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let dead = !covered_by.contains(&rule);
    let covered_by = covered_by.into_iter().collect();
    Ok(dead.then_some(Dead { rule, covered_by, example, still: None }))
}

/// A shortest subject of `own` that the rule decides about.
fn decided(
    rule: usize,
    kind: Kind,
    own: &Machine,
    all: &Machine,
) -> Result<Option<Example>, TooLarge> {
    let mut found = None;
    search::outputs_within(own, all, |decides, text| {
        if decides != index(rule) {
            return ControlFlow::Continue(());
        }
        found = Some(Example::decode(kind, &text()));
        ControlFlow::Break(())
    })?;
    Ok(found)
}

fn index(rule: usize) -> u32 {
    u32::try_from(rule).unwrap_or(NONE - 1)
}

/// What `new` gained and lost against `old`.
pub fn diff(old: &[&Rules], new: &[&Rules], protections: Protections) -> Diff {
    let unknown = |why: &str| Diff { unknown: Some(why.to_owned()), ..Diff::default() };
    let Some(kind) = kind(old, new) else { return unknown(KINDS) };
    if same(old, new) {
        return Diff::default();
    }
    find_changes(kind, old, new, protections).unwrap_or_else(|_| unknown(TOO_LARGE))
}

fn find_changes(
    kind: Kind,
    old: &[&Rules],
    new: &[&Rules],
    protections: Protections,
) -> Result<Diff, TooLarge> {
    let folder = Folder::new(kind, protections)?;
    let (before, after) = (Labels::new(old), Labels::new(new));
    let left = side(&folder, old, |layer, rule| before.of(layer, rule), |l| before.action(l))?;
    let right = side(&folder, new, |layer, rule| after.of(layer, rule), |l| after.action(l))?;
    let mut found: Vec<((u32, u32), String)> = Vec::new();
    let mut seen = BTreeSet::new();
    search::outputs(&left, &right, |a, b, text| {
        let differ = a != NONE && b != NONE && before.action(a) != after.action(b);
        if differ && seen.insert((b, a)) {
            let both = |subject: Subject<'_>| {
                (decide(old, subject, protections), decide(new, subject, protections))
            };
            let example = Example::decode(kind, &text()).filled(both).usual(kind, both);
            found.push(((b, a), example.to_string()));
        }
        ControlFlow::Continue(())
    })?;
    found.sort_by_key(|(labels, _)| *labels);
    let mut diff = Diff::default();
    for ((b, a), example) in found {
        let (from, to) = (before.action(a), after.action(b));
        let pattern = narrower(&folder, before.rule(a), after.rule(b))?;
        let change =
            Change { pattern, from, to, example, old: before.decision(a), new: after.decision(b) };
        let side = if to < from { &mut diff.gained } else { &mut diff.lost };
        let same = |other: &&mut Change| {
            (&other.pattern, other.from, other.to) == (&change.pattern, from, to)
        };
        match side.iter_mut().find(same) {
            Some(other) if other.example.chars().count() <= change.example.chars().count() => {}
            Some(other) => *other = change,
            None => side.push(change),
        }
    }
    Ok(diff)
}

/// The narrower pattern of two rules; without one of them, or for the intent, everything.
fn narrower(folder: &Folder, old: Option<&Rule>, new: Option<&Rule>) -> Result<String, TooLarge> {
    let written = |rule: Option<&Rule>| rule.cloned().filter(|rule| !rule.pattern.is_everything());
    let (old, new) = match (written(old), written(new)) {
        (None, None) => return Ok("*".to_owned()),
        (Some(rule), None) | (None, Some(rule)) => return Ok(rule.pattern.text),
        (Some(old), Some(new)) => (old.pattern, new.pattern),
    };
    let (mut only_old, mut only_new) = (false, false);
    search::outputs(&folder.leaf(&old)?, &folder.leaf(&new)?, |a, b, _| {
        only_old |= b == NONE;
        only_new |= a == NONE;
        if only_old && only_new { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let literal = |text: &str| text.chars().filter(|c| *c != '*').count();
    Ok(match (only_old, only_new) {
        (false, true) => old.text,
        (true, true) if literal(&old.text) > literal(&new.text) => old.text,
        _ => new.text,
    })
}

/// The rules of a side, numbered through all its layers.
struct Labels<'a> {
    layers: &'a [&'a Rules],
    firsts: Vec<usize>,
}

impl<'a> Labels<'a> {
    fn new(layers: &'a [&'a Rules]) -> Self {
        let mut firsts = vec![];
        let mut next = 0;
        for rules in layers {
            firsts.push(next);
            next += rules.rules.len() + 1;
        }
        Self { layers, firsts }
    }

    fn of(&self, layer: usize, rule: usize) -> u32 {
        index(self.firsts.get(layer).map_or(0, |first| first + rule))
    }

    fn place(&self, label: u32) -> Option<(usize, usize)> {
        let after = self.firsts.partition_point(|first| *first <= label as usize);
        let layer = after.checked_sub(1)?;
        Some((layer, label as usize - self.firsts[layer]))
    }

    fn rule(&self, label: u32) -> Option<&'a Rule> {
        let (layer, rule) = self.place(label)?;
        let rules = self.layers.get(layer)?;
        Some(rules.rules.get(rule).unwrap_or(&rules.intent))
    }

    fn action(&self, label: u32) -> Action {
        self.rule(label).map_or(Action::Allow, |rule| rule.action)
    }

    fn decision(&self, label: u32) -> Option<Decision> {
        let (layer, rule) = self.place(label)?;
        Some(Decision { layer, rule, action: self.action(label) })
    }
}

/// The one kind of subjects that all layers are about.
fn kind(first: &[&Rules], second: &[&Rules]) -> Option<Kind> {
    let mut kinds = first.iter().chain(second).map(|rules| rules.section.kind());
    let kind = kinds.next().unwrap_or(Kind::Name);
    kinds.all(|other| other == kind).then_some(kind)
}

/// Whether both sides say the same in the same words.
fn same(first: &[&Rules], second: &[&Rules]) -> bool {
    holds_all(first, second) && holds_all(second, first)
}

/// Whether `first` has every layer of `second`, and perhaps more: more layers only take away.
fn holds_all(first: &[&Rules], second: &[&Rules]) -> bool {
    let rule = |(a, b): (&Rule, &Rule)| a.action == b.action && a.pattern == b.pattern;
    let equal =
        |a: &Rules, b: &Rules| a.rules.len() == b.rules.len() && a.all().zip(b.all()).all(rule);
    second.iter().all(|b| first.iter().any(|a| equal(a, b)))
}

/// Whether some layer of `first` never answers more mildly than `second` ever answers strictly.
fn is_plainly_stricter(first: &[&Rules], second: &[&Rules]) -> bool {
    let mildest = |rules: &&Rules| rules.all().map(|rule| rule.action).min();
    let strictest = second.iter().flat_map(|rules| rules.all()).map(|rule| rule.action).max();
    first.iter().filter_map(mildest).max().is_some_and(|least| strictest <= Some(least))
}

#[cfg(test)]
pub(crate) mod tests;
