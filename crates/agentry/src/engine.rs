//! The engine of this process, if `AGENTRY_ENGINE` or `--engine` names one: runs that several machines share. The
//! home has a copy of each journal, which is brought up to date here and which everything else reads.

mod file_copies;
pub(crate) mod git_workspace;
pub(crate) mod shared_receipts;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentry_engine::{EngineSession, PostgresFailure};
use agentry_runtime::TimedEvent;
use agentry_runtime::engine::{
    ClaimFilter, EngineFailure, EngineListing, EngineRow, QueueStanding, QueuedRun, RunLease,
};
use agentry_runtime::journal::{
    self, EngineStanding, Journal, JournalError, JournalMirror, RunDescription,
};
use agentry_runtime::redact::Redactor;
use serde::{Deserialize, Serialize};

use crate::command::run::session::now;
use crate::home::recorded_user;
use crate::output::{CliFailure, remark};

/// Names the engine. No file of a workspace can set it.
pub(crate) const ENGINE: &str = "AGENTRY_ENGINE";
/// Says how long a lease lasts.
const LEASE_TIME: &str = "AGENTRY_LEASE_TIME";
/// Gives a lease to the process of a run.
pub(crate) const LEASE: &str = "AGENTRY_LEASE";
/// The label of runs that were started at a terminal: no worker has it.
const TERMINAL: &str = "terminal";
/// Changes that are looked at again, because one that is numbered earlier may become visible later.
const OVERLAP: u64 = 1_000;

/// What a worker gives to the process of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GivenLease {
    pub(crate) lease: RunLease,
    pub(crate) digest: String,
    /// The label of the run when it was claimed.
    #[serde(default)]
    pub(crate) label: String,
    /// The user who queued the run.
    pub(crate) user: Option<String>,
}

/// What a worker needs to start a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunRequest {
    pub(crate) about: RunDescription,
    /// Whether it parks where it needs a person.
    pub(crate) waits: bool,
    /// The commit that it works on, instead of a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) git: Option<git_workspace::GitRequest>,
}

static CHOSEN: OnceLock<String> = OnceLock::new();
static SESSION: OnceLock<Option<EngineSession>> = OnceLock::new();
static OPENING: Mutex<()> = Mutex::new(());
type EndFunction = Box<dyn Fn() + Send + Sync>;
static END: OnceLock<EndFunction> = OnceLock::new();
static SEEN: Mutex<BTreeMap<String, (u64, u64)>> = Mutex::new(BTreeMap::new());

/// Uses this engine, whatever the environment names.
pub(crate) fn choose(url: &str) {
    let _ = CHOSEN.set(url.to_owned());
}

/// The address of the engine; empty if there is none.
pub(crate) fn address() -> String {
    CHOSEN.get().cloned().or_else(|| std::env::var(ENGINE).ok()).unwrap_or_default()
}

/// What another process of this program gets, so that it has the same engine.
pub(crate) fn variable() -> Option<(&'static str, String)> {
    CHOSEN.get().map(|url| (ENGINE, url.clone()))
}

/// Whether an engine has this run.
pub(crate) fn has(home: &Path, run: &str) -> bool {
    journal::engine_standing(home, run).is_some()
}

/// The label of a workspace that has no name: only this machine has it.
pub(crate) fn label_of(workspace: &Path) -> String {
    format!("{}:{}", machine(), workspace.display())
}

fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    name.trim().to_owned()
}

/// The engine; `None` if journals are kept on this machine alone.
pub(crate) fn current() -> Result<Option<&'static EngineSession>, CliFailure> {
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(session) = SESSION.get() {
        return Ok(session.as_ref());
    }
    let url = address();
    let session = match url.as_str() {
        "" | "sqlite" => None,
        url => {
            let session = EngineSession::open(url, worker_name()?, lease_time()?);
            Some(session.map_err(|it| unusable(&it))?)
        }
    };
    Ok(SESSION.get_or_init(|| session).as_ref())
}

pub(crate) fn unusable(failure: &PostgresFailure) -> CliFailure {
    CliFailure::new(failure.to_string()).hint_opt(failure.hint().map(str::to_owned))
}

