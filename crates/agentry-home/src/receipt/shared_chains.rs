//! Receipts that several homes share: each home signs its own with its own key, an engine gives each its place, and every
//! home has a copy of all.
//!
//! ```text
//! 1. the receipts of the chain that are missing here are taken in, each checked against the one before it
//! 2. the next one is sealed and added, if the chain has not grown meanwhile                (else again from 1)
//! 3. it is taken in as those of other homes are
//! ```
//!
//! A process that dies after 2 leaves the receipt in the engine, from where the next one takes it in. So an engine that was
//! set back or altered shows: what a home has taken in, it verifies without the engine.

use agentry_compile::text::digest;
use agentry_registry::PublicKey;
use agentry_runtime::engine::SharedReceipt;
use rusqlite::{OptionalExtension as _, TransactionBehavior, params};
use serde_json::{Map, Value};

use super::book::{ReceiptBook, new_id, signed};
use super::chain::AgentChain;
use super::draft::{ChainPlace, ReceiptDraft, ReceiptFiring};
use super::file::MOST_BYTES;
use super::head_copy::{HeadStep, KeptHead};
use super::sealing::{SealedText, seal, sign_head};
use super::{ReceiptError, body_text};
use crate::layout::is_identifier;

/// How often a receipt is sealed again because the chain has grown meanwhile.
const MOST_ATTEMPTS: usize = 1_000;

/// Where several homes keep the receipts of their chains.
pub trait SharedChains {
    /// Adds a receipt behind the others of its chain. Returns false if the chain has grown meanwhile.
    fn add(&self, receipt: &SharedReceipt) -> Result<bool, String>;

    /// How many receipts each chain has.
    fn lengths(&self) -> Result<Vec<(String, u64)>, String>;

    /// Some receipts of a chain from a number on, in order.
    fn receipts(&self, chain: &str, first: u64) -> Result<Vec<SharedReceipt>, String>;
}

impl ReceiptBook {
    /// Adds a receipt to the chain of its agent that several homes share.
    pub fn append_shared(
        &mut self,
        draft: &ReceiptDraft,
        chains: &dyn SharedChains,
    ) -> Result<(), ReceiptError> {
        let mut draft = draft.clone();
        draft.agent.chain = draft.agent.chain.shared();
        let chain = draft.agent.chain.as_str().to_owned();
        let failed = |why: String| shared(&chain, why);
        self.take_in_chain(&chain, chains)?;
        for _ in 0..MOST_ATTEMPTS {
            let receipt = self.sealed(&draft)?;
            if chains.add(&receipt).map_err(failed)? {
                self.take_in_chain(&chain, chains)?;
                return self.note_firing(draft.firing.as_ref(), &receipt.id);
            }
            if self.take_in_chain(&chain, chains)? == 0 {
                let why = "it is shorter than what this home has seen: the engine was set back";
                return Err(failed(why.to_owned()));
            }
        }
        Err(failed("other homes add to it all the time".to_owned()))
    }

    /// Takes in what other homes added. Returns what is wrong with a chain, which stays as it is here.
    pub fn take_in(&mut self, chains: &dyn SharedChains) -> Vec<ReceiptError> {
        let lengths = match chains.lengths() {
            Ok(lengths) => lengths,
            Err(why) => return vec![shared("*", why)],
        };
        let taken = lengths.into_iter().map(|(chain, length)| {
            let head = self.head(&chain)?;
            match head.map_or(0, |head| head.count) {
                here if here < length => self.take_in_chain(&chain, chains).map(drop),
                here if here == length => Ok(()),
                here => {
                    let why = format!(
                        "it has {length} receipts, and this home has seen {here}: the engine was \
                         set back"
                    );
                    Err(shared(&chain, why))
                }
            }
        });
        taken.filter_map(Result::err).collect()
    }

