//! The approvals of the user's own run: those that stand from earlier runs, and the place for more.

use agentry_runtime::approval::Approvals;
use agentry_runtime::rule_lines::{digest, written};
use agentry_runtime::standing_approval::{StandingApproval, StandingStore};

use super::prepared_agent::PreparedAgent;
use super::session::now;
use crate::output::{error_text, remark};

/// The approvals of a run of this agent. A recording has none: its answers must not depend on this machine.
pub(super) fn approvals(ground: &PreparedAgent, is_recorded: bool) -> Approvals {
    if is_recorded {
        return Approvals::default();
    }
    let store = StandingStore::of(&ground.home);
    let key = StandingApproval {
        agent: ground.full_path(),
        name: ground.agent.name().to_owned(),
        policy: digest(&written(&ground.judge)),
        workspace: ground.workspace.clone(),
        covers: Vec::new(),
        at: 0,
    };
    let covered = store.covered(&key);
    let keeper = move |covers: &[String]| {
        let new = StandingApproval { covers: covers.to_vec(), at: now(), ..key.clone() };
        store.add(&new).map_err(|error| {
            let why = error_text(&error);
            remark(&format!("warning: the approval was not stored, and holds this once: {why}"));
            why
        })
    };
    Approvals::with_standing(covered, Box::new(keeper))
}
