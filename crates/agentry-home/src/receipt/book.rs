//! The receipt book of a home: gives each receipt its place in the chain of its agent, and writes it once.
//!
//! ```text
//! 1. one transaction: head of the chain, text of the receipt, state of its run     (several processes: in order)
//! 2. the file, under its name, readable only                                      (from that text)
//! 3. the text is removed from the database
//! ```
//!
//! A process that dies after 1 leaves the text in the database; the next one that opens the book writes the file
//! from it. So a file never exists beyond the head of its chain, and a receipt beyond the head was not written
//! by this program.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_compile::text::digest;
use agentry_registry::{KeyRing, SecretKey};
use chrono::Utc;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::draft::{ChainPlace, ReceiptDraft, ReceiptFiring, ReceiptStatus};
use super::head_copy::{HeadCopy, HeadStep, KeptHead};
use super::sealing::{seal, sign_head};
use super::{KEY_NAME, ReceiptError, body_text};
use crate::database;
use crate::layout::HomeLayout;

/// The tables. Times are milliseconds since the Unix epoch, amounts millionths of a US dollar.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS receipt_key (only INTEGER PRIMARY KEY CHECK (only = 0), public TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS receipt_heads (
        chain TEXT PRIMARY KEY, count INTEGER NOT NULL, hash TEXT NOT NULL, signature TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS receipt_homes (public TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS receipt_files (id TEXT PRIMARY KEY, run TEXT NOT NULL, text TEXT NOT NULL)
        WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS receipt_runs (
        run TEXT PRIMARY KEY, chain TEXT NOT NULL, workspace TEXT NOT NULL, receipt TEXT NOT NULL,
        cost INTEGER, is_open INTEGER NOT NULL DEFAULT 0, is_amended INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS receipt_runs_by_agent ON receipt_runs (chain, workspace, run);
    CREATE TABLE IF NOT EXISTS receipt_firings (
        agent TEXT NOT NULL, schedule TEXT NOT NULL, planned INTEGER NOT NULL, receipt TEXT NOT NULL,
        PRIMARY KEY (agent, schedule, planned)
    ) WITHOUT ROWID;
";

/// Whether a receipt is on the disk before it counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSync {
    /// It survives a crash of the machine.
    Waits,
    /// It survives a crash of the process. For measurements.
    Skips,
}

/// A receipt that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenReceipt {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
}

/// What the book knows about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub run: String,
    /// Its last receipt.
    pub receipt: String,
    /// What it cost, in millionths of a US dollar.
    pub cost: Option<u64>,
}

/// The receipt book of a home.
#[derive(Debug)]
pub struct ReceiptBook {
    pub(super) layout: HomeLayout,
    pub(super) path: PathBuf,
    pub(super) database: Connection,
    pub(super) key: SecretKey,
    pub(super) sync: DiskSync,
    pub(super) copy: Option<HeadCopy>,
}

impl ReceiptBook {
    /// Opens the book, creates it and its key if there is none, and finishes what a killed process began.
    pub fn open(layout: &HomeLayout) -> Result<Self, ReceiptError> {
        Self::open_with(layout, DiskSync::Waits)
    }

    /// Opens the book for measurements.
    pub fn open_with(layout: &HomeLayout, sync: DiskSync) -> Result<Self, ReceiptError> {
        let root = layout.root();
        agentry_runtime::create_private_directories(root)
            .map_err(ReceiptError::io("created", root))?;
        let database = open_database(layout)?;
        let path = layout.database();
        if sync == DiskSync::Skips {
            let set = database.pragma_update(None, "synchronous", "OFF");
            set.map_err(ReceiptError::database(&path))?;
        }
        let key = home_key(layout, &database)?;
        let book = Self { layout: layout.clone(), path, database, key, sync, copy: None };
        book.place_all()?;
        Ok(book)
    }

    /// The same book, which also keeps its heads outside the home.
    #[must_use]
    pub fn with_copy(self, copy: Option<HeadCopy>) -> Self {
        Self { copy, ..self }
    }

