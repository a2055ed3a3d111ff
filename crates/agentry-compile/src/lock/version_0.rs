//! The lock before it pinned policies line by line and servers: a list of agents, each with its digests
//! and a table of files. What it did not say is not compared; the next `agentry lock` writes it anew.
//!
//! ```toml
//! version = 0
//! [[agent]]
//! path = "helper.agent"
//! name = "helper"
//! format = "manifest"
//! digest = "sha256:…"
//! policy = "sha256:…"
//! files = { "helper.agent" = "sha256:…" }
//! ```

use agentry_model::Format;
use agentry_text::table::{Coerce, validate};
use agentry_text::{Field, Findings, Kind, Node, Record, Severity, Table};

use super::read::parsed;
use super::{FILE, Lock, LockError, Locked};
use crate::resolve::PlannedFile;

static DOCUMENT: Table = Table::new(
    "the lock",
    &[
        Field::required("version", Kind::Int(0, 0), "Always 0."),
        Field::optional("agent", Kind::List(&Kind::Block(&AGENT)), "The agents."),
    ],
);

static AGENT: Table = Table::new(
    "the locked agent",
    &[
        Field::required("path", Kind::Str, "Its main file."),
        Field::required("name", Kind::Str, "Its name."),
        Field::required("format", Kind::Choice(Format::WORDS), "Its format."),
        Field::required("digest", Kind::Str, "The digest of `hash --full`."),
        Field::required("policy", Kind::Str, "The digest of its policy."),
        Field::optional("files", Kind::Map(&Kind::Str), "The files that take part."),
        Field::optional("models", Kind::List(&Kind::Str), "The models that it may run on."),
    ],
);

/// A lock of version 0 as one of today.
pub(super) fn migrate(text: &str) -> Result<Lock, LockError> {
    let wrong = |why: &str| {
        let hint = "remove it and write it anew with `agentry lock`";
        LockError::new(format!("`{FILE}` of version 0 cannot be read: {why}"), hint)
    };
    let node = parsed(text, 1)?;
    let mut findings = Findings::default();
    validate(&DOCUMENT, &node, Coerce::Strict, &mut findings);
    if let Some(error) = findings.iter().find(|found| found.severity == Severity::Error) {
        return Err(wrong(&error.message));
    }
    let mut lock = Lock::default();
    let agents = Record::new(&DOCUMENT, &node, Coerce::Strict).list("agent").unwrap_or_default();
    for agent in agents {
        let (key, locked) = entry(agent).ok_or_else(|| wrong("an agent is not whole"))?;
        lock.set(&key, &locked);
    }
    Ok(lock)
}

fn entry(node: &Node) -> Option<(String, Locked)> {
    let record = Record::new(&AGENT, node, Coerce::Strict);
    let text = |name: &str| record.str(name).map(|text| text.value);
    let files = record.map("files").map(|map| &*map.entries).unwrap_or_default();
    let file = |entry: &agentry_text::Entry| {
        let digest = entry.value.to_spanned()?.value;
        Some(PlannedFile { path: entry.key.text.clone(), digest })
    };
    let models = record.strings("models").unwrap_or_default();
    let locked = Locked {
        name: text("name")?,
        format: record.word("format")?.value,
        digest: text("digest")?,
        bases: Vec::new(),
        files: files.iter().map(file).collect::<Option<_>>()?,
        base_files: Vec::new(),
        models: models.into_iter().map(|model| model.value).collect(),
        skills: Vec::new(),
        policy_digest: text("policy")?,
        policy: Vec::new(),
        servers: None,
        tools: Vec::new(),
    };
    Some((text("path")?, locked))
}
