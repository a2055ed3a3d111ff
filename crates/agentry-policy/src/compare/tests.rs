//! Tables of answers, and properties that hold for all policies.

use proptest::prelude::*;

use super::*;
use crate::automata::subject::encode;
use crate::automata::tests::{any_pattern, pieces, subject};
use crate::{PathAnchors, Pattern, PatternRule, Section};

/// Parses rules, the last one being the intent: `git log*:allow, ask`.
pub(crate) fn rules(section: Section, text: &str) -> RuleList {
    let (rules, intent) = text.rsplit_once(", ").unwrap_or(("", text));
    let rules = rules.split(", ").filter(|rule| !rule.is_empty());
    let rule = |pattern: &str, action: Action, text: &str| PolicyRule {
        pattern: Pattern::new(section.kind(), pattern, action, &PathAnchors::default()),
        action,
        text: text.to_owned(),
        span: None,
    };
    let parsed = rules.map(|text| {
        let PatternRule { pattern, action } = text.parse().expect(text);
        rule(&pattern, action, text)
    });
    let intent: Action = intent.parse().expect(intent);
    RuleList { section, rules: parsed.collect(), intent: rule("*", intent, "intent") }
}

#[test]
fn refinement_answers_have_counterexamples() {
    use Section::{Bash, Edit, Env, Mcp, Webfetch};
    let cases = [
        (Bash, "deny", "ask", ""),
        (Bash, "allow", "ask", "x"),
        (Bash, "git log*:allow, ask", "git *:allow, ask", ""),
        (Bash, "git *:allow, ask", "git log*:allow, ask", "git"),
        (Bash, "git *:allow, ask", "git:allow, git ?*:allow, ask", "git x"),
        (Bash, "git log*:allow, ask", "git log *:allow, ask", "git logx"),
        (Bash, "ls*:allow, ask", "ls *:allow, ask", "lsx"),
        (Bash, "ask", "rm *:deny, ask", "rm"),
        (Bash, "rm *:deny, ask", "/bin/rm *:deny, ask", ""),
        (Bash, "/bin/rm *:deny, ask", "rm *:deny, ask", "rm"),
        (Bash, "rm x:deny, ask", "*rm x:deny, ask", "xrm x"),
        (Bash, "git push*:deny, allow", "git -C * push*:deny, allow", ""),
        (
            Bash,
            "git log*:allow, git log --output*:allow, ask",
            "git log*:allow, ask",
            "git log --output",
        ),
        (Bash, "*:allow, ask", "git log*:allow, ask", "x"),
        (Bash, "cat src/*:allow, deny", "cat src/**:allow, deny", ""),
        (Bash, "cat src/**:allow, deny", "cat src/*:allow, deny", "cat src//"),
        (Bash, "a*:allow, b*:allow, deny", "b*:allow, a*:allow, deny", ""),
        (Bash, "a x:deny, a*:allow, deny", "a*:allow, deny", ""),
        (Bash, "a*:allow, deny", "a x:deny, a*:allow, deny", "a x"),
        (Edit, "src/*:allow, ask", "src/**:allow, ask", ""),
        (Edit, "src/**:allow, ask", "src/*:allow, ask", "/workspace/src/x/x"),
        (Edit, "**:allow, ask", "./**:allow, ask", "/"),
        (Edit, "**/x:allow, ask", "x:allow, */**/x:allow, ask", ""),
        (Webfetch, "x.org:allow, ask", "x.org/**:allow, ask", ""),
        (Webfetch, "*.x.org:allow, ask", "**.x.org:allow, ask", ""),
        (Webfetch, "**.x.org:allow, ask", "*.x.org:allow, ask", "https://x.x.x.org:443/"),
        (Webfetch, "x.org:*:allow, ask", "x.org:allow, ask", "https://x.org:0/"),
        (Webfetch, "ask", "x.org/a:deny, ask", "https://x.org:443/a"),
        (Mcp, "a/*:allow, ask", "a/**:allow, ask", ""),
        (Mcp, "a/**:allow, ask", "a/*:allow, ask", "a//"),
        (Env, "A*:allow, ask", "A*:allow, AB:deny, ask", ""),
    ];
    for (section, first, second, expected) in cases {
        let (a, b) = (rules(section, first), rules(section, second));
        let found = match refines(&PolicyMemo::default(), &[&a], &[&b], HazardProtection::On) {
            RefinementAnswer::Yes => String::new(),
            RefinementAnswer::No(witness) => {
                let answers = [witness.first, witness.second].map(|d| d.map(|d| d.action));
                assert!(answers[0] < answers[1], "{first} against {second}: {answers:?}");
                witness.subject.to_string()
            }
            RefinementAnswer::Unknown(why) => why,
        };
        assert_eq!(found, expected, "{first} against {second}");
    }
}

