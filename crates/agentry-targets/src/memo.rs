//! The memo of a rendering or import session. Agents of one workspace mostly share their rules, so most
//! proofs would be computed many times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_policy::memo::{MemoTable, PolicyMemo};
use agentry_policy::{Action, RuleList, Section};

use crate::built_in_protection::UnprotectedSubject;
use crate::claude_code::ClaudeMemo;
use crate::gap::PolicyGap;
use crate::import_rules::NarrowedPermissions;
use crate::opencode::OpencodeMemo;
use crate::original::TrialOutcome;
use crate::proof::PolicyProof;
use crate::subject::PolicySlack;

/// The memo of one session, shared by all its agents. A `u64` in a key is the number of a policy: see
/// [`RenderSubject::kind`](crate::RenderSubject::kind).
#[derive(Debug)]
pub struct RenderMemo {
    /// Memoised comparisons of rules.
    pub policy: PolicyMemo,
    /// The number of each policy, by its text.
    kinds: MemoTable<String, u64>,
    next_kind: AtomicU64,
    pub(crate) bounds: MemoTable<(u64, Section), Arc<[RuleList]>>,
    pub(crate) ways: MemoTable<(u64, PolicySlack, Section, Arc<str>), PolicyProof>,
    pub(crate) proofs: MemoTable<String, PolicyProof>,
    /// Proofs whose example was chosen for the user.
    pub(crate) explained: MemoTable<(Section, String), PolicyProof>,
    pub(crate) gaps: MemoTable<(u64, usize, Arc<str>), Vec<PolicyGap>>,
    /// The verdict of a policy about a command line.
    pub(crate) lines: MemoTable<(u64, String), Action>,
    pub(crate) unprotected: MemoTable<(u64, Section, Arc<str>), Option<UnprotectedSubject>>,
    /// The grants that may be restored to an imported agent.
    pub(crate) trials: MemoTable<String, TrialOutcome>,
    /// The rules of imported agents, by the harness' rules and their own.
    pub(crate) narrowed: MemoTable<String, NarrowedPermissions>,
    /// What definitions permit beyond a harness, by their verdicts and its rules.
    pub(crate) excesses: MemoTable<(u64, Arc<str>), Option<String>>,
    pub(crate) claude_code: ClaudeMemo,
    pub(crate) opencode: OpencodeMemo,
}

impl Default for RenderMemo {
    fn default() -> Self {
        Self {
            policy: PolicyMemo::default(),
            kinds: MemoTable::default(),
            next_kind: AtomicU64::new(0),
            // An entry holds whole rule lists, so this table has a lower limit than the others.
            bounds: MemoTable::at_most(1_000),
            ways: MemoTable::default(),
            proofs: MemoTable::default(),
            explained: MemoTable::default(),
            gaps: MemoTable::default(),
            lines: MemoTable::default(),
            unprotected: MemoTable::default(),
            trials: MemoTable::default(),
            narrowed: MemoTable::at_most(1_000),
            excesses: MemoTable::at_most(1_000),
            claude_code: ClaudeMemo::default(),
            opencode: OpencodeMemo::default(),
        }
    }
}

impl RenderMemo {
    /// Returns the number of a policy. A number is never reused, even after the table was cleared.
    pub(crate) fn kind(&self, policy: &str) -> u64 {
        let next = || self.next_kind.fetch_add(1, Ordering::Relaxed);
        self.kinds.get(policy.to_owned(), next)
    }
}
