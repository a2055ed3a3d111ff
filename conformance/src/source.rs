//! What the source says of a call: the answer of `agentry policy why`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process;

/// What the source wants to become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    /// It is done.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// Asks the program about a call of an agent whose definition is at `agent` in `project`.
pub(crate) fn why(
    program: &Path,
    project: &Path,
    (agent, section, subject): (&str, &str, &str),
) -> Result<Wish, String> {
    let mut command = Command::new(program);
    command.current_dir(project).args(["policy", "why", "--format", "json", "--"]);
    let done = process::run(command.args([agent, section, subject]), Duration::from_secs(20))?;
    let answer: Value = serde_json::from_str(&done.stdout).unwrap_or_default();
    match answer["verdict"].as_str() {
        Some("allow") => Ok(Wish::Allow),
        Some("ask") => Ok(Wish::Ask),
        Some("deny") => Ok(Wish::Deny),
        _ => Err(format!("`policy why {agent} {section} {subject}`: {}", done.stderr.trim())),
    }
}

/// What `agentry show` prints of the agent.
pub(crate) fn show(program: &Path, project: &Path, agent: &str) -> Result<Value, String> {
    let mut command = Command::new(program);
    command.current_dir(project).args(["show", "--format", "json", "--", agent]);
    let done = process::run(&mut command, Duration::from_secs(20))?;
    serde_json::from_str(&done.stdout)
        .map_err(|_| format!("`show {agent}`: {}", done.stderr.trim()))
}
