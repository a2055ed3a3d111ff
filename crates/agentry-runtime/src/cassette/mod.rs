//! A run on tape: what the model was asked and answered, what was judged, said and done, and when.
//!
//! A cassette is a text file, one JSON object a line, made to be read and compared:
//!
//! ```text
//! {"cassette":1,"agent":"reviewer","recorded":"2026-11-15T15:00:33Z"}
//! {"type":"began","at":…,"limits":{…},"on_error":"skip","models":1,"window":200000,…}
//! {"type":"asked","at":…,"model":"…","system":"…","tools":[…],"messages":[…]}
//! {"type":"turned","at":…,"message":{…},"usage":{…},"truncated":false,"model":0}
//! {"type":"judged","at":…,"id":"call-1","verdict":"allow","reason":"…","class":"read"}
//! {"type":"ended","at":…,"id":"call-1","text":"…","failed":false}
//! ```
//!
//! Of every later question to the model only what nobody could know from the lines before it is
//! written. Secrets are left out, and directories of this machine have names of their own, so that a
//! cassette can be shipped with an agent.

mod decode;
mod difference;
mod difference_text;
mod directory_names;
mod expectation;
mod record;
mod tape;
mod target;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use difference::{CassetteDifference, DifferenceKind};
pub use directory_names::CassettePaths;
pub use record::CassetteRecorder;
pub use tape::{Tape, TapeError};
pub use target::{admit, keep};

use crate::conversation::Message;
use crate::event::RunEvent;
use crate::tool::ToolSpec;

/// The format that is written here.
const FORMAT: u64 = 1;

/// The end of a name while a cassette is recorded.
const PART: &str = ".part";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CassetteHeader {
    cassette: u64,
    agent: String,
    recorded: String,
}

/// Any other line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CassetteLine {
    at: u64,
    #[serde(flatten)]
    entry: CassetteEntry,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum CassetteEntry {
    Asked(RecordedQuestion),
    Event(RunEvent),
}

/// A question to the model, as far as it says something new.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedQuestion {
    #[serde(rename = "type")]
    kind: RecordedQuestionKind,
    /// What the model is called; for people.
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<RecordedTool>>,
    /// How many of the expected messages were still there; all of them if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<usize>,
    /// The messages behind them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedQuestionKind {
    #[default]
    Asked,
}

/// What the model was told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RecordedTool {
    name: String,
    description: String,
    schema: Value,
}

impl From<&ToolSpec> for RecordedTool {
    fn from(ToolSpec { name, description, schema }: &ToolSpec) -> Self {
        Self { name: name.clone(), description: description.clone(), schema: schema.clone() }
    }
}

/// The cassettes beside an agent: `<agent>.cassette.*`, in the order of their names.
pub fn beside(agent: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(name) = agent.file_name().and_then(|name| name.to_str()) else {
        return Ok(Vec::new());
    };
    let mut names = vec![name];
    // `writer.agent.md` may also be called `writer.agent` and `writer` there.
    names.extend(name.rmatch_indices('.').filter_map(|(at, _)| name.get(..at)));
    let is_cassette = |file: &str| {
        let suffix = names.iter().find_map(|name| file.strip_prefix(name));
        suffix.is_some_and(|rest| rest.starts_with(".cassette.") && !rest.ends_with(PART))
    };
    let directory = agent.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut found = Vec::new();
    for entry in fs::read_dir(directory.unwrap_or(Path::new(".")))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_cassette) && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
