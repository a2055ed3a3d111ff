//! Runs of a commit: the commit travels through the engine to whichever worker takes the run, and what the run made of it
//! comes back as a commit and as a patch.
//!
//! ```text
//! git/base.pack      the commit with its files
//! git/result         what came of it, as JSON
//! git/result.pack    the objects of the result that the base does not have
//! git/result.patch   the difference
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentry_engine::EngineSession;
use agentry_home::repository::{
    CheckoutResult, CommitKind, CommitNote, GitCheckout, PackedCommit, RepositoryError,
};
use agentry_runtime::engine::{ClaimFilter, ClaimedRun, EngineFailure, QueuedRun};
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

/// The labels of a worker with a directory for checkouts: of runs that it may check out, and of those it has.
pub(crate) fn labels(checkouts: &Path) -> [String; 2] {
    [LABEL.to_owned(), label_of(checkouts)]
}

/// Checks the commit of a claimed run out into a fresh directory, and binds the run to this machine. Returns the directory
/// of its files.
pub(crate) fn check_out(
    session: &EngineSession,
    claimed: &ClaimedRun,
    (checkouts, request): (&Path, &GitRequest),
) -> Result<PathBuf, String> {
    let id = &claimed.queued.id;
    let text = |failure: EngineFailure| failure.to_string();
    let attached = session.attached(id).map_err(text)?;
    let digest = attached.into_iter().find(|(name, _)| name == BASE_PACK);
    let digest = digest.ok_or("its commit is not in the engine")?.1;
    let pack = session.get(&digest).map_err(text)?;
    let made = GitCheckout::create(&checkouts.join(id), &request.commit, &pack);
    let checkout = made.map_err(|error| format!("its commit cannot be checked out: {error}"))?;
    // From now on its files are here, and nowhere else.
    if !session.bind(&claimed.lease, &label_of(checkouts)).map_err(text)? {
        return Err("another worker has the run now".to_owned());
    }
    Ok(checkout.work())
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
    // Last: it says that the others are there.
    files.attach(RESULT, serde_json::to_string(&result).unwrap_or_default().as_bytes())
}

/// What came of the commit of a run, with its pack and its patch.
pub(crate) fn result(run: &str) -> Result<(GitResult, Vec<u8>, Vec<u8>), CliFailure> {
    let session = current()?.ok_or_else(|| {
        CliFailure::new("only a run of an engine has a result").hint("set `AGENTRY_ENGINE`")
    })?;
    let text = |failure: EngineFailure| CliFailure::new(failure.to_string());
    let attached = session.attached(run).map_err(text)?;
    let read = |wanted: &str| {
        let digest = attached.iter().find(|(name, _)| name == wanted).map(|(_, digest)| digest);
        digest.map_or(Ok(Vec::new()), |digest| session.get(digest).map_err(text))
    };
    let found = read(RESULT)?;
    if found.is_empty() {
        let failure = CliFailure::new(format!("the run `{run}` has no result"));
        let hint = "only a run of a commit has one, when it has ended or is parked";
        return Err(failure.hint(hint).finding());
    }
    let result: GitResult = serde_json::from_slice(&found)
        .map_err(|error| CliFailure::new(format!("the result cannot be read: {error}")))?;
    Ok((result, read(RESULT_PACK)?, read(RESULT_PATCH)?))
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
