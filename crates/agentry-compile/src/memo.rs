//! What a session has found out: pure answers, which belong to a world and are dropped with it.

use std::sync::Arc;

use agentry_policy::memo::MemoTable;
use agentry_targets::memo::RenderMemo;

use crate::resolve::TierKey;

/// The memo of one session. Its answers do not depend on files, so that every wrapper of a world passes
/// on the memo of the world below.
#[derive(Debug)]
pub struct SessionMemo {
    /// About rules, and what harnesses make of them.
    pub render: Arc<RenderMemo>,
    /// The usable models of a tier: many agents ask for the same.
    pub(crate) tiers: MemoTable<TierKey, Arc<Vec<String>>>,
}

impl Default for SessionMemo {
    fn default() -> Self {
        Self { render: Arc::default(), tiers: MemoTable::at_most(1_000) }
    }
}
