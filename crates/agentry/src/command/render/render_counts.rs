//! The counts of a report.

use std::collections::BTreeMap;

use agentry_compile::render::{PlannedChange, PlannedChangeKind};
use agentry_compile::targets::LossKind;
use agentry_compile::text::report::counted;

use crate::args::RenderArguments;

/// The counts of the report.
#[derive(Debug, Default)]
pub(super) struct RenderCounts {
    pub(super) agents: usize,
    /// The agents that are refused for every target.
    pub(super) refused: usize,
    pub(super) targets: Vec<&'static str>,
    pub(super) created: usize,
    pub(super) updated: usize,
    pub(super) kept: usize,
    pub(super) removed: usize,
    pub(super) exact: usize,
    pub(super) accepted: usize,
    pub(super) lost: BTreeMap<LossKind, usize>,
}

impl RenderCounts {
    /// The number of files that differ from the rendering.
    pub(super) fn drifted(&self) -> usize {
        self.created + self.updated + self.removed
    }

    /// The number of agents of the run, and of how many if some are refused.
    pub(super) fn agent_count_text(&self, args: &RenderArguments) -> String {
        let all = counted(self.agents, "agent");
        match self.agents.saturating_sub(self.refused) {
            _ if self.refused == 0 || args.check => all,
            0 if self.agents == 1 => "no agent".to_owned(),
            0 => format!("none of {all}"),
            some => format!("{some} of {all}"),
        }
    }

    pub(super) fn add(&mut self, change: &PlannedChange) {
        let count = match change.kind {
            PlannedChangeKind::Create => &mut self.created,
            PlannedChangeKind::Update => &mut self.updated,
            PlannedChangeKind::Keep => &mut self.kept,
            PlannedChangeKind::Remove => &mut self.removed,
        };
        *count += 1;
    }
}
