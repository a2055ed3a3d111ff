//! The memo of a session: results that do not depend on files, kept as long as their world.

use std::sync::Arc;

use agentry_policy::memo::MemoTable;
use agentry_targets::memo::RenderMemo;

use crate::resolve::TierKey;

/// The memo of one session. Its results do not depend on files, so every wrapper of a world passes on the
/// memo of the inner world.
#[derive(Debug)]
pub struct SessionMemo {
    /// Results about rules, and about how harnesses apply them.
    pub render: Arc<RenderMemo>,
    /// The usable models of a tier; many agents need the same tier.
    pub(crate) tiers: MemoTable<TierKey, Arc<Vec<String>>>,
}

impl Default for SessionMemo {
    fn default() -> Self {
        Self { render: Arc::default(), tiers: MemoTable::at_most(1_000) }
    }
}
