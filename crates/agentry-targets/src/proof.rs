//! The proof that rules of a harness permit no more than their source, remembered: agents of one
//! workspace mostly share their rules.

use agentry_policy::compare::{Answer, Example, decide, refines};
use agentry_policy::known::Known;
use agentry_policy::{Action, Protections, Rules};

/// Whether rules stay within others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// They do.
    Holds,
    /// They do not, and this shows it.
    Fails {
        /// One of the shortest subjects that shows it.
        example: Example,
        /// What the source says of it.
        source: Action,
        /// What the harness would do.
        target: Action,
    },
    /// Nobody knows; to be taken for «no».
    Unknown(String),
}

/// What was proved already, by all that it depends on.
static KNOWN: Known<String, Proof> = Known::new();

/// Whether `target` permits nowhere more than `source`. Only what the rules say counts; what Agentry
/// looks at beyond them is a matter of gaps.
pub fn within(target: &[Rules], source: &[Rules]) -> Proof {
    if source.is_empty() {
        return Proof::Unknown("nothing is known that it could stay within".to_owned());
    }
    if is_plain(target, source) {
        return Proof::Holds;
    }
    let key = format!("{}\n⊑\n{}", key(target), key(source));
    KNOWN.get(key, || prove(target, source))
}

/// Whether the answers alone show it: some list of the target has none that is milder than the
/// strictest of the source.
fn is_plain(target: &[Rules], source: &[Rules]) -> bool {
    let mildest = |rules: &Rules| rules.all().map(|rule| rule.action).min();
    let mildest = target.iter().filter_map(mildest).max().unwrap_or(Action::Allow);
    source.iter().flat_map(Rules::all).all(|rule| rule.action <= mildest)
}

fn prove(target: &[Rules], source: &[Rules]) -> Proof {
    let (target, source) = (refs(target), refs(source));
    match refines(&target, &source, Protections::Off) {
        Answer::Yes => Proof::Holds,
        Answer::Unknown(why) => Proof::Unknown(why),
        Answer::No(witness) => {
            let action = |side: &[&Rules]| {
                let decided =
                    witness.subject.with(|subject| decide(side, subject, Protections::Off));
                decided.map_or(Action::Allow, |decision| decision.action)
            };
            let (source, target) = (action(&source), action(&target));
            Proof::Fails { example: witness.subject, source, target }
        }
    }
}

fn refs(rules: &[Rules]) -> Vec<&Rules> {
    rules.iter().collect()
}

/// All that a decision by rules depends on, as text. Sections about subjects of one kind are alike.
pub(crate) fn key<'r>(layers: impl IntoIterator<Item = &'r Rules>) -> String {
    let mut out = String::new();
    for rules in layers {
        out.push_str(rules.section.kind().as_str());
        for rule in rules.all() {
            out.push('\n');
            out.push_str(rule.action.as_str());
            out.push(' ');
            rule.pattern.identify(&mut out);
        }
        out.push('\u{1}');
    }
    out
}
