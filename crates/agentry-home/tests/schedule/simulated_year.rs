//! A year under a virtual clock: two keepers, processes that last, and kills, restarts and clock jumps at
//! random points. Whatever happens, each planned time is handled once, as its policies say.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use agentry_compile::model::{MisfirePolicy, OverlapPolicy, Schedule};
use agentry_home::schedule::{
    FiringIdentity, FiringPlan, FiringRow, FiringStarter, FiringState, ScheduleKeeper,
    ScheduleLedger, WatchedSchedule,
};

use super::planned_times::ZONES;
use super::{schedule, written};

/// 2027-01-01T00:00:00Z.
const BEGIN: i64 = 1_798_761_600;
const DAY: i64 = 86_400;

/// A generator of random numbers that gives the same ones for the same seed.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn has(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A process that runs an agent.
struct SimulatedRun {
    holder: String,
    firing: FiringRow,
    begins: i64,
    ends: i64,
    has_begun: bool,
    is_stopped: bool,
}

/// The processes of the simulated machine.
#[derive(Default)]
struct Machine {
    alive: BTreeSet<String>,
    runs: Vec<SimulatedRun>,
    next_holder: usize,
    now: i64,
    /// How long the next runs last.
    lengths: Vec<i64>,
    /// How often the agent ran, by firing.
    effects: BTreeMap<FiringIdentity, usize>,
    /// The schedules whose runs were stopped for a later one.
    stopped: BTreeSet<String>,
}

impl Machine {
    fn holder(&mut self) -> String {
        self.next_holder += 1;
        let holder = format!("h{}", self.next_holder);
        self.alive.insert(holder.clone());
        holder
    }

    fn is_running(&self, schedule: &str) -> bool {
        let is_own = |run: &&SimulatedRun| run.firing.identity.schedule == schedule;
        let is_alive = |run: &SimulatedRun| run.has_begun && self.alive.contains(&run.holder);
        self.runs.iter().filter(is_own).any(is_alive)
    }

    /// Whether a process of this schedule lives, although its run may not have begun.
    fn is_busy(&self, schedule: &str) -> bool {
        let is_own = |run: &&SimulatedRun| run.firing.identity.schedule == schedule;
        self.runs.iter().filter(is_own).any(|run| self.alive.contains(&run.holder))
    }

    /// Lets every process do what it does up to now.
    fn advance(&mut self, ledger: &ScheduleLedger) {
        let now = self.now;
        // Those that end make room for those that begin.
        self.runs.sort_by_key(|run| !run.has_begun);
        for mut run in std::mem::take(&mut self.runs) {
            if !self.alive.contains(&run.holder) {
                continue;
            }
            if !run.has_begun && run.begins <= now {
                if !ledger.begin(&run.firing, (&run.holder, now)).unwrap() {
                    // It was claimed again: this process does nothing.
                    self.alive.remove(&run.holder);
                    continue;
                }
                // Whatever `overlap` says, a schedule never runs twice at once.
                assert!(!self.is_running(&run.firing.identity.schedule), "{:?}", run.firing);
                run.has_begun = true;
                run.firing.state = FiringState::Running;
                *self.effects.entry(run.firing.identity.clone()).or_default() += 1;
            }
            if run.has_begun && (run.is_stopped || run.ends <= now) {
                let state = if run.is_stopped { FiringState::Failed } else { FiringState::Done };
                assert!(ledger.end(&run.firing, state, None, now).unwrap());
                self.alive.remove(&run.holder);
                continue;
            }
            self.runs.push(run);
        }
    }
}

struct SimulatedStarter(Rc<RefCell<Machine>>);

impl FiringStarter for SimulatedStarter {
    fn start(&mut self, firing: &FiringRow) -> Result<(), String> {
        let mut machine = self.0.borrow_mut();
        let holder = machine.holder();
        let length = machine.lengths.pop().unwrap_or(30);
        let begins = machine.now + length % 7;
        let (has_begun, is_stopped) = (false, false);
        let ends = begins + length;
        let firing = firing.clone();
        machine.runs.push(SimulatedRun { holder, firing, begins, ends, has_begun, is_stopped });
        Ok(())
    }

    fn stop(&mut self, firing: &FiringRow) {
        let mut machine = self.0.borrow_mut();
        let run = machine.runs.iter_mut().find(|run| run.firing.identity == firing.identity);
        run.into_iter().for_each(|run| run.is_stopped = true);
        machine.stopped.insert(firing.identity.schedule.clone());
    }

    fn is_starting(&mut self, firing: &FiringRow) -> bool {
        let machine = self.0.borrow();
        let is_own = |it: &FiringRow| (&it.identity, it.epoch) == (&firing.identity, firing.epoch);
        let mut own = machine.runs.iter().filter(|run| is_own(&run.firing));
        own.any(|run| machine.alive.contains(&run.holder))
    }

