//! Deterministic machines with outputs: the output of a text is the rule that decides about it.

use super::fast_map::FastMap;
use super::set::Alphabet;
use super::{MOST_ENTRIES, MOST_STATES, MachineTooLarge};

/// The output of a text that no rule decides about.
pub(crate) const NONE: u32 = u32::MAX;

/// A complete machine. State 0 is the dead state: it has no output and only leads to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateMachine {
    pub(crate) alphabet: Alphabet,
    /// The next state for each state and letter.
    pub(crate) table: Vec<u32>,
    /// For each state, the output of a text that ends there.
    pub(crate) outputs: Vec<u32>,
    pub(crate) start: u32,
}

impl StateMachine {
    /// Makes the machine without any output.
    pub(crate) fn nothing() -> Self {
        let (alphabet, _) = Alphabet::of(&[]);
        let table = vec![0; alphabet.letters];
        Self { alphabet, table, outputs: vec![NONE], start: 0 }
    }

    /// Returns the number of states.
    pub(crate) fn states(&self) -> usize {
        self.outputs.len()
    }

    /// Returns the next states of a state, by letter.
    pub(crate) fn row(&self, state: u32) -> &[u32] {
        let letters = self.alphabet.letters;
        let from = state as usize * letters;
        self.table.get(from..from + letters).unwrap_or_default()
    }

    /// Returns the next state.
    pub(crate) fn step(&self, state: u32, letter: usize) -> u32 {
        self.row(state).get(letter).copied().unwrap_or(0)
    }

    /// Returns the output of a state.
    pub(crate) fn output(&self, state: u32) -> u32 {
        self.outputs.get(state as usize).copied().unwrap_or(NONE)
    }

    /// Replaces each output except [`NONE`].
    pub(crate) fn relabel(mut self, label: impl Fn(u32) -> u32) -> Self {
        for output in self.outputs.iter_mut().filter(|output| **output != NONE) {
            *output = label(*output);
        }
        self
    }

    /// Returns the output of a text.
    pub(crate) fn run(&self, text: &str) -> u32 {
        let mut state = self.start;
        for c in text.chars() {
            // Nothing leads out of the dead state.
            if state == 0 {
                return NONE;
            }
            state = self.step(state, self.alphabet.letter(c));
        }
        self.output(state)
    }

    /// Returns for each state whether all subjects that lead through it get an output that satisfies
    /// `decided`. No other machine needs to be followed from there.
    pub(crate) fn settled(&self, universe: &Self, decided: impl Fn(u32) -> bool) -> Vec<bool> {
        let (_, letters) = self.alphabet.refine(&universe.alphabet);
        let mut pairs = StatePairs::new(self.start, universe.start);
        let mut back: Vec<(u32, u32)> = Vec::new();
        let mut open: Vec<bool> = Vec::new();
        let mut at = 0;
        while let Some(&(state, inside)) = pairs.list.get(at) {
            open.push(universe.output(inside) != NONE && !decided(self.output(state)));
            let (row, around) = (self.row(state), universe.row(inside));
            let mut last = (u32::MAX, u32::MAX);
            for (left, right) in &letters {
                let next = (row[usize::from(*left)], around[usize::from(*right)]);
                // Letters that lead to the same pair as the one before are skipped.
                if next.1 != 0 && next != last {
                    last = next;
                    let next = pairs.number(next.0, next.1);
                    back.push((next, u32::try_from(at).unwrap_or(u32::MAX)));
                }
            }
            at += 1;
        }
        spread(&mut open, &mut back);
        let mut settled = vec![true; self.states()];
        for ((state, _), open) in pairs.list.iter().zip(open) {
            settled[*state as usize] &= !open;
        }
        settled
    }

    /// Merges two machines: the output of a text is combined from both outputs. From a state of `self` that
    /// is `settled`, `other` is not followed any further.
    pub(crate) fn merge(
        &self,
        other: &Self,
        settled: &[bool],
        combine: impl Fn(u32, u32) -> u32,
    ) -> Result<Self, MachineTooLarge> {
        let (alphabet, letters) = self.alphabet.refine(&other.alphabet);
        let key = |left: u32, right: u32| {
            let settled = settled.get(left as usize).copied().unwrap_or(false);
            (left, if settled { 0 } else { right })
        };
        let mut pairs = StatePairs::new(0, 0);
        let (left, right) = key(self.start, other.start);
        let start = pairs.number(left, right);
        let (mut table, mut outputs) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(&(left, right)) = pairs.list.get(at) {
            outputs.push(combine(self.output(left), other.output(right)));
            let (left, right) = (self.row(left), other.row(right));
            // Most letters of a row lead to the same pair, so the last number is reused.
            let (mut last, mut number) = ((0, 0), 0);
            for (a, b) in &letters {
                let next = (left[usize::from(*a)], right[usize::from(*b)]);
                if next != last {
                    last = next;
                    let (left, right) = key(next.0, next.1);
                    number = pairs.number(left, right);
                }
                table.push(number);
            }
            at += 1;
            if at > MOST_STATES || table.len() > MOST_ENTRIES {
                return Err(MachineTooLarge);
            }
        }
        Ok(Self { alphabet, table, outputs, start })
    }
}

/// Marks every pair as open from which an open one can be reached.
fn spread(open: &mut [bool], back: &mut [(u32, u32)]) {
    back.sort_unstable();
    let mut stack: Vec<u32> =
        (0..).zip(open.iter()).filter(|(_, open)| **open).map(|(at, _)| at).collect();
    while let Some(to) = stack.pop() {
        let from = back.partition_point(|(head, _)| *head < to);
        for (_, tail) in back[from..].iter().take_while(|(head, _)| *head == to) {
            if !std::mem::replace(&mut open[*tail as usize], true) {
                stack.push(*tail);
            }
        }
    }
}

/// Pairs of states, numbered in the order in which they are found.
pub(crate) struct StatePairs {
    pub(crate) list: Vec<(u32, u32)>,
    numbers: FastMap<u64, u32>,
}

impl StatePairs {
    /// Makes a list whose pair number 0 is this one.
    pub(crate) fn new(left: u32, right: u32) -> Self {
        let mut pairs = Self { list: Vec::new(), numbers: FastMap::default() };
        pairs.number(left, right);
        pairs
    }

    /// Returns the number of a pair, and adds the pair if it is new.
    pub(crate) fn number(&mut self, left: u32, right: u32) -> u32 {
        let key = (u64::from(left) << 32) | u64::from(right);
        *self.numbers.entry(key).or_insert_with(|| {
            self.list.push((left, right));
            u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX)
        })
    }
}
