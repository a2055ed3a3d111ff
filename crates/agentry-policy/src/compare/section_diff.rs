//! Compares two whole policies section by section. `policy diff` and every conversion use this comparison,
//! so that both give the same answer.

use super::{DecisionChange, RefinementAnswer, RulesDiff, diff, refines};
use crate::pattern::{HazardProtection, PatternKind};
use crate::{Judge, PathAnchors, RuleList, Section};

/// The changes of one section between two versions of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionDiff {
    /// The section.
    pub section: Section,
    /// Calls with a milder verdict now.
    pub gained: Vec<DecisionChange>,
    /// Calls with a stricter verdict now.
    pub lost: Vec<DecisionChange>,
    /// Why the comparison is incomplete; it must then be treated as a gain.
    pub unknown: Option<String>,
}

impl SectionDiff {
    /// Returns what became milder as a sentence, if anything did.
    pub fn gain(&self) -> Option<String> {
        let Self { section, gained, lost: _, unknown } = self;
        if let Some(DecisionChange { from, to, example, .. }) = gained.first() {
            return Some(format!(
                "{section} `{example}` is {from} in the source and would be {to}"
            ));
        }
        let why = unknown.as_ref()?;
        Some(format!("it cannot be proved that {section} allows no more: {why}"))
    }
}

/// Returns what the judge `new` allows more and less than `old`. Both use [`PathAnchors::default`].
pub fn section_diffs(old: &Judge, new: &Judge) -> Vec<SectionDiff> {
    let memo = new.memo();
    let section = |section: &Section| {
        let (old, new) = (rules(old, *section), rules(new, *section));
        let RulesDiff { mut gained, mut lost, unknown } =
            diff(memo, &old, &new, HazardProtection::On);
        // Only paths contain the stand-in directories.
        if section.kind() == PatternKind::Path {
            gained.iter_mut().chain(&mut lost).for_each(at_home);
        }
        let is_something = !gained.is_empty() || !lost.is_empty() || unknown.is_some();
        is_something.then_some(SectionDiff { section: *section, gained, lost, unknown })
    };
    Section::ALL.iter().filter_map(section).collect()
}

/// Returns the sections in which `new` is milder than `old` for some call. A comparison without an answer
/// counts as milder. Cheaper than [`section_diffs`], which also finds the examples.
pub fn milder_sections(old: &Judge, new: &Judge) -> Vec<Section> {
    let is_milder = |section: &&Section| {
        let (old, new_rules) = (rules(old, **section), rules(new, **section));
        let answer = refines(new.memo(), &new_rules, &old, HazardProtection::On);
        answer != RefinementAnswer::Yes
    };
    Section::ALL.iter().filter(is_milder).copied().collect()
}

fn rules(judge: &Judge, section: Section) -> Vec<&RuleList> {
    judge.rules(section).map(|(_, rules)| rules).collect()
}

/// Rewrites the path of an example as a rule would name it. The default anchors are only stand-ins.
fn at_home(change: &mut DecisionChange) {
    let PathAnchors { workspace, home, .. } = PathAnchors::default();
    let below = |dir: &str| change.example.strip_prefix(dir)?.strip_prefix('/');
    let inside = below(&workspace).map(str::to_owned);
    let shown = inside.or_else(|| Some(format!("~/{}", below(&home?)?)));
    change.example = shown.unwrap_or_else(|| std::mem::take(&mut change.example));
}

#[cfg(test)]
mod tests {
    use agentry_text::Spanned;

    use super::*;
    use crate::notations::{nowhere, section};
    use crate::{Action, Permissions, Policy, PolicyContext, layers};

    /// A policy of one section.
    fn judge(of: Section, intent: Action, rules: &[&str]) -> Judge {
        let rule = |text: &&str| Spanned::new(text.parse().expect("a rule"), nowhere());
        let sections = vec![section(of, nowhere(), intent, rules.iter().map(rule).collect())];
        let policy = Policy { permissions: Some(Permissions { sections }), ..Policy::default() };
        let places = PathAnchors::default();
        Judge::new(layers(&policy, &PolicyContext::default(), &places), places)
    }

    fn silent() -> Judge {
        Judge::new(Vec::new(), PathAnchors::default())
    }

    #[test]
    fn milder_sections_are_found_without_source_rules() {
        let deny = judge(Section::Env, Action::Deny, &[]);
        let allow = judge(Section::Bash, Action::Allow, &[]);
        assert_eq!(milder_sections(&deny, &silent()), [Section::Env]);
        assert_eq!(milder_sections(&silent(), &allow), [Section::Bash]);
        assert_eq!(milder_sections(&allow, &silent()), []);
    }

    #[test]
    fn a_single_milder_call_is_a_gain() {
        let cases: &[(&[&str], &[&str], bool)] = &[
            (&["git log *:allow"], &["git log *:allow"], false),
            (
                &["git log *:allow", "git push *:deny"],
                &["git push *:deny", "git log *:allow"],
                false,
            ),
            (&["git push *:deny"], &["git push *:deny", "git log *:allow"], true),
            (&["git *:allow", "rm *:deny"], &["git log *:allow", "rm *:deny"], false),
            (&["rm -rf *:deny"], &["rm *:deny"], false),
            (&["rm *:deny"], &["rm -rf *:deny"], true),
        ];
        for (before, after, expected) in cases {
            let before = judge(Section::Bash, Action::Ask, before);
            let after = judge(Section::Bash, Action::Ask, after);
            let is_milder = !milder_sections(&before, &after).is_empty();
            assert_eq!(is_milder, *expected, "{before:?} to {after:?}");
            // The comparison that finds examples gives the same answer.
            let gain = section_diffs(&before, &after).iter().find_map(SectionDiff::gain);
            assert_eq!(gain.is_some(), *expected, "{gain:?}");
        }
    }
}
