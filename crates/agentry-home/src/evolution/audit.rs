//! The audit log: one line of JSON per attempt of an agent to change itself, also of those that were refused.

use std::fs::{self, File};
use std::io::{self, Write as _};

use serde_json::json;

use crate::layout::HomeLayout;

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
    /// What became of it: `applied`, `pending`, `refused`, `accepted`, `rejected`.
    pub outcome: &'a str,
    /// Why it was made, or why it was refused.
    pub reason: &'a str,
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
        let mut log = File::options().create(true).append(true).open(self.layout.audit_log())?;
        log.write_all(format!("{line}\n").as_bytes())
    }
}
