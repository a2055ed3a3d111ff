//! A year under a virtual clock: two keepers, processes that last, and kills, restarts and clock jumps at
//! random points. Whatever happens, each planned time is handled once, as an [independent calculation](super::expected_year) says.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use agentry_compile::model::{MisfirePolicy, OverlapPolicy, Schedule};
use agentry_home::schedule::{
    FiringIdentity, FiringRow, FiringStarter, FiringState, ScheduleKeeper, ScheduleLedger,
    WatchedSchedule,
};

use super::calendar::Calendar;
use super::expected_year::{ExpectedEnd, ExpectedSchedule, ExpectedYear, YearStep};
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
struct Machine {
    seed: u64,
    alive: BTreeSet<String>,
    runs: Vec<SimulatedRun>,
    next_holder: usize,
    now: i64,
    /// How often the agent ran, by firing.
    effects: BTreeMap<FiringIdentity, usize>,
}

/// When a process begins its run, and how long that lasts: mostly half a minute, now and then hours.
fn process_times(seed: u64, schedule: &str, planned: i64, start: u32) -> (i64, i64) {
    let name = schedule.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mixed =
        name ^ planned.unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(start);
    let mut random = SeededRandom(mixed | 1);
    random.below(1);
    let length = if random.has(6) { random.below(5 * 3_600) } else { 30 };
    (i64::try_from(random.below(90)).unwrap(), i64::try_from(length).unwrap())
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

    /// Kills a process, begun or not. Returns its schedule, planned time and number of starts.
    fn kill(&mut self, at: u64) -> Option<(String, i64, u32)> {
        let run = self.runs.get(usize::try_from(at).unwrap() % self.runs.len().max(1))?;
        self.alive.remove(&run.holder);
        let FiringIdentity { schedule, planned, .. } = &run.firing.identity;
        Some((schedule.clone(), *planned, u32::try_from(run.firing.epoch).unwrap()))
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
        let FiringIdentity { schedule, planned, .. } = &firing.identity;
        let start = u32::try_from(firing.epoch).unwrap();
        let (wait, length) = process_times(machine.seed, schedule, *planned, start);
        let begins = machine.now + wait;
        let (has_begun, is_stopped) = (false, false);
        let ends = begins + length;
        let firing = firing.clone();
        machine.runs.push(SimulatedRun { holder, firing, begins, ends, has_begun, is_stopped });
        Ok(())
    }

    /// As the real one: only a process that runs the agent is stopped.
    fn stop(&mut self, firing: &FiringRow) {
        let mut machine = self.0.borrow_mut();
        let is_it = |run: &&mut SimulatedRun| Some(&run.holder) == firing.holder.as_ref();
        let run = machine.runs.iter_mut().filter(|run| run.has_begun).find(is_it);
        run.into_iter().for_each(|run| run.is_stopped = true);
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
    steps: Vec<YearStep>,
}

impl SimulatedYear {
    fn new(directory: &Path, definitions: Vec<Schedule>, seed: u64) -> Self {
        let path = directory.join("schedules.db");
        let ledger = ScheduleLedger::open(&path).unwrap();
        let machine = Machine {
            seed,
            alive: BTreeSet::new(),
            runs: Vec::new(),
            next_holder: 0,
            now: BEGIN,
            effects: BTreeMap::new(),
        };
        let (machine, keepers) = (Rc::new(RefCell::new(machine)), [None, None]);
        Self { machine, path, definitions, keepers, ledger, steps: Vec::new() }
    }

    fn keeper(&self) -> SimulatedKeeper {
        let holder = self.machine.borrow_mut().holder();
        let watched = |it: &Schedule| WatchedSchedule::new("agent", it).unwrap();
        let watched = self.definitions.iter().map(watched).collect();
        let ledger = ScheduleLedger::open(&self.path).unwrap();
        let starter = SimulatedStarter(Rc::clone(&self.machine));
        (holder.clone(), ScheduleKeeper::new(ledger, holder, watched, starter))
    }

    /// A keeper starts, or is killed; then the clock is `pause` later, and the keepers look at it.
    fn play(&mut self, keeper: Option<usize>, killed: Option<(String, i64, u32)>, pause: i64) {
        if let Some(at) = keeper {
            match self.keepers[at].take() {
                Some((holder, _)) => drop(self.machine.borrow_mut().alive.remove(&holder)),
                None => self.keepers[at] = Some(self.keeper()),
            }
        }
        self.machine.borrow_mut().now += pause;
        let now = self.machine.borrow().now;
        for at in 0..2 {
            self.machine.borrow_mut().advance(&self.ledger);
            let Some((_, keeper)) = &mut self.keepers[at] else { continue };
            keeper.tick(now).unwrap();
            self.machine.borrow_mut().advance(&self.ledger);
        }
        self.steps.push(YearStep { keeper, killed, now });
    }

    /// One random event, and the time until the next.
    fn step(&mut self, random: &mut SeededRandom) {
        let (mut keeper, mut killed, mut back) = (None, None, 0);
        match random.below(100) {
            0..10 => keeper = Some(usize::from(random.has(50))),
            10..17 => killed = self.machine.borrow_mut().kill(random.below(1_000)),
            17..20 => back = i64::try_from(random.below(7_200)).unwrap(),
            _ => {}
        }
        // Mostly a minute; now and then the machine sleeps or the clock jumps.
        let pause = match random.below(1_000) {
            0..4 => random.below(9 * 86_400),
            4..30 => random.below(12 * 3_600),
            30..300 => random.below(3_600),
            _ => random.below(60),
        };
        self.play(keeper, killed, i64::try_from(pause).unwrap() - back);
    }

    /// Lets everything that is open come to its end.
    fn drain(&mut self) {
        for at in (0..2).filter(|at| self.keepers[*at].is_some()).collect::<Vec<_>>() {
            self.play(Some(at), None, 0);
        }
        self.play(Some(0), None, 30);
        for _ in 0..20_000 {
            if self.ledger.open_firings().unwrap().is_empty() {
                return;
            }
            self.play(None, None, 300);
        }
        panic!("{:?}", self.ledger.open_firings().unwrap());
    }

    /// What became of the planned times of each schedule, and how often the agent ran for each.
    fn ends(&self) -> BTreeMap<String, BTreeMap<i64, (ExpectedEnd, usize)>> {
        let effects = &self.machine.borrow().effects;
        let mut ends: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for row in self.ledger.last_firings(u32::MAX).unwrap() {
            let reason = row.reason.as_deref().unwrap_or_default();
            let end = match row.state {
                FiringState::Done => ExpectedEnd::Done,
                FiringState::Killed => ExpectedEnd::Killed,
                FiringState::Failed if reason.is_empty() => ExpectedEnd::Stopped,
                FiringState::Failed => ExpectedEnd::NeverBegan,
                FiringState::Skipped if reason.starts_with("missed") => ExpectedEnd::Missed,
                FiringState::Skipped => ExpectedEnd::Busy,
                _ => panic!("{row:?}"),
            };
            let end = (end, effects.get(&row.identity).copied().unwrap_or(0));
            ends.entry(row.identity.schedule).or_default().insert(row.identity.planned, end);
        }
        ends
    }
}

const OVERLAPS: [OverlapPolicy; 3] =
    [OverlapPolicy::Skip, OverlapPolicy::Queue, OverlapPolicy::Replace];
const MISFIRES: [MisfirePolicy; 3] = [MisfirePolicy::Once, MisfirePolicy::Skip, MisfirePolicy::All];
/// The last ones fire more often than long runs end.
const CRONS: [&str; 5] =
    ["0 9 * * 1-5", "30 2 * * *", "0 */3 * * *", "15 1 1,15 * *", "0 8-16 * * *"];
const JITTER: u32 = 300;

fn definition(at: usize) -> Schedule {
    Schedule {
        name: Some(written(format!("s{at}"))),
        overlap: Some(written(OVERLAPS[at % 3])),
        misfire: Some(written(MISFIRES[(at / 2) % 3])),
        jitter: (at % 4 == 3).then(|| written(format!("{JITTER}s"))),
        ..schedule(CRONS[at % 5], ZONES[at % 5])
    }
}

/// The planned times of each schedule with the times at which they are due, from the independent calendar.
fn calendars(count: usize) -> Vec<Vec<(i64, i64)>> {
    let calendars = ZONES.map(|zone| Calendar::new(zone, BEGIN, BEGIN + 390 * DAY));
    let due = |at: usize, planned: i64| {
        let (agent, schedule) = ("agent".to_owned(), format!("s{at}"));
        let jitter = if at % 4 == 3 { JITTER } else { 0 };
        (planned, planned + FiringIdentity { agent, schedule, planned }.jitter(jitter))
    };
    let times: Vec<Vec<i64>> =
        calendars.iter().zip(CRONS).map(|(calendar, cron)| calendar.firings(cron)).collect();
    (0..count).map(|at| times[at % 5].iter().map(|time| due(at, *time)).collect()).collect()
}

/// Every planned time has the end that an independent calculation gives it, and the agent ran for it as often.
#[test]
fn every_planned_time_ends_as_calculated() {
    const SCHEDULES: usize = 15;
    let times = calendars(SCHEDULES);
    let shared = Path::new("/dev/shm");
    let mut met = BTreeSet::new();
    for seed in 1..=3_u64 {
        // Every change waits for the disk, so memory is faster where there is such a directory.
        let directory =
            if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
        let directory = directory.unwrap();
        let mut random = SeededRandom(0x9E37_79B9_7F4A_7C15 ^ seed);
        let mut year =
            SimulatedYear::new(directory.path(), (0..SCHEDULES).map(definition).collect(), seed);
        year.play(Some(0), None, 0);
        while year.machine.borrow().now < BEGIN + 365 * DAY {
            year.step(&mut random);
        }
        year.drain();
        let machine = move |schedule: &str, planned: i64, start: u32| {
            process_times(seed, schedule, planned, start)
        };
        let ends = year.ends();
        for (at, times) in times.iter().enumerate() {
            let name = format!("s{at}");
            let (overlap, misfire) = (OVERLAPS[at % 3], MISFIRES[(at / 2) % 3]);
            let expected = ExpectedSchedule { name: &name, overlap, misfire, times };
            let expected = ExpectedYear::of(expected, &machine, &year.steps);
            let found = &ends[&name];
            for (planned, end) in &expected {
                assert_eq!(found.get(planned), Some(end), "seed {seed}: {name} at {planned}");
            }
            assert_eq!(found.len(), expected.len(), "seed {seed}: {name}");
            met.extend(
                expected.values().map(|(end, _)| (*end, overlap as usize, misfire as usize)),
            );
        }
    }
    for overlap in OVERLAPS {
        let has = |end| met.iter().any(|(it, of, _)| (*it, *of) == (end, overlap as usize));
        for end in [ExpectedEnd::Done, ExpectedEnd::Killed, ExpectedEnd::Missed] {
            assert!(has(end), "no {end:?} with {overlap:?}");
        }
        assert_eq!(has(ExpectedEnd::Stopped), overlap == OverlapPolicy::Replace, "{overlap:?}");
        // A later one replaces the run, or waits for it; only `skip` must have met a busy schedule.
        assert!(has(ExpectedEnd::Busy) || overlap != OverlapPolicy::Skip, "{overlap:?}");
    }
    assert!(met.iter().any(|(end, ..)| *end == ExpectedEnd::NeverBegan), "{met:?}");
}