    /// Writes receipts, in order, in one transaction. A run that has its receipt already, or a firing, gets no
    /// second one: its place in the result is `None`.
    pub fn append(
        &mut self,
        drafts: &[ReceiptDraft],
    ) -> Result<Vec<Option<WrittenReceipt>>, ReceiptError> {
        let staged = self.stage(drafts)?;
        let (mut written, mut steps) = (Vec::new(), Vec::new());
        for receipt in staged {
            let Some(StagedReceipt { id, run, text, step }) = receipt else {
                written.push(None);
                continue;
            };
            steps.extend(step);
            let path = self.place(&id, &run, &text)?;
            written.push(Some(WrittenReceipt { id, path }));
        }
        if let Some(copy) = self.copy.as_ref().filter(|_| !steps.is_empty()) {
            // The receipts are written. A copy that stays behind shows less, and `verify` brings it up to date.
            let _ = copy.advance(steps);
        }
        Ok(written)
    }

    /// The first step of writing receipts: everything but their files.
    pub(super) fn stage(
        &mut self,
        drafts: &[ReceiptDraft],
    ) -> Result<Vec<Option<StagedReceipt>>, ReceiptError> {
        let failed = || ReceiptError::database(&self.path);
        let public = self.key.public().to_string();
        let change = self.database.transaction_with_behavior(TransactionBehavior::Immediate);
        let change = change.map_err(failed())?;
        let mut staged = Vec::new();
        for draft in drafts {
            if !is_due(&change, draft).map_err(failed())? {
                staged.push(None);
                continue;
            }
            let receipt = stage_one(&change, draft, &self.key, &public);
            staged.push(Some(receipt.map_err(failed())?));
        }
        change.commit().map_err(failed())?;
        Ok(staged)
    }

    /// Notes that a process continues a run: it gets another receipt.
    pub fn reopen(&self, run: &str) -> Result<(), ReceiptError> {
        let update = "UPDATE receipt_runs SET is_open = 1 WHERE run = ?1";
        self.database.execute(update, [run]).map(drop).map_err(ReceiptError::database(&self.path))
    }

    /// The runs that have a receipt, and whether a process continued them since.
    pub fn known_runs(&self) -> Result<BTreeMap<String, bool>, ReceiptError> {
        let select = "SELECT run, is_open FROM receipt_runs";
        let select = self.database.prepare(select);
        let rows = select.and_then(|mut select| {
            let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<_>>()
        });
        rows.map_err(ReceiptError::database(&self.path))
    }

    /// The last receipt and the cost of each run.
    pub fn run_rows(&self) -> Result<BTreeMap<String, RunRow>, ReceiptError> {
        let select = self.database.prepare("SELECT run, receipt, cost FROM receipt_runs");
        let rows = select.and_then(|mut select| {
            let rows = select.query_map([], |row| {
                let row = read_run(row)?;
                Ok((row.run.clone(), row))
            })?;
            rows.collect::<rusqlite::Result<_>>()
        });
        rows.map_err(ReceiptError::database(&self.path))
    }

    /// The last run of an agent in a workspace, if no later run looked at its files yet.
    pub fn last_run(&self, chain: &str, workspace: &str) -> Result<Option<RunRow>, ReceiptError> {
        let select = "SELECT run, receipt, cost, is_amended FROM receipt_runs
            WHERE chain = ?1 AND workspace = ?2 ORDER BY run DESC LIMIT 1";
        let row = self
            .database
            .query_row(select, [chain, workspace], |row| Ok((read_run(row)?, row.get(3)?)));
        let row = row.optional().map_err(ReceiptError::database(&self.path))?;
        Ok(row.filter(|(_, is_amended): &(RunRow, bool)| !is_amended).map(|(row, _)| row))
    }

