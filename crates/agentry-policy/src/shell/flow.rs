//! The states of the shell after a command: after success, and after failure.

use super::state::ShellState;

/// The possible states of the shell after a command.
#[derive(Debug, Clone)]
pub(super) struct ShellFlow {
    /// The state after success; `None` if it cannot succeed.
    pub(super) ok: Option<ShellState>,
    /// The state after failure; `None` if it cannot fail.
    pub(super) fail: Option<ShellState>,
    /// The state for text that is analysed although it is never reached, such as text after `exit`.
    pub(super) last: ShellState,
}

impl ShellFlow {
    /// Makes a flow with the same state after success and failure.
    pub(super) fn both(state: ShellState) -> Self {
        Self { ok: Some(state.clone()), fail: Some(state.clone()), last: state }
    }

    /// Makes a flow after which the line ends.
    pub(super) fn end(state: ShellState) -> Self {
        Self { ok: None, fail: None, last: state }
    }

    /// Returns the state after success.
    pub(super) fn success(&self) -> ShellState {
        self.ok.as_ref().or(self.fail.as_ref()).unwrap_or(&self.last).clone()
    }

    /// Returns the state after failure.
    pub(super) fn failure(&self) -> ShellState {
        self.fail.as_ref().or(self.ok.as_ref()).unwrap_or(&self.last).clone()
    }

    /// Returns the state after either.
    pub(super) fn after(self) -> ShellState {
        either(self.ok, self.fail).unwrap_or(self.last)
    }

    /// Returns the flow of `! self`.
    pub(super) fn negated(self) -> Self {
        Self { ok: self.fail, fail: self.ok, last: self.last }
    }

    /// Returns the flow of `self && next`.
    pub(super) fn and(self, next: Self) -> Self {
        Self { ok: next.ok, fail: either(self.fail, next.fail), last: next.last }
    }

    /// Returns the flow of `self || next`.
    pub(super) fn or(self, next: Self) -> Self {
        Self { ok: either(self.ok, next.ok), fail: next.fail, last: next.last }
    }
}

/// Returns the union of the states that exist.
pub(super) fn either(left: Option<ShellState>, right: Option<ShellState>) -> Option<ShellState> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.or(&right)),
        (left, right) => left.or(right),
    }
}