    fn is_alive(&self, holder: &str) -> bool {
        self.0.borrow().alive.contains(holder)
    }
}

type SimulatedKeeper = (String, ScheduleKeeper<SimulatedStarter>);

struct SimulatedYear {
    machine: Rc<RefCell<Machine>>,
    path: std::path::PathBuf,
    definitions: Vec<Schedule>,
    keepers: [Option<SimulatedKeeper>; 2],
    ledger: ScheduleLedger,
    /// The latest time of any tick, and all ticks that were later than those before.
    ticks: Vec<i64>,
    /// The schedules of which a firing was skipped because of an earlier one, with the reasons.
    overlaps: BTreeSet<(String, String)>,
}

impl SimulatedYear {
    fn new(directory: &Path, definitions: Vec<Schedule>) -> Self {
        let path = directory.join("schedules.db");
        let ledger = ScheduleLedger::open(&path).unwrap();
        let machine = Rc::new(RefCell::new(Machine { now: BEGIN, ..Machine::default() }));
        Self {
            machine,
            path,
            definitions,
            keepers: [None, None],
            ledger,
            ticks: Vec::new(),
            overlaps: BTreeSet::new(),
        }
    }

    fn keeper(&self) -> SimulatedKeeper {
        let holder = self.machine.borrow_mut().holder();
        let watched = |it: &Schedule| WatchedSchedule::new("agent", it).unwrap();
        let watched = self.definitions.iter().map(watched).collect();
        let ledger = ScheduleLedger::open(&self.path).unwrap();
        let starter = SimulatedStarter(Rc::clone(&self.machine));
        (holder.clone(), ScheduleKeeper::new(ledger, holder, watched, starter))
    }

    fn tick(&mut self, at: usize) {
        let now = self.machine.borrow().now;
        self.machine.borrow_mut().advance(&self.ledger);
        let Some((_, keeper)) = &mut self.keepers[at] else { return };
        let reports = keeper.tick(now).unwrap();
        for report in reports.into_iter().filter(|it| it.state == FiringState::Skipped) {
            let reason = report.reason.unwrap_or_default();
            if reason.starts_with("missed") {
                continue;
            }
            // It is skipped only while another process of the schedule lives.
            let schedule = report.identity.schedule;
            assert!(self.machine.borrow().is_busy(&schedule), "{schedule}: {reason}");
            self.overlaps.insert((schedule, reason));
        }
        if self.ticks.last().is_none_or(|last| *last < now) {
            self.ticks.push(now);
        }
        self.machine.borrow_mut().advance(&self.ledger);
    }

    /// One random event, and the time until the next.
    fn step(&mut self, random: &mut SeededRandom) {
        match random.below(100) {
            // A keeper starts, or is killed.
            0..10 => {
                let at = usize::from(random.has(50));
                match self.keepers[at].take() {
                    Some((holder, _)) => drop(self.machine.borrow_mut().alive.remove(&holder)),
                    None => self.keepers[at] = Some(self.keeper()),
                }
            }
            // A run is killed, begun or not.
            10..15 => {
                let mut machine = self.machine.borrow_mut();
                let holder = machine.runs.first().map(|run| run.holder.clone());
                holder.map(|holder| machine.alive.remove(&holder));
            }
            // The clock is set back.
            15..18 => self.machine.borrow_mut().now -= i64::try_from(random.below(7_200)).unwrap(),
            // The next run takes long.
            18..30 => {
                let length = i64::try_from(random.below(3 * 3_600)).unwrap();
                self.machine.borrow_mut().lengths.push(length);
            }
            _ => {}
        }
        // Mostly a minute; now and then the machine sleeps or the clock jumps.
        let pause = match random.below(1_000) {
            0..4 => random.below(9 * 86_400),
            4..30 => random.below(12 * 3_600),
            30..300 => random.below(3_600),
            _ => random.below(60),
        };
        self.machine.borrow_mut().now += i64::try_from(pause).unwrap();
        self.tick(0);
        self.tick(1);
    }

    /// Lets everything that is open come to its end.
    fn drain(&mut self) {
        self.keepers = [Some(self.keeper()), None];
        for _ in 0..20_000 {
            self.machine.borrow_mut().now += 30;
            self.tick(0);
            if self.ledger.open_firings().unwrap().is_empty() {
                return;
            }
        }
        panic!("{:?}", self.ledger.open_firings().unwrap());
    }
}

