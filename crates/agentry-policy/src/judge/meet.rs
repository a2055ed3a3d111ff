//! The meet of two policies: what an agent may do that works for another one. A call gets the stricter of
//! both verdicts, because every rule list of both is kept.

use std::sync::Arc;

use super::Judge;
use crate::{LayerSource, PolicyLayer, RuleList, Section};

/// The sections in which silence restricts nothing: an agent's own tools and skills do only what the other
/// sections permit, and questions are always allowed.
const OPEN: [Section; 3] = [Section::Tool, Section::Skill, Section::Question];

impl Judge {
    /// Returns the meet with the policy of the agent that this one works for. Both must have the same
    /// anchors, which [`Judge::escapes`] checks.
    #[must_use]
    pub fn met(&self, parent: &Self) -> Self {
        let mut layers = self.layers.clone();
        // The defaults of this agent count on: the parent's rules are not rules of its own.
        let own = self.silence.iter().filter(|rules| !OPEN.contains(&rules.section)).cloned();
        layers.push(PolicyLayer { source: LayerSource::Default, sections: own.collect() });
        for section in Section::ALL {
            let lists = parent.rules(*section);
            let lists = lists.filter_map(|(source, rules)| of_parent(source, rules));
            // One layer for each list: a layer has at most one list per section.
            layers.extend(
                lists.map(|rules| PolicyLayer {
                    source: LayerSource::Parent,
                    sections: vec![rules],
                }),
            );
        }
        Self { memo: Arc::clone(&self.memo), ..Self::new(layers, self.places.clone()) }
    }

    /// Returns the first section in which not every rule list of `parent` counts here; `None` proves that
    /// no call gets a milder verdict than by `parent`, because the strictest list decides.
    pub fn escapes(&self, parent: &Self) -> Option<Section> {
        if self.places != parent.places {
            return Section::ALL.first().copied();
        }
        let is_kept =
            |rules: &RuleList| self.rules(rules.section).any(|(_, own)| decides_as(own, rules));
        let escaped = |section: &&Section| {
            let mut lists = parent.rules(**section);
            lists.any(|(source, rules)| is_restricting(source, rules) && !is_kept(rules))
        };
        Section::ALL.iter().find(escaped).copied()
    }

    /// Whether it has the rules of an agent that it works for.
    pub fn has_parent(&self) -> bool {
        self.layers.iter().any(|layer| layer.source == LayerSource::Parent)
    }
}

/// Whether a list of a parent restricts its delegates.
fn is_restricting(source: LayerSource, rules: &RuleList) -> bool {
    source != LayerSource::Default || !OPEN.contains(&rules.section)
}

/// A rule list of the parent, as it counts for its delegate.
fn of_parent(source: LayerSource, rules: &RuleList) -> Option<RuleList> {
    if !is_restricting(source, rules) {
        return None;
    }
    let mut rules = rules.clone();
    // The places of the rules are in files that the delegate has not read.
    rules.rules.iter_mut().for_each(|rule| rule.span = None);
    rules.intent.span = None;
    // Silence about reading has a meaning of its own outside the workspace, so it stays recognisable.
    if source == LayerSource::Default && rules.section != Section::Read {
        rules.intent.text = format!("the parent has no rule about {}: ask", rules.section);
    }
    Some(rules)
}

/// Whether two lists give the same verdict on every subject, because their rules are the same.
fn decides_as(one: &RuleList, other: &RuleList) -> bool {
    let key = |rules: &RuleList| -> Vec<(String, crate::Action)> {
        rules.all().map(|rule| (rule.pattern.text.clone(), rule.action)).collect()
    };
    key(one) == key(other)
}

#[cfg(test)]
mod tests {
    use agentry_text::Spanned;
    use proptest::prelude::*;

    use super::*;
    use crate::notations::{nowhere, section};
    use crate::path::LinkResolver;
    use crate::{
        Action, PathAnchors, Permissions, Policy, PolicyContext, SectionCall, layer, layers,
    };

    struct NoLinks;

    impl LinkResolver for NoLinks {
        fn resolve(&self, path: &str) -> Option<String> {
            Some(path.to_owned())
        }
    }

