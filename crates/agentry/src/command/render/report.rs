//! The report of `render`: files, losses and refusals, target by target.

use agentry_compile::render::{
    ExplainedRules, ExplainedSection, PlannedChangeKind, TargetRun, drift,
};
use agentry_compile::targets::{GUARD_FIELD, LossKind, RenderLoss, RenderRefusal, RenderedAgent};
use agentry_compile::text::report::{counted, visible};
use serde_json::{Value, json};

use crate::args::{RenderArguments, ResultFormat};
use crate::command_report::CommandReport;
use crate::output::{ExitKind, columns};

use super::files::{self, word};
use super::loss_groups::{AgentLoss, RenderTotals, each, grouped};
use super::loss_text::names;
use super::lost_tools::LostTools;
use super::project::{ProjectAgent, ProjectOutcome};
use super::refusal_rows::refusal_rows;
use super::render_counts::RenderCounts;
use super::{guard_advice, shared_lines};

/// The lines of a screen.
const SCREEN: usize = 40;

/// The lines of the report beside files, lost tools and losses.
const BESIDE_LOSSES: usize = 7;

/// The fewest rows of losses that are shown.
const FEWEST_LOSSES: usize = 6;

/// Takes projects as they are finished, and reports them in one of the formats.
pub(super) struct RenderReport<'a> {
    args: &'a RenderArguments,
    text: String,
    files: Vec<Value>,
    removed: Vec<Value>,
    losses: Vec<Value>,
    refused: Vec<Value>,
    sections: Vec<Value>,
    counts: RenderCounts,
    /// The targets whose rules only the guard would keep exactly.
    unguarded: Vec<&'static str>,
    /// The names of disabled agents.
    disabled: Vec<String>,
    /// The agents that lose a tool which their source gives.
    lost_tools: LostTools,
    /// The width of the column before the files of a target.
    width: usize,
}

impl<'a> RenderReport<'a> {
    pub(super) fn new(args: &'a RenderArguments) -> Self {
        Self {
            args,
            text: String::new(),
            files: Vec::new(),
            removed: Vec::new(),
            losses: Vec::new(),
            refused: Vec::new(),
            sections: Vec::new(),
            counts: RenderCounts::default(),
            unguarded: Vec::new(),
            disabled: Vec::new(),
            lost_tools: LostTools::default(),
            width: 0,
        }
    }

    /// Adds a workspace.
    pub(super) fn project(&mut self, done: &ProjectOutcome) {
        let asked = || done.agents.iter().enumerate().filter(|(_, agent)| agent.asked);
        self.counts.agents += asked().count();
        self.counts.refused += asked().filter(|(at, _)| is_refused_everywhere(done, *at)).count();
        for ran in &done.runs {
            if !self.counts.targets.contains(&ran.target.name) {
                self.counts.targets.push(ran.target.name);
            }
        }
        for name in &done.disabled {
            self.line(&format!(
                "`{name}` is disabled: it is not rendered, and its files are removed"
            ));
        }
        self.disabled.extend(done.disabled.iter().cloned());
        if self.args.check {
            self.drift(done);
        }
        let mut names: Vec<&str> = done.runs.iter().map(|ran| ran.target.name).collect();
        // Also targets that have rendered files but are no longer listed.
        names.extend(done.plan.changes.iter().map(|change| change.target.as_str()));
        names.dedup();
        let mut shown: Vec<&str> = Vec::new();
        let mut reported = Vec::new();
        for name in names {
            if !shown.contains(&name) {
                shown.push(name);
                reported.extend(self.target(done, name));
            }
        }
        // Losses of several targets are grouped once, after all of them.
        if !reported.is_empty() {
            let gap = if self.text.ends_with("\n\n") { "" } else { "\n" };
            self.text.push_str(gap);
            self.line("losses");
            self.show_losses(done, &reported);
            self.text.push('\n');
        }
    }

