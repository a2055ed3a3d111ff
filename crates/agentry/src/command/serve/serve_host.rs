//! What the server asks this program for: agents, runs, approvals, schedules and receipts of this home.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_home::HomeLayout;
use agentry_home::receipt::receipt_files;
use agentry_mcp::serving::ServedHttp;
use agentry_runtime::journal::{self, JournalError, RunState, RunSummary};
use agentry_runtime::undo::{changed_files, joined_diff};
use agentry_server::{EventBatch, HostCall, HostError, HostReply, ListWindow, LiveSignal, RunHost};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::approval_book::{AnswerOutcome, ApprovalBook, ApprovalRecord};
use super::engine_runs::EngineRuns;
use super::live_runs::{LiveRuns, RefusedStart};
use super::mcp_tools::McpTools;
use super::offered_agents::{AgentOffers, MeantAgent, OfferedAgent};
use super::parked_question::parked_question;
use super::recent_list::RecentList;
use super::run_feed::RunFeeds;
use super::run_list::RunList;
use super::start_keys::{KeyedOutcome, StartKeys};
use super::transcript::transcript;
use crate::args::REJECTED;
use crate::command::run::confinement::ConfinedCommands;
use crate::command::run::first_consent::{agree, agreement_rows, is_agreed};
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::session::now;
use crate::command::runs::{admit_owner, is_withheld};
use crate::command::sandbox::this_program;
use crate::command::schedule::found_schedules::found;
use crate::command::schedule::{entry, open_ledger};
use crate::command::served_agent::in_one_line;
use crate::command::{proposals, receipts};
use crate::engine;
use crate::output::{CliFailure, error_text, remark};

/// The time between two looks at the runs of other processes, in times of a look.
const LOOKING: u32 = 20;
/// The next times of a schedule that are shown.
const UPCOMING: usize = 3;
/// The longest prompt: it is an argument of a process.
const MOST_PROMPT: usize = 100_000;

/// This program behind the server.
pub(super) struct ServeHost {
    home: PathBuf,
    agents: AgentOffers,
    list: RunList,
    recent: RecentList,
    feeds: RunFeeds,
    book: Arc<ApprovalBook>,
    live: LiveRuns,
    keys: StartKeys,
    park_after: Duration,
    engine: Option<EngineRuns>,
    mcp: McpTools,
    /// When runs of other processes were looked for, and how long it took.
    looked: Mutex<Option<(Instant, Duration)>>,
}

type HostResult = Result<HostReply, HostError>;

impl ServeHost {
    pub(super) fn open(
        home: PathBuf,
        agents: &[String],
        park_after: Duration,
        engine: Option<EngineRuns>,
    ) -> Result<Self, CliFailure> {
        let directory = home.join("serve");
        let book = ApprovalBook::open(directory.join("approvals"), &home).map_err(|error| {
            CliFailure::new(format!("approvals cannot be kept: {}", error_text(&error)))
        })?;
        let book = Arc::new(book);
        Ok(Self {
            agents: AgentOffers::new(agents, HomeLayout::new(&home)),
            list: RunList::new(home.clone()),
            recent: RecentList::default(),
            feeds: RunFeeds::new(home.clone()),
            live: LiveRuns::new(home.clone(), Arc::clone(&book)),
            keys: StartKeys::open(directory.join("keys.json")),
            book,
            park_after,
            mcp: McpTools::new(),
            looked: Mutex::default(),
            home,
            engine,
        })
    }

    /// Looks at the engine until the server ends: what changed, and which runs this machine can take. Blocks.
    pub(super) fn follow_engine(self: &Arc<Self>) {
        let Some(engine) = &self.engine else { return };
        if let Err(failure) = crate::engine::refresh(&self.home) {
            remark(&format!("warning: {}", failure.message));
            engine.note_outage();
        }
        while let Some(claimed) = engine.claim(&self.home, &self.agents, self.live.count()) {
            let host = Arc::clone(self);
            drop(tokio::task::spawn_blocking(move || {
                if let Some(engine) = &host.engine {
                    engine.start(&claimed, &host.home, (&host.live, &host.book));
                }
            }));
        }
        engine.wait();
    }

