//! Keeps schedules: at each tick it writes the planned times that have come into the ledger, and starts what
//! is due. All decisions depend on the time that it is given, so that tests can run a year in seconds.

use std::collections::{BTreeMap, VecDeque};

use agentry_compile::formats::agent_dir::seconds;
use agentry_compile::model::{MisfirePolicy, OverlapPolicy, Schedule};

use super::ledger::{FiringRow, FiringState, LedgerError, ScheduleLedger};
use super::plan::{FiringPlan, PlanMemo, PlanProblem};
use super::{FiringIdentity, PlannedTimes};

/// How late a firing may start without being missed, in seconds.
const GRACE: i64 = 60;
/// The most missed times that `misfire: all` catches up with.
const MOST_CAUGHT_UP: usize = 100;
/// The most skipped times that are written in one tick. The last ones say most.
const MOST_SKIPPED: usize = 1_000;
/// The most planned times of one tick; the next tick continues with the others.
const MOST_TIMES: usize = 100_000;
/// The most firings of a schedule that wait for each other.
const MOST_WAITING: usize = 100;

/// How often the process of a firing is started that ends before its run begins.
const MOST_STARTS: i64 = 3;

/// A schedule that is kept.
#[derive(Debug)]
pub struct WatchedSchedule {
    /// The agent: its id, or its full path.
    pub agent: String,
    /// The name of the schedule.
    pub name: String,
    plan: FiringPlan,
    is_enabled: bool,
    overlap: OverlapPolicy,
    misfire: MisfirePolicy,
    jitter: u32,
    /// The definition as text: another one is a changed schedule.
    definition: String,
    /// The next planned time; nothing happens before it.
    next: Option<i64>,
}

impl WatchedSchedule {
    /// Reads a schedule of an agent.
    pub fn new(agent: &str, schedule: &Schedule) -> Result<Self, PlanProblem> {
        Self::with(agent, schedule, &mut PlanMemo::default())
    }

    /// The same, with what earlier schedules have read.
    pub fn with(
        agent: &str,
        schedule: &Schedule,
        memo: &mut PlanMemo,
    ) -> Result<Self, PlanProblem> {
        let jitter = schedule.jitter.as_ref().and_then(|jitter| seconds(jitter)).unwrap_or(0);
        Ok(Self {
            agent: agent.to_owned(),
            name: schedule.name.as_ref().map(|name| name.value.clone()).unwrap_or_default(),
            plan: FiringPlan::with(schedule, memo)?,
            is_enabled: schedule.enabled.as_ref().is_none_or(|enabled| enabled.value),
            overlap: schedule.overlap.as_ref().map_or(OverlapPolicy::Skip, |it| it.value),
            misfire: schedule.misfire.as_ref().map_or(MisfirePolicy::Once, |it| it.value),
            jitter: u32::try_from(jitter).unwrap_or(u32::MAX),
            definition: definition(schedule),
            next: None,
        })
    }

    /// Returns the planned instants from `start` on; none if it is disabled.
    pub fn times(&self, start: i64) -> impl Iterator<Item = i64> + '_ {
        let times = self.is_enabled.then(|| self.plan.from(start));
        times.into_iter().flat_map(|times: PlannedTimes<'_>| times)
    }

    /// Returns its plan.
    pub fn plan(&self) -> &FiringPlan {
        &self.plan
    }

    fn identity(&self, planned: i64) -> FiringIdentity {
        FiringIdentity { agent: self.agent.clone(), schedule: self.name.clone(), planned }
    }

    fn owns(&self, FiringIdentity { agent, schedule, .. }: &FiringIdentity) -> bool {
        (agent, schedule) == (&self.agent, &self.name)
    }

    /// Decides about the planned times after `seen`, up to `now`. Returns the rows, and up to which time
    /// they are complete.
    fn decide(&self, seen: i64, now: i64) -> (Vec<FiringRow>, i64) {
        let mut missed = MissedTimes::default();
        let (mut rows, mut count, mut until) = (Vec::new(), 0, now);
        for planned in self.times(seen.saturating_add(1)).take_while(|time| *time <= now) {
            let identity = self.identity(planned);
            let due = planned.saturating_add(identity.jitter(self.jitter));
            if now.saturating_sub(due) > GRACE {
                missed.add(identity, due);
            } else {
                rows.push(FiringRow::waiting(identity, due, false));
            }
            count += 1;
            // `all` has what it catches up with; the other policies need the last missed time.
            if count == MOST_TIMES && self.misfire != MisfirePolicy::All {
                until = planned;
                break;
            }
        }
        let mut all = missed.rows(self.misfire, until == now);
        all.append(&mut rows);
        (all, until)
    }
}

