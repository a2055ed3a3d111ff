//! Delegation: an agent lets another one work for it. The child is a run of its own, with its own journal, model,
//! tools and prompt, under the budget of its parent, and under its policy unless the definition declares otherwise.
//!
//! ```text
//! delegate {agent, prompt} ─▶ known agent ─policy, chain─▶ scope ─▶ child run ─▶ its last text
//!                                                            │ ceiling, budget, approver, chain of names
//! ```

pub(crate) mod ceiling;
mod chain_approver;
mod child_run;
pub(crate) mod delegate_list;
mod delegate_tool;
pub(crate) mod reach;
mod readiness;
pub(crate) mod scope;

pub(crate) use delegate_tool::{DelegateTool, gather};
pub(crate) use readiness::DelegationTerms;