#[test]
fn layers_combine_to_the_strictest_verdict() {
    let bash = |text| rules(Section::Bash, text);
    let (git, no_push, both) = (
        bash("git *:allow, deny"),
        bash("git push*:deny, allow"),
        bash("git push*:deny, git *:allow, deny"),
    );
    for protections in [HazardProtection::On, HazardProtection::Off] {
        assert_eq!(
            refines(&PolicyMemo::default(), &[&git, &no_push], &[&both], protections),
            RefinementAnswer::Yes
        );
        assert_eq!(
            refines(&PolicyMemo::default(), &[&both], &[&git, &no_push], protections),
            RefinementAnswer::Yes
        );
        assert_eq!(
            refines(&PolicyMemo::default(), &[&git, &no_push], &[&git], protections),
            RefinementAnswer::Yes
        );
        assert_eq!(
            refines(&PolicyMemo::default(), &[&git], &[], protections),
            RefinementAnswer::Yes
        );
        assert!(matches!(
            refines(&PolicyMemo::default(), &[&git], &[&git, &no_push], protections),
            RefinementAnswer::No(_)
        ));
        assert!(matches!(
            refines(&PolicyMemo::default(), &[], &[&git], protections),
            RefinementAnswer::No(_)
        ));
    }
    let edit = rules(Section::Edit, "ask");
    assert!(matches!(
        refines(&PolicyMemo::default(), &[&git], &[&edit], HazardProtection::On),
        RefinementAnswer::Unknown(_)
    ));
}

#[test]
fn without_hazard_protection_only_rules_decide() {
    let (a, b) =
        (rules(Section::Bash, "sort *:allow, ask"), rules(Section::Bash, "sort -o *:ask, allow"));
    let expected = [(HazardProtection::On, "Yes"), (HazardProtection::Off, "sort -o")];
    for (protections, expected) in expected {
        let found = match refines(&PolicyMemo::default(), &[&a], &[&b], protections) {
            RefinementAnswer::No(witness) => witness.subject.to_string(),
            answer => format!("{answer:?}"),
        };
        assert_eq!(found, expected, "{protections:?}");
    }
}

#[test]
fn rules_without_effect_are_found() {
    use Section::{Bash, Edit};
    let cases = [
        (Bash, "git log*:allow, git log -5:ask, ask", "1 by 0: git log -5, not /git log -5"),
        (Bash, "git *:allow, git log*:allow, ls:ask, ask", "1 by 0: git log"),
        (Bash, "git log*:allow, git log --output*:allow, ask", ""),
        (Bash, "git log*:deny, git log --output*:allow, ask", "1 by 0: git log --output"),
        (Bash, "*:ask, ls:allow, rm:deny, ask", "1 by 0: ls; 2 by 0: rm"),
        (Bash, "a*:allow, *:ask, deny", ""),
        (Bash, "ls:allow, ls ?*:ask, ls *:deny, ask", ""),
        (Bash, "ls:allow, ls ** **:ask, ls *:deny, ask", "2 by 0,1: ls"),
        (Bash, "rm *:deny, /bin/rm x:ask, ask", "1 by 0: /bin/rm x"),
        (
            Edit,
            "src/**:allow, src/x:deny, ../../x:allow, ask",
            "1 by 0: /workspace/src/x; 2 by : -",
        ),
        (Edit, "a/**:deny, **/b:deny, a/*/b:allow, ask", "2 by 0: /workspace/a/x/b"),
        (Edit, "a/*:deny, a/*/**:deny, a/**:allow, ask", "2 by 0,1: /workspace/a/x"),
    ];
    for (section, text, expected) in cases {
        let found = dead(&PolicyMemo::default(), &rules(section, text), HazardProtection::On)
            .expect("a small machine");
        let found: Vec<String> = found
            .into_iter()
            .map(|DeadRule { rule, covered_by, example, still }| {
                let by: Vec<_> = covered_by.iter().map(usize::to_string).collect();
                let example = example.map_or("-".to_owned(), |example| example.to_string());
                let still = still.map(|still| format!(", not {still}")).unwrap_or_default();
                format!("{rule} by {}: {example}{still}", by.join(","))
            })
            .collect();
        assert_eq!(found.join("; "), expected, "{text}");
    }
}

