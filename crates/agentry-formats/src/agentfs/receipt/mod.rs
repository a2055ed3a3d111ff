//! Receipts: what a run did, as YAML below `runs/<run>/receipts/`. Two kinds exist: the receipt of a
//! task, and that of an agent changing itself (`receipt: {type: self-evolution, …}`).

use agentry_model::Field as ModelField;
use agentry_policy::words;
use agentry_text::table::{Coerce, validate};
use agentry_text::yaml::{self, Version};
use agentry_text::{Data, Findings, Record, Source, Spanned};

use super::time::{is_date, is_rfc3339, two};
use crate::{Listed, Package};

mod fields;
mod rules;
#[cfg(test)]
mod tests;

pub use fields::RECEIPT;
use fields::{EVOLUTION, ITEM, METADATA, OUTCOME, SESSION, STEP_TYPES, TASK, TIME_METRICS};
pub(super) use rules::{COUNTS_DIFFER, ODD_RECEIPT_ID, RECEIPT_TIME};

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Receipt {
    /// `rcpt_20260115_143022_abc123`.
    pub receipt_id: ModelField<String>,
    /// The commit of the agent.
    pub repo_ref: ModelField<String>,
    /// Whose run it was.
    pub session: Session,
    /// What was asked, and what came of it.
    pub task: Task,
    /// How many steps of each kind there were.
    pub step_types: StepCounts,
    /// How long it took, in seconds.
    pub time_metrics: TimeMetrics,
    /// What the agent learnt, in the receipt of an evolution.
    pub evolution: Option<Evolution>,
    /// Everything else, by name.
    pub more: Vec<(String, Spanned<Data>)>,
}

/// Whose run it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// The conversation.
    pub session_id: ModelField<String>,
    /// The agent.
    pub agent_id: ModelField<String>,
    /// The person.
    pub user_id: ModelField<String>,
}

/// What was asked, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// What was asked, in short.
    pub input_summary: ModelField<String>,
    /// What came of it, in short.
    pub output_summary: ModelField<String>,
    /// How it ended.
    pub status: ModelField<TaskStatus>,
    /// Whether it ended without help.
    pub auto_completed: ModelField<bool>,
    /// How often a person changed the result.
    pub user_edits: ModelField<i64>,
}

words! {
    /// How a task ended.
    pub enum TaskStatus {
        /// As it should.
        Completed = "completed",
        /// A person refused the result.
        Rejected = "rejected",
        /// A person changed the result.
        Modified = "modified",
        /// A person has to take over.
        NeedsEscalation = "needs_escalation",
    }
}

/// How many steps of each kind there were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Always done the same way.
    pub deterministic: ModelField<i64>,
    /// Done as the agent saw fit.
    pub adaptive: ModelField<i64>,
    /// Waited for a person.
    pub human_gate: ModelField<i64>,
}

/// How long it took, in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeMetrics {
    /// The agent.
    pub agent_execution_time: ModelField<f64>,
    /// The person.
    pub actual_human_time: ModelField<f64>,
    /// The person, had there been no agent.
    pub estimated_human_time: ModelField<f64>,
}

/// How an agent changed itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evolution {
    /// `self-evolution`.
    pub kind: ModelField<String>,
    /// When.
    pub timestamp: ModelField<String>,
    /// What made it.
    pub trigger: ModelField<String>,
    /// What the session looked like.
    pub session_analysis: ModelField<Data>,
    /// What was learnt.
    pub learning_items: Vec<LearningItem>,
    /// How many items there are.
    pub total_items: ModelField<i64>,
    /// How many of them were taken over.
    pub applied: ModelField<i64>,
    /// How many of them a person refused.
    pub rejected: ModelField<i64>,
    /// How many of them were left for later.
    pub skipped: ModelField<i64>,
}

/// One thing that was learnt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LearningItem {
    /// What kind of thing it is.
    pub kind: ModelField<String>,
    /// What was learnt.
    pub content: ModelField<String>,
    /// The file that it changes.
    pub target: ModelField<String>,
    /// What became of it.
    pub status: ModelField<String>,
    /// The commit that holds it.
    pub git_commit: ModelField<String>,
    /// Why it was refused.
    pub rejection_reason: ModelField<String>,
}

/// Reads a receipt. Never fails: what cannot be read is reported and left out.
pub fn read(source: &Source, findings: &mut Findings) -> Receipt {
    let node = yaml::parse(source, 0..source.text.len(), Version::V1_2, findings);
    let record = Record::new(&RECEIPT, &node, Coerce::Strict);
    let evolves = record.has("receipt");
    let table = if evolves { &fields::EVOLUTION_RECEIPT } else { &RECEIPT };
    validate(table, &node, Coerce::Strict, findings);
    let receipt = Receipt {
        receipt_id: record.str("receipt_id"),
        repo_ref: record.str("repo_ref"),
        session: record.record("session", &SESSION).map(session).unwrap_or_default(),
        task: record.record("task", &TASK).map(task).unwrap_or_default(),
        step_types: record.record("step_types", &STEP_TYPES).map(steps).unwrap_or_default(),
        time_metrics: record.record("time_metrics", &TIME_METRICS).map(times).unwrap_or_default(),
        evolution: record.record("receipt", &EVOLUTION).map(evolution),
        more: more(record),
    };
    check(&receipt, findings);
    receipt
}