/// All that decides when a schedule fires, as text.
fn definition(schedule: &Schedule) -> String {
    let text = |it: &Option<agentry_text::Spanned<String>>| it.as_ref().map(|it| it.value.clone());
    let Schedule { name: _, cron, enabled, timezone, overlap, misfire, jitter, prompt: _ } =
        schedule;
    let enabled = enabled.as_ref().map(|it| it.value);
    let policies = (overlap.as_ref().map(|it| it.value), misfire.as_ref().map(|it| it.value));
    format!("{:?}", (text(cron), enabled, text(timezone), policies, text(jitter)))
}

/// What became of a schedule when the definitions were read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScheduleChange {
    /// It is new.
    Added,
    /// It fires at other times, or in another way.
    Changed,
    /// It is gone.
    Removed,
}

/// The times that passed while no process kept the schedule.
#[derive(Default)]
struct MissedTimes {
    first: Vec<(FiringIdentity, i64)>,
    last: VecDeque<(FiringIdentity, i64)>,
}

impl MissedTimes {
    fn add(&mut self, identity: FiringIdentity, due: i64) {
        if self.first.len() < MOST_CAUGHT_UP {
            self.first.push((identity, due));
            return;
        }
        if self.last.len() == MOST_SKIPPED {
            self.last.pop_front();
        }
        self.last.push_back((identity, due));
    }

    /// The rows of the missed times; `is_whole` says that no later one was missed.
    fn rows(self, policy: MisfirePolicy, is_whole: bool) -> Vec<FiringRow> {
        let waiting = |(identity, due)| FiringRow::waiting(identity, due, true);
        let skipped =
            |reason: &'static str| move |(identity, _)| FiringRow::skipped(identity, reason);
        let mut all: Vec<_> = self.first.into_iter().chain(self.last).collect();
        let (ran, left) = match policy {
            MisfirePolicy::Skip => (Vec::new(), all),
            MisfirePolicy::Once => {
                let last = if is_whole { all.pop() } else { None };
                (last.into_iter().collect(), all)
            }
            MisfirePolicy::All => {
                let left = all.split_off(all.len().min(MOST_CAUGHT_UP));
                (all, left)
            }
        };
        let reason = match policy {
            MisfirePolicy::Skip => "missed: nothing kept the schedule then (`misfire: skip`)",
            MisfirePolicy::Once => "missed: one later run stands for it (`misfire: once`)",
            MisfirePolicy::All => "missed: 100 earlier ones are caught up with (`misfire: all`)",
        };
        left.into_iter().map(skipped(reason)).chain(ran.into_iter().map(waiting)).collect()
    }
}

/// Starts and stops the processes of firings.
pub trait FiringStarter {
    /// Starts the process of a claimed firing. It must [`ScheduleLedger::begin`] the firing before anything
    /// else. Returns why it cannot be started.
    fn start(&mut self, firing: &FiringRow) -> Result<(), String>;

    /// Asks the process of a firing to stop.
    fn stop(&mut self, firing: &FiringRow);

    /// Returns whether the process that this one started for a claimed firing lives.
    fn is_starting(&mut self, firing: &FiringRow) -> bool;

    /// Returns whether the process of this name lives.
    fn is_alive(&self, holder: &str) -> bool;
}

/// Something that happened in a tick, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperReport {
    /// The firing.
    pub identity: FiringIdentity,
    /// What happened to it.
    pub state: FiringState,
    /// Why.
    pub reason: Option<String>,
}

/// Keeps schedules. Any number of processes may keep the same ones.
#[derive(Debug)]
pub struct ScheduleKeeper<S> {
    ledger: ScheduleLedger,
    /// The name of this process.
    holder: String,
    schedules: Vec<WatchedSchedule>,
    starter: S,
    reports: Vec<KeeperReport>,
}

