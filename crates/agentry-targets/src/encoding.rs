//! Rules in the words of a harness, and how they are narrowed until they stay within their source.
//!
//! An encoder writes what comes nearest to the source. Where that would permit more, the rule that
//! decides about a counterexample is made as strict as the source, until there is none left: each step
//! makes some rule stricter, so this ends.

use agentry_policy::compare::ExampleSubject;
use agentry_policy::{Action, Pattern, PolicyRule, RuleList, Section};

use crate::memo::RenderMemo;
use crate::model::always;
use crate::proof::{self, PolicyProof};

/// Which of several matching rules a harness follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchOrder {
    /// The first.
    First,
    /// The last.
    Last,
    /// The strictest.
    Strictest,
}

/// The rules of one section in the words of a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleEncoding {
    /// What they are about.
    pub section: Section,
    /// Which rule decides.
    pub order: MatchOrder,
    /// In the order in which they are written.
    pub entries: Vec<EncodedRule>,
    /// The answer when none matches.
    pub default: Action,
}

/// One rule in the words of a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRule {
    /// As it is written there.
    pub text: String,
    /// Its answer.
    pub action: Action,
    /// What it matches, for each answer that it may get: see [`Pattern::foreign`]. Where that is not
    /// known exactly, an allow counts as matching more, a deny as matching less, and a question as both.
    pub matches: MatchBounds,
}

/// What an entry matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchBounds {
    /// At most this.
    pub most: String,
    /// At least this.
    pub least: String,
}

impl MatchBounds {
    /// Exactly this.
    pub fn exactly(regex: impl Into<String>) -> Self {
        let regex = regex.into();
        Self { most: regex.clone(), least: regex }
    }
}

/// An encoding that was made stricter.
#[derive(Debug)]
pub struct NarrowedEncoding {
    /// It.
    pub encoding: RuleEncoding,
    /// What had to be made stricter: the subject that showed it, and the answer that it gets now.
    pub raised: Vec<(ExampleSubject, Action)>,
    /// What happened to be too large to decide; then the strictest answer holds for everything.
    pub unknown: bool,
}

/// How that is read which is not known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingView {
    /// As all that a harness may permit: what is written for it must hold even then.
    Mildest,
    /// As what a harness permits for sure: what is read from it must not permit more.
    Strictest,
}

/// How a question is read whose matches are not known exactly: it is the milder answer where it stands
/// before a deny, and the stricter one where it stands before an allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskMatches {
    Most,
    Least,
}

impl RuleEncoding {
    /// The same for a view: in the strictest, an allow matches at least what it says, a deny at most.
    #[must_use]
    pub fn seen(mut self, view: EncodingView) -> Self {
        if view == EncodingView::Strictest {
            for EncodedRule { matches, .. } in &mut self.entries {
                std::mem::swap(&mut matches.most, &mut matches.least);
            }
        }
        self
    }

    /// The same as rules of which the first that matches decides. Where it is not known exactly what a
    /// question matches, this is one of two readings: see [`RuleEncoding::readings`].
    pub fn rules(&self) -> RuleList {
        self.read(AskMatches::Least)
    }

    /// The same as rules, in every way in which they may be meant: what a harness may do is what one of
    /// them says.
    pub fn readings(&self) -> Vec<RuleList> {
        self.questions().iter().map(|questions| self.read(*questions)).collect()
    }

