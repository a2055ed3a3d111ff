//! Writes receipts: at the end of a run, for a run that was refused, and for what a killed process left.
//! A receipt that cannot be written now is a warning, since the journal stays and the next command tries again.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::JoinHandle;

use agentry_home::HomeLayout;
use agentry_home::receipt::{
    HeadCopy, LastRunReview, ReceiptAgent, ReceiptBook, ReceiptContext, ReceiptDraft, ReceiptError,
    ReceiptFiring, ReceiptStatus, RunEndingNote, RunRow, SharedChains, collect_missing,
    draft_of_run, review_last_run,
};
use agentry_runtime::RunEnding;
use agentry_runtime::journal::{self, RunFiring};
use agentry_runtime::redact::Redactor;

use crate::args::RunArguments;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::session::now;
use crate::engine::{self, shared_receipts};
use crate::home::recorded_user;
use crate::output::{CliFailure, ExitKind, remark};

/// Writes the receipts of runs whose process died.
pub(crate) fn collect(layout: &HomeLayout) {
    let chains = shared_receipts::chains();
    let chains = chains.as_ref().map(|chains| chains as &dyn SharedChains);
    match collect_missing(&context(layout), chains) {
        Ok(failed) => {
            for (run, error) in failed {
                warn(&format!("the receipt of run `{run}`"), &error);
            }
        }
        Err(error) => warn("a receipt", &error),
    }
}

fn context(layout: &HomeLayout) -> ReceiptContext {
    ReceiptContext { layout: layout.clone(), user: recorded_user(), copy: head_copy(layout) }
}

/// The copy of the heads outside the home, in the user's state directory.
pub(crate) fn head_copy(layout: &HomeLayout) -> Option<HeadCopy> {
    crate::home::state_directory().map(|state| HeadCopy::new(&state, layout.root()))
}

fn open_book(layout: &HomeLayout) -> Result<ReceiptBook, ReceiptError> {
    Ok(ReceiptBook::open(layout)?.with_copy(head_copy(layout)))
}

fn warn(what: &str, error: &ReceiptError) {
    remark(&format!("warning: {what} is not written: {error}"));
    if let Some(hint) = error.hint() {
        remark(&format!("  = help: {hint}"));
    }
}

/// Writes the receipt of a run that this process ends. The process still holds the run.
pub(crate) fn record_ending(home: &Path, run: &str, ending: &RunEnding) {
    let layout = HomeLayout::new(home);
    let written = draft_of_run(&context(&layout), run, RunEndingNote::from(ending))
        .and_then(|draft| append(&mut open_book(&layout)?, draft));
    if let Err(error) = written {
        warn("the receipt of this run", &error);
    }
}

/// Writes a receipt: that of a run of an engine into the chain that the homes of the engine share.
fn append(book: &mut ReceiptBook, draft: ReceiptDraft) -> Result<(), ReceiptError> {
    let is_shared = engine::has(book.layout().root(), &draft.run);
    match shared_receipts::chains().filter(|_| is_shared) {
        Some(chains) => book.append_shared(&draft, &chains),
        None => book.append(&[draft]).map(drop),
    }
}

/// The last receipt of each run; none if the book cannot be read, which [`collect`] has reported.
pub(crate) fn run_rows(layout: &HomeLayout) -> BTreeMap<String, RunRow> {
    let is_there = layout.database().exists();
    let rows = is_there.then(|| ReceiptBook::open(layout).and_then(|book| book.run_rows()).ok());
    rows.flatten().unwrap_or_default()
}

/// Notes that this process continues a run.
pub(crate) fn reopen(home: &Path, run: &str) {
    let noted = ReceiptBook::open(&HomeLayout::new(home)).and_then(|book| book.reopen(run));
    if let Err(error) = noted {
        warn("the receipt of this run", &error);
    }
}

/// What is written down about the files of the last run while the next one starts. Waits until that is done on drop.
pub(crate) struct LastRunAmendment(Option<JoinHandle<()>>);

impl Drop for LastRunAmendment {
    fn drop(&mut self) {
        let _ = self.0.take().map(JoinHandle::join);
    }
}

