//! A run of fifty writes is killed at random moments, three hundred times. Whatever the moment, every
//! write happens once, or is put to the person, and nothing that was written down is lost or repeated.
//!
//! The process that is killed is this test itself, started again with a directory to work in.

#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_runtime::journal::{self, About, Journal};
use agentry_runtime::redact::Redactor;
use agentry_runtime::{
    Answer, Block, Call, Class, Effect, Event, Happened, Judgement, Limits, Message, OnError,
    Question, Role, State, Turn, Usage, step,
};

const WRITES: usize = 50;
const KILLS: usize = 300;
/// Runs at a time.
const WORKERS: usize = 3;
const WORK: &str = "AGENTRY_TEST_KILL";

/// Everything outside the run: a file that is written to, and notes of what was asked.
struct World {
    directory: PathBuf,
    journal: Journal,
    state: State,
    clock: u64,
}

impl World {
    fn note(&self, file: &str, line: &str) {
        let path = self.directory.join(file);
        let mut file = OpenOptions::new().append(true).create(true).open(path).expect("a file");
        // One call of the system: it happens or it does not.
        file.write_all(format!("{line}\n").as_bytes()).expect("a line");
    }

    fn count(&self, file: &str, line: &str) -> usize {
        let text = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        text.lines().filter(|found| *found == line).count()
    }

    /// Writes down what happened, then says what is to be done about it.
    fn happened(&mut self, event: Event, durable: bool) -> Vec<Effect> {
        self.clock += 1;
        let happened = Happened { at: self.clock, event };
        self.journal.append(&happened, durable).expect("a row");
        step(&mut self.state, happened)
    }

