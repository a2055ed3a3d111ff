//! What a session has found out while it renders or imports agents. Agents of one workspace mostly share
//! their rules, so that most questions are asked many times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_policy::memo::{MemoTable, PolicyMemo};
use agentry_policy::{Action, RuleList, Section};

use crate::built_in_protection::UnprotectedSubject;
use crate::claude_code::ClaudeMemo;
use crate::gap::PolicyGap;
use crate::opencode::OpencodeMemo;
use crate::proof::PolicyProof;
use crate::subject::PolicySlack;

/// The memo of one session: whoever starts it owns it, and all its agents share it. A `u64` in a question is
/// the number of a policy, see [`Subject::kind`](crate::RenderSubject::kind).
#[derive(Debug)]
pub struct RenderMemo {
    /// Comparisons of rules.
    pub policy: PolicyMemo,
    /// Numbers of policies by their texts.
    kinds: MemoTable<String, u64>,
    next_kind: AtomicU64,
    pub(crate) bounds: MemoTable<(u64, Section), Arc<[RuleList]>>,
    pub(crate) ways: MemoTable<(u64, PolicySlack, Section, Arc<str>), PolicyProof>,
    pub(crate) proofs: MemoTable<String, PolicyProof>,
    /// Proofs with an example for a person.
    pub(crate) explained: MemoTable<(Section, String), PolicyProof>,
    pub(crate) gaps: MemoTable<(u64, usize, Arc<str>), Vec<PolicyGap>>,
    /// What a policy says of a command line.
    pub(crate) lines: MemoTable<(u64, String), Action>,
    pub(crate) unprotected: MemoTable<(u64, Section, Arc<str>), Option<UnprotectedSubject>>,
    pub(crate) claude_code: ClaudeMemo,
    pub(crate) opencode: OpencodeMemo,
}

impl Default for RenderMemo {
    fn default() -> Self {
        Self {
            policy: PolicyMemo::default(),
            kinds: MemoTable::default(),
            next_kind: AtomicU64::new(0),
            bounds: MemoTable::at_most(1_000),
            ways: MemoTable::default(),
            proofs: MemoTable::default(),
            explained: MemoTable::default(),
            gaps: MemoTable::default(),
            lines: MemoTable::default(),
            unprotected: MemoTable::default(),
            claude_code: ClaudeMemo::default(),
            opencode: OpencodeMemo::default(),
        }
    }
}

impl RenderMemo {
    /// The number of a policy. A number is never given twice, even when the table starts anew.
    pub(crate) fn kind(&self, policy: &str) -> u64 {
        let next = || self.next_kind.fetch_add(1, Ordering::Relaxed);
        self.kinds.get(policy.to_owned(), next)
    }
}
