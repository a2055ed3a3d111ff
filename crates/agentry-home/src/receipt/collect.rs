//! Drafts of receipts from journals, also for runs whose process died before it wrote one.

use std::fs;

use agentry_compile::text::report::cut;
use agentry_runtime::RunEnding;
use agentry_runtime::journal::{
    self, JournalError, JournalFollower, RunDescription, RunState, RunSummary,
};
use agentry_runtime::quarantine;

use super::ReceiptError;
use super::account::RunAccount;
use super::book::ReceiptBook;
use super::chain::AgentChain;
use super::draft::{ReceiptAgent, ReceiptDraft, ReceiptFiring, ReceiptStatus};
use super::file::receipts_of;
use super::head_copy::HeadCopy;
use super::shared_chains::SharedChains;
use crate::evolution::{AuditEntry, AuditLog, ProtectedAttempt};
use crate::layout::{HomeLayout, is_identifier};

/// The most characters of a summary.
const SUMMARY: usize = 200;
/// What became of a change that a killed run may have made: it was not rolled back.
const LEFT: &str = "left";
/// What stands for a text that may hold a private memory.
const WITHHELD: &str = "withheld: the run could read private memories of its user";

/// What is known outside of the journals.
#[derive(Debug, Clone)]
pub struct ReceiptContext {
    /// The directories of the home.
    pub layout: HomeLayout,
    /// The user of runs whose journal names none.
    pub user: String,
    /// The copy of the heads outside the home, if the user has a place for one.
    pub copy: Option<HeadCopy>,
}

/// How a run ended, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEndingNote {
    /// How it ended.
    pub status: ReceiptStatus,
    /// Why.
    pub reason: Option<String>,
}

impl From<&RunEnding> for RunEndingNote {
    fn from(ending: &RunEnding) -> Self {
        let (status, reason) = match ending {
            RunEnding::Done => (ReceiptStatus::Completed, None),
            RunEnding::Failed { why } => (ReceiptStatus::Failed, Some(why.clone())),
            RunEnding::OverBudget { limit } => {
                (ReceiptStatus::OverBudget, Some(format!("the limit of {limit} was reached")))
            }
            RunEnding::Cancelled => (ReceiptStatus::Cancelled, None),
            RunEnding::Parked { question } => (ReceiptStatus::Parked, Some(question.clone())),
        };
        Self { status, reason }
    }
}

impl RunEndingNote {
    /// How a run ended whose process has exited; `None` if it still runs, or its journal is
    /// unreadable.
    fn of(summary: &RunSummary) -> Option<Self> {
        let status = match summary.state {
            RunState::Done => ReceiptStatus::Completed,
            RunState::Failed => ReceiptStatus::Failed,
            RunState::OverBudget => ReceiptStatus::OverBudget,
            RunState::Cancelled => ReceiptStatus::Cancelled,
            RunState::Parked => ReceiptStatus::Parked,
            RunState::Interrupted => ReceiptStatus::Killed,
            RunState::Running | RunState::Damaged => return None,
        };
        let killed = || "its process died".to_owned();
        let reason =
            summary.detail.clone().or_else(|| (status == ReceiptStatus::Killed).then(killed));
        Some(Self { status, reason })
    }
}

