//! The proposals of a home: made, stored, accepted, rejected. The one way on which an agent's files change without a person's
//! hand.

use agentry_compile::text::path::is_inside;
use agentry_compile::{EvolutionMode, EvolutionRules};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::area::{ChangeRisk, EvolutionArea};
use super::audit::{AuditEntry, AuditLog};
use super::proposal::{
    COLUMNS, ProposalError, ProposalState, ProposedChange, ProposedText, READER, StoredProposal,
    row,
};
use super::skill_fields::compare_fields;
use super::{protected_change, unified_diff};
use crate::agent_home::{AgentHome, AgentUnderLock, HomeError};
use crate::database;
use crate::record::{InstalledAgent, RecordError};
use crate::repository::{AgentTree, CommitNote, TreeFile, TreeMode, text_diff};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS proposals (
        number INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, state TEXT NOT NULL, risk TEXT NOT NULL,
        file TEXT NOT NULL, before BLOB, after BLOB NOT NULL, diff TEXT NOT NULL,
        reason TEXT NOT NULL, run TEXT, author TEXT NOT NULL, kind TEXT NOT NULL, outcome TEXT
    );
    CREATE TABLE IF NOT EXISTS private_proposals (number INTEGER PRIMARY KEY, user TEXT NOT NULL);
";
/// The most bytes of a proposed file.
const MOST_BYTES: usize = 256 * 1024;
/// Why a change waits that would be applied otherwise.
const PRIVATE: &str = "it waits because its run could have read private memories of a user";
/// The most proposals of one agent that wait.
const MOST_PENDING: usize = 200;

/// Checks the whole agent before and after a change: it must still be read without errors and may do nothing more. Returns why
/// the change is refused.
pub type ChangeCheck<'a> =
    dyn Fn(&InstalledAgent, &AgentTree, &AgentTree) -> Result<(), String> + 'a;

/// The proposals of a home.
pub struct ProposalLedger<'a> {
    home: &'a AgentHome,
    database: Connection,
    check: &'a ChangeCheck<'a>,
}

/// A proposed change that was compared with what is protected.
struct ExaminedChange {
    area: EvolutionArea,
    /// The file, relative to the root of the agent.
    file: String,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
    tree: AgentTree,
    diff: String,
}

impl<'a> ProposalLedger<'a> {
    /// Opens the proposals of a home. Each change is put to `check`.
    pub fn open(home: &'a AgentHome, check: &'a ChangeCheck<'a>) -> Result<Self, ProposalError> {
        let path = home.layout().database();
        let database =
            database::open(&path, TABLES).map_err(|error| RecordError { path, error })?;
        Ok(Self { home, database, check })
    }

    /// Handles a proposed change as `rules` say. A refused one is stored too.
    pub fn propose(
        &self,
        id: &str,
        change: &ProposedChange,
        rules: EvolutionRules,
    ) -> Result<StoredProposal, ProposalError> {
        let locked = self.home.lock(id)?;
        let is_private = change.private_to.is_some();
        let examined = self.examine(&locked, change).and_then(|it| {
            let is_never = it.area.mode(rules, is_private) == EvolutionMode::Never;
            let why = || format!("`[evolution]` never lets it change its {}", it.area);
            if is_never { Err(why()) } else { Ok(it) }
        });
        let it = match examined {
            Ok(it) => it,
            Err(why) => return self.refuse(id, change, &why),
        };
        let state = match it.area.mode(rules, is_private) {
            EvolutionMode::Auto => ProposalState::Applied,
            EvolutionMode::Ask | EvolutionMode::Never => ProposalState::Pending,
        };
        if state == ProposalState::Pending && self.pending(id)? >= MOST_PENDING {
            return self.refuse(id, change, "too many proposals of this agent wait for the user");
        }
        let mut proposal = stored(id, change, &it, state);
        if state == ProposalState::Pending && it.area.mode(rules, false) == EvolutionMode::Auto {
            proposal.outcome = Some(PRIVATE.to_owned());
        }
        // Before anything changes: an attempt that cannot be recorded does not happen.
        self.audit(&proposal, state.as_str(), &change.reason)?;
        if state == ProposalState::Applied {
            proposal.outcome = Some(Self::apply(&locked, &proposal, &it.tree, None)?);
        }
        self.insert(proposal)
    }

