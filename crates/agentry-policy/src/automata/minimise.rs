//! The smallest machine that says the same, by splitting blocks of states and bundles of
//! transitions in turn until nothing tells two states of a block apart. Transitions to the dead
//! state are left out, so that the time depends on what a machine says and not on its alphabet.

use super::machine::{Machine, NONE};

impl Machine {
    /// The smallest machine with the same outputs.
    pub(crate) fn minimise(&self) -> Self {
        let live = self.live();
        let arrows = self.arrows(&live);
        let mut blocks = Partition::new(self.states());
        for output in self.distinct_outputs() {
            for (state, _) in self.outputs.iter().enumerate().filter(|(_, found)| **found == output)
            {
                blocks.mark(state);
            }
            blocks.split();
        }
        // What lies outside of every subject is one block with the dead state.
        for (state, _) in live.iter().enumerate().filter(|(_, live)| !**live) {
            blocks.mark(state);
        }
        blocks.split();
        refine(&mut blocks, &arrows);
        self.quotient(&blocks)
    }

    fn distinct_outputs(&self) -> Vec<u32> {
        let mut outputs = self.outputs.clone();
        outputs.sort_unstable();
        outputs.dedup();
        outputs
    }

    /// For each state whether it can lead to an output at all.
    fn live(&self) -> Vec<bool> {
        let letters = self.alphabet.letters;
        let mut back: Vec<Vec<u32>> = vec![Vec::new(); self.states()];
        for (state, row) in (0..).zip(self.table.chunks(letters.max(1))) {
            for next in row.iter().filter(|next| **next != 0) {
                let back = &mut back[*next as usize];
                if back.last() != Some(&state) {
                    back.push(state);
                }
            }
        }
        let mut live: Vec<bool> = self.outputs.iter().map(|output| *output != NONE).collect();
        let mut open: Vec<usize> = (0..live.len()).filter(|state| live[*state]).collect();
        while let Some(state) = open.pop() {
            for before in &back[state] {
                if !std::mem::replace(&mut live[*before as usize], true) {
                    open.push(*before as usize);
                }
            }
        }
        live
    }

    /// The transitions between live states, by letter.
    fn arrows(&self, live: &[bool]) -> Arrows {
        let letters = self.alphabet.letters;
        let mut arrows = Arrows { tails: vec![], heads: vec![], letters: vec![0] };
        for letter in 0..letters {
            for state in (0..self.states()).filter(|state| live[*state]) {
                let next = self.table[state * letters + letter] as usize;
                if live[next] {
                    arrows.tails.push(state);
                    arrows.heads.push(next);
                }
            }
            arrows.letters.push(arrows.tails.len());
        }
        arrows
    }

    /// The machine whose states are the blocks.
    fn quotient(&self, blocks: &Partition) -> Self {
        let letters = self.alphabet.letters;
        let dead = blocks.block[0];
        // The block of the dead state gets the number 0, in exchange for the block that has it.
        let number = |state: u32| {
            let block = blocks.block[state as usize];
            let number = if block == dead {
                0
            } else if block == 0 {
                dead
            } else {
                block
            };
            u32::try_from(number).unwrap_or(u32::MAX)
        };
        let mut table = vec![0; blocks.first.len() * letters];
        let mut outputs = vec![NONE; blocks.first.len()];
        for first in &blocks.first {
            let Ok(state) = u32::try_from(blocks.elements[*first]) else { continue };
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
struct Arrows {
    tails: Vec<usize>,
    heads: Vec<usize>,
    /// Where the transitions of each letter start, and where the last ones end.
    letters: Vec<usize>,
}

fn refine(blocks: &mut Partition, arrows: &Arrows) {
    let mut bundles = Partition::of_runs(&arrows.letters);
    let (incoming, first_incoming) = by_head(&arrows.heads, blocks.elements.len());
    let (mut block, mut bundle) = (1, 0);
    while bundle < bundles.first.len() {
        for at in bundles.first[bundle]..bundles.past[bundle] {
            blocks.mark(arrows.tails[bundles.elements[at]]);
        }
        blocks.split();
        bundle += 1;
        while block < blocks.first.len() {
            for at in blocks.first[block]..blocks.past[block] {
                let state = blocks.elements[at];
                for arrow in &incoming[first_incoming[state]..first_incoming[state + 1]] {
                    bundles.mark(*arrow);
                }
            }
            bundles.split();
            block += 1;
        }
    }
}

/// The transitions sorted by the state they lead to, and where those of each state start.
fn by_head(heads: &[usize], states: usize) -> (Vec<usize>, Vec<usize>) {
    let mut first = vec![0; states + 1];
    for head in heads {
        first[head + 1] += 1;
    }
    for state in 0..states {
        first[state + 1] += first[state];
    }
    let mut sorted = vec![0; heads.len()];
    let mut next = first.clone();
    for (arrow, head) in heads.iter().enumerate() {
        sorted[next[*head]] = arrow;
        next[*head] += 1;
    }
    (sorted, first)
}

/// A partition that can be refined: elements are marked, then each block is split into its marked
/// and its other elements. The smaller half becomes the new block.
struct Partition {
    /// The elements, block by block.
    elements: Vec<usize>,
    /// Where each element stands among `elements`.
    place: Vec<usize>,
    /// The block of each element.
    block: Vec<usize>,
    /// Where each block starts.
    first: Vec<usize>,
    /// Where each block ends.
    past: Vec<usize>,
    /// How many elements of each block are marked; they stand at its front.
    marked: Vec<usize>,
    touched: Vec<usize>,
}

impl Partition {
    /// All elements in one block.
    fn new(count: usize) -> Self {
        Self::of_runs(&[0, count])
    }

    /// A block for each run of elements that is not empty.
    fn of_runs(ends: &[usize]) -> Self {
        let count = ends.last().copied().unwrap_or(0);
        let mut partition = Self {
            elements: (0..count).collect(),
            place: (0..count).collect(),
            block: vec![0; count],
            first: vec![],
            past: vec![],
            marked: vec![],
            touched: vec![],
        };
        for run in ends.windows(2).filter(|run| run[0] < run[1]) {
            partition.block[run[0]..run[1]].fill(partition.first.len());
            partition.first.push(run[0]);
            partition.past.push(run[1]);
            partition.marked.push(0);
        }
        partition
    }

    fn mark(&mut self, element: usize) {
        let block = self.block[element];
        let (from, to) = (self.place[element], self.first[block] + self.marked[block]);
        if from < to {
            return;
        }
        let other = self.elements[to];
        self.elements.swap(from, to);
        self.place[other] = from;
        self.place[element] = to;
        if self.marked[block] == 0 {
            self.touched.push(block);
        }
        self.marked[block] += 1;
    }

    fn split(&mut self) {
        while let Some(block) = self.touched.pop() {
            let (first, past) = (self.first[block], self.past[block]);
            let middle = first + std::mem::take(&mut self.marked[block]);
            if middle == past {
                continue;
            }
            let fresh = self.first.len();
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
                self.block[self.elements[at]] = fresh;
            }
        }
    }
}