    /// Notes that the files of a run were looked at.
    pub fn note_amended(&self, run: &str) -> Result<(), ReceiptError> {
        let update = "UPDATE receipt_runs SET is_amended = 1 WHERE run = ?1";
        self.database.execute(update, [run]).map(drop).map_err(ReceiptError::database(&self.path))
    }

    /// Whether a run has its receipt, and no process continued it since.
    pub(super) fn has_closed(&self, run: &str) -> Result<bool, ReceiptError> {
        let known = is_known_open(&self.database, run).map_err(ReceiptError::database(&self.path));
        Ok(known? == Some(false))
    }

    /// Whether a firing has its receipt.
    pub fn has_firing(&self, firing: &ReceiptFiring) -> Result<bool, ReceiptError> {
        has_firing(&self.database, firing).map_err(ReceiptError::database(&self.path))
    }

    /// Finishes the files that a killed process left in the database.
    fn place_all(&self) -> Result<(), ReceiptError> {
        place_all(&self.layout, &self.database, self.sync)
    }

    pub(super) fn place(&self, id: &str, run: &str, text: &str) -> Result<PathBuf, ReceiptError> {
        place(&self.layout, &self.database, &StagedReceipt::new(id, run, text), self.sync)
    }

    /// The layout of the home.
    #[must_use]
    pub fn layout(&self) -> &HomeLayout {
        &self.layout
    }
}

/// A receipt that has its place in the chain and not yet its file.
#[derive(Debug, Clone)]
pub(super) struct StagedReceipt {
    pub(super) id: String,
    pub(super) run: String,
    pub(super) text: String,
    /// How it moves the head of its chain; unknown of one that a killed process left.
    pub(super) step: Option<HeadStep>,
}

impl StagedReceipt {
    fn new(id: &str, run: &str, text: &str) -> Self {
        Self { id: id.to_owned(), run: run.to_owned(), text: text.to_owned(), step: None }
    }
}

/// Opens the database of the home with the tables of receipts.
fn open_database(layout: &HomeLayout) -> Result<Connection, ReceiptError> {
    let path = layout.database();
    database::open(&path, TABLES).map_err(ReceiptError::database(&path))
}

/// Finishes what a killed process left, without the key; for `verify`.
pub(super) fn finish_left_over(layout: &HomeLayout) -> Result<(), ReceiptError> {
    place_all(layout, &open_database(layout)?, DiskSync::Waits)
}

/// The key of the home. A home that has receipts never gets another one.
fn home_key(layout: &HomeLayout, database: &Connection) -> Result<SecretKey, ReceiptError> {
    let wrong = |error: agentry_registry::StoreError| ReceiptError::Key(error.to_string());
    let failed = || ReceiptError::database(&layout.database());
    let ring = KeyRing::new(layout.root());
    let select = "SELECT public FROM receipt_key";
    let known = |database: &Connection| {
        database.query_row(select, [], |row| row.get::<_, String>(0)).optional()
    };
    if known(database).map_err(failed())?.is_none() && !ring.has(KEY_NAME) {
        // Another process may be faster; then its key is used.
        if let Err(error) = ring.generate(KEY_NAME)
            && !ring.has(KEY_NAME)
        {
            return Err(wrong(error));
        }
    }
    let key = ring.secret(KEY_NAME).map_err(wrong)?;
    let public = key.public().to_string();
    let insert = "INSERT OR IGNORE INTO receipt_key (only, public) VALUES (0, ?1)";
    database.execute(insert, [&public]).map_err(failed())?;
    if known(database).map_err(failed())? != Some(public) {
        let message = "the key in `keys/` is not the one that signed the receipts of this home";
        return Err(ReceiptError::Key(message.to_owned()));
    }
    Ok(key)
}

