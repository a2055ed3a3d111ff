//! Verifies receipts offline, by their files, the heads of their chains and the public key of the home.

use std::collections::{BTreeMap, BTreeSet};

use agentry_compile::text::digest;
use agentry_registry::{KeyRing, PublicKey};
use rayon::prelude::*;
use rusqlite::{Connection, OptionalExtension as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain::AgentChain;
use super::file::{ReceiptFile, receipt_files};
use super::head_copy::{HeadCopy, KeptHead};
use super::sealing::{SealedText, is_signed_head};
use super::{KEY_NAME, ReceiptError, book};
use crate::database;
use crate::layout::HomeLayout;

/// The most problems of one chain that are listed one by one.
const MOST_PROBLEMS: usize = 1_000;

/// How a problem begins that only the copy of the heads shows.
const SET_BACK: &str = "the home was set back";
/// How a problem begins that only the heads show that a person noted.
const NOTED: &str = "by the heads that you noted: ";

/// The result of verifying receipts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptCheck {
    /// How many receipts were read.
    pub checked: usize,
    /// What is wrong.
    pub problems: Vec<ReceiptProblem>,
    /// What the home says about its chains now.
    pub heads: NotedHeads,
}

/// What the chains of a home were at some time. Someone who can write to the home can make it agree with itself; not with what
/// was noted elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedHeads {
    /// The public key of the receipts.
    pub key: Option<String>,
    /// The heads, by chain.
    pub heads: BTreeMap<String, KeptHead>,
}

/// What the receipts are compared with, beside each other.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadReferences<'a> {
    /// The copy of the heads outside the home. One that agrees is brought up to date.
    pub copy: Option<&'a HeadCopy>,
    /// The heads that a person noted.
    pub noted: Option<&'a NotedHeads>,
}

/// Something that is wrong with a receipt or a chain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReceiptProblem {
    /// The receipt; the chain and the number if it is missing.
    pub receipt: String,
    /// What is wrong.
    pub problem: String,
}

impl ReceiptProblem {
    fn new(receipt: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { receipt: receipt.into(), problem: problem.into() }
    }

    fn by_note(self) -> Self {
        Self { problem: format!("{NOTED}{}", self.problem), ..self }
    }

    /// Whether the home agrees with itself, and not with the copy of its heads.
    #[must_use]
    pub fn is_set_back(&self) -> bool {
        self.problem.starts_with(SET_BACK)
    }
}

/// The head of a chain in the database.
struct ChainHead {
    count: u64,
    hash: String,
    signature: String,
}

/// A receipt with its place in its chain.
struct PlacedReceipt<'a> {
    file: &'a ReceiptFile,
    count: u64,
    previous: Option<String>,
    hash: String,
}

/// Verifies all receipts of a home, or those of one agent, and compares the heads of their chains with others.
pub fn verify_against(
    layout: &HomeLayout,
    agent: Option<&str>,
    references: HeadReferences<'_>,
) -> Result<ReceiptCheck, ReceiptError> {
    let check = verify_chains(layout, agent, references)?;
    if let Some(copy) = references.copy.filter(|_| check.problems.is_empty()) {
        // Where the copy cannot be written, an older one still shows less, and nothing wrong.
        let _ = copy.replace(check.heads.heads.clone());
    }
    Ok(check)
}

/// Verifies all receipts of a home, or those of one agent.
pub fn verify(layout: &HomeLayout, agent: Option<&str>) -> Result<ReceiptCheck, ReceiptError> {
    verify_chains(layout, agent, HeadReferences::default())
}