/// Reports what is wrong with the receipts that lie below the agent, if there are any.
pub(super) fn check_all(package: &mut Package<'_>, findings: &mut Findings) {
    for Listed { name, is_dir } in package.files.list("runs", findings) {
        let dir = format!("runs/{name}/receipts");
        let files = if is_dir { package.files.list(&dir, findings) } else { Vec::new() };
        let is_receipt = |file: &&Listed| !file.is_dir && file.name.strip_suffix(".yaml").is_some();
        for file in files.iter().filter(is_receipt) {
            if let Some(source) = package.read(&format!("{dir}/{}", file.name), findings) {
                read(&source, findings);
            }
        }
    }
}

fn session(record: Record<'_>) -> Session {
    Session {
        session_id: record.str("session_id"),
        agent_id: record.str("agent_id"),
        user_id: record.str("user_id"),
    }
}

fn task(record: Record<'_>) -> Task {
    let outcome = record.record("outcome", &OUTCOME);
    let status = outcome.and_then(|outcome| outcome.str("status")).and_then(|text| {
        let word = text.trim().to_lowercase().replace([' ', '-'], "_").parse().ok()?;
        Some(Spanned::new(word, text.span))
    });
    Task {
        input_summary: record.str("input_summary"),
        output_summary: record.str("output_summary"),
        status,
        auto_completed: outcome.and_then(|outcome| outcome.bool("auto_completed")),
        user_edits: outcome.and_then(|outcome| outcome.int("user_edits")),
    }
}

fn steps(record: Record<'_>) -> StepCounts {
    StepCounts {
        deterministic: record.int("deterministic"),
        adaptive: record.int("adaptive"),
        human_gate: record.int("human_gate"),
    }
}

fn times(record: Record<'_>) -> TimeMetrics {
    TimeMetrics {
        agent_execution_time: record.float("agent_execution_time"),
        actual_human_time: record.float("actual_human_time"),
        estimated_human_time: record.float("estimated_human_time"),
    }
}

fn evolution(record: Record<'_>) -> Evolution {
    let items = record.list("learning_items").unwrap_or_default();
    let items = items.iter().filter(|item| item.as_map().is_some());
    let counts = record.record("metadata", &METADATA);
    let count = |name| counts.and_then(|counts| counts.int(name));
    Evolution {
        kind: record.str("type"),
        timestamp: record.str("timestamp"),
        trigger: record.str("trigger"),
        session_analysis: record.data("session_analysis"),
        learning_items: items
            .map(|item| learnt(Record::new(&ITEM, item, Coerce::Strict)))
            .collect(),
        total_items: count("total_items"),
        applied: count("applied"),
        rejected: count("rejected"),
        skipped: count("skipped"),
    }
}

fn learnt(record: Record<'_>) -> LearningItem {
    LearningItem {
        kind: record.str("type"),
        content: record.str("content"),
        target: record.str("target"),
        status: record.str("status"),
        git_commit: record.str("git_commit"),
        rejection_reason: record.str("rejection_reason"),
    }
}

fn more(record: Record<'_>) -> Vec<(String, Spanned<Data>)> {
    let data = |entry: &agentry_text::Entry| {
        (entry.key.text.clone(), Spanned::new(entry.value.to_data(), entry.value.span))
    };
    record.unknown().map(data).collect()
}

fn check(receipt: &Receipt, findings: &mut Findings) {
    if let Some(id) = receipt.receipt_id.as_ref().filter(|id| !is_receipt_id(id)) {
        findings
            .add(&ODD_RECEIPT_ID, id.span, format!("`{}` is no id of a receipt", id.value))
            .hint("write `rcpt_`, the date, the time and six characters: `rcpt_20260115_143022_abc123`");
    }
    let Some(evolution) = &receipt.evolution else { return };
    if let Some(time) = evolution.timestamp.as_ref().filter(|time| !is_rfc3339(time)) {
        let message = format!("`timestamp: {}` is not a time of RFC 3339", time.value);
        findings
            .add(&RECEIPT_TIME, time.span, message)
            .hint("write date, time and zone: `2026-01-15T10:30:00Z`");
    }
    counts(evolution, findings);
}

/// Whether the totals are those of the list.
fn counts(evolution: &Evolution, findings: &mut Findings) {
    let items = &evolution.learning_items;
    let with = |words: &[&str]| {
        let is = |item: &&LearningItem| {
            item.status.as_ref().is_some_and(|status| words.contains(&status.value.as_str()))
        };
        items.iter().filter(is).count()
    };
    let totals = [
        ("total_items", &evolution.total_items, items.len()),
        ("applied", &evolution.applied, with(&["applied"])),
        ("rejected", &evolution.rejected, with(&["user_rejected", "rejected"])),
        ("skipped", &evolution.skipped, with(&["skipped"])),
    ];
    for (name, said, listed) in totals {
        let Some(said) = said else { continue };
        if usize::try_from(said.value) != Ok(listed) {
            let message =
                format!("`{name}` says {}, but `learning_items` has {listed}", said.value);
            findings
                .add(&COUNTS_DIFFER, said.span, message)
                .hint("list every item, and count again");
        }
    }
}

/// `rcpt_YYYYMMDD_HHMMSS_xxxxxx`, with a date and a time that exist.
fn is_receipt_id(text: &str) -> bool {
    let mut parts = text.split('_');
    let (Some("rcpt"), Some(date), Some(time), Some(rest), None) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let part = |text: &str, from: usize, to: usize| text.get(from..to).unwrap_or("").to_owned();
    let day = format!("{}-{}-{}", part(date, 0, 4), part(date, 4, 6), part(date, 6, 8));
    let clock = [(0, 23), (2, 59), (4, 60)];
    date.len() == 8
        && is_date(&day)
        && time.len() == 6
        && clock.iter().all(|(at, most)| two(time.get(*at..at + 2), *most))
        && rest.len() == 6
        && rest.chars().all(|c| c.is_ascii_alphanumeric())
}