    pub(super) const fn has_engine(&self) -> bool {
        self.engine.is_some()
    }

    /// Continues a run: here, or by whichever worker takes it.
    fn go_on(&self, run: &str) -> Result<(), RefusedStart> {
        match &self.engine {
            Some(engine) if engine.queue_again(&self.home, run)? => Ok(()),
            _ => self.live.resume(run, None).map(drop),
        }
    }

    /// What is done from time to time.
    pub(super) fn tick(&self) {
        let after = u64::try_from(self.park_after.as_millis()).unwrap_or(u64::MAX);
        self.live.park_overdue(now().saturating_sub(after));
        self.feeds.sweep();
    }

    /// Continues the runs whose answers were not delivered before an earlier server ended.
    pub(super) fn continue_answered(&self) {
        for (approval, run) in self.book.undelivered() {
            if self.go_on(&run).is_err() {
                self.book.forget_answer(&approval);
            }
        }
    }

    /// Parks all runs; returns how many there were.
    pub(super) fn park(&self) -> usize {
        self.live.park_all()
    }

    /// Leaves all runs alone; returns how many there are.
    pub(super) fn leave(&self) -> usize {
        self.live.leave()
    }

    /// The agent that a request means.
    fn agent(&self, text: &str) -> Result<OfferedAgent, HostError> {
        match self.agents.meant(text) {
            MeantAgent::One(agent) => Ok(agent),
            MeantAgent::None => Err(HostError::Missing(format!("there is no agent `{text}`"))),
            MeantAgent::Several(ids) => {
                let message = format!("`{text}` may be {}; name the id", ids.join(", "));
                Err(HostError::Invalid(message))
            }
        }
    }

    /// One agent, with what it may do and what it has done.
    fn agent_page(&self, text: &str) -> HostResult {
        let agent = self.agent(text)?;
        let mut page = agent.as_json();
        let ground = match PreparedAgent::read(&agent.argument, None) {
            Ok(ground) => ground,
            Err(failure) => {
                page["problem"] = json!(failure.message);
                return Ok(page.into());
            }
        };
        let sandbox = ConfinedCommands::new(&ground, false).words();
        let may = agreement_rows(&ground, sandbox).into_iter();
        page["digest"] = json!(ground.digest);
        page["consented"] = json!(is_agreed(&ground));
        page["may"] = may.map(|(what, rule)| json!({ "what": what, "rule": rule })).collect();
        let schedules = self.schedules()?;
        let schedules = schedules.as_array().into_iter().flatten();
        page["schedules"] = schedules.filter(|it| it["agent"] == agent.name).cloned().collect();
        if agent.is_installed {
            let json = ["--format", "json"];
            page["memory"] = program(&[&["memory", "list", &agent.id], &json[..]].concat());
            page["proposals"] = program(&[&["proposals", "list", &agent.id], &json[..]].concat());
        }
        Ok(page.into())
    }

    /// The user agrees to an agent that has the digest that the user saw.
    fn consent(&self, text: &str, digest: &str) -> HostResult {
        let ground = ground(&self.agent(text)?)?;
        if ground.digest != digest {
            let message = "the agent changed meanwhile";
            let body = json!({ "error": "changed", "message": message, "digest": ground.digest });
            return Err(HostError::Conflict(body));
        }
        agree(&ground).map_err(failed)?;
        Ok(json!({ "digest": digest }).into())
    }

    /// A person accepts a change that an installed agent proposes to itself, or rejects it for a reason.
    fn decide(&self, text: &str, proposal: &str, rejection: Option<&str>) -> HostResult {
        let agent = self.agent(text)?;
        let decided = if agent.is_installed {
            proposals::decide((&agent.id, proposal), rejection)
        } else {
            Ok(None)
        };
        match decided {
            Ok(Some(decided)) => Ok(decided.into()),
            Ok(None) => {
                let message = format!("the agent `{text}` has no proposal `{proposal}`");
                Err(HostError::Missing(message))
            }
            Err(failure) => {
                let message = in_one_line(&failure);
                Err(HostError::Conflict(json!({ "error": "proposal", "message": message })))
            }
        }
    }