/// How long a lease lasts: `AGENTRY_LEASE_TIME`, in seconds. A shorter one finds a dead worker sooner, and loses a run
/// sooner whose machine is slow.
fn lease_time() -> Result<Option<Duration>, CliFailure> {
    let Some(text) = std::env::var(LEASE_TIME).ok().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let seconds = text.parse().ok().filter(|seconds| (2..=3_600).contains(seconds));
    let wrong = || {
        CliFailure::new(format!("`{LEASE_TIME}` is `{text}`"))
            .hint("a number of seconds from 2 to 3600 is expected")
    };
    seconds.map(|it| Some(Duration::from_secs(it))).ok_or_else(wrong)
}

/// The name of this home as a worker: the same after each start.
fn worker_name() -> Result<String, CliFailure> {
    let home = crate::home::agentry_home();
    let home = home.ok_or_else(|| CliFailure::new("there is no home directory"))?;
    Ok(format!("{}:{}", machine(), home.display()))
}

/// Ends the run of this process when it loses its lease or is cancelled on another machine.
pub(crate) fn end_by(end: impl Fn() + Send + Sync + 'static) {
    let _ = END.set(Box::new(end));
}

fn end() {
    if let Some(end) = END.get() {
        end();
    }
}

/// Whether a worker has claimed the run of this process for it.
pub(crate) fn is_claimed() -> bool {
    std::env::var_os(LEASE).is_some()
}

/// The lease in the environment of this process.
fn claim() -> Option<GivenLease> {
    serde_json::from_str(&std::env::var(LEASE).ok()?).ok()
}

/// The user to whom the runs of this process belong: who queued the run that it has claimed, else the current user. `None` if
/// the queue does not say who it was.
pub(crate) fn run_user() -> Option<String> {
    if is_claimed() { claim()?.user } else { Some(recorded_user()) }
}

