//! A run of fifty writes, with the real driver and tools, is killed at random moments, three hundred
//! times. At any moment, every write happens once or the user is asked, and no event is lost or repeated.
//!
//! The killed process is this test itself, started again with its own directory.

#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod points;

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentry_compile::MemoryWorld;
use agentry_compile::model::Agent;
use agentry_compile::policy::{
    Action, Judge, LayerSource, PathAnchors, Permissions, Section, SectionRules, layer,
};
use agentry_compile::text::{FileId, SourceFiles, Span, Spanned};
use agentry_runtime::budget_pot::BudgetShare;
use agentry_runtime::commands::{CommandStarter, RefusedCommands};
use agentry_runtime::driver::RunDriver;
use agentry_runtime::driver::guarded_tools::{GuardedTools, SharedRun};
use agentry_runtime::driver::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, DeltaSink, DriverParts, EventLog, ModelPrompt,
    RunModels,
};
use agentry_runtime::journal::{self, Journal, RunDescription};
use agentry_runtime::rulebook::Rulebook;
use agentry_runtime::tool::{BoxedFuture, CallLocation, EditorFiles, ToolExtras, Toolbox};
use agentry_runtime::undo::{BeforeImages, UndoOutcome, undo};
use agentry_runtime::{
    ErrorStrategy, Message, MessageBlock, MessageRole, ModelFailure, ModelTurn, RunEnding,
    RunEvent, RunLimits, TimedEvent, TokenUsage, ToolCall,
};
use serde_json::json;

const WRITES: usize = 50;
const KILLS: usize = 300;
/// How many runs are active at the same time.
const WORKERS: usize = 3;
const WORK: &str = "AGENTRY_TEST_KILL";

/// A journal as the event log of the driver.
struct Written(Arc<Mutex<Journal>>);

impl EventLog for Written {
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String> {
        let mut journal = self.0.lock().expect("a journal");
        journal.append(happened, durable).map_err(|error| error.to_string())
    }
}

/// The model: one write after the other, two at a time, named by their numbers.
struct Scripted;

impl RunModels for Scripted {
    fn name(&self, _: usize) -> String {
        "scripted".to_owned()
    }

    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        _: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>> {
        let made = prompt.messages.iter().flat_map(|message| message.calls()).count();
        let calls = (made..WRITES.min(made + 2)).map(|number| {
            let (id, tool) = (format!("write-{number}"), "write".to_owned());
            let arguments = json!({ "path": name(number), "content": text(number) });
            MessageBlock::Call(ToolCall { id, tool, arguments, opaque: None })
        });
        let message = Message { role: MessageRole::Assistant, blocks: calls.collect() };
        let turn = ModelTurn { message, usage: TokenUsage::default(), truncated: false, model: 0 };
        Box::pin(std::future::ready(Ok(turn)))
    }
}

fn name(number: usize) -> String {
    format!("deep/{number}.txt")
}

fn text(number: usize) -> String {
    format!("{number}\n")
}

/// The user: checks the file, and answers whether the write is still needed.
struct Looks(PathBuf);

impl Approver for Looks {
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        let (ApprovalRequest::Unfinished(call) | ApprovalRequest::Failed(call, _)) = asked else {
            panic!("{asked:?}");
        };
        note(&self.0, "questions", &call.id);
        let path = call.arguments["path"].as_str().expect("a path");
        let there = fs::read_to_string(self.0.join("work").join(path)).unwrap_or_default();
        let is_done = call.arguments["content"] == there;
        Box::pin(std::future::ready(if is_done {
            ApprovalReply::No(None)
        } else {
            ApprovalReply::Yes
        }))
    }
}

fn note(directory: &Path, file: &str, line: &str) {
    let path = directory.join(file);
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("a file");
    // One system call: it happens completely or not at all.
    file.write_all(format!("{line}\n").as_bytes()).expect("a line");
}