    fn start(
        &self,
        (text, prompt, commit): (&str, &str, Option<&str>),
        key: Option<&str>,
        waits: bool,
    ) -> HostResult {
        if prompt.len() > MOST_PROMPT || prompt.contains('\0') {
            let message = format!("a prompt has at most {MOST_PROMPT} bytes, and no NUL");
            return Err(HostError::Invalid(message));
        }
        let start = || {
            let agent = self.agent(text)?;
            let ground = ground(&agent)?;
            // The caller that starts a run never consents to it.
            if !is_agreed(&ground) {
                let message = "nobody agreed yet to what the agent may do";
                return Err(HostError::Conflict(json!({
                    "error": "consent", "message": message, "agent": agent.id, "digest": ground.digest,
                })));
            }
            match &self.engine {
                Some(engine) => {
                    engine.queue(&self.home, &ground, (prompt, commit), waits).map_err(refused)
                }
                None if commit.is_some() => {
                    let message = "a run of a commit needs an engine with workers";
                    Err(HostError::Invalid(message.to_owned()))
                }
                None => self.live.start(&agent.argument, prompt, waits).map_err(refused),
            }
        };
        let asked = match commit {
            Some(commit) => json!([text, prompt, commit]),
            None => json!([text, prompt]),
        };
        let run = match key {
            None => start()?,
            Some(key) => match self.keys.start(key, &asked.to_string(), start) {
                KeyedOutcome::Run(run) => run,
                KeyedOutcome::Failed(error) => return Err(error),
                KeyedOutcome::OtherRequest => {
                    let message = "the key was used for another request";
                    return Err(HostError::Conflict(json!({ "error": "key", "message": message })));
                }
            },
        };
        Ok(json!({ "id": run }).into())
    }

    /// A run, unless it has private memories of another user.
    fn run(&self, id: &str) -> Result<Arc<RunSummary>, HostError> {
        let summary = self.list.summary(id).map_err(unreadable)?;
        if let Some(owner) = &summary.about.settings.user {
            let private = |failure: CliFailure| HostError::Missing(failure.message);
            admit_owner(id, owner).map_err(private)?;
        }
        Ok(summary)
    }

    fn run_page(&self, id: &str) -> HostResult {
        let summary = self.run(id)?;
        let mut page = self.list.as_json(&summary, self.is_waiting(id));
        let about = &summary.about;
        page["prompt"] = json!(about.prompt);
        page["digest"] = json!(about.digest);
        page["models"] = json!(about.models);
        page["tools"] = json!(about.tools);
        page["sandbox"] = json!(about.sandbox);
        page["workspace"] = json!(about.workspace);
        if summary.state != RunState::Damaged {
            let spent = self.feeds.with(id, |feed| json!(feed.spent())).map_err(unreadable)?;
            page["spent"] = spent;
        }
        let delegates = journal::delegates(&self.home, id).unwrap_or_default().into_iter();
        let delegates = delegates.map(|(run, about)| json!({ "id": run, "name": about.name }));
        page["delegates"] = delegates.collect();
        Ok(page.into())
    }

    fn is_waiting(&self, run: &str) -> bool {
        self.book.waiting_runs().contains(run)
    }

    fn runs(&self, window: &ListWindow) -> HostResult {
        if let Some(reply) = self.recent.get(window) {
            return Ok(reply);
        }
        let since = self.recent.begin();
        let waiting = self.book.waiting_runs();
        let agent = window.agent.as_deref();
        let agent = agent.map(|text| self.agent(text)).transpose()?;
        let is_meant =
            |run: &RunSummary| agent.as_ref().is_none_or(|agent| run.about.name == agent.name);
        let listed = self.list.window(window, self.live.busy(), is_meant);
        let (runs, next) = listed.map_err(unreadable)?;
        let entry = |run: &Arc<RunSummary>| self.list.as_json(run, waiting.contains(&run.id));
        let reply = HostReply { body: runs.iter().map(entry).collect(), next };
        self.recent.keep(since, window, &reply);
        Ok(reply)
    }

