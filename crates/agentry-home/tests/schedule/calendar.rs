//! The independent calculation: looks at every minute of a period, and compares its time of day with the
//! fields of the expression. It shares with the program only the offset of a zone at an instant.

use std::collections::BTreeSet;

use agentry_home::schedule::ScheduleZone;
use chrono::{Datelike as _, NaiveDateTime, TimeDelta, Timelike as _};

/// Every minute of a period with its time of day.
pub(crate) struct Calendar {
    minutes: Vec<(i64, NaiveDateTime)>,
}

impl Calendar {
    pub(crate) fn new(zone: &str, from: i64, to: i64) -> Self {
        let zone = ScheduleZone::named(Some(zone)).unwrap();
        let wall = |instant| (instant, zone.wall(instant).unwrap().naive_local());
        Self { minutes: (from..to).step_by(60).map(wall).collect() }
    }

    /// The instants at which an expression of five fields fires.
    pub(crate) fn firings(&self, cron: &str) -> Vec<i64> {
        let fields: Vec<BTreeSet<u32>> =
            cron.split(' ').zip(LIMITS).map(|(field, limits)| numbers(field, limits)).collect();
        let is_any_day: Vec<bool> = cron.split(' ').map(|field| field == "*").collect();
        let fits = |wall: &NaiveDateTime| {
            let month_day = fields[2].contains(&wall.day());
            let week_day = fields[4].contains(&wall.weekday().num_days_from_sunday());
            let day = match (is_any_day[2], is_any_day[4]) {
                (false, false) => month_day || week_day,
                _ => month_day && week_day,
            };
            day && fields[0].contains(&wall.minute())
                && fields[1].contains(&wall.hour())
                && fields[3].contains(&wall.month())
        };
        let mut fired = BTreeSet::new();
        let mut latest = self.minutes[0].1 - TimeDelta::minutes(1);
        for (instant, wall) in &self.minutes {
            // The clock went forward: what it skipped is now.
            let mut skipped = latest + TimeDelta::minutes(1);
            while skipped < *wall {
                if fits(&skipped) {
                    fired.insert(*instant);
                }
                skipped += TimeDelta::minutes(1);
            }
            // A time of day that was there before does not fire again.
            if *wall > latest && fits(wall) {
                fired.insert(*instant);
            }
            latest = latest.max(*wall);
        }
        fired.into_iter().collect()
    }
}

const LIMITS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];

/// The numbers of a field: `*`, `*/5`, `1-5`, `1,15`.
fn numbers(field: &str, (lowest, highest): (u32, u32)) -> BTreeSet<u32> {
    let expand = |item: &str| -> Vec<u32> {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
            None if range == "*" => (lowest, highest),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        (first..=last).step_by(step.parse().unwrap()).collect()
    };
    field.split(',').flat_map(expand).collect()
}
