//! The rules of an agent in the syntax of a harness, and how they are narrowed to stay within their source.
//!
//! An encoder writes the nearest equivalent of the source. Where that would permit more, the rule that
//! decides about a counterexample becomes as strict as the source, until no counterexample is left. Each
//! step makes one rule stricter, so the loop ends.

use agentry_policy::compare::ExampleSubject;
use agentry_policy::{Action, Pattern, PatternKind, PolicyRule, RuleList, Section};

use crate::memo::RenderMemo;
use crate::model::always;
use crate::proof::{self, PolicyProof, refs};

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

/// The rules of one section in the syntax of a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleEncoding {
    /// The section that the rules belong to.
    pub section: Section,
    /// Which of several matching rules decides.
    pub order: MatchOrder,
    /// In the order in which they are written.
    pub entries: Vec<EncodedRule>,
    /// The verdict when no rule matches.
    pub default: Action,
}

/// One rule in the syntax of a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRule {
    /// The text of the rule in the harness' file.
    pub text: String,
    /// The verdict of the rule.
    pub action: Action,
    /// What the rule matches: see [`Pattern::foreign`]. Where that is not known exactly, an allow counts as
    /// matching the most, a deny as matching the least, and an ask is tried as both.
    pub matches: MatchBounds,
}

/// An upper and a lower bound, as regular expressions, of what a rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchBounds {
    /// The rule matches at most this.
    pub most: String,
    /// The rule matches at least this.
    pub least: String,
}

impl MatchBounds {
    /// Bounds of a rule whose matches are known exactly.
    pub fn exactly(regex: impl Into<String>) -> Self {
        let regex = regex.into();
        Self { most: regex.clone(), least: regex }
    }

    /// Returns the one text that the rule matches, if it matches exactly one.
    fn only_text(&self) -> Option<String> {
        let mut text = String::new();
        let mut rest = self.most.chars();
        while let Some(c) = rest.next() {
            match c {
                // A letter after `\` has a meaning of its own.
                '\\' => text.push(rest.next().filter(char::is_ascii_punctuation)?),
                c if c.is_alphanumeric() || matches!(c, '_' | '/') => text.push(c),
                _ => return None,
            }
        }
        (self.most == self.least && !text.is_empty()).then_some(text)
    }
}

/// The most rules whose names are compared with each other.
const MANY: usize = 100;

/// An encoding that was made stricter.
#[derive(Debug)]
pub struct NarrowedEncoding {
    /// The stricter encoding.
    pub encoding: RuleEncoding,
    /// What had to become stricter: the counterexample, and its verdict now.
    pub raised: Vec<(ExampleSubject, Action)>,
    /// Whether the proof was too large; then the strictest verdict holds for everything.
    pub unknown: bool,
}

/// How a rule is read whose matches are not known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingView {
    /// As everything that the harness may permit: rendered rules must stay within the source even then.
    Mildest,
    /// As only what the harness surely permits: imported rules must not permit more.
    Strictest,
}

/// How an ask is read whose matches are not known exactly. It is the milder verdict before a deny, and the
/// stricter one before an allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskMatches {
    Most,
    Least,
}

impl RuleEncoding {
    /// Returns the encoding for a view: in the strictest, an allow matches the least and a deny the most.
    #[must_use]
    pub fn seen(mut self, view: EncodingView) -> Self {
        if view == EncodingView::Strictest {
            for EncodedRule { matches, .. } in &mut self.entries {
                // `rule` reads an allow by its upper bound; swapping the bounds reverses that.
                std::mem::swap(&mut matches.most, &mut matches.least);
            }
        }
        self
    }

    /// Converts to a first-match rule list. Where the matches of an ask are not known exactly, this is one of
    /// two readings: see [`RuleEncoding::readings`].
    pub fn rules(&self) -> RuleList {
        self.read(AskMatches::Least)
    }

