//! The runs that this server shares with others by an engine: queued here, carried out by the worker that has their
//! agent, their workspace and the consent of its user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_engine::EngineSession;
use agentry_home::repository::{PackedCommit, pack_commit};
use agentry_runtime::engine::{ClaimFilter, ClaimedRun};
use agentry_runtime::journal::{self, JournalFollower, RunDescription, RunSettings};
use agentry_runtime::{ApprovalAnswer, RunEnding, RunEvent};
use serde_json::{Value, json};

use super::approval_book::{ApprovalBook, ApprovalRecord};
use super::live_runs::{LiveRuns, RefusedStart};
use super::offered_agents::AgentOffers;
use super::parked_question::parked_question;
use crate::args::ServeArguments;
use crate::command::run::first_consent::is_agreed;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::session::now;
use crate::command::served_agent::steered_words;
use crate::engine::git_workspace::{self, GitRequest};
use crate::engine::{self, GivenLease, RunRequest};
use crate::home::recorded_user;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, note, remark};

/// How long the list of agents that can be claimed is valid.
const FRESH: Duration = Duration::from_secs(5);
/// How often a worker tries to begin or to continue a run.
const MOST_FAILURES: usize = 5;
/// How long the holders of leases get at least after an outage of the engine: they try again every few seconds.
const RECOVERY: Duration = Duration::from_secs(10);
/// The longest pause between two looks at the engine.
const PAUSE: Duration = Duration::from_millis(500);

/// The part of the server that talks to its engine.
pub(super) struct EngineRuns {
    session: &'static EngineSession,
    labels: Vec<String>,
    /// Where commits are checked out.
    checkouts: Option<PathBuf>,
    /// How many runs are carried out at once; 0 if this is no worker.
    at_once: usize,
    starting: AtomicUsize,
    /// How often a run could not be continued.
    failures: Mutex<BTreeMap<String, usize>>,
    claimable: Mutex<Option<(Instant, ClaimableAgents)>>,
    /// Until when nothing is claimed, because the engine was away.
    holds_back: Mutex<Option<Instant>>,
}

/// How the process of a claimed run is started.
struct ClaimedStart {
    words: Vec<String>,
    /// Whether it waits for a person.
    waits: bool,
    /// The directory that it works in, instead of that of the server.
    directory: Option<PathBuf>,
    /// The user who queued it.
    user: Option<String>,
}

/// What a worker can carry out.
#[derive(Clone, Default)]
struct ClaimableAgents {
    /// What `agentry run` gets, by the digests that the user agreed to.
    arguments: BTreeMap<String, String>,
    labels: Vec<String>,
}

/// `agentry serve migrate`.
pub(super) fn migrate(url: Option<&str>) -> CliOutcome {
    let url = url.map_or_else(engine::address, str::to_owned);
    if url.is_empty() || url == "sqlite" {
        let hint = "name it with `--engine postgres://…` or in `AGENTRY_ENGINE`";
        return Err(CliFailure::new("no engine is named").hint(hint));
    }
    let (before, after) = EngineSession::migrate(&url).map_err(|it| engine::unusable(&it))?;
    if before == after {
        note(&format!("the tables have version {after} already"));
    } else {
        note(&format!("the tables have version {after} now"));
    }
    Ok(ExitKind::Done)
}

impl EngineRuns {
    /// Connects to the engine that is named; `None` if none is.
    pub(super) fn open(args: &ServeArguments) -> Result<Option<Self>, CliFailure> {
        if let Some(url) = &args.engine {
            engine::choose(url);
        }
        let Some(session) = engine::current()? else {
            if args.worker {
                let hint = "name it with `--engine postgres://…` or in `AGENTRY_ENGINE`";
                return Err(CliFailure::new("a worker needs an engine").hint(hint));
            }
            return Ok(None);
        };
        if let Some(label) = args.label.iter().find(|label| git_workspace::is_reserved(label)) {
            let hint = "runs of a commit have it, which `--checkouts` takes; choose another name";
            return Err(CliFailure::new(format!("`--label {label}` is reserved")).hint(hint));
        }
        Ok(Some(Self {
            session,
            labels: args.label.clone(),
            checkouts: args.checkouts.as_deref().map(std::path::absolute).transpose().map_err(
                |error| CliFailure::new(format!("`--checkouts`: {}", error_text(&error))),
            )?,
            at_once: if args.worker { args.at_once } else { 0 },
            starting: AtomicUsize::new(0),
            failures: Mutex::default(),
            claimable: Mutex::default(),
            holds_back: Mutex::default(),
        }))
    }