fn verify_chains(
    layout: &HomeLayout,
    agent: Option<&str>,
    HeadReferences { copy, noted }: HeadReferences<'_>,
) -> Result<ReceiptCheck, ReceiptError> {
    let known = KnownState::read(layout)?;
    let files = receipt_files(layout);
    let is_meant = |file: &&ReceiptFile| agent.is_none_or(|agent| file.is_of(agent));
    let files: Vec<&ReceiptFile> = files.iter().filter(is_meant).collect();
    let mut problems = known.problems.clone();
    problems
        .par_extend(files.par_iter().flat_map_iter(|file| check_file(file, known.signer(file))));
    let mut chains: BTreeMap<&str, Vec<PlacedReceipt<'_>>> = BTreeMap::new();
    let placed: Vec<_> = files.par_iter().filter_map(|file| PlacedReceipt::of(file)).collect();
    for receipt in placed {
        let chain = receipt.file.text_field("session/agent_id");
        chains.entry(chain).or_default().push(receipt);
    }
    let is_meant = |chain: &&str| agent.is_none_or(|agent| is_named(chain, agent, &chains));
    let kept = kept_heads(copy, &mut problems);
    let nothing = NotedHeads::default();
    let noted = noted.unwrap_or(&nothing);
    let key = known.key.as_ref().map(ToString::to_string);
    if noted.key.is_some() && noted.key != key {
        let problem = format!("{NOTED}the home had another key for its receipts");
        problems.push(ReceiptProblem::new("keys/receipts.pub", problem));
    }
    let recorded = known.heads.keys().chain(kept.keys()).chain(noted.heads.keys());
    let recorded = recorded.map(String::as_str).filter(is_meant);
    let names: BTreeSet<&str> = chains.keys().copied().chain(recorded).collect();
    let mut heads = BTreeMap::new();
    for chain in names {
        let receipts = chains.get(chain).map_or(&[][..], Vec::as_slice);
        let head = known.heads.get(chain);
        let mut found = check_chain(chain, receipts, head, known.key.as_ref());
        found.truncate(MOST_PROBLEMS);
        let compared = |with: Option<&KeptHead>| set_back(chain, receipts, head, with?);
        found.extend(compared(kept.get(chain)));
        found.extend(compared(noted.heads.get(chain)).map(ReceiptProblem::by_note));
        heads.extend(
            head.map(|it| (chain.to_owned(), KeptHead { count: it.count, hash: it.hash.clone() })),
        );
        problems.append(&mut found);
    }
    problems.sort();
    problems.dedup();
    Ok(ReceiptCheck { checked: files.len(), problems, heads: NotedHeads { key, heads } })
}

/// The heads outside the home. A copy that cannot be read is a problem: it may have been damaged on purpose.
fn kept_heads(
    copy: Option<&HeadCopy>,
    problems: &mut Vec<ReceiptProblem>,
) -> BTreeMap<String, KeptHead> {
    let Some(copy) = copy else { return BTreeMap::new() };
    copy.heads().unwrap_or_else(|error| {
        let problem = format!("the copy of the heads cannot be read: {error}");
        problems.push(ReceiptProblem::new(copy.path().display().to_string(), problem));
        BTreeMap::new()
    })
}

