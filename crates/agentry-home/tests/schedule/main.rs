//! Schedules against an independent calculation: planned times through clock changes, and a simulated year
//! with restarts, kills and clock jumps.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod calendar;
mod expected_year;
mod planned_times;
mod simulated_year;

use agentry_compile::model::Schedule;
use agentry_compile::text::{FileId, Span, Spanned};

/// A field of a schedule, as if it were written in a file.
fn written<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId::BUILT_IN))
}

fn schedule(cron: &str, zone: &str) -> Schedule {
    Schedule {
        name: Some(written("s".to_owned())),
        cron: Some(written(cron.to_owned())),
        timezone: Some(written(zone.to_owned())),
        ..Schedule::default()
    }
}