#[test]
fn diffs_list_gained_and_lost_verdicts() {
    let bash = Section::Bash;
    let cases = [
        (bash, "ask", "git push *:allow, ask", "+git push * ask→allow (git push)"),
        (bash, "git push *:allow, ask", "ask", "-git push * allow→ask (git push)"),
        (bash, "ask", "deny", "-* ask→deny (x)"),
        (bash, "rm *:deny, ask", "rm -rf *:deny, ask", "+rm * deny→ask (rm)"),
        (
            bash,
            "git *:allow, ask",
            "git push*:deny, git *:allow, ask",
            "-git push* allow→deny (git push); -git push* ask→deny (/git push)",
        ),
        (bash, "git log*:allow, ls:allow, ask", "ls:allow, git log*:allow, ask", ""),
        (
            bash,
            "ls:allow, cat *:ask, deny",
            "ls *:allow, cat a:deny, cat *:allow, deny",
            "+ls * deny→allow (ls x); +cat * ask→allow (cat); -cat a ask→deny (cat a); -cat * ask→deny (/cat)",
        ),
        (
            Section::Edit,
            "src/**:allow, deny",
            "**/*.rs:allow, deny",
            "+**/*.rs deny→allow (/workspace/.rs); -src/** allow→deny (/workspace/src/x)",
        ),
        (Section::Webfetch, "deny", "allow", "+* deny→allow (https://example.com/)"),
        (
            Section::Webfetch,
            "deny",
            "docs.rs:allow, deny",
            "+docs.rs deny→allow (https://docs.rs/)",
        ),
    ];
    for (section, old, new, expected) in cases {
        let (a, b) = (rules(section, old), rules(section, new));
        let found = diff(&PolicyMemo::default(), &[&a], &[&b], HazardProtection::On);
        assert_eq!(found.unknown, None, "{old} to {new}");
        let line = |sign: &str, change: &DecisionChange| {
            let DecisionChange { pattern, from, to, example, .. } = change;
            format!("{sign}{pattern} {from}→{to} ({example})")
        };
        let gained = found.gained.iter().map(|change| line("+", change));
        let lost = found.lost.iter().map(|change| line("-", change));
        assert_eq!(gained.chain(lost).collect::<Vec<_>>().join("; "), expected, "{old} to {new}");
        let back = diff(&PolicyMemo::default(), &[&b], &[&a], HazardProtection::On);
        assert_eq!(back.gained.is_empty(), found.lost.is_empty(), "{new} to {old}");
    }
}

/// Generates rules of one section, and some related texts.
fn policies(count: usize) -> impl Strategy<Value = (Section, Vec<RuleList>, Vec<Vec<String>>)> {
    let sections =
        vec![Section::Bash, Section::Edit, Section::Webfetch, Section::Mcp, Section::Question];
    proptest::sample::select(sections).prop_flat_map(move |section| {
        let kind = section.kind();
        let actions = || proptest::sample::select(Action::ALL);
        let layer = (proptest::collection::vec((any_pattern(kind), actions()), 0..4), actions());
        let fills = proptest::collection::vec(proptest::sample::select(pieces(kind)), 1..3);
        let texts = proptest::collection::vec((any_pattern(kind), fills), 6);
        (proptest::collection::vec(layer, count), texts).prop_map(move |(layers, texts)| {
            let layers: Vec<RuleList> =
                layers.iter().map(|(list, intent)| of(section, list, *intent)).collect();
            let patterns =
                layers.iter().flat_map(|layer| &layer.rules).map(|rule| &rule.pattern.text);
            let fills: Vec<String> = texts.iter().map(|(_, fill)| fill.concat()).collect();
            let near =
                patterns.flat_map(|pattern| fills.iter().map(|fill| pattern.replace('*', fill)));
            let far = texts.iter().map(|(pattern, _)| pattern.replace('*', ""));
            let subjects = near.chain(far).map(|text| subject(kind, &text)).collect();
            (section, layers, subjects)
        })
    })
}

fn of(section: Section, list: &[(String, Action)], intent: Action) -> RuleList {
    let rule = |pattern: &str, action| PolicyRule {
        pattern: Pattern::new(section.kind(), pattern, action, &PathAnchors::default()),
        action,
        text: String::new(),
        span: None,
    };
    let rules = list.iter().map(|(pattern, action)| rule(pattern, *action)).collect();
    RuleList { section, rules, intent: rule("*", intent) }
}