/// Returns the receipt of a run by its journal, which is already redacted.
pub fn draft_of_run(
    context: &ReceiptContext,
    run: &str,
    ending: RunEndingNote,
) -> Result<ReceiptDraft, ReceiptError> {
    let layout = &context.layout;
    let (mut follow, about) = JournalFollower::open(layout.root(), run)?;
    let account = RunAccount::of(follow.more()?);
    let agent = agent_of(layout, &about);
    let user = about.user.clone().unwrap_or_else(|| context.user.clone());
    let is_private = reads_private(layout, (&about, &user), &account)
        || (has_relatives(&about, &account) && is_private_tree(layout, run, &user));
    let shown = |text: Option<String>| match text {
        Some(_) if is_private => Some(WITHHELD.to_owned()),
        text => text.map(|text| first_line(&text)).filter(|text| !text.is_empty()),
    };
    let firing = about.settings.firing.as_ref().map(|it| ReceiptFiring {
        agent: it.agent.clone(),
        schedule: it.schedule.clone(),
        planned: it.planned,
    });
    Ok(ReceiptDraft {
        run: run.to_owned(),
        user,
        workspace: about.workspace.display().to_string(),
        parent: about.parent.as_ref().map(|parent| parent.run.clone()),
        input: shown(account.prompt(&about)),
        output: shown(account.last_text()),
        status: ending.status,
        reason: shown(ending.reason),
        auto_completed: ending.status == ReceiptStatus::Completed && account.answers == 0,
        steps: account.state.skills.counts(),
        spent: account.state.spent.without(&delegated(&account)),
        human_time: account.human_time,
        estimate: about.settings.estimate,
        verdicts: account.verdicts,
        decisions: account.decisions,
        attempts: attempts(layout, run, is_private),
        firing,
        amends: None,
        started: about.started,
        ended: account.last.unwrap_or(about.started),
        agent,
    })
}

/// Whether a run could read private memories of its user, by itself. One that may read memories may read those that agents
/// share as well.
fn reads_private(
    layout: &HomeLayout,
    (about, user): (&RunDescription, &str),
    account: &RunAccount,
) -> bool {
    let agent = AgentChain::of(layout, &about.agent, &about.name);
    about.settings.is_private
        || account.uses_memory
        || layout.has_private_memory(user, agent.as_str())
        || (about.settings.user.is_some() && layout.has_shared_memory(user))
}

fn has_relatives(about: &RunDescription, account: &RunAccount) -> bool {
    about.parent.is_some() || !account.state.delegated.is_empty()
}

/// Whether a run, the runs above it or their delegates could read private memories of the user: what one of them reads reaches
/// the others in prompts and answers. A journal that cannot be read could be that of such a run.
pub fn is_private_tree(layout: &HomeLayout, run: &str, user: &str) -> bool {
    let home = layout.root();
    let mut root = run.to_owned();
    while let Ok((_, about)) = JournalFollower::open(home, &root)
        && let Some(parent) = about.parent
    {
        root = parent.run;
    }
    let Ok(tree) = journal::tree(home, &root) else { return true };
    tree.iter().any(|id| {
        let Ok((mut follow, about)) = JournalFollower::open(home, id) else { return true };
        let Ok(events) = follow.more() else { return true };
        reads_private(layout, (&about, user), &RunAccount::of(events))
    })
}

/// The attempts of a run to change what is protected. The model chose their names and reasons, which may repeat what it read.
fn attempts(layout: &HomeLayout, run: &str, is_private: bool) -> Vec<ProtectedAttempt> {
    let shown = |attempt: ProtectedAttempt| {
        if is_private {
            let (file, reason) = (WITHHELD.to_owned(), String::new());
            return ProtectedAttempt { file, reason, ..attempt };
        }
        ProtectedAttempt { reason: first_line(&attempt.reason), ..attempt }
    };
    AuditLog::new(layout).of_run(run).into_iter().map(shown).collect()
}

/// What the delegates of a run spent: their own receipts have it.
fn delegated(account: &RunAccount) -> agentry_runtime::RunSpending {
    let nothing = agentry_runtime::RunSpending::default();
    account.state.delegated.values().fold(nothing, agentry_runtime::RunSpending::with)
}

fn agent_of(layout: &HomeLayout, about: &RunDescription) -> ReceiptAgent {
    let chain = AgentChain::of(layout, &about.agent, &about.name);
    ReceiptAgent {
        commit: commit_of(layout, &chain),
        chain,
        name: about.name.clone(),
        path: about.agent.clone(),
        digest: about.digest.clone(),
    }
}

