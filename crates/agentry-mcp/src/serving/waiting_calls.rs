//! Calls of the newer era that wait for the client to come back with the answer of its user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_rpc::RpcError;
use agentry_text::digest::hex;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::caller::{CallerEvent, CallerQuestion};
use crate::elicitation::ElicitationAnswer;

/// The most calls that wait at once.
const WAITING: usize = 64;
/// The time after which a call without an answer is given up.
const PATIENCE: Duration = Duration::from_mins(10);
/// The key of the question in a result.
const QUESTION: &str = "approval";

/// A call that waits.
pub(super) struct WaitingCall {
    /// What happens in it.
    pub(super) events: mpsc::Receiver<CallerEvent>,
    /// Where the answer goes.
    pub(super) reply: oneshot::Sender<ElicitationAnswer>,
    /// The tool and its arguments: the state of one call cannot be used for another.
    pub(super) call: (String, Map<String, Value>),
}

/// The calls that wait, by the state that the client sends back.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<HashMap<String, WaitingCall>>);

impl WaitingCalls {
    /// Lets a call wait; returns the result that asks the client.
    pub(super) fn hold(
        self: &Arc<Self>,
        waiting: WaitingCall,
        question: &CallerQuestion,
    ) -> Result<Value, RpcError> {
        let state = random_state()?;
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= WAITING {
            return Err(RpcError::invalid(format!("more than {WAITING} calls wait for an answer")));
        }
        calls.insert(state.clone(), waiting);
        drop(calls);
        let (weak, name) = (Arc::downgrade(self), state.clone());
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            if let Some(all) = weak.upgrade() {
                all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            }
        });
        let asked = json!({"method": "elicitation/create", "params": question.to_json()});
        Ok(
            json!({"resultType": "input_required", "inputRequests": {QUESTION: asked}, "requestState": state}),
        )
    }

    /// Continues the call of `params`. A state is accepted once, and only for its own call.
    pub(super) fn go_on(
        &self,
        params: &Value,
        call: &(String, Map<String, Value>),
    ) -> Result<Option<mpsc::Receiver<CallerEvent>>, RpcError> {
        let Some(state) = params.get("requestState") else { return Ok(None) };
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = state.as_str().filter(|key| calls.get(*key).is_some_and(|it| it.call == *call));
        let Some(waiting) = key.and_then(|key| calls.remove(key)) else {
            let message = "`requestState` is not that of a call that waits: it was answered, given up \
                or is about another call";
            return Err(RpcError::invalid(message));
        };
        let answer = params.pointer(&format!("/inputResponses/{QUESTION}"));
        let _ = waiting.reply.send(ElicitationAnswer::from_json(answer.unwrap_or(&Value::Null)));
        Ok(Some(waiting.events))
    }

    /// Gives all up.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A state that cannot be guessed.
pub(super) fn random_state() -> Result<String, RpcError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| RpcError::new(agentry_rpc::codes::INTERNAL, error.to_string()))?;
    Ok(hex(&bytes))
}