    fn send_message(&self, run: &str, text: &str) -> HostResult {
        let summary = self.run(run)?;
        admit_parent(&summary)?;
        if summary.state == RunState::Running && self.live.get(run).is_none() {
            return Err(elsewhere());
        }
        if text.len() > MOST_PROMPT || text.contains('\0') {
            let message = format!("a message has at most {MOST_PROMPT} bytes, and no NUL");
            return Err(HostError::Invalid(message));
        }
        self.live.send_message(run, text).map_err(refused)?;
        Ok(json!({ "id": run }).into())
    }

    fn cancel(&self, run: &str) -> HostResult {
        let summary = self.run(run)?;
        if summary.state != RunState::Running {
            let message = "the run has no process";
            return Err(HostError::Conflict(json!({ "error": "state", "message": message })));
        }
        match (self.live.get(run), &self.engine) {
            (None, Some(engine)) if crate::engine::has(&self.home, run) => {
                engine.cancel(run).map_err(refused)?;
                return Ok(json!({ "id": run }).into());
            }
            (Some(live), _) => live.steer(|run| run.command("stop")),
            (None, _) if self.mcp.stop(run) => {}
            (None, _) => return Err(elsewhere()),
        }
        Ok(json!({ "id": run }).into())
    }

    fn resume(&self, run: &str) -> HostResult {
        let summary = self.run(run)?;
        admit_parent(&summary)?;
        match summary.state {
            RunState::Running => {
                let message = "the run has a process already";
                return Err(HostError::Conflict(json!({ "error": "state", "message": message })));
            }
            RunState::Done | RunState::Failed | RunState::Damaged => {
                let message = "nothing is left to do: a message continues it";
                return Err(HostError::Conflict(json!({ "error": "state", "message": message })));
            }
            RunState::Parked
            | RunState::Interrupted
            | RunState::Cancelled
            | RunState::OverBudget => {}
        }
        self.go_on(run).map_err(refused)?;
        Ok(json!({ "id": run }).into())
    }

    /// Restores files in a process of its own, which locks the run and its delegates.
    fn undo(&self, run: &str) -> HostResult {
        self.run(run)?;
        let undone = program(&["runs", "undo", "--format", "json", "--", run]);
        if undone.is_array() {
            return Ok(json!({ "id": run, "files": undone }).into());
        }
        let message = "the run has a process, or its changes cannot be undone";
        Err(HostError::Conflict(json!({ "error": "state", "message": message })))
    }

    fn changes(&self, run: &str) -> HostResult {
        self.run(run)?;
        let tree = journal::tree(&self.home, run).map_err(unreadable)?;
        let directories =
            tree.iter().map(|id| journal::images(&journal::runs(&self.home).join(id)));
        let changed = changed_files(&directories.collect::<Vec<_>>());
        let changed = changed.map_err(|error| HostError::Failed(error_text(&error)))?;
        Ok(json!(joined_diff(&changed)).into())
    }

    /// Looks for runs that other processes parked or continued. Looking takes at most a small part of the time,
    /// however many runs there are and however often pages ask.
    fn adopt_parked(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_some_and(|(at, time)| at.elapsed() < time * LOOKING) {
            return;
        }
        let start = Instant::now();
        let parked = self.list.parked(self.live.busy());
        let ids: HashSet<&str> = parked.iter().map(|it| it.id.as_str()).collect();
        self.book.settle(
            // What waits for another user stays as it is.
            |run| ids.contains(run) || self.live.get(run).is_some() || self.is_foreign(run),
            // A worker has the answer before it has the process of the run.
            |run| crate::engine::has(&self.home, run),
        );
        let pending = self.book.pending_runs();
        let is_new = |id: &str| !pending.contains(id) && self.live.get(id).is_none();
        for run in parked.iter().filter(|it| is_new(&it.id)) {
            if let Some(record) = parked_question(&self.home, run) {
                self.book.adopt(record);
            }
        }
        *looked = Some((Instant::now(), start.elapsed()));
    }

    /// What waits for a person, without the questions of runs that may repeat memories of another user.
    fn approvals(&self) -> Vec<ApprovalRecord> {
        let mut waiting = self.book.waiting();
        waiting.retain(|it| !self.is_foreign(&it.run));
        waiting
    }

    fn is_foreign(&self, run: &str) -> bool {
        self.list.summary(run).is_ok_and(|summary| is_withheld(&summary))
    }