    /// Accepts a proposal that waits: it becomes a commit.
    pub fn accept(&self, id: &str) -> Result<StoredProposal, ProposalError> {
        let proposal = self.waiting(id)?;
        let locked = self.home.lock(&proposal.agent)?;
        // Once more under the lock: another process may have decided.
        let proposal = StoredProposal { state: self.waiting(id)?.state, ..proposal };
        let mut tree = locked.tree()?;
        if tree.get(&proposal.file) != proposal.before.as_deref() {
            return Err(ProposalError::Stale(proposal.file));
        }
        let old = tree.clone();
        put(&mut tree, &proposal.file, &proposal.after);
        let examined = self.compare(&locked.agent, &proposal.file, (&old, &tree));
        examined.map_err(ProposalError::Refused)?;
        self.audit(&proposal, "accepted", &proposal.reason)?;
        let commit = Self::apply(&locked, &proposal, &tree, Some(self.home.person()))?;
        self.decide(proposal, ProposalState::Applied, commit)
    }

    /// Rejects a proposal that waits.
    pub fn reject(&self, id: &str, reason: &str) -> Result<StoredProposal, ProposalError> {
        let proposal = self.waiting(id)?;
        self.audit(&proposal, "rejected", reason)?;
        self.decide(proposal, ProposalState::Rejected, reason.to_owned())
    }

    /// The proposals of one agent or of all, newest first. Of those that are private to another user only their state is shown.
    pub fn list(&self, agent: Option<&str>) -> Result<Vec<StoredProposal>, ProposalError> {
        let query = format!(
            "SELECT {COLUMNS}, {READER} FROM proposals WHERE ?1 IS NULL OR agent = ?1
             ORDER BY number DESC LIMIT 1000"
        );
        let read = || -> rusqlite::Result<Vec<StoredProposal>> {
            self.database.prepare(&query)?.query_map([agent], row)?.collect()
        };
        let all = read().map_err(|error| self.failed(error))?;
        let shown = |it: StoredProposal| if self.is_shown(&it) { it } else { it.withheld() };
        Ok(all.into_iter().map(shown).collect())
    }

    fn is_shown(&self, proposal: &StoredProposal) -> bool {
        proposal.private_to.as_ref().is_none_or(|user| user == self.home.person())
    }

    /// The proposal with this id, unless it is private to another user.
    pub fn find(&self, id: &str) -> Result<StoredProposal, ProposalError> {
        let missing = || ProposalError::Missing(id.to_owned());
        let number: i64 =
            id.strip_prefix('p').and_then(|it| it.parse().ok()).ok_or_else(missing)?;
        let query = format!("SELECT {COLUMNS}, {READER} FROM proposals WHERE number = ?1");
        let found = self.database.query_row(&query, [number], row).optional();
        let found = found.map_err(|error| self.failed(error))?.ok_or_else(missing)?;
        match found.private_to.as_ref().filter(|_| !self.is_shown(&found)) {
            Some(user) => Err(ProposalError::Private(id.to_owned(), user.clone())),
            None => Ok(found),
        }
    }

    fn waiting(&self, id: &str) -> Result<StoredProposal, ProposalError> {
        let proposal = self.find(id)?;
        match proposal.state {
            ProposalState::Pending => Ok(proposal),
            ProposalState::Refused => {
                let why = proposal.outcome.unwrap_or_default();
                Err(ProposalError::Refused(format!(
                    "{why}; only a person can make this change, by hand"
                )))
            }
            state => Err(ProposalError::Decided(id.to_owned(), state)),
        }
    }

