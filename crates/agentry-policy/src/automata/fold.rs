//! Merges the rules of a section into one machine, pairwise, so that each merge stays small.

use std::sync::Arc;

use super::MachineTooLarge;
use super::leaf::{leaf, universe};
use super::machine::{NONE, StateMachine};
use crate::memo::PolicyMemo;
use crate::pattern::{HazardProtection, Pattern, PatternKind};
use crate::{Action, RuleList};

/// Merges the machines of rules about one kind of subject.
#[derive(Debug)]
pub(crate) struct MachineFolder<'m> {
    pub(crate) memo: &'m PolicyMemo,
    /// The machine of all valid subjects.
    pub(crate) universe: Arc<StateMachine>,
    pub(crate) protections: HazardProtection,
}

impl<'m> MachineFolder<'m> {
    /// Makes a folder for rules about `kind`.
    pub(crate) fn new(
        memo: &'m PolicyMemo,
        kind: PatternKind,
        protections: HazardProtection,
    ) -> Result<Self, MachineTooLarge> {
        Ok(Self { memo, universe: universe(kind)?, protections })
    }

    /// Returns the machine of one pattern.
    pub(crate) fn leaf(&self, pattern: &Pattern) -> Result<StateMachine, MachineTooLarge> {
        self.memo.leaves.get((self.protections, pattern.clone()), || match self.protections {
            // Most patterns cache their machine with protection on; only a protected one differs without it.
            HazardProtection::Off if pattern.is_protected() => leaf(pattern, HazardProtection::Off),
            HazardProtection::On | HazardProtection::Off => pattern.machine().cloned(),
        })
    }

    /// Builds the machine whose output is the label of the deciding rule; the index of the intent is the
    /// number of rules.
    pub(crate) fn rules(
        &self,
        rules: &RuleList,
        label: impl Fn(usize) -> u32,
    ) -> Result<StateMachine, MachineTooLarge> {
        let mut machines = Vec::with_capacity(rules.rules.len() + 1);
        for (index, rule) in rules.rules.iter().enumerate() {
            machines.push(self.leaf(&rule.pattern)?.relabel(|_| label(index)));
        }
        machines.push(self.universe.as_ref().clone().relabel(|_| label(rules.rules.len())));
        // Minimising is only tried now and then: rules about different commands hardly grow when merged, so
        // it would cost time for nothing.
        let mut unchanged = 0_u32;
        while machines.len() > 1 {
            let mut merged = Vec::with_capacity(machines.len().div_ceil(2));
            for pair in machines.chunks(2) {
                let [first, second] = pair else {
                    merged.extend(pair.iter().cloned());
                    continue;
                };
                let both = self.first_of(first, second)?;
                if unchanged % 16 > 1 && both.states() <= first.states() + second.states() {
                    unchanged += 1;
                    merged.push(both);
                    continue;
                }
                let least = both.minimise();
                let pays = least.states() * 10 < both.states() * 9;
                unchanged = if pays { 0 } else { unchanged + 1 };
                merged.push(least);
            }
            machines = merged;
        }
        Ok(machines.pop().unwrap_or_else(StateMachine::nothing))
    }

    /// Merges two machines; the output of the first one wins where it has one.
    fn first_of(
        &self,
        first: &StateMachine,
        second: &StateMachine,
    ) -> Result<StateMachine, MachineTooLarge> {
        let settled = first.settled(&self.universe, |output| output != NONE);
        first.merge(second, &settled, |a, b| if a == NONE { b } else { a })
    }

    /// Merges two machines; the stricter output wins, and the first one if both are equally strict. `action`
    /// maps an output to its verdict.
    pub(crate) fn strictest(
        &self,
        first: &StateMachine,
        second: &StateMachine,
        action: impl Fn(u32) -> Action,
    ) -> Result<StateMachine, MachineTooLarge> {
        let settled = first
            .settled(&self.universe, |output| output != NONE && action(output) == Action::Deny);
        let combine = |a: u32, b: u32| match (a, b) {
            (NONE, b) => b,
            (a, NONE) => a,
            (a, b) if action(b) > action(a) => b,
            (a, _) => a,
        };
        Ok(first.merge(second, &settled, combine)?.minimise())
    }
}
