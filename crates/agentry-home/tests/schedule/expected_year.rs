//! What the documented rules make of a year: an independent calculation. It shares no code with the keeper and knows no ledger,
//! claims or leases. It gets what happened to the machine, and the planned times from the [calendar](super::calendar).

use std::collections::BTreeMap;

use agentry_compile::model::{MisfirePolicy, OverlapPolicy};

/// How late a firing may start without being missed, in seconds.
const GRACE: i64 = 60;
/// The most missed times that `misfire: all` catches up with, the most firings that wait, and the most starts of a process.
const MOST_CAUGHT_UP: usize = 100;
const MOST_WAITING: usize = 100;
const MOST_STARTS: u32 = 3;

/// What happened to the machine in one step, and when the keepers then look at the clock.
#[derive(Debug, Clone, Default)]
pub(crate) struct YearStep {
    /// The keeper that was started or killed.
    pub(crate) keeper: Option<usize>,
    /// The process that was killed: its schedule, planned time and number of starts.
    pub(crate) killed: Option<(String, i64, u32)>,
    pub(crate) now: i64,
}

/// A schedule as its file describes it.
#[derive(Debug, Clone)]
pub(crate) struct ExpectedSchedule<'a> {
    pub(crate) name: &'a str,
    pub(crate) overlap: OverlapPolicy,
    pub(crate) misfire: MisfirePolicy,
    /// The planned times, in order, with the times at which each is due.
    pub(crate) times: &'a [(i64, i64)],
}

/// What becomes of a planned time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExpectedEnd {
    Done,
    /// It was stopped for a later one.
    Stopped,
    /// Its process died.
    Killed,
    /// Its process died each time before the run began.
    NeverBegan,
    /// It passed while nothing kept the schedule.
    Missed,
    /// The schedule was busy.
    Busy,
}

/// When the process of a firing begins its run after it was started, and how long that lasts: a property of the machine.
pub(crate) type ProcessTimes = dyn Fn(&str, i64, u32) -> (i64, i64);

#[derive(Debug, Clone)]
struct OpenFiring {
    planned: i64,
    due: i64,
    catches_up: bool,
    starts: u32,
    process: Option<OpenProcess>,
}

#[derive(Debug, Clone)]
struct OpenProcess {
    /// The keeper that started it: which of the two, and which of its lives.
    keeper: (usize, u32),
    begins: i64,
    ends: i64,
    has_begun: bool,
    is_stopped: bool,
    is_dead: bool,
}

/// Plays the steps for one schedule.
pub(crate) struct ExpectedYear<'a> {
    schedule: ExpectedSchedule<'a>,
    process_times: &'a ProcessTimes,
    /// The lives of the keepers, and whether each lives.
    keepers: [(u32, bool); 2],
    /// The latest time at which a keeper looked at the clock.
    seen: Option<i64>,
    open: Vec<OpenFiring>,
    ended: BTreeMap<i64, (ExpectedEnd, usize)>,
}

impl<'a> ExpectedYear<'a> {
    /// What becomes of each planned time, and how often the agent runs for it.
    pub(crate) fn of(
        schedule: ExpectedSchedule<'a>,
        process_times: &'a ProcessTimes,
        steps: &[YearStep],
    ) -> BTreeMap<i64, (ExpectedEnd, usize)> {
        let (keepers, open) = ([(0, false); 2], Vec::new());
        let ended = BTreeMap::new();
        let mut year = Self { schedule, process_times, keepers, seen: None, open, ended };
        steps.iter().for_each(|step| year.play(step));
        assert!(year.open.is_empty(), "{}: {:?}", year.schedule.name, year.open);
        year.ended
    }

    fn play(&mut self, step: &YearStep) {
        if let Some((life, lives)) = step.keeper.map(|at| &mut self.keepers[at]) {
            *lives = !*lives;
            *life += u32::from(*lives);
        }
        if let Some((schedule, planned, starts)) = &step.killed
            && schedule == self.schedule.name
        {
            let is_it = |it: &&mut OpenFiring| (it.planned, it.starts) == (*planned, *starts);
            let killed = self.open.iter_mut().find(is_it).and_then(|it| it.process.as_mut());
            killed.into_iter().for_each(|process| process.is_dead = true);
        }
        for keeper in 0..2 {
            self.run_processes(step.now);
            if self.keepers[keeper].1 {
                self.plan(step.now);
                self.bury((keeper, self.keepers[keeper].0));
                self.start(keeper, step.now);
                self.run_processes(step.now);
            }
        }
    }

