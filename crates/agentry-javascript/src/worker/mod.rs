//! The worker process: seals itself, then runs one job after the other, each in a new engine.

mod engine;
mod exception;
mod host;
mod modules;
mod prelude;
mod streams;

use crate::protocol::{JobMessage, PoolMessage, WorkerMessage};

/// The most bytes of data of the whole process: the engine's, and the messages to and from it.
const MOST_MEMORY: u64 = 192 << 20;

/// Runs a worker and returns its exit code. Its standard streams lead to the pool. Must be called before
/// anything else, while the program has one thread.
pub fn serve() -> u8 {
    if agentry_sandbox::seal(MOST_MEMORY).is_err() {
        return 1;
    }
    let mut message = WorkerMessage::Ready;
    loop {
        if streams::send(&message, &[]).is_err() {
            return 1;
        }
        let Some(job) = next_job() else { return 0 };
        match engine::run(&job) {
            Some(outcome) => message = WorkerMessage::Done(outcome),
            None => return 0,
        }
    }
}

/// Waits for a job. Returns `None` if the pool is gone.
fn next_job() -> Option<Box<JobMessage>> {
    loop {
        match streams::receive() {
            Ok(Some((PoolMessage::Job(job), _))) => return Some(job),
            // It came after the job that asked for it had ended.
            Ok(Some((PoolMessage::Answer { .. }, _))) => {}
            _ => return None,
        }
    }
}