impl<S: FiringStarter> ScheduleKeeper<S> {
    /// Creates a keeper.
    pub fn new(
        ledger: ScheduleLedger,
        holder: String,
        schedules: Vec<WatchedSchedule>,
        starter: S,
    ) -> Self {
        Self { ledger, holder, schedules, starter, reports: Vec::new() }
    }

    /// Handles everything up to `now`. Returns what happened.
    pub fn tick(&mut self, now: i64) -> Result<Vec<KeeperReport>, LedgerError> {
        for at in 0..self.schedules.len() {
            self.settle(at, now)?;
        }
        let open = self.living(now)?;
        for at in 0..self.schedules.len() {
            self.start_due(at, &open, now)?;
        }
        Ok(std::mem::take(&mut self.reports))
    }

    /// Replaces the schedules by what the definitions have now. A schedule that is new or changed fires from `now`
    /// on; what waits for one that is gone is skipped. Returns what changed: agent, schedule and how.
    pub fn replace(
        &mut self,
        schedules: Vec<WatchedSchedule>,
        now: i64,
    ) -> Result<Vec<(String, String, ScheduleChange)>, LedgerError> {
        let mut changes = Vec::new();
        let known = std::mem::take(&mut self.schedules).into_iter();
        let mut known: BTreeMap<_, _> =
            known.map(|old| ((old.agent.clone(), old.name.clone()), old)).collect();
        for schedule in schedules {
            let old = known.remove(&(schedule.agent.clone(), schedule.name.clone()));
            let change = match old {
                Some(old) if old.definition == schedule.definition => {
                    self.schedules.push(old);
                    continue;
                }
                Some(_) => ScheduleChange::Changed,
                None => ScheduleChange::Added,
            };
            self.ledger.pass(&schedule.agent, &schedule.name, now)?;
            changes.push((schedule.agent.clone(), schedule.name.clone(), change));
            self.schedules.push(schedule);
        }
        let open = if known.is_empty() { Vec::new() } else { self.ledger.open_firings()? };
        for firing in open {
            let owner = (firing.identity.agent.clone(), firing.identity.schedule.clone());
            if known.contains_key(&owner) && firing.state == FiringState::Waiting {
                self.end(firing, FiringState::Skipped, Some("the schedule is gone"), now)?;
            }
        }
        changes
            .extend(known.into_keys().map(|(agent, name)| (agent, name, ScheduleChange::Removed)));
        changes.sort();
        Ok(changes)
    }

    /// Returns when the next tick has something to do; `None` if nothing is planned or open.
    pub fn next(&self) -> Result<Option<i64>, LedgerError> {
        let open = self.ledger.open_firings()?;
        let due = open.iter().map(|firing| firing.due).min();
        Ok(self.schedules.iter().filter_map(|schedule| schedule.next).chain(due).min())
    }

    /// The ledger of the firings.
    pub fn ledger(&self) -> &ScheduleLedger {
        &self.ledger
    }

    /// The means by which firings are started.
    pub fn starter(&mut self) -> &mut S {
        &mut self.starter
    }

    /// Writes the planned times that have come into the ledger.
    fn settle(&mut self, at: usize, now: i64) -> Result<(), LedgerError> {
        let Some(schedule) = self.schedules.get_mut(at) else { return Ok(()) };
        if schedule.next.is_some_and(|next| now < next) {
            return Ok(());
        }
        let WatchedSchedule { agent, name, .. } = &*schedule;
        let (seen, is_paused) = self.ledger.seen(agent, name, now)?;
        // A clock that was set back must not fire again what is in the ledger.
        let mut until = seen.max(now);
        if now > seen {
            let (rows, complete) =
                if is_paused { (Vec::new(), now) } else { schedule.decide(seen, now) };
            until = complete;
            // Without a planned time nothing has to be written: the same is decided from an earlier time.
            let is_due = is_paused || !rows.is_empty();
            if is_due && self.ledger.settle(agent, name, (seen, until), &rows)? {
                let skipped = rows.into_iter().filter(|row| row.state == FiringState::Skipped);
                self.reports.extend(skipped.map(report));
            }
        }
        let next = schedule.times(until.saturating_add(1)).next();
        // A schedule without a next time is never looked at again.
        schedule.next = Some(next.unwrap_or(i64::MAX));
        Ok(())
    }

