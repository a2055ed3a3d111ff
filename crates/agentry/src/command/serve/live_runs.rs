//! The runs that this server started and that still have a process.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_runtime::journal::{self, RunState};
use agentry_server::LiveSignal;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::approval_book::{AnswerOutcome, ApprovalBook, ApprovalRecord, ApprovalState};
use super::live_run::LiveRun;
use crate::command::served_agent::{in_one_line, steered_words};
use crate::command::steered_run::{RunSteering, StartPlace, SteeredEvent, SteeredRun};

/// How long a run may take to begin: its servers start before it.
const START_TIME: Duration = Duration::from_mins(3);
/// How long a run may take to park when the server ends.
const PARK_TIME: Duration = Duration::from_secs(10);
/// How long a run that ends may take.
const END_TIME: Duration = Duration::from_mins(1);
/// The answer to an approval if no user can be asked.
const ABSENT: &str = "nobody can be asked here";

/// The live runs by their ids.
type RunRegistry = Arc<Mutex<BTreeMap<String, Arc<LiveRun>>>>;

/// The registry of live runs.
pub(super) struct LiveRuns {
    home: PathBuf,
    book: Arc<ApprovalBook>,
    runs: RunRegistry,
    order: Mutex<()>,
}

/// Why a run did not begin.
pub(super) struct RefusedStart(pub(super) String);