    fn perform(&mut self, effect: Effect) -> Vec<Effect> {
        match effect {
            Effect::Ask { model } => {
                let turn = answer(&self.state, model);
                self.note("turns", &self.state.messages.len().to_string());
                self.happened(Event::Turned(turn), false)
            }
            Effect::Judge { id } => {
                let (verdict, reason) = (Judgement::Allow, String::new());
                self.happened(Event::Judged { id, verdict, reason, class: Class::Write }, false)
            }
            Effect::Run { id } => {
                let mut effects = self.happened(Event::Started { id: id.clone() }, true);
                self.note("writes", &id);
                let text = "written".to_owned();
                effects.extend(self.happened(Event::Ended { id, text, failed: false }, false));
                effects
            }
            Effect::Put(Question::Unfinished { id } | Question::Failed { id, .. }) => {
                self.note("questions", &id);
                // The person looks, and says whether it is still to be done.
                let answer = match self.count("writes", &id) {
                    0 => Answer::Yes,
                    _ => Answer::No(None),
                };
                self.happened(Event::Answered { id: Some(id), answer }, false)
            }
            Effect::Finish(ending) => {
                self.journal.finished(&ending).expect("a note");
                Vec::new()
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The model: one write after the other, two at a time, named by their numbers.
fn answer(state: &State, model: usize) -> Turn {
    let made = state.messages.iter().flat_map(Message::calls).count();
    let calls = (made..WRITES.min(made + 2)).map(|number| {
        let (id, tool) = (format!("write-{number}"), "write".to_owned());
        Block::Call(Call { id, tool, arguments: number.into(), opaque: None })
    });
    let message = Message { role: Role::Assistant, blocks: calls.collect() };
    Turn { message, usage: Usage::default(), truncated: false, model }
}

fn began() -> Event {
    Event::Began {
        limits: Limits::default(),
        asks_at_limit: false,
        on_error: OnError::Ask,
        models: 1,
        window: None,
    }
}

/// The process that is killed: begins the run of a directory, or goes on with it.
fn work(directory: &Path) {
    let redactor = Arc::new(Redactor::default());
    let mut effects = Vec::new();
    let known = journal::list(directory).expect("a list");
    let mut world = match known.last() {
        Some(run) => {
            let (journal, _, events) =
                Journal::open(directory, &run.id, redactor).expect("the run");
            let mut state = State::default();
            let clock = events.last().map_or(0, |event| event.at);
            let has_begun = !events.is_empty();
            for event in events {
                effects = step(&mut state, event);
            }
            let mut world = World { directory: directory.to_owned(), journal, state, clock };
            if has_begun {
                effects = world.happened(Event::Resumed, false);
            }
            world
        }
        None => {
            let about = About { started: 1_794_754_833_482, ..About::default() };
            let journal = Journal::create(directory, &about, redactor).expect("a run");
            let directory = directory.to_owned();
            World { directory, journal, state: State::default(), clock: 0 }
        }
    };
    if world.state.messages.is_empty() {
        world.happened(began(), false);
        effects = world.happened(Event::Said { text: "write".to_owned() }, false);
    }
    while !effects.is_empty() {
        let effect = effects.remove(0);
        effects.extend(world.perform(effect));
    }
    world.note("done", "done");
}

/// Does nothing unless it is the process that is killed.
#[test]
fn process_that_is_killed() {
    if let Some(directory) = std::env::var_os(WORK) {
        work(Path::new(&directory));
    }
}

/// Numbers that look drawn by chance, the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// Starts the process; kills it after a while, unless it is done before. Whether it was killed.
fn start_and_kill(directory: &Path, after: Option<Duration>) -> bool {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["--exact", "process_that_is_killed", "--test-threads=1", "--nocapture"])
        .env(WORK, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut killed = false;
    if let Some(after) = after {
        std::thread::sleep(after);
        killed = child.try_wait().expect("a process").is_none();
        child.kill().expect("a process");
    }
    let mut said = String::new();
    child.stderr.take().expect("its errors").read_to_string(&mut said).expect("text");
    let status = child.wait().expect("a process");
    assert!(killed || status.success(), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    killed
}

/// Everything that must hold when a run is over.
fn check(directory: &Path) -> usize {
    let lines = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(directory.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let writes = lines("writes");
    let expected: Vec<String> = (0..WRITES).map(|number| format!("write-{number}")).collect();
    assert_eq!(writes, expected, "{}", directory.display());
    let runs = journal::list(directory).expect("a list");
    let states: Vec<_> = runs.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, ["done"]);
    let (mut follow, _) = journal::Follow::open(directory, &runs[0].id).expect("the run");
    let events = follow.more().expect("rows");
    let turns = events.iter().filter(|event| matches!(event.event, Event::Turned(_))).count();
    assert_eq!(turns, WRITES / 2 + 1, "no answer is lost or asked for twice");
    lines("questions").len()
}

/// Runs, killed and resumed until they are done: how often they were killed, and how many writes were
/// put to the person.
fn killed_runs(root: &Path, worker: usize, length: u64, most: usize) -> (usize, usize) {
    let seed = u64::try_from(worker).expect("few") + 1;
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut kills, mut questions, mut runs) = (0, 0, 0);
    while kills < most {
        let directory = root.join(format!("{worker}-{runs}"));
        fs::create_dir(&directory).expect("a directory");
        // Longer each time, so that every run comes to its end however slow its start is.
        let mut longest = length / 4;
        while !directory.join("done").exists() {
            let after = Duration::from_micros(chance.below(longest));
            kills += usize::from(start_and_kill(&directory, Some(after)));
            longest += length / 20;
        }
        questions += check(&directory);
        runs += 1;
    }
    (kills, questions)
}

#[test]
fn every_write_happens_once() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    // How long one whole run takes here.
    let whole = root.path().join("whole");
    fs::create_dir(&whole).expect("a directory");
    let start = Instant::now();
    start_and_kill(&whole, None);
    let length = u64::try_from(start.elapsed().as_micros()).expect("short");
    check(&whole);
    let (kills, questions) = std::thread::scope(|scope| {
        let work = |worker| killed_runs(root.path(), worker, length, KILLS.div_ceil(WORKERS));
        let workers: Vec<_> =
            (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
        let done = workers.into_iter().map(|worker| worker.join().expect("a worker"));
        done.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    });
    eprintln!("{kills} kills, {questions} questions, {:?}, {length} µs a run", start.elapsed());
    assert!(kills >= KILLS, "{kills} kills");
    assert!(questions > 0, "no write was ever caught in the middle");
}
