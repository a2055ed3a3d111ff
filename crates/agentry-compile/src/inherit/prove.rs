//! The proof that a merged agent may do no more than its base: section by section, over every call
//! that there is.

use agentry_model::Agent;
use agentry_policy::compare::{Answer, Decision, Witness, refines};
use agentry_policy::{Judge, Place, Places, Protections, Rules, Section, layers};
use agentry_text::{Findings, Span};

use super::rules::POLICY_WIDENED;
use crate::judge::{place, places};
use crate::pipeline::Compiled;
use crate::show::{asks_before_writing, with_defaults};
use crate::world::World;

/// Reports every section in which `whole` is milder than `base`, with a call that shows it. What
/// cannot be compared counts as milder.
pub(super) fn prove(
    world: &dyn World,
    compiled: &Compiled,
    (base, whole, at): (&Agent, &Agent, Span),
    findings: &mut Findings,
) {
    let places = places(world, &compiled.workspace);
    let whole = with_defaults(whole.clone(), compiled.found.format);
    let here = place(&whole, &compiled.dir);
    // What a server is, a program or an address, does not change what the base lets pass.
    let there = Place { asks_before_writing: asks_before_writing(base), ..here.clone() };
    let (base, whole) = (judge(base, &there, &places), judge(&whole, &here, &places));
    for section in Section::ALL {
        let base: Vec<_> = base.rules(*section).map(|(_, rules)| rules).collect();
        let whole: Vec<_> = whole.rules(*section).map(|(_, rules)| rules).collect();
        let (message, witness) =
            match refines(&world.memo().render.policy, &whole, &base, Protections::On) {
                Answer::Yes => continue,
                Answer::No(witness) => (milder(*section, &witness), Some(witness)),
                Answer::Unknown(why) => {
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

fn judge(agent: &Agent, place: &Place, places: &Places) -> Judge {
    Judge::new(layers(&agent.policy, place, places), places.clone())
}

fn milder(section: Section, Witness { subject, first, second }: &Witness) -> String {
    let word = |decision: &Option<Decision>| decision.map_or("allow", |it| it.action.as_str());
    format!("{section} `{subject}` is {} here and {} in the base", word(first), word(second))
}

fn rule_of(layers: &[&Rules], decision: Decision) -> Option<Span> {
    layers.get(decision.layer)?.at(decision.rule).span
}
