//! Gemini CLI: agents of the user in `~/.gemini/agents/*.md`; a headless run ignores those of the project.

use std::process::Command;

use serde_json::json;

use super::{Action, Driver, Role, Start, Verdict, with};
use crate::scratch::{SECRET, Scratch};
use crate::script::Call;
use crate::session::{Listing, Played, between};

/// The driver of Gemini CLI.
pub(crate) struct Gemini;

impl Driver for Gemini {
    fn roles(&self, _scratch: &Scratch) -> &'static [Role] {
        &[Role::Sub]
    }

    fn prepare(&self, start: &Start<'_>) -> Result<(), String> {
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        });
        start.scratch.write_home(".gemini/policies/shown.toml", &shown())?;
        start.scratch.write_home(".gemini/settings.json", &settings.to_string())
    }

    fn command(&self, start: &Start<'_>) -> Command {
        let mut command = start.scratch.command(&start.installed.program());
        command.env("GOOGLE_GEMINI_BASE_URL", start.model).env("GEMINI_API_KEY", "none");
        command.args(["--skip-trust", "-o", "json", "-m", "gemini-2.5-pro", "-p", start.prompt]);
        command
    }

    fn call(&self, action: &Action, scratch: &Scratch, _role: Role) -> Option<Call> {
        let path = |path: &str| scratch.project().join(path).display().to_string();
        Some(match action {
            Action::Bash(line) => {
                Call::new("run_shell_command", json!({ "command": line, "description": "a step" }))
            }
            Action::Read(file) => Call::new("read_file", json!({ "file_path": path(file) })),
            Action::List(directory) => {
                Call::new("list_directory", json!({ "dir_path": path(directory) }))
            }
            Action::Glob(pattern) => Call::new("glob", json!({ "pattern": pattern })),
            Action::Grep(directory, glob) => Call::new(
                "grep_search",
                with(
                    json!({ "pattern": SECRET, "dir_path": path(directory) }),
                    "include_pattern",
                    glob,
                ),
            ),
            Action::Write(file) => {
                Call::new("write_file", json!({ "file_path": path(file), "content": "written\n" }))
            }
            Action::Fetch(url) => {
                Call::new("web_fetch", json!({ "prompt": format!("sum up {url}") }))
            }
            Action::Search(words) => Call::new("google_web_search", json!({ "query": words })),
        })
    }

    fn delegate(&self, agent: &str, task: &str) -> Vec<Call> {
        vec![Call::new("invoke_agent", json!({ "agent_name": agent, "prompt": task }))]
    }

    fn farewell(&self) -> Option<Call> {
        Some(Call::new("complete_task", json!({ "result": "done" })))
    }

    fn refusal(&self, _played: &Played, _id: &str, result: &str) -> Option<Verdict> {
        if result.contains("requires user confirmation") {
            return Some(Verdict::Asked);
        }
        let reason: String = result.chars().take(160).collect();
        let has = |part: &str| result.contains(part);
        // It hides files that it takes for secrets from every agent.
        let is_kept = has("Path not in workspace");
        (is_kept
            || has("denied by policy")
            || has("Unauthorized tool call")
            || has("not found in registry"))
        .then_some(Verdict::Refused(reason))
    }

    fn describe(&self, start: &Start<'_>, played: &Played, listing: &mut Listing) {
        let start = format!("- {} -> ", start.agent.unwrap_or_default());
        listing.description = between(&played.opening_text(), &start, "\n");
    }
}

/// The rules that keep tools available. A headless run removes each tool that no rule for all agents can
/// allow, so that a rule for one agent is never reached. These rules allow only calls that never happen.
fn shown() -> String {
    let rule = |tool: &str, argument: &str| {
        format!(
            "[[rule]]\ntoolName = \"{tool}\"\nargsPattern = '\"{argument}\":\"nobody calls this'\n\
             decision = \"allow\"\npriority = 1\n"
        )
    };
    [("run_shell_command", "command"), ("write_file", "file_path"), ("replace", "file_path")]
        .map(|(tool, argument)| rule(tool, argument))
        .concat()
}
