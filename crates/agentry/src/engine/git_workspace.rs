//! Runs of a commit: the commit travels through the engine to whichever worker takes the run, and what the run made of it
//! comes back as a commit and as a patch.
//!
//! ```text
//! git/base.pack      the commit with its files
//! git/result         what came of it, as JSON
//! git/result.pack    the objects of the result that the base does not have
//! git/result.patch   the difference
//! ```
//!
//! The label of such a run says who can have its files: first any worker with a place for checkouts, then the one machine
//! on which the run works. When it has handed in a result, any worker that keeps its checkouts at the same path, because
//! paths are part of what the run has seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentry_engine::EngineSession;
use agentry_home::repository::{
    CheckoutResult, CommitKind, CommitNote, GitCheckout, PackedCommit, RepositoryError,
};
use agentry_runtime::engine::{ClaimFilter, ClaimedRun, EngineFailure, QueuedRun, RunLease};
use agentry_runtime::journal::{self, FileUplink, Journal};
use serde::{Deserialize, Serialize};

use super::{current, label_of};
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::runs::first_message;
use crate::output::{CliFailure, remark};

const BASE_PACK: &str = "git/base.pack";
const RESULT: &str = "git/result";
const RESULT_PACK: &str = "git/result.pack";
const RESULT_PATCH: &str = "git/result.patch";
/// The label of runs whose commit no worker has checked out yet.
const LABEL: &str = "git";
/// The label of runs that handed in a result, before the directory of their checkouts.
const HANDED_IN: &str = "git:";
/// The largest commit and the largest result.
const MOST_BYTES: usize = 256 << 20;
/// How old a checkout without a run has to be before it is removed: its run may not be known here yet.
const LEFT_OVER: Duration = Duration::from_hours(1);

/// The commit that a run works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GitRequest {
    pub(crate) commit: String,
    /// The agent, relative to the root of the repository; an installed agent by its id.
    pub(crate) agent: String,
}

/// What came of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GitResult {
    pub(crate) base: String,
    pub(crate) commit: String,
    pub(crate) files: Vec<String>,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// Queues a run with its commit. Nobody can take it before the commit is there.
pub(crate) fn queue(
    session: &EngineSession,
    run: QueuedRun,
    packed: &PackedCommit,
) -> Result<(), EngineFailure> {
    if packed.pack.len() > MOST_BYTES {
        let why = "the files of the commit have more than 256 MiB";
        return Err(EngineFailure::Unusable(why.to_owned()));
    }
    let id = run.id.clone();
    // No worker has an empty label.
    session.create(QueuedRun { label: String::new(), ..run })?;
    let lost = || EngineFailure::Unavailable("the run was taken while it was queued".to_owned());
    let claimed = session.claim(ClaimFilter::Run(id.clone()))?.ok_or_else(lost)?;
    let is_stored = session.attach(&claimed.lease, BASE_PACK, packed.pack.clone())?
        && session.bind(&claimed.lease, LABEL)?;
    session.give_back(&claimed, None);
    if is_stored && session.queue_again(&id)? { Ok(()) } else { Err(lost()) }
}

/// The labels of a worker with a directory for checkouts: of runs that it may check out, of those it has, and of those
/// that handed in a result.
pub(crate) fn labels(checkouts: &Path) -> [String; 3] {
    [LABEL.to_owned(), label_of(checkouts), handed_in_label(checkouts)]
}

fn handed_in_label(checkouts: &Path) -> String {
    format!("{HANDED_IN}{}", checkouts.display())
}

/// Whether runs of a commit have this label, so that no workspace can.
pub(crate) fn is_reserved(label: &str) -> bool {
    label == LABEL || label.starts_with(HANDED_IN)
}

/// The only place with the files of a run of a commit, as its label names it: a machine and a directory. `None` if any
/// worker can make them.
pub(super) fn only_place(label: &str) -> Option<String> {
    (!label.is_empty() && !is_reserved(label)).then(|| label.to_owned())
}

