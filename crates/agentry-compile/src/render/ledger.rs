//! The ledger: the list of rendered files, stored beside them. A file that is not in it belongs to the user.
//!
//! It is JSON with one file a line, sorted by path, so that branches merge well.

use std::collections::BTreeSet;

use agentry_targets::is_written_by;
use serde_json::{Value, json};

use super::merge_record::{MergeHunk, MergeRecord};

/// The version of the file format.
const VERSION: u64 = 1;

/// Every file that was rendered below one root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderLedger {
    /// The files, sorted by path.
    entries: Vec<LedgerEntry>,
    /// The harnesses whose files ask `agentry guard` about each call.
    guarded: BTreeSet<String>,
    /// The harnesses whose gaps are closed by stricter rules.
    closed: BTreeSet<String>,
    /// The harnesses whose files deny what the source asks about.
    unattended: BTreeSet<String>,
}

/// One rendered file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The path relative to the root.
    pub path: String,
    /// The target harness.
    pub target: String,
    /// The definition that it was rendered from; empty for a file that all agents share.
    pub agent: String,
    /// The digest of the written bytes.
    pub sha256: String,
    /// How it was merged into a shared file, which may also hold the user's settings.
    pub merge: Option<MergeRecord>,
}

impl RenderLedger {
    /// The ledger of these files. Of two entries with one path, the last counts.
    pub fn new(mut entries: Vec<LedgerEntry>) -> Self {
        // The sort is stable and `dedup_by` keeps the first, so the last entry must come first.
        entries.reverse();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|a, b| a.path == b.path);
        Self { entries, ..Self::default() }
    }

    /// Sets the guarded harnesses, as far as they have files.
    #[must_use]
    pub fn with_guard(mut self, targets: impl IntoIterator<Item = String>) -> Self {
        self.guarded = self.rendered(targets);
        self
    }

    /// Sets the harnesses with closed gaps, as far as they have files.
    #[must_use]
    pub fn with_closed_gaps(mut self, targets: impl IntoIterator<Item = String>) -> Self {
        self.closed = self.rendered(targets);
        self
    }

    /// Sets the harnesses that deny every question, as far as they have files.
    #[must_use]
    pub fn with_unattended(mut self, targets: impl IntoIterator<Item = String>) -> Self {
        self.unattended = self.rendered(targets);
        self
    }

    /// The harnesses that have files.
    fn rendered(&self, targets: impl IntoIterator<Item = String>) -> BTreeSet<String> {
        let has_files = |target: &String| self.entries.iter().any(|it| it.target == *target);
        targets.into_iter().filter(has_files).collect()
    }

    /// The harnesses whose files ask `agentry guard` about each call.
    pub fn guarded(&self) -> &BTreeSet<String> {
        &self.guarded
    }

    /// The harnesses whose gaps are closed by stricter rules.
    pub fn closed_gaps(&self) -> &BTreeSet<String> {
        &self.closed
    }

    /// The harnesses whose files deny what the source asks about.
    pub fn unattended(&self) -> &BTreeSet<String> {
        &self.unattended
    }

    /// Every file, sorted by path.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The file at `path`.
    pub fn get(&self, path: &str) -> Option<&LedgerEntry> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
        self.entries.get(at)
    }

    /// Whether nothing was rendered.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Parses a ledger, or returns why the text is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            format!("line {}, column {} is not JSON", error.line(), error.column())
        })?;
        match value.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(other) => return Err(format!("its version is {other}, known is {VERSION}")),
            None => return Err("it has no `version`".to_owned()),
        }
        let files = value.get("files").and_then(Value::as_array).ok_or("it has no `files`")?;
        let entries: Option<Vec<LedgerEntry>> = files.iter().map(entry).collect();
        let entries = entries.ok_or("one of its files lacks something")?;
        // A manipulated ledger must not make Agentry change or remove any other file.
        let foreign = entries.iter().find(|it| !is_written_by(&it.target, &it.path));
        match foreign {
            Some(LedgerEntry { path, target, .. }) => {
                Err(format!("`{path}` is not a file that is rendered for {target}"))
            }
            None => {
                let ledger = Self::new(entries).with_guard(targets(&value, "guarded")?);
                let ledger = ledger.with_closed_gaps(targets(&value, "closed")?);
                Ok(ledger.with_unattended(targets(&value, "unattended")?))
            }
        }
    }

    /// The text of the ledger.
    pub fn to_text(&self) -> String {
        let lines: Vec<String> = self.entries.iter().map(|entry| line(entry).to_string()).collect();
        let files =
            if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", lines.join(",\n")) };
        let of = |key: &str, targets: &BTreeSet<String>| {
            if targets.is_empty() {
                String::new()
            } else {
                format!("\"{key}\": {},\n", json!(targets))
            }
        };
        let wishes = of("guarded", &self.guarded)
            + &of("closed", &self.closed)
            + &of("unattended", &self.unattended);
        format!("{{\n\"version\": {VERSION},\n{wishes}\"files\": {files}\n}}\n")
    }
}

