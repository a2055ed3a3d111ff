//! A proposal: what is proposed, what is stored of it, and why it may fail.

use agentry_compile::policy::words;
use rusqlite::Row;

use super::area::ChangeRisk;
use crate::agent_home::HomeError;
use crate::record::RecordError;
use crate::repository::CommitKind;

/// The columns of the table, in the order in which [`row`] reads them.
pub(super) const COLUMNS: &str =
    "number, agent, state, risk, file, before, after, diff, reason, run, author, kind, outcome";
/// The user to whom a proposal is private, which is read after them.
pub(super) const READER: &str =
    "(SELECT user FROM private_proposals WHERE private_proposals.number = proposals.number)";

words! {
    /// What became of a proposal.
    pub enum ProposalState {
        /// It waits for the user.
        Pending = "pending",
        /// It is a commit.
        Applied = "applied",
        /// The user rejected it.
        Rejected = "rejected",
        /// It was refused, and cannot be accepted.
        Refused = "refused",
    }
}

/// What a file is to contain.
#[derive(Debug, Clone)]
pub enum ProposedText {
    /// The whole file.
    Whole(String),
    /// A unified diff of the present file.
    Diff(String),
}

/// A change that is proposed.
#[derive(Debug, Clone)]
pub struct ProposedChange {
    /// The file, relative to the directory of the definition.
    pub file: String,
    /// What it is to contain.
    pub text: ProposedText,
    /// Why.
    pub reason: String,
    /// The run in which it was proposed.
    pub run: Option<String>,
    /// Who proposes it.
    pub author: String,
    /// Whether that is the agent or a person.
    pub kind: CommitKind,
    /// The user whose private memories the author could read.
    pub private_to: Option<String>,
}

/// A proposal as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProposal {
    /// Its id: `p1`, `p2`, ….
    pub id: String,
    /// The agent.
    pub agent: String,
    /// What became of it.
    pub state: ProposalState,
    /// Its risk.
    pub risk: ChangeRisk,
    /// The file, relative to the root of the agent.
    pub file: String,
    /// The content of the file when it was proposed; `None` if there was none.
    pub before: Option<Vec<u8>>,
    /// The proposed content.
    pub after: Vec<u8>,
    /// The difference.
    pub diff: String,
    /// Why it was proposed.
    pub reason: String,
    /// The run in which it was.
    pub run: Option<String>,
    /// Who proposed it.
    pub author: String,
    /// Whether that is the agent or a person.
    pub kind: CommitKind,
    /// The commit, or why it was refused or rejected.
    pub outcome: Option<String>,
    /// The user whose private memories it may repeat. Nobody else sees it.
    pub private_to: Option<String>,
}

impl StoredProposal {
    /// The proposal as other users see it: that there is one, and nothing that the model wrote.
    pub(super) fn withheld(self) -> Self {
        let nothing = || "withheld".to_owned();
        let outcome = self.outcome.filter(|_| self.state == ProposalState::Applied);
        Self {
            file: nothing(),
            before: None,
            after: Vec::new(),
            diff: String::new(),
            reason: nothing(),
            outcome,
            ..self
        }
    }
}

/// Why a proposal could not be handled.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// There is no such proposal.
    #[error("there is no proposal `{0}`")]
    Missing(String),
    /// It may repeat what another user taught in private.
    #[error("the proposal `{0}` may repeat private memories of the user `{1}`")]
    Private(String, String),
    /// It was decided already.
    #[error("the proposal `{0}` is {1} already")]
    Decided(String, ProposalState),
    /// It was refused, now or when it was made.
    #[error("refused: {0}")]
    Refused(String),
    /// The file changed since it was proposed.
    #[error("`{0}` changed since this was proposed")]
    Stale(String),
    /// The audit log cannot be written. Nothing is changed without it.
    #[error("the audit log cannot be written: {0}")]
    Audit(std::io::Error),
}

impl From<RecordError> for ProposalError {
    fn from(error: RecordError) -> Self {
        Self::Home(error.into())
    }
}

/// Reads a row of [`COLUMNS`].
pub(super) fn row(row: &Row<'_>) -> rusqlite::Result<StoredProposal> {
    let word = |at: usize| row.get::<_, String>(at);
    let unknown = |at: usize| {
        rusqlite::Error::FromSqlConversionFailure(
            at,
            rusqlite::types::Type::Text,
            "an unknown word".into(),
        )
    };
    Ok(StoredProposal {
        id: format!("p{}", row.get::<_, i64>(0)?),
        agent: row.get(1)?,
        state: word(2)?.parse().map_err(|()| unknown(2))?,
        risk: word(3)?.parse().map_err(|()| unknown(3))?,
        file: row.get(4)?,
        before: row.get(5)?,
        after: row.get(6)?,
        diff: row.get(7)?,
        reason: row.get(8)?,
        run: row.get(9)?,
        author: row.get(10)?,
        kind: word(11)?.parse().map_err(|()| unknown(11))?,
        outcome: row.get(12)?,
        private_to: row.get(13)?,
    })
}