/// Returns the verdicts of the layers about each text that is a valid subject.
fn answers(layers: &[&RuleList], subjects: &[Vec<String>]) -> Vec<Option<Action>> {
    let kind = layers[0].section.kind();
    let memo = PolicyMemo::default();
    let universe =
        MachineFolder::new(&memo, kind, HazardProtection::On).expect("a small machine").universe;
    let answer = |words: &Vec<String>| {
        let argv: Vec<&str> = words.iter().map(String::as_str).collect();
        let subject = match (kind, argv.as_slice()) {
            (PatternKind::Command, argv) => PatternSubject::Command(argv),
            (_, [text]) => PatternSubject::Text(text),
            _ => return None,
        };
        (universe.run(&encode(kind, subject)) != NONE)
            .then(|| decide(layers, subject, HazardProtection::On).expect("a layer").action)
    };
    subjects.iter().map(answer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn refinement_agrees_with_samples((_, layers, subjects) in policies(2)) {
        let (a, b) = (&layers[0], &layers[1]);
        let milder = answers(&[a], &subjects).iter().zip(answers(&[b], &subjects)).any(|(a, b)| *a < b);
        let answer = refines(&PolicyMemo::default(), &[a], &[b], HazardProtection::On);
        prop_assert!(!(milder && answer == RefinementAnswer::Yes), "a sample contradicts");
        if let RefinementAnswer::No(witness) = answer {
            prop_assert!(witness.first.map(|d| d.action) < witness.second.map(|d| d.action), "{}", witness.subject);
        }
        prop_assert_eq!(refines(&PolicyMemo::default(), &[a], &[a], HazardProtection::On), RefinementAnswer::Yes);
    }

    #[test]
    fn the_meet_of_layers_is_the_strictest_verdict((_, layers, subjects) in policies(3)) {
        let memo = PolicyMemo::default();
        let folder = MachineFolder::new(&memo, layers[0].section.kind(), HazardProtection::On).expect("a small machine");
        let one = |at: usize| actions(&folder, &[&layers[at]]).expect("a small machine");
        let meet = |a: &StateMachine, b: &StateMachine| folder.strictest(a, b, action).expect("a small machine");
        let same = |a: &StateMachine, b: &StateMachine| {
            let mut same = true;
            search::outputs(a, b, |a, b, _| {
                same &= a == b;
                ControlFlow::Continue(())
            }).expect("a small machine");
            same
        };
        let (a, b, c) = (one(0), one(1), one(2));
        let ab = meet(&a, &b);
        prop_assert!(same(&ab, &meet(&b, &a)), "commutative");
        prop_assert!(same(&meet(&ab, &c), &meet(&a, &meet(&b, &c))), "associative");
        prop_assert!(same(&meet(&a, &a), &a), "idempotent");
        let sides: Vec<&RuleList> = layers[..2].iter().collect();
        prop_assert_eq!(refines(&PolicyMemo::default(), &sides, &sides[..1], HazardProtection::On), RefinementAnswer::Yes);
        prop_assert_eq!(refines(&PolicyMemo::default(), &sides, &sides[1..], HazardProtection::On), RefinementAnswer::Yes);
        let both = answers(&sides, &subjects);
        let strictest = answers(&sides[..1], &subjects).into_iter().zip(answers(&sides[1..], &subjects));
        prop_assert!(both.iter().zip(strictest).all(|(both, (a, b))| *both == a.max(b)));
    }

    #[test]
    fn the_automaton_of_a_section_matches_its_rules((section, layers, subjects) in policies(1)) {
        let kind = section.kind();
        let memo = PolicyMemo::default();
        let folder = MachineFolder::new(&memo, kind, HazardProtection::On).expect("a small machine");
        let machine = folder.rules(&layers[0], index).expect("a small machine");
        for words in &subjects {
            let argv: Vec<&str> = words.iter().map(String::as_str).collect();
            let subject = match (kind, argv.as_slice()) {
                (PatternKind::Command, argv) => PatternSubject::Command(argv),
                (_, [text]) => PatternSubject::Text(text),
                _ => continue,
            };
            let text = encode(kind, subject);
            if folder.universe.run(&text) != NONE {
                let (rule, _) = decider(&layers[0], subject, HazardProtection::On);
                prop_assert_eq!(machine.run(&text), index(rule), "{:?}", subject);
            }
        }
        let dead = dead(&PolicyMemo::default(), &layers[0], HazardProtection::On).expect("a small machine");
        for DeadRule { rule, covered_by, example, .. } in dead {
            prop_assert!(covered_by.iter().all(|by| *by < rule));
            if let Some(example) = example {
                let pattern = &layers[0].rules[rule].pattern;
                prop_assert!(example.with(|subject| pattern.matches(subject)));
            }
        }
    }

    #[test]
    fn examples_of_a_diff_are_true((_, layers, _) in policies(2)) {
        let (a, b) = (&layers[0], &layers[1]);
        let found = diff(&PolicyMemo::default(), &[a], &[b], HazardProtection::On);
        prop_assert_eq!(found.unknown, None);
        prop_assert_eq!(found.gained.is_empty(), refines(&PolicyMemo::default(), &[b], &[a], HazardProtection::On) == RefinementAnswer::Yes);
        prop_assert_eq!(found.lost.is_empty(), refines(&PolicyMemo::default(), &[a], &[b], HazardProtection::On) == RefinementAnswer::Yes);
    }
}
