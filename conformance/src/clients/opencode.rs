//! OpenCode: agents in `.opencode/agents/*.md`, each with its own rules.
//!
//! A headless run rejects calls that it would ask about, and continues only with
//! `experimental.continue_loop_on_deny`.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Action, Driver, Role, Start, Verdict, with};
use crate::process;
use crate::scratch::{SECRET, Scratch};
use crate::script::Call;
use crate::session::{Listing, Played, between};

/// The features that are switched off, because they are not part of the test.
const OFF: [&str; 6] =
    ["AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD", "SHARE", "CLAUDE_CODE"];

/// The driver of OpenCode.
pub(crate) struct OpenCode;

impl Driver for OpenCode {
    fn roles(&self, _scratch: &Scratch) -> &'static [Role] {
        &[Role::Main, Role::Sub]
    }

    /// Stops it from fetching the types of its plugins, which it does at every start unless a lock file
    /// lists them. They are not needed.
    fn prepare(&self, start: &Start<'_>) -> Result<(), String> {
        let root = json!({ "dependencies": { "@opencode-ai/plugin": "*" } });
        let lock = json!({ "lockfileVersion": 3, "packages": { "": root } }).to_string();
        let Start { scratch, .. } = start;
        scratch.write_project(".opencode/package-lock.json", &lock)?;
        scratch.write_project(".opencode/node_modules/.keep", "")?;
        scratch.write_home(".config/opencode/package-lock.json", &lock)?;
        scratch.write_home(".config/opencode/node_modules/.keep", "")
    }

    fn command(&self, start: &Start<'_>) -> Command {
        let mut command = client(start);
        command.args(["run", "--format", "json", "--model", "scripted/scripted"]);
        command.args(start.agent.iter().flat_map(|agent| ["--agent", agent]));
        command.arg(start.prompt);
        command
    }

    fn call(&self, action: &Action, scratch: &Scratch, _role: Role) -> Option<Call> {
        let path = |path: &str| scratch.project().join(path).display().to_string();
        Some(match action {
            Action::Bash(line) => {
                Call::new("bash", json!({ "command": line, "description": "a step" }))
            }
            Action::Read(file) => Call::new("read", json!({ "filePath": path(file) })),
            Action::List(directory) => Call::new("read", json!({ "filePath": path(directory) })),
            Action::Glob(pattern) => Call::new("glob", json!({ "pattern": pattern })),
            Action::Grep(directory, glob) => Call::new(
                "grep",
                with(json!({ "pattern": SECRET, "path": path(directory) }), "include", glob),
            ),
            Action::Write(file) => {
                Call::new("write", json!({ "filePath": path(file), "content": "written\n" }))
            }
            Action::Fetch(url) => Call::new("webfetch", json!({ "url": url, "format": "text" })),
            Action::Search(words) => Call::new("websearch", json!({ "query": words })),
        })
    }

    fn delegate(&self, agent: &str, task: &str) -> Vec<Call> {
        let arguments = json!({ "description": "a task", "prompt": task, "subagent_type": agent });
        vec![Call::new("task", arguments)]
    }

    fn refusal(&self, _played: &Played, _id: &str, result: &str) -> Option<Verdict> {
        let has = |part: &str| result.contains(part);
        if has("user rejected permission") {
            Some(Verdict::Asked)
        } else if has("specified a rule which prevents") {
            Some(Verdict::Refused("a rule of the agent".to_owned()))
        } else {
            None
        }
    }

    fn describe(&self, start: &Start<'_>, played: &Played, listing: &mut Listing) {
        if played.is_delegated() {
            let start = format!("- {}: ", start.agent.unwrap_or_default());
            listing.description = between(&played.opening_text(), &start, "\n");
            return;
        }
        // This starts the client again, so it is done only if nothing else gives the answer.
        let Some(shown) = debug(start) else { return };
        let text = |name: &str| shown[name].as_str().map(str::to_owned);
        listing.description = text("description");
        listing.mode = text("mode");
        listing.steps = shown["steps"].as_u64();
    }
}

/// The output of `debug agent` for the agent.
fn debug(start: &Start<'_>) -> Option<Value> {
    let mut command = client(start);
    let agent = start.agent?;
    let done =
        process::run(command.args(["debug", "agent", agent]), Duration::from_mins(1)).ok()?;
    serde_json::from_str(&done.stdout).ok()
}

fn client(start: &Start<'_>) -> Command {
    let mut command = start.scratch.command(&start.installed.program());
    for name in OFF {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
    let model = json!({ "name": "scripted", "temperature": true, "tool_call": true });
    let options = json!({ "baseURL": format!("{}/v1", start.model), "apiKey": "none" });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "options": options, "models": { "scripted": model },
    });
    let config = json!({
        "model": "scripted/scripted", "provider": { "scripted": provider },
        "share": "disabled", "autoupdate": false, "experimental": { "continue_loop_on_deny": true },
        // It would record the project in Git before and after every step, which takes longest of all.
        "snapshot": false,
    });
    command.env("OPENCODE_CONFIG_CONTENT", config.to_string());
    command
}