    fn questions(&self) -> &'static [AskMatches] {
        let exact = |entry: &EncodedRule| entry.matches.most == entry.matches.least;
        let known = self.entries.iter().all(|entry| entry.action != Action::Ask || exact(entry));
        if known { &[AskMatches::Least] } else { &[AskMatches::Least, AskMatches::Most] }
    }

    fn read(&self, questions: AskMatches) -> RuleList {
        let mut entries: Vec<&EncodedRule> = self.entries.iter().collect();
        match self.order {
            MatchOrder::First => {}
            MatchOrder::Last => entries.reverse(),
            MatchOrder::Strictest => entries.sort_by_key(|entry| std::cmp::Reverse(entry.action)),
        }
        let mut rules = always(self.section, self.default, "otherwise");
        rules.rules = entries.into_iter().map(|it| it.rule(self.section, questions)).collect();
        rules
    }

    /// Makes rules stricter until, with `others` beside them, they stay within `bounds`.
    #[must_use]
    pub fn narrowed(
        mut self,
        memo: &RenderMemo,
        others: &[RuleList],
        bounds: &[RuleList],
    ) -> NarrowedEncoding {
        let mut raised = Vec::new();
        // Each step makes one rule stricter; there are two steps from allow to deny.
        for _ in 0..=2 * (self.entries.len() + 1) {
            match self.counterexample(memo, others, bounds) {
                None => return NarrowedEncoding { encoding: self, raised, unknown: false },
                Some((questions, PolicyProof::Fails { example, source, .. })) => {
                    if !self.raise_as(&example, source, questions) {
                        break;
                    }
                    raised.push((example, source));
                }
                Some(_) => break,
            }
        }
        let strictest = bounds.iter().flat_map(RuleList::all).map(|rule| rule.action).max();
        let strictest = strictest.unwrap_or(Action::Deny);
        self.entries.clear();
        self.default = strictest;
        NarrowedEncoding { encoding: self, raised, unknown: true }
    }

    /// The first reading that does not stay within `bounds`, and why not.
    fn counterexample(
        &self,
        memo: &RenderMemo,
        others: &[RuleList],
        bounds: &[RuleList],
    ) -> Option<(AskMatches, PolicyProof)> {
        self.questions().iter().find_map(|questions| {
            let mut layers = vec![self.read(*questions)];
            layers.extend(others.iter().cloned());
            let proof = proof::within(memo, &layers, bounds);
            (proof != PolicyProof::Holds).then_some((*questions, proof))
        })
    }

    /// Makes the rule that decides about `example` as strict as `action`.
    pub(crate) fn raise(&mut self, example: &ExampleSubject, action: Action) -> bool {
        self.raise_as(example, action, AskMatches::Least)
    }

    fn raise_as(
        &mut self,
        example: &ExampleSubject,
        action: Action,
        questions: AskMatches,
    ) -> bool {
        let answer = self.deciding(example, questions);
        let is_stricter = *answer < action;
        *answer = action.max(*answer);
        is_stricter
    }

    /// Makes the rule ask that denies `example`, where what is asked counts as allowed.
    pub(crate) fn lower(&mut self, example: &ExampleSubject) -> bool {
        let answer = self.deciding(example, AskMatches::Most);
        let denies = *answer == Action::Deny;
        *answer = if denies { Action::Ask } else { *answer };
        denies
    }

    /// The answer of the rule that decides about `example`.
    fn deciding(&mut self, example: &ExampleSubject, questions: AskMatches) -> &mut Action {
        let section = self.section;
        let holds = |entry: &EncodedRule| {
            let pattern = entry.rule(section, questions).pattern;
            example.with(|subject| pattern.matches(subject))
        };
        let mut matching = self.entries.iter_mut().filter(|entry| holds(entry));
        let decides = match self.order {
            MatchOrder::First => matching.next(),
            MatchOrder::Last => matching.next_back(),
            MatchOrder::Strictest => matching.max_by_key(|entry| entry.action),
        };
        decides.map_or(&mut self.default, |entry| &mut entry.action)
    }
}

impl EncodedRule {
    fn rule(&self, section: Section, questions: AskMatches) -> PolicyRule {
        let regex = match (self.action, questions) {
            (Action::Allow, _) | (Action::Ask, AskMatches::Most) => &self.matches.most,
            (Action::Ask, AskMatches::Least) | (Action::Deny, _) => &self.matches.least,
        };
        PolicyRule {
            pattern: Pattern::foreign(section.kind(), regex, &self.text, self.action),
            action: self.action,
            text: format!("{}: {}", self.text, self.action),
            span: None,
        }
    }
}
