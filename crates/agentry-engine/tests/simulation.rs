//! Thousands of histories with faults, and the defects that they have to find.

use agentry_engine::simulation::{SimulatedDefect, SimulationTally, simulate};

/// How many seeds a test run plays.
const SEEDS: u64 = 20_000;

/// Plays one seed if `AGENTRY_SEED` names one, otherwise all.
#[test]
fn no_effect_is_lost_or_doubled() {
    let seeds = match std::env::var("AGENTRY_SEED").ok().and_then(|text| text.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..SEEDS,
    };
    let half = seeds.start.midpoint(seeds.end);
    let halves = [seeds.start..half, half..seeds.end];
    let tallies = std::thread::scope(|scope| {
        let played = halves.map(|seeds| scope.spawn(|| play(seeds)));
        played.map(|thread| thread.join().expect("every history holds"))
    });
    let sum = |of: fn(&SimulationTally) -> u64| tallies.iter().map(of).sum::<u64>();
    if seeds.end - seeds.start == SEEDS {
        assert!(sum(|it| it.takeovers) > SEEDS / 4, "the faults are too mild");
        assert!(sum(|it| it.replaced) > SEEDS / 20, "no holder is replaced while it works");
        assert!(sum(|it| it.unfinished) > SEEDS / 10, "no effect is interrupted");
    }
}

fn play(seeds: std::ops::Range<u64>) -> SimulationTally {
    seeds.fold(SimulationTally::default(), |sum, seed| {
        let it = simulate(seed, None).unwrap_or_else(|failure| panic!("{failure}"));
        SimulationTally {
            effects: sum.effects + it.effects,
            unfinished: sum.unfinished + it.unfinished,
            takeovers: sum.takeovers + it.takeovers,
            replaced: sum.replaced + it.replaced,
        }
    })
}

#[test]
fn a_seed_gives_the_same_history_again() {
    for seed in 0..50 {
        assert_eq!(simulate(seed, None), simulate(seed, None), "seed {seed}");
    }
    let found = (0..500).find_map(|seed| simulate(seed, Some(SimulatedDefect::NoFence)).err());
    let found = found.expect("a history that fails");
    let again = simulate(found.seed, Some(SimulatedDefect::NoFence));
    assert_eq!(again, Err(found));
}

#[test]
fn defects_are_found() {
    let defects = [
        SimulatedDefect::NoFence,
        SimulatedDefect::BlindResend,
        SimulatedDefect::ActsFirst,
        SimulatedDefect::StartsAgain,
    ];
    for defect in defects {
        let found = (0..1_000).find_map(|seed| simulate(seed, Some(defect)).err());
        let found = found.unwrap_or_else(|| panic!("{defect:?} is not found"));
        assert!(!found.history.is_empty(), "{found}");
    }
}
