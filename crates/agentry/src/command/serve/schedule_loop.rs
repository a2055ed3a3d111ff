//! Fires the schedules of agents until it is stopped.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use agentry_compile::text::report::{counted, visible};
use agentry_home::schedule::{
    FiringHolder, FiringIdentity, FiringRow, FiringStarter, FiringState, KeeperReport,
    ScheduleChange, ScheduleKeeper, is_alive, process_of,
};
use agentry_runtime::journal::DisplayTime;

use crate::args::AskFallback;
use crate::command::run::session::{now, seconds};
use crate::command::sandbox::this_program;
use crate::command::schedule::found_schedules::FoundSchedule;
use crate::command::schedule::{failed, firing_receipts, holders, open_ledger};
use crate::engine;
use crate::output::{CliFailure, error_text, print, remark};

use super::watched_definitions::WatchedDefinitions;

/// The longest pause between two looks at the clock: it may be set, and the machine may sleep.
const LONGEST: i64 = 30;
/// The pause while a firing is open.
const SHORTEST: i64 = 1;

/// The schedules of the agents at some paths.
pub(super) struct ScheduleLoop {
    keeper: ScheduleKeeper<ProcessStarter>,
    definitions: WatchedDefinitions,
    /// Registers this process while it lives.
    _holder: FiringHolder,
}

impl ScheduleLoop {
    /// Reads the schedules, and shows them. `None` if there are none.
    pub(super) fn open(agents: &[String], on_ask: AskFallback) -> Result<Option<Self>, CliFailure> {
        let mut definitions = WatchedDefinitions::new(agents);
        let schedules = definitions.read();
        if schedules.is_empty() {
            return Ok(None);
        }
        // First, so that nothing is announced that cannot be kept.
        let mut ledger = open_ledger()?;
        let directory = holders()?;
        let holder = FiringHolder::register(&directory, now()).map_err(|error| {
            CliFailure::new(format!("it cannot be registered: {}", error_text(&error)))
        })?;
        firing_receipts::record_missing(&ledger);
        // An announced schedule is in the ledger: what it misses after a kill is known at the next start.
        let names = schedules.iter().map(|it| (it.key.as_str(), it.name.as_str()));
        ledger.add_new(names, seconds()).map_err(failed)?;
        introduce(&schedules);
        let starter = ProcessStarter { directory, on_ask, children: Vec::new() };
        let watched = schedules.into_iter().map(|schedule| schedule.watched).collect();
        let keeper = ScheduleKeeper::new(ledger, holder.name.clone(), watched, starter);
        Ok(Some(Self { keeper, definitions, _holder: holder }))
    }

    /// Fires what is due until `stopped` gets a message.
    pub(super) fn keep(&mut self, stopped: &mpsc::Receiver<()>) -> Result<(), CliFailure> {
        let Self { keeper, definitions, .. } = self;
        loop {
            tick(keeper)?;
            if definitions.have_changed() {
                reload(keeper, definitions)?;
            }
            let next = keeper.next().map_err(failed)?.unwrap_or(i64::MAX);
            let pause = next.saturating_sub(seconds()).clamp(SHORTEST, LONGEST);
            let pause = Duration::from_secs(pause.unsigned_abs()).min(definitions.pause());
            // A sender that is gone means the same as a message.
            if stopped.recv_timeout(pause) != Err(mpsc::RecvTimeoutError::Timeout) {
                return Ok(());
            }
        }
    }
}

/// Fires what is due, and writes the receipts of what was skipped or died.
fn tick(keeper: &mut ScheduleKeeper<ProcessStarter>) -> Result<(), CliFailure> {
    let now = seconds();
    let reports = keeper.tick(now).map_err(failed)?;
    reports.iter().for_each(|report| print(&line(now, report)));
    firing_receipts::record(&reports);
    for report in keeper.starter().ended() {
        // The process of the firing knows why it ended so.
        let row = keeper.ledger().firing(&report.identity).map_err(failed)?;
        let known = row.filter(|row| row.ended.is_some());
        let report = known.map_or(report, |row| KeeperReport {
            identity: row.identity,
            state: row.state,
            reason: row.reason,
        });
        print(&line(seconds(), &report));
    }
    Ok(())
}

