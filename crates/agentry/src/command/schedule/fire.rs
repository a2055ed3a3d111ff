//! One firing: the process that runs the agent for a planned time, and notes how it ended.

use agentry_home::schedule::{
    FiringHolder, FiringIdentity, FiringRow, FiringState, ScheduleLedger,
};
use agentry_runtime::journal;

use super::found_schedules::{FoundSchedule, of_agent};
use super::{failed, holders, named, open_ledger, seconds};
use crate::args::{AskFallback, FireArguments, RunArguments, RunFormat, SpendingArguments};
use crate::command::run::session::now;
use crate::home::agentry_home;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text};

/// Runs a firing that `serve` claimed.
pub(crate) fn run(args: &FireArguments) -> CliOutcome {
    let FireArguments { agent, schedule, planned, epoch, on_ask } = args;
    let identity =
        FiringIdentity { agent: agent.clone(), schedule: schedule.clone(), planned: *planned };
    let ledger = open_ledger()?;
    let row = ledger.firing(&identity).map_err(failed)?;
    // Another process claimed it since, or it is over.
    let Some(row) = row.filter(|row| row.epoch == *epoch) else { return Ok(ExitKind::Done) };
    begun(&ledger, row, &registered()?, (*on_ask, RunFormat::Json))
}

/// Runs a schedule now, because the user says so.
pub(crate) fn by_hand(agent: &str, name: &str, on_ask: AskFallback) -> CliOutcome {
    let schedules = of_agent(agent)?;
    let FoundSchedule { key, name, .. } = named(agent, &schedules, name)?;
    let ledger = open_ledger()?;
    let row = unplanned(&ledger, key, name)?;
    let holder = registered()?;
    let epoch = ledger.claim(&row, &holder.name).map_err(failed)?;
    let Some(epoch) = epoch else {
        return Err(CliFailure::new(format!("`{name}` was started by another process")).refused());
    };
    begun(&ledger, FiringRow { epoch, ..row }, &holder, (on_ask, RunFormat::Human))
}

/// Adds a firing for now; for the next free second, if one was planned for now.
fn unplanned(ledger: &ScheduleLedger, key: &str, name: &str) -> Result<FiringRow, CliFailure> {
    let now = seconds();
    for planned in now..now + 60 {
        let identity = FiringIdentity { agent: key.to_owned(), schedule: name.to_owned(), planned };
        let row = FiringRow::waiting(identity, now, false);
        if ledger.add(&row).map_err(failed)? {
            return Ok(row);
        }
    }
    Err(CliFailure::new(format!("`{name}` is planned for every second of the next minute"))
        .refused())
}

/// Begins a claimed firing, runs the agent, and notes the end.
fn begun(
    ledger: &ScheduleLedger,
    row: FiringRow,
    holder: &FiringHolder,
    (on_ask, format): (AskFallback, RunFormat),
) -> CliOutcome {
    // The agent must not run for a firing that another process claimed.
    if !ledger.begin(&row, (&holder.name, seconds())).map_err(failed)? {
        return Ok(ExitKind::Done);
    }
    let row = FiringRow { state: FiringState::Running, ..row };
    let outcome = run_agent(&row, on_ask, format);
    if let Some(run) = own_run() {
        ledger.note_run(&row, &run).map_err(failed)?;
    }
    let (state, reason) = match &outcome {
        Ok(ExitKind::Done) => (FiringState::Done, None),
        Ok(ExitKind::Interrupted) => (FiringState::Failed, Some("it was stopped".to_owned())),
        Ok(ExitKind::Refused) => {
            (FiringState::Failed, Some("it is parked, or reached a limit".to_owned()))
        }
        Ok(_) => (FiringState::Failed, Some("the run failed".to_owned())),
        Err(failure) => (FiringState::Failed, Some(failure.message.clone())),
    };
    ledger.end(&row, state, reason.as_deref(), seconds()).map_err(failed)?;
    outcome
}

fn run_agent(row: &FiringRow, on_ask: AskFallback, format: RunFormat) -> CliOutcome {
    let schedules = of_agent(&row.identity.agent)?;
    let schedule = named(&row.identity.agent, &schedules, &row.identity.schedule)?;
    crate::command::run::run(&RunArguments {
        agent: row.identity.agent.clone(),
        prompt: Some(schedule.prompt.clone()),
        model: None,
        yes: false,
        accept_changes: false,
        record: None,
        replay: None,
        call: None,
        input: None,
        on_ask,
        without: Vec::new(),
        unconfined: false,
        spending: SpendingArguments::default(),
        estimate: None,
        firing: None,
        format_override: None,
        format,
    })
}

/// This process, as a holder of firings.
fn registered() -> Result<FiringHolder, CliFailure> {
    FiringHolder::register(&holders()?, now()).map_err(|error| {
        CliFailure::new(format!("it cannot be registered: {}", error_text(&error)))
    })
}

/// The run that this process made.
fn own_run() -> Option<String> {
    let runs = journal::list(&agentry_home()?).ok()?;
    let own = std::process::id();
    runs.into_iter().rev().find(|run| run.about.pid == own).map(|run| run.id)
}
