//! The verdict of the source on a call, from `agentry policy why`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::calls::Case;
use crate::process;
use crate::scratch::FILES;

/// The verdict of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    /// The call is executed.
    Allow,
    /// The user is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// A file, and whether it is asked about or denied.
pub(crate) type Kept = (&'static str, Wish);

/// An agent of the suite, with its verdicts.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name.
    pub(crate) agent: String,
    /// The output of `agentry show`.
    pub(crate) shown: Value,
    /// Its verdicts, call by call.
    pub(crate) wishes: Vec<Wish>,
    /// The files of the suite that it may not read, or not without asking.
    pub(crate) kept: Vec<Kept>,
}

impl Source {
    /// Asks the program about an agent of the workspace.
    pub(crate) fn read(
        program: &Path,
        workspace: &Path,
        agent: String,
        cases: &[Case],
    ) -> Result<Self, String> {
        let place = format!("agents/{agent}");
        let shown = show(program, workspace, &place)?;
        let wish = |case: &Case| {
            let (subject, search) = case.question();
            why(program, workspace, (&place, case.section, &subject), search.as_deref())
        };
        let wishes = cases.iter().map(wish).collect::<Result<_, _>>()?;
        let mut kept = Vec::new();
        for file in FILES {
            let wish = why(program, workspace, (&place, "read", file), None)?;
            if wish > Wish::Allow {
                kept.push((*file, wish));
            }
        }
        Ok(Self { agent, shown, wishes, kept })
    }
}

/// Asks the program about a call of an agent whose definition is at `agent` in `project`.
fn why(
    program: &Path,
    project: &Path,
    (agent, section, subject): (&str, &str, &str),
    search: Option<&str>,
) -> Result<Wish, String> {
    let mut command = Command::new(program);
    command.current_dir(project).args(["policy", "why", "--format", "json"]);
    command.args(search).arg("--");
    let done = process::run(command.args([agent, section, subject]), Duration::from_secs(20))?;
    let answer: Value = serde_json::from_str(&done.stdout).unwrap_or_default();
    match answer["verdict"].as_str() {
        Some("allow") => Ok(Wish::Allow),
        Some("ask") => Ok(Wish::Ask),
        Some("deny") => Ok(Wish::Deny),
        _ => Err(format!("`policy why {agent} {section} {subject}`: {}", done.stderr.trim())),
    }
}

/// The output of `agentry show` for the agent.
fn show(program: &Path, project: &Path, agent: &str) -> Result<Value, String> {
    let mut command = Command::new(program);
    command.current_dir(project).args(["show", "--format", "json", "--", agent]);
    let done = process::run(&mut command, Duration::from_secs(20))?;
    serde_json::from_str(&done.stdout)
        .map_err(|_| format!("`show {agent}`: {}", done.stderr.trim()))
}
