//! Codex: agents in `.codex/agents/*.toml`, command rules for all of them in `rules/*.rules`.

use std::process::Command;

use serde_json::{Value, json};

use super::{Action, Driver, Role, Start, Verdict};
use crate::scratch::Scratch;
use crate::script::Call;
use crate::server::ToolResult;
use crate::session::{Listing, Played, between};

/// The model of the agent: one that the client knows, so that it offers all its tools. The model of the
/// parent is unknown to it, because only then does it list the available agents at once.
const CHILD: &str = "gpt-5.5";

/// The driver of Codex.
pub(crate) struct Codex;

impl Driver for Codex {
    fn roles(&self, _scratch: &Scratch) -> &'static [Role] {
        &[Role::Sub]
    }

    fn prepare(&self, start: &Start<'_>) -> Result<(), String> {
        let project = start.scratch.project();
        let config = format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
             [analytics]\nenabled = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}/v1\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\
             [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
            start.model,
            project.display()
        );
        start.scratch.write_home(".codex/config.toml", &config)
    }

    fn command(&self, start: &Start<'_>) -> Command {
        let mut command = start.scratch.command(&start.installed.program());
        command.args(["exec", "--json", start.prompt]);
        command
    }

    fn call(&self, action: &Action, _scratch: &Scratch, _role: Role) -> Option<Call> {
        let patch = |file: &str| {
            format!("*** Begin Patch\n*** Add File: {file}\n+written\n*** End Patch\n")
        };
        Some(match action {
            Action::Bash(line) => Call::new("exec_command", json!({ "cmd": line })),
            Action::Write(file) => Call::new("apply_patch", json!(patch(file))),
            Action::Read(file) => {
                Call::new("exec_command", json!({ "cmd": format!("cat {file}") }))
            }
            // It has no tools for these; it searches by commands.
            Action::List(_) | Action::Glob(_) | Action::Grep(..) | Action::Fetch(_) => return None,
            // The provider would run this tool: it is enough that it is offered.
            Action::Search(words) => Call::new("web_search", json!({ "query": words })),
        })
    }

    fn delegate(&self, agent: &str, task: &str) -> Vec<Call> {
        let arguments = json!({ "agent_type": agent, "message": task, "model": CHILD });
        let wait = Call::new("multi_agent_v1.wait_agent", json!({ "timeout_ms": 60_000 }));
        vec![
            Call::new("multi_agent_v1.spawn_agent", arguments),
            Call { complete: Some(name_the_spawned), ..wait },
        ]
    }

    fn refusal(&self, _played: &Played, _id: &str, result: &str) -> Option<Verdict> {
        if result.contains("approval required by policy") {
            return Some(Verdict::Asked);
        }
        let reason = result.split("rejected: ").nth(1)?;
        Some(Verdict::Refused(reason.chars().take(100).collect()))
    }

    fn describe(&self, start: &Start<'_>, played: &Played, listing: &mut Listing) {
        let start = format!("\n{}: {{\n", start.agent.unwrap_or_default());
        listing.description = between(&played.opening_text(), &start, "\n}");
    }
}

/// Fills in the identifier of the agent that was just started.
fn name_the_spawned(arguments: &mut Value, results: &[ToolResult]) {
    let spawned = results.last().and_then(|it| serde_json::from_str::<Value>(&it.text).ok());
    arguments["targets"] = json!([spawned.unwrap_or_default()["agent_id"]]);
}