    /// Compares a change with what is protected, and checks the agent that it would make.
    fn examine(
        &self,
        locked: &AgentUnderLock,
        change: &ProposedChange,
    ) -> Result<ExaminedChange, String> {
        let agent = &locked.agent;
        let area = EvolutionArea::of(&change.file, agent)?;
        let directory = agent
            .main
            .rsplit_once('/')
            .map_or(String::new(), |(directory, _)| format!("{directory}/"));
        let file = format!("{directory}{}", change.file);
        let old = locked.tree().map_err(|error| error.to_string())?;
        let before = old.get(&file).map(<[u8]>::to_vec);
        let after = match &change.text {
            ProposedText::Whole(text) => text.clone(),
            ProposedText::Diff(diff) => {
                let present = str::from_utf8(before.as_deref().unwrap_or_default())
                    .map_err(|_| "the file is not UTF-8")?;
                unified_diff::apply(present, diff)?
            }
        };
        if after.len() > MOST_BYTES || after.trim().is_empty() {
            return Err(format!("a file has at least one line and at most {MOST_BYTES} bytes"));
        }
        if before.as_deref() == Some(after.as_bytes()) {
            return Err("it changes nothing".to_owned());
        }
        let mut tree = old.clone();
        put(&mut tree, &file, after.as_bytes());
        self.compare(agent, &file, (&old, &tree))?;
        let diff = text_diff(&old, &tree);
        Ok(ExaminedChange { area, file, before, after: after.into_bytes(), tree, diff })
    }

    /// The comparison that every change goes through, also one that the user accepts.
    fn compare(
        &self,
        agent: &InstalledAgent,
        file: &str,
        (old, new): (&AgentTree, &AgentTree),
    ) -> Result<(), String> {
        let is_linked = |(path, entry): (&String, &TreeFile)| {
            is_inside(file, path) && entry.mode == TreeMode::Link
        };
        if old.files.iter().any(is_linked) {
            return Err(format!("`{file}` is or leads through a link"));
        }
        for path in old.changed_paths(new) {
            if path != file {
                return Err(format!("it changes `{path}` as well"));
            }
            if let Some(why) = protected_change(path, old.get(path), new.get(path)) {
                return Err(format!("`{path}`: {why}"));
            }
            if path.ends_with("/SKILL.md") {
                let text = |tree: &AgentTree| {
                    String::from_utf8_lossy(tree.get(path).unwrap_or_default()).into_owned()
                };
                compare_fields(&text(old), &text(new))?;
            }
        }
        (self.check)(agent, old, new)
    }

    /// Commits a proposal and returns the commit.
    fn apply(
        locked: &AgentUnderLock,
        proposal: &StoredProposal,
        tree: &AgentTree,
        accepted_by: Option<&str>,
    ) -> Result<String, ProposalError> {
        let verb = if proposal.before.is_some() { "update" } else { "add" };
        let by = accepted_by.map(|person| format!("\n\nAccepted by {person}.")).unwrap_or_default();
        let note = CommitNote {
            kind: proposal.kind,
            author: proposal.author.clone(),
            subject: format!("{verb} {}", proposal.file),
            reason: Some(format!("{}{by}", proposal.reason)),
            run: proposal.run.clone(),
        };
        Ok(locked.repository.change(tree, &note).map_err(HomeError::from)?)
    }

    /// Records a refused attempt.
    fn refuse(
        &self,
        id: &str,
        change: &ProposedChange,
        why: &str,
    ) -> Result<StoredProposal, ProposalError> {
        let ProposedChange { file, text, reason, run, author, kind, private_to } = change;
        let (ProposedText::Whole(text) | ProposedText::Diff(text)) = text;
        let cut = text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or_default();
        let proposal = StoredProposal {
            id: String::new(),
            agent: id.to_owned(),
            state: ProposalState::Refused,
            risk: ChangeRisk::High,
            file: file.chars().take(400).collect(),
            before: None,
            after: cut.as_bytes().to_vec(),
            diff: String::new(),
            reason: reason.clone(),
            run: run.clone(),
            author: author.clone(),
            kind: *kind,
            outcome: Some(why.to_owned()),
            private_to: private_to.clone(),
        };
        self.audit(&proposal, "refused", why)?;
        self.insert(proposal)
    }

