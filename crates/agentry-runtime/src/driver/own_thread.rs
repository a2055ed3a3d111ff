//! Work that may take long and waits for nothing, such as the judgement of a long command line.

use std::sync::Arc;

use super::interfaces::{CallDecision, RunTools};
use super::perform::words;
use crate::conversation::ToolCall;

/// Does the work on a thread of its own, so that its task can be stopped meanwhile: a stopped task does not wait for
/// the thread. A panic is an error.
pub(super) async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| match error.try_into_panic() {
        Ok(panic) => format!("a defect in agentry: {}", words(&*panic)),
        Err(_) => "the run is over".to_owned(),
    })
}

/// Asks the policy about a call. A judgement that fails denies it.
pub async fn judged(tools: Arc<dyn RunTools>, call: ToolCall) -> CallDecision {
    let judging = on_own_thread(move || tools.judge(&call)).await;
    judging.unwrap_or_else(CallDecision::denied)
}
