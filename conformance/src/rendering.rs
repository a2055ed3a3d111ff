//! The files of an agent for a client, put into a scratch project: rendered by the program under test
//! where it can, else taken from `fixtures/`, which are written by hand.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::process;
use crate::scratch::Scratch;
use crate::suite::House;

const LIMIT: Duration = Duration::from_secs(60);

/// Whether the guard is rendered beside the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Only what the client itself understands.
    Without,
    /// With the client's own hook, which asks Agentry.
    With,
}

/// What was rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rendering {
    /// The sections for which the client is known not to look closely enough.
    pub(crate) gaps: Vec<String>,
    /// Written by hand, not by the program under test.
    pub(crate) is_sample: bool,
}

/// What to render.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// The agent; its source is `agents/NAME` of the project.
    pub(crate) agent: &'a str,
    /// For whom.
    pub(crate) client: Client,
    /// With or without the guard.
    pub(crate) guard: Guard,
}

/// Puts the files into the scratch project; none if there is nothing to put there.
pub(crate) fn place(
    house: &House,
    scratch: &Scratch,
    order: Order<'_>,
) -> Result<Option<Rendering>, String> {
    let mut help = Command::new(&house.agentry);
    let can_render = process::run(help.args(["render", "--help"]), LIMIT)?.code == Some(0);
    if can_render { render(house, scratch, order).map(Some) } else { sample(house, scratch, order) }
}

fn render(house: &House, scratch: &Scratch, order: Order<'_>) -> Result<Rendering, String> {
    let Order { agent, client, guard } = order;
    let mut command = scratch.command(&house.agentry);
    command.args(["render", &format!("agents/{agent}"), "--target", client.name()]);
    command.args(["--format", "json"]);
    // A headless Gemini CLI takes only the agents of the user.
    match client {
        Client::Gemini => command.args(["--scope", "user"]),
        _ => command.args(["-o", "."]),
    };
    command.args((guard == Guard::With).then_some("--guard"));
    let done = process::run(&mut command, LIMIT)?;
    if done.code != Some(0) {
        return Err(format!("`agentry render` failed: {}", done.stderr.trim()));
    }
    let report = serde_json::from_str(&done.stdout)
        .map_err(|error| format!("`agentry render --format json`: {error}"))?;
    Ok(Rendering { gaps: gaps(&report), is_sample: false })
}

fn sample(house: &House, scratch: &Scratch, order: Order<'_>) -> Result<Option<Rendering>, String> {
    let kind = if order.guard == Guard::With { "guarded" } else { "plain" };
    let directory = house.home.join("fixtures").join(kind).join(order.client.name());
    if !directory.is_dir() {
        return Ok(None);
    }
    let words = [
        ("@AGENTRY@", house.agentry.display().to_string()),
        ("@GUARD@", house.home.join("fixtures/guard.mjs").display().to_string()),
    ];
    for (part, to) in [("project", scratch.project()), ("home", scratch.home())] {
        let from = directory.join(part);
        if from.is_dir() {
            copy(&from, &to, &words).map_err(|error| format!("`{}`: {error}", from.display()))?;
        }
    }
    let report = fs::read_to_string(directory.join("losses.json")).unwrap_or_default();
    let report = serde_json::from_str(&report).unwrap_or_default();
    Ok(Some(Rendering { gaps: gaps(&report), is_sample: true }))
}

/// The sections with a loss of the kind `gap`.
fn gaps(report: &Value) -> Vec<String> {
    let losses = report["losses"].as_array().into_iter().flatten();
    let gaps = losses.filter(|loss| loss["kind"] == "gap");
    let section = |loss: &Value| {
        loss["field"].as_str().and_then(|field| field.rsplit('.').next()).map(str::to_owned)
    };
    gaps.filter_map(section).collect()
}

/// Copies a tree of text files, with words in place of the names that stand for them.
pub(crate) fn copy(from: &Path, to: &Path, words: &[(&str, String)]) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (from, to) = (entry.as_ref().map(fs::DirEntry::path), to);
        let from = from.map_err(|error| std::io::Error::new(error.kind(), error.to_string()))?;
        let to = to.join(entry?.file_name());
        if from.is_dir() {
            copy(&from, &to, words)?;
        } else {
            let text = fs::read_to_string(&from)?;
            let text = words.iter().fold(text, |text, (name, word)| text.replace(name, word));
            fs::write(to, text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn gaps_are_the_sections_of_such_losses() {
        let loss = |field: &str, kind: &str| json!({ "field": field, "kind": kind });
        let report = json!({ "losses": [
            loss("permissions.bash", "gap"), loss("max_turns", "dropped"), loss("read", "gap"),
        ] });
        assert_eq!(gaps(&report), ["bash", "read"]);
        assert_eq!(gaps(&Value::Null), Vec::<String>::new());
    }
}
