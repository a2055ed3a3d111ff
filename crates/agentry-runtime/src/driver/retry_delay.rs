//! The back-off before a retry, with jitter: runs that failed together must not retry together.

use std::hash::{BuildHasher as _, RandomState};

/// The jitter is at most the pause divided by this.
const SHARE: u64 = 4;

/// Lengthens a pause by up to a quarter. Never shortens it, because a server may have demanded it.
pub(super) fn jittered(time: u64, chance: u64) -> u64 {
    let most = time / SHARE;
    time.saturating_add(chance % most.saturating_add(1))
}

/// Returns a random number.
pub(super) fn chance() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_adds_at_most_a_quarter_to_the_delay() {
        let cases = [(0, 7, 0), (1_000, 0, 1_000), (1_000, 250, 1_250), (1_000, 251, 1_000)];
        for (time, chance, expected) in cases {
            assert_eq!(jittered(time, chance), expected, "{time} {chance}");
        }
        let times: std::collections::BTreeSet<u64> =
            (0..32).map(|_| jittered(600_000, chance())).collect();
        assert!(times.len() > 1, "runs that failed together do not come back together");
    }
}
