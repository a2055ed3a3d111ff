//! Claude Code: agents in `.claude/agents/*.md`, rules for all of them in `.claude/settings.json`.

use std::process::Command;

use serde_json::{Value, json};

use super::{Action, Driver, Role, Start, Verdict, with};
use crate::scratch::{SECRET, Scratch};
use crate::script::Call;
use crate::session::{Listing, Played, between};

/// The driver of Claude Code.
pub(crate) struct ClaudeCode;

impl Driver for ClaudeCode {
    fn roles(&self, _scratch: &Scratch) -> &'static [Role] {
        &[Role::Main, Role::Sub]
    }

    /// Trusts the project: otherwise its allow rules and the hooks of its agents are ignored.
    fn prepare(&self, start: &Start<'_>) -> Result<(), String> {
        let project = start.scratch.project().display().to_string();
        let settings = json!({
            "hasCompletedOnboarding": true,
            "projects": { project: { "hasTrustDialogAccepted": true } },
        });
        start.scratch.write_home(".claude.json", &settings.to_string())
    }

    fn command(&self, start: &Start<'_>) -> Command {
        let mut command = start.scratch.command(&start.installed.program());
        // Its shells start from a snapshot that resets `BASH_ENV`, and read this file afterwards.
        command.env("CLAUDE_ENV_FILE", start.scratch.shell_start());
        command.env("ANTHROPIC_BASE_URL", start.model).env("ANTHROPIC_API_KEY", "none");
        for name in [
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        ] {
            command.env(name, "1");
        }
        command.args(["-p", start.prompt, "--output-format", "stream-json", "--verbose"]);
        command.args(start.agent.iter().flat_map(|agent| ["--agent", agent]));
        command
    }

    fn unlimited(&self, start: &Start<'_>) -> Command {
        let mut command = self.command(start);
        command.args(["--allowedTools", "Bash"]);
        command
    }

    fn call(&self, action: &Action, scratch: &Scratch, _role: Role) -> Option<Call> {
        let path = |path: &str| scratch.project().join(path).display().to_string();
        Some(match action {
            Action::Bash(line) => {
                Call::new("Bash", json!({ "command": line, "description": "a step" }))
            }
            Action::Read(file) => Call::new("Read", json!({ "file_path": path(file) })),
            Action::List(_) => return None,
            Action::Glob(pattern) => Call::new("Glob", json!({ "pattern": pattern })),
            Action::Grep(directory, glob) => {
                let lines = "content";
                let whole =
                    json!({ "pattern": SECRET, "path": path(directory), "output_mode": lines });
                Call::new("Grep", with(whole, "glob", glob))
            }
            Action::Write(file) => {
                Call::new("Write", json!({ "file_path": path(file), "content": "written\n" }))
            }
            Action::Fetch(url) => {
                Call::new("WebFetch", json!({ "url": url, "prompt": "sum it up" }))
            }
            Action::Search(words) => Call::new("WebSearch", json!({ "query": words })),
        })
    }

    fn delegate(&self, agent: &str, task: &str) -> Vec<Call> {
        let arguments = json!({
            "description": "a task", "prompt": task, "subagent_type": agent,
            "run_in_background": false,
        });
        vec![Call::new("Agent", arguments)]
    }

    fn refusal(&self, played: &Played, id: &str, result: &str) -> Option<Verdict> {
        match kind(&played.finished.stdout, id).as_deref() {
            Some("user-rejected") => return Some(Verdict::Asked),
            Some(_) => return Some(Verdict::Refused(first_line(result))),
            None => {}
        }
        let has = |part: &str| result.contains(part);
        if has("requested permissions")
            || has("needs approval")
            || has("requires approval")
            || has("haven't granted")
        {
            Some(Verdict::Asked)
        } else if has("has been denied") || has("denied by your") || has("hook error") {
            Some(Verdict::Refused(first_line(result)))
        } else {
            None
        }
    }

    fn describe(&self, start: &Start<'_>, played: &Played, listing: &mut Listing) {
        let start = format!("- {}: ", start.agent.unwrap_or_default());
        listing.description = between(&played.opening_text(), &start, " (Tools:");
    }
}

/// The reason why a call was not executed, from the events of the client.
fn kind(events: &str, id: &str) -> Option<String> {
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let metas = events.filter_map(|event| event["tool_result_meta"].as_array().cloned()).flatten();
    let mut mine = metas.filter(|meta| meta["id"] == id);
    mine.find_map(|meta| meta["non_execution_kind"].as_str().map(str::to_owned))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}