    fn answer(&self, id: &str, answer: &str, reason: Option<String>) -> HostResult {
        if self.book.waiting().iter().any(|it| it.id == id && self.is_foreign(&it.run)) {
            return Err(HostError::Missing(format!("there is no approval `{id}`")));
        }
        match self.live.answer(id, answer, reason) {
            AnswerOutcome::Missing => {
                Err(HostError::Missing(format!("there is no approval `{id}`")))
            }
            AnswerOutcome::Impossible(message) => Err(HostError::Invalid(message)),
            AnswerOutcome::Same(record) | AnswerOutcome::Deliver(record) => {
                Ok(record.as_json().into())
            }
            AnswerOutcome::Other(first) => Err(HostError::Conflict(json!({
                "error": "answered", "message": "it was answered before",
                "answer": first.answer, "reason": first.reason,
            }))),
            AnswerOutcome::Resume(record) => match self.continue_with(&record) {
                Ok(Some(first)) => {
                    self.book.forget_answer(&record.id);
                    Err(HostError::Conflict(json!({
                        "error": "answered", "message": "it was answered before",
                        "answer": first,
                    })))
                }
                Ok(None) => Ok(record.as_json().into()),
                Err(error) => {
                    // The run could not continue, so the question is still open.
                    self.book.forget_answer(&record.id);
                    Err(refused(error))
                }
            },
        }
    }

    /// Continues a run with an answer. Returns the answer of another server that was first.
    fn continue_with(&self, record: &ApprovalRecord) -> Result<Option<String>, RefusedStart> {
        let shared = self.engine.as_ref().filter(|_| crate::engine::has(&self.home, &record.run));
        let Some(engine) = shared else { return self.go_on(&record.run).map(|()| None) };
        if let Some(first) = engine.answer(&self.home, record)? {
            return Ok(Some(first));
        }
        self.go_on(&record.run)?;
        self.book.hand_over(&record.id);
        Ok(None)
    }

    fn schedules(&self) -> Result<Value, HostError> {
        let (schedules, _) = found(self.agents.paths());
        if schedules.is_empty() {
            return Ok(json!([]));
        }
        let ledger = open_ledger().map_err(failed)?;
        let rows = schedules.iter().map(|schedule| {
            let is_paused = ledger.is_paused(&schedule.key, &schedule.name).unwrap_or(false);
            let mut row = entry(schedule, is_paused);
            row["upcoming"] =
                json!(if is_paused { Vec::new() } else { schedule.upcoming(UPCOMING) });
            row
        });
        Ok(rows.collect())
    }

    fn receipts(&self, window: &ListWindow) -> HostReply {
        let files = receipt_files(&HomeLayout::new(&self.home));
        let is_meant = |file: &&agentry_home::receipt::ReceiptFile| {
            window.agent.as_ref().is_none_or(|agent| file.is_of(agent))
                && window.before.as_ref().is_none_or(|before| file.id < *before)
        };
        let mut meant: Vec<_> = files.iter().rev().filter(is_meant).collect();
        let has_more = meant.len() > window.limit;
        meant.truncate(window.limit);
        let next = meant.last().filter(|_| has_more).map(|file| file.id.clone());
        HostReply { body: meant.into_iter().map(receipts::entry).collect(), next }
    }

    fn metrics(&self) -> Value {
        json!({
            "runs": self.list.states(self.live.busy()),
            "live_runs": self.live.count(),
            "approvals": self.book.waiting_count(),
        })
    }
}

impl RunHost for ServeHost {
    fn call(&self, call: HostCall) -> HostResult {
        let changes = changes_runs(&call);
        let reply = self.answer_call(call);
        if changes {
            self.recent.change();
        }
        reply
    }

    fn events(&self, run: &str, after: u64, most: usize) -> Result<EventBatch, HostError> {
        self.feeds.with(run, |feed| feed.batch(after, most)).map_err(unreadable)
    }

    fn signals(&self, run: &str) -> Option<broadcast::Receiver<LiveSignal>> {
        Some(self.live.get(run)?.signals.subscribe())
    }

