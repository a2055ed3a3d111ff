//! Losses that are found by comparing: where the rules of a harness are stricter than their source.

use agentry_policy::{Action, Rules, Section};

use crate::model::{Model, always};
use crate::proof::{Proof, told, within};
use crate::rendering::{LossKind, Rendered};
use crate::subject::Subject;

/// What makes rules exact in a harness with hooks.
pub const EXACT: &str = "`--guard` makes it exact";

/// Notes whether `target` is stricter than the source says, and what helps.
pub fn compare(
    subject: &Subject,
    section: Section,
    target: &[Rules],
    way_out: Option<&str>,
    out: &mut Rendered,
) {
    let field = format!("permissions.{section}");
    match told(&subject.memo, section, &subject.bounds(section), target) {
        Proof::Holds => {}
        Proof::Fails { example, source, target } => {
            // The sides are swapped: what the source says is on the left.
            let way_out = way_out.map_or(String::new(), |text| format!("; {text}"));
            let detail =
                format!("`{example}` is {target} in the source and {source} here{way_out}");
            out.lose(field, LossKind::Narrowed, detail);
        }
        Proof::Unknown(why) => out.lose(field, LossKind::Narrowed, why),
    }
}

/// What an agent does with tools that every harness has.
const WORK: [Section; 5] =
    [Section::Read, Section::Edit, Section::Bash, Section::Webfetch, Section::Websearch];

/// Notes that the harness leaves an agent no tool at all, though the source gives it some.
pub fn toolless(subject: &Subject, model: &Model, way_out: Option<&str>, out: &mut Rendered) {
    let permits = |rules: &Rules| rules.all().any(|rule| rule.action < Action::Deny);
    let mut ways = model.ways.iter().filter(|way| way.section != Section::Question);
    let has_some = ways.any(|way| way.layers.iter().all(permits));
    let works = |section: &Section| {
        let nothing = always(*section, Action::Deny, "nothing");
        within(&subject.memo, &subject.bounds(*section), &[nothing]) != Proof::Holds
    };
    if !has_some && WORK.iter().any(works) {
        let way_out = way_out.map_or(String::new(), |text| format!("; {text}"));
        out.lose("permissions", LossKind::Narrowed, format!("no tool is left{way_out}"));
    }
}

/// What keeps the tools of an agent in a harness with hooks.
pub const BY_GUARD: &str = "`--guard` would keep them";

/// Notes that nobody answers in a run without a person, for harnesses that refuse then.
pub fn unattended(model: &Model, out: &mut Rendered) {
    let mut rules = model.ways.iter().flat_map(|way| &way.layers).flat_map(Rules::all);
    if rules.any(|rule| rule.action == Action::Ask) {
        let detail = "a run without a person refuses what would be asked about";
        out.lose("permissions", LossKind::Narrowed, detail);
    }
}
