//! Sets of characters, and alphabets in which characters that no machine distinguishes are one letter.

use super::fast_map::FastMap;

/// A set of characters: sorted ranges, both ends included, that neither overlap nor touch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CharSet(Vec<(u32, u32)>);

impl CharSet {
    /// Every character.
    pub(crate) fn all() -> Self {
        Self(vec![(0, 0xd7ff), (0xe000, 0x10_ffff)])
    }

    /// One character.
    pub(crate) fn one(c: char) -> Self {
        Self(vec![(u32::from(c), u32::from(c))])
    }

    /// Makes a set from ranges, which must be sorted; surrogates are skipped.
    pub(crate) fn ranges(ranges: impl Iterator<Item = (char, char)>) -> Self {
        let split = ranges.flat_map(|(first, last)| {
            let (first, last) = (u32::from(first), u32::from(last));
            let around = first < 0xd800 && last > 0xdfff;
            let (lower, upper) = ((first, 0xd7ff), (0xe000, last));
            if around { [Some(lower), Some(upper)] } else { [Some((first, last)), None] }
        });
        Self(split.flatten().collect())
    }

    /// Returns the set without one character.
    pub(crate) fn without(&self, c: char) -> Self {
        let c = u32::from(c);
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        for &(first, last) in &self.0 {
            if c < first || c > last {
                ranges.push((first, last));
                continue;
            }
            if first < c {
                ranges.push((first, c - 1));
            }
            if c < last {
                ranges.push((c + 1, last));
            }
        }
        Self(ranges)
    }

    /// Whether it contains the character.
    pub(crate) fn contains(&self, c: char) -> bool {
        let c = u32::from(c);
        self.0.iter().any(|&(first, last)| first <= c && c <= last)
    }

    /// Whether it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A partition of all characters into letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alphabet {
    /// The first character of each range, and its letter; the first range starts at 0.
    stretches: Vec<(u32, u16)>,
    /// How many letters there are.
    pub(crate) letters: usize,
}

impl Alphabet {
    /// Returns the coarsest alphabet in which each of `sets` consists of whole letters, and the letters of
    /// each set in order.
    pub(crate) fn of(sets: &[CharSet]) -> (Self, Vec<Vec<u16>>) {
        // At each change a set begins or ends, so `inside` is toggled.
        let mut changes: Vec<(u32, usize)> = Vec::new();
        for (index, set) in sets.iter().enumerate() {
            for &(first, last) in &set.0 {
                changes.push((first, index));
                changes.push((last + 1, index));
            }
        }
        changes.sort_unstable();
        let mut inside: Vec<bool> = vec![false; sets.len()];
        let mut letters: FastMap<Vec<bool>, u16> = FastMap::default();
        let mut members: Vec<Vec<u16>> = vec![Vec::new(); sets.len()];
        let mut stretches = Vec::new();
        let mut at = 0;
        let mut start = 0;
        loop {
            while let Some(&(_, index)) = changes.get(at).filter(|(change, _)| *change == start) {
                inside[index] = !inside[index];
                at += 1;
            }
            let fresh = u16::try_from(letters.len()).unwrap_or(u16::MAX);
            let letter = *letters.entry(inside.clone()).or_insert_with(|| {
                for (index, _) in inside.iter().enumerate().filter(|(_, inside)| **inside) {
                    members[index].push(fresh);
                }
                fresh
            });
            stretches.push((start, letter));
            match changes.get(at) {
                Some(&(next, _)) if next <= 0x10_ffff => start = next,
                _ => break,
            }
        }
        (Self { stretches, letters: letters.len() }, members)
    }

    /// Returns the letter of a character.
    pub(crate) fn letter(&self, c: char) -> usize {
        let c = u32::from(c);
        let after = self.stretches.partition_point(|(start, _)| *start <= c);
        self.stretches.get(after.wrapping_sub(1)).map_or(0, |(_, letter)| usize::from(*letter))
    }

