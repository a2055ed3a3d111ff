//! Exact questions about two patterns: whether they overlap, and whether one covers the other.

use agentry_text::Span;

use crate::compare::{ExampleSubject, RefinementAnswer, refines};
use crate::memo::PolicyMemo;
use crate::pattern::{HazardProtection, Pattern};
use crate::{Action, PathAnchors, PolicyRule, RuleList, Section};

/// Two patterns of a section.
pub(crate) type PatternPair = (Section, Pattern, Pattern);

/// Returns a subject that both patterns match; `None` if there is none or a limit was reached.
pub fn overlap(
    memo: &PolicyMemo,
    section: Section,
    first: &Pattern,
    second: &Pattern,
) -> Option<ExampleSubject> {
    memo.overlaps.get((section, first.clone(), second.clone()), || {
        // Where both match, the first list denies and the second allows, so the second one is milder.
        let denied = only(section, first, Action::Deny);
        let allowed = only(section, second, Action::Allow);
        match refines(memo, &[&allowed], &[&denied], HazardProtection::On) {
            RefinementAnswer::No(witness) => Some(witness.subject),
            RefinementAnswer::Yes | RefinementAnswer::Unknown(_) => None,
        }
    })
}

/// Whether `outer` certainly matches everything that `inner` matches.
pub fn covers(memo: &PolicyMemo, section: Section, outer: &Pattern, inner: &Pattern) -> bool {
    memo.covers.get((section, outer.clone(), inner.clone()), || {
        let inner = only(section, inner, Action::Allow);
        let outer = only(section, outer, Action::Allow);
        refines(memo, &[&inner], &[&outer], HazardProtection::On) == RefinementAnswer::Yes
    })
}

/// Makes a list that gives `action` to the pattern and the opposite to everything else.
fn only(section: Section, pattern: &Pattern, action: Action) -> RuleList {
    let rule = |pattern: Pattern, action| {
        let span: Option<Span> = None;
        PolicyRule { pattern, action, text: String::new(), span }
    };
    let other = if action == Action::Allow { Action::Deny } else { Action::Allow };
    let all = Pattern::new(section.kind(), "**", other, &PathAnchors::default());
    RuleList { section, rules: vec![rule(pattern.clone(), action)], intent: rule(all, other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str, action: Action) -> Pattern {
        Pattern::new(Section::Bash.kind(), text, action, &PathAnchors::default())
    }

    #[test]
    fn overlap_and_cover_of_command_patterns() {
        let memo = PolicyMemo::default();
        let cases = [
            ("git push *", "git ** --force", Some("git push --force"), false),
            ("git push *", "git push origin", Some("git push origin"), true),
            ("git log *", "git push *", None, false),
            ("ls*", "lsof *", Some("lsof"), true),
        ];
        for (first, second, shared, covered) in cases {
            let first = command(first, Action::Allow);
            let second = command(second, Action::Allow);
            let found = overlap(&memo, Section::Bash, &first, &second);
            let found = found.map(|example| example.to_string());
            assert_eq!(found.as_deref(), shared, "{} and {}", first.text, second.text);
            assert_eq!(covers(&memo, Section::Bash, &first, &second), covered, "{}", second.text);
        }
    }
}