    /// Reports a target; returns its losses if they are shown at the end.
    fn target<'d>(&mut self, done: &'d ProjectOutcome, name: &str) -> Vec<AgentLoss<'d>> {
        let start = self.text.len();
        self.changes(done, name);
        for line in shared_lines::causes(done, name) {
            self.line(&line);
        }
        if done.kept_guard.contains(&name) {
            self.line("  guard kept, as it was rendered before; `--no-guard` removes it");
        }
        self.unguarded(done, name);
        if done.kept_closed.contains(&name) {
            self.line("  gaps kept closed, as before; `--no-close-gaps` opens them");
        }
        if done.kept_unattended.contains(&name) {
            self.line("  questions kept denied, as before; `--no-unattended` asks again");
        }
        self.refusals(done, name);
        let end = self.text.len();
        let mut reported = Vec::new();
        if let Some(ran) = done.runs.iter().find(|ran| ran.target.name == name) {
            reported = self.lost(done, ran);
            if self.args.explain || done.runs.len() == 1 || !self.shows_losses() {
                self.show_losses(done, &std::mem::take(&mut reported));
            }
            if start < end && end < self.text.len() {
                self.text.insert(end, '\n');
            }
            self.explained(done, ran);
        }
        if self.text.len() > start {
            self.text.insert_str(start, &format!("{name}\n"));
            // With losses at the end, the files of all targets follow each other without a gap.
            if reported.is_empty() {
                self.text.push('\n');
            }
        }
        reported
    }

    /// Reports once that a guard was requested for a target without one, or what limits the guard it has.
    fn unguarded(&mut self, done: &ProjectOutcome, target: &str) {
        let runs = done.runs.iter().filter(|ran| ran.target.name == target);
        let rendered = runs.flat_map(|ran| agents(done, ran)).filter(|(_, it)| it.is_lossy());
        let mut losses = rendered.flat_map(|(_, it)| &it.losses);
        if let Some(loss) = losses.find(|loss| loss.field == GUARD_FIELD) {
            let has_guard =
                done.runs.iter().any(|ran| ran.target.name == target && ran.target.guard.is_some());
            let what = if has_guard { "guard limit" } else { "no guard" };
            self.line(&format!("  {what}: {}", loss.detail));
        }
    }

    fn changes(&mut self, done: &ProjectOutcome, target: &str) {
        for change in done.plan.changes.iter().filter(|change| change.target == target) {
            let path = done.place.shown(&change.path);
            let entry = || {
                json!({
                    "agent": agent_of(done, &change.agent),
                    "target": target,
                    "path": path,
                    "change": word(change.kind, true),
                })
            };
            match change.kind {
                // Text output does not need the objects, which are many.
                _ if !self.is_for_programs() => {}
                PlannedChangeKind::Remove => self.removed.push(entry()),
                _ => self.files.push(entry()),
            }
            self.counts.add(change);
        }
        let rows = files::rows(done, target, self.args.verbose);
        let words = rows.iter().filter_map(|row| row.first());
        self.width = words.map(String::len).max().unwrap_or(0);
        self.text.push_str(&columns(&rows));
    }

    fn refusals(&mut self, done: &ProjectOutcome, target: &str) {
        let before = self.refused.len();
        for ran in done.runs.iter().filter(|ran| ran.target.name == target) {
            for (agent, rendered) in agents(done, ran) {
                if let Some(why) = &rendered.refused {
                    let RenderRefusal { field, message, hint } = why;
                    self.refused.push(json!({
                        "agent": agent.name, "target": target, "field": field, "message": message,
                        "hint": hint,
                    }));
                }
            }
        }
        for it in done.plan.refused.iter().filter(|it| it.target == target) {
            let agent = agent_of(done, &it.agent);
            self.refused.push(json!({
                "agent": agent, "target": target, "field": "files", "message": it.message,
                "hint": it.hint,
            }));
        }
        let new = self.refused.get(before..).unwrap_or_default();
        let rows = refusal_rows(new, self.args.verbose);
        let width = self.width;
        for (what, hint) in rows {
            self.line(&format!("{:<width$}  {what}", "  refused"));
            if let Some(hint) = hint {
                self.line(&format!("    = help: {hint}"));
            }
        }
    }

    /// The refusals with their reasons, for output that shows nothing else.
    pub(super) fn refused(&self) -> String {
        let text = |it: &Value, key: &str| it.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut out = String::new();
        for it in &self.refused {
            let agent_prefix = text(it, "agent").map_or(String::new(), |name| format!("{name}: "));
            let [target, message] =
                ["target", "message"].map(|key| text(it, key).unwrap_or_default());
            out.push_str(&visible(&format!("refused  {agent_prefix}{message} ({target})")));
            out.push('\n');
            if let Some(hint) = text(it, "hint") {
                out.push_str(&visible(&format!("  = help: {hint}")));
                out.push('\n');
            }
        }
        out
    }

    /// Records the losses for a target.
    fn lost<'d>(&mut self, done: &'d ProjectOutcome, ran: &'d TargetRun) -> Vec<AgentLoss<'d>> {
        let asked = agents(done, ran)
            .filter(|(agent, rendered)| agent.asked && !is_refused(done, ran, agent, rendered));
        let (mut reported, mut exact) = (Vec::new(), Vec::new());
        for (agent, rendered) in asked {
            if rendered.losses.is_empty() {
                exact.push(agent.name.as_str());
            }
            self.lost_tools.add(&agent.name, ran.target, rendered);
            self.counts.accepted += rendered.accepted.len();
            if guard_advice::is_needed(ran, rendered) && !self.unguarded.contains(&ran.target.name)
            {
                self.unguarded.push(ran.target.name);
            }
            for loss in &rendered.losses {
                let RenderLoss { field, kind, detail } = loss;
                if self.is_for_programs() {
                    self.losses.push(json!({
                        "agent": agent.name,
                        "target": ran.target.name,
                        "field": field,
                        "kind": kind.as_str(),
                        "detail": detail,
                    }));
                }
                *self.counts.lost.entry(*kind).or_default() += 1;
                // A missing guard was already reported beside the target.
                if field != GUARD_FIELD || self.args.explain {
                    reported.push(AgentLoss { agent: &agent.name, target: ran.target, loss });
                }
            }
        }
        self.counts.exact += exact.len();
        if !exact.is_empty() && self.shows_losses() {
            self.text.push_str(&columns(&[vec!["  exact".to_owned(), names(&exact)]]));
        }
        reported
    }

    /// Whether the output is for programs, so that every file and every loss is an object.
    fn is_for_programs(&self) -> bool {
        self.args.format == ResultFormat::Json
    }

    /// Whether losses are shown; a check for drift leaves them out.
    fn shows_losses(&self) -> bool {
        !self.args.check || self.args.strict
    }

    /// Shows losses: grouped, or each one with `--explain`.
    fn show_losses(&mut self, done: &ProjectOutcome, reported: &[AgentLoss<'_>]) {
        if !self.shows_losses() {
            return;
        }
        let agents = done.agents.iter().filter(|agent| agent.asked).count();
        let all =
            RenderTotals { agents, targets: if self.args.explain { 1 } else { done.runs.len() } };
        let is_whole = self.args.explain || self.args.verbose;
        let mut rows = if is_whole { each(reported, all) } else { grouped(reported, all) };
        let kinds = rows.len();
        if !is_whole {
            rows.truncate(self.room());
        }
        self.text.push_str(&columns(&rows));
        if rows.len() < kinds {
            self.line(&format!("  = and {} more; `--verbose` lists them", kinds - rows.len()));
        }
        if rows.len() < reported.len() && !is_whole {
            let all = reported.len();
            self.line(&format!("  = `--explain` lists all {all}, with the rules of both sides"));
        }
    }

    fn explained(&mut self, done: &ProjectOutcome, ran: &TargetRun) {
        for (agent, sections) in done.agents.iter().zip(&ran.explained) {
            if !agent.asked {
                continue;
            }
            for ExplainedSection { section, source, harness, differences } in sections {
                let rules = |sides: &[ExplainedRules]| -> Value {
                    let one = |it: &ExplainedRules| json!({"name": it.name, "rules": it.rules});
                    sides.iter().map(one).collect()
                };
                self.sections.push(json!({
                    "agent": agent.name,
                    "target": ran.target.name,
                    "section": section.as_str(),
                    "source": rules(source),
                    "harness": rules(harness),
                    "difference": (!differences.is_empty()).then(|| differences.join("; ")),
                }));
                self.text.push('\n');
                self.line(&format!("  {}  permissions.{section}", agent.name));
                let rows = sides("source", source).chain(sides(ran.target.name, harness));
                self.text.push_str(&columns(&rows.collect::<Vec<_>>()));
                if differences.is_empty() {
                    self.line("    = both say the same");
                }
                differences.iter().for_each(|reported| self.line(&format!("    = {reported}")));
            }
        }
    }

    /// Shows how files differ from the rendering.
    fn drift(&mut self, done: &ProjectOutcome) {
        // A refused file differs from the rendering as well.
        let refused = done.plan.refused.iter().filter_map(|refused| refused.instead.as_deref());
        let before = self.text.len();
        for change in done.plan.changes.iter().chain(refused) {
            let diff = drift(change, &done.place.shown(&change.path));
            diff.lines().for_each(|line| self.line(line));
        }
        if self.text.len() > before {
            self.text.push('\n');
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(&visible(line));
        self.text.push('\n');
    }

    /// The exit code of the command.
    pub(super) fn exit(&self) -> ExitKind {
        let lost = self.args.strict && !self.counts.lost.is_empty();
        let drifted = self.args.check && self.counts.drifted() > 0;
        if lost || drifted || !self.refused.is_empty() {
            ExitKind::Findings
        } else {
            ExitKind::Done
        }
    }

    /// How many rows of losses still fit a screen; a few are always shown.
    fn room(&self) -> usize {
        let used = self.text.lines().count() + self.lost_tools.lines(self.args).len();
        (SCREEN - BESIDE_LOSSES).saturating_sub(used).max(FEWEST_LOSSES)
    }

    /// The report as text; of several agents, first the counts and the tools that they lost.
    pub(super) fn text(&self) -> String {
        let mut report = CommandReport::new(self.summary()).counts_first(self.counts.agents > 1);
        if self.args.quiet {
            self.refused().lines().for_each(|line| report.detail(line));
            return report.text();
        }
        report.sections(&self.text);
        self.lost_tools.lines(self.args).iter().for_each(|line| report.detail(line));
        if let Some(command) = guard_advice::command(self.args, &self.unguarded) {
            report.hint(&format!("`{command}` checks each call by these rules"));
        }
        report.text()
    }

    /// The report as JSON.
    pub(super) fn json(&self) -> Value {
        let mut value = json!({
            "files": self.files,
            "losses": self.losses,
            "refused": self.refused,
            "removed": self.removed,
            "accepted": self.counts.accepted,
            "disabled": self.disabled,
            "lost_tools": self.lost_tools.to_json(),
            "guard": guard_advice::command(self.args, &self.unguarded),
        });
        if let Some(map) = value.as_object_mut().filter(|_| self.args.explain) {
            map.insert("sections".to_owned(), self.sections.clone().into());
        }
        value
    }

    /// The summary in one line.
    pub(super) fn summary(&self) -> String {
        let RenderCounts { targets, created, updated, kept, removed, exact, lost, .. } =
            &self.counts;
        let lost = |kind| lost.get(&kind).copied().unwrap_or(0);
        let files = [
            (*created, "created"),
            (*updated, "updated"),
            (*kept, "unchanged"),
            (*removed, "removed"),
            (self.refused.len(), "refused"),
        ];
        let fidelity = [
            (*exact, "exact"),
            (lost(LossKind::Narrowed), "narrowed"),
            (lost(LossKind::Dropped), "dropped"),
        ];
        let named = |(count, word): &(usize, &str)| (*count > 0).then(|| format!("{count} {word}"));
        let mut parts: Vec<String> = fidelity.iter().filter_map(named).collect();
        if lost(LossKind::Gap) > 0 {
            parts.push(counted(lost(LossKind::Gap), "gap"));
        }
        if self.counts.accepted > 0 {
            parts.push(format!("{} accepted", self.counts.accepted));
        }
        let files: Vec<String> = files.iter().filter_map(named).collect();
        let files = if files.is_empty() { "no files".to_owned() } else { files.join(", ") };
        let what =
            format!("{} for {}", self.counts.agent_count_text(self.args), targets.join(", "));
        let losses =
            if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) };
        let verb = match self.args {
            RenderArguments { check: true, .. } if self.counts.drifted() > 0 => {
                return format!("{what}: not as rendered: {files}; run `agentry render`");
            }
            RenderArguments { check: true, .. } => "checked",
            RenderArguments { dry_run: true, .. } => "would render",
            RenderArguments { strict: true, .. } if !self.counts.lost.is_empty() => {
                return format!("{what}: something would be lost, nothing was written{losses}");
            }
            _ => "rendered",
        };
        format!("{verb} {what}: {files}{losses}")
    }
}

