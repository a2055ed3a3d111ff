//! Generates lines, from a grammar and by mutation.

mod grammar;
mod mutate;
mod random;
mod words;

pub(crate) use grammar::line as made;
pub(crate) use mutate::{mutated, spliced};
pub(crate) use random::Random;

/// So many choices make a line; more would only nest deeper.
const MAX_CHOICES: usize = 256;

/// The line that the bytes of a fuzzer decide about.
pub(crate) fn line_of(mut bytes: Vec<u8>) -> String {
    bytes.truncate(MAX_CHOICES);
    let mut random = Random::Bytes(bytes);
    let line = grammar::line(&mut random);
    let times = random.below(4);
    (0..times).fold(line, |line, _| mutate::mutated(&line, &mut random))
}
