//! The machine of a single pattern, including hazard protection.

use std::sync::{Arc, OnceLock};

use super::MachineTooLarge;
use super::determinise::{SubsetJudge, determinise};
use super::hazards::{HAZARD, add_hazards};
use super::language::{PATTERN, UNIVERSE, add_pattern, add_universe};
use super::machine::StateMachine;
use super::nfa::Nfa;
use super::subject::items;
use crate::Action;
use crate::pattern::{HazardProtection, Pattern, PatternKind, PatternShape};

/// Returns the machine of all valid subjects of a kind, with output 0.
pub(crate) fn universe(kind: PatternKind) -> Result<Arc<StateMachine>, MachineTooLarge> {
    // The same for every policy, so they are built once, on first use.
    static UNIVERSES: [OnceLock<Result<Arc<StateMachine>, MachineTooLarge>>; PatternKind::COUNT] =
        [const { OnceLock::new() }; PatternKind::COUNT];
    let build = || {
        let mut nfa = Nfa::default();
        let start = add_universe(&mut nfa, kind, UNIVERSE)?;
        let judge = SubsetJudge { alive: &|_, _| true, accepts: &|accepts| accepts != 0 };
        Ok(Arc::new(determinise(&nfa, &[start], &judge, 0)?.minimise()))
    };
    UNIVERSES.get(kind as usize).ok_or(MachineTooLarge)?.get_or_init(build).clone()
}

/// Returns the machine of the subjects that a pattern matches, with output 0.
pub(crate) fn leaf(
    pattern: &Pattern,
    protections: HazardProtection,
) -> Result<StateMachine, MachineTooLarge> {
    if matches!(pattern.shape, PatternShape::Everything) {
        return Ok(universe(pattern.kind)?.as_ref().clone());
    }
    let mut nfa = Nfa::default();
    let Some(start) = add_pattern(&mut nfa, pattern)? else { return Ok(StateMachine::nothing()) };
    let mut starts = vec![start, add_universe(&mut nfa, pattern.kind, UNIVERSE)?];
    let mut unless = Vec::new();
    let guarded = pattern.action == Action::Allow && protections == HazardProtection::On;
    if let PatternShape::Command(shape) = &pattern.shape
        && guarded
    {
        let items = items(pattern.kind);
        let hazards = add_hazards(&mut nfa, (pattern, shape), &items).ok_or(MachineTooLarge)?;
        starts.push(hazards.start);
        unless = hazards.unless;
    }
    let both = PATTERN | UNIVERSE;
    let harmless = |accepts: u128, bits: u128| {
        unless.iter().all(|(at_all, harmless)| accepts & at_all == 0 || bits & harmless != 0)
    };
    // A state is alive only while the pattern and the universe can both match and no hazard is found.
    let judge = SubsetJudge {
        alive: &|part, accepts| {
            part & both == both && accepts & HAZARD == 0 && harmless(accepts, part)
        },
        accepts: &|accepts| accepts & both == both && harmless(accepts, accepts),
    };
    Ok(determinise(&nfa, &starts, &judge, 0)?.minimise())
}