/// The lease that a worker gave to this process, once.
fn given_lease() -> Option<GivenLease> {
    static GIVEN: OnceLock<Mutex<Option<GivenLease>>> = OnceLock::new();
    let given = GIVEN.get_or_init(|| Mutex::new(claim()));
    given.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn failed(id: &str) -> impl FnOnce(EngineFailure) -> JournalError + use<> {
    let id = id.to_owned();
    move |failure| JournalError::Engine { id, why: failure.to_string() }
}

fn refused(id: &str, why: &str) -> JournalError {
    JournalError::Engine { id: id.to_owned(), why: why.to_owned() }
}

/// Creates the journal of a new run: on this machine, or in the engine.
pub(crate) fn create_journal(
    home: &Path,
    about: &RunDescription,
    redactor: Arc<Redactor>,
) -> Result<Journal, CliFailure> {
    let unwritable =
        |error: JournalError| CliFailure::new(error.to_string()).hint(crate::home::UNWRITABLE_HOME);
    let Some(session) = current()? else {
        return Journal::create(home, about, redactor).map_err(unwritable);
    };
    let shared = || {
        let lease = match given_lease().filter(|_| about.parent.is_none()) {
            Some(given) if given.digest == about.digest => given.lease,
            Some(given) => {
                return Err(refused(&given.lease.run, "the agent changed after it was claimed"));
            }
            None => queued_for_itself(session, home, about)?,
        };
        let id = lease.run.clone();
        let uplink = session.hold(lease, 0, Box::new(end)).map_err(|why| refused(&id, &why))?;
        stand_here(session, home, &id)?;
        Journal::create_shared(home, &id, about, redactor, uplink)
    };
    shared().map_err(|error| CliFailure::new(error.to_string()))
}

/// Queues a run that this process carries out, and claims it.
fn queued_for_itself(
    session: &EngineSession,
    home: &Path,
    about: &RunDescription,
) -> Result<RunLease, JournalError> {
    let id = journal::reserve(home, about.started)?;
    let parent = about.parent.as_ref().map(|parent| parent.run.clone());
    let queued =
        queued_run(&id, TERMINAL, &RunRequest { about: about.clone(), waits: true, git: None });
    session.create(QueuedRun { parent, ..queued }).map_err(failed(&id))?;
    claimed(session, &id).map(|(lease, _)| lease)
}

/// A run for the queue.
pub(crate) fn queued_run(id: &str, label: &str, request: &RunRequest) -> QueuedRun {
    QueuedRun {
        id: id.to_owned(),
        digest: request.about.digest.clone(),
        label: label.to_owned(),
        parent: None,
        request: serde_json::to_string(request).unwrap_or_default(),
    }
}

/// Claims a run. Returns its label too.
fn claimed(session: &EngineSession, id: &str) -> Result<(RunLease, String), JournalError> {
    let claimed = session.claim(ClaimFilter::Run(id.to_owned())).map_err(failed(id))?;
    let busy = || JournalError::Busy { id: id.to_owned(), pid: None };
    claimed.map(|it| (it.lease, it.queued.label)).ok_or_else(busy)
}

/// Opens a journal to continue its run, on whichever machine it was written.
pub(crate) fn open_journal(
    home: &Path,
    id: &str,
    redactor: Arc<Redactor>,
) -> Result<(Journal, RunDescription, Vec<TimedEvent>), JournalError> {
    let session = current().map_err(|failure| refused(id, &failure.message))?;
    let shared = session.filter(|_| journal::engine_standing(home, id).is_some());
    let Some(session) = shared else { return Journal::open(home, id, redactor) };
    let given = given_lease().filter(|given| given.lease.run == id);
    let (lease, label) =
        given.map_or_else(|| claimed(session, id), |given| Ok((given.lease, given.label)))?;
    git_workspace::bring_here(session, &lease, &label).map_err(|why| refused(id, &why))?;
    // The lease first: from now on, no one else adds a row.
    let mirror = JournalMirror::open_patiently(home, id)?;
    let rows = mirror_rows(session, mirror, id)?;
    file_copies::copy_files(session, home, id)?;
    let uplink = session.hold(lease, rows, Box::new(end)).map_err(|why| refused(id, &why))?;
    stand_here(session, home, id)?;
    Journal::open_shared(home, id, redactor, uplink)
}

fn stand_here(session: &EngineSession, home: &Path, id: &str) -> Result<(), JournalError> {
    let worker = Some(session.worker().to_owned());
    let standing =
        EngineStanding { waits: false, until: 0, worker, seen: (0, 0), here: true, place: None };
    journal::set_engine_standing(home, id, &standing)
}

/// Brings the copies of all runs up to date, if there is an engine. What cannot be read is reported and left.
pub(crate) fn refresh(home: &Path) -> Result<(), CliFailure> {
    let Some(session) = current()? else { return Ok(()) };
    let after = changes_seen().saturating_sub(OVERLAP);
    let listed = session.ask(|engine| async move { engine.list(after).await });
    let listed = listed.map_err(|failure| CliFailure::new(failure.to_string()))?;
    // An id becomes a directory.
    let is_id = |listing: &EngineListing| journal::is_run_id(&listing.queued.id);
    for listing in listed.into_iter().filter(is_id) {
        if let Err(error) = refresh_run(session, home, &listing) {
            remark(&format!("warning: {error}"));
        }
    }
    shared_receipts::take_in(session, home);
    Ok(())
}

/// Removes a run from the engine, so that every home removes its copy. Returns false if it is not over.
pub(crate) fn remove(id: &str) -> Result<bool, JournalError> {
    let session = current().map_err(|failure| refused(id, &failure.message))?;
    let missing = || refused(id, "its engine is not named: set `AGENTRY_ENGINE`");
    session.ok_or_else(missing)?.remove(id).map_err(failed(id))
}

/// The newest change that this process has seen.
fn changes_seen() -> u64 {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    seen.values().map(|(change, _)| *change).max().unwrap_or(0)
}

fn refresh_run(
    session: &EngineSession,
    home: &Path,
    listing: &EngineListing,
) -> Result<(), JournalError> {
    let id = &listing.queued.id;
    if listing.standing == QueueStanding::Removed {
        return journal::remove_copy(home, id);
    }
    let is_held = listing.standing == QueueStanding::Held;
    let seen = (listing.change, listing.rows);
    let known = SEEN.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied();
    // What an earlier process has seen of a run that has ended need not be compared again.
    let known = known.or_else(|| {
        let standing = journal::engine_standing(home, id)?;
        (!is_held && standing.seen == seen).then_some(seen)
    });
    let is_known = known == Some(seen);
    if is_known && !is_held {
        return Ok(());
    }
    let left = u64::try_from(listing.lease_left.as_millis()).unwrap_or(u64::MAX);
    let standing = EngineStanding {
        waits: listing.standing == QueueStanding::Waiting,
        until: if is_held { now().saturating_add(left) } else { 0 },
        worker: listing.worker.clone(),
        seen: if is_known { seen } else { (0, 0) },
        here: listing.worker.as_deref() == Some(session.worker()),
        place: only_place(listing),
    };
    // First, so that a run that waits is never taken for one that has ended.
    journal::set_engine_standing(home, id, &standing)?;
    if !is_known && copy_run(session, home, listing)? {
        journal::set_engine_standing(home, id, &EngineStanding { seen, ..standing })?;
        SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), seen);
    }
    Ok(())
}

