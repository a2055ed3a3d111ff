//! A run with one call is killed before and after each of its events, and resumed. A call that was started and
//! has no result is put to the user, whatever the tool is; only a written error strategy decides otherwise.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use agentry_runtime::commands::UnconfinedCommands;
use agentry_runtime::driver::interfaces::{
    AbsentApprover, ApprovalReply, ApprovalRequest, Approver, DeltaSink, EventLog, ModelPrompt,
    RunModels,
};
use agentry_runtime::journal::{self, Journal, RunState};
use agentry_runtime::tool::BoxedFuture;
use agentry_runtime::{
    ErrorStrategy, Message, MessageBlock, MessageRole, ModelFailure, ModelTurn, RunEnding,
    RunEvent, RunLimits, TimedEvent, TokenUsage, ToolCall,
};
use serde_json::{Value, json};

use super::{Parts, WORK, driver, opened};

/// The variable with the scenario of the process.
pub(super) const SCENARIO: &str = "AGENTRY_TEST_KILL_SCENARIO";

/// The tools that change something.
const TOOLS: [&str; 4] = ["write", "edit", "apply_patch", "bash"];

fn arguments(tool: &str) -> Value {
    match tool {
        "write" => json!({ "path": "log", "content": "old\neffect\n" }),
        "edit" => json!({ "path": "log", "old_string": "old\n", "new_string": "old\neffect\n" }),
        "apply_patch" => json!({
            "patch": "*** Begin Patch\n*** Update File: log\n@@\n old\n+effect\n*** End Patch"
        }),
        _ => json!({ "command": "echo effect >> log" }),
    }
}

/// The model: one call, then nothing more.
struct OneCall(String);

impl RunModels for OneCall {
    fn name(&self, _: usize) -> String {
        "scripted".to_owned()
    }

    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        _: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>> {
        let call = || ToolCall {
            id: "call".to_owned(),
            tool: self.0.clone(),
            arguments: arguments(&self.0),
            opaque: None,
        };
        let is_made = prompt.messages.iter().any(|message| message.calls().next().is_some());
        let blocks = if is_made { Vec::new() } else { vec![MessageBlock::Call(call())] };
        let message = Message { role: MessageRole::Assistant, blocks };
        let turn = ModelTurn { message, usage: TokenUsage::default(), truncated: false, model: 0 };
        Box::pin(std::future::ready(Ok(turn)))
    }
}

/// A journal that kills its process before or after it writes an event.
struct Deadly {
    journal: Arc<Mutex<Journal>>,
    left: usize,
    kill: Kill,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kill {
    Before,
    After,
    Never,
}

impl EventLog for Deadly {
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String> {
        let dies = |this: &Self, kill| this.left == 0 && this.kill == kill;
        if dies(self, Kill::Before) {
            die();
        }
        let mut journal = self.journal.lock().expect("a journal");
        journal.append(happened, durable).map_err(|error| error.to_string())?;
        drop(journal);
        if dies(self, Kill::After) {
            die();
        }
        self.left = self.left.wrapping_sub(1);
        Ok(())
    }
}

/// Kills this process at once, as the system would.
fn die() {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("a kill");
    loop {
        std::thread::park();
    }
}

/// A user with one answer.
struct Answers(ApprovalReply);

impl Approver for Answers {
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        let about_call =
            matches!(asked, ApprovalRequest::Unfinished(_) | ApprovalRequest::Failed(..));
        assert!(about_call, "{asked:?}");
        Box::pin(std::future::ready(self.0.clone()))
    }
}

/// The process: `scenario` is the tool, the error strategy, the user, and where it dies.
pub(super) fn work(directory: &Path, scenario: &str) {
    let words: Vec<&str> = scenario.split(' ').collect();
    let [tool, on_error, person, kill, at] = words.as_slice() else { panic!("{scenario}") };
    let directory = &directory.canonicalize().expect("a directory");
    let (journal, events) = opened(directory);
    let journal = Arc::new(Mutex::new(journal));
    let kill = match *kill {
        "before" => Kill::Before,
        "after" => Kill::After,
        _ => Kill::Never,
    };
    let left = at.parse().expect("a number");
    let person: Arc<dyn Approver> = match *person {
        "deny" => Arc::new(AbsentApprover::Denies),
        "park" => Arc::new(AbsentApprover::Parks),
        "yes" => Arc::new(Answers(ApprovalReply::Yes)),
        _ => Arc::new(Answers(ApprovalReply::No(None))),
    };
    let path = std::env::var("PATH").unwrap_or_default();
    let parts = Parts {
        models: Arc::new(OneCall((*tool).to_owned())),
        person,
        commands: Arc::new(UnconfinedCommands {
            usual: vec![("PATH".to_owned(), path)],
            granted: Vec::new(),
        }),
        log: Box::new(Deadly { journal: Arc::clone(&journal), left, kill }),
    };
    let mut driver = driver(directory, &journal, parts);
    let (has_begun, was_asked) = (!events.is_empty(), events.len() > 1);
    driver.recall(events);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ending = runtime.expect("a runtime").block_on(async {
        if was_asked {
            return driver.resume().await.expect("a journal").unwrap_or(RunEnding::Done);
        }
        if !has_begun {
            driver.begin(began(on_error)).expect("a journal");
        }
        driver.send_message("go".to_owned()).await.expect("a journal")
    });
    journal.lock().expect("a journal").finished(&ending).expect("a note");
}