/// The harnesses listed under `key`. A missing list is empty: older ledgers have none.
fn targets(value: &Value, key: &str) -> Result<Vec<String>, String> {
    let Some(names) = value.get(key) else { return Ok(Vec::new()) };
    let name = |name: &Value| name.as_str().map(str::to_owned);
    let names = names.as_array().and_then(|names| names.iter().map(name).collect());
    names.ok_or_else(|| format!("its `{key}` is not a list of targets"))
}

fn entry(value: &Value) -> Option<LedgerEntry> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let merge = match value.get("merge") {
        None => None,
        Some(Value::String(word)) if word == "created" => Some(MergeRecord::Created),
        Some(Value::Array(hunks)) => {
            Some(MergeRecord::Hunks(hunks.iter().map(hunk).collect::<Option<_>>()?))
        }
        Some(_) => return None,
    };
    let entry = LedgerEntry {
        path: text("path")?,
        target: text("target")?,
        agent: text("agent")?,
        sha256: text("sha256")?,
        merge,
    };
    agentry_text::path::is_plain(&entry.path).then_some(entry)
}

fn hunk(value: &Value) -> Option<MergeHunk> {
    let lines = |key: &str| {
        let lines = value.get(key)?.as_array()?;
        lines.iter().map(|line| line.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    let at = value.get("at").and_then(Value::as_u64)?;
    Some(MergeHunk {
        at: usize::try_from(at).ok()?,
        removed: lines("removed")?,
        added: lines("added")?,
    })
}

fn line(entry: &LedgerEntry) -> Value {
    let LedgerEntry { path, target, agent, sha256, merge } = entry;
    let mut value = json!({"path": path, "target": target, "agent": agent, "sha256": sha256});
    let merge = match merge {
        None => return value,
        Some(MergeRecord::Created) => json!("created"),
        Some(MergeRecord::Hunks(hunks)) => {
            let hunk = |MergeHunk { at, removed, added }: &MergeHunk| json!({"at": at, "removed": removed, "added": added});
            hunks.iter().map(hunk).collect()
        }
    };
    if let Some(map) = value.as_object_mut() {
        map.insert("merge".to_owned(), merge);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, merge: Option<MergeRecord>) -> LedgerEntry {
        LedgerEntry {
            path: path.to_owned(),
            target: "opencode".to_owned(),
            agent: "a.agent".to_owned(),
            sha256: agentry_text::digest::sha256(b"x"),
            merge,
        }
    }

    #[test]
    fn a_written_ledger_parses_back() {
        let hunk = MergeHunk { at: 3, removed: vec!["a\n".into()], added: vec!["a,\n".into()] };
        let ledger = RenderLedger::new(vec![
            entry(".opencode/z", None),
            entry(".opencode/b", Some(MergeRecord::Created)),
            entry(".opencode/a", Some(MergeRecord::Hunks(vec![hunk]))),
        ]);
        assert_eq!(RenderLedger::parse(&ledger.to_text()), Ok(ledger.clone()));
        assert_eq!(ledger.to_text().lines().count(), 8);
        assert!(ledger.get(".opencode/b").is_some() && ledger.get(".opencode/c").is_none());
        assert_eq!(
            RenderLedger::parse(&RenderLedger::default().to_text()),
            Ok(RenderLedger::default())
        );
    }

    #[test]
    fn the_ledger_records_the_guard_only_for_targets_with_files() {
        let ledger = RenderLedger::new(vec![entry(".opencode/a", None)]);
        let guarded = ledger.with_guard(["opencode".to_owned(), "pi".to_owned()]);
        assert_eq!(guarded.guarded().iter().collect::<Vec<_>>(), ["opencode"]);
        assert_eq!(RenderLedger::parse(&guarded.to_text()), Ok(guarded.clone()));
        let closed = guarded.with_closed_gaps(["pi".to_owned(), "opencode".to_owned()]);
        assert_eq!(closed.closed_gaps().iter().collect::<Vec<_>>(), ["opencode"]);
        let unattended = closed.clone().with_unattended(["opencode".to_owned()]);
        assert_eq!(RenderLedger::parse(&unattended.to_text()), Ok(unattended));
        assert_eq!(RenderLedger::parse(&closed.to_text()), Ok(closed));
    }

    #[test]
    fn malformed_ledgers_are_errors() {
        let cases = [
            "",
            "[]",
            "{}",
            r#"{"version": 2, "files": []}"#,
            r#"{"version": 1}"#,
            r#"{"version": 1, "files": [{}]}"#,
            r#"{"version": 1, "guarded": "pi", "files": []}"#,
            r#"{"version": 1, "files": [{"path":"../x","target":"t","agent":"","sha256":""}]}"#,
            r#"{"version": 1, "files": [{"path":".git/config","target":"claude-code","agent":"","sha256":""}]}"#,
            r#"{"version": 1, "files": [{"path":".claude/../x","target":"claude-code","agent":"","sha256":""}]}"#,
            r#"{"version": 1, "files": [{"path":".opencode/x","target":"claude-code","agent":"","sha256":""}]}"#,
            r#"{"version": 1, "files": [{"path":"/x","target":"t","agent":"","sha256":""}]}"#,
        ];
        for text in cases {
            assert!(RenderLedger::parse(text).is_err(), "{text}");
        }
    }
}
