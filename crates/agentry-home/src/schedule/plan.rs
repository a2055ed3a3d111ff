//! The instants at which a schedule fires: a pure function of its definition.
//!
//! The cron expression is evaluated on times of day, as if the zone had no clock changes. Each time of day is
//! then mapped to one instant, in the same order. So every clock change is handled in one place, by the zone.

use std::collections::HashMap;
use std::sync::Arc;

use agentry_compile::formats::cron;
use agentry_compile::model::Schedule;
use agentry_text::Spanned;
use chrono::{DateTime, TimeDelta, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use super::zone::ScheduleZone;

/// The times of a schedule.
#[derive(Debug, Clone)]
pub struct FiringPlan {
    /// `None` if no date ever matches.
    cron: Option<Arc<Cron>>,
    zone: Arc<ScheduleZone>,
}

/// What plans have in common: thousands of schedules share few expressions and zones, which take time and memory to read.
#[derive(Debug, Default)]
pub struct PlanMemo {
    crons: HashMap<String, Option<Arc<Cron>>>,
    zones: HashMap<String, Arc<ScheduleZone>>,
}

/// Why a schedule has no times.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    /// It has no cron expression.
    #[error("it has no `cron`")]
    NoCron,
    /// The expression is invalid.
    #[error("`{cron}` is not a cron expression: {why}")]
    BadCron {
        /// The expression.
        cron: String,
        /// What is wrong.
        why: String,
    },
    /// The zone is unknown.
    #[error("there is no time zone `{0}`")]
    BadZone(String),
}

impl FiringPlan {
    /// Creates the plan of a schedule.
    pub fn new(schedule: &Schedule) -> Result<Self, PlanProblem> {
        Self::with(schedule, &mut PlanMemo::default())
    }

    /// The same, with what earlier schedules have read.
    pub fn with(schedule: &Schedule, memo: &mut PlanMemo) -> Result<Self, PlanProblem> {
        let written = schedule.cron.as_ref().ok_or(PlanProblem::NoCron)?;
        let cron = match memo.crons.get(&written.value) {
            Some(cron) => cron.clone(),
            None => {
                let cron = read_cron(written)?.map(Arc::new);
                memo.crons.insert(written.value.clone(), cron.clone());
                cron
            }
        };
        let name = schedule.timezone.as_ref().map(|zone| zone.value.as_str());
        let key = name.unwrap_or_default();
        let zone = match memo.zones.get(key) {
            Some(zone) => Arc::clone(zone),
            None => {
                let unknown = || PlanProblem::BadZone(key.to_owned());
                let zone = Arc::new(ScheduleZone::named(name).ok_or_else(unknown)?);
                memo.zones.insert(key.to_owned(), Arc::clone(&zone));
                zone
            }
        };
        Ok(Self { cron, zone })
    }

    /// Returns the planned instants from `start` on, in seconds since the Unix epoch, in ascending order.
    pub fn from(&self, start: i64) -> PlannedTimes<'_> {
        PlannedTimes { plan: self, wall: self.first_wall(start), start }
    }

    /// Returns the zone of the schedule.
    pub fn zone(&self) -> &ScheduleZone {
        &self.zone
    }

    /// Returns the earliest time of day whose instant may be `start`, as if it were UTC. Right after a gap
    /// these are also the skipped times.
    fn first_wall(&self, start: i64) -> Option<DateTime<Utc>> {
        let now = self.zone.wall(start)?.naive_local();
        let before = self.zone.wall(start.checked_sub(1)?)?.naive_local();
        Some(now.min(before.checked_add_signed(TimeDelta::seconds(1))?).and_utc())
    }
}

/// Reads an expression; `None` if no date ever matches.
fn read_cron(written: &Spanned<String>) -> Result<Option<Cron>, PlanProblem> {
    let bad = |why: String| PlanProblem::BadCron { cron: written.value.clone(), why };
    let expression = cron::read(written).map_err(|problem| bad(problem.message))?;
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    let cron = parser.parse(&expression.normal).map_err(|error| bad(error.to_string()))?;
    Ok((!expression.never).then_some(cron))
}

/// The planned instants of a schedule.
#[derive(Debug)]
pub struct PlannedTimes<'a> {
    plan: &'a FiringPlan,
    /// The next time of day to look at.
    wall: Option<DateTime<Utc>>,
    /// The earliest instant to return.
    start: i64,
}

impl Iterator for PlannedTimes<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let cron = self.plan.cron.as_ref()?;
        loop {
            let wall = cron.find_next_occurrence(&self.wall?, true).ok()?;
            self.wall = wall.checked_add_signed(TimeDelta::seconds(1));
            let instant = self.plan.zone.instant(wall.naive_utc())?;
            // Several skipped times are one instant, and a time that comes twice may be over.
            if instant >= self.start {
                self.start = instant.checked_add(1)?;
                return Some(instant);
            }
        }
    }
}
