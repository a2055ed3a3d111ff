//! The order of memories: by relevance, importance and age.

use agentry_compile::model::MemoryImportance;

/// After how many days the part of the score that ages is halved.
const HALF_LIFE_DAYS: f64 = 90.0;
/// The part of the score that does not age.
const AGELESS: f64 = 0.6;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// What the order of a memory depends on beside its relevance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MemoryWeight {
    pub(super) importance: MemoryImportance,
    pub(super) is_pinned: bool,
    /// In seconds since 1970.
    pub(super) created_at: i64,
}

impl MemoryWeight {
    /// The score of a memory; `relevance` is between 0 and 1.
    pub(super) fn score(self, relevance: f64, now: i64) -> f64 {
        let importance = match self.importance {
            MemoryImportance::High => 1.5,
            MemoryImportance::Medium => 1.0,
            MemoryImportance::Low => 0.6,
        };
        relevance * importance * self.freshness(now)
    }

    /// Between [`AGELESS`] and 1. A pinned memory does not age, and a time in the future counts as now.
    fn freshness(self, now: i64) -> f64 {
        if self.is_pinned {
            return 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "an age in seconds is exact enough")]
        let days = now.saturating_sub(self.created_at).max(0) as f64 / SECONDS_PER_DAY;
        AGELESS + (1.0 - AGELESS) * (-days / HALF_LIFE_DAYS).exp2()
    }

    /// The rank of an importance in the index.
    pub(super) fn rank(importance: MemoryImportance) -> i64 {
        match importance {
            MemoryImportance::Low => 0,
            MemoryImportance::Medium => 1,
            MemoryImportance::High => 2,
        }
    }

    /// The importance with this rank.
    pub(super) fn of_rank(rank: i64) -> MemoryImportance {
        match rank {
            0 => MemoryImportance::Low,
            2 => MemoryImportance::High,
            _ => MemoryImportance::Medium,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;
    const DAY: i64 = 86_400;

    fn weight(importance: MemoryImportance, age: i64, is_pinned: bool) -> MemoryWeight {
        MemoryWeight { importance, is_pinned, created_at: NOW - age * DAY }
    }

    #[test]
    fn relevance_importance_and_age_each_affect_the_score() {
        use MemoryImportance::{High, Low, Medium};
        let better = [
            // More relevant.
            ((weight(Medium, 0, false), 1.0), (weight(Medium, 0, false), 0.5)),
            // More important.
            ((weight(High, 5, false), 0.8), (weight(Medium, 5, false), 0.8)),
            ((weight(Medium, 5, false), 0.8), (weight(Low, 5, false), 0.8)),
            // Newer.
            ((weight(Medium, 1, false), 0.8), (weight(Medium, 400, false), 0.8)),
            // Pinned ones do not age.
            ((weight(Medium, 4000, true), 0.8), (weight(Medium, 30, false), 0.8)),
            // What has nothing to do with the query never wins by importance alone.
            ((weight(Low, 4000, false), 1.0), (weight(High, 0, false), 0.2)),
        ];
        for ((first, relevance), (second, other)) in better {
            assert!(first.score(relevance, NOW) > second.score(other, NOW), "{first:?} {second:?}");
        }
    }

    #[test]
    fn odd_times_have_a_score() {
        for created_at in [i64::MIN, -1, 0, NOW + DAY, i64::MAX] {
            let odd =
                MemoryWeight { importance: MemoryImportance::Medium, is_pinned: false, created_at };
            let score = odd.score(1.0, NOW);
            assert!((AGELESS..=1.0).contains(&score), "{created_at}: {score}");
        }
    }
}
