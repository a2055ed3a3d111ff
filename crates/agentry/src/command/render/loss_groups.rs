//! Groups losses for the report: losses that are equal for several fields, agents or targets share a line.
//! A line applies to every one of its fields, agents and targets: lines are merged in one of the three only
//! if they are equal in the other two. Two losses are the same if only their examples differ.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use agentry_compile::targets::{LossKind, RenderLoss, Target};
use agentry_compile::text::report::visible;

use super::loss_text::{BlindSpotText, example, fields, gist, listed, unnamed};

/// The order in which losses are shown.
const ORDER: [LossKind; 3] = [LossKind::Narrowed, LossKind::Dropped, LossKind::Gap];

/// Shown where several targets drop a field for different reasons.
const REASONS: &str = "each target has a reason of its own";

/// A loss, with its agent and target.
pub(super) struct AgentLoss<'a> {
    pub(super) agent: &'a str,
    pub(super) target: &'static Target,
    pub(super) loss: &'a RenderLoss,
}

/// The number of agents and targets: with only one, its name is left out.
#[derive(Clone, Copy)]
pub(super) struct RenderTotals {
    pub(super) agents: usize,
    pub(super) targets: usize,
}

/// Every loss in its own row; only agents with the same text are grouped.
pub(super) fn each(reported: &[AgentLoss<'_>], all: RenderTotals) -> Vec<Vec<String>> {
    rows(by_agents(reported.iter().map(LossLine::of).collect()), all)
}

/// The losses in as few rows as possible.
pub(super) fn grouped(reported: &[AgentLoss<'_>], all: RenderTotals) -> Vec<Vec<String>> {
    let mut lines = by_agents(lines(reported));
    let mut seen: HashMap<_, HashSet<&str>> = HashMap::new();
    for line in &mut lines {
        // Lines that differ only in their example get the same key.
        let key = unnamed(&gist(&line.plain(), line.section()));
        let kind = (line.order, line.fields.clone(), line.target(), key.clone());
        let agents = seen.entry(kind).or_default();
        // Two losses of a kind in one agent stay two losses.
        if line.agents.iter().all(|agent| !agents.contains(agent)) {
            agents.extend(&line.agents);
            line.key = key.into();
        }
    }
    let lines = by_agents(lines);
    let lines = merged(
        lines,
        |line| (line.order, line.key.clone(), line.fields.clone(), line.agents.clone()),
        |line, other| line.targets.extend(other.targets),
    );
    let lines = by_reasons(lines);
    let lines = merged(
        lines,
        |line| {
            let targets: Vec<&str> = line.targets.iter().map(|target| target.name).collect();
            (line.order, line.key.clone(), line.agents.clone(), targets)
        },
        |line, other| line.fields.extend(other.fields),
    );
    rows(lines, all)
}

/// Stands for the name of the harness where a line is about several.
const HARNESS: &str = "the harness";

/// Every loss as a line; all that a harness does not check in one section is one line.
fn lines<'a>(reported: &[AgentLoss<'a>]) -> Vec<LossLine<'a>> {
    let mut out = Vec::new();
    let mut spots: Vec<(LossLine<'a>, Vec<BlindSpotText<'a>>)> = Vec::new();
    for it in reported {
        let line = LossLine::of(it);
        match BlindSpotText::of(&it.loss.detail) {
            Some(spot) if it.loss.kind == LossKind::Gap => {
                // The losses of an agent are adjacent and sorted by field, so only the last one can match.
                let known = spots.last_mut().filter(|(known, _)| {
                    (known.target(), &known.agents, &known.fields)
                        == (line.target(), &line.agents, &line.fields)
                });
                match known {
                    Some((_, all)) => all.push(spot),
                    None => spots.push((line, vec![spot])),
                }
            }
            _ => out.push(line),
        }
    }
    out.extend(spots.into_iter().map(|(line, spots)| line.about(&spots)));
    out
}

/// Losses that are shown together.
struct LossLine<'a> {
    order: usize,
    /// What they have in common.
    key: Cow<'a, str>,
    /// The text of the first of them.
    detail: Cow<'a, str>,
    /// Whether the others have another example.
    differs: bool,
    fields: Vec<&'a str>,
    agents: Vec<&'a str>,
    targets: Vec<&'static Target>,
}