    /// Waits until something may have changed.
    pub(super) fn wait(&self) {
        self.session.watch(PAUSE);
    }

    /// Queues a run of an agent.
    pub(super) fn queue(
        &self,
        home: &Path,
        ground: &PreparedAgent,
        (prompt, commit): (&str, Option<&str>),
        waits: bool,
    ) -> Result<String, RefusedStart> {
        let packed = commit.map(|commit| packed(ground, commit)).transpose()?;
        let about = RunDescription {
            agent: ground.full_path(),
            name: ground.agent.name().to_owned(),
            digest: ground.digest.clone(),
            workspace: ground.workspace.clone(),
            prompt: Some(prompt.to_owned()),
            started: now(),
            user: Some(recorded_user()),
            settings: RunSettings {
                parks: waits,
                directory: std::env::current_dir().ok(),
                ..RunSettings::default()
            },
            ..RunDescription::default()
        };
        let refused = |why: String| RefusedStart(format!("the run cannot be queued: {why}"));
        let id = journal::reserve(home, about.started).map_err(|it| refused(it.to_string()))?;
        // First, so that the run can be looked at as soon as its id is known.
        engine::describe_queued(home, &id, &about).map_err(|it| refused(it.to_string()))?;
        let label = self.labels.first().cloned();
        let label = label.unwrap_or_else(|| engine::label_of(&ground.workspace));
        let git = packed.as_ref().map(|(git, _)| git.clone());
        let queued = engine::queued_run(&id, &label, &RunRequest { about, waits, git });
        let queued = match &packed {
            Some((_, packed)) => git_workspace::queue(self.session, queued, packed),
            None => self.session.create(queued),
        };
        if let Err(failure) = queued {
            let _ = journal::remove_copy(home, &id);
            return Err(refused(failure.to_string()));
        }
        engine::refresh(home).map_err(|failure| RefusedStart(failure.message))?;
        Ok(id)
    }

    /// Claims a run, if this is a worker with room for one.
    pub(super) fn claim(
        &self,
        home: &Path,
        offers: &AgentOffers,
        live: usize,
    ) -> Option<ClaimedRun> {
        if live + self.starting.load(Ordering::SeqCst) >= self.at_once || self.holds_back() {
            return None;
        }
        let ClaimableAgents { arguments, labels } = self.claimable(home, offers);
        let digests = arguments.into_keys().collect();
        let claimed = self.session.claim(ClaimFilter::Waiting { labels, digests }).ok().flatten();
        if claimed.is_some() {
            self.starting.fetch_add(1, Ordering::SeqCst);
        }
        claimed
    }

    /// Notes that the engine does not answer. While it was away, no lease could be renewed: their holders come first when
    /// it is back, or each outage would interrupt all runs.
    pub(super) fn note_outage(&self) {
        let mut until = self.holds_back.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Instant::now().checked_add(self.session.lease_time().max(RECOVERY));
    }

