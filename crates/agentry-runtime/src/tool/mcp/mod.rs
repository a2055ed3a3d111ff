//! The tools of MCP servers. A server is judged as `mcp` + `server/tool`, never by what it says about itself;
//! what the user saw of a tool is pinned, and a changed tool is not called until the user agrees again.

mod content;
mod endpoint;
mod installation;
mod listener;
mod login_store;
mod names;
mod pin_store;
mod replayed_tool;
mod resource_tool;
mod server_prompt;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_compile::policy::Section;
use agentry_mcp::{AnnouncedTool, McpClient, McpFailure, PinChange, ServerPin, changes, limits};
use serde_json::Value;
use similar::TextDiff;

pub use endpoint::{AddressVerdict, JudgedGate, ServerProgram, address_touch};
pub use installation::{InstalledProgram, ProgramFiles, ProgramPlaces, locate};
pub use login_store::UserLogins;
pub use names::offered_name;
pub use pin_store::PinStore;
pub use replayed_tool::replayed_tools;
pub use resource_tool::ResourceTool;
pub use server_prompt::ServerPrompt;

use super::declared_tool::for_model;
use super::javascript::scheme;
use super::{
    BoxedFuture, BuiltInTool, CallFailure, CallLocation, DeclaredKind, DeclaredTool, ToolHost,
    ToolOrigin, ToolOutput, ToolSpec, ToolTouch,
};
use crate::event::CallClass;
use listener::RunListener;

/// A server that is ready, and what the user agreed to about it.
pub struct ReadyServer {
    client: Arc<McpClient>,
    /// Its command or address, for pins.
    place: String,
    agreed: Mutex<ServerPin>,
    changes: ChangeTerms,
    /// The time of a call.
    time: Duration,
    /// The tools that are new since the start of the run and were reported.
    reported: Mutex<Vec<String>>,
}

/// What becomes of a tool that changes during a run.
pub enum ChangeTerms {
    /// The user is asked, and the agreement is kept here.
    AreAskedAbout(PinStore),
    /// It is refused: a lock has what it must be.
    AreRefused,
}

/// A tool of an MCP server.
pub struct McpTool {
    server: Arc<ReadyServer>,
    /// Its name at the server.
    name: String,
    spec: ToolSpec,
    origin: Option<ToolOrigin>,
}

impl ReadyServer {
    /// Creates a server whose tools the user agreed to.
    pub fn new(
        client: Arc<McpClient>,
        agreed: ServerPin,
        changes: ChangeTerms,
        time: Option<Duration>,
    ) -> Arc<Self> {
        Arc::new(Self {
            client,
            place: agreed.place.clone(),
            agreed: Mutex::new(agreed),
            changes,
            time: time.unwrap_or(limits::CALL),
            reported: Mutex::default(),
        })
    }

    /// The tools that the user agreed to, and why others cannot be offered.
    pub fn tools(
        self: &Arc<Self>,
        origin: Option<&ToolOrigin>,
    ) -> (Vec<McpTool>, Vec<(String, String)>) {
        let (mut tools, mut left_out) = (Vec::new(), Vec::new());
        for tool in &self.agreed().tools {
            match specification(self.client.name(), tool) {
                Ok(spec) => tools.push(McpTool {
                    server: Arc::clone(self),
                    name: tool.name.clone(),
                    spec,
                    origin: origin.cloned(),
                }),
                Err(why) => left_out.push((tool.name.clone(), why)),
            }
        }
        (tools, left_out)
    }

    fn agreed(&self) -> MutexGuard<'_, ServerPin> {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a tool is what the user agreed to, after a restart or a change of the list too.
    async fn check(&self, name: &str, host: &dyn ToolHost) -> Result<(), CallFailure> {
        let catalogue = self.client.catalogue().await.map_err(|failure| self.failed(&failure))?;
        let now = catalogue.tools.iter().find(|tool| tool.name == name);
        let now = now.ok_or_else(|| CallFailure::new("the server offers this tool no longer"))?;
        self.report_new(&catalogue.tools, host);
        let agreed = self.agreed().tools.iter().find(|tool| tool.name == name).cloned();
        if agreed.as_ref() == Some(now) {
            return Ok(());
        }
        let before = ServerPin { tools: agreed.into_iter().collect(), ..self.agreed().clone() };
        let after = ServerPin { tools: vec![now.clone()], ..before.clone() };
        let diff = described(&changes(&before, &after));
        if matches!(self.changes, ChangeTerms::AreRefused) {
            let message = format!("refused: the tool changed, and `agentry.lock` pins it:\n{diff}");
            return Err(CallFailure::new(message));
        }
        let server = self.client.name();
        let question = format!(
            "the tool `{name}` of the MCP server `{server}` changed since you agreed to it:\n{diff}\n\
             use it as it is now?"
        );
        let choices = ["yes".to_owned(), "no".to_owned()];
        if host.ask(&question, &choices).await.as_deref() != Some("yes") {
            let message = format!("refused: the tool changed since the user agreed to it:\n{diff}");
            return Err(CallFailure::new(message));
        }
        self.agree(now.clone());
        Ok(())
    }

    /// Keeps an agreement.
    fn agree(&self, tool: AnnouncedTool) {
        let mut agreed = self.agreed();
        agreed.tools.retain(|other| other.name != tool.name);
        agreed.tools.push(tool);
        if let ChangeTerms::AreAskedAbout(pins) = &self.changes {
            // Not fatal: without it the user is only asked again.
            let _ = pins.keep(&agreed);
        }
    }