/// Reads the definitions again, and keeps what they have now.
fn reload(
    keeper: &mut ScheduleKeeper<ProcessStarter>,
    definitions: &mut WatchedDefinitions,
) -> Result<(), CliFailure> {
    let now = seconds();
    let Some(schedules) = definitions.read_again() else {
        remark("an agent cannot be read, so all schedules stay as they were");
        return Ok(());
    };
    let next: BTreeMap<_, _> =
        schedules.iter().map(|it| ((it.key.clone(), it.name.clone()), it.next())).collect();
    let watched = schedules.into_iter().map(|schedule| schedule.watched).collect();
    for (agent, name, change) in keeper.replace(watched, now).map_err(failed)? {
        let word = match change {
            ScheduleChange::Added => "added",
            ScheduleChange::Changed => "changed",
            ScheduleChange::Removed => "removed",
        };
        let times = match next.get(&(agent.clone(), name.clone())) {
            Some(next) => format!(": next {}", next.as_deref().unwrap_or("never")),
            None => String::new(),
        };
        let (name, agent) = (visible(&name), short_name(&agent));
        print(&format!("{} {word:<7} {name} of {}{times}\n", time(now), visible(agent)));
    }
    Ok(())
}

/// Shows what is kept.
fn introduce(schedules: &[FoundSchedule]) {
    let count = schedules.iter().filter(|schedule| schedule.is_enabled).count();
    print(&format!("{} keeping {}\n", DisplayTime(now()), counted(count, "schedule")));
    for schedule in schedules.iter().filter(|schedule| schedule.is_enabled) {
        let next = schedule.next().unwrap_or_else(|| "never".to_owned());
        let (name, agent) = (visible(&schedule.name), visible(&schedule.agent));
        print(&format!("  {name} of {agent}: next {next}\n"));
    }
}

/// A line of the log.
fn line(now: i64, report: &KeeperReport) -> String {
    let KeeperReport { identity: FiringIdentity { agent, schedule, planned }, state, reason } =
        report;
    let word = match state {
        FiringState::Claimed => "started",
        other => other.as_str(),
    };
    let agent = short_name(agent);
    let planned =
        if *planned == now { String::new() } else { format!(", planned {}", time(*planned)) };
    let reason = reason.as_ref().map_or(String::new(), |why| format!(": {}", visible(why)));
    let (schedule, agent) = (visible(schedule), visible(agent));
    format!("{} {word:<7} {schedule} of {agent}{planned}{reason}\n", time(now))
}

fn time(seconds: i64) -> String {
    DisplayTime(seconds.unsigned_abs().saturating_mul(1_000)).to_string()
}

/// The last part of the path of an agent.
fn short_name(agent: &str) -> &str {
    let agent = agent.trim_end_matches('/');
    agent.rsplit('/').next().unwrap_or(agent)
}

/// Starts each firing as a process of its own, which outlives this one.
struct ProcessStarter {
    directory: std::path::PathBuf,
    on_ask: AskFallback,
    children: Vec<(FiringRow, Child)>,
}

impl ProcessStarter {
    /// The firings whose processes ended since, for the log.
    fn ended(&mut self) -> Vec<KeeperReport> {
        let mut ended = Vec::new();
        self.children.retain_mut(|(firing, child)| {
            let Ok(Some(status)) = child.try_wait() else { return true };
            let (state, reason) = match status.code() {
                Some(0) => (FiringState::Done, None),
                Some(code) => (FiringState::Failed, Some(format!("exit code {code}"))),
                None => (FiringState::Killed, None),
            };
            ended.push(KeeperReport { identity: firing.identity.clone(), state, reason });
            false
        });
        ended
    }
}

impl FiringStarter for ProcessStarter {
    fn start(&mut self, firing: &FiringRow) -> Result<(), String> {
        let FiringIdentity { agent, schedule, planned } = &firing.identity;
        let on_ask = match self.on_ask {
            AskFallback::Deny => "deny",
            AskFallback::Park => "park",
        };
        let program = this_program().map_err(|failure| failure.message)?;
        let mut command = Command::new(program);
        command.args(["schedule", "fire", "--on-ask", on_ask, "--", agent, schedule]);
        command.args([planned.to_string(), firing.epoch.to_string()]);
        // A Ctrl-C for this process must not reach its runs.
        agentry_posix::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).envs(engine::variable());
        let child = command.spawn().map_err(|error| error_text(&error))?;
        self.children.push((firing.clone(), child));
        Ok(())
    }

    fn stop(&mut self, firing: &FiringRow) {
        let process = firing.holder.as_deref().filter(|_| firing.state == FiringState::Running);
        let process = process.and_then(process_of).and_then(agentry_posix::process::Pid::from_raw);
        if let Some(process) = process {
            let _ =
                agentry_posix::process::kill_process(process, agentry_posix::process::Signal::TERM);
        }
    }

    fn is_starting(&mut self, firing: &FiringRow) -> bool {
        let is_own = |it: &FiringRow| (&it.identity, it.epoch) == (&firing.identity, firing.epoch);
        let mut own = self.children.iter_mut().filter(|(started, _)| is_own(started));
        own.any(|(_, child)| matches!(child.try_wait(), Ok(None)))
    }

    fn is_alive(&self, holder: &str) -> bool {
        is_alive(&self.directory, holder)
    }
}
