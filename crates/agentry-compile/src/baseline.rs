//! A baseline: old findings that are not reported, so that an old repository can adopt `check` and only
//! new findings fail.
//!
//! A finding is identified by its rule, its file (relative to the workspace root) and its message. The
//! line does not matter, so moving text creates no new finding.

use std::collections::BTreeMap;

use agentry_text::Diagnostic;
use serde_json::{Value, json};

/// How often each old finding occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    known: BTreeMap<(String, String, String), u64>,
}

/// The version of the file format.
const VERSION: u64 = 1;

impl Baseline {
    /// Reads a baseline file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match value["version"].as_u64() {
            Some(VERSION) => {}
            Some(other) => {
                return Err(format!("version {other} is not known; this program reads {VERSION}"));
            }
            None => return Err("it has no `version`".to_owned()),
        }
        let findings = value["findings"].as_array().ok_or("it has no list `findings`")?;
        let known = findings.iter().map(|entry| {
            let text = |key: &str| entry[key].as_str().map(str::to_owned);
            let key = (text("path")?, text("code")?, text("message")?);
            Some((key, entry["count"].as_u64().unwrap_or(1)))
        });
        let known: Option<BTreeMap<_, _>> = known.collect();
        known
            .map(|known| Self { known })
            .ok_or_else(|| "a finding lacks path, code or message".to_owned())
    }

    /// Adds a finding in the file `path` to the baseline.
    pub fn add(&mut self, path: &str, diagnostic: &Diagnostic) {
        *self.known.entry(key(path, diagnostic)).or_default() += 1;
    }

    /// Whether the baseline has a finding in the file `path`. Each entry matches as often as it was recorded.
    pub fn take(&mut self, path: &str, diagnostic: &Diagnostic) -> bool {
        if self.known.is_empty() {
            return false;
        }
        match self.known.get_mut(&key(path, diagnostic)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    /// The text of the file: one finding a line, sorted, so that it merges well.
    pub fn to_text(&self) -> String {
        let lines: Vec<String> = self
            .known
            .iter()
            .map(|((path, code, message), count)| {
                json!({"path": path, "code": code, "message": message, "count": count}).to_string()
            })
            .map(|line| format!("    {line}"))
            .collect();
        let findings = if lines.is_empty() {
            "[]".to_owned()
        } else {
            format!("[\n{}\n  ]", lines.join(",\n"))
        };
        format!("{{\n  \"version\": {VERSION},\n  \"findings\": {findings}\n}}\n")
    }
}

fn key(path: &str, diagnostic: &Diagnostic) -> (String, String, String) {
    (path.to_owned(), diagnostic.rule.code.to_owned(), diagnostic.message.clone())
}