    /// One section: its intent and its rules.
    type TestSection<'a> = (Section, Action, &'a [&'a str]);

    fn permissions(says: &[TestSection<'_>]) -> Permissions {
        let rule = |text: &&str| Spanned::new(text.parse().expect("a rule"), nowhere());
        let of = |(of, intent, rules): &TestSection<'_>| {
            section(*of, nowhere(), *intent, rules.iter().map(rule).collect())
        };
        Permissions { sections: says.iter().map(of).collect() }
    }

    fn judge(says: &[TestSection<'_>]) -> Judge {
        let policy = Policy { permissions: Some(permissions(says)), ..Policy::default() };
        let places = PathAnchors::default();
        Judge::new(layers(&policy, &PolicyContext::default(), &places), places)
    }

    /// A policy that decides only about the sections that it mentions, like `trust`.
    fn partial(says: &[TestSection<'_>]) -> Judge {
        let places = PathAnchors::default();
        Judge::new(vec![layer(LayerSource::Trust, &permissions(says), &places)], places)
    }

    fn action(judge: &Judge, section: Section, subject: &str) -> Action {
        let directory = &judge.places().workspace;
        judge.judge(SectionCall { section, subject, directory }, &NoLinks).action
    }

    #[test]
    fn the_meet_takes_the_stricter_verdict() {
        use Action::{Allow, Ask, Deny};
        let cases: &[(Judge, Judge, Section, &str, Action)] = &[
            (
                judge(&[(Section::Bash, Allow, &[])]),
                judge(&[(Section::Bash, Deny, &["echo *:allow"])]),
                Section::Bash,
                "rm x",
                Deny,
            ),
            (
                judge(&[(Section::Bash, Allow, &[])]),
                judge(&[(Section::Bash, Deny, &["echo *:allow"])]),
                Section::Bash,
                "echo x",
                Allow,
            ),
            // The parent's `trust` does not mention variables, so it asks about them.
            (
                partial(&[(Section::Env, Allow, &[])]),
                partial(&[(Section::Bash, Allow, &[])]),
                Section::Env,
                "TOKEN",
                Ask,
            ),
            // The child does not mention them: the parent's rule is no rule of the child.
            (
                partial(&[(Section::Bash, Allow, &[])]),
                partial(&[(Section::Env, Allow, &[])]),
                Section::Env,
                "TOKEN",
                Ask,
            ),
            (judge(&[(Section::Tool, Allow, &[])]), judge(&[]), Section::Tool, "own", Allow),
            (
                judge(&[(Section::Tool, Allow, &[])]),
                judge(&[(Section::Tool, Deny, &[])]),
                Section::Tool,
                "own",
                Deny,
            ),
            (
                judge(&[(Section::Delegate, Allow, &[])]),
                judge(&[]),
                Section::Delegate,
                "helper",
                Ask,
            ),
        ];
        for (at, (child, parent, section, subject, expected)) in cases.iter().enumerate() {
            let met = child.met(parent);
            assert_eq!(action(&met, *section, subject), *expected, "case {at}");
            assert_eq!(met.escapes(parent), None, "case {at}");
            // A grandchild stays under both.
            let grandchild = judge(&[(*section, Allow, &[])]).met(&met);
            assert!(action(&grandchild, *section, subject) >= *expected, "case {at}");
            assert_eq!(grandchild.escapes(&met), None, "case {at}");
            assert_eq!(grandchild.escapes(parent), None, "case {at}");
        }
    }

    #[test]
    fn a_policy_outside_its_ceiling_is_detected() {
        let child = judge(&[(Section::Bash, Action::Allow, &[])]);
        let parent = judge(&[(Section::Bash, Action::Ask, &[])]);
        assert_eq!(child.escapes(&parent), Some(Section::Bash));
        let elsewhere = PathAnchors { workspace: "/other".to_owned(), ..PathAnchors::default() };
        assert!(
            child
                .met(&Judge::new(Vec::new(), elsewhere))
                .escapes(&Judge::new(
                    Vec::new(),
                    PathAnchors { workspace: "/other".to_owned(), ..PathAnchors::default() }
                ))
                .is_some()
        );
    }

    /// Rules of names, commands and paths, most of which meet each other.
    fn any_section() -> impl Strategy<Value = (Section, Action, Vec<String>)> {
        let section = prop::sample::select(vec![
            Section::Bash,
            Section::Edit,
            Section::Read,
            Section::Mcp,
            Section::Env,
            Section::Delegate,
        ]);
        let action = || prop::sample::select(vec![Action::Allow, Action::Ask, Action::Deny]);
        let pattern =
            prop::sample::select(vec!["a", "a*", "*b", "a b", "a *", "x/**", "**", "a/b"]);
        let rule = (pattern, action()).prop_map(|(pattern, action)| format!("{pattern}:{action}"));
        (section, action(), prop::collection::vec(rule, 0..4))
    }

    fn any_judge() -> impl Strategy<Value = Judge> {
        let sections = prop::collection::vec(any_section(), 0..4);
        (sections, any::<bool>()).prop_map(|(sections, is_partial)| {
            let mut known = Vec::new();
            let texts: Vec<(Section, Action, Vec<&str>)> = sections
                .iter()
                .filter(|(of, ..)| {
                    !known.contains(of) && {
                        known.push(*of);
                        true
                    }
                })
                .map(|(of, intent, rules)| {
                    (*of, *intent, rules.iter().map(String::as_str).collect())
                })
                .collect();
            let says: Vec<TestSection<'_>> =
                texts.iter().map(|(of, intent, rules)| (*of, *intent, rules.as_slice())).collect();
            if is_partial { partial(&says) } else { judge(&says) }
        })
    }

    proptest! {
        /// Whatever the three policies are, a grandchild never gets more than its parent and its root.
        #[test]
        fn a_grandchild_stays_under_all_ceilings(
            root in any_judge(),
            child in any_judge(),
            grandchild in any_judge(),
            section in prop::sample::select(vec![
                Section::Bash, Section::Edit, Section::Read, Section::Mcp, Section::Env, Section::Delegate,
            ]),
            subject in prop::sample::select(vec!["a", "ab", "a b", "b", "x/y", "a/b", "c", "/outside/x"]),
        ) {
            let below = child.met(&root);
            let lowest = grandchild.met(&below);
            let verdict = action(&lowest, section, subject);
            for ceiling in [&root, &child, &grandchild, &below] {
                prop_assert!(verdict >= action(ceiling, section, subject), "{section} {subject}");
            }
            prop_assert_eq!(lowest.escapes(&root), None);
            prop_assert_eq!(lowest.escapes(&below), None);
        }
    }
}
