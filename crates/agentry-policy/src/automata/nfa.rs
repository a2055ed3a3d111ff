//! Nondeterministic automata over characters, built from left to right: each method starts at a state and
//! returns the state at which it ends.

use super::MachineTooLarge;
use super::set::CharSet;
use crate::pattern::glob::{GlobPart, GlobPattern};
use crate::pattern::sequence::PatternElement;

/// The number of a state.
pub(crate) type StateId = u32;

/// The most states that a nondeterministic automaton may have.
const MOST: usize = 200_000;

/// An automaton under construction.
#[derive(Debug, Default)]
pub(crate) struct Nfa {
    /// The transitions of each state, by the number of a character set.
    pub(crate) edges: Vec<Vec<(u32, StateId)>>,
    /// The transitions of each state that read no character.
    pub(crate) empty: Vec<Vec<StateId>>,
    /// What each state accepts, as bits that the builder assigns.
    pub(crate) accepts: Vec<u128>,
    /// The part of the automaton that each state belongs to, as bits that the builder assigns.
    pub(crate) part: Vec<u128>,
    /// The character sets on the edges.
    pub(crate) sets: Vec<CharSet>,
    /// The part that new states belong to.
    building: u128,
    overflow: bool,
}

/// The characters of an item, such as a word or a path segment, and the one that ends it.
#[derive(Debug, Clone)]
pub(crate) struct ItemCharacters {
    /// The characters that an item may contain.
    pub(crate) any: CharSet,
    /// The character after each item.
    pub(crate) end: char,
}

/// Restricts the texts of a glob by a small state machine over some characters and «any other».
pub(crate) struct GlobWatch<'a> {
    /// The characters that the state machine distinguishes.
    pub(crate) characters: Vec<char>,
    /// The next state, or `None` to reject the text.
    pub(crate) step: &'a dyn Fn(u32, Option<char>) -> Option<u32>,
    /// Whether the text may end.
    pub(crate) accepts: &'a dyn Fn(u32) -> bool,
}

impl Nfa {
    /// Assigns all new states to `part`, until the next call, and makes one.
    pub(crate) fn build(&mut self, part: u128) -> StateId {
        self.building = part;
        self.state()
    }

    /// Makes a new state. Beyond the limit it returns the last one again, and [`Self::finish`] fails.
    pub(crate) fn state(&mut self) -> StateId {
        if self.edges.len() >= MOST {
            self.overflow = true;
        } else {
            self.edges.push(Vec::new());
            self.empty.push(Vec::new());
            self.accepts.push(0);
            self.part.push(self.building);
        }
        u32::try_from(self.edges.len() - 1).unwrap_or(u32::MAX)
    }

    /// Fails if the limit was exceeded.
    pub(crate) fn finish(&self) -> Result<(), MachineTooLarge> {
        if self.overflow { Err(MachineTooLarge) } else { Ok(()) }
    }

    /// Adds a transition that reads no character.
    pub(crate) fn join(&mut self, from: StateId, to: StateId) {
        if from != to {
            self.empty[from as usize].push(to);
        }
    }

    /// Adds a transition that reads one character of a set.
    pub(crate) fn edge(&mut self, from: StateId, set: &CharSet, to: StateId) {
        if set.is_empty() {
            return;
        }
        let known = self.sets.iter().position(|known| known == set);
        let number = known.unwrap_or_else(|| {
            self.sets.push(set.clone());
            self.sets.len() - 1
        });
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.edges[from as usize].push((number, to));
    }

    /// Marks a state as accepting.
    pub(crate) fn accept(&mut self, state: StateId, bit: u128) {
        self.accepts[state as usize] |= bit;
    }

    /// Adds one character.
    pub(crate) fn one(&mut self, from: StateId, set: &CharSet) -> StateId {
        let to = self.state();
        self.edge(from, set, to);
        to
    }

    /// Adds a literal text.
    pub(crate) fn text(&mut self, from: StateId, text: &str) -> StateId {
        text.chars().fold(from, |from, c| self.one(from, &CharSet::one(c)))
    }

    /// Adds any number of characters.
    pub(crate) fn star(&mut self, from: StateId, set: &CharSet) -> StateId {
        let around = self.state();
        self.join(from, around);
        self.edge(around, set, around);
        around
    }

