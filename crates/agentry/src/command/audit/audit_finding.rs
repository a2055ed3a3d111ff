//! What an audit reports: known-bad patterns of the checks, and what the lock and the list of rendered files say.

use agentry_compile::lock::LockChange;
use agentry_compile::text::{Diagnostic, Severity, SourceFiles};
use serde_json::{Value, json};

use crate::command::lock::{CachedLock, LockComparison};

/// The checks that an audit reports, by code: what attacks on agents look like. Style is left to `check`.
const KNOWN_BAD: &[&str] = &[
    // Files that leave the agent, or cannot be read.
    "AG0001", "AG0002", "AG0003", "AG0004", "AG0005", "AG0006", // Hidden characters.
    "AG0011", "AG0012", "AG0013", "AG0014", "AG0015",
    // Bases: another digest than the one that was named, more than the base allows.
    "AG0034", "AG0035", "AG0036", "AG0039", // Secrets.
    "AG0155", "AG7098", "AG8107", "AG9005", "AG9019", // Everything is allowed.
    "AG9009", "AG9010", "AG9011", "AG9012", // Code and text from elsewhere.
    "AG9017", "AG9018", "AG9020", "AG9024", "AG9042",
];

/// One finding. The order is that of the report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AuditFinding {
    path: String,
    line: usize,
    code: &'static str,
    message: String,
    severity: Severity,
}

/// The agent differs from what was reviewed.
const NOT_AS_LOCKED: &str = "AU0001";
/// The workspace has a lock, and the agent is not in it.
const NOT_LOCKED: &str = "AU0002";
/// The lock cannot be read.
const BROKEN_LOCK: &str = "AU0003";
/// A file beside rendered ones that nothing claims.
pub(super) const UNCLAIMED_FILE: &str = "AU0004";
/// A rendered file that is not as it was written.
pub(super) const EDITED_FILE: &str = "AU0005";
/// The audit itself failed.
const DEFECT: &str = "AU0006";

impl AuditFinding {
    pub(super) fn of(found: &Diagnostic, sources: &SourceFiles) -> Self {
        let path = sources.path(found.span).to_owned();
        let line = sources.start(found.span).line;
        let (code, message) = (found.rule.code, found.message.clone());
        Self { path, line, code, message, severity: found.severity }
    }

    pub(super) fn file(
        code: &'static str,
        severity: Severity,
        path: &str,
        message: impl Into<String>,
    ) -> Self {
        Self { path: path.to_owned(), line: 1, code, message: message.into(), severity }
    }

    pub(super) fn defect(path: &str) -> Self {
        let message = "it could not be examined: a defect in agentry; please report it";
        Self::file(DEFECT, Severity::Error, path, message)
    }

    /// A file that says that Agentry wrote it, where no list of rendered files has it.
    pub(super) fn unproved(path: &str) -> Self {
        let message = "it says that agentry wrote it, and no list of rendered files has it; remove it, render it \
            again, or list it in `own` of `[audit]` in `agentry.toml`";
        Self::file(UNCLAIMED_FILE, Severity::Error, path, message)
    }

    /// Whether it says that nothing claims this file.
    pub(super) fn is_unclaimed(&self, path: &str) -> bool {
        self.code == UNCLAIMED_FILE && self.path == path
    }

    pub(super) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub(super) fn is_warning(&self) -> bool {
        self.severity == Severity::Warning
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { path, line, code, message, severity } = self;
        let severity = severity.to_string();
        json!({"code": code, "severity": severity, "message": message, "path": path, "line": line})
    }

    /// The finding as one line.
    pub(super) fn to_text(&self) -> String {
        let Self { path, line, code, message, severity } = self;
        format!("{severity}[{code}]: {path}:{line}: {message}")
    }
}

/// Whether a finding of a check is about an attack. Errors count too: what cannot be read may hide anything.
pub(super) fn is_known_bad(found: &Diagnostic) -> bool {
    found.severity == Severity::Error || KNOWN_BAD.contains(&found.rule.code)
}

/// What the lock says about an agent; nothing if the workspace has none.
pub(super) fn since_lock(
    path: &str,
    lock: &CachedLock,
    comparison: &LockComparison,
) -> Vec<AuditFinding> {
    match (lock.as_ref(), &comparison.changes) {
        (Ok(None), _) => Vec::new(),
        (Err(error), _) | (Ok(Some(_)), Err(error)) => {
            vec![AuditFinding::file(BROKEN_LOCK, Severity::Error, path, error.message.clone())]
        }
        (Ok(Some(lock)), Ok(_)) if !lock.has(&comparison.key) => {
            let message = "it is not in `agentry.lock`; review it, then `agentry lock`";
            vec![AuditFinding::file(NOT_LOCKED, Severity::Error, path, message)]
        }
        (Ok(Some(_)), Ok(changes)) => {
            let finding = |LockChange { message, .. }: &LockChange| {
                let message = format!("not as locked: {message}");
                AuditFinding::file(NOT_AS_LOCKED, Severity::Error, path, message)
            };
            changes.iter().map(finding).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_compile::rule;

    use super::KNOWN_BAD;

    #[test]
    fn every_known_bad_code_is_a_rule() {
        for code in KNOWN_BAD {
            assert!(rule(code).is_some(), "{code}");
        }
    }
}
