//! The settings of a target that stay until they are revoked: the guard, rules that close gaps, and denials in
//! place of questions.
//! A plain `agentry render` must not confine an agent less than before.

use agentry_compile::render::{AcceptedLoss, LedgerEntry, RenderLedger};
use agentry_compile::targets::{Target, target};
use agentry_compile::text::suggestion::did_you_mean;

use crate::output::CliFailure;

use super::project::{GatheredAgents, RenderProject};

impl RenderProject<'_> {
    /// Whether a harness asks the guard about calls. A harness that has the guard keeps it, unless its
    /// removal is requested.
    pub(super) fn guards(&self, target: &Target) -> bool {
        let has = self.place.ledger.guarded().contains(target.name);
        !self.args.no_guard && (self.asks_for_guard() || has)
    }

    /// Whether the gaps of a harness are closed. Closed gaps stay closed.
    pub(super) fn closes_gaps(&self, target: &Target) -> bool {
        let has = self.place.ledger.closed_gaps().contains(target.name);
        !self.args.no_close_gaps && (self.asks_to_close_gaps() || has)
    }

    /// Whether a harness denies what the source asks about. It keeps these denials.
    pub(super) fn is_unattended(&self, target: &Target) -> bool {
        let has = self.place.ledger.unattended().contains(target.name);
        !self.args.no_unattended && (self.args.unattended || has)
    }

    /// Whether files are written that also hold for other agents.
    pub(super) fn writes_shared(&self) -> bool {
        self.args.shared || self.config.render.shared
    }

    /// Whether this run replaces what an earlier one wrote into a file. Without `--shared`, the shared lines of
    /// an earlier run stay, and count like those of the user.
    pub(super) fn rewrites(&self, entry: &LedgerEntry) -> bool {
        let stays = |target: &Target| target.shared.contains(&entry.path.as_str());
        let is_lasting = entry.agent.is_empty() && target(&entry.target).is_some_and(stays);
        self.covers(entry) && (self.writes_shared() || !is_lasting)
    }

    /// The losses that the command line and the workspace accept.
    pub(super) fn accepted(&self) -> Result<Vec<AcceptedLoss>, CliFailure> {
        let mut accepted = self.args.accept.clone();
        for text in &self.config.render.accept {
            let wrong = |why: String| {
                CliFailure::new(format!("`accept` in `[render]` of `agentry.toml`: {why}"))
            };
            accepted.push(text.parse().map_err(wrong)?);
        }
        Ok(accepted)
    }

    fn asks_for_guard(&self) -> bool {
        self.args.guard || self.config.render.guard
    }

    fn asks_to_close_gaps(&self) -> bool {
        self.args.close_gaps || self.config.render.close_gaps
    }

    /// The targets that have the guard only because they had it before.
    pub(super) fn kept_guard(&self) -> Vec<&'static str> {
        let kept = |target: &&&'static Target| !self.asks_for_guard() && self.guards(target);
        self.targets.iter().filter(kept).map(|target| target.name).collect()
    }

    /// The targets whose gaps are closed only because they were closed before.
    pub(super) fn kept_closed(&self) -> Vec<&'static str> {
        let kept =
            |target: &&&'static Target| !self.asks_to_close_gaps() && self.closes_gaps(target);
        self.targets.iter().filter(kept).map(|target| target.name).collect()
    }

    /// The targets that deny questions only because they denied them before.
    pub(super) fn kept_unattended(&self) -> Vec<&'static str> {
        let kept = |target: &&&'static Target| !self.args.unattended && self.is_unattended(target);
        self.targets.iter().filter(kept).map(|target| target.name).collect()
    }

    /// Fails if the configured main agent of a target does not exist. A run for some agents may leave it out,
    /// and the name of an agent with errors is unknown.
    pub(super) fn has_primaries(&self, gathered: &GatheredAgents) -> Result<(), CliFailure> {
        let GatheredAgents { subjects, broken, not_as_locked, .. } = gathered;
        if !self.speaks_for_all() || !broken.is_empty() || !not_as_locked.is_empty() {
            return Ok(());
        }
        let render = &self.config.render;
        for target in &self.targets {
            let Some(name) = render.primary(target) else { continue };
            // The setting may use the name in the harness, which can differ from the agent's.
            let has = |known: &str| known == name || render.name(target, known) == name;
            if !subjects.iter().any(|subject| has(&subject.name)) {
                let message = format!(
                    "`[render.{}]` has `primary = \"{name}\"`, and no agent here has that name",
                    target.name
                );
                let known = subjects.iter().map(|subject| subject.name.as_str());
                let hint = did_you_mean(name, known);
                let hint = hint.unwrap_or_else(|| "name one, or take the line out".to_owned());
                return Err(CliFailure::new(message).hint(hint));
            }
        }
        Ok(())
    }

    /// The ledger with the settings of each target after this run.
    pub(super) fn remembering(&self, ledger: RenderLedger) -> RenderLedger {
        let is_ours = |name: &str| self.targets.iter().any(|target| target.name == name);
        let others = |names: &std::collections::BTreeSet<String>| -> Vec<String> {
            names.iter().filter(|name| !is_ours(name)).cloned().collect()
        };
        let name = |target: &&'static Target| target.name.to_owned();
        // A target without a guard must not be recorded as guarded.
        let has_guard = |target: &&&'static Target| target.guard.is_some() && self.guards(target);
        let guarded = self.targets.iter().filter(has_guard).map(name);
        let closed = self.targets.iter().filter(|target| self.closes_gaps(target)).map(name);
        let unattended = self.targets.iter().filter(|target| self.is_unattended(target)).map(name);
        let before = &self.place.ledger;
        ledger
            .with_guard(others(before.guarded()).into_iter().chain(guarded))
            .with_closed_gaps(others(before.closed_gaps()).into_iter().chain(closed))
            .with_unattended(others(before.unattended()).into_iter().chain(unattended))
    }
}