    fn holds_back(&self) -> bool {
        let until = self.holds_back.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// The agents that the user of this home agreed to, as they are now.
    fn claimable(&self, home: &Path, offers: &AgentOffers) -> ClaimableAgents {
        let mut kept = self.claimable.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, agents)) = &*kept
            && at.elapsed() < FRESH
        {
            return agents.clone();
        }
        let mut found = ClaimableAgents { labels: self.labels.clone(), ..Default::default() };
        for offered in offers.all() {
            let Ok(ground) = PreparedAgent::read(&offered.argument, None) else { continue };
            if !is_agreed(&ground) {
                continue;
            }
            let label = engine::label_of(&ground.workspace);
            if self.labels.is_empty() && !found.labels.contains(&label) {
                found.labels.push(label);
            }
            found.arguments.insert(ground.digest.clone(), offered.argument);
        }
        if let Some(checkouts) = &self.checkouts {
            found.labels.extend(git_workspace::labels(checkouts));
            git_workspace::sweep(checkouts, home);
        }
        *kept = Some((Instant::now(), found.clone()));
        found
    }

    /// Starts the process of a claimed run. Blocks until it has begun.
    pub(super) fn start(
        &self,
        claimed: &ClaimedRun,
        home: &Path,
        (live, book): (&LiveRuns, &ApprovalBook),
    ) {
        let started = self.words(claimed, home, book).and_then(|start| {
            let given = GivenLease {
                lease: claimed.lease.clone(),
                digest: claimed.queued.digest.clone(),
                label: claimed.queued.label.clone(),
                user: start.user,
            };
            let lease = serde_json::to_string(&given).unwrap_or_default();
            live.start_claimed(&start.words, (start.waits, lease), start.directory)
        });
        self.starting.fetch_sub(1, Ordering::SeqCst);
        if let Err(RefusedStart(why)) = started {
            remark(&format!("warning: the run `{}` was not begun: {why}", claimed.queued.id));
            self.give_up(claimed, why);
        }
    }

    /// Gives back a run whose process did not begin, to be tried again: perhaps the process was killed. One that has
    /// begun elsewhere is tried when its lease has ended. After some attempts the first kind fails, the other is left
    /// for a person.
    fn give_up(&self, claimed: &ClaimedRun, why: String) {
        let attempts = {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            let failed = failures.entry(claimed.queued.id.clone()).or_default();
            *failed += 1;
            *failed
        };
        match (claimed.rows, attempts >= MOST_FAILURES) {
            (0, true) => {
                let ending = serde_json::to_string(&RunEnding::Failed { why }).unwrap_or_default();
                self.session.give_back(claimed, Some(ending));
            }
            (0, false) => {
                self.session.give_back(claimed, None);
                // Without an answer it stays interrupted, and a person can continue it.
                let _ = self.session.queue_again(&claimed.queued.id);
            }
            (_, true) => self.session.give_back(claimed, None),
            (_, false) => {}
        }
    }

    /// How the process of a claimed run is started.
    fn words(
        &self,
        claimed: &ClaimedRun,
        home: &Path,
        book: &ApprovalBook,
    ) -> Result<ClaimedStart, RefusedStart> {
        let id = &claimed.queued.id;
        let unreadable = |_| RefusedStart("its request cannot be read".to_owned());
        let request: RunRequest =
            serde_json::from_str(&claimed.queued.request).map_err(unreadable)?;
        let (on_ask, user) = (if request.waits { "park" } else { "deny" }, request.about.user);
        if claimed.rows > 0 {
            engine::refresh(home).map_err(|failure| RefusedStart(failure.message))?;
            self.take_over_answer(claimed, home, book);
            let words = steered_words(&["resume", "--on-ask", on_ask], &[id]);
            return Ok(ClaimedStart { words, waits: request.waits, directory: None, user });
        }
        let kept = self.claimable.lock().unwrap_or_else(PoisonError::into_inner);
        let argument =
            kept.as_ref().and_then(|(_, it)| it.arguments.get(&claimed.queued.digest).cloned());
        let argument =
            argument.ok_or_else(|| RefusedStart("its agent is not here any more".to_owned()))?;
        let (argument, directory) = match &request.git {
            Some(git) => self.checked_out(claimed, git)?,
            None => (argument, None),
        };
        let prompt = request.about.prompt.unwrap_or_default();
        let words = steered_words(&["run", "--on-ask", on_ask], &[&argument, &prompt]);
        Ok(ClaimedStart { words, waits: request.waits, directory, user })
    }

    /// Checks the commit of a run out. Returns the agent in it, and its directory.
    fn checked_out(
        &self,
        claimed: &ClaimedRun,
        git: &GitRequest,
    ) -> Result<(String, Option<PathBuf>), RefusedStart> {
        let missing = || RefusedStart("this worker has no `--checkouts`".to_owned());
        let checkouts = self.checkouts.as_ref().ok_or_else(missing)?;
        let work = git_workspace::check_out(self.session, claimed, (checkouts, git));
        let work = work.map_err(RefusedStart)?;
        let inside = work.join(&git.agent);
        // An installed agent has an id, which is no path of the commit.
        let argument =
            if inside.exists() { inside.display().to_string() } else { git.agent.clone() };
        Ok((argument, Some(work)))
    }

    /// Gives the answer of another server to the book of this one, which delivers it when the run asks again.
    fn take_over_answer(&self, claimed: &ClaimedRun, home: &Path, book: &ApprovalBook) {
        let id = &claimed.queued.id;
        let answers = self.session.answers(id).unwrap_or_default();
        let key = answer_key(home, id);
        let Some((_, answer)) = answers.into_iter().find(|(it, _)| *it == key) else { return };
        let Ok(answer) = serde_json::from_str::<Value>(&answer) else { return };
        if let Some(question) =
            journal::summary(home, id).ok().and_then(|run| parked_question(home, &run))
        {
            book.adopt(question);
        }
        let waiting = book.waiting().into_iter().find(|it| it.run == *id);
        if let (Some(waiting), Some(word)) = (waiting, answer["answer"].as_str()) {
            let reason = answer["reason"].as_str().map(str::to_owned);
            drop(book.answer(&waiting.id, word, reason));
        }
    }

    /// Stores an answer for the worker that continues the run. Returns the other answer that was first.
    pub(super) fn answer(
        &self,
        home: &Path,
        record: &ApprovalRecord,
    ) -> Result<Option<String>, RefusedStart> {
        let answer = json!({ "answer": record.answer, "reason": record.reason }).to_string();
        let key = answer_key(home, &record.run);
        let first = self.session.answer(&record.run, key, answer.clone());
        let first = first.map_err(|failure| RefusedStart(failure.to_string()))?;
        let other: Option<Value> =
            (first != answer).then(|| serde_json::from_str(&first).unwrap_or_default());
        Ok(other.map(|other| other["answer"].as_str().unwrap_or_default().to_owned()))
    }

    /// Lets a worker continue a run. Returns false if the engine does not have it. One that a worker has already, or
    /// that waits for one, stays as it is.
    pub(super) fn queue_again(&self, home: &Path, run: &str) -> Result<bool, RefusedStart> {
        if !engine::has(home, run) {
            return Ok(false);
        }
        self.session.queue_again(run).map_err(|failure| RefusedStart(failure.to_string()))?;
        // Only a matter of what is shown until the next look at the engine.
        let _ = engine::refresh(home);
        Ok(true)
    }

    /// Asks for the end of a run on another machine.
    pub(super) fn cancel(&self, run: &str) -> Result<(), RefusedStart> {
        self.session.cancel(run).map_err(|failure| RefusedStart(failure.to_string()))
    }
}