/// Returns rules that allow every write in the workspace.
fn rulebook(workspace: &Path) -> Rulebook {
    let places =
        PathAnchors { workspace: workspace.display().to_string(), home: None, ignores_case: false };
    let span = Span::start_of(FileId::BUILT_IN);
    let free = |section| SectionRules {
        section: Spanned::new(section, span),
        intent: Some(Spanned::new(Action::Allow, span)),
        rules: Vec::new(),
    };
    let sections = [Section::Edit, Section::Read, Section::Bash].map(free).to_vec();
    let permissions = Permissions { sections };
    let judge = Judge::new(vec![layer(LayerSource::Permissions, &permissions, &places)], places);
    let world = Arc::new(MemoryWorld::new(Vec::<(String, String)>::new()));
    Rulebook { world, judge, protected: Vec::new(), sources: SourceFiles::default() }
}

/// What differs between the runs of this test.
struct Parts {
    models: Arc<dyn RunModels>,
    person: Arc<dyn Approver>,
    commands: Arc<dyn CommandStarter>,
    log: Box<dyn EventLog>,
}

/// Returns the real driver with the real tools and their before-images.
fn driver(directory: &Path, journal: &Arc<Mutex<Journal>>, parts: Parts) -> RunDriver {
    let Parts { models, person, commands, log } = parts;
    let workspace = directory.join("work");
    let (run, images) = {
        let journal = journal.lock().expect("a journal");
        (journal.directory().to_path_buf(), journal.images())
    };
    let rulebook = rulebook(&workspace);
    let toolbox = Toolbox::of(&Agent::default(), &rulebook.judge, ToolExtras::default());
    let place = CallLocation {
        directory: workspace.clone(),
        workspace,
        run,
        home: None,
        protected: Vec::new(),
        hidden: Vec::new(),
        editor: EditorFiles::default(),
    };
    let shared = SharedRun {
        rulebook,
        approvals: Arc::default(),
        place: Mutex::new(place),
        images: Some(BeforeImages::new(images).expect("a folder")),
        commands,
        person: Arc::clone(&person),
        output: Arc::new(|_| {}),
        redactor: Arc::default(),
    };
    let parts = DriverParts {
        system: "write".into(),
        models,
        tools: Arc::new(GuardedTools::new(toolbox, Arc::new(shared))),
        person,
        log,
        clock: Arc::new(|| 1_794_754_833_482),
        output: Arc::new(|_| {}),
        redactor: Arc::default(),
        waits: false,
        budget: BudgetShare::default(),
    };
    RunDriver::new(parts, Arc::default())
}

fn began() -> RunEvent {
    RunEvent::Began {
        limits: RunLimits::default(),
        asks_at_limit: false,
        on_error: ErrorStrategy::Ask,
        on_error_is_written: true,
        models: 1,
        window: None,
    }
}

/// Opens the journal of a directory, or creates it.
fn opened(directory: &Path) -> (Journal, Vec<TimedEvent>) {
    let known = journal::list(directory).expect("a list");
    match known.last() {
        Some(run) => {
            let opened = Journal::open(directory, &run.id, Arc::default()).expect("the run");
            (opened.0, opened.2)
        }
        None => {
            let about = RunDescription { started: 1_794_754_833_482, ..RunDescription::default() };
            (Journal::create(directory, &about, Arc::default()).expect("a run"), Vec::new())
        }
    }
}

/// The process that is killed: begins the run of a directory, or resumes it.
fn work(directory: &Path) {
    let directory = &directory.canonicalize().expect("a directory");
    fs::create_dir_all(directory.join("work")).expect("a directory");
    let (journal, events) = opened(directory);
    let journal = Arc::new(Mutex::new(journal));
    let parts = Parts {
        models: Arc::new(Scripted),
        person: Arc::new(Looks(directory.clone())),
        commands: Arc::new(RefusedCommands("no commands here".to_owned())),
        log: Box::new(Written(Arc::clone(&journal))),
    };
    let mut driver = driver(directory, &journal, parts);
    let has_begun = !events.is_empty();
    driver.recall(events);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ending = runtime.expect("a runtime").block_on(async {
        if has_begun && !driver.state().messages.is_empty() {
            return driver.resume().await.expect("a journal").unwrap_or(RunEnding::Done);
        }
        if !has_begun {
            driver.begin(began()).expect("a journal");
        }
        driver.send_message("write".to_owned()).await.expect("a journal")
    });
    assert_eq!(ending, RunEnding::Done);
    journal.lock().expect("a journal").finished(&ending).expect("a note");
    note(directory, "done", "done");
}

