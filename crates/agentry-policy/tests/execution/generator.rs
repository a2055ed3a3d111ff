//! The lines of one run: from the grammar, from the tables, and mutations of both.

use std::collections::BTreeSet;

use super::generate::{Random, made, mutated, spliced};
use super::vectors::Group;

/// Makes lines.
pub(crate) struct Generator {
    random: Random,
    groups: Vec<Group>,
    names: BTreeSet<String>,
}

impl Generator {
    /// A generator with a seed, and with tables to take lines from.
    pub(crate) fn new(seed: u64, groups: Vec<Group>) -> Self {
        let mut names = BTreeSet::new();
        for line in groups.iter().flat_map(|group| &group.lines) {
            let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
            let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
            names.extend(words.filter(is_name).map(str::to_owned));
        }
        Self { random: Random::Seed(seed), groups, names }
    }

    /// Every word that may be the name of a command.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.iter().cloned().collect()
    }

    /// The next line, and the group that it comes from.
    pub(crate) fn line(&mut self) -> (String, Option<usize>) {
        let random = &mut self.random;
        let (line, group) = match random.below(10) {
            0..6 => (made(random), None),
            6 => (spliced(&made(random), &made(random), random), None),
            _ => {
                let at = random.below(self.groups.len());
                let group = &self.groups[at];
                let lines: Vec<&str> = group.lines.iter().map(String::as_str).collect();
                match lines.as_slice() {
                    [] => (made(random), None),
                    lines => (random.pick(lines).to_owned(), Some(at)),
                }
            }
        };
        let times = [0, 0, 1, 1, 2, 4][random.below(6)];
        ((0..times).fold(line, |line, _| mutated(&line, random)), group)
    }
}
