//! One firing: the process that runs the agent for a planned time, and notes how it ended.

use agentry_home::receipt::RunAccount;
use agentry_home::schedule::{
    FiringHolder, FiringIdentity, FiringRow, FiringState, KeeperReport, ScheduleLedger, has_tasks,
};
use agentry_runtime::budget::dollars;
use agentry_runtime::engine::FiringKey;
use agentry_runtime::journal::{self, JournalFollower, RunFiring, RunState};

use super::found_schedules::{FoundSchedule, of_agent};
use super::{failed, firing_receipts, holders, named, open_ledger};
use crate::args::{AskFallback, FireArguments, RunArguments, RunFormat, SpendingArguments};
use crate::command::run::limits::millionths;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::session::{now, seconds};
use crate::engine;
use crate::home::agentry_home;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, remark};

/// Why a firing is skipped that has its receipt on another machine.
pub(super) const ELSEWHERE: &str = "another machine started it";
/// The newest runs among which the one of a firing is searched.
const MOST_LOOKED_AT: usize = 500;

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

/// Whether this machine has the firing, if several machines keep the schedule: each planned time is a row of their
/// engine, and the first one to add it runs the agent.
fn is_ours(identity: &FiringIdentity) -> Result<bool, CliFailure> {
    let Some(session) = engine::current()? else { return Ok(true) };
    let FiringIdentity { agent, schedule, planned } = identity.clone();
    let fired = session.fire(FiringKey { agent, schedule, planned });
    fired.map_err(|failure| CliFailure::new(failure.to_string()))
}

/// Runs a schedule now, on request of the user.
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
    let mut ledger = open_ledger()?;
    let outcome = match is_ours(&row.identity) {
        Ok(true) => run_agent(&mut ledger, &row, on_ask, format),
        Ok(false) => Ok(FiringOutcome::Skipped(ELSEWHERE.to_owned())),
        Err(failure) => Err(failure),
    };
    match own_run(&row.identity) {
        Some(run) => {
            ledger.note_run(&row, &run).map_err(failed)?;
            note_spending(&ledger, &row, &run, &outcome)?;
        }
        // Nothing ran, so nothing was spent.
        None => ledger.note_spent(&row.identity, 0).map_err(failed)?,
    }
    let (state, reason) = match &outcome {
        Ok(FiringOutcome::Ran(ExitKind::Done)) => (FiringState::Done, None),
        Ok(FiringOutcome::Ran(ExitKind::Interrupted)) => {
            (FiringState::Failed, Some("it was stopped".to_owned()))
        }
        Ok(FiringOutcome::Ran(ExitKind::Refused)) => {
            (FiringState::Failed, Some("it is parked, or reached a limit".to_owned()))
        }
        Ok(FiringOutcome::Ran(_)) => (FiringState::Failed, Some("the run failed".to_owned())),
        Ok(FiringOutcome::Skipped(why)) => (FiringState::Skipped, Some(why.clone())),
        // Nothing ran: no consent to the agent as it is now, a lock, a closed gate.
        Err(failure) if failure.exit == ExitKind::Refused => {
            (FiringState::Skipped, Some(failure.message.clone()))
        }
        Err(failure) => (FiringState::Failed, Some(failure.message.clone())),
    };
    ledger.end(&row, state, reason.as_deref(), seconds()).map_err(failed)?;
    // A run has its own receipt; this is for a firing that made none.
    let report = KeeperReport { identity: row.identity, state, reason };
    firing_receipts::record(std::slice::from_ref(&report));
    match outcome? {
        FiringOutcome::Ran(exit) => Ok(exit),
        FiringOutcome::Skipped(why) => {
            remark(&format!("skipped: {why}"));
            Ok(ExitKind::Done)
        }
    }
}

/// What a firing came to.
enum FiringOutcome {
    Ran(ExitKind),
    /// No model was called, for this reason.
    Skipped(String),
}