    /// Returns the firings that are open, after those of dead processes were ended or released.
    fn living(&mut self, now: i64) -> Result<Vec<FiringRow>, LedgerError> {
        let mut living = Vec::new();
        for mut firing in self.ledger.open_firings()? {
            let is_dead =
                firing.holder.as_ref().is_some_and(|holder| !self.starter.is_alive(holder));
            // A process that died before its run began leaves the claim to this one.
            let is_lost = firing.state == FiringState::Claimed
                && firing.holder.as_ref() == Some(&self.holder)
                && !self.starter.is_starting(&firing);
            match firing.state {
                FiringState::Claimed if is_lost && firing.epoch >= MOST_STARTS => {
                    let reason = "its process ended each time before the run began";
                    self.end(firing, FiringState::Failed, Some(reason), now)?;
                }
                FiringState::Claimed if is_dead || is_lost => {
                    if self.ledger.release(&firing)? {
                        firing.state = FiringState::Waiting;
                        firing.holder = None;
                        living.push(firing);
                    }
                }
                FiringState::Running if is_dead => {
                    let reason = "the process of the run died";
                    self.end(firing, FiringState::Killed, Some(reason), now)?;
                }
                _ => living.push(firing),
            }
        }
        Ok(living)
    }

    /// Starts the firings of a schedule that are due, as its `overlap` says.
    fn start_due(&mut self, at: usize, open: &[FiringRow], now: i64) -> Result<(), LedgerError> {
        let Some(schedule) = self.schedules.get(at) else { return Ok(()) };
        let overlap = schedule.overlap;
        // The rows are sorted, and most schedules have none.
        let from = open.partition_point(|row| {
            (&row.identity.agent, &row.identity.schedule) < (&schedule.agent, &schedule.name)
        });
        let own = open.iter().skip(from).take_while(|row| schedule.owns(&row.identity));
        let (waiting, busy): (Vec<_>, Vec<_>) =
            own.cloned().partition(|row| row.state == FiringState::Waiting);
        let mut busy = busy.into_iter().next();
        let due: Vec<_> = waiting.into_iter().filter(|row| row.due <= now).collect();
        let last = due.len().saturating_sub(1);
        for (position, firing) in due.into_iter().enumerate() {
            match &busy {
                None => busy = self.start(firing, now)?,
                Some(_) if firing.catches_up => {}
                Some(_) if overlap == OverlapPolicy::Queue && position < MOST_WAITING => {}
                Some(running) if overlap == OverlapPolicy::Replace && position == last => {
                    self.starter.stop(running);
                }
                Some(_) => self.end(firing, FiringState::Skipped, Some(too_many(overlap)), now)?,
            }
        }
        Ok(())
    }

    /// Claims and starts a firing. Returns it if the schedule is busy with it now.
    fn start(&mut self, firing: FiringRow, now: i64) -> Result<Option<FiringRow>, LedgerError> {
        let Some(epoch) = self.ledger.claim(&firing, &self.holder)? else {
            // Another process was faster, so the schedule is busy.
            return Ok(Some(firing));
        };
        let holder = Some(self.holder.clone());
        let firing = FiringRow { state: FiringState::Claimed, epoch, holder, ..firing };
        match self.starter.start(&firing) {
            Ok(()) => {
                self.reports.push(report(firing.clone()));
                Ok(Some(firing))
            }
            Err(why) => {
                self.end(firing, FiringState::Failed, Some(&why), now)?;
                Ok(None)
            }
        }
    }

    fn end(
        &mut self,
        firing: FiringRow,
        state: FiringState,
        reason: Option<&str>,
        now: i64,
    ) -> Result<(), LedgerError> {
        if self.ledger.end(&firing, state, reason, now)? {
            let reason = reason.map(str::to_owned);
            self.reports.push(KeeperReport { identity: firing.identity, state, reason });
        }
        Ok(())
    }
}

fn report(FiringRow { identity, state, reason, .. }: FiringRow) -> KeeperReport {
    KeeperReport { identity, state, reason }
}

/// Why a firing is skipped while another one of its schedule is open.
fn too_many(overlap: OverlapPolicy) -> &'static str {
    match overlap {
        OverlapPolicy::Skip => "the previous run has not ended (`overlap: skip`)",
        OverlapPolicy::Queue => "100 runs are waiting already (`overlap: queue`)",
        OverlapPolicy::Replace => "a later one replaces it (`overlap: replace`)",
    }
}
