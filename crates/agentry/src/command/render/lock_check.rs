//! Checks agents that are rendered or run against `agentry.lock`.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use agentry_compile::lock::{self, LockChange, LockError, Lockfile};
use agentry_compile::text::path::join;
use agentry_compile::{CompiledAgent, World};

use crate::output::{CliFailure, remark};

/// A lock, if there is one.
type ReadLock = Arc<Result<Option<Lockfile>, LockError>>;

/// What to do with an agent that is not in the lock.
#[derive(Clone, Copy)]
pub(crate) enum UnlockedAgent {
    /// It is accepted.
    Passes,
    /// It is accepted with a note to the user.
    IsNoted,
    /// It is refused, because it was not reviewed.
    IsRefused,
}

/// The locks of the visited workspaces, each read once.
#[derive(Default)]
pub(crate) struct RenderLocks {
    known: RwLock<BTreeMap<String, ReadLock>>,
}

impl RenderLocks {
    /// Refuses an agent that differs from its lock.
    pub(crate) fn admit(
        &self,
        disk: &dyn World,
        compiled: &CompiledAgent,
        unknown: UnlockedAgent,
    ) -> Result<(), CliFailure> {
        let lock = self.of(disk, &compiled.workspace);
        let lock = match lock.as_ref() {
            Ok(Some(lock)) => lock,
            // A workspace without a lock accepts every agent.
            Ok(None) => return Ok(()),
            Err(error) => {
                let failure = CliFailure::new(error.message.clone()).hint(error.hint.clone());
                return Err(failure.refused());
            }
        };
        let (path, file) = (&compiled.found.path, join(&compiled.workspace, lock::FILE));
        if !lock.has(&lock::key(disk, compiled)) {
            let (message, hint) = (
                format!("`{path}` is not in `{file}`"),
                format!("run `agentry lock {path}` after a look"),
            );
            match unknown {
                UnlockedAgent::Passes => {}
                UnlockedAgent::IsNoted => {
                    remark(&format!("note: {message}"));
                    remark(&format!("  = help: {hint}"));
                }
                UnlockedAgent::IsRefused => {
                    return Err(CliFailure::new(message).hint(hint).refused());
                }
            }
            return Ok(());
        }
        lock::verify(disk, compiled, lock).map_err(|changes| {
            let message = format!("`{path}` is not as `{file}` says: {}", summary(&changes));
            let hint = format!(
                "run `agentry lock --update {path}` after a look, or `agentry lock --check`"
            );
            CliFailure::new(message).hint(hint).refused()
        })
    }

    fn of(&self, disk: &dyn World, root: &str) -> ReadLock {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
        known.unwrap_or_else(|| {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            let read = || Arc::new(lock::read(disk, root));
            known.entry(root.to_owned()).or_insert_with(read).clone()
        })
    }
}

/// What the agent may do more than it was locked with, then the change that weighs most, which is the last.
fn summary(changes: &[LockChange]) -> String {
    let gains = changes.iter().filter(|change| change.widens);
    let last = changes.last().filter(|change| !change.widens);
    let messages: Vec<&str> = gains.chain(last).map(|change| change.message.as_str()).collect();
    messages.join("; ")
}