/// The only place with the files of a run, if it works on a commit that is checked out there.
fn only_place(listing: &EngineListing) -> Option<String> {
    let request: RunRequest = serde_json::from_str(&listing.queued.request).ok()?;
    request.git.and_then(|_| git_workspace::only_place(&listing.queued.label))
}

/// Brings the copy of a run up to date. Returns false if another process has it.
fn copy_run(
    session: &EngineSession,
    home: &Path,
    listing: &EngineListing,
) -> Result<bool, JournalError> {
    let id = &listing.queued.id;
    let Some(mirror) = JournalMirror::open(home, id)? else { return Ok(false) };
    if listing.rows == 0 {
        describe(mirror, listing)?;
    } else {
        mirror_rows(session, mirror, id)?;
    }
    if listing.standing == QueueStanding::Released {
        file_copies::copy_files(session, home, id)?;
    }
    if let Some(ending) = &listing.ending
        && let Some(mut mirror) = JournalMirror::open(home, id)?
    {
        mirror.set_ending(ending)?;
    }
    Ok(true)
}

/// Writes down a run that is about to be queued.
pub(crate) fn describe_queued(
    home: &Path,
    id: &str,
    about: &RunDescription,
) -> Result<(), JournalError> {
    let standing = EngineStanding {
        waits: true,
        until: 0,
        worker: None,
        seen: (0, 0),
        here: false,
        place: None,
    };
    journal::set_engine_standing(home, id, &standing)?;
    JournalMirror::open_patiently(home, id)?.describe(about)
}

/// Writes down what is known of a run that no worker has begun.
fn describe(mut mirror: JournalMirror, listing: &EngineListing) -> Result<(), JournalError> {
    let id = &listing.queued.id;
    let Ok(request) = serde_json::from_str::<RunRequest>(&listing.queued.request) else {
        return Err(refused(id, "its request cannot be read"));
    };
    if mirror.end().0 == 0 { mirror.describe(&request.about) } else { Ok(()) }
}

/// Copies the rows that are missing here, and returns how many there are. A copy that is no beginning of the journal
/// is made anew: the engine had a crash, or the run was only described.
fn mirror_rows(
    session: &EngineSession,
    mut mirror: JournalMirror,
    id: &str,
) -> Result<u64, JournalError> {
    let (mut rows, last) = mirror.end();
    if let Some((kind, data)) = last {
        let stored = session.rows(id, rows - 1).map_err(failed(id))?;
        let is_same = |row: &EngineRow| row.kind == kind && row.data == data;
        if !stored.first().is_some_and(is_same) {
            mirror.start_over();
            rows = 0;
        }
    }
    loop {
        let found = session.rows(id, rows).map_err(failed(id))?;
        if found.is_empty() {
            // The engine has none at all: neither has the copy then.
            if mirror.starts_over() {
                mirror.add([])?;
            }
            return Ok(rows);
        }
        mirror.add(found.iter().map(|row| (row.at, row.kind.as_str(), row.data.as_str())))?;
        rows += u64::try_from(found.len()).unwrap_or(0);
    }
}