/// Before a new run: the changes that a person made to the files of the last run. They are looked for at once, before the new
/// run changes any; writing them down waits for the disk, so that happens in a thread.
pub(crate) fn amend_earlier_run(ground: &PreparedAgent) -> LastRunAmendment {
    let layout = HomeLayout::new(&ground.home);
    let own = agent(&layout, ground);
    let agent = match shared_receipts::chains() {
        Some(_) => ReceiptAgent { chain: own.chain.shared(), ..own },
        None => own,
    };
    let reviewed = open_book(&layout).and_then(|book| {
        let by = (&*recorded_user(), now());
        let review = review_last_run(&book, &agent, &ground.workspace, by)?;
        Ok(review.map(|review| (book, review)))
    });
    let warn = |error| warn("the correction of the last receipt", &error);
    let review = reviewed.unwrap_or_else(|error| {
        warn(error);
        None
    });
    LastRunAmendment(review.map(|(mut book, review)| {
        std::thread::spawn(move || {
            let written = match review {
                LastRunReview::Unchanged { run } => book.note_amended(&run),
                LastRunReview::Changed(draft) => append(&mut book, *draft),
            };
            written.unwrap_or_else(warn);
        })
    }))
}

fn agent(layout: &HomeLayout, ground: &PreparedAgent) -> ReceiptAgent {
    ReceiptAgent::new(layout, &ground.full_path(), ground.agent.name(), &ground.digest)
}

/// Writes the receipt of a run that was refused or failed before it began. Bad usage is no run.
pub(crate) fn record_refusal(ground: &PreparedAgent, args: &RunArguments, failure: &CliFailure) {
    let layout = HomeLayout::new(&ground.home);
    let draft = ReceiptDraft {
        agent: agent(&layout, ground),
        workspace: ground.workspace.display().to_string(),
        input: args.prompt.as_ref().map(|prompt| summary(&ground.redactor, prompt)),
        reason: Some(summary(&ground.redactor, &failure.message)),
        ..ReceiptDraft::default()
    };
    record_unbegun(&layout, args, failure, draft);
}

/// The same for an agent that could not be prepared, such as one that is not locked.
pub(crate) fn record_unprepared(
    args: &RunArguments,
    (path, name): (&str, &str),
    failure: &CliFailure,
) {
    let Some(home) = crate::home::agentry_home() else { return };
    let layout = HomeLayout::new(home);
    let draft = ReceiptDraft {
        agent: ReceiptAgent::new(&layout, path, name, ""),
        reason: Some(summary(&Redactor::default(), &failure.message)),
        ..ReceiptDraft::default()
    };
    record_unbegun(&layout, args, failure, draft);
}

fn record_unbegun(
    layout: &HomeLayout,
    args: &RunArguments,
    failure: &CliFailure,
    draft: ReceiptDraft,
) {
    let status = match failure.exit {
        ExitKind::Refused => ReceiptStatus::Refused,
        ExitKind::Findings => ReceiptStatus::Failed,
        // A firing has a receipt whatever happens.
        ExitKind::Usage if args.firing.is_some() => ReceiptStatus::Failed,
        _ => return,
    };
    let at = now();
    let draft = ReceiptDraft {
        status,
        user: recorded_user(),
        estimate: args.estimate,
        firing: args.firing.as_ref().map(firing),
        started: at,
        ended: at,
        ..draft
    };
    write_unbegun(layout, vec![draft], at);
}

/// Writes receipts that belong to no journal, in a directory of their own.
pub(crate) fn write_unbegun(layout: &HomeLayout, mut drafts: Vec<ReceiptDraft>, at: u64) {
    let written = open_book(layout).and_then(|mut book| {
        let mut due = Vec::new();
        for draft in drafts.drain(..) {
            let is_written = match &draft.firing {
                Some(firing) => book.has_firing(firing)?,
                None => false,
            };
            if !is_written {
                due.push(draft);
            }
        }
        if due.is_empty() {
            return Ok(());
        }
        let run = journal::reserve(layout.root(), at)?;
        due.iter_mut().for_each(|draft| draft.run.clone_from(&run));
        book.append(&due).map(drop)
    });
    if let Err(error) = written {
        warn("a receipt", &error);
    }
}

pub(crate) fn firing(firing: &RunFiring) -> ReceiptFiring {
    let RunFiring { agent, schedule, planned } = firing.clone();
    ReceiptFiring { agent, schedule, planned }
}

/// The first line of a text, without secrets.
fn summary(redactor: &Redactor, text: &str) -> String {
    agentry_home::receipt::first_line(&redactor.text(text))
}