/// The commit that an installed agent is at, read without running Git.
pub(super) fn commit_of(layout: &HomeLayout, chain: &AgentChain) -> Option<String> {
    if !is_identifier(chain.as_str()) {
        return None;
    }
    let git = layout.agent(chain.as_str()).join(".git");
    let read = |name: &str| fs::read_to_string(git.join(name)).ok();
    let is_commit =
        |text: &str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let head = read("HEAD")?;
    let head = head.trim();
    let Some(branch) = head.strip_prefix("ref: ") else {
        return is_commit(head).then(|| head.to_owned());
    };
    // A branch is a name below `refs`, never a way out of the repository.
    if !branch.starts_with("refs/") || branch.contains("..") {
        return None;
    }
    let packed = || {
        let lines = read("packed-refs")?;
        let line = lines.lines().find_map(|line| line.strip_suffix(branch)?.strip_suffix(' '))?;
        Some(line.to_owned())
    };
    let commit = read(branch).or_else(packed)?;
    Some(commit.trim().to_owned()).filter(|commit| is_commit(commit))
}

/// The first line of a text that is not empty, cut.
pub fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(line, SUMMARY)
}

/// Writes the receipts that are missing: of runs whose process died, and of runs that another version of the
/// program made. Those of runs that an engine has go to its chains, and wait while there are none. Returns what could not
/// be written, run by run.
pub fn collect_missing(
    context: &ReceiptContext,
    chains: Option<&dyn SharedChains>,
) -> Result<Vec<(String, ReceiptError)>, ReceiptError> {
    let layout = &context.layout;
    let names = journal::run_names(layout.root())?;
    let is_new = |run: &String| receipts_of(layout, run).is_empty();
    if !layout.database().exists() && !names.iter().any(is_new) {
        return Ok(Vec::new());
    }
    let mut book = ReceiptBook::open(layout)?.with_copy(context.copy.clone());
    let known = book.known_runs()?;
    let mut failed = Vec::new();
    // A run that has receipts and is unknown belongs to a database that is lost; `verify` reports that.
    let is_missing = |run: &String| known.get(run).copied().unwrap_or_else(|| is_new(run));
    for run in names.into_iter().filter(is_missing) {
        if let Err(error) = collect_one(context, (&mut book, chains), &run) {
            failed.push((run, error));
        }
    }
    Ok(failed)
}

fn collect_one(
    context: &ReceiptContext,
    (book, chains): (&mut ReceiptBook, Option<&dyn SharedChains>),
    run: &str,
) -> Result<(), ReceiptError> {
    let home = context.layout.root();
    let summary = match journal::summary(home, run) {
        Ok(summary) => summary,
        Err(JournalError::NeverBegan(_) | JournalError::NoRun(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let Some(ending) = RunEndingNote::of(&summary) else { return Ok(()) };
    // The home of the worker that had it has its receipt.
    let standing = journal::engine_standing(home, run);
    if standing.as_ref().is_some_and(|it| !it.here || chains.is_none()) {
        return Ok(());
    }
    // Locked, so that no process continues the run while its receipt is written.
    let _hold = match journal::hold(home, run) {
        Ok(hold) => hold,
        Err(JournalError::Busy { .. } | JournalError::NoRun(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if ending.status == ReceiptStatus::Killed {
        audit_changes_since_kill(&context.layout, run);
    }
    let draft = draft_of_run(context, run, ending)?;
    match chains.filter(|_| standing.is_some()) {
        // Another process of this home may have been faster.
        Some(_) if book.has_closed(run)? => Ok(()),
        Some(chains) => book.append_shared(&draft, chains),
        None => book.append(std::slice::from_ref(&draft)).map(drop),
    }
}

/// Adds to the attempts of a killed run what its last command may have changed of protected files.
fn audit_changes_since_kill(layout: &HomeLayout, run: &str) {
    let log = AuditLog::new(layout);
    // A receipt that could not be written is tried again.
    if log.of_run(run).iter().any(|attempt| attempt.outcome == LEFT) {
        return;
    }
    let changes = quarantine::changes_since_kill(&journal::runs(layout.root()).join(run));
    if changes.is_empty() {
        return;
    }
    let Ok((_, about)) = JournalFollower::open(layout.root(), run) else { return };
    let chain = AgentChain::of(layout, &about.agent, &about.name);
    for change in changes {
        let (file, reason) = (change.path.as_str(), change.line.as_str());
        let (agent, run) = (chain.as_str(), Some(run));
        let entry = AuditEntry { agent, run, file, proposal: None, outcome: LEFT, reason };
        // The user gets the same lines at the next run there.
        let _ = log.append(&entry);
    }
}
