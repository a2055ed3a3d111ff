//! The threads of a run: file access blocks, and independent calls run in parallel.

use tokio::runtime::{Builder, Runtime};

use crate::output::{CliFailure, error_text};

/// The number of calls that can block at once; more have to wait.
const THREADS: usize = 4;

/// Builds the runtime, after memory that only reading the agent needed is released.
pub(crate) fn workers() -> Result<Runtime, CliFailure> {
    agentry_sandbox::forget_code();
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    runtime.map_err(|error| CliFailure::new(format!("nothing can be run: {}", error_text(&error))))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::*;

    /// Each of two calls blocks its thread until the other one runs.
    #[test]
    fn blocking_calls_run_in_parallel() {
        let meet = |tell: Sender<()>, hear: Receiver<()>| {
            let was_heard = tell.send(()).is_ok();
            was_heard && hear.recv_timeout(Duration::from_secs(20)).is_ok()
        };
        let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
        let runtime = workers().unwrap_or_else(|failure| panic!("{failure:?}"));
        let both = runtime.block_on(async {
            let a = tokio::spawn(async move { meet(to_b, from_b) });
            let b = tokio::spawn(async move { meet(to_a, from_a) });
            a.await.unwrap() && b.await.unwrap()
        });
        assert!(both, "one had to wait for the other");
    }
}
