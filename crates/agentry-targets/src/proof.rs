//! The proof that rules of a harness permit no more than their source. Proofs are memoised, because agents of
//! one workspace mostly share their rules.
//!
//! Narrowing uses the shortest example; the user is shown one that is easier to understand.

use agentry_policy::compare::{ExampleSubject, RefinementAnswer, decide, refines};
use agentry_policy::{Action, HazardProtection, RuleList, Section};

use crate::example::first_example;
use crate::memo::RenderMemo;

/// Whether rules stay within other rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyProof {
    /// The rules stay within the source.
    Holds,
    /// The rules permit more, and an example shows it.
    Fails {
        /// A shortest subject that shows it, or one that is easy to understand.
        example: ExampleSubject,
        /// The verdict of the source about it.
        source: Action,
        /// The verdict of the harness about it.
        target: Action,
    },
    /// The proof was too large, which is treated as a failure.
    Unknown(String),
}

/// Proves that `target` permits nowhere more than `source`. Only rules are compared; the built-in protection
/// and blind spots are handled as gaps.
pub fn within(memo: &RenderMemo, target: &[RuleList], source: &[RuleList]) -> PolicyProof {
    if source.is_empty() {
        return PolicyProof::Unknown("nothing is known that it could stay within".to_owned());
    }
    if is_plain(target, source) {
        return PolicyProof::Holds;
    }
    memo.proofs.get(question(target, source), || prove(memo, target, source))
}

/// Proves the same for the user: a failure has an example from the rules or an everyday one, if there is one
/// that shows the same two verdicts.
pub fn prove_with_example(
    memo: &RenderMemo,
    section: Section,
    target: &[RuleList],
    source: &[RuleList],
) -> PolicyProof {
    if source.is_empty() || is_plain(target, source) {
        return within(memo, target, source);
    }
    memo.explained.get((section, question(target, source)), || {
        let proof = within(memo, target, source);
        let PolicyProof::Fails { source: stricter, target: milder, .. } = &proof else {
            return proof;
        };
        let (left, right) = (refs(target), refs(source));
        // The example must show the same two verdicts as the proof.
        let shows = |example: &ExampleSubject| {
            action(&left, example) == *milder && action(&right, example) == *stricter
        };
        match first_example(section, source.iter().chain(target), shows) {
            Some(example) => PolicyProof::Fails { example, source: *stricter, target: *milder },
            None => proof,
        }
    })
}

fn question(target: &[RuleList], source: &[RuleList]) -> String {
    let mut question = String::new();
    part(&mut question, &key(target));
    part(&mut question, &key(source));
    question
}

/// Whether the verdicts alone prove it: some layer of the target is never milder than the strictest verdict
/// of the source. This avoids most of the costly proofs.
fn is_plain(target: &[RuleList], source: &[RuleList]) -> bool {
    let mildest = |rules: &RuleList| reached(rules).min();
    let mildest = target.iter().filter_map(mildest).max().unwrap_or(Action::Allow);
    source.iter().flat_map(reached).all(|action| action <= mildest)
}

/// Returns the verdicts that can decide: no rule after one that matches everything is ever reached.
fn reached(rules: &RuleList) -> impl Iterator<Item = Action> {
    let last = rules.rules.iter().position(|rule| rule.pattern.is_everything());
    let last = last.unwrap_or(rules.rules.len());
    rules.all().take(last + 1).map(|rule| rule.action)
}

fn prove(memo: &RenderMemo, target: &[RuleList], source: &[RuleList]) -> PolicyProof {
    let (target, source) = (refs(target), refs(source));
    match refines(&memo.policy, &target, &source, HazardProtection::Off) {
        RefinementAnswer::Yes => PolicyProof::Holds,
        RefinementAnswer::Unknown(why) => PolicyProof::Unknown(why),
        RefinementAnswer::No(witness) => {
            let example = witness.subject;
            let (source, target) = (action(&source, &example), action(&target, &example));
            PolicyProof::Fails { example, source, target }
        }
    }
}

/// The verdict of some layers about an example.
pub(crate) fn action(side: &[&RuleList], example: &ExampleSubject) -> Action {
    let decided = example.with(|subject| decide(side, subject, HazardProtection::Off));
    // No layer means no objection.
    decided.map_or(Action::Allow, |decision| decision.action)
}

pub(crate) fn refs(rules: &[RuleList]) -> Vec<&RuleList> {
    rules.iter().collect()
}

/// A text of everything that verdicts depend on, for the memo. Sections of the same kind give the same text.
/// Each part follows its length, since a pattern may hold any character: different rules differ in text.
pub(crate) fn key<'r>(layers: impl IntoIterator<Item = &'r RuleList>) -> String {
    let mut out = String::new();
    let mut identity = String::new();
    for rules in layers {
        out.extend([rules.section.kind().as_str(), " ", &rules.rules.len().to_string()]);
        for rule in rules.all() {
            identity.clear();
            rule.pattern.identify(&mut identity);
            out.extend(["\n", rule.action.as_str(), " "]);
            part(&mut out, &identity);
        }
        out.push('\n');
    }
    out
}