impl<'a> LossLine<'a> {
    fn of(reported: &AgentLoss<'a>) -> Self {
        let AgentLoss { agent, target, loss } = reported;
        let order = ORDER.iter().position(|kind| *kind == loss.kind).unwrap_or(0);
        let (fields, agents) = (vec![loss.field.as_str()], vec![*agent]);
        let (key, detail) = (loss.detail.as_str().into(), loss.detail.as_str().into());
        Self { order, key, detail, differs: false, fields, agents, targets: vec![target] }
    }

    /// The same line, about all of these spots.
    fn about(mut self, spots: &[BlindSpotText<'_>]) -> Self {
        if spots.len() > 1 {
            self.detail = BlindSpotText::joined(spots, self.title()).into();
            self.key.clone_from(&self.detail);
        }
        self
    }

    /// The section of the policy that it is about, if any.
    fn section(&self) -> &'a str {
        let first = self.fields.first().copied().unwrap_or_default();
        first.strip_prefix("permissions.").unwrap_or_default()
    }

    fn target(&self) -> &'static str {
        self.targets.first().map_or("", |target| target.name)
    }

    fn title(&self) -> &'static str {
        self.targets.first().map_or("", |target| target.title)
    }

    /// Whether both are about a common target.
    fn shares(&self, other: &Self) -> bool {
        self.targets.iter().any(|it| other.targets.iter().any(|other| other.name == it.name))
    }

    /// Whether both have the same text apart from the harness.
    fn has_same_text(&self, other: &Self) -> bool {
        let same = self.detail == other.detail && self.title() == other.title();
        same || self.plain() == other.plain()
    }

    /// Its text without the name of the harness.
    fn plain(&self) -> String {
        self.detail.replace(self.title(), HARNESS)
    }

    /// The text for all of them; an example that only some have is shown with its owner.
    fn text(&self) -> String {
        let detail = if self.targets.len() > 1 { self.plain() } else { self.detail.to_string() };
        let is_narrowed = ORDER.get(self.order) == Some(&LossKind::Narrowed);
        match (self.differs, self.fields.len() > 1 && is_narrowed && self.targets.len() == 1) {
            (false, _) => return detail,
            // An example of one section would be wrong for the others.
            (true, true) => return gist(&detail, self.section()),
            (true, false) => {}
        }
        let agent = self.agents.first().filter(|_| self.agents.len() > 1);
        let target = self.targets.first().filter(|_| self.targets.len() > 1);
        let agent = agent.map_or(String::new(), |name| format!(" for {name}"));
        let target = target.map_or(String::new(), |target| format!(" in {}", target.name));
        format!("{}{agent}{target}", example(&detail))
    }

    fn row(&self, all: RenderTotals) -> Vec<String> {
        let kind = ORDER.get(self.order).map_or("", |kind| kind.as_str());
        let targets: Vec<&str> = self.targets.iter().map(|target| target.name).collect();
        let whose =
            [listed(&self.agents, all.agents, "agent"), listed(&targets, all.targets, "target")];
        let whose: Vec<String> = whose.into_iter().flatten().collect();
        let whose =
            if whose.is_empty() { String::new() } else { format!(" ({})", whose.join("; ")) };
        let detail = format!("{}{whose}", visible(&self.text()));
        vec![format!("  {kind}"), visible(&fields(&self.fields)).into_owned(), detail]
    }
}