    /// Takes in the receipts of a chain that are missing here. Returns how many there were.
    fn take_in_chain(
        &mut self,
        chain: &str,
        chains: &dyn SharedChains,
    ) -> Result<usize, ReceiptError> {
        let mut count = 0;
        loop {
            let head = self.head(chain)?;
            let first = head.map_or(0, |head| head.count) + 1;
            let found = chains.receipts(chain, first).map_err(|why| shared(chain, why))?;
            if found.is_empty() {
                return Ok(count);
            }
            for receipt in found {
                self.adopt(chain, &receipt)?;
                count += 1;
            }
        }
    }

    fn head(&self, chain: &str) -> Result<Option<KeptHead>, ReceiptError> {
        let select = "SELECT count, hash FROM receipt_heads WHERE chain = ?1";
        let head = self.database.query_row(select, [chain], |row| {
            let count = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0);
            Ok(KeptHead { count, hash: row.get(1)? })
        });
        head.optional().map_err(ReceiptError::database(&self.path))
    }

    /// The receipt behind the last one that this home has seen.
    fn sealed(&self, draft: &ReceiptDraft) -> Result<SharedReceipt, ReceiptError> {
        let chain = draft.agent.chain.as_str();
        let head = self.head(chain)?;
        let number = head.as_ref().map_or(0, |head| head.count) + 1;
        let previous = head.as_ref().map(|head| head.hash.as_str());
        let (id, public_key) = (new_id(), self.key.public().to_string());
        let place = ChainPlace { id: &id, count: number, previous, public_key: &public_key };
        let text = seal(&body_text::write(&draft.fields(&place)), &self.key);
        Ok(SharedReceipt { chain: chain.to_owned(), number, id, run: draft.run.clone(), text })
    }

    /// Takes in one receipt: checks it, and writes it as one of this home.
    fn adopt(&mut self, chain: &str, receipt: &SharedReceipt) -> Result<(), ReceiptError> {
        let before = self.head(chain)?;
        let wrong = |why: &str| shared(chain, format!("receipt {} {why}", receipt.number));
        let (fields, key) = checked(chain, receipt, before.as_ref()).map_err(wrong)?;
        let failed = || ReceiptError::database(&self.path);
        let hash = digest::of(receipt.text.as_bytes());
        let own = self.key.public();
        let change = self.database.transaction_with_behavior(TransactionBehavior::Immediate);
        let change = change.map_err(failed())?;
        // Another process of this home may be faster.
        let select = "SELECT count FROM receipt_heads WHERE chain = ?1";
        let count = change.query_row(select, [chain], |row| row.get::<_, i64>(0)).optional();
        let is_known = count.map_err(failed())?.unwrap_or(0) >= signed(receipt.number);
        if is_known {
            return Ok(());
        }
        let written = || -> rusqlite::Result<()> {
            if key != own {
                let insert = "INSERT OR IGNORE INTO receipt_homes (public) VALUES (?1)";
                change.execute(insert, [key.to_string()])?;
            }
            let upsert = "INSERT OR REPLACE INTO receipt_heads (chain, count, hash, signature)
                VALUES (?1, ?2, ?3, ?4)";
            let signature = sign_head(&self.key, chain, receipt.number, &hash);
            change.execute(upsert, params![chain, signed(receipt.number), hash, signature])?;
            let insert = "INSERT INTO receipt_files (id, run, text) VALUES (?1, ?2, ?3)";
            change.execute(insert, params![receipt.id, receipt.run, receipt.text])?;
            note_run(&change, receipt, &fields, key == own)
        };
        written().map_err(failed())?;
        change.commit().map_err(failed())?;
        self.place(&receipt.id, &receipt.run, &receipt.text)?;
        if let Some(copy) = &self.copy {
            let after = KeptHead { count: receipt.number, hash };
            // A copy that stays behind shows less, and `verify` brings it up to date.
            let _ = copy.advance(vec![HeadStep { chain: chain.to_owned(), before, after }]);
        }
        Ok(())
    }

    fn note_firing(&self, firing: Option<&ReceiptFiring>, id: &str) -> Result<(), ReceiptError> {
        let Some(ReceiptFiring { agent, schedule, planned }) = firing else { return Ok(()) };
        let insert = "INSERT OR REPLACE INTO receipt_firings (agent, schedule, planned, receipt)
            VALUES (?1, ?2, ?3, ?4)";
        let noted = self.database.execute(insert, params![agent, schedule, planned, id]);
        noted.map(drop).map_err(ReceiptError::database(&self.path))
    }
}

