//! Changes that an agent proposes to itself: compared with what is protected, then applied, kept for the user, or refused.
//!
//! ```text
//! ProposedChange ─▶ area (memory, persona, principles, skills; nothing else) ─▶ protected_change ─▶ check of the whole agent
//!      ─▶ EvolutionRules: auto ─▶ commit · ask ─▶ pending ─accept─▶ commit · never ─▶ refused
//! every attempt ─▶ audit log, and the receipt of its run
//! ```

mod area;
mod audit;
mod look_alike;
mod proposal;
mod proposal_ledger;
mod protection;
mod skill_fields;
mod unified_diff;

pub use area::{ChangeRisk, EvolutionArea};
pub use audit::{AuditEntry, AuditLog, ProtectedAttempt};
pub use proposal::{ProposalError, ProposalState, ProposedChange, ProposedText, StoredProposal};
pub use proposal_ledger::{ChangeCheck, ProposalLedger};
pub use protection::protected_change;