/// Whether a receipt is still to be written: another process may have been faster.
fn is_due(change: &Transaction<'_>, draft: &ReceiptDraft) -> rusqlite::Result<bool> {
    if let Some(firing) = &draft.firing
        && draft.amends.is_none()
        && has_firing(change, firing)?
        && !is_open(change, &draft.run)?
    {
        return Ok(false);
    }
    match &draft.amends {
        Some(_) => {
            let select = "SELECT is_amended FROM receipt_runs WHERE run = ?1";
            let row = change.query_row(select, [&draft.run], |row| row.get::<_, bool>(0));
            Ok(row.optional()? == Some(false))
        }
        // Firings that were skipped share the directory of one run.
        None if draft.firing.is_some() => Ok(true),
        None => Ok(is_known_open(change, &draft.run)?.unwrap_or(true)),
    }
}

fn is_open(database: &Connection, run: &str) -> rusqlite::Result<bool> {
    Ok(is_known_open(database, run)?.unwrap_or(false))
}

/// Whether a run goes on that has a receipt; `None` if it has none.
fn is_known_open(database: &Connection, run: &str) -> rusqlite::Result<Option<bool>> {
    let select = "SELECT is_open FROM receipt_runs WHERE run = ?1";
    database.query_row(select, [run], |row| row.get(0)).optional()
}

fn has_firing(database: &Connection, firing: &ReceiptFiring) -> rusqlite::Result<bool> {
    let ReceiptFiring { agent, schedule, planned } = firing;
    let select =
        "SELECT 1 FROM receipt_firings WHERE agent = ?1 AND schedule = ?2 AND planned = ?3";
    let found = database.query_row(select, params![agent, schedule, planned], |_| Ok(()));
    Ok(found.optional()?.is_some())
}

/// Gives one receipt its place in the chain.
fn stage_one(
    change: &Transaction<'_>,
    draft: &ReceiptDraft,
    key: &SecretKey,
    public_key: &str,
) -> rusqlite::Result<StagedReceipt> {
    let chain = draft.agent.chain.as_str();
    let select = "SELECT count, hash FROM receipt_heads WHERE chain = ?1";
    let mut head = change.prepare_cached(select)?;
    let head = head.query_row([chain], |row| {
        Ok((u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0), row.get::<_, String>(1)?))
    });
    let head = head.optional()?;
    let count = head.as_ref().map_or(0, |(count, _)| *count).saturating_add(1);
    let previous = head.as_ref().map(|(_, hash)| hash.as_str());
    let id = new_id();
    let fields = draft.fields(&ChainPlace { id: &id, count, previous, public_key });
    let text = seal(&body_text::write(&fields), key);
    let hash = digest::of(text.as_bytes());
    let upsert = "INSERT OR REPLACE INTO receipt_heads (chain, count, hash, signature)
        VALUES (?1, ?2, ?3, ?4)";
    let signature = sign_head(key, chain, count, &hash);
    change.prepare_cached(upsert)?.execute(params![chain, signed(count), hash, signature])?;
    let insert = "INSERT INTO receipt_files (id, run, text) VALUES (?1, ?2, ?3)";
    change.prepare_cached(insert)?.execute(params![id, draft.run, text])?;
    note(change, draft, &id)?;
    let step = HeadStep {
        chain: chain.to_owned(),
        before: head.map(|(count, hash)| KeptHead { count, hash }),
        after: KeptHead { count, hash },
    };
    Ok(StagedReceipt { id, run: draft.run.clone(), text, step: Some(step) })
}

/// Notes what the receipt says about its run and its firing.
fn note(change: &Transaction<'_>, draft: &ReceiptDraft, id: &str) -> rusqlite::Result<()> {
    if draft.amends.is_some() {
        let update = "UPDATE receipt_runs SET is_amended = 1 WHERE run = ?1";
        return change.prepare_cached(update)?.execute([&draft.run]).map(drop);
    }
    if let Some(ReceiptFiring { agent, schedule, planned }) = &draft.firing {
        let insert = "INSERT OR REPLACE INTO receipt_firings (agent, schedule, planned, receipt)
            VALUES (?1, ?2, ?3, ?4)";
        change.prepare_cached(insert)?.execute(params![agent, schedule, planned, id])?;
    }
    let insert = "INSERT OR REPLACE INTO receipt_runs (run, chain, workspace, receipt, cost)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    // A run that did not begin wrote no files that a person could change.
    let began = !matches!(draft.status, ReceiptStatus::Refused | ReceiptStatus::Skipped);
    let workspace = if began { draft.workspace.as_str() } else { "" };
    let chain = draft.agent.chain.as_str();
    let values = params![draft.run, chain, workspace, id, draft.spent.usage.cost.map(signed)];
    change.prepare_cached(insert)?.execute(values).map(drop)
}