    fn mcp(&self) -> Arc<dyn ServedHttp> {
        self.mcp.sessions(&self.agents)
    }
}

/// Whether a request changes what the list of runs shows.
fn changes_runs(call: &HostCall) -> bool {
    matches!(
        call,
        HostCall::Start { .. }
            | HostCall::Say { .. }
            | HostCall::Cancel(_)
            | HostCall::Resume(_)
            | HostCall::Undo(_)
            | HostCall::Answer { .. }
    )
}

impl ServeHost {
    fn answer_call(&self, call: HostCall) -> HostResult {
        match call {
            HostCall::Agents => {
                let agents = self.agents.all();
                Ok(agents.iter().map(OfferedAgent::as_json).collect::<Value>().into())
            }
            HostCall::Agent(id) => self.agent_page(&id),
            HostCall::Consent { agent, digest } => self.consent(&agent, &digest),
            HostCall::Decide { agent, proposal, accepts, reason } => {
                let reason = reason.unwrap_or_else(|| REJECTED.to_owned());
                self.decide(&agent, &proposal, Some(&*reason).filter(|_| !accepts))
            }
            HostCall::Runs(window) => self.runs(&window),
            HostCall::Run(id) => self.run_page(&id),
            HostCall::Start { agent, prompt, commit, key, waits } => {
                self.start((&agent, &prompt, commit.as_deref()), key.as_deref(), waits)
            }
            HostCall::Say { run, text } => self.send_message(&run, &text),
            HostCall::Cancel(id) => self.cancel(&id),
            HostCall::Resume(id) => self.resume(&id),
            HostCall::Undo(id) => self.undo(&id),
            HostCall::Changes(id) => self.changes(&id),
            HostCall::Export(id) => {
                self.run(&id)?;
                let text =
                    self.feeds.with(&id, |feed| transcript(&id, feed)).map_err(unreadable)?;
                Ok(json!(text).into())
            }
            HostCall::Approvals => {
                self.adopt_parked();
                let waiting = self.approvals();
                Ok(waiting.iter().map(ApprovalRecord::as_json).collect::<Value>().into())
            }
            HostCall::Waiting => {
                self.adopt_parked();
                Ok(json!(self.approvals().len()).into())
            }
            HostCall::Answer { id, answer, reason } => self.answer(&id, &answer, reason),
            HostCall::Schedules => self.schedules().map(HostReply::from),
            HostCall::Receipts(window) => Ok(self.receipts(&window)),
            HostCall::Metrics => Ok(self.metrics().into()),
        }
    }
}

/// The JSON that this program prints with some arguments; null if it fails.
fn program(args: &[&str]) -> Value {
    let Ok(program) = this_program() else { return Value::Null };
    let mut command = std::process::Command::new(program);
    command
        .args(args)
        .envs(engine::variable())
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    serde_json::from_slice(&output).unwrap_or_default()
}

fn ground(agent: &OfferedAgent) -> Result<PreparedAgent, HostError> {
    PreparedAgent::read(&agent.argument, None).map_err(failed)
}

/// Refuses a run that works for another one, and is continued with it.
fn admit_parent(run: &RunSummary) -> Result<(), HostError> {
    match &run.about.parent {
        None => Ok(()),
        Some(parent) => {
            let message = format!("it works for the run `{}`, and continues with it", parent.run);
            Err(HostError::Conflict(json!({ "error": "delegate", "message": message })))
        }
    }
}

fn elsewhere() -> HostError {
    let message = "another process runs it, which this server does not steer";
    HostError::Conflict(json!({ "error": "elsewhere", "message": message }))
}

fn failed(failure: CliFailure) -> HostError {
    let hint = failure.hint.map_or(String::new(), |hint| format!("; {hint}"));
    HostError::Invalid(format!("{}{hint}", failure.message))
}

fn refused(RefusedStart(message): RefusedStart) -> HostError {
    HostError::Conflict(json!({ "error": "refused", "message": message }))
}

fn unreadable(error: JournalError) -> HostError {
    match error {
        JournalError::NoRun(_) | JournalError::NeverBegan(_) => {
            HostError::Missing(error.to_string())
        }
        other => HostError::Failed(other.to_string()),
    }
}
