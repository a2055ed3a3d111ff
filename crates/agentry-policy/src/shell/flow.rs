//! Where a command leaves the shell: after success, and after failure.

use super::state::ShellState;

/// The shell after a command.
#[derive(Debug, Clone)]
pub(super) struct ShellFlow {
    /// If it succeeded. Nothing if it cannot.
    pub(super) ok: Option<ShellState>,
    /// If it failed. Nothing if it cannot.
    pub(super) fail: Option<ShellState>,
    /// For what follows all the same, like the text after `exit`.
    pub(super) last: ShellState,
}

impl ShellFlow {
    /// The same, whatever happened.
    pub(super) fn both(state: ShellState) -> Self {
        Self { ok: Some(state.clone()), fail: Some(state.clone()), last: state }
    }

    /// The line ends here.
    pub(super) fn end(state: ShellState) -> Self {
        Self { ok: None, fail: None, last: state }
    }

    /// The shell after success.
    pub(super) fn success(&self) -> ShellState {
        self.ok.as_ref().or(self.fail.as_ref()).unwrap_or(&self.last).clone()
    }

    /// The shell after failure.
    pub(super) fn failure(&self) -> ShellState {
        self.fail.as_ref().or(self.ok.as_ref()).unwrap_or(&self.last).clone()
    }

    /// The shell after either.
    pub(super) fn after(self) -> ShellState {
        either(self.ok, self.fail).unwrap_or(self.last)
    }

    /// `!`
    pub(super) fn negated(self) -> Self {
        Self { ok: self.fail, fail: self.ok, last: self.last }
    }

    /// `self && next`
    pub(super) fn and(self, next: Self) -> Self {
        Self { ok: next.ok, fail: either(self.fail, next.fail), last: next.last }
    }

    /// `self || next`
    pub(super) fn or(self, next: Self) -> Self {
        Self { ok: either(self.ok, next.ok), fail: next.fail, last: next.last }
    }
}

/// Either state, of those that there are.
pub(super) fn either(left: Option<ShellState>, right: Option<ShellState>) -> Option<ShellState> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.or(&right)),
        (left, right) => left.or(right),
    }
}
