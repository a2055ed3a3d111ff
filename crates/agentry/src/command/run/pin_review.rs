//! Compares what a server announces with what the user agreed to, and asks about the difference.

use std::sync::Arc;

use agentry_compile::lock::{self, LockedServer, ServerPinLine};
use agentry_mcp::{PinChange, ServerPin, changes};
use agentry_runtime::driver::interfaces::Approver;
use agentry_runtime::tool::mcp::{PinStore, described, offered_name};

use super::prepared_agent::PreparedAgent;
use super::session::runtime;
use crate::output::remark;

/// What a server announces, as the lines of a lock.
pub(crate) fn pin_lines(pin: &ServerPin) -> Vec<ServerPinLine> {
    let lines = pin.digests().into_iter();
    lines.map(|(what, digest)| ServerPinLine { what, digest }).collect()
}

/// Decides about changes of a server.
pub(super) struct PinReview<'a> {
    pub(super) pins: &'a PinStore,
    pub(super) person: &'a Arc<dyn Approver>,
    /// Whether the user accepted changes on the command line.
    pub(super) accepts: bool,
}

impl PinReview<'_> {
    /// Returns what may be offered: everything at first; later what is unchanged, or what the user agrees to.
    /// Also returns the names of the tools that are left out.
    pub(super) fn agreed(
        &self,
        before: Option<&ServerPin>,
        now: ServerPin,
    ) -> Result<(ServerPin, Vec<String>), String> {
        let Some(before) = before else {
            let names: Vec<&str> = now.tools.iter().map(|tool| tool.name.as_str()).collect();
            let server = &now.server;
            remark(&format!("the MCP server `{server}` has these tools: {}", names.join(", ")));
            return self.kept(now);
        };
        let changed = changes(before, &now);
        if *before == now {
            return Ok((now, Vec::new()));
        }
        if changed.is_empty() {
            return self.kept(now);
        }
        let diff = described(&changed);
        let server = &now.server;
        remark(&format!("the MCP server `{server}` is not what you agreed to:"));
        diff.lines().for_each(|line| remark(&format!("  {line}")));
        if self.accepts || self.is_accepted(&now) {
            return self.kept(now);
        }
        unchanged(before, now, &changed)
    }

    fn is_accepted(&self, now: &ServerPin) -> bool {
        let question = format!("use the MCP server `{}` as it is now?", now.server);
        let choices = ["yes".to_owned(), "no".to_owned()];
        let Ok(runtime) = runtime() else { return false };
        runtime.block_on(self.person.answer(&question, &choices)).as_deref() == Some("yes")
    }

    fn kept(&self, now: ServerPin) -> Result<(ServerPin, Vec<String>), String> {
        self.pins.keep(&now).map_err(|error| format!("your consent cannot be kept: {error}"))?;
        Ok((now, Vec::new()))
    }
}

/// What the lock of the workspace says about a server, if the agent is locked.
pub(super) fn locked_server(ground: &PreparedAgent, name: &str) -> Option<LockedServer> {
    // A lock that cannot be read has already refused the run.
    let lock = lock::read(&*ground.disk, &ground.compiled.workspace).ok()??;
    let agent = lock.get(&lock::key(&*ground.disk, &ground.compiled)).ok()??;
    agent.servers?.into_iter().find(|server| server.name == name && server.pins.is_some())
}

/// Removes what is not as the lock says; returns it with the reason.
pub(super) fn without_unlocked(
    locked: Option<&LockedServer>,
    agreed: &mut ServerPin,
) -> Vec<(String, String)> {
    let Some(locked) = locked else { return Vec::new() };
    let reason = format!(
        "it is not as `{}` says; look at it with `agentry tools`, then run `agentry lock --update`",
        lock::FILE
    );
    let unlike = locked.unlike(&pin_lines(agreed));
    if unlike.iter().any(|what| what == "instructions") {
        agreed.instructions = None;
    }
    let is_unlike = |name: &str| unlike.iter().any(|what| *what == format!("tool {name}"));
    agreed.tools.retain(|tool| !is_unlike(&tool.name));
    let named = |what: String| {
        let tool = what.strip_prefix("tool ").map(|tool| offered_name(&agreed.server, tool));
        (tool.unwrap_or_else(|| agreed.server.clone()), reason.clone())
    };
    unlike.into_iter().map(named).collect()
}

/// What is left of a server without its changes.
fn unchanged(
    before: &ServerPin,
    now: ServerPin,
    changed: &[PinChange],
) -> Result<(ServerPin, Vec<String>), String> {
    if changed.iter().any(|change| change.what == "place") {
        return Err(format!(
            "it was `{}` when you agreed, and is `{}` now; `--accept-changes` uses it",
            before.place, now.place
        ));
    }
    let is_changed = |name: &str| changed.iter().any(|it| it.tool.as_deref() == Some(name));
    let (out, tools): (Vec<_>, Vec<_>) =
        now.tools.into_iter().partition(|tool| is_changed(&tool.name));
    let names: Vec<String> = out.into_iter().map(|tool| tool.name).collect();
    remark("  = help: `--accept-changes` uses it as it is now; without, what changed is left out");
    // Instructions without consent reach no model; the old ones may be wrong by now.
    let is_unchanged = !changed.iter().any(|change| change.what == "instructions");
    let instructions = now.instructions.filter(|_| is_unchanged);
    Ok((ServerPin { tools, instructions, ..before.clone() }, names))
}
