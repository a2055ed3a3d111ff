//! From a nondeterministic automaton to a machine, state set by state set.

use super::fast_map::FastMap;
use super::machine::{Machine, NONE};
use super::nfa::{Nfa, State};
use super::set::Alphabet;
use super::{MOST_ENTRIES, MOST_STATES, TooLarge};

/// What to make of a set of states, given the bits of its parts and what it accepts.
pub(crate) struct Judge<'a> {
    /// Whether a text that leads here can still matter.
    pub(crate) alive: &'a dyn Fn(u128, u128) -> bool,
    /// Whether a text that ends here counts.
    pub(crate) accepts: &'a dyn Fn(u128) -> bool,
}

/// The machine that gives `output` for the texts that count.
pub(crate) fn determinise(
    nfa: &Nfa,
    starts: &[State],
    judge: &Judge<'_>,
    output: u32,
) -> Result<Machine, TooLarge> {
    nfa.finish()?;
    let (alphabet, members) = Alphabet::of(&nfa.sets);
    let mut subsets = Subsets::new(nfa, judge);
    let start = subsets.number(&mut starts.to_vec());
    let letters = alphabet.letters;
    let mut table = vec![0; letters];
    let mut next: Vec<Vec<State>> = vec![Vec::new(); letters];
    let mut at = 1;
    while let Some(subset) = subsets.list.get(at).cloned() {
        for state in &subset {
            for (set, to) in &nfa.edges[*state as usize] {
                for letter in &members[*set as usize] {
                    next[usize::from(*letter)].push(*to);
                }
            }
        }
        // Most letters of a row lead to the same states.
        let (mut last, mut number) = (Vec::new(), 0);
        for targets in &mut next {
            if *targets != last {
                last.clone_from(targets);
                number = subsets.number(targets);
            }
            targets.clear();
            table.push(number);
        }
        at += 1;
        if subsets.list.len() > MOST_STATES || table.len() > MOST_ENTRIES {
            return Err(TooLarge);
        }
    }
    let outputs = subsets.accepts.iter();
    let outputs = outputs.map(|accepts| if *accepts { output } else { NONE }).collect();
    Ok(Machine { alphabet, table, outputs, start })
}

/// The state sets that were found, the dead one first.
struct Subsets<'a> {
    nfa: &'a Nfa,
    judge: &'a Judge<'a>,
    list: Vec<Vec<State>>,
    accepts: Vec<bool>,
    /// By the states before those that take no character are added.
    seeds: FastMap<Vec<State>, u32>,
    numbers: FastMap<Vec<State>, u32>,
    seen: Vec<bool>,
}

impl<'a> Subsets<'a> {
    fn new(nfa: &'a Nfa, judge: &'a Judge<'a>) -> Self {
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

    /// The number of the set that `seed` leads to.
    fn number(&mut self, seed: &mut Vec<State>) -> u32 {
        if seed.is_empty() {
            return 0;
        }
        seed.sort_unstable();
        seed.dedup();
        if let Some(number) = self.seeds.get(seed) {
            return *number;
        }
        let number = self.close(seed);
        self.seeds.insert(seed.clone(), number);
        number
    }

    fn close(&mut self, seed: &[State]) -> u32 {
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