/// Checks the commit of a claimed run out into a fresh directory, and binds the run to this machine. Returns the directory
/// of its files.
pub(crate) fn check_out(
    session: &EngineSession,
    claimed: &ClaimedRun,
    (checkouts, request): (&Path, &GitRequest),
) -> Result<PathBuf, String> {
    let id = &claimed.queued.id;
    let [pack] = read(session, id, [BASE_PACK]).map_err(|failure| failure.to_string())?;
    let made = GitCheckout::create(&checkouts.join(id), &request.commit, &pack);
    let checkout = made.map_err(|error| format!("its commit cannot be checked out: {error}"))?;
    bind_here(session, &claimed.lease, checkouts)?;
    Ok(checkout.work())
}

/// Makes the files of a claimed run that handed in a result, unless they are here as they were handed in, and binds the
/// run to this machine. Any other run has its files where it is.
pub(super) fn bring_here(
    session: &EngineSession,
    lease: &RunLease,
    label: &str,
) -> Result<(), String> {
    let Some(checkouts) = label.strip_prefix(HANDED_IN).map(Path::new) else { return Ok(()) };
    let text = |failure: EngineFailure| failure.to_string();
    let [base_pack, result, result_pack] =
        read(session, &lease.run, [BASE_PACK, RESULT, RESULT_PACK]).map_err(text)?;
    let result: GitResult = serde_json::from_slice(&result)
        .map_err(|error| format!("its result cannot be read: {error}"))?;
    let directory = checkouts.join(&lease.run);
    let kept = GitCheckout::of_work(&directory.join("work"));
    if !kept.is_some_and(|kept| kept.has_result(&result.commit)) {
        let made = (&*result.base, &*base_pack);
        GitCheckout::restore(&directory, made, (&result.commit, &result_pack))
            .map_err(|error| format!("its files cannot be restored: {error}"))?;
    }
    bind_here(session, lease, checkouts)
}

