//! The worker process: seals itself, then runs one job after the other, each in a new engine.

mod engine;
mod exception;
mod host;
mod prelude;
mod streams;

use crate::protocol::{PoolMessage, WorkerMessage};

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
        let Ok(Some((PoolMessage::Job(job), _))) = streams::receive() else { return 0 };
        match engine::run(&job) {
            Some(outcome) => message = WorkerMessage::Done(outcome),
            None => return 0,
        }
    }
}
