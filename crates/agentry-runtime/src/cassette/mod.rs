//! Cassettes: recorded runs, with each request, answer, verdict, result and time.
//!
//! A cassette is a text file with one JSON object per line, made to be read and compared:
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
//! A later request has only what does not follow from the lines before it. Secrets are redacted, and
//! directories of this machine are replaced by names, so that a cassette can be shipped with an agent.

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

/// The format that this version writes.
const FORMAT: u64 = 1;

/// The suffix of the file while a cassette is recorded.
const PART: &str = ".part";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CassetteHeader {
    cassette: u64,
    agent: String,
    recorded: String,
    /// The parts of the system prompt that came from the machine. A replay uses them in place of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prompt: Vec<RecordedPart>,
    /// What the definition declares and the run did not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// The function that the run carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    /// The tools of MCP servers, which only the servers know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    server_tools: Vec<RecordedServerTool>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedServerTool {
    /// Its name for the model.
    pub name: String,
    /// What the policy is asked about it: `server/tool`; empty if that depends on the arguments.
    pub subject: String,
}

/// A part of the system prompt that depends on the machine and not on the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPart {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What the first line of a cassette says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CassetteOpening {
    /// The name of the agent.
    pub agent: String,
    /// When the run begins, in milliseconds since the Unix epoch.
    pub now: u64,
    /// The parts of the system prompt that come from the machine.
    pub prompt: Vec<RecordedPart>,
    /// The names of what the definition declares and the run does not have.
    pub missing: Vec<String>,
    /// The tools of MCP servers.
    pub server_tools: Vec<RecordedServerTool>,
    /// The name of the function that the run carries out.
    pub function: Option<String>,
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

/// A request to the model, without what follows from the lines before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedQuestion {
    #[serde(rename = "type")]
    kind: RecordedQuestionKind,
    /// The name of the model, for readers of the file.
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<RecordedTool>>,
    /// How many of the predicted messages are kept; all of them if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<usize>,
    /// The messages after them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedQuestionKind {
    #[default]
    Asked,
}

/// A tool as the model got it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RecordedTool {
    name: String,
    description: String,
    schema: Value,
}

impl From<&RecordedTool> for ToolSpec {
    fn from(RecordedTool { name, description, schema }: &RecordedTool) -> Self {
        Self { name: name.clone(), description: description.clone(), schema: schema.clone() }
    }
}

impl From<&ToolSpec> for RecordedTool {
    fn from(ToolSpec { name, description, schema }: &ToolSpec) -> Self {
        Self { name: name.clone(), description: description.clone(), schema: schema.clone() }
    }
}

/// Returns the cassettes beside an agent: `<agent>.cassette.*`, sorted by name.
pub fn beside(agent: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(name) = agent.file_name().and_then(|name| name.to_str()) else {
        return Ok(Vec::new());
    };
    let mut names = vec![name];
    // The cassettes of `writer.agent.md` may also start with `writer.agent` or `writer`.
    names.extend(name.rmatch_indices('.').filter_map(|(at, _)| name.get(..at)));
    let is_cassette = |file: &str| {
        let suffix = names.iter().find_map(|name| file.strip_prefix(name));
        // An unfinished recording is not a cassette yet.
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
