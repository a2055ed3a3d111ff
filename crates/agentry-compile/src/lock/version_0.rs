//! Reads locks of version 0: a list of agents, each with digests and a table of files, but without policy
//! lines and servers. Missing parts are not compared; the next `agentry lock` rewrites the entry.
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
use agentry_text::table::{Coercion, validate};
use agentry_text::{Field, FieldKind, FieldTable, Findings, Severity, TableRecord, TreeNode};

use super::read::parsed;
use super::{FILE, LockError, LockedAgent, Lockfile};
use crate::resolve::PlannedFile;

static DOCUMENT: FieldTable = FieldTable::new(
    "the lock",
    &[
        Field::required("version", FieldKind::Int(0, 0), "Always 0."),
        Field::optional("agent", FieldKind::List(&FieldKind::Block(&AGENT)), "The agents."),
    ],
);

static AGENT: FieldTable = FieldTable::new(
    "the locked agent",
    &[
        Field::required("path", FieldKind::Str, "Its main file."),
        Field::required("name", FieldKind::Str, "Its name."),
        Field::required("format", FieldKind::Choice(Format::WORDS), "Its format."),
        Field::required("digest", FieldKind::Str, "The digest of `hash --full`."),
        Field::required("policy", FieldKind::Str, "The digest of its policy."),
        Field::optional("files", FieldKind::Map(&FieldKind::Str), "The files that take part."),
        Field::optional(
            "models",
            FieldKind::List(&FieldKind::Str),
            "The models that it may run on.",
        ),
    ],
);

/// Converts a lock of version 0 to the current version.
pub(super) fn migrate(text: &str) -> Result<Lockfile, LockError> {
    let wrong = |why: &str| {
        let hint = "remove it and write it anew with `agentry lock`";
        LockError::new(format!("`{FILE}` of version 0 cannot be read: {why}"), hint)
    };
    let node = parsed(text, 1)?;
    let mut findings = Findings::default();
    validate(&DOCUMENT, &node, Coercion::Strict, &mut findings);
    if let Some(error) = findings.iter().find(|found| found.severity == Severity::Error) {
        return Err(wrong(&error.message));
    }
    let mut lock = Lockfile::default();
    let agents =
        TableRecord::new(&DOCUMENT, &node, Coercion::Strict).list("agent").unwrap_or_default();
    for agent in agents {
        let (key, locked) = entry(agent).ok_or_else(|| wrong("an agent is not whole"))?;
        lock.set(&key, &locked);
    }
    Ok(lock)
}

fn entry(node: &TreeNode) -> Option<(String, LockedAgent)> {
    let record = TableRecord::new(&AGENT, node, Coercion::Strict);
    let text = |name: &str| record.str(name).map(|text| text.value);
    let files = record.map("files").map(|map| &*map.entries).unwrap_or_default();
    let file = |entry: &agentry_text::TreeEntry| {
        let digest = entry.value.to_spanned()?.value;
        Some(PlannedFile { path: entry.key.text.clone(), digest })
    };
    let models = record.strings("models").unwrap_or_default();
    let locked = LockedAgent {
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
        delegates: Vec::new(),
    };
    Some((text("path")?, locked))
}
