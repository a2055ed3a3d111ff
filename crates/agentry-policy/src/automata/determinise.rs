//! Converts a nondeterministic automaton into a deterministic machine, by the subset construction.

use super::fast_map::FastMap;
use super::machine::{NONE, StateMachine};
use super::nfa::{Nfa, StateId};
use super::set::Alphabet;
use super::{MOST_ENTRIES, MOST_STATES, MachineTooLarge};

/// Decides about a set of states, given the bits of its parts and the bits that it accepts.
pub(crate) struct SubsetJudge<'a> {
    /// Whether a text that leads to the set can still be accepted.
    pub(crate) alive: &'a dyn Fn(u128, u128) -> bool,
    /// Whether a text that ends in the set is accepted.
    pub(crate) accepts: &'a dyn Fn(u128) -> bool,
}

/// Builds the machine that gives `output` for the accepted texts.
pub(crate) fn determinise(
    nfa: &Nfa,
    starts: &[StateId],
    judge: &SubsetJudge<'_>,
    output: u32,
) -> Result<StateMachine, MachineTooLarge> {
    nfa.finish()?;
    let (alphabet, members) = Alphabet::of(&nfa.sets);
    let mut subsets = StateSubsets::new(nfa, judge);
    let start = subsets.number(starts.to_vec());
    let letters = alphabet.letters;
    let mut table = vec![0; letters];
    let mut row = SubsetRow::default();
    // Index 0 is the dead state, whose row was added above.
    let mut at = 1;
    while let Some(subset) = subsets.list.get(at) {
        row.read(nfa, &members, subset, letters)?;
        for letter in 0..letters {
            let number = row.next(letter, &mut subsets);
            table.push(number);
        }
        at += 1;
        if subsets.list.len() > MOST_STATES || table.len() > MOST_ENTRIES {
            return Err(MachineTooLarge);
        }
    }
    let outputs = subsets.accepts.iter();
    let outputs = outputs.map(|accepts| if *accepts { output } else { NONE }).collect();
    Ok(StateMachine { alphabet, table, outputs, start })
}

/// The transitions of one set of states. Most characters belong to the same sets, and so lead to the same
/// states.
#[derive(Default)]
struct SubsetRow {
    /// The sets on the edges and their target states, sorted by set.
    edges: Vec<(u32, StateId)>,
    /// For each letter the sets that contain it, as bits in the order of `edges`.
    holds: Vec<[u128; 2]>,
    /// The targets that are already computed, by these bits.
    known: Vec<([u128; 2], u32)>,
}

impl SubsetRow {
    fn read(
        &mut self,
        nfa: &Nfa,
        members: &[Vec<u16>],
        subset: &[StateId],
        letters: usize,
    ) -> Result<(), MachineTooLarge> {
        self.edges.clear();
        self.edges.extend(subset.iter().flat_map(|state| &nfa.edges[*state as usize]));
        self.edges.sort_unstable();
        self.holds.clear();
        self.holds.resize(letters, [0; 2]);
        self.known.clear();
        for (order, set) in self.edges.chunk_by(|a, b| a.0 == b.0).enumerate() {
            let (half, bit) = (order / 128, 1 << (order % 128));
            // Two words of 128 bits are the limit of `holds`.
            if half > 1 {
                return Err(MachineTooLarge);
            }
            for letter in set.first().iter().flat_map(|(set, _)| &members[*set as usize]) {
                self.holds[usize::from(*letter)][half] |= bit;
            }
        }
        Ok(())
    }

    /// Returns the number of the set that a letter leads to.
    fn next(&mut self, letter: usize, subsets: &mut StateSubsets<'_>) -> u32 {
        let holds = self.holds[letter];
        if holds == [0; 2] {
            return 0;
        }
        if let Some((_, number)) = self.known.iter().find(|(known, _)| *known == holds) {
            return *number;
        }
        let mut targets = Vec::new();
        for (order, set) in self.edges.chunk_by(|a, b| a.0 == b.0).enumerate() {
            if holds[order / 128] & (1 << (order % 128)) != 0 {
                targets.extend(set.iter().map(|(_, to)| *to));
            }
        }
        let number = subsets.number(targets);
        self.known.push((holds, number));
        number
    }
}

/// The sets of states found so far; the first one is the dead set.
struct StateSubsets<'a> {
    nfa: &'a Nfa,
    judge: &'a SubsetJudge<'a>,
    list: Vec<Vec<StateId>>,
    accepts: Vec<bool>,
    /// Numbers by the states before empty transitions are followed.
    seeds: FastMap<Vec<StateId>, u32>,
    numbers: FastMap<Vec<StateId>, u32>,
    seen: Vec<bool>,
}

impl<'a> StateSubsets<'a> {
    fn new(nfa: &'a Nfa, judge: &'a SubsetJudge<'a>) -> Self {
        Self {
            nfa,
            judge,
            list: vec![Vec::new()],
            accepts: vec![false],
            seeds: FastMap::default(),
            numbers: FastMap::default(),
            seen: vec![false; nfa.edges.len()],
        }
    }

    /// Returns the number of the set that `seed` leads to.
    fn number(&mut self, mut seed: Vec<StateId>) -> u32 {
        if seed.is_empty() {
            return 0;
        }
        seed.sort_unstable();
        seed.dedup();
        if let Some(number) = self.seeds.get(&seed) {
            return *number;
        }
        let number = self.close(&seed);
        self.seeds.insert(seed, number);
        number
    }

    fn close(&mut self, seed: &[StateId]) -> u32 {
        let mut all = Vec::new();
        let mut open = seed.to_vec();
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut self.seen[state as usize], true) {
                all.push(state);
                open.extend(&self.nfa.empty[state as usize]);
            }
        }
        let (mut part, mut accepts) = (0, 0);
        for state in &all {
            self.seen[*state as usize] = false;
            part |= self.nfa.part[*state as usize];
            accepts |= self.nfa.accepts[*state as usize];
        }
        if !(self.judge.alive)(part, accepts) {
            return 0;
        }
        // States with only empty transitions add nothing; without them, more sets are equal.
        all.retain(|state| {
            let state = *state as usize;
            !self.nfa.edges[state].is_empty() || self.nfa.accepts[state] != 0
        });
        all.sort_unstable();
        if let Some(number) = self.numbers.get(&all) {
            return *number;
        }
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(all.clone(), number);
        self.list.push(all);
        self.accepts.push((self.judge.accepts)(accepts));
        number
    }
}