/// Appends a text after its length.
pub(crate) fn part(out: &mut String, text: &str) {
    out.extend([&text.len().to_string(), ":", text]);
}

#[cfg(test)]
mod tests {
    use agentry_policy::{PathAnchors, Pattern, PolicyRule, Section};

    use super::*;
    use crate::model::always;
    use crate::wildcard::ANYTHING;

    /// Rules, the verdict of other calls, and whether they ask about everything.
    type Case<'a> = (&'a [(&'a str, Action)], Action, bool);

    /// Rules, the verdict of other calls, and the example that is shown.
    type ExampleCase<'a> = (&'a [(&'a str, Action)], Action, &'a str);

    fn rules(list: &[(&str, Action)], otherwise: Action) -> RuleList {
        let mut rules = always(Section::Question, otherwise, "otherwise");
        let kind = Section::Question.kind();
        let rule = |(regex, action): &(&str, Action)| PolicyRule {
            pattern: Pattern::foreign(kind, regex, regex, *action),
            action: *action,
            text: String::new(),
            span: None,
        };
        rules.rules = list.iter().map(rule).collect();
        rules
    }

    /// The shortcut agrees with the policy engine.
    #[test]
    fn rules_after_a_catch_all_are_ignored() {
        use Action::{Allow, Ask, Deny};
        let source = [rules(&[], Ask)];
        let cases: &[Case<'_>] = &[
            (&[(ANYTHING, Ask), ("x", Allow)], Allow, true),
            (&[("x", Allow), (ANYTHING, Ask)], Allow, false),
            (&[(ANYTHING, Allow), ("x", Deny)], Deny, false),
            (&[("x", Deny), (ANYTHING, Ask)], Allow, true),
            (&[("x*", Ask)], Allow, false),
        ];
        for (list, otherwise, holds) in cases {
            let target = [rules(list, *otherwise)];
            assert_eq!(is_plain(&target, &source), *holds, "{list:?}");
            assert_eq!(
                prove(&RenderMemo::default(), &target, &source) == PolicyProof::Holds,
                *holds,
                "{list:?}"
            );
        }
    }

    /// Rules of an agent about commands.
    fn commands(list: &[(&str, Action)], otherwise: Action) -> RuleList {
        let mut rules = always(Section::Bash, otherwise, "otherwise");
        let rule = |(text, action): &(&str, Action)| PolicyRule {
            pattern: Pattern::new(Section::Bash.kind(), text, *action, &PathAnchors::default()),
            action: *action,
            text: String::new(),
            span: None,
        };
        rules.rules = list.iter().map(rule).collect();
        rules.as_written()
    }

    /// An example shows the verdicts of both sides. One from the rules is preferred to an everyday one; the
    /// shortest example comes last.
    #[test]
    fn examples_prefer_the_rules_and_everyday_calls() {
        use Action::{Allow, Ask, Deny};
        let usual = ["git **", "npm **", "make **", "date **"].map(|text| (text, Deny));
        let cases: &[ExampleCase<'_>] = &[
            (&[], Ask, "`git status` is ask"),
            (&[("cargo build*", Ask)], Deny, "`cargo build` is ask"),
            (&[("cargo build*", Deny)], Ask, "`git status` is ask"),
            (&[("git **", Deny)], Ask, "`npm test` is ask"),
            (&[("git push --force*", Deny), ("git push*", Ask)], Deny, "`git push` is ask"),
            (&[("git push --force **", Deny), ("**", Allow)], Ask, "`git status` is allow"),
            (&usual, Ask, "`x` is ask"),
        ];
        for (list, otherwise, expected) in cases {
            let source = [commands(list, *otherwise)];
            let nothing = [always(Section::Bash, Deny, "nothing")];
            // The sides are swapped: the source is on the left.
            let PolicyProof::Fails { example, source: harness, target } =
                prove_with_example(&RenderMemo::default(), Section::Bash, &source, &nothing)
            else {
                panic!("{list:?}");
            };
            assert_eq!(format!("`{example}` is {target}"), *expected, "{list:?}");
            assert_eq!(action(&refs(&source), &example), target, "{list:?}");
            assert_eq!(action(&refs(&nothing), &example), harness, "{list:?}");
        }
    }

    /// A pattern may hold any character, but the memo keys of different rules differ.
    #[test]
    fn memo_keys_separate_rules_with_line_ends() {
        use Action::{Allow, Deny};
        let one = commands(&[("q\ndeny as written rm *", Allow), ("**", Allow)], Deny);
        let other = commands(&[("q", Allow), ("rm *", Deny), ("**", Allow)], Deny);
        assert_ne!(key([&one]), key([&other]));
        assert_ne!(key([&one, &other]), key([&other, &one]));
    }
}
