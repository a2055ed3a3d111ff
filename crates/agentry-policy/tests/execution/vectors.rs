//! Reads the tables of command lines in `tests/commands`, which are mutated.

use std::fs;

use agentry_policy::Judge;
use toml::Value;

use crate::table::{judge, list};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands");
/// Longer lines are skipped, because they take time and find nothing.
const MAX_LINE: usize = 300;

/// Lines that are judged by the same rules.
pub(crate) struct Group {
    /// The title of the group.
    pub(crate) name: String,
    /// The rules of the group.
    pub(crate) judge: Judge,
    /// The lines, with any verdict.
    pub(crate) lines: Vec<String>,
}

/// Reads every group of every table.
pub(crate) fn groups() -> Vec<Group> {
    let mut paths: Vec<_> = fs::read_dir(FOLDER)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut groups = Vec::new();
    for path in paths {
        let table: Value = toml::from_str(&fs::read_to_string(&path).expect("text")).expect("TOML");
        groups.extend(list(&table, "group").map(group));
    }
    groups
}

fn group(value: &Value) -> Group {
    let cases = list(value, "case").chain(list(value, "cases"));
    // The sandbox does not count processes: one that multiplies would take the whole machine.
    let cases = cases.filter(|case| case.get("never_run").is_none());
    let lines = cases.filter_map(|case| case.get("line")?.as_str()).map(str::to_owned);
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let lines = lines.filter(|line| line.len() < MAX_LINE).collect();
    Group { name, judge: judge(value.get("rules").expect("rules")), lines }
}