/// A row of `receipt_runs`: run, receipt, cost.
fn read_run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let cost: Option<i64> = row.get(2)?;
    let cost = cost.and_then(|cost| u64::try_from(cost).ok());
    Ok(RunRow { run: row.get(0)?, receipt: row.get(1)?, cost })
}

/// A number as the database has them.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The id of a receipt that is written now.
pub(super) fn new_id() -> String {
    const SIGNS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut random = [0; 6];
    // Without randomness the ids of one second are equal, and the second file is refused.
    let _ = getrandom::fill(&mut random);
    let sign =
        |byte: u8| char::from(SIGNS.get(usize::from(byte) % SIGNS.len()).copied().unwrap_or(b'0'));
    let suffix: String = random.into_iter().map(sign).collect();
    format!("rcpt_{}_{suffix}", Utc::now().format("%Y%m%d_%H%M%S"))
}

fn place_all(
    layout: &HomeLayout,
    database: &Connection,
    sync: DiskSync,
) -> Result<(), ReceiptError> {
    let path = layout.database();
    let failed = || ReceiptError::database(&path);
    let mut select =
        database.prepare("SELECT id, run, text FROM receipt_files").map_err(failed())?;
    let rows = select.query_map([], |row| {
        Ok(StagedReceipt { id: row.get(0)?, run: row.get(1)?, text: row.get(2)?, step: None })
    });
    let rows = rows.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(failed())?;
    rows.iter().try_for_each(|staged| place(layout, database, staged, sync).map(drop))
}

/// Writes the file of a receipt, and removes its text from the database.
fn place(
    layout: &HomeLayout,
    database: &Connection,
    StagedReceipt { id, run, text, .. }: &StagedReceipt,
    sync: DiskSync,
) -> Result<PathBuf, ReceiptError> {
    let directory = layout.receipts(run);
    let path = directory.join(format!("{id}.yaml"));
    let failed = || ReceiptError::io("written", &path);
    agentry_runtime::create_private_directories(&directory).map_err(failed())?;
    write_once(&path, text, sync).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ReceiptError::Occupied(path.display().to_string()),
        _ => failed()(error),
    })?;
    let delete = "DELETE FROM receipt_files WHERE id = ?1";
    let deleted = database.prepare_cached(delete).and_then(|mut delete| delete.execute([id]));
    deleted.map_err(ReceiptError::database(&layout.database()))?;
    Ok(path)
}

/// The name of the file while it is written: of this call alone, because two may write the same receipt.
fn part_of(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{call}.part", std::process::id()))
}

/// Writes a file that is never changed: completely or not at all, and never over another one.
fn write_once(path: &Path, text: &str, sync: DiskSync) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    let part = part_of(path);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    agentry_posix::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&part)?;
    file.write_all(text.as_bytes())?;
    let mut permissions = file.metadata()?.permissions();
    agentry_posix::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o400);
    file.set_permissions(permissions)?;
    if sync == DiskSync::Waits {
        file.sync_all()?;
    }
    // Unlike a rename, a link never replaces a file.
    let linked = fs::hard_link(&part, path);
    let _ = fs::remove_file(&part);
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Another process finished the same receipt meanwhile.
            let is_same = fs::read(path).is_ok_and(|found| found == text.as_bytes());
            if is_same { Ok(()) } else { Err(error) }
        }
        linked => linked,
    }?;
    match (sync, path.parent()) {
        (DiskSync::Waits, Some(directory)) => fs::File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}
