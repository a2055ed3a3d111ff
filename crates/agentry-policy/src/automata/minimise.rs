//! Minimises a machine by refining two partitions in turn, one of states and one of transitions, until all
//! states of a block are equivalent. Transitions to the dead state are left out, so that the time does not
//! depend on the size of the alphabet.

use super::machine::{NONE, StateMachine};

impl StateMachine {
    /// Returns the smallest machine with the same outputs.
    pub(crate) fn minimise(&self) -> Self {
        let arrows = self.arrows();
        let incoming = IncomingTransitions::new(&arrows.heads, self.states());
        let mut blocks = StatePartition::new(self.states());
        for output in self.distinct_outputs() {
            for (state, _) in (0..).zip(&self.outputs).filter(|(_, found)| **found == output) {
                blocks.mark(state);
            }
            blocks.split();
        }
        // States that lead to no output form one block with the dead state. Their transitions all lead into
        // that block, so they distinguish nothing.
        let live = self.live(&arrows, &incoming);
        for (state, _) in (0..).zip(&live).filter(|(_, live)| !**live) {
            blocks.mark(state);
        }
        blocks.split();
        let arrows =
            if live.iter().skip(1).all(|live| *live) { arrows } else { arrows.between(&live) };
        refine(&mut blocks, &arrows);
        self.quotient(&blocks)
    }

    fn distinct_outputs(&self) -> Vec<u32> {
        let mut outputs = self.outputs.clone();
        outputs.sort_unstable();
        outputs.dedup();
        outputs
    }

    /// Returns for each state whether an output can be reached from it.
    fn live(&self, arrows: &SortedTransitions, incoming: &IncomingTransitions) -> Vec<bool> {
        let mut live: Vec<bool> = self.outputs.iter().map(|output| *output != NONE).collect();
        let mut open: Vec<u32> =
            (0..).zip(&live).filter(|(_, live)| **live).map(|(at, _)| at).collect();
        while let Some(state) = open.pop() {
            for arrow in incoming.of(state) {
                let before = arrows.tails[*arrow as usize];
                if !std::mem::replace(&mut live[before as usize], true) {
                    open.push(before);
                }
            }
        }
        live
    }

    /// Lists the transitions that do not lead to the dead state, by letter.
    fn arrows(&self) -> SortedTransitions {
        let letters = self.alphabet.letters;
        let mut arrows = SortedTransitions { tails: vec![], heads: vec![], letters: vec![0] };
        for letter in 0..letters {
            let column = self.table.iter().skip(letter).step_by(letters);
            for (state, next) in (0..).zip(column).filter(|(_, next)| **next != 0) {
                arrows.tails.push(state);
                arrows.heads.push(*next);
            }
            arrows.letters.push(arrows.tails.len());
        }
        arrows
    }

    /// Builds the machine whose states are the blocks.
    fn quotient(&self, blocks: &StatePartition) -> Self {
        let letters = self.alphabet.letters;
        let dead = blocks.block[0];
        // The dead state must have the number 0, so its block swaps numbers with block 0.
        let number = |state: u32| {
            let block = blocks.block[state as usize];
            if block == dead {
                0
            } else if block == 0 {
                dead
            } else {
                block
            }
        };
        let mut table = vec![0; blocks.first.len() * letters];
        let mut outputs = vec![NONE; blocks.first.len()];
        for first in &blocks.first {
            let state = blocks.elements[*first as usize];
            let block = number(state) as usize;
            outputs[block] = self.output(state);
            let row = self.row(state).iter().map(|next| number(*next));
            table[block * letters..(block + 1) * letters]
                .iter_mut()
                .zip(row)
                .for_each(|(slot, next)| *slot = next);
        }
        Self { alphabet: self.alphabet.clone(), table, outputs, start: number(self.start) }
    }
}

/// Transitions, sorted by letter.
struct SortedTransitions {
    tails: Vec<u32>,
    heads: Vec<u32>,
    /// Where the transitions of each letter start, followed by the total.
    letters: Vec<usize>,
}

impl SortedTransitions {
    /// Keeps only the transitions between live states.
    fn between(&self, live: &[bool]) -> Self {
        let mut kept = Self { tails: vec![], heads: vec![], letters: vec![0] };
        for run in self.letters.windows(2) {
            for at in run[0]..run[1] {
                let (tail, head) = (self.tails[at], self.heads[at]);
                if live[tail as usize] && live[head as usize] {
                    kept.tails.push(tail);
                    kept.heads.push(head);
                }
            }
            kept.letters.push(kept.tails.len());
        }
        kept
    }
}

