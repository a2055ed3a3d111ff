//! Files that a run wrote and a person changed before the next run: a correction of its receipt.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentry_runtime::journal;
use agentry_runtime::undo::{PathImage, left_behind, there};

use super::book::{ReceiptBook, RunRow};
use super::collect::commit_of;
use super::draft::{AmendedReceipt, ReceiptAgent, ReceiptDraft, ReceiptStatus};
use super::{AgentChain, ReceiptError};
use crate::layout::HomeLayout;

/// The most files that a receipt lists.
const MOST_FILES: usize = 1_000;

/// What became of the files of the last run, before it is written down.
pub enum LastRunReview {
    /// A person changed none of them.
    Unchanged {
        /// The run.
        run: String,
    },
    /// The correction of its receipt.
    Changed(Box<ReceiptDraft>),
}

/// Compares the files of the last run of an agent in a workspace with what is there now. `None` if that was done before.
/// Called when the next run starts, before it changes any; `user` and `now` are those of that run.
pub fn review_last_run(
    book: &ReceiptBook,
    agent: &ReceiptAgent,
    workspace: &Path,
    (user, now): (&str, u64),
) -> Result<Option<LastRunReview>, ReceiptError> {
    let workspace = workspace.display().to_string();
    let Some(last) = book.last_run(agent.chain.as_str(), &workspace)? else { return Ok(None) };
    let files = changed_files(book.layout(), &last.run);
    let RunRow { run, receipt, .. } = last;
    if files.is_empty() {
        return Ok(Some(LastRunReview::Unchanged { run }));
    }
    let files = files.iter().take(MOST_FILES).map(|path| shown(path, &workspace)).collect();
    Ok(Some(LastRunReview::Changed(Box::new(ReceiptDraft {
        agent: agent.clone(),
        run,
        user: user.to_owned(),
        workspace,
        status: ReceiptStatus::Modified,
        amends: Some(AmendedReceipt { receipt, files }),
        started: now,
        ended: now,
        ..ReceiptDraft::default()
    }))))
}

/// A path below the workspace without it.
fn shown(path: &Path, workspace: &str) -> String {
    path.strip_prefix(workspace).unwrap_or(path).display().to_string()
}

/// The files that are neither as the run left them nor as any other run left them.
fn changed_files(layout: &HomeLayout, run: &str) -> Vec<PathBuf> {
    let Ok(left) = left_behind(&images(layout, run)) else { return Vec::new() };
    let is_changed = |(path, image): &(PathBuf, PathImage)| {
        there(path).is_ok_and(|found| found != *image && !is_same_file(&found, image))
    };
    let mut changed: BTreeSet<PathBuf> =
        left.into_iter().filter(is_changed).map(|(path, _)| path).collect();
    for other in journal::run_names(layout.root()).unwrap_or_default() {
        if changed.is_empty() {
            break;
        }
        if other != run {
            let left = left_behind(&images(layout, &other)).unwrap_or_default();
            changed.retain(|path| match (left.get(path), there(path)) {
                (Some(image), Ok(found)) => *image != found,
                _ => true,
            });
        }
    }
    changed.into_iter().collect()
}

/// Whether only the permissions differ: a checkout or a copy changes those, and no person edited anything.
fn is_same_file(found: &PathImage, left: &PathImage) -> bool {
    match (found, left) {
        (PathImage::File { digest: found, .. }, PathImage::File { digest: left, .. }) => {
            found == left
        }
        _ => false,
    }
}

fn images(layout: &HomeLayout, run: &str) -> PathBuf {
    journal::images(&journal::runs(layout.root()).join(run))
}

impl ReceiptAgent {
    /// The agent of a run that is about to begin.
    #[must_use]
    pub fn new(layout: &HomeLayout, path: &str, name: &str, digest: &str) -> Self {
        let chain = AgentChain::of(layout, path, name);
        Self {
            commit: commit_of(layout, &chain),
            chain,
            name: name.to_owned(),
            path: path.to_owned(),
            digest: digest.to_owned(),
        }
    }
}