/// Merges equal losses of several agents.
fn by_agents(lines: Vec<LossLine<'_>>) -> Vec<LossLine<'_>> {
    merged(
        lines,
        |line| (line.order, line.key.clone(), line.fields.clone(), line.target()),
        |line, other| line.agents.extend(other.agents),
    )
}

/// Merges fields that several targets drop, whatever their reasons. Two losses of one target stay apart.
fn by_reasons(lines: Vec<LossLine<'_>>) -> Vec<LossLine<'_>> {
    let dropped = ORDER.iter().position(|kind| *kind == LossKind::Dropped);
    let mut places: HashMap<(Vec<&str>, Vec<&str>), Vec<usize>> = HashMap::new();
    let mut out: Vec<LossLine<'_>> = Vec::new();
    for line in lines {
        if Some(line.order) != dropped {
            out.push(line);
            continue;
        }
        let known = places.entry((line.fields.clone(), line.agents.clone())).or_default();
        let is_other = |at: &&usize| out.get(**at).is_some_and(|known| !known.shares(&line));
        match known.iter().find(is_other).and_then(|at| out.get_mut(*at)) {
            Some(known) => {
                known.targets.extend(line.targets);
                // No single reason holds for all targets, so none is shown.
                (known.key, known.detail) = (REASONS.into(), REASONS.into());
                known.differs = false;
            }
            None => {
                known.push(out.len());
                out.push(line);
            }
        }
    }
    out
}

/// Merges lines with the same key, at the position of the first.
fn merged<'a, K: Eq + Hash>(
    lines: Vec<LossLine<'a>>,
    key: impl Fn(&LossLine<'a>) -> K,
    join: impl Fn(&mut LossLine<'a>, LossLine<'a>),
) -> Vec<LossLine<'a>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut out: Vec<LossLine<'a>> = Vec::new();
    for line in lines {
        // A new key points to the line that is pushed below.
        let at = *places.entry(key(&line)).or_insert(out.len());
        match out.get_mut(at) {
            Some(first) => {
                first.differs |= line.differs || !line.has_same_text(first);
                join(first, line);
            }
            None => out.push(line),
        }
    }
    out
}

/// The rows of the lines: by kind, then by field.
fn rows(mut lines: Vec<LossLine<'_>>, all: RenderTotals) -> Vec<Vec<String>> {
    lines.sort_by(|a, b| (a.order, &a.fields).cmp(&(b.order, &b.fields)));
    lines.iter().map(|line| line.row(all)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of losses: agent, target, field, kind, text.
    fn shown(losses: &[(&str, &str, &str, LossKind, &str)]) -> Vec<String> {
        let made: Vec<RenderLoss> = losses
            .iter()
            .map(|(_, _, field, kind, detail)| RenderLoss {
                field: (*field).to_owned(),
                kind: *kind,
                detail: (*detail).to_owned(),
            })
            .collect();
        let reported: Vec<AgentLoss<'_>> = losses
            .iter()
            .zip(&made)
            .filter_map(|((agent, name, ..), loss)| {
                let target = agentry_compile::targets::target(name)?;
                Some(AgentLoss { agent, target, loss })
            })
            .collect();
        let all = RenderTotals { agents: 2, targets: 2 };
        grouped(&reported, all).iter().map(|row| row.join(" ").trim().to_owned()).collect()
    }

    #[test]
    fn losses_merge_only_if_the_line_holds_for_all() {
        use LossKind::{Dropped, Gap, Narrowed};
        let (pi, open) = ("pi", "opencode");
        let losses = [
            // Each target has its own reason.
            ("a", open, "tags", Dropped, "OpenCode has none"),
            ("a", pi, "tags", Dropped, "there is no place for it"),
            // Two losses of a kind stay two.
            ("a", pi, "skills", Dropped, "the skill `x` was not found"),
            ("a", pi, "skills", Dropped, "the skill `y` was not found"),
            // One agent in one target, the other agent in the other.
            ("a", open, "permissions.edit", Narrowed, "`x` is ask in the source and deny here"),
            ("b", pi, "permissions.edit", Narrowed, "`x` is ask in the source and deny here"),
            // All agents in all targets, with two examples.
            (
                "a",
                open,
                "permissions.read",
                Gap,
                "OpenCode reads; `x` is ask in the source and allow there",
            ),
            (
                "b",
                open,
                "permissions.read",
                Gap,
                "OpenCode reads; `x` is ask in the source and allow there",
            ),
            (
                "a",
                pi,
                "permissions.read",
                Gap,
                "Pi reads; `y` is ask in the source and allow there",
            ),
            (
                "b",
                pi,
                "permissions.read",
                Gap,
                "Pi reads; `y` is ask in the source and allow there",
            ),
        ];
        assert_eq!(
            shown(&losses),
            [
                "narrowed permissions.edit `x` is ask in the source and deny here (a; opencode)",
                "narrowed permissions.edit `x` is ask in the source and deny here (b; pi)",
                "dropped skills the skill `x` was not found (a; pi)",
                "dropped skills the skill `y` was not found (a; pi)",
                "dropped tags each target has a reason of its own (a; both targets)",
                "gap permissions.read the harness reads; e.g. `x` is ask in the source and allow there for a in opencode \
                 (both agents; both targets)",
            ]
        );
    }
}