/// What the policies say about the planned times, from the ticks alone: those that must run, and those that
/// are missed.
fn expected(definition: &Schedule, ticks: &[i64]) -> BTreeMap<i64, bool> {
    let plan = FiringPlan::new(definition).unwrap();
    let mut runs = BTreeMap::new();
    for pair in ticks.windows(2) {
        let planned: Vec<i64> =
            plan.from(pair[0] + 1).take_while(|time| *time <= pair[1]).collect();
        let missed: Vec<i64> = planned.iter().copied().filter(|time| pair[1] - time > 60).collect();
        let caught_up: Vec<i64> = match definition.misfire.as_ref().map(|it| it.value) {
            Some(MisfirePolicy::Skip) => Vec::new(),
            Some(MisfirePolicy::All) => missed.iter().copied().take(100).collect(),
            Some(MisfirePolicy::Once) | None => {
                missed.iter().copied().skip(missed.len().saturating_sub(1)).collect()
            }
        };
        runs.extend(
            planned.iter().map(|time| (*time, !missed.contains(time) || caught_up.contains(time))),
        );
    }
    runs
}

fn check(year: &SimulatedYear, seed: u64) {
    let rows = year.ledger.last_firings(u32::MAX).unwrap();
    let effects = &year.machine.borrow().effects;
    for row in &rows {
        let times = effects.get(&row.identity).copied().unwrap_or(0);
        let expected = usize::from(row.state != FiringState::Skipped);
        assert_eq!(times, expected, "seed {seed}: {row:?}");
    }
    assert_eq!(effects.len(), rows.iter().filter(|row| row.state != FiringState::Skipped).count());
}

#[test]
fn every_planned_time_is_handled_once() {
    // The last one fires more often than long runs end.
    let crons = ["0 9 * * 1-5", "30 2 * * *", "0 */3 * * *", "15 1 1,15 * *", "0 8-16/2 * * *"];
    let overlaps = [OverlapPolicy::Skip, OverlapPolicy::Queue, OverlapPolicy::Replace];
    let misfires = [MisfirePolicy::Once, MisfirePolicy::Skip, MisfirePolicy::All];
    let definition = |at: usize| Schedule {
        name: Some(written(format!("s{at}"))),
        overlap: Some(written(overlaps[at % 3])),
        misfire: Some(written(misfires[(at / 2) % 3])),
        ..schedule(crons[at % 5], ZONES[at % 5])
    };
    let all: Vec<Schedule> = (0..15).map(definition).collect();
    let shared = Path::new("/dev/shm");
    let mut met = BTreeSet::new();
    for seed in 1..=4 {
        // Every change waits for the disk, so memory is faster where there is such a directory.
        let directory =
            if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
        let directory = directory.unwrap();
        let mut random = SeededRandom(0x9E37_79B9_7F4A_7C15 ^ seed);
        let mut year = SimulatedYear::new(directory.path(), all.clone());
        year.keepers[0] = Some(year.keeper());
        year.tick(0);
        while year.machine.borrow().now < BEGIN + 365 * DAY {
            year.step(&mut random);
        }
        let ticks = year.ticks.clone();
        year.drain();
        check(&year, seed);
        let policy = |name: &String| overlaps[name[1..].parse::<usize>().unwrap() % 3];
        for (name, reason) in &year.overlaps {
            let expected = match policy(name) {
                OverlapPolicy::Skip => "the previous run has not ended",
                OverlapPolicy::Queue => "100 runs are waiting already",
                OverlapPolicy::Replace => "a later one replaces it",
            };
            assert!(reason.starts_with(expected), "seed {seed}: {name}: {reason}");
        }
        let is_replacing = |name: &String| policy(name) == OverlapPolicy::Replace;
        assert!(year.machine.borrow().stopped.iter().all(is_replacing));
        met.extend(year.overlaps.iter().map(|(name, _)| policy(name) as usize));
        met.extend(year.machine.borrow().stopped.iter().map(|name| policy(name) as usize));
        let rows = year.ledger.last_firings(u32::MAX).unwrap();
        for definition in &all {
            let name = &definition.name.as_ref().unwrap().value;
            let found: BTreeMap<i64, &FiringRow> = rows
                .iter()
                .filter(|row| row.identity.schedule == *name)
                .map(|row| (row.identity.planned, row))
                .collect();
            let expected = expected(definition, &ticks);
            let times = |times: Vec<&i64>| {
                times
                    .into_iter()
                    .copied()
                    .filter(|time| *time <= *ticks.last().unwrap())
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                times(found.keys().collect()),
                times(expected.keys().collect()),
                "seed {seed}: {name}"
            );
            for (time, runs) in expected {
                let row = found[&time];
                let is_missed = row.reason.as_ref().is_some_and(|why| why.starts_with("missed"));
                assert_eq!(is_missed, !runs, "seed {seed}: {row:?}");
            }
        }
    }
    for policy in [OverlapPolicy::Skip, OverlapPolicy::Replace] {
        assert!(met.contains(&(policy as usize)), "no run met the next one: {policy:?}");
    }
}
