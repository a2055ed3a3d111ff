//! `agentry schedule`: the schedules of agents, when they fire, and what became of their firings.

mod fire;
pub(crate) mod firing_receipts;
pub(crate) mod found_schedules;
mod next;

use std::path::PathBuf;

use agentry_compile::text::report::visible;
use agentry_home::HomeLayout;
use agentry_home::schedule::{LedgerError, ScheduleLedger};
use serde_json::{Value, json};

use crate::args::{ResultFormat, ScheduleArguments, ScheduleCommand};
use crate::command::run::session::seconds;
use crate::command::suggestion::one_of;
use crate::home::{agentry_home, home};
use crate::output::{
    CliFailure, CliOutcome, ExitKind, columns, error_text, print, print_json, remark,
};
use found_schedules::{FoundSchedule, found, of_agent};

pub(crate) fn run(args: &ScheduleArguments) -> CliOutcome {
    match &args.command {
        ScheduleCommand::List { agents, format } => list(agents, *format),
        ScheduleCommand::Next(args) => Ok(next::run(args)),
        ScheduleCommand::Run { agent, name, on_ask } => fire::by_hand(agent, name, *on_ask),
        ScheduleCommand::Pause { agent, name } => pause(agent, name.as_deref(), true),
        ScheduleCommand::Resume { agent, name } => pause(agent, name.as_deref(), false),
        ScheduleCommand::Fire(args) => fire::run(args),
    }
}

fn list(agents: &[String], format: ResultFormat) -> CliOutcome {
    let (schedules, exit) = found(agents);
    let ledger = open_ledger()?;
    let mut rows = Vec::new();
    for schedule in &schedules {
        rows.push((schedule, ledger.is_paused(&schedule.key, &schedule.name).map_err(failed)?));
    }
    match format {
        ResultFormat::Json => {
            print_json(&Value::Array(
                rows.iter().map(|(it, is_paused)| entry(it, *is_paused)).collect(),
            ));
        }
        ResultFormat::Human if rows.is_empty() => remark("no agent has a schedule"),
        ResultFormat::Human => {
            let head = ["agent", "schedule", "state", "times", "next"].map(str::to_owned).to_vec();
            let row = |(it, is_paused): &(&FoundSchedule, bool)| {
                let next = if *is_paused { None } else { it.next() };
                let cells = [&it.agent, &it.name, state(it, *is_paused), &it.times()];
                let mut cells: Vec<String> =
                    cells.iter().map(|cell| visible(cell).into_owned()).collect();
                let never = if it.is_enabled && !is_paused { "never" } else { "" };
                cells.push(next.unwrap_or_else(|| never.to_owned()));
                cells
            };
            print(&columns(&[head].into_iter().chain(rows.iter().map(row)).collect::<Vec<_>>()));
        }
    }
    Ok(exit)
}

fn state(schedule: &FoundSchedule, is_paused: bool) -> &'static str {
    match (schedule.is_enabled, is_paused) {
        (false, _) => "off",
        (true, true) => "paused",
        (true, false) => "on",
    }
}

/// A row of the list, as JSON.
pub(crate) fn entry(schedule: &FoundSchedule, is_paused: bool) -> Value {
    let FoundSchedule { agent, name, cron, timezone, path, .. } = schedule;
    json!({
        "agent": agent, "schedule": name, "state": state(schedule, is_paused), "cron": cron,
        "timezone": timezone, "path": path,
        "next": if is_paused { None } else { schedule.next() },
    })
}

/// Pauses or resumes one schedule of an agent, or all.
fn pause(agent: &str, name: Option<&str>, is_paused: bool) -> CliOutcome {
    let schedules = of_agent(agent)?;
    let meant: Vec<_> = match name {
        Some(name) => vec![named(agent, &schedules, name)?],
        None => schedules.iter().collect(),
    };
    let ledger = open_ledger()?;
    let what = if is_paused { "paused" } else { "resumed" };
    for FoundSchedule { key, agent, name, .. } in meant {
        ledger.pause(key, name, (is_paused, seconds())).map_err(failed)?;
        remark(&format!("{what} `{}` of `{}`", visible(name), visible(agent)));
    }
    Ok(ExitKind::Done)
}

/// The schedule of this name.
fn named<'a>(
    agent: &str,
    schedules: &'a [FoundSchedule],
    name: &str,
) -> Result<&'a FoundSchedule, CliFailure> {
    schedules.iter().find(|schedule| schedule.name == name).ok_or_else(|| {
        let names = schedules.iter().map(|schedule| schedule.name.as_str());
        CliFailure::new(format!("`{agent}` has no schedule `{name}`")).hint(one_of(
            name,
            names,
            "`agentry schedule list` lists them",
        ))
    })
}

/// Forgets the schedules of an agent that was removed.
pub(crate) fn forget(key: &str) -> Result<(), CliFailure> {
    let home = agentry_home().map(HomeLayout::new);
    if !home.is_some_and(|home| home.schedules().join("ledger.db").exists()) {
        return Ok(());
    }
    open_ledger()?.forget(key, seconds()).map_err(failed)
}

/// The directory of schedules in the home.
pub(crate) fn directory() -> Result<PathBuf, CliFailure> {
    let home = home()?;
    let directory = HomeLayout::new(home).schedules();
    agentry_runtime::create_private_directories(&directory).map_err(|error| {
        CliFailure::new(format!(
            "`{}` cannot be created: {}",
            directory.display(),
            error_text(&error)
        ))
    })?;
    Ok(directory)
}

/// The ledger of the home.
pub(crate) fn open_ledger() -> Result<ScheduleLedger, CliFailure> {
    let path = directory()?.join("ledger.db");
    ScheduleLedger::open(&path).map_err(|error| {
        failed(error).hint(format!(
            "move `{}` away to begin a new one; it does not know what was fired before",
            path.display()
        ))
    })
}

/// The directory in which the processes of firings register.
pub(crate) fn holders() -> Result<PathBuf, CliFailure> {
    Ok(directory()?.join("holders"))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(crate) fn failed(error: LedgerError) -> CliFailure {
    CliFailure::new(error.to_string())
}
