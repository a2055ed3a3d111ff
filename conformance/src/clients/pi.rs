//! Pi with pi-subagents: agents in `.pi/agents/*.md`, which run only as subagents, or
//! `.pi/SYSTEM.md` for the user's own session.

use std::process::Command;

use serde_json::json;

use super::{Action, Driver, Role, Start, Verdict, with};
use crate::scratch::{SECRET, Scratch};
use crate::script::Call;
use crate::session::{Listing, Played, between};

/// The driver of Pi.
pub(crate) struct Pi;

impl Driver for Pi {
    /// A prompt for the user's own session makes that session the agent.
    fn roles(&self, scratch: &Scratch) -> &'static [Role] {
        let has = |path: &str| scratch.project().join(path).exists();
        match (has(".pi/SYSTEM.md"), has(".pi/agents")) {
            (true, true) => &[Role::Main, Role::Sub],
            (true, false) => &[Role::Main],
            (false, _) => &[Role::Sub],
        }
    }

    fn prepare(&self, start: &Start<'_>) -> Result<(), String> {
        let model = json!({ "id": "scripted", "name": "scripted", "contextWindow": 200_000, "maxTokens": 8000 });
        let provider = json!({
            "baseUrl": format!("{}/v1", start.model), "api": "openai-completions",
            "apiKey": "none", "models": [model],
        });
        let models = json!({ "providers": { "scripted": provider } });
        start.scratch.write_home(".pi/agent/models.json", &models.to_string())
    }

    fn command(&self, start: &Start<'_>) -> Command {
        let mut command = self.unlimited(start);
        command.arg("-e").arg(start.installed.modules.join("pi-subagents"));
        command
    }

    /// It allows every call by default; without subagents it starts faster.
    fn unlimited(&self, start: &Start<'_>) -> Command {
        let modules = &start.installed.modules;
        let mut command = start.scratch.command(&modules.join("node/bin/node"));
        command.arg(modules.join("@earendil-works/pi-coding-agent/dist/cli.js"));
        command.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0").env("PI_SKIP_VERSION_CHECK", "1");
        command.args(["-p", "--mode", "json", "--no-session", "--approve"]);
        command.args(["--model", "scripted/scripted", start.prompt]);
        command
    }

    /// With the guard, the tools of a subagent are replaced by others.
    fn call(&self, action: &Action, scratch: &Scratch, role: Role) -> Option<Call> {
        let is_guarded = role == Role::Sub && scratch.project().join(".pi/guard").is_dir();
        let tool =
            |name: &str| if is_guarded { format!("guarded_{name}") } else { name.to_owned() };
        Some(match action {
            Action::Bash(line) => Call::new(&tool("bash"), json!({ "command": line })),
            Action::Read(file) => Call::new(&tool("read"), json!({ "path": file })),
            Action::List(directory) => Call::new(&tool("ls"), json!({ "path": directory })),
            Action::Glob(pattern) => Call::new(&tool("find"), json!({ "pattern": pattern })),
            Action::Grep(directory, glob) => Call::new(
                &tool("grep"),
                with(json!({ "pattern": SECRET, "path": directory }), "glob", glob),
            ),
            Action::Write(file) => {
                Call::new(&tool("write"), json!({ "path": file, "content": "written\n" }))
            }
            Action::Fetch(_) | Action::Search(_) => return None,
        })
    }

    fn delegate(&self, agent: &str, task: &str) -> Vec<Call> {
        // The first call makes the client print the description of the agent.
        vec![
            Call::new("subagent", json!({ "action": "get", "agent": agent })),
            Call::new("subagent", json!({ "agent": agent, "task": task, "async": false })),
        ]
    }

    fn refusal(&self, _played: &Played, _id: &str, result: &str) -> Option<Verdict> {
        // Its searches need programs that it would download.
        if result.contains("is not available and could not be downloaded") {
            return Some(Verdict::Unavailable);
        }
        let blocked = result.contains("Blocked by") || result.contains("blocked");
        blocked.then(|| Verdict::Refused(result.lines().next().unwrap_or_default().to_owned()))
    }

    fn describe(&self, start: &Start<'_>, played: &Played, listing: &mut Listing) {
        let tool_result = played.result("call_main_0").unwrap_or_default();
        let is_it =
            tool_result.starts_with(&format!("Agent: {} ", start.agent.unwrap_or_default()));
        listing.description = between(tool_result, "\nDescription: ", "\n").filter(|_| is_it);
        listing.mode = Some("subagent".to_owned());
    }
}
