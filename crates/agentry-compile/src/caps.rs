//! `[run]`: the spending limits of every run. The workspace's and the user's configuration may both set
//! them; the smaller limit applies.

use agentry_text::{Field, FieldKind, FieldTable, TableRecord};

/// `[run]`.
pub(crate) static RUN: FieldTable = FieldTable::new(
    "`[run]`",
    &[
        Field::optional(
            "max_cost",
            FieldKind::Float(0.0, f64::INFINITY),
            "The cost limit of one run, in US dollars.",
        ),
        Field::optional(
            "max_tokens",
            FieldKind::Int(0, i64::MAX),
            "The limit of tokens, input and output together.",
        ),
        Field::optional("max_steps", FieldKind::Int(0, i64::MAX), "The limit of tool calls."),
        Field::optional("max_turns", FieldKind::Int(0, i64::MAX), "The limit of turns."),
        Field::optional(
            "max_seconds",
            FieldKind::Int(0, i64::MAX),
            "The time limit; waiting for the user does not count.",
        ),
        Field::optional(
            "max_scheduled_cost",
            FieldKind::Float(0.0, f64::INFINITY),
            "The cost limit of one run that a schedule starts, in US dollars.",
        ),
        Field::optional(
            "max_scheduled_cost_per_day",
            FieldKind::Float(0.0, f64::INFINITY),
            "The cost limit of all runs that schedules start on one day in UTC, in US dollars.",
        ),
    ],
);

/// The spending limits of a run; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SpendingCaps {
    /// US dollars.
    pub cost: Option<f64>,
    /// Tokens, read and written together.
    pub tokens: Option<u64>,
    /// Tool calls.
    pub steps: Option<u64>,
    /// Turns.
    pub turns: Option<u64>,
    /// Seconds.
    pub seconds: Option<u64>,
    /// US dollars of one run that a schedule starts.
    pub scheduled_cost: Option<f64>,
    /// US dollars of all runs that schedules start on one day.
    pub daily_cost: Option<f64>,
}

impl SpendingCaps {
    /// Reads the limits of one file.
    pub(crate) fn read(run: &TableRecord<'_>) -> Self {
        let count = |name| run.int(name).map(|it| u64::try_from(it.value).unwrap_or(0));
        Self {
            cost: run.float("max_cost").map(|it| it.value),
            tokens: count("max_tokens"),
            steps: count("max_steps"),
            turns: count("max_turns"),
            seconds: count("max_seconds"),
            scheduled_cost: run.float("max_scheduled_cost").map(|it| it.value),
            daily_cost: run.float("max_scheduled_cost_per_day").map(|it| it.value),
        }
    }

    /// The smaller limit of each pair.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        let count = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let money = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            cost: money(self.cost, other.cost),
            scheduled_cost: money(self.scheduled_cost, other.scheduled_cost),
            daily_cost: money(self.daily_cost, other.daily_cost),
            tokens: count(self.tokens, other.tokens),
            steps: count(self.steps, other.steps),
            turns: count(self.turns, other.turns),
            seconds: count(self.seconds, other.seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryWorld, ResolveSettings, WorkspaceConfig};

    #[test]
    fn the_smaller_limit_of_both_configs_counts() {
        let world = MemoryWorld::new([
            (
                "agentry.toml".to_owned(),
                "[run]\nmax_cost = 2\nmax_steps = 10\nmax_scheduled_cost = 1\nmax_scheduled_cost_per_day = 3\n",
            ),
            (
                "home/user/.config/agentry/config.toml".to_owned(),
                "[run]\nmax_cost = 0.5\nmax_turns = 7\nmax_tokens = 0\nmax_scheduled_cost_per_day = 2\n",
            ),
        ]);
        let team = WorkspaceConfig::read(&world, "").run;
        let own = ResolveSettings::read(&world).unwrap().caps;
        let expected = SpendingCaps {
            cost: Some(0.5),
            tokens: Some(0),
            steps: Some(10),
            turns: Some(7),
            seconds: None,
            scheduled_cost: Some(1.0),
            daily_cost: Some(2.0),
        };
        assert_eq!(team.narrowed(own), expected);
        assert_eq!(own.narrowed(team), expected);
    }
}