/// Packs the commit that a run works on, and says where in it the agent is.
fn packed(
    ground: &PreparedAgent,
    revision: &str,
) -> Result<(GitRequest, PackedCommit), RefusedStart> {
    let packed = pack_commit(&ground.workspace, revision).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        RefusedStart(format!("{error}{hint}"))
    })?;
    let agent = match &ground.installed {
        Some(installed) => installed.id.clone(),
        None => {
            let path = PathBuf::from(ground.full_path());
            let path = path.canonicalize().unwrap_or(path);
            let below = path.strip_prefix(&packed.root).map_err(|_| {
                RefusedStart("the agent is not in the repository of its workspace".to_owned())
            })?;
            below.display().to_string()
        }
    };
    Ok((GitRequest { commit: packed.commit.clone(), agent }, packed))
}

/// Names the question at which a run is parked, by the last row that is about it. A process that dies before it delivers
/// the answer leaves further rows, which change nothing about the question.
fn answer_key(home: &Path, run: &str) -> String {
    let follower = JournalFollower::open(home, run).ok();
    let events = follower.and_then(|(mut follower, _)| follower.more().ok()).unwrap_or_default();
    let is_about = |event: &RunEvent| {
        let parks = matches!(event, RunEvent::Answered { answer: ApprovalAnswer::Park, .. });
        !parks && *event != RunEvent::Resumed
    };
    let last = events.iter().rposition(|happened| is_about(&happened.event));
    format!("after-{}", last.map_or(0, |at| at + 1))
}
