//! Whether a delegate can start. A run asks this about every agent that its definition names before its first
//! request to a model, and once more at the call: the files may have changed in between.

use std::collections::HashSet;
use std::sync::Arc;

use agentry_compile::delegates::MOST_DEPTH;
use agentry_compile::model::ModelChoice;
use agentry_runtime::RunLimits;

use super::ceiling::DelegationCeiling;
use super::delegate_list::{self, KnownDelegate};
use super::reach::reachable;
use super::scope::TreeSettings;
use crate::args::SpendingArguments;
use crate::command::run::agreed_parts::AgreedDelegates;
use crate::command::run::assembly::RunEngine;
use crate::command::run::limits::limits;
use crate::command::run::models::{self, PriceNeed};
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::survey::{self, SurveyTerms};
use crate::command::run::{admitted, pipeline};
use crate::output::CliFailure;

/// What decides about the delegates of a run, beside its definition.
#[derive(Clone)]
pub(crate) struct DelegationTerms {
    pub(crate) tree: TreeSettings,
    /// The ceiling of the run itself.
    pub(crate) above: Option<Arc<DelegationCeiling>>,
    /// Whether a user is there to answer.
    pub(crate) can_ask: bool,
}

impl DelegationTerms {
    /// The terms outside of a run: the user named no model and agrees to what is there now.
    fn of_list(ground: &PreparedAgent) -> Self {
        let agreed = Arc::new(AgreedDelegates::of(&reachable(ground)));
        Self {
            tree: TreeSettings { agreed, ..TreeSettings::default() },
            above: None,
            can_ask: true,
        }
    }

    /// The delegates that could not start in a run of an agent, each with the reason.
    pub(super) fn unready<'a>(
        ground: &PreparedAgent,
        delegates: impl Iterator<Item = &'a KnownDelegate>,
    ) -> Vec<(&'a str, String)> {
        let mut delegates = delegates.peekable();
        if delegates.peek().is_none() {
            return Vec::new();
        }
        let terms = Self::of_list(ground);
        let failed = delegates.filter_map(|delegate| {
            let failure = terms.check(ground, delegate).err()?;
            Some((delegate.name.as_str(), failure.message))
        });
        failed.collect()
    }

    /// Fails if a delegate of an agent could not start, or one that such a delegate names.
    pub(super) fn check(
        &self,
        ground: &PreparedAgent,
        delegate: &KnownDelegate,
    ) -> Result<(), CliFailure> {
        let ceiling = DelegationCeiling::of(ground, self.above.clone());
        self.check_one(&ceiling, delegate, 1, &mut HashSet::new())
    }

    fn check_one(
        &self,
        ceiling: &Arc<DelegationCeiling>,
        delegate: &KnownDelegate,
        depth: usize,
        seen: &mut HashSet<String>,
    ) -> Result<(), CliFailure> {
        if let Some(why) = &delegate.problem {
            return Err(CliFailure::new(why.clone()).refused());
        }
        // A deeper one is refused at the call, with its chain.
        if depth > MOST_DEPTH || !seen.insert(delegate.identity.clone()) {
            return Ok(());
        }
        let (child, above) = prepared(&self.tree, ceiling, delegate)?;
        let limits = limits(&child.agent, &SpendingArguments::default(), &child.caps);
        engine(&self.tree, &child, &limits)?;
        let is_confined = !self.tree.unconfined || child.agent.policy.needs_sandbox();
        let survey = SurveyTerms { is_confined, can_ask: self.can_ask };
        if let Some(why) = survey::obstacle(&child, survey)? {
            return Err(CliFailure::new(why).refused());
        }
        let ceiling = DelegationCeiling::of(&child, above);
        for below in delegate_list::declared(&child) {
            self.check_one(&ceiling, &below, depth + 1, seen).map_err(|failure| {
                let message = format!("its delegate `{}`: {}", below.name, failure.message);
                CliFailure { message, ..failure }
            })?;
        }
        Ok(())
    }
}

/// Reads a delegate and puts it under the ceiling that holds for it.
pub(super) fn prepared(
    tree: &TreeSettings,
    ceiling: &Arc<DelegationCeiling>,
    delegate: &KnownDelegate,
) -> Result<(PreparedAgent, Option<Arc<DelegationCeiling>>), CliFailure> {
    let mut ground = PreparedAgent::read(&delegate.path, None)?;
    ground.memory.narrow(tree.memories.reach);
    admitted(&ground, false)?;
    // Before the ceiling changes what it may do.
    let is_same = tree.agreed.is_same(&delegate.identity, &ground);
    let lowered = lowered(ceiling, delegate, &mut ground);
    let above = lowered.map_err(|why| CliFailure::new(why).refused())?;
    // A definition that changed meanwhile is another agent than the one that was listed. One that was not listed
    // must have a ceiling.
    if !is_same.unwrap_or(above.is_some()) {
        let message = format!("`{}` is not what you agreed to", delegate.path);
        return Err(CliFailure::new(message).hint("start the run again to be asked").refused());
    }
    Ok((ground, above))
}

/// Puts a delegate that is the pinned one under its ceiling.
fn lowered(
    ceiling: &Arc<DelegationCeiling>,
    delegate: &KnownDelegate,
    ground: &mut PreparedAgent,
) -> Result<Option<Arc<DelegationCeiling>>, String> {
    if delegate.pin.as_ref().is_some_and(|pin| *pin != ground.digest) {
        return Err(format!(
            "`{}` is not the agent that is pinned: it is {}",
            delegate.path, ground.digest
        ));
    }
    ceiling.lower(delegate, ground)
}

/// Why a delegate cannot work for an agent, whatever the user says: for lists of tools.
pub(super) fn obstacle(ground: &PreparedAgent, delegate: &KnownDelegate) -> Option<String> {
    let mut child = match PreparedAgent::read(&delegate.path, None) {
        Ok(child) => child,
        Err(failure) => return Some(failure.message),
    };
    lowered(&DelegationCeiling::of(ground, None), delegate, &mut child).err()
}

/// The models of a delegate: its own, or the one that the user named if it names none.
pub(super) fn engine(
    tree: &TreeSettings,
    ground: &PreparedAgent,
    limits: &RunLimits,
) -> Result<RunEngine, CliFailure> {
    if let Some(engine) = pipeline::engine(&ground.agent) {
        return Ok(engine);
    }
    let money = match PriceNeed::under(limits) {
        PriceNeed::Free if tree.counts_money => PriceNeed::Limited,
        need => need,
    };
    let has_own = ground.compiled.whole().model != ModelChoice::default();
    let named = tree.model.as_deref().filter(|_| !has_own);
    models::plan(ground, named, money).map(RunEngine::from)
}
