//! Nondeterministic automata over characters, built from left to right: each method starts at a
//! state and gives the state at which it ends.

use super::TooLarge;
use super::set::Set;
use crate::pattern::glob::{Glob, Part};
use crate::pattern::sequence::Element;

/// The number of a state.
pub(crate) type State = u32;

/// The most states that a nondeterministic automaton may have.
const MOST: usize = 200_000;

/// An automaton under construction.
#[derive(Debug, Default)]
pub(crate) struct Nfa {
    /// Each state's ways on, by the number of a set.
    pub(crate) edges: Vec<Vec<(u32, State)>>,
    /// Each state's ways on that take no character.
    pub(crate) empty: Vec<Vec<State>>,
    /// What each state accepts: bits that the builder chose.
    pub(crate) accepts: Vec<u128>,
    /// The part of the automaton that each state belongs to: bits that the builder chose.
    pub(crate) part: Vec<u128>,
    /// The sets on the edges.
    pub(crate) sets: Vec<Set>,
    /// The part of new states.
    building: u128,
    overflow: bool,
}

/// The characters of an item, and the one that ends it.
#[derive(Debug, Clone)]
pub(crate) struct Items {
    /// What an item is made of.
    pub(crate) any: Set,
    /// What stands behind each item.
    pub(crate) end: char,
}

/// Watches the text of a glob: a state machine over a few characters and «any other».
pub(crate) struct Watch<'a> {
    /// The characters that matter.
    pub(crate) characters: Vec<char>,
    /// The next state, if the text may go on.
    pub(crate) step: &'a dyn Fn(u32, Option<char>) -> Option<u32>,
    /// Whether the text may end.
    pub(crate) accepts: &'a dyn Fn(u32) -> bool,
}

impl Nfa {
    /// Makes every new state a part of `part`, until it is called again.
    pub(crate) fn build(&mut self, part: u128) -> State {
        self.building = part;
        self.state()
    }

    /// A new state. Past the bound the last one is given again, and [`Self::finish`] fails.
    pub(crate) fn state(&mut self) -> State {
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

    /// Whether it was built within its bound.
    pub(crate) fn finish(&self) -> Result<(), TooLarge> {
        if self.overflow { Err(TooLarge) } else { Ok(()) }
    }

    /// A way on that takes no character.
    pub(crate) fn join(&mut self, from: State, to: State) {
        if from != to {
            self.empty[from as usize].push(to);
        }
    }

    /// A way on by one character of a set.
    pub(crate) fn edge(&mut self, from: State, set: &Set, to: State) {
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

    /// Marks a state as an end.
    pub(crate) fn accept(&mut self, state: State, bit: u128) {
        self.accepts[state as usize] |= bit;
    }

    /// One character.
    pub(crate) fn one(&mut self, from: State, set: &Set) -> State {
        let to = self.state();
        self.edge(from, set, to);
        to
    }

    /// This text.
    pub(crate) fn text(&mut self, from: State, text: &str) -> State {
        text.chars().fold(from, |from, c| self.one(from, &Set::one(c)))
    }

    /// Any number of characters.
    pub(crate) fn star(&mut self, from: State, set: &Set) -> State {
        let around = self.state();
        self.join(from, around);
        self.edge(around, set, around);
        around
    }

    /// A text that a glob matches, of characters in `any`.
    pub(crate) fn glob(&mut self, from: State, glob: &Glob, any: &Set) -> State {
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
                None => self.watched(here, segment, any, &never_climbs()),
            };
        }
        here
    }

    fn parts(&mut self, from: State, parts: &[Part], any: &Set) -> State {
        let mut here = from;
        for part in parts {
            here = match part {
                Part::Text(text) if text.chars().all(|c| any.contains(c)) => self.text(here, text),
                Part::Text(_) => self.state(),
                Part::Segment => self.star(here, &any.without('/')),
                Part::Any => self.star(here, any),
                Part::Folders => {
                    let inside = self.star(here, any);
                    let after = self.text(inside, "/");
                    self.join(here, after);
                    after
                }
            };
        }
        here
    }

    /// A text that a glob matches and that `watch` lets through.
    pub(crate) fn watched(
        &mut self,
        from: State,
        glob: &Glob,
        any: &Set,
        watch: &Watch<'_>,
    ) -> State {
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

    /// One item, whatever it is.
    pub(crate) fn item(&mut self, from: State, items: &Items) -> State {
        let inside = self.star(from, &items.any);
        self.one(inside, &Set::one(items.end))
    }

    /// A row of items.
    pub(crate) fn elements(&mut self, from: State, row: &[Element], items: &Items) -> State {
        row.iter().fold(from, |from, element| self.element(from, element, items))
    }

    fn element(&mut self, from: State, element: &Element, items: &Items) -> State {
        let after = self.state();
        match element {
            Element::Many => {
                self.join(from, after);
                let again = self.item(after, items);
                self.join(again, after);
            }
            Element::One(globs) => {
                for glob in globs {
                    let inside = self.glob(from, glob, &items.any);
                    self.edge(inside, &Set::one(items.end), after);
                }
            }
        }
        after
    }
}

impl Watch<'_> {
    /// The parts of `set` that lead on, with the states that they lead to.
    fn split(&self, set: &Set, state: u32) -> Vec<(Set, u32)> {
        let mut rest = set.clone();
        let mut found = Vec::new();
        for c in self.characters.iter().filter(|c| set.contains(**c)) {
            rest = rest.without(*c);
            found.extend((self.step)(state, Some(*c)).map(|next| (Set::one(*c), next)));
        }
        found.extend((self.step)(state, None).map(|next| (rest, next)));
        found
    }
}

/// Lets no `..` segment through. States: the number of dots at the start of a segment, 3 for more.
fn never_climbs() -> Watch<'static> {
    Watch {
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
