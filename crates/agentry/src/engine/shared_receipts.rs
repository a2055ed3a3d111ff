//! The receipts that homes share by their engine.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use agentry_engine::EngineSession;
use agentry_home::HomeLayout;
use agentry_home::receipt::{ReceiptBook, ReceiptError, SharedChains};
use agentry_runtime::engine::SharedReceipt;

use super::current;
use crate::command::receipts::recording::head_copy;
use crate::output::remark;

/// The chains of the engine.
pub(crate) struct EngineChains(&'static EngineSession);

/// The chains of the engine of this process; `None` if there is none, or it cannot be reached.
pub(crate) fn chains() -> Option<EngineChains> {
    current().ok().flatten().map(EngineChains)
}

impl SharedChains for EngineChains {
    fn add(&self, receipt: &SharedReceipt) -> Result<bool, String> {
        self.0.add_receipt(receipt.clone()).map_err(|failure| failure.to_string())
    }

    fn lengths(&self) -> Result<Vec<(String, u64)>, String> {
        self.0.chains().map_err(|failure| failure.to_string())
    }

    fn receipts(&self, chain: &str, first: u64) -> Result<Vec<SharedReceipt>, String> {
        self.0.receipts(chain, first).map_err(|failure| failure.to_string())
    }
}

/// Takes in the receipts of other homes, if the chains have grown since the last time. What is wrong is reported once.
pub(super) fn take_in(session: &'static EngineSession, home: &Path) {
    static SEEN: Mutex<Vec<(String, u64)>> = Mutex::new(Vec::new());
    static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    // What cannot be read now is read the next time.
    let Ok(lengths) = session.chains() else { return };
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if *seen == lengths {
        return;
    }
    let problems = taken_in(session, home).unwrap_or_else(|error| vec![error]);
    if problems.is_empty() {
        *seen = lengths;
    }
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    for problem in problems.iter().map(ToString::to_string) {
        if reported.insert(problem.clone()) {
            remark(&format!("warning: {problem}"));
        }
    }
}

fn taken_in(
    session: &'static EngineSession,
    home: &Path,
) -> Result<Vec<ReceiptError>, ReceiptError> {
    let layout = HomeLayout::new(home);
    let book = ReceiptBook::open(&layout)?;
    Ok(book.with_copy(head_copy(&layout)).take_in(&EngineChains(session)))
}