fn run_agent(
    ledger: &mut ScheduleLedger,
    row: &FiringRow,
    on_ask: AskFallback,
    format: RunFormat,
) -> Result<FiringOutcome, CliFailure> {
    let FiringIdentity { agent, schedule, planned } = row.identity.clone();
    let schedules = of_agent(&agent)?;
    let found = named(&agent, &schedules, &schedule)?;
    if found.is_heartbeat && !has_tasks(&found.prompt) {
        return Ok(FiringOutcome::Skipped("`HEARTBEAT.md` has nothing to do".to_owned()));
    }
    let max_cost = match allowance(ledger, &row.identity)? {
        Allowance::Free => None,
        Allowance::Most(millionths) => Some(millionths),
        Allowance::Nothing(why) => return Ok(FiringOutcome::Skipped(why)),
    };
    #[expect(clippy::cast_precision_loss, reason = "no run may cost 2^53 millionths of a dollar")]
    let max_cost = max_cost.map(|millionths| millionths as f64 / 1_000_000.0);
    let exit = crate::command::run::run(&RunArguments {
        agent: agent.clone(),
        prompt: Some(found.prompt.clone()),
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
        spending: SpendingArguments { max_cost, ..SpendingArguments::default() },
        estimate: None,
        control: false,
        firing: Some(RunFiring { agent, schedule, planned }),
        format_override: None,
        format,
    })?;
    Ok(FiringOutcome::Ran(exit))
}

/// What a firing may spend.
enum Allowance {
    /// There is no limit on scheduled runs.
    Free,
    /// At most this, in millionths of a US dollar.
    Most(u64),
    /// The limit of the day is reached.
    Nothing(String),
}

/// What a firing may spend under the limits of `agentry.toml` and of the user; the smaller one counts.
fn allowance(
    ledger: &mut ScheduleLedger,
    identity: &FiringIdentity,
) -> Result<Allowance, CliFailure> {
    // An agent that cannot be prepared is reported when it is run.
    let Ok(ground) = PreparedAgent::read(&identity.agent, None) else { return Ok(Allowance::Free) };
    let one = [ground.caps.scheduled_cost, ground.caps.cost].into_iter().flatten();
    let one = one.map(millionths).min();
    let Some(day) = ground.caps.daily_cost.map(millionths) else {
        return Ok(one.map_or(Allowance::Free, Allowance::Most));
    };
    let reserved = ledger.reserve(identity, (one, day), seconds()).map_err(failed)?;
    let over = || format!("scheduled runs have spent the {} of this day", dollars(day));
    Ok(reserved.map_or_else(|| Allowance::Nothing(over()), Allowance::Most))
}

/// Notes what the run of a firing has spent. A parked run keeps its reservation, because it may go on.
fn note_spending(
    ledger: &ScheduleLedger,
    row: &FiringRow,
    run: &str,
    outcome: &Result<FiringOutcome, CliFailure>,
) -> Result<(), CliFailure> {
    let Some(home) = agentry_home() else { return Ok(()) };
    let is_parked = matches!(outcome, Ok(FiringOutcome::Ran(ExitKind::Refused)))
        && journal::summary(&home, run).is_ok_and(|run| run.state == RunState::Parked);
    let Ok((mut follow, _)) = JournalFollower::open(&home, run) else { return Ok(()) };
    let Ok(events) = follow.more() else { return Ok(()) };
    if is_parked {
        return Ok(());
    }
    // With what its delegates have spent.
    let spent = RunAccount::of(events).state.spent.usage.cost.unwrap_or(0);
    ledger.note_spent(&row.identity, spent).map_err(failed)
}

/// This process, as a holder of firings.
fn registered() -> Result<FiringHolder, CliFailure> {
    FiringHolder::register(&holders()?, now()).map_err(|error| {
        CliFailure::new(format!("it cannot be registered: {}", error_text(&error)))
    })
}

/// The run of a firing.
fn own_run(FiringIdentity { agent, schedule, planned }: &FiringIdentity) -> Option<String> {
    let home = agentry_home()?;
    let own = RunFiring { agent: agent.clone(), schedule: schedule.clone(), planned: *planned };
    let names = journal::run_names(&home).ok()?;
    // It is among the newest.
    names.into_iter().rev().take(MOST_LOOKED_AT).find(|run| {
        let opened = JournalFollower::open(&home, run);
        opened.is_ok_and(|(_, about)| about.settings.firing.as_ref() == Some(&own))
    })
}
