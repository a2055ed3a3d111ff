//! Pseudo-random numbers that are the same in every run, or the bytes of a fuzzer.

/// Where decisions come from.
pub(crate) enum Random {
    /// A seed.
    Seed(u64),
    /// Bytes, as long as there are any; then always the first choice.
    Bytes(Vec<u8>),
}

impl Random {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        match self {
            Self::Seed(state) => {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut mixed = *state;
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                let mixed = (mixed ^ (mixed >> 31)) >> 33;
                usize::try_from(mixed).unwrap_or(0) % bound.max(1)
            }
            Self::Bytes(bytes) => usize::from(bytes.pop().unwrap_or(0)) % bound.max(1),
        }
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// One of these.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}