/// Compares a chain with its head outside the home.
fn set_back(
    chain: &str,
    receipts: &[PlacedReceipt<'_>],
    head: Option<&ChainHead>,
    kept: &KeptHead,
) -> Option<ReceiptProblem> {
    let count = head.map_or(0, |head| head.count);
    if count < kept.count {
        let problem =
            format!("{SET_BACK}: it had {} receipts of this chain and has {count}", kept.count);
        return Some(ReceiptProblem::new(chain, problem));
    }
    // What the home holds at that place: its head, or what the next receipt says about the one before it. A receipt that is
    // missing or altered is reported elsewhere.
    let next = || receipts.iter().find(|receipt| receipt.count == kept.count + 1)?.previous.clone();
    let found = match head {
        Some(head) if head.count == kept.count => Some(head.hash.clone()),
        _ => next(),
    };
    found.filter(|hash| *hash != kept.hash).map(|_| {
        let problem = format!(
            "{SET_BACK} and continued: receipt {} of this chain was another one before",
            kept.count
        );
        ReceiptProblem::new(chain, problem)
    })
}

/// Whether a chain, of which there may be no receipt, is that of the agent.
fn is_named(chain: &str, agent: &str, chains: &BTreeMap<&str, Vec<PlacedReceipt<'_>>>) -> bool {
    let own = AgentChain::written(chain);
    own.as_str() == agent || own.identifier() == agent || chains.contains_key(chain)
}

/// What the home knows about its receipts, apart from the receipts.
struct KnownState {
    key: Option<PublicKey>,
    /// The keys of the homes that share chains with this one.
    homes: Vec<PublicKey>,
    heads: BTreeMap<String, ChainHead>,
    problems: Vec<ReceiptProblem>,
}

impl KnownState {
    /// The key that a receipt has to be signed with: that of this home, or in a shared chain that of another one.
    fn signer(&self, file: &ReceiptFile) -> Option<&PublicKey> {
        let chain = AgentChain::written(file.text_field("session/agent_id"));
        let named: Option<PublicKey> = file.text_field("public_key").parse().ok();
        let other = self.homes.iter().find(|key| chain.is_shared() && Some(**key) == named);
        other.or(self.key.as_ref())
    }

    fn read(layout: &HomeLayout) -> Result<Self, ReceiptError> {
        let path = layout.database();
        let (mut heads, mut recorded, mut homes) = (BTreeMap::new(), None, Vec::new());
        if path.exists() {
            // On a home that cannot be written, a file that was not finished counts as missing.
            let _ = book::finish_left_over(layout);
            let failed = || ReceiptError::database(&path);
            let database = database::open_to_read(&path).map_err(failed())?;
            if has_tables(&database).map_err(failed())? {
                heads = read_heads(&database).map_err(failed())?;
                let select = "SELECT public FROM receipt_key";
                let key = database.query_row(select, [], |row| row.get::<_, String>(0)).optional();
                recorded = key.map_err(failed())?;
                homes = read_homes(&database).map_err(failed())?;
            }
        }
        let mut problems = Vec::new();
        let ring = KeyRing::new(layout.root());
        let file = ring.public(KEY_NAME).unwrap_or_else(|error| {
            problems.push(ReceiptProblem::new("keys/receipts.pub", error.to_string()));
            None
        });
        let of_secret = ring.has(KEY_NAME).then(|| ring.secret(KEY_NAME).ok()).flatten();
        let others = [file, of_secret.map(|key| key.public())];
        let recorded: Option<PublicKey> = recorded.and_then(|key| key.parse().ok());
        let key = recorded.or(file);
        if others.into_iter().flatten().any(|other| Some(other) != key) {
            let problem = "it is not the key that the home has recorded for its receipts";
            problems.push(ReceiptProblem::new("keys/receipts.pub", problem));
        }
        Ok(Self { key, homes, heads, problems })
    }
}

fn read_homes(database: &Connection) -> rusqlite::Result<Vec<PublicKey>> {
    let select = "SELECT count(*) FROM sqlite_schema WHERE name = 'receipt_homes'";
    if database.query_row(select, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(Vec::new());
    }
    let mut select = database.prepare("SELECT public FROM receipt_homes")?;
    let keys = select.query_map([], |row| row.get::<_, String>(0))?;
    Ok(keys
        .collect::<rusqlite::Result<Vec<_>>>()?
        .iter()
        .filter_map(|key| key.parse().ok())
        .collect())
}

fn has_tables(database: &Connection) -> rusqlite::Result<bool> {
    let select =
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('receipt_heads', 'receipt_key')";
    database.query_row(select, [], |row| row.get::<_, i64>(0)).map(|count| count == 2)
}

fn read_heads(database: &Connection) -> rusqlite::Result<BTreeMap<String, ChainHead>> {
    let mut select = database.prepare("SELECT chain, count, hash, signature FROM receipt_heads")?;
    let rows = select.query_map([], |row| {
        let count = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        Ok((row.get(0)?, ChainHead { count, hash: row.get(2)?, signature: row.get(3)? }))
    })?;
    rows.collect()
}

/// Checks one receipt by itself.
fn check_file(file: &ReceiptFile, key: Option<&PublicKey>) -> Vec<ReceiptProblem> {
    let problem = |text: &str| vec![ReceiptProblem::new(&file.id, text)];
    let text = match &file.text {
        Ok(text) => text,
        Err(why) => return problem(&format!("it cannot be read: {why}")),
    };
    let Some(sealed) = SealedText::split(text) else {
        return problem("it is altered: it does not end with a digest and a signature");
    };
    if !sealed.has_own_digest() {
        return problem("it is altered: its digest is not that of its content");
    }
    let Some(fields) = &file.fields else {
        return problem("it is altered: it is not spelt as receipts are written");
    };
    let Some(key) = key else { return problem("the home has no public key for its receipts") };
    if fields.get("public_key").and_then(Value::as_str) != Some(key.to_string().as_str()) {
        return problem(&foreign(fields.get("public_key").and_then(Value::as_str), &sealed));
    }
    if !sealed.is_signed_by(key) {
        return problem("it is altered, or another key signed it: its signature is wrong");
    }
    if file.text_field("receipt_id") != file.id {
        return problem("its file has the name of another receipt");
    }
    if file.text_field("session/session_id") != file.run {
        return problem("it lies in the directory of another run");
    }
    Vec::new()
}

/// What to say about a receipt that names another key than that of the home.
fn foreign(named: Option<&str>, sealed: &SealedText<'_>) -> String {
    let other: Option<PublicKey> = named.and_then(|key| key.parse().ok());
    let is_whole = other.is_some_and(|key| sealed.is_signed_by(&key));
    let more = if is_whole { ": it belongs to another home, or the key was replaced" } else { "" };
    format!("another key signed it{more}")
}

impl<'a> PlacedReceipt<'a> {
    fn of(file: &'a ReceiptFile) -> Option<Self> {
        let count = file.field("count")?.as_u64()?;
        let previous = file.field("previous").and_then(Value::as_str).map(str::to_owned);
        let hash = digest::of(file.text.as_ref().ok()?.as_bytes());
        Some(Self { file, count, previous, hash })
    }
}

/// Checks that the receipts of a chain are complete, in order, and end at the head.
fn check_chain(
    chain: &str,
    receipts: &[PlacedReceipt<'_>],
    head: Option<&ChainHead>,
    key: Option<&PublicKey>,
) -> Vec<ReceiptProblem> {
    let mut problems = Vec::new();
    let mut add =
        |receipt: &str, problem: String| problems.push(ReceiptProblem::new(receipt, problem));
    let Some(head) = head else {
        add(chain, "the head of this chain is missing in `agents.db`".to_owned());
        return problems;
    };
    let is_signed =
        |key: &PublicKey| is_signed_head(key, (chain, head.count, &head.hash), &head.signature);
    if !key.is_some_and(is_signed) {
        add(chain, "the head of this chain was changed: its signature is wrong".to_owned());
    }
    let mut numbered: BTreeMap<u64, Vec<&PlacedReceipt<'_>>> = BTreeMap::new();
    for receipt in receipts {
        numbered.entry(receipt.count).or_default().push(receipt);
    }
    for (count, same) in &numbered {
        for other in same.iter().skip(1) {
            add(&other.file.id, format!("another receipt is number {count} of `{chain}` too"));
        }
        if *count > head.count || *count == 0 {
            let beyond = format!("the head of `{chain}` knows only {} receipts", head.count);
            same.iter().for_each(|receipt| add(&receipt.file.id, beyond.clone()));
        }
    }
    check_order(chain, head, &numbered, &mut add);
    problems
}

/// Checks that each receipt follows the one before it, and that none is missing.
fn check_order(
    chain: &str,
    head: &ChainHead,
    numbered: &BTreeMap<u64, Vec<&PlacedReceipt<'_>>>,
    add: &mut dyn FnMut(&str, String),
) {
    let first = |count: u64| numbered.get(&count).and_then(|same| same.first());
    let mut missing = 0;
    // A head that was set to a huge number must not make this endless: what is listed is bounded.
    let last = head.count.min(u64::try_from(numbered.len() + MOST_PROBLEMS).unwrap_or(u64::MAX));
    for count in 1..=last {
        let Some(receipt) = first(count) else {
            missing += 1;
            add(&format!("{chain} #{count}"), "it is missing".to_owned());
            continue;
        };
        let expected = (count > 1).then(|| first(count - 1).map(|before| before.hash.clone()));
        let follows = match expected {
            None => receipt.previous.is_none(),
            // The one before is missing, which is reported.
            Some(None) => true,
            Some(Some(hash)) => receipt.previous.as_ref() == Some(&hash),
        };
        if !follows {
            let before = count - 1;
            add(&receipt.file.id, format!("it does not follow receipt {before} of `{chain}`"));
        }
    }
    if let Some(receipt) = first(head.count)
        && receipt.hash != head.hash
    {
        add(
            &receipt.file.id,
            format!("it is not the last receipt that the head of `{chain}` knows"),
        );
    }
    if head.count > last && missing == 0 {
        add(chain, format!("receipts {} to {} are missing", last + 1, head.count));
    }
}
