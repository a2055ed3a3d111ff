//! The audit log: one line of JSON per attempt of an agent to change itself or what is protected, also of those that were
//! refused. The attempts of a run lie beside its journal as well, and its receipt lists them.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::layout::{HomeLayout, is_identifier};

/// The most bytes of the attempts of a run that are read.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// One attempt.
#[derive(Debug)]
pub struct AuditEntry<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The run, if it was made in one.
    pub run: Option<&'a str>,
    /// The file.
    pub file: &'a str,
    /// The proposal, if it was stored.
    pub proposal: Option<&'a str>,
    /// What became of it: `applied`, `pending`, `refused`, `accepted`, `rejected`; `denied` for a call that would have
    /// changed something protected, `restored` for a command that did, `left` if the run was killed before that.
    pub outcome: &'a str,
    /// Why it was made, or why it was refused.
    pub reason: &'a str,
}

/// An attempt of a run, as its receipt has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedAttempt {
    /// The file, or the tool whose call was denied.
    pub file: String,
    /// What became of it.
    pub outcome: String,
    /// Why it was made, or why it was refused.
    pub reason: String,
}

/// The audit log of a home.
#[derive(Debug)]
pub struct AuditLog {
    layout: HomeLayout,
}

impl AuditLog {
    /// The log of a home; its file is created by the first entry.
    #[must_use]
    pub fn new(layout: &HomeLayout) -> Self {
        Self { layout: layout.clone() }
    }

    /// Appends an entry in one write, so that several processes do not mix their lines.
    pub fn append(&self, entry: &AuditEntry<'_>) -> io::Result<()> {
        let AuditEntry { agent, run, file, proposal, outcome, reason } = entry;
        let time = chrono::Utc::now().format("%FT%TZ").to_string();
        let cut: String = reason.chars().take(2_000).collect();
        let line = json!({
            "time": time,
            "agent": agent,
            "run": run,
            "file": file.chars().take(400).collect::<String>(),
            "proposal": proposal,
            "outcome": outcome,
            "reason": cut,
        });
        fs::create_dir_all(self.layout.logs())?;
        append_line(&self.layout.audit_log(), &line)?;
        match run.filter(|run| is_identifier(run) && self.layout.runs().join(run).is_dir()) {
            Some(run) => append_line(&self.layout.attempts(run), &line),
            None => Ok(()),
        }
    }

    /// The attempts of a run, in order. What is no entry is left out.
    #[must_use]
    pub fn of_run(&self, run: &str) -> Vec<ProtectedAttempt> {
        let Ok(file) = File::open(self.layout.attempts(run)) else { return Vec::new() };
        let attempt = |line: io::Result<String>| {
            let entry: Value = serde_json::from_str(&line.ok()?).ok()?;
            let text = |name: &str| Some(entry.get(name)?.as_str()?.to_owned());
            Some(ProtectedAttempt {
                file: text("file")?,
                outcome: text("outcome")?,
                reason: text("reason")?,
            })
        };
        BufReader::new(file.take(MOST_BYTES)).lines().filter_map(attempt).collect()
    }
}

fn append_line(path: &Path, line: &Value) -> io::Result<()> {
    let mut log = File::options().create(true).append(true).open(path)?;
    log.write_all(format!("{line}\n").as_bytes())
}
