//! `agentry schedule next`: when schedules fire, by their definitions alone.

use agentry_compile::text::report::visible;
use serde_json::{Value, json};

use super::found_schedules::{FoundSchedule, found};
use crate::args::{ResultFormat, ScheduleNextArguments};
use crate::command::run::session::seconds;
use crate::output::{ExitKind, columns, note, print, print_json};

/// The times without `-n` and `--to`.
const USUAL: usize = 10;
/// The most times that are printed: a schedule may fire every second.
const MOST: usize = 1_000_000;

pub(crate) fn run(args: &ScheduleNextArguments) -> ExitKind {
    let (schedules, exit) = found(&args.agents);
    let from = args.from.unwrap_or_else(seconds);
    let to = args.to.unwrap_or(i64::MAX);
    let most = args.count.unwrap_or(if args.to.is_some() { MOST } else { USUAL }).min(MOST);
    let mut times: Vec<(i64, &FoundSchedule)> = Vec::new();
    for schedule in &schedules {
        let own = schedule.watched.times(from).take_while(|time| *time < to).take(most);
        times.extend(own.map(|time| (time, schedule)));
    }
    times.sort_by(|(one, first), (other, second)| {
        (one, &first.key, &first.name).cmp(&(other, &second.key, &second.name))
    });
    times.truncate(most);
    match args.format {
        ResultFormat::Json => {
            let entry = |(time, it): &(i64, &FoundSchedule)| json!({ "agent": it.agent, "schedule": it.name, "at": it.at(*time) });
            print_json(&Value::Array(times.iter().map(entry).collect()));
        }
        ResultFormat::Human if times.is_empty() => note("no schedule fires in this time"),
        ResultFormat::Human => {
            let row = |(time, it): &(i64, &FoundSchedule)| {
                vec![it.at(*time), visible(&it.agent).into_owned(), visible(&it.name).into_owned()]
            };
            print(&columns(&times.iter().map(row).collect::<Vec<_>>()));
        }
    }
    exit
}