impl LiveRuns {
    pub(super) fn new(home: PathBuf, book: Arc<ApprovalBook>) -> Self {
        Self { home, book, runs: Arc::default(), order: Mutex::default() }
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Arc<LiveRun>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process of a run.
    pub(super) fn get(&self, run: &str) -> Option<Arc<LiveRun>> {
        self.runs().get(run).cloned()
    }

    /// Answers whether a run is working now.
    pub(super) fn busy(&self) -> impl Fn(&str) -> bool + use<> {
        let runs = self.runs();
        let busy = runs.iter().filter(|(_, run)| run.is_busy());
        let busy: HashSet<String> = busy.map(|(id, _)| id.clone()).collect();
        move |run| busy.contains(run)
    }

    /// How many runs have a process.
    pub(super) fn count(&self) -> usize {
        self.runs().len()
    }

    /// Starts a run of an agent.
    pub(super) fn start(
        &self,
        agent: &str,
        prompt: &str,
        waits: bool,
    ) -> Result<String, RefusedStart> {
        let on_ask = if waits { "park" } else { "deny" };
        self.begin(&steered_words(&["run", "--on-ask", on_ask], &[agent, prompt]), waits)
    }

    /// Continues a run, with a message if there is one.
    pub(super) fn resume(&self, run: &str, text: Option<&str>) -> Result<String, RefusedStart> {
        // A process that parks or ends still has the journal.
        if let Some(live) = self.get(run) {
            live.wait_for_end(END_TIME);
        }
        let last: Vec<&str> = [run].into_iter().chain(text).collect();
        self.begin(&steered_words(&["resume", "--on-ask", "park"], &last), true)
    }

    /// Sends a message to a run. One that has no process is continued with it.
    pub(super) fn send_message(&self, run: &str, text: &str) -> Result<(), RefusedStart> {
        // One that ends already takes no message, so the message comes next.
        if self.get(run).is_some_and(|live| live.send_message(text)) {
            return Ok(());
        }
        self.resume(run, Some(text)).map(drop)
    }

    /// Starts the process of a run that this machine has claimed.
    pub(super) fn start_claimed(
        &self,
        words: &[String],
        (waits, lease): (bool, String),
        directory: Option<PathBuf>,
    ) -> Result<String, RefusedStart> {
        self.begin_with(words, waits, StartPlace { lease: Some(lease), directory })
    }

    fn begin(&self, words: &[String], waits: bool) -> Result<String, RefusedStart> {
        self.begin_with(words, waits, StartPlace::default())
    }

    /// Starts the process, waits until the run began, and reads its events from then on. Called where it may block.
    fn begin_with(
        &self,
        words: &[String],
        waits: bool,
        place: StartPlace,
    ) -> Result<String, RefusedStart> {
        let parks = place.lease.is_some();
        let mut run = SteeredRun::start_with(words, place)
            .map_err(|failure| RefusedStart(in_one_line(&failure)))?;
        let first = first_event(&mut run);
        let began =
            Handle::current().block_on(async { tokio::time::timeout(START_TIME, first).await });
        // A run that is dropped here is told that it ends.
        let late = || Err("the run did not begin in time".to_owned());
        let (id, name) = began.unwrap_or_else(|_| late()).map_err(RefusedStart)?;
        let SteeredRun { events, steering } = run;
        let live = Arc::new(LiveRun::new(steering, waits));
        // Registered before the caller knows it, so that it is found at once.
        self.runs().insert(id.clone(), Arc::clone(&live));
        let follower = RunFollower {
            home: self.home.clone(),
            book: Arc::clone(&self.book),
            runs: Arc::clone(&self.runs),
            live,
            id: id.clone(),
            name,
            parks,
        };
        tokio::spawn(follower.follow(events));
        Ok(id)
    }

    /// Parks the runs whose approvals are older than this.
    pub(super) fn park_overdue(&self, before: u64) {
        let _order = self.order();
        for run in self.book.overdue(before) {
            if let Some(live) = self.get(&run) {
                // Noted first: an answer from now on has to continue the run.
                self.book.park(&run);
                live.steer(|run| run.command("park"));
            }
        }
    }

    /// Parks every run at its question, or stops what it does, and waits until all have ended. `resume` goes on with
    /// both. Returns how many there were. Called where it may block.
    pub(super) fn park_all(&self) -> usize {
        let waiting = self.book.waiting_runs();
        let runs: Vec<_> =
            self.runs().iter().map(|(id, run)| (id.clone(), Arc::clone(run))).collect();
        for (id, run) in &runs {
            let word = if waiting.contains(id) { "park" } else { "stop" };
            run.steer(|run| run.command(word));
            run.leave();
        }
        runs.iter().for_each(|(_, run)| run.wait_for_end(PARK_TIME));
        runs.len()
    }

    /// Records an answer, and sends it if the process of the run waits for it.
    pub(super) fn answer(&self, id: &str, answer: &str, reason: Option<String>) -> AnswerOutcome {
        let _order = self.order();
        let outcome = self.book.answer(id, answer, reason);
        if let AnswerOutcome::Deliver(record) = &outcome
            && let Some(live) = self.get(&record.run)
        {
            live.steer(|run| deliver(run, record));
        }
        outcome
    }

    /// Held while the book changes and a command is sent, so that a run gets an answer before it is told to park, or
    /// the answer knows that the run parks.
    fn order(&self) -> MutexGuard<'_, ()> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves all runs alone; returns how many there were.
    pub(super) fn leave(&self) -> usize {
        let runs = self.runs();
        runs.values().for_each(|run| run.leave());
        runs.len()
    }
}

/// The id of the run and the name of its agent, or why it did not begin.
async fn first_event(run: &mut SteeredRun) -> Result<(String, String), String> {
    while let Some(event) = run.events.recv().await {
        match event {
            SteeredEvent::Run { id: Some(id), agent, .. } => return Ok((id, agent)),
            SteeredEvent::Refused { message, details, hint } => {
                let lines = [message].into_iter().chain(details).chain(hint);
                return Err(lines.collect::<Vec<_>>().join("; "));
            }
            _ => {}
        }
    }
    Err("the run ended before it began".to_owned())
}

/// Follows the events of one process.
struct RunFollower {
    home: PathBuf,
    book: Arc<ApprovalBook>,
    runs: RunRegistry,
    live: Arc<LiveRun>,
    id: String,
    /// The name of the agent.
    name: String,
    /// Whether it parks at once where it needs a person, who may be at another machine.
    parks: bool,
}

impl RunFollower {
    /// Reads events until the process has ended.
    async fn follow(self, mut events: mpsc::Receiver<SteeredEvent>) {
        while let Some(event) = events.recv().await {
            if event.is_piece() {
                let piece = serde_json::to_value(&event).unwrap_or_default();
                self.live.signal(LiveSignal::Piece(piece));
                continue;
            }
            self.live.set_busy(!matches!(event, SteeredEvent::Ended { .. }));
            match event {
                SteeredEvent::Approval(asked) if self.live.waits => {
                    self.ask(ApprovalRecord::of_approval(&self.id, &self.name, asked));
                }
                SteeredEvent::Question { question, text, choices } if self.live.waits => {
                    let asked = ApprovalRecord::of_question(&self.id, &self.name, question);
                    self.ask(ApprovalRecord { question: text, choices, ..asked });
                }
                SteeredEvent::Approval(asked) => {
                    self.live.steer(|run| run.deny(asked.question, ABSENT));
                }
                SteeredEvent::Question { question, .. } => {
                    self.live.steer(|run| run.reply(question, None));
                }
                SteeredEvent::Withdrawn { question } => self.book.withdraw(&self.id, question),
                SteeredEvent::Ended { .. } => self.live.turn_ended(),
                _ => {}
            }
            self.live.signal(LiveSignal::Changed);
        }
        self.live.leave();
        self.live.set_busy(false);
        // A long journal takes time to read.
        let _ = tokio::task::spawn_blocking(move || self.close()).await;
    }

    /// Forgets the run: its process has ended.
    fn close(&self) {
        let summary = journal::summary(&self.home, &self.id);
        let is_parked = summary.is_ok_and(|it| it.state == RunState::Parked);
        self.book.leave(&self.id, is_parked);
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.live.set_ended();
        self.live.signal(LiveSignal::Changed);
    }

    /// Puts a question to a person, or answers it with what the person said while the run was parked.
    fn ask(&self, asked: ApprovalRecord) {
        let record = self.book.asked(asked);
        if record.state == ApprovalState::Delivered {
            self.live.steer(|run| deliver(run, &record));
        } else if self.parks && record.kind != "question" {
            self.book.park(&self.id);
            self.live.steer(|run| run.command("park"));
        }
    }
}

/// Sends the answer to a question.
fn deliver(run: &RunSteering, record: &ApprovalRecord) {
    let (Some(number), Some(answer)) = (record.number, &record.answer) else { return };
    match (record.kind.as_str(), answer.as_str(), record.reason.as_deref()) {
        ("question", _, text) => run.reply(number, text),
        (_, "no", Some(reason)) => run.deny(number, reason),
        (_, answer, _) => run.answer(number, answer),
    }
}