    /// The planned times that have come since a keeper last looked: missed ones as `misfire` says, the others wait.
    fn plan(&mut self, now: i64) {
        let seen = self.seen.unwrap_or(now);
        self.seen = Some(seen.max(now));
        let times = self.schedule.times;
        let from = times.partition_point(|(planned, _)| *planned <= seen);
        let come = times[from..].iter().take_while(|(planned, _)| *planned <= now);
        let (missed, timely): (Vec<_>, Vec<_>) = come.partition(|(_, due)| now - due > GRACE);
        let caught_up = match self.schedule.misfire {
            MisfirePolicy::Skip => 0..0,
            MisfirePolicy::Once => missed.len().saturating_sub(1)..missed.len(),
            MisfirePolicy::All => 0..missed.len().min(MOST_CAUGHT_UP),
        };
        for (at, (planned, due)) in missed.into_iter().enumerate() {
            if caught_up.contains(&at) {
                self.open.push(OpenFiring::waiting(planned, due, true));
            } else {
                self.end(planned, ExpectedEnd::Missed, 0);
            }
        }
        self.open.extend(timely.iter().map(|(at, due)| OpenFiring::waiting(*at, *due, false)));
        self.open.sort_by_key(|firing| firing.planned);
    }

    /// What a keeper does about dead processes. Before its run began, a process is that of its keeper, and is started again.
    fn bury(&mut self, own: (usize, u32)) {
        let keepers = self.keepers;
        let lives = |(at, life): (usize, u32)| keepers[at] == (life, true);
        for mut firing in std::mem::take(&mut self.open) {
            match &firing.process {
                Some(it) if it.has_begun && it.is_dead => {
                    self.end(firing.planned, ExpectedEnd::Killed, 1);
                    continue;
                }
                Some(it) if it.has_begun => {}
                Some(it) if it.keeper == own && it.is_dead && firing.starts >= MOST_STARTS => {
                    self.end(firing.planned, ExpectedEnd::NeverBegan, 0);
                    continue;
                }
                Some(it) if !lives(it.keeper) || it.keeper == own && it.is_dead => {
                    firing.process = None;
                }
                _ => {}
            }
            self.open.push(firing);
        }
    }

    /// Starts what is due, as `overlap` says.
    fn start(&mut self, keeper: usize, now: i64) {
        let mut busy = self.open.iter().position(|firing| firing.process.is_some());
        let is_due = |firing: &OpenFiring| firing.process.is_none() && firing.due <= now;
        let due: Vec<usize> = (0..self.open.len()).filter(|at| is_due(&self.open[*at])).collect();
        let mut dropped = Vec::new();
        for (position, at) in due.iter().copied().enumerate() {
            let is_last = position + 1 == due.len();
            match (busy, self.schedule.overlap) {
                (None, _) => {
                    self.begin(at, keeper, now);
                    busy = Some(at);
                }
                (Some(_), _) if self.open[at].catches_up => {}
                (Some(_), OverlapPolicy::Queue) if position < MOST_WAITING => {}
                (Some(running), OverlapPolicy::Replace) if is_last => {
                    let running = self.open[running].process.as_mut();
                    let began = running.filter(|process| process.has_begun);
                    began.into_iter().for_each(|process| process.is_stopped = true);
                }
                (Some(_), _) => dropped.push(self.open[at].planned),
            }
        }
        self.open.retain(|firing| !dropped.contains(&firing.planned));
        dropped.into_iter().for_each(|planned| self.end(planned, ExpectedEnd::Busy, 0));
    }

    fn begin(&mut self, at: usize, keeper: usize, now: i64) {
        let firing = &mut self.open[at];
        firing.starts += 1;
        let times = (self.process_times)(self.schedule.name, firing.planned, firing.starts);
        let begins = now + times.0;
        firing.process = Some(OpenProcess {
            keeper: (keeper, self.keepers[keeper].0),
            begins,
            ends: begins + times.1,
            has_begun: false,
            is_stopped: false,
            is_dead: false,
        });
    }

    /// What the processes do up to `now`.
    fn run_processes(&mut self, now: i64) {
        for mut firing in std::mem::take(&mut self.open) {
            if let Some(process) = firing.process.as_mut().filter(|process| !process.is_dead) {
                process.has_begun |= process.begins <= now;
                if process.has_begun && (process.is_stopped || process.ends <= now) {
                    let stopped = process.is_stopped;
                    let end = if stopped { ExpectedEnd::Stopped } else { ExpectedEnd::Done };
                    self.end(firing.planned, end, 1);
                    continue;
                }
            }
            self.open.push(firing);
        }
    }

    fn end(&mut self, planned: i64, end: ExpectedEnd, runs: usize) {
        let before = self.ended.insert(planned, (end, runs));
        assert_eq!(before, None, "{} ends once at {planned}", self.schedule.name);
    }
}

impl OpenFiring {
    const fn waiting(planned: i64, due: i64, catches_up: bool) -> Self {
        Self { planned, due, catches_up, starts: 0, process: None }
    }
}