    /// Adds the texts that a glob matches, with characters of `any`.
    pub(crate) fn glob(&mut self, from: StateId, glob: &GlobPattern, any: &CharSet) -> StateId {
        if glob.segments.is_empty() {
            return self.parts(from, &glob.parts, any);
        }
        let mut here = from;
        for (index, segment) in glob.segments.iter().enumerate() {
            if index > 0 {
                here = self.text(here, "/");
            }
            here = match segment.as_literal() {
                Some(text) => self.text(here, text),
                // A wildcard must not match `..`.
                None => self.watched(here, segment, any, &never_climbs()),
            };
        }
        here
    }

    fn parts(&mut self, from: StateId, parts: &[GlobPart], any: &CharSet) -> StateId {
        let mut here = from;
        for part in parts {
            here = match part {
                GlobPart::Text(text) if text.chars().all(|c| any.contains(c)) => {
                    self.text(here, text)
                }
                // The literal text contains a character that no item has: a new state without edges never
                // matches.
                GlobPart::Text(_) => self.state(),
                GlobPart::Segment => self.star(here, &any.without('/')),
                GlobPart::Any => self.star(here, any),
                GlobPart::Folders => {
                    let inside = self.star(here, any);
                    let after = self.text(inside, "/");
                    self.join(here, after);
                    after
                }
            };
        }
        here
    }

    /// Adds the texts that a glob matches and `watch` accepts.
    pub(crate) fn watched(
        &mut self,
        from: StateId,
        glob: &GlobPattern,
        any: &CharSet,
        watch: &GlobWatch<'_>,
    ) -> StateId {
        // Builds the product of the glob's own automaton and the watch.
        let mut plain = Self::default();
        let start = plain.state();
        let end = plain.glob(start, glob, any);
        let mut known = std::collections::BTreeMap::from([((start, 0), from)]);
        let mut open = vec![(start, 0)];
        let done = self.state();
        while let Some(pair @ (inner, watched)) = open.pop() {
            let here = known.get(&pair).copied().unwrap_or(from);
            if inner == end && (watch.accepts)(watched) {
                self.join(here, done);
            }
            let mut to = |nfa: &mut Self, pair| {
                *known.entry(pair).or_insert_with(|| {
                    open.push(pair);
                    nfa.state()
                })
            };
            for next in &plain.empty[inner as usize] {
                let next = to(self, (*next, watched));
                self.join(here, next);
            }
            for (set, next) in &plain.edges[inner as usize] {
                let set = &plain.sets[*set as usize];
                for (set, watched) in watch.split(set, watched) {
                    let next = to(self, (*next, watched));
                    self.edge(here, &set, next);
                }
            }
        }
        done
    }

    /// Adds one item with any text.
    pub(crate) fn item(&mut self, from: StateId, items: &ItemCharacters) -> StateId {
        let inside = self.star(from, &items.any);
        self.one(inside, &CharSet::one(items.end))
    }

    /// Adds a sequence of items.
    pub(crate) fn elements(
        &mut self,
        from: StateId,
        row: &[PatternElement],
        items: &ItemCharacters,
    ) -> StateId {
        row.iter().fold(from, |from, element| self.element(from, element, items))
    }

    fn element(
        &mut self,
        from: StateId,
        element: &PatternElement,
        items: &ItemCharacters,
    ) -> StateId {
        let after = self.state();
        match element {
            PatternElement::Many => {
                self.join(from, after);
                let again = self.item(after, items);
                self.join(again, after);
            }
            PatternElement::One(globs) => {
                for glob in globs {
                    let inside = self.glob(from, glob, &items.any);
                    self.edge(inside, &CharSet::one(items.end), after);
                }
            }
        }
        after
    }
}

impl GlobWatch<'_> {
    /// Splits `set` into the parts that are accepted, each with the next state of the watch.
    fn split(&self, set: &CharSet, state: u32) -> Vec<(CharSet, u32)> {
        let mut rest = set.clone();
        let mut found = Vec::new();
        for c in self.characters.iter().filter(|c| set.contains(**c)) {
            rest = rest.without(*c);
            found.extend((self.step)(state, Some(*c)).map(|next| (CharSet::one(*c), next)));
        }
        found.extend((self.step)(state, None).map(|next| (rest, next)));
        found
    }
}

/// Rejects `..` segments. The state is the number of dots at the start of a segment; 3 stands for any other.
fn never_climbs() -> GlobWatch<'static> {
    GlobWatch {
        characters: vec!['.', '/'],
        step: &|state, c| match (state, c) {
            (2, Some('/')) => None,
            (_, Some('/')) => Some(0),
            (dots @ 0..=2, Some('.')) => Some(dots + 1),
            _ => Some(3),
        },
        accepts: &|state| state != 2,
    }
}
