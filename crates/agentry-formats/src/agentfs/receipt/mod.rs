//! Receipts: records of runs, as YAML below `runs/<run>/receipts/`. There are two kinds: the receipt of a
//! task, and that of an agent that changed itself (`receipt: {type: self-evolution, …}`).

use agentry_text::table::{Coercion, validate};
use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Findings, SourceFile, TableRecord, TreeNode};
use chrono::NaiveDateTime;

use super::rules::{COUNTS_DIFFER, ODD_RECEIPT_ID, RECEIPT_TIME};
use super::time::is_rfc3339;
use crate::{AgentPackage, ListedName};

mod fields;
#[cfg(test)]
mod tests;

pub use fields::RECEIPT;
use fields::{EVOLUTION, ITEM, METADATA};

/// Reports problems with a receipt.
pub(super) fn check(source: &SourceFile, findings: &mut Findings) {
    let node = yaml::parse(source, 0..source.text.len(), YamlVersion::V1_2, findings);
    let record = TableRecord::new(&RECEIPT, &node, Coercion::Strict);
    let evolves = record.has("receipt");
    let table = if evolves { &fields::EVOLUTION_RECEIPT } else { &RECEIPT };
    validate(table, &node, Coercion::Strict, findings);
    if let Some(id) = record.str("receipt_id").filter(|id| !is_receipt_id(id)) {
        findings
            .add(&ODD_RECEIPT_ID, id.span, format!("`{}` is not an id of a receipt", id.value))
            .hint("write `rcpt_`, the date, the time and six characters: `rcpt_20260115_143022_abc123`");
    }
    let Some(evolution) = record.record("receipt", &EVOLUTION) else { return };
    if let Some(time) = evolution.str("timestamp").filter(|time| !is_rfc3339(time)) {
        let message = format!("`timestamp: {}` is not a time of RFC 3339", time.value);
        findings
            .add(&RECEIPT_TIME, time.span, message)
            .hint("write date, time and zone: `2026-01-15T10:30:00Z`");
    }
    check_counts(evolution, findings);
}

/// Reports problems with the receipts below the agent's directory.
pub(super) fn check_all(package: &mut AgentPackage<'_>, findings: &mut Findings) {
    for ListedName { name, is_dir } in package.files.list("runs", findings) {
        let dir = format!("runs/{name}/receipts");
        let files = if is_dir { package.files.list(&dir, findings) } else { Vec::new() };
        let is_receipt =
            |file: &&ListedName| !file.is_dir && file.name.strip_suffix(".yaml").is_some();
        for file in files.iter().filter(is_receipt) {
            if let Some(source) = package.read(&format!("{dir}/{}", file.name), findings) {
                check(&source, findings);
            }
        }
    }
}

/// Reports totals that differ from the list.
fn check_counts(evolution: TableRecord<'_>, findings: &mut Findings) {
    let Some(metadata) = evolution.record("metadata", &METADATA) else { return };
    let items = evolution.list("learning_items").unwrap_or_default();
    let items: Vec<_> = items.iter().filter(|item| item.as_map().is_some()).collect();
    let with = |words: &[&str]| {
        let status =
            |item: &TreeNode| TableRecord::new(&ITEM, item, Coercion::Strict).str("status");
        let is =
            |item: &&&TreeNode| status(item).is_some_and(|word| words.contains(&word.as_str()));
        items.iter().filter(is).count()
    };
    let totals = [
        ("total_items", items.len()),
        ("applied", with(&["applied"])),
        ("rejected", with(&["user_rejected", "rejected"])),
        ("skipped", with(&["skipped"])),
    ];
    for (name, listed) in totals {
        let Some(declared) = metadata.int(name) else { continue };
        if usize::try_from(declared.value) != Ok(listed) {
            let message =
                format!("`{name}` says {}, but `learning_items` has {listed}", declared.value);
            findings
                .add(&COUNTS_DIFFER, declared.span, message)
                .hint("list every item, and count again");
        }
    }
}

/// Whether an id is `rcpt_YYYYMMDD_HHMMSS_xxxxxx`, with a valid date and time.
fn is_receipt_id(text: &str) -> bool {
    let Some(("rcpt", (time, rest))) =
        text.split_once('_').and_then(|(word, rest)| Some((word, rest.rsplit_once('_')?)))
    else {
        return false;
    };
    let written = time.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    // The parser of `chrono` also accepts fewer digits, so the form is checked first.
    written.eq(*b"00000000_000000")
        && NaiveDateTime::parse_from_str(time, "%Y%m%d_%H%M%S").is_ok()
        && rest.len() == 6
        && rest.chars().all(|c| c.is_ascii_alphanumeric())
}
