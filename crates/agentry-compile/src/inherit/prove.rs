//! Proves that a merged agent may do no more than its base: section by section, over every possible call.

use agentry_model::Agent;
use agentry_policy::compare::{DecidingRule, RefinementAnswer, Witness, refines};
use agentry_policy::{
    HazardProtection, Judge, PathAnchors, PolicyContext, RuleList, Section, layers,
};
use agentry_text::{Findings, Span};

use super::rules::POLICY_WIDENED;
use crate::judge::places;
use crate::pipeline::CompiledAgent;
use crate::show::with_defaults;
use crate::world::World;

/// Reports every section in which `whole` is milder than `base`, with a call as a witness. What cannot
/// be compared counts as milder.
pub(super) fn prove(
    world: &dyn World,
    compiled: &CompiledAgent,
    (base, whole, at): (&Agent, &Agent, Span),
    findings: &mut Findings,
) {
    let places = places(world, &compiled.workspace);
    let whole = with_defaults(whole.clone(), compiled.found.format);
    let here = whole.policy_context(&compiled.dir);
    // How a server is reached does not change what the base allows, so both use the same context.
    let there = PolicyContext { asks_before_writing: base.asks_before_writing(), ..here.clone() };
    let (base, whole) = (judge(base, &there, &places), judge(&whole, &here, &places));
    for section in Section::ALL {
        let base: Vec<_> = base.rules(*section).map(|(_, rules)| rules).collect();
        let whole: Vec<_> = whole.rules(*section).map(|(_, rules)| rules).collect();
        let (message, witness) =
            match refines(&world.memo().render.policy, &whole, &base, HazardProtection::On) {
                RefinementAnswer::Yes => continue,
                RefinementAnswer::No(witness) => (milder(*section, &witness), Some(witness)),
                RefinementAnswer::Unknown(why) => {
                    (format!("it cannot be proved that {section} is within the base: {why}"), None)
                }
            };
        let found = findings.add(&POLICY_WIDENED, at, message);
        let decides = witness.and_then(|witness| rule_of(&base, witness.second?));
        if let Some(span) = decides {
            found.related(span, "this decides in the base");
        }
        found.hint("keep what the base says about it, or take the base's with `merge`");
    }
}

fn judge(agent: &Agent, place: &PolicyContext, places: &PathAnchors) -> Judge {
    Judge::new(layers(&agent.policy, place, places), places.clone())
}

fn milder(section: Section, Witness { subject, first, second }: &Witness) -> String {
    let word = |decision: &Option<DecidingRule>| decision.map_or("allow", |it| it.action.as_str());
    format!("{section} `{subject}` is {} here and {} in the base", word(first), word(second))
}

fn rule_of(layers: &[&RuleList], decision: DecidingRule) -> Option<Span> {
    layers.get(decision.layer)?.at(decision.rule).span
}
