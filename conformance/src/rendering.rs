//! Renders an agent for a client into a scratch project, with the program under test.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::process;
use crate::scratch::Scratch;
use crate::suite::House;

const LIMIT: Duration = Duration::from_mins(1);

/// Whether the guard is rendered beside the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Only the rules of the client itself.
    Without,
    /// With the hook of the client, which asks Agentry.
    With,
    /// With the hook, but the guard fails.
    Broken,
    /// With the guard rendered, but the hook removed, as if the client had not loaded it.
    Unloaded,
}

impl Guard {
    /// Every variant, in the order of reports.
    pub(crate) const ALL: [Self; 4] = [Self::Without, Self::With, Self::Broken, Self::Unloaded];
    /// The variants that users have.
    pub(crate) const WORKING: [Self; 2] = [Self::Without, Self::With];
}

/// What was rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rendering {
    /// The calls that the client is known not to check.
    pub(crate) gaps: Vec<Gap>,
}

/// A loss of the kind `gap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The section of the policy.
    pub(crate) section: String,
    /// The text of the loss, which starts with the name of the gap.
    pub(crate) detail: String,
}

/// The result of an order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// The files are there.
    Done(Rendering),
    /// The program under test refused to write them, for this reason.
    Refused(String),
    /// This variant does not exist for the client.
    Nothing,
}

/// What to render.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// The agent; its source is `agents/NAME` of the project.
    pub(crate) agent: &'a str,
    /// The client.
    pub(crate) client: Client,
    /// The variant of the guard.
    pub(crate) guard: Guard,
}

/// Renders the files into the scratch project.
pub(crate) fn place(house: &House, scratch: &Scratch, order: Order<'_>) -> Result<Placed, String> {
    scratch.install_agentry(&answerer(house, order.guard))?;
    let placed = render(house, scratch, order)?;
    let is_gone = order.guard != Guard::Unloaded || unload(scratch, order.client);
    Ok(if is_gone { placed } else { Placed::Nothing })
}

/// The script that answers the hooks.
fn answerer(house: &House, guard: Guard) -> String {
    match guard {
        Guard::Broken => "exit 1".to_owned(),
        _ => format!("exec '{}' \"$@\"", house.agentry.display()),
    }
}

/// Whether a guard is rendered for the client.
fn has_guard(client: Client) -> bool {
    matches!(client, Client::OpenCode | Client::ClaudeCode | Client::Pi)
}

/// Removes the hook; returns whether the client has one in a separate file.
fn unload(scratch: &Scratch, client: Client) -> bool {
    match client {
        Client::OpenCode => scratch.remove(".opencode/plugins"),
        Client::Pi => {
            // The directory stays, because the driver chooses the tool names by it.
            scratch.remove(".pi/guard") && scratch.write_project(".pi/guard/.keep", "").is_ok()
        }
        Client::ClaudeCode | Client::Gemini | Client::Codex => false,
    }
}

fn render(house: &House, scratch: &Scratch, order: Order<'_>) -> Result<Placed, String> {
    if order.guard != Guard::Without && !has_guard(order.client) {
        return Ok(Placed::Nothing);
    }
    let Order { agent, client, guard } = order;
    let mut command = scratch.command(&house.agentry);
    command.args(["render", &format!("agents/{agent}"), "--target", client.name()]);
    command.args(["--format", "json", "--shared"]);
    // A headless Gemini CLI reads only the agents of the user.
    match client {
        Client::Gemini => command.args(["--scope", "user"]),
        _ => command.args(["-o", "."]),
    };
    command.args((guard != Guard::Without).then_some("--guard"));
    let done = process::run(&mut command, LIMIT)?;
    match done.code {
        Some(0) => {}
        // A refusal is a valid result; every other failure is an error of the suite.
        Some(1) => return Ok(Placed::Refused(refusal(&done.stdout, &done.stderr))),
        _ => return Err(format!("`agentry render` failed: {}", done.stderr.trim())),
    }
    let report = serde_json::from_str(&done.stdout)
        .map_err(|error| format!("`agentry render --format json`: {error}"))?;
    Ok(Placed::Done(Rendering { gaps: gaps(&report) }))
}

/// Why nothing was written.
fn refusal(report: &str, errors: &str) -> String {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let refused_message = report["refused"][0]["message"].as_str().unwrap_or(errors);
    refused_message.trim().to_owned()
}

/// The losses of the kind `gap`.
fn gaps(report: &Value) -> Vec<Gap> {
    let losses = report["losses"].as_array().into_iter().flatten();
    let gaps = losses.filter(|loss| loss["kind"] == "gap");
    let gap = |loss: &Value| {
        let section = loss["field"].as_str().and_then(|field| field.rsplit('.').next())?;
        let detail = loss["detail"].as_str().unwrap_or_default();
        Some(Gap { section: section.to_owned(), detail: detail.to_owned() })
    };
    gaps.filter_map(gap).collect()
}

/// Copies a tree of files.
pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_permission_gap_losses_are_gaps() {
        let loss = |field: &str, kind: &str| json!({ "field": field, "kind": kind, "detail": "x" });
        let gap = |section: &str| Gap { section: section.to_owned(), detail: "x".to_owned() };
        let report = json!({ "losses": [
            loss("permissions.bash", "gap"), loss("max_turns", "dropped"), loss("read", "gap"),
        ] });
        assert_eq!(gaps(&report), [gap("bash"), gap("read")]);
        assert_eq!(gaps(&Value::Null), Vec::new());
    }
}
