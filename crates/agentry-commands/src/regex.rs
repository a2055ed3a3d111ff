//! Matches whole argument lists against regular expressions, by simulating a nondeterministic automaton.
//!
//! Few lists are compared in one run, so compiling a deterministic automaton would take longer.

use regex_syntax::hir::{Class, Hir, HirKind};

/// One regular expression.
#[derive(Debug)]
pub(crate) struct ArgumentRegex {
    states: Vec<RegexState>,
    start: usize,
}

/// One state of the automaton, and its transitions.
#[derive(Debug)]
enum RegexState {
    /// A character in one of the ranges.
    Chars(Vec<(char, char)>, usize),
    /// Any of these states, without reading a character.
    Either(Vec<usize>),
    /// The whole expression was matched.
    End,
}

impl ArgumentRegex {
    /// Parses an expression; returns `None` for a syntax error or an anchor.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let hir = regex_syntax::parse(text).ok()?;
        // The match is always anchored at both ends, so an anchor in the text would be a mistake.
        hir.properties().look_set().is_empty().then_some(())?;
        let mut regex = Self { states: vec![RegexState::End], start: 0 };
        regex.start = regex.add(&hir, 0);
        Some(regex)
    }

    /// Whether the expression matches the whole text.
    pub(crate) fn takes(&self, text: &str) -> bool {
        let mut here = ReachedStates::new(self.states.len());
        let mut next = ReachedStates::new(self.states.len());
        here.enter(self, self.start);
        for c in text.chars() {
            for at in here.list.drain(..) {
                if let Some(RegexState::Chars(ranges, to)) = self.states.get(at)
                    && ranges.iter().any(|(first, last)| (*first..=*last).contains(&c))
                {
                    next.enter(self, *to);
                }
            }
            here.seen.fill(false);
            std::mem::swap(&mut here, &mut next);
        }
        // State 0 is `End`.
        here.list.contains(&0)
    }

    fn state(&mut self, state: RegexState) -> usize {
        self.states.push(state);
        self.states.len() - 1
    }

    /// Adds an expression that continues at `next`, and returns its first state.
    fn add(&mut self, hir: &Hir, next: usize) -> usize {
        match hir.kind() {
            HirKind::Empty => next,
            // Cannot happen: `read` rejects anchors. A state without transitions never matches.
            HirKind::Look(_) => self.state(RegexState::Either(Vec::new())),
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0);
                let add = |next, c| self.state(RegexState::Chars(vec![(c, c)], next));
                text.chars().rev().fold(next, add)
            }
            HirKind::Class(class) => self.state(RegexState::Chars(ranges(class), next)),
            HirKind::Capture(capture) => self.add(&capture.sub, next),
            HirKind::Concat(parts) => {
                parts.iter().rev().fold(next, |next, part| self.add(part, next))
            }
            HirKind::Alternation(parts) => {
                let starts = parts.iter().map(|part| self.add(part, next)).collect();
                self.state(RegexState::Either(starts))
            }
            HirKind::Repetition(repetition) => {
                let optional = repetition.max.map(|max| max.saturating_sub(repetition.min));
                let mut start = match optional {
                    None => self.again(&repetition.sub, next),
                    Some(times) => (0..times).fold(next, |after, _| {
                        let once = self.add(&repetition.sub, after);
                        self.state(RegexState::Either(vec![once, next]))
                    }),
                };
                for _ in 0..repetition.min {
                    start = self.add(&repetition.sub, start);
                }
                start
            }
        }
    }

    /// Adds an unlimited repetition.
    fn again(&mut self, sub: &Hir, next: usize) -> usize {
        // The loop needs the number of its own state, so a placeholder is filled in below.
        let around = self.state(RegexState::End);
        let once = self.add(sub, around);
        if let Some(state) = self.states.get_mut(around) {
            *state = RegexState::Either(vec![once, next]);
        }
        around
    }
}

fn ranges(class: &Class) -> Vec<(char, char)> {
    match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            let range = |(first, last): (u8, u8)| (char::from(first), char::from(last));
            class.iter().map(|it| range((it.start(), it.end()))).collect()
        }
    }
}

/// The states that the text read so far may lead to, each once.
struct ReachedStates {
    list: Vec<usize>,
    seen: Vec<bool>,
}

impl ReachedStates {
    fn new(count: usize) -> Self {
        Self { list: Vec::new(), seen: vec![false; count] }
    }

    /// Adds a state and all states that it reaches without a character.
    fn enter(&mut self, regex: &ArgumentRegex, at: usize) {
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            let Some(seen) = self.seen.get_mut(at) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            match regex.states.get(at) {
                Some(RegexState::Either(ways)) => open.extend(ways),
                _ => self.list.push(at),
            }
        }
    }
}