/// The agents of a run, with their results.
fn agents<'a>(
    done: &'a ProjectOutcome,
    ran: &'a TargetRun,
) -> impl Iterator<Item = (&'a ProjectAgent, &'a RenderedAgent)> {
    done.agents.iter().zip(&ran.rendering.agents)
}

/// Whether nothing was written for an agent; it has no losses then.
fn is_refused(
    done: &ProjectOutcome,
    ran: &TargetRun,
    agent: &ProjectAgent,
    rendered: &RenderedAgent,
) -> bool {
    let name = ran.target.name;
    let mut refused = done.plan.refused.iter().filter(|it| it.target == name);
    rendered.refused.is_some()
        || refused.any(|it| it.agent.is_empty() || it.agent == agent.definition)
}

/// Whether nothing was written for the agent at this index, for any target.
fn is_refused_everywhere(done: &ProjectOutcome, at: usize) -> bool {
    let is_refused_in = |ran: &TargetRun| {
        let found = done.agents.get(at).zip(ran.rendering.agents.get(at));
        found.is_some_and(|(agent, rendered)| is_refused(done, ran, agent, rendered))
    };
    !done.runs.is_empty() && done.runs.iter().all(is_refused_in)
}

/// The name of the agent of a definition; null for a shared file.
fn agent_of(done: &ProjectOutcome, definition: &str) -> Value {
    let known = done.agents.iter().find(|agent| agent.definition == definition);
    match known {
        Some(agent) => agent.name.clone().into(),
        None if definition.is_empty() => Value::Null,
        None => definition.into(),
    }
}

/// The rows of one side of a section.
fn sides<'a>(
    whose: &'a str,
    sides: &'a [ExplainedRules],
) -> impl Iterator<Item = Vec<String>> + 'a {
    sides.iter().flat_map(move |side| {
        side.rules.iter().enumerate().map(move |(at, rule)| {
            let head = if at == 0 { format!("{whose}: {}", side.name) } else { String::new() };
            vec![format!("    {}", visible(&head)), visible(rule).into_owned()]
        })
    })
}