/// From now on the files of a run are here, and nowhere else.
fn bind_here(session: &EngineSession, lease: &RunLease, checkouts: &Path) -> Result<(), String> {
    match session.bind(lease, &label_of(checkouts)) {
        Ok(true) => Ok(()),
        Ok(false) => Err("another worker has the run now".to_owned()),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The files of a run with these names; one that is missing is empty.
fn read<const N: usize>(
    session: &EngineSession,
    run: &str,
    names: [&str; N],
) -> Result<[Vec<u8>; N], EngineFailure> {
    let attached = session.attached(run)?;
    let mut found = [const { Vec::new() }; N];
    for (name, bytes) in names.iter().zip(&mut found) {
        if let Some((_, digest)) = attached.iter().find(|(it, _)| it == name) {
            *bytes = session.get(digest)?;
        }
    }
    Ok(found)
}

/// Refuses to continue a run on a machine that does not have its files and cannot make them.
pub(crate) fn admit_here(home: &Path, run: &str) -> Result<(), CliFailure> {
    let place = journal::engine_standing(home, run).and_then(|standing| standing.place);
    let Some(place) = place else { return Ok(()) };
    let is_here = place.split_once(':').is_some_and(|(machine, directory)| {
        machine == super::machine() && Path::new(directory).join(run).is_dir()
    });
    if is_here {
        return Ok(());
    }
    let message = format!("run `{run}` works on a commit, and its files are at `{place}` only");
    let hint = "continue it there, or start the commit anew; what it has handed in before is in \
                `agentry runs result`";
    Err(CliFailure::new(message).hint(hint).refused())
}

/// Removes the checkouts of runs that were pruned.
pub(crate) fn sweep(checkouts: &Path, home: &Path) {
    for entry in fs::read_dir(checkouts).into_iter().flatten().flatten() {
        let Ok(id) = entry.file_name().into_string() else { continue };
        let is_old = entry
            .metadata()
            .and_then(|it| it.modified())
            .is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > LEFT_OVER));
        if is_old && journal::is_run_id(&id) && journal::engine_standing(home, &id).is_none() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Hands in what a run made of its checkout, while this process still holds the run. One that works elsewhere has nothing
/// to hand in.
pub(crate) fn hand_in(journal: &Journal, ground: &PreparedAgent) {
    let Some(files) = journal.files() else { return };
    let checkout = GitCheckout::of_work(&ground.workspace);
    let is_own = |it: &GitCheckout| it.directory().file_name() == Some(journal.id().as_ref());
    let Some(checkout) = checkout.filter(is_own) else { return };
    let prompt = first_message(&ground.home, journal.id()).unwrap_or_default();
    let note = note(journal.id(), ground.agent.name(), &prompt);
    let handed = handed_in(&*files, &checkout, &note);
    if let Err(problem) = handed {
        remark(&format!("warning: the result of the run cannot be handed in: {problem}"));
        let result = GitResult { problem: Some(problem), ..GitResult::default() };
        // The run ends all the same; its files are still in the checkout.
        let _ = files.attach(RESULT, serde_json::to_string(&result).unwrap_or_default().as_bytes());
    }
}

fn note(run: &str, agent: &str, prompt: &str) -> CommitNote {
    let subject = format!("{agent}: {prompt}");
    CommitNote { run: Some(run.to_owned()), ..CommitNote::new(CommitKind::Agent, agent, subject) }
}

fn handed_in(
    files: &dyn FileUplink,
    checkout: &GitCheckout,
    note: &CommitNote,
) -> Result<(), String> {
    let result = checkout.result(note).map_err(|error| error.to_string())?;
    let CheckoutResult { base, commit, files: changed, pack, patch } = result;
    if pack.len().max(patch.len()) > MOST_BYTES {
        return Err("it has more than 256 MiB".to_owned());
    }
    files.attach(RESULT_PACK, &pack)?;
    files.attach(RESULT_PATCH, &patch)?;
    let result = GitResult { base, commit, files: changed, problem: None };
    // It says that the others are there.
    files.attach(RESULT, serde_json::to_string(&result).unwrap_or_default().as_bytes())?;
    // Last: whoever continues the run makes its files of them.
    match checkout.directory().parent() {
        Some(checkouts) => files.bind(&handed_in_label(checkouts)),
        None => Ok(()),
    }
}

/// What came of the commit of a run, with its pack and its patch.
pub(crate) fn result(run: &str) -> Result<(GitResult, Vec<u8>, Vec<u8>), CliFailure> {
    let session = current()?.ok_or_else(|| {
        CliFailure::new("only a run of an engine has a result").hint("set `AGENTRY_ENGINE`")
    })?;
    let text = |failure: EngineFailure| CliFailure::new(failure.to_string());
    let [found, pack, patch] =
        read(session, run, [RESULT, RESULT_PACK, RESULT_PATCH]).map_err(text)?;
    if found.is_empty() {
        let failure = CliFailure::new(format!("the run `{run}` has no result"));
        let hint = "only a run of a commit has one, when it has ended or is parked";
        return Err(failure.hint(hint).finding());
    }
    let result: GitResult = serde_json::from_slice(&found)
        .map_err(|error| CliFailure::new(format!("the result cannot be read: {error}")))?;
    Ok((result, pack, patch))
}

/// Stores the result of a run in the repository around the current directory. Returns the reference.
pub(crate) fn fetch(run: &str) -> Result<(GitResult, String), CliFailure> {
    let (result, pack, _) = result(run)?;
    if let Some(problem) = &result.problem {
        return Err(CliFailure::new(format!("the run has no result: {problem}")).finding());
    }
    let GitResult { base, commit, files, .. } = result.clone();
    let made = CheckoutResult { base, commit, files, pack, patch: Vec::new() };
    let failed = |error: RepositoryError| {
        CliFailure::new(error.to_string()).hint_opt(error.hint().map(str::to_owned))
    };
    let reference = agentry_home::repository::receive_result(Path::new("."), run, &made);
    Ok((result, reference.map_err(failed)?))
}