fn shared(chain: &str, why: impl Into<String>) -> ReceiptError {
    ReceiptError::Shared { chain: chain.to_owned(), why: why.into() }
}

/// Checks a receipt by itself and against the one before it. Returns its fields, and the key that signed it.
fn checked(
    chain: &str,
    receipt: &SharedReceipt,
    before: Option<&KeptHead>,
) -> Result<(Map<String, Value>, PublicKey), &'static str> {
    let is_small = receipt.text.len() as u64 <= MOST_BYTES;
    let sealed =
        SealedText::split(&receipt.text).filter(|sealed| is_small && sealed.has_own_digest());
    let sealed = sealed.ok_or("is altered")?;
    let fields = body_text::read(sealed.body).ok_or("is not spelt as receipts are written")?;
    let text = |outer: &str, inner: &str| fields.get(outer)?.get(inner)?.as_str();
    let key = fields.get("public_key").and_then(Value::as_str).and_then(|key| key.parse().ok());
    let key: PublicKey = key.ok_or("names no key")?;
    if !sealed.is_signed_by(&key) {
        return Err("has a wrong signature");
    }
    let is_itself = fields.get("receipt_id").and_then(Value::as_str) == Some(&receipt.id)
        && text("session", "session_id") == Some(&receipt.run)
        && text("session", "agent_id") == Some(chain)
        && fields.get("count").and_then(Value::as_u64) == Some(receipt.number)
        && receipt.chain == chain;
    if !is_itself {
        return Err("is another one than the engine says");
    }
    // These become names of files, and other chains belong to this home alone.
    let is_name = |name: &str| name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let is_safe = receipt.id.starts_with("rcpt_") && is_name(&receipt.id);
    if !is_safe || !is_identifier(&receipt.run) || !AgentChain::written(chain).is_shared() {
        return Err("has a name that receipts do not have");
    }
    let follows = before.map_or(0, |head| head.count) + 1 == receipt.number
        && fields.get("previous").and_then(Value::as_str) == before.map(|head| head.hash.as_str());
    if follows { Ok((fields, key)) } else { Err("does not follow the one before it") }
}

/// Notes what a receipt says about its run. The home that wrote it has ended the run.
fn note_run(
    change: &rusqlite::Transaction<'_>,
    receipt: &SharedReceipt,
    fields: &Map<String, Value>,
    is_own: bool,
) -> rusqlite::Result<()> {
    if fields.contains_key("amends") {
        let update = "UPDATE receipt_runs SET is_amended = 1 WHERE run = ?1";
        return change.execute(update, [&receipt.run]).map(drop);
    }
    let workspace = fields.get("run").and_then(|run| run.get("workspace")?.as_str());
    #[expect(clippy::cast_possible_truncation, reason = "no run costs 2^63 millionths of a dollar")]
    let millionths = |dollars: f64| (dollars * 1_000_000.0).round() as i64;
    let cost = fields.get("cost").and_then(Value::as_f64).map(millionths);
    let upsert = "INSERT INTO receipt_runs (run, chain, workspace, receipt, cost)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (run) DO UPDATE SET chain = ?2, workspace = ?3, receipt = ?4, cost = ?5";
    let values =
        params![receipt.run, receipt.chain, workspace.unwrap_or_default(), receipt.id, cost];
    change.execute(upsert, values)?;
    if is_own {
        change.execute("UPDATE receipt_runs SET is_open = 0 WHERE run = ?1", [&receipt.run])?;
    }
    Ok(())
}