/// The transitions, sorted by their target state.
struct IncomingTransitions {
    arrows: Vec<u32>,
    /// Where the transitions of each state start.
    first: Vec<u32>,
}

impl IncomingTransitions {
    fn new(heads: &[u32], states: usize) -> Self {
        let mut first = vec![0; states + 1];
        for head in heads {
            first[*head as usize + 1] += 1;
        }
        for state in 0..states {
            first[state + 1] += first[state];
        }
        let mut arrows = vec![0; heads.len()];
        let mut next = first.clone();
        for (arrow, head) in (0..).zip(heads) {
            let place = &mut next[*head as usize];
            arrows[*place as usize] = arrow;
            *place += 1;
        }
        Self { arrows, first }
    }

    fn of(&self, state: u32) -> &[u32] {
        let state = state as usize;
        &self.arrows[self.first[state] as usize..self.first[state + 1] as usize]
    }
}

fn refine(blocks: &mut StatePartition, arrows: &SortedTransitions) {
    let mut bundles = StatePartition::of_runs(&arrows.letters);
    let incoming = IncomingTransitions::new(&arrows.heads, blocks.elements.len());
    // Block 0 needs no pass: after all other blocks, the remaining transitions lead into it.
    let (mut block, mut bundle) = (1, 0);
    while bundle < bundles.first.len() {
        for at in bundles.range(bundle) {
            blocks.mark(arrows.tails[bundles.elements[at] as usize]);
        }
        blocks.split();
        bundle += 1;
        while block < blocks.first.len() {
            for at in blocks.range(block) {
                for arrow in incoming.of(blocks.elements[at]) {
                    bundles.mark(*arrow);
                }
            }
            bundles.split();
            block += 1;
        }
    }
}

/// A partition that can be refined: elements are marked, then each block is split into its marked and its
/// unmarked elements. The smaller half becomes the new block, which keeps the total time low.
struct StatePartition {
    /// The elements, grouped by block.
    elements: Vec<u32>,
    /// The index of each element in `elements`.
    place: Vec<u32>,
    /// The block of each element.
    block: Vec<u32>,
    /// Where each block starts.
    first: Vec<u32>,
    /// Where each block ends.
    past: Vec<u32>,
    /// How many elements of each block are marked; these come first in the block.
    marked: Vec<u32>,
    touched: Vec<u32>,
}

impl StatePartition {
    /// Makes one block with all elements.
    fn new(count: usize) -> Self {
        Self::of_runs(&[0, count])
    }

    /// Makes one block per non-empty run of elements.
    fn of_runs(ends: &[usize]) -> Self {
        let count = ends.last().copied().unwrap_or(0);
        let narrow = |wide: usize| u32::try_from(wide).unwrap_or(u32::MAX);
        let mut partition = Self {
            elements: (0..narrow(count)).collect(),
            place: (0..narrow(count)).collect(),
            block: vec![0; count],
            first: vec![],
            past: vec![],
            marked: vec![],
            touched: vec![],
        };
        for run in ends.windows(2).filter(|run| run[0] < run[1]) {
            partition.block[run[0]..run[1]].fill(narrow(partition.first.len()));
            partition.first.push(narrow(run[0]));
            partition.past.push(narrow(run[1]));
            partition.marked.push(0);
        }
        partition
    }

    /// Returns the indices of the elements of a block.
    fn range(&self, block: usize) -> std::ops::Range<usize> {
        self.first[block] as usize..self.past[block] as usize
    }

    fn mark(&mut self, element: u32) {
        let block = self.block[element as usize] as usize;
        let (from, to) = (self.place[element as usize], self.first[block] + self.marked[block]);
        // Already marked.
        if from < to {
            return;
        }
        let other = self.elements[to as usize];
        self.elements.swap(from as usize, to as usize);
        self.place[other as usize] = from;
        self.place[element as usize] = to;
        if self.marked[block] == 0 {
            self.touched.push(self.block[element as usize]);
        }
        self.marked[block] += 1;
    }

    fn split(&mut self) {
        while let Some(number) = self.touched.pop() {
            let block = number as usize;
            let (first, past) = (self.first[block], self.past[block]);
            let middle = first + std::mem::take(&mut self.marked[block]);
            // All elements are marked, so there is nothing to split.
            if middle == past {
                continue;
            }
            let fresh = u32::try_from(self.first.len()).unwrap_or(u32::MAX);
            let (start, end) = if middle - first <= past - middle {
                self.first[block] = middle;
                (first, middle)
            } else {
                self.past[block] = middle;
                (middle, past)
            };
            self.first.push(start);
            self.past.push(end);
            self.marked.push(0);
            for at in start..end {
                self.block[self.elements[at as usize] as usize] = fresh;
            }
        }
    }
}
