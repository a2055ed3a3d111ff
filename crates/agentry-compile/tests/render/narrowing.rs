//! A rule that denies more never gives an agent a tool, in any target.

use std::collections::BTreeSet;

use agentry_compile::policy::{Action, PatternRule, RuleList, Section};
use agentry_compile::targets::{
    HarnessModel, ListedFiles, RenderSettings, RenderSubject, TARGETS, Target, read_back, render,
};
use agentry_compile::text::{FileId, Span, Spanned};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::policies::{agent, cases, subject_of};

/// Patterns of several sections; each denies something in some of them.
const PATTERNS: &[&str] = &["**", "src/**", "docs/*", "frob *", "git push *", "x", "example.org"];

/// The agent with a denial before all other rules of a section.
fn denying(subject: &RenderSubject, section: Section, pattern: &str) -> RenderSubject {
    let mut agent = subject.agent.clone();
    let sections = agent.policy.permissions.iter_mut().flat_map(|it| &mut it.sections);
    for rules in sections.filter(|rules| rules.section.value == section) {
        let rule = PatternRule { pattern: pattern.to_owned(), action: Action::Deny };
        rules.rules.insert(0, Spanned::new(rule, Span::start_of(FileId::BUILT_IN)));
    }
    RenderSubject::of(agent, &subject.context, &subject.memo)
}

/// The sections in which an agent may do anything; `None` if the target refuses the agent.
fn granted(target: &Target, subject: &RenderSubject, shared: bool) -> Option<BTreeSet<Section>> {
    let nothing = ListedFiles::default();
    let settings = RenderSettings { shared, ..RenderSettings::new(&nothing) };
    let rendering = render(target, std::slice::from_ref(subject), &settings);
    let model: HarnessModel = read_back(target, subject, &rendering, &settings)?;
    let permits = |rules: &RuleList| rules.all().any(|rule| rule.action < Action::Deny);
    let ways = model.ways.iter().filter(|way| way.layers.iter().all(permits));
    Some(ways.map(|way| way.section).collect())
}

#[test]
fn an_added_denial_never_grants_a_tool() {
    let mut runner = TestRunner::new(Config {
        cases: cases(40),
        failure_persistence: None,
        ..Config::default()
    });
    let property =
        |(files, section, pattern, shared): (Vec<(String, String)>, Section, &str, bool)| {
            let Some(subject) = subject_of(&files) else { return Ok(()) };
            let narrower = denying(&subject, section, pattern);
            for target in TARGETS.iter().filter(|target| !target.blind.is_empty()) {
                // A denial of everything may make a rule needless that the target cannot express.
                let Some(before) = granted(target, &subject, shared) else { continue };
                let after = granted(target, &narrower, shared).unwrap_or_default();
                let more: Vec<_> = after.difference(&before).collect();
                prop_assert!(more.is_empty(), "{} {section} `{pattern}`: {more:?}", target.name);
            }
            Ok(())
        };
    let section = select(Section::ALL);
    runner.run(&(agent(), section, select(PATTERNS), any::<bool>()), property).expect("no grant");
}