fn began(on_error: &str) -> RunEvent {
    RunEvent::Began {
        limits: RunLimits::default(),
        asks_at_limit: false,
        on_error: match on_error {
            "ask" => ErrorStrategy::Ask,
            "retry" => ErrorStrategy::Retry,
            "fail" => ErrorStrategy::Fail,
            _ => ErrorStrategy::Skip,
        },
        on_error_is_written: on_error != "-",
        models: 1,
        window: None,
    }
}

/// Runs the process in a directory; returns whether it was killed.
fn start(directory: &Path, scenario: &str) -> bool {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--exact", "process_that_is_killed", "--test-threads=1", "--nocapture"])
        .env(WORK, directory)
        .env(SCENARIO, scenario)
        .stdin(Stdio::null())
        .output()
        .expect("a process");
    let killed = output.status.signal() == Some(9);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(killed || output.status.success(), "{scenario}: {errors}");
    killed
}

/// What is seen of a run.
struct Seen {
    state: RunState,
    detail: String,
    starts: usize,
    results: usize,
    /// How often the effect is in the file.
    effects: usize,
}

fn seen(directory: &Path) -> Seen {
    let runs = journal::list(directory).expect("a list");
    let run = runs.last().expect("a run");
    let (mut follow, _) = journal::JournalFollower::open(directory, &run.id).expect("the run");
    let events = follow.more().expect("rows");
    let count = |is: fn(&RunEvent) -> bool| events.iter().filter(|it| is(&it.event)).count();
    let log = fs::read_to_string(directory.join("work/log")).expect("the file");
    Seen {
        state: run.state,
        detail: run.detail.clone().unwrap_or_default(),
        starts: count(|event| matches!(event, RunEvent::Started { .. })),
        results: count(|event| matches!(event, RunEvent::Ended { .. })),
        effects: log.lines().filter(|line| *line == "effect").count(),
    }
}

/// A fresh directory with the file that the calls change.
fn fresh(root: &Path, name: &str) -> std::path::PathBuf {
    let directory = root.join(name.replace(' ', "-"));
    fs::create_dir_all(directory.join("work")).expect("a directory");
    fs::write(directory.join("work/log"), "old\n").expect("a file");
    directory
}

#[test]
fn unfinished_calls_are_asked_about_after_a_kill() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    for tool in TOOLS {
        let mut unfinished = 0;
        for kill in ["before", "after"] {
            for at in 0.. {
                let scenario = format!("{tool} - park {kill} {at}");
                let directory = fresh(root.path(), &scenario);
                if !start(&directory, &scenario) {
                    break;
                }
                // Killed before the journal had a row, or before the message was sent.
                let known = journal::list(&directory).expect("a list");
                let before = (!known.is_empty()).then(|| seen(&directory));
                let is_unfinished = before.as_ref().is_some_and(|it| it.starts > it.results);
                unfinished += usize::from(is_unfinished);
                start(&directory, &format!("{tool} - park never 0"));
                let now = seen(&directory);
                if is_unfinished {
                    assert_eq!(now.state, RunState::Parked, "{scenario}");
                    assert!(
                        now.detail.contains(&format!("`{tool}`")),
                        "{scenario}: {}",
                        now.detail
                    );
                    assert_eq!(now.starts, 1, "{scenario}: it is not run again");
                    // The user has seen that it happened, or that it did not.
                    let answer = if now.effects == 0 { "yes" } else { "no" };
                    start(&directory, &format!("{tool} - {answer} never 0"));
                }
                let now = seen(&directory);
                assert_eq!((now.state, now.effects), (RunState::Done, 1), "{scenario}");
            }
        }
        assert!(unfinished >= 2, "{tool}: after its start, and before its end");
    }
}

#[test]
fn error_strategies_decide_about_unfinished_calls() {
    // The strategy, the user, the state of the resumed run, how often the call was started.
    let cases = [
        ("-", "deny", RunState::Done),
        ("ask", "park", RunState::Parked),
        ("ask", "deny", RunState::Done),
        ("retry", "park", RunState::Parked),
        ("retry", "deny", RunState::Done),
        ("fail", "park", RunState::Failed),
        ("skip", "park", RunState::Done),
    ];
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    // The events of a call: began, said, asking, turned, judged, started, ended.
    let ended = 6;
    for tool in TOOLS {
        for (on_error, person, state) in cases {
            let scenario = format!("{tool} {on_error} {person} before {ended}");
            let directory = fresh(root.path(), &scenario);
            assert!(start(&directory, &scenario), "{scenario}");
            let before = seen(&directory);
            assert_eq!((before.starts, before.results, before.effects), (1, 0, 1), "{scenario}");
            start(&directory, &format!("{tool} {on_error} {person} never 0"));
            let now = seen(&directory);
            assert_eq!((now.state, now.starts, now.effects), (state, 1, 1), "{scenario}");
        }
    }
}
