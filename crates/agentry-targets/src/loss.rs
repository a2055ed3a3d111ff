//! Losses that are found by comparing: where the rules of a harness are stricter than their source.

use agentry_policy::{Action, Rules, Section};

use crate::model::Model;
use crate::proof::{Proof, within};
use crate::rendering::{LossKind, Rendered};
use crate::subject::Subject;

/// Notes whether `target` is stricter than the source says.
pub fn compare(subject: &Subject, section: Section, target: &[Rules], out: &mut Rendered) {
    let field = format!("permissions.{section}");
    match within(&subject.bounds(section), target) {
        Proof::Holds => {}
        Proof::Fails { example, source, target } => {
            // The sides are swapped: what the source says is on the left.
            let detail = format!("`{example}` is {target} in the source and {source} here");
            out.lose(field, LossKind::Narrowed, detail);
        }
        Proof::Unknown(why) => out.lose(field, LossKind::Narrowed, why),
    }
}

/// Notes that nobody answers in a run without a person, for harnesses that refuse then.
pub fn unattended(model: &Model, out: &mut Rendered) {
    let mut rules = model.ways.iter().flat_map(|way| &way.layers).flat_map(Rules::all);
    if rules.any(|rule| rule.action == Action::Ask) {
        let detail = "a run without a person refuses what would be asked about";
        out.lose("permissions", LossKind::Narrowed, detail);
    }
}