    /// Reports tools that appeared during the run, once.
    fn report_new(&self, tools: &[AnnouncedTool], host: &dyn ToolHost) {
        let agreed = self.agreed();
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |tool: &&AnnouncedTool| {
            let is_agreed = agreed.tools.iter().any(|other| other.name == tool.name);
            !is_agreed && !reported.contains(&tool.name)
        };
        let new: Vec<String> = tools.iter().filter(is_new).map(|tool| tool.name.clone()).collect();
        if !new.is_empty() {
            host.show(&format!(
                "the MCP server `{}` has new tools, which need your consent at the next start: {}\n",
                self.client.name(),
                new.join(", ")
            ));
            reported.extend(new);
        }
    }

    fn failed(&self, failure: &McpFailure) -> CallFailure {
        let server = self.client.name();
        match failure {
            // What the server answered is the result of the call, not of the connection.
            McpFailure::Answered { message, .. } => CallFailure::new(message.clone()),
            other => CallFailure::new(format!("the MCP server `{server}` failed: {other}")),
        }
    }

    /// The place that is pinned: a command or an address.
    pub fn place(&self) -> &str {
        &self.place
    }
}

/// What the policy is asked about a resource or a prompt. A slash in its name is escaped: a rule about
/// everything of a server, `server/*`, is about these, too.
fn part_touch(server: &str, kind: &str, name: &str) -> ToolTouch {
    let subject = format!("{server}/{kind}:{}", name.replace('/', "%2F"));
    ToolTouch { section: Section::Mcp, subject }
}

/// What the policy is asked about a tool. The server chooses the name: a slash in it is escaped, or the tool would be
/// outside a rule about everything of the server; and a tool is never taken for a resource or a prompt.
fn tool_touch(server: &str, name: &str) -> ToolTouch {
    let escaped = name.replace('/', "%2F");
    let is_part = ["resource:", "prompt:"].iter().any(|part| escaped.starts_with(part));
    let escaped = if is_part { escaped.replacen(':', "%3A", 1) } else { escaped };
    ToolTouch { section: Section::Mcp, subject: format!("{server}/{escaped}") }
}

/// Returns differences as text for the user: a diff of each field.
pub fn described(changes: &[PinChange]) -> String {
    let mut out = String::new();
    for PinChange { tool, what, before, after } in changes {
        let whose = tool.as_ref().map_or("the server".to_owned(), |tool| format!("`{tool}`"));
        if *what == "new" {
            let _ = writeln!(out, "{whose} is new: {}", after.trim());
            continue;
        }
        let _ = writeln!(out, "{whose}: {what}");
        let diff = TextDiff::from_lines(before, after);
        let hunks = diff.unified_diff().context_radius(1).to_string();
        let lines = hunks.lines().filter(|line| !line.starts_with("@@") && !line.starts_with('\\'));
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
    }
    super::output_cap::text(out.trim_end())
}

/// What a model gets to know about a tool.
fn specification(server: &str, tool: &AnnouncedTool) -> Result<ToolSpec, String> {
    let schema = scheme::expanded_loosely(&tool.input)
        .map_err(|why| format!("its `inputSchema` cannot be used: {why}"))?;
    let title = tool.title.as_ref().filter(|title| **title != tool.name);
    let description = match (title, tool.description.is_empty()) {
        (Some(title), true) => title.clone(),
        _ => tool.description.clone(),
    };
    Ok(ToolSpec { name: offered_name(server, &tool.name), description, schema })
}

impl McpTool {
    fn touch(&self) -> ToolTouch {
        tool_touch(self.server.client.name(), &self.name)
    }

    /// The name of its server, and its name there.
    pub fn raw_name(&self) -> String {
        self.touch().subject
    }
}

impl BuiltInTool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    // What a server says about its effects is not trusted, so a call is never repeated.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::External
    }

    fn touches(&self, _: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        Ok(vec![self.touch()])
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            let result = self.call(&arguments, self.server.time, host).await;
            let mut output = for_model(result, host);
            for line in host.settle() {
                let _ = write!(output.text, "\n\n{line}");
            }
            output
        })
    }
}

impl DeclaredTool for McpTool {
    fn kind(&self) -> DeclaredKind {
        DeclaredKind::Mcp
    }

    fn origin(&self) -> Option<ToolOrigin> {
        self.origin.clone()
    }

    fn policy_subjects(&self) -> Vec<ToolTouch> {
        vec![self.touch()]
    }

    fn time(&self) -> Duration {
        self.server.time
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Value,
        time: Duration,
        host: &'a dyn ToolHost,
    ) -> BoxedFuture<'a, Result<Value, CallFailure>> {
        Box::pin(async move {
            let server = &self.server;
            server.check(&self.name, host).await?;
            let listener = RunListener { host, server: server.client.name() };
            let result = server.client.call(&self.name, arguments, time, &listener).await;
            content::read(&result.map_err(|failure| server.failed(&failure))?, host)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_about_a_server_covers_all_its_tools() {
        let cases = [
            ("echo", "local/echo"),
            ("a/b", "local/a%2Fb"),
            ("resource:memo", "local/resource%3Amemo"),
            ("prompt:a/b:c", "local/prompt%3Aa%2Fb:c"),
            ("a:b", "local/a:b"),
        ];
        for (name, expected) in cases {
            assert_eq!(tool_touch("local", name).subject, expected);
        }
    }
}