    fn audit(
        &self,
        proposal: &StoredProposal,
        outcome: &str,
        reason: &str,
    ) -> Result<(), ProposalError> {
        let entry = AuditEntry {
            agent: &proposal.agent,
            run: proposal.run.as_deref(),
            file: &proposal.file,
            proposal: Some(proposal.id.as_str()).filter(|id| !id.is_empty()),
            outcome,
            reason,
        };
        AuditLog::new(self.home.layout()).append(&entry).map_err(ProposalError::Audit)
    }

    fn pending(&self, agent: &str) -> Result<usize, ProposalError> {
        let all = self.list(Some(agent))?;
        Ok(all.iter().filter(|it| it.state == ProposalState::Pending).count())
    }

    fn insert(&self, proposal: StoredProposal) -> Result<StoredProposal, ProposalError> {
        let it = &proposal;
        let values = params![
            it.agent,
            it.state.as_str(),
            it.risk.as_str(),
            it.file,
            it.before,
            it.after,
            it.diff,
            it.reason,
            it.run,
            it.author,
            it.kind.as_str(),
            it.outcome
        ];
        let columns = COLUMNS.trim_start_matches("number, ");
        let query = format!(
            "INSERT INTO proposals ({columns}) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)"
        );
        let insert = || -> rusqlite::Result<i64> {
            let change = self.database.unchecked_transaction()?;
            change.execute(&query, values)?;
            let number = change.last_insert_rowid();
            if let Some(user) = &it.private_to {
                let query = "INSERT INTO private_proposals (number, user) VALUES (?1, ?2)";
                change.execute(query, params![number, user])?;
            }
            change.commit()?;
            Ok(number)
        };
        let id = format!("p{}", insert().map_err(|error| self.failed(error))?);
        Ok(StoredProposal { id, ..proposal })
    }

    fn decide(
        &self,
        proposal: StoredProposal,
        state: ProposalState,
        outcome: String,
    ) -> Result<StoredProposal, ProposalError> {
        let number = proposal.id.trim_start_matches('p');
        let query = "UPDATE proposals SET state = ?2, outcome = ?3 WHERE number = ?1";
        let done = self.database.execute(query, params![number, state.as_str(), outcome]);
        done.map_err(|error| self.failed(error))?;
        Ok(StoredProposal { state, outcome: Some(outcome), ..proposal })
    }

    fn failed(&self, error: rusqlite::Error) -> ProposalError {
        RecordError { path: self.home.layout().database(), error }.into()
    }
}

fn stored(
    id: &str,
    change: &ProposedChange,
    it: &ExaminedChange,
    state: ProposalState,
) -> StoredProposal {
    StoredProposal {
        id: String::new(),
        agent: id.to_owned(),
        state,
        risk: it.area.risk(),
        file: it.file.clone(),
        before: it.before.clone(),
        after: it.after.clone(),
        diff: it.diff.clone(),
        reason: change.reason.clone(),
        run: change.run.clone(),
        author: change.author.clone(),
        kind: change.kind,
        outcome: None,
        private_to: change.private_to.clone(),
    }
}

/// Puts a file into a tree; the mode of an existing one stays.
fn put(tree: &mut AgentTree, file: &str, bytes: &[u8]) {
    let mode = tree.files.get(file).map_or(TreeMode::Plain, |file| file.mode);
    tree.files.insert(file.to_owned(), TreeFile { mode, bytes: bytes.to_vec() });
}
