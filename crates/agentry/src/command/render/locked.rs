//! Whether the agents that are rendered are those that somebody looked at: what `agentry.lock` says.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use agentry_compile::lock::{self, Lock, LockError};
use agentry_compile::text::path::join;
use agentry_compile::{Compiled, World};

use crate::output::{Failure, remark};

/// A lock, if there is one.
type Read = Arc<Result<Option<Lock>, LockError>>;

/// The locks of the workspaces that were met, each read once.
#[derive(Default)]
pub(crate) struct Locks {
    known: RwLock<BTreeMap<String, Read>>,
}

impl Locks {
    /// Refuses an agent that is not as it was locked. One that the lock does not know is let through.
    pub(crate) fn admit(&self, disk: &dyn World, compiled: &Compiled) -> Result<(), Failure> {
        let lock = self.of(disk, &compiled.workspace);
        let lock = match lock.as_ref() {
            Ok(Some(lock)) => lock,
            Ok(None) => return Ok(()),
            Err(error) => {
                let failure = Failure::new(error.message.clone()).hint(error.hint.clone());
                return Err(failure.refused());
            }
        };
        let (path, file) = (&compiled.found.path, join(&compiled.workspace, lock::FILE));
        if !lock.has(&lock::key(disk, compiled)) {
            remark(&format!("note: `{path}` is not in `{file}`"));
            remark(&format!("  = help: run `agentry lock {path}` after a look"));
            return Ok(());
        }
        lock::verify(disk, compiled, lock).map_err(|changes| {
            // What weighs most comes last.
            let what = changes.last().map_or("", |change| change.message.as_str());
            let message = format!("`{path}` is not as `{file}` says: {what}");
            let hint = format!(
                "run `agentry lock --update {path}` after a look, or `agentry lock --check`"
            );
            Failure::new(message).hint(hint).refused()
        })
    }

    /// Refuses an agent that is not as a lock further out says, seen from there. Most do not name it.
    pub(crate) fn admit_outer(&self, disk: &dyn World, compiled: &Compiled) -> Result<(), Failure> {
        let lock = self.of(disk, &compiled.workspace);
        match lock.as_ref() {
            Ok(Some(lock)) if !lock.has(&lock::key(disk, compiled)) => Ok(()),
            _ => self.admit(disk, compiled),
        }
    }

    fn of(&self, disk: &dyn World, root: &str) -> Read {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
        known.unwrap_or_else(|| {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            let read = || Arc::new(lock::read(disk, root));
            known.entry(root.to_owned()).or_insert_with(read).clone()
        })
    }
}