    /// Converts to every first-match rule list that the entries may mean; the harness follows one of them.
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
            // The stable sort puts the strictest rule first, so that the first match is the strictest one.
            MatchOrder::Strictest => entries.sort_by_key(|entry| std::cmp::Reverse(entry.action)),
        }
        let mut rules = always(self.section, self.default, "otherwise");
        rules.rules = entries.into_iter().map(|it| it.rule(self.section, questions)).collect();
        rules
    }

    /// Makes rules stricter until, together with the layers `others`, they stay within `bounds`.
    #[must_use]
    pub fn narrowed(
        mut self,
        memo: &RenderMemo,
        others: &[RuleList],
        bounds: &[RuleList],
    ) -> NarrowedEncoding {
        let mut raised = Vec::new();
        // Each step makes one rule stricter, and there are two steps from allow to deny.
        for _ in 0..=2 * (self.entries.len() + 1) {
            match self.counterexample(memo, others, bounds) {
                None => return NarrowedEncoding { encoding: self, raised, unknown: false },
                Some((questions, PolicyProof::Fails { example, source, .. })) => {
                    if !self.raise_as(&example, source, questions) {
                        break;
                    }
                    if raised.is_empty() {
                        self.raise_names(others, bounds);
                    }
                    raised.push((example, source));
                }
                Some(_) => break,
            }
        }
        // The proof was too large or no rule could be raised: fall back to one strict verdict for everything.
        let strictest = bounds.iter().flat_map(RuleList::all).map(|rule| rule.action).max();
        let strictest = strictest.unwrap_or(Action::Deny);
        self.entries.clear();
        self.default = strictest;
        NarrowedEncoding { encoding: self, raised, unknown: true }
    }

    /// Makes each rule about one name as strict as `bounds` are about it, if no other rule may match the
    /// name. Searching for these names one by one would give the same rules.
    fn raise_names(&mut self, others: &[RuleList], bounds: &[RuleList]) {
        if self.section.kind() != PatternKind::Name || self.entries.len() > MANY {
            return;
        }
        let (others, bounds) = (refs(others), refs(bounds));
        let pattern = |it: &EncodedRule| {
            Pattern::foreign(PatternKind::Name, &it.matches.most, &it.text, Action::Allow)
        };
        let patterns: Vec<Pattern> = self.entries.iter().map(pattern).collect();
        for entry in &mut self.entries {
            let Some(name) = entry.matches.only_text().map(ExampleSubject::Text) else { continue };
            let matching = |it: &&Pattern| name.with(|subject| it.matches(subject));
            let now = entry.action.max(proof::action(&others, &name));
            let source = proof::action(&bounds, &name);
            if now < source && patterns.iter().filter(matching).count() == 1 {
                entry.action = source;
            }
        }
    }

    /// Returns the first reading that does not stay within `bounds`, with its failed proof.
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

    /// Turns the rule that denies `example` into an ask, for callers that count an ask as allowed.
    pub(crate) fn lower(&mut self, example: &ExampleSubject) -> bool {
        let answer = self.deciding(example, AskMatches::Most);
        let denies = *answer == Action::Deny;
        *answer = if denies { Action::Ask } else { *answer };
        denies
    }

    /// The verdict of the rule that decides about `example`.
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
            // The worst case: an allow that matches the most, and a deny that matches the least.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_text_expressions_are_recognised() {
        let cases: &[(&str, &str, Option<&str>)] = &[
            (r"gh\/list\-all", r"gh\/list\-all", Some("gh/list-all")),
            ("gh/list_1", "gh/list_1", Some("gh/list_1")),
            ("gh/list", "gh/li", None),
            ("gh/.*", "gh/.*", None),
            (r"\d", r"\d", None),
            ("(?s:.)", "(?s:.)", None),
            ("", "", None),
            ("\\", "\\", None),
        ];
        for (most, least, expected) in cases {
            let bounds = MatchBounds { most: (*most).to_owned(), least: (*least).to_owned() };
            assert_eq!(bounds.only_text().as_deref(), *expected, "{most}");
        }
    }

    fn rules(list: &[(&str, Action)], otherwise: Action) -> RuleList {
        let entries = list.iter().map(|(regex, action)| EncodedRule {
            text: (*regex).to_owned(),
            action: *action,
            matches: MatchBounds::exactly(*regex),
        });
        encoding(entries.collect(), MatchOrder::First, otherwise).rules()
    }

    fn encoding(entries: Vec<EncodedRule>, order: MatchOrder, default: Action) -> RuleEncoding {
        RuleEncoding { section: Section::Mcp, order, entries, default }
    }

    /// Narrows by counterexamples alone.
    fn searched(
        mut encoding: RuleEncoding,
        others: &[RuleList],
        bounds: &[RuleList],
    ) -> RuleEncoding {
        let memo = RenderMemo::default();
        while let Some((questions, proof)) = encoding.counterexample(&memo, others, bounds) {
            let PolicyProof::Fails { example, source, .. } = proof else { panic!("{proof:?}") };
            assert!(encoding.raise_as(&example, source, questions), "{example}");
        }
        encoding
    }

    /// Names are narrowed at once, and the result is that of a search for each of them.
    #[test]
    fn narrowing_names_at_once_equals_searching() {
        use Action::{Allow, Ask, Deny};
        let names = ["a/one", "a/two", "b/one", "b/two", "c/.*", "c/one", "(a|b)/one"];
        let sources = [
            rules(&[("a/.*", Ask), ("b/.*", Deny)], Allow),
            rules(&[("a/one", Allow), ("c/one", Deny)], Ask),
            rules(&[("c/one", Ask), ("c/.*", Deny), ("b/two", Ask)], Allow),
            rules(&[], Deny),
        ];
        let others: [&[RuleList]; 2] = [&[], &[rules(&[("a/one", Ask)], Allow)]];
        let orders = [MatchOrder::First, MatchOrder::Last, MatchOrder::Strictest];
        // Every subset of the names.
        for set in 0..1_u32 << names.len() {
            let chosen = names.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let entries = chosen.map(|(_, name)| EncodedRule {
                text: (*name).to_owned(),
                action: Allow,
                matches: MatchBounds::exactly(*name),
            });
            let entries: Vec<EncodedRule> = entries.collect();
            let order = orders[set as usize % orders.len()];
            let (source, others) = (&sources[set as usize % 4], others[set as usize / 4 % 2]);
            let bounds = std::slice::from_ref(source);
            let encoding = encoding(entries, order, Deny);
            let narrowed = encoding.clone().narrowed(&RenderMemo::default(), others, bounds);
            assert!(!narrowed.unknown, "{encoding:?}");
            assert_eq!(narrowed.encoding, searched(encoding, others, bounds));
        }
    }
}