/// Does nothing unless this is the process to be killed.
#[test]
fn process_that_is_killed() {
    let Some(directory) = std::env::var_os(WORK) else { return };
    match std::env::var(points::SCENARIO) {
        Ok(scenario) => points::work(Path::new(&directory), &scenario),
        Err(_) => work(Path::new(&directory)),
    }
}

/// Pseudo-random numbers, the same in every test run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// Starts the process, and kills it after a while unless it has ended; returns whether it was killed.
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
    let mut transcript = String::new();
    child.stderr.take().expect("its errors").read_to_string(&mut transcript).expect("text");
    let status = child.wait().expect("a process");
    assert!(killed || status.success(), "{transcript}");
    assert!(!transcript.contains("panicked"), "{transcript}");
    killed
}

/// Checks everything that must hold when a run is over.
fn check(directory: &Path) -> usize {
    let directory = &directory.canonicalize().expect("a directory");
    let asked = fs::read_to_string(directory.join("questions")).unwrap_or_default();
    let runs = journal::list(directory).expect("a list");
    let states: Vec<_> = runs.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, ["done"]);
    let (mut follow, _) = journal::JournalFollower::open(directory, &runs[0].id).expect("the run");
    let events = follow.more().expect("rows");
    let count = |is: &dyn Fn(&RunEvent) -> bool| events.iter().filter(|it| is(&it.event)).count();
    let turns = count(&|event| matches!(event, RunEvent::Turned(_)));
    assert_eq!(turns, WRITES / 2 + 1, "no answer is lost or asked for twice");
    let images = journal::runs(directory).join(&runs[0].id).join("before");
    let changes = fs::read_to_string(images.join("index.jsonl")).expect("before-images");
    for number in 0..WRITES {
        let path = directory.join("work").join(name(number));
        assert_eq!(fs::read_to_string(&path).expect("a file"), text(number), "nothing is lost");
        let id = format!("write-{number}");
        let asked = asked.lines().filter(|line| *line == id).count();
        let started =
            count(&|event| matches!(event, RunEvent::Started { id: other } if *other == id));
        assert!(started >= 1 && started <= 1 + asked, "{id}: {started} starts, {asked} questions");
        let path = path.to_str().expect("a path");
        let kept = changes.lines().filter(|it| it.contains("before") && it.contains(path)).count();
        assert!(kept >= 1 && kept <= started, "{id}: {kept} changes, {started} starts");
    }
    // Everything can be undone; a write that the user was asked about may need `force`.
    let undone = undo(std::slice::from_ref(&images), false, false).expect("before-images");
    assert_eq!(undone.len(), WRITES);
    for (path, undone) in undone {
        let number = path.file_stem().and_then(|stem| stem.to_str()).expect("a number").to_owned();
        let was_asked = asked.lines().any(|line| line == format!("write-{number}"));
        assert!(undone == UndoOutcome::Back || was_asked, "{}: {undone:?}", path.display());
    }
    undo(std::slice::from_ref(&images), true, false).expect("before-images");
    assert!(!directory.join("work/deep").exists());
    asked.lines().count()
}

/// Kills and resumes runs until they are done; returns how often they were killed, and how many writes the
/// user was asked about.
fn killed_runs(root: &Path, worker: usize, length: u64, most: usize) -> (usize, usize) {
    let seed = u64::try_from(worker).expect("few") + 1;
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut kills, mut questions, mut runs) = (0, 0, 0);
    while kills < most {
        let directory = root.join(format!("{worker}-{runs}"));
        fs::create_dir(&directory).expect("a directory");
        // Longer each time, so that every run ends, however slow its start is.
        let mut longest = length / 6;
        while !directory.join("done").exists() {
            let after = Duration::from_micros(chance.below(longest));
            kills += usize::from(start_and_kill(&directory, Some(after)));
            longest += length / 40;
        }
        questions += check(&directory);
        runs += 1;
    }
    (kills, questions)
}

#[test]
fn killed_runs_write_every_file_once() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    // Measures how long one whole run takes here.
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