    /// Returns the coarsest alphabet that refines both, and for each of its letters the two original ones.
    pub(crate) fn refine(&self, other: &Self) -> (Self, Vec<(u16, u16)>) {
        let mut pairs: FastMap<u32, u16> = FastMap::default();
        let mut letters = Vec::new();
        let mut stretches: Vec<(u32, u16)> = Vec::new();
        let (mut a, mut b) = (0, 0);
        let mut start = 0;
        while let (Some(&(_, left)), Some(&(_, right))) =
            (self.stretches.get(a), other.stretches.get(b))
        {
            let key = (u32::from(left) << 16) | u32::from(right);
            let letter = *pairs.entry(key).or_insert_with(|| {
                letters.push((left, right));
                u16::try_from(letters.len() - 1).unwrap_or(u16::MAX)
            });
            // Adjacent ranges with the same letter are merged.
            if stretches.last().is_none_or(|(_, last)| *last != letter) {
                stretches.push((start, letter));
            }
            let next = |stretches: &[(u32, u16)], at: usize| stretches.get(at + 1).map(|s| s.0);
            match (next(&self.stretches, a), next(&other.stretches, b)) {
                (None, None) => break,
                (Some(left), None) => (start, a) = (left, a + 1),
                (None, Some(right)) => (start, b) = (right, b + 1),
                (Some(left), Some(right)) => {
                    start = left.min(right);
                    a += usize::from(left <= right);
                    b += usize::from(right <= left);
                }
            }
        }
        (Self { stretches, letters: letters.len() }, letters)
    }

    /// Returns the most readable character of each letter, or `None` if it has no valid character.
    pub(crate) fn best(&self) -> Vec<Option<char>> {
        let mut best: Vec<Option<char>> = vec![None; self.letters];
        let ends = self.stretches.iter().skip(1).map(|(start, _)| *start);
        for (&(start, letter), end) in self.stretches.iter().zip(ends.chain([0x11_0000])) {
            // The first 128 characters of a range are enough to find a readable one.
            let near = start..end.min(start.saturating_add(128));
            let candidates = near.filter_map(char::from_u32);
            if let Some(slot) = best.get_mut(usize::from(letter)) {
                *slot = slot.iter().copied().chain(candidates).min_by_key(|c| rank(*c));
            }
        }
        best
    }

    /// Lists the letters with a character each, the most readable first.
    pub(crate) fn readable(&self) -> Vec<(usize, char)> {
        let best = self.best().into_iter().enumerate();
        let mut letters: Vec<(usize, char)> =
            best.filter_map(|(letter, c)| Some((letter, c?))).collect();
        letters.sort_by_key(|(_, c)| rank(*c));
        letters
    }
}

/// Ranks a character for examples; a lower rank is more readable.
fn rank(c: char) -> (u8, u32) {
    let class = match c {
        'x'..='z' => 0,
        'a'..='w' => 1,
        '0'..='9' => 2,
        'A'..='Z' => 3,
        '-' | '_' | '.' | '=' | '/' | ':' => 4,
        '!'..='~' => 5,
        '\0' => 6,
        ' ' => 7,
        c if c.is_alphanumeric() => 8,
        c if c.is_control() => 10,
        _ => 9,
    };
    (class, u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alphabet_separates_the_given_sets() {
        let sets = [CharSet::one('a'), CharSet::all().without('/'), CharSet::one('é')];
        let (alphabet, members) = Alphabet::of(&sets);
        assert_eq!(alphabet.letters, 4, "a, é, slash with surrogates, the rest");
        let same = |a, b| alphabet.letter(a) == alphabet.letter(b);
        assert!(same('b', 'z') && same('\0', '漢') && !same('a', 'b') && !same('/', 'é'));
        assert_eq!(members.iter().map(Vec::len).collect::<Vec<_>>(), [1, 3, 1]);
    }

    #[test]
    fn character_ranges_exclude_surrogates() {
        let all = CharSet::ranges([('\0', char::MAX)].into_iter());
        assert_eq!(all, CharSet::all());
        assert_eq!(CharSet::ranges([('a', 'c')].into_iter()), CharSet(vec![(97, 99)]));
    }

    #[test]
    fn refining_keeps_both_partitions() {
        let (a, _) = Alphabet::of(&[CharSet::one('a'), CharSet::one('c')]);
        let (b, _) = Alphabet::of(&[CharSet::one('c'), CharSet::one('d')]);
        let (both, letters) = a.refine(&b);
        assert_eq!(both.letters, 4);
        for c in ['a', 'b', 'c', 'd', 'e', 'é', '\u{10ffff}'] {
            let (left, right) = letters[both.letter(c)];
            assert_eq!((usize::from(left), usize::from(right)), (a.letter(c), b.letter(c)), "{c}");
        }
    }
}
