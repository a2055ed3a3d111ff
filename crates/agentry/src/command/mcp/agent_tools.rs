//! The tools: one for each agent, and one for each function that an agent exposes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentry_mcp::serving::{CallResult, CallerPort, ServedTool, ServedTools};
use agentry_rpc::{RpcError, RpcFuture};
use agentry_runtime::function::AgentFunction;
use serde_json::{Map, Value, json};

use super::agent_call::AgentCall;
use super::run_places::{RUNS, RunPlaces};
use crate::args::McpArguments;
use crate::command::find;
use crate::command::run::function::functions;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::served_agent::ServedAgent;
use crate::disk::DiskWorld;
use crate::output::CliFailure;

/// The most characters of the name of a tool: clients put their own before it.
const NAME: usize = 48;
/// The time that runs get to end when the client is gone.
const END: Duration = Duration::from_secs(10);

/// All agents that are offered.
pub(crate) struct OfferedAgents {
    tools: BTreeMap<String, AgentTool>,
    runs: Arc<RunPlaces>,
}

/// A tool, and what it runs.
struct AgentTool {
    shown: ServedTool,
    agent: Arc<ServedAgent>,
    function: Option<AgentFunction>,
}

impl OfferedAgents {
    /// Reads the agents that the user named. One that cannot be read, or a name that two tools would have,
    /// ends the command.
    pub(crate) fn read(args: &McpArguments) -> Result<Self, CliFailure> {
        let disk = DiskWorld::default();
        let (found, wrong) = find(&disk, &args.agents, args.offer.format_override);
        if let Some(failure) = wrong.into_iter().next() {
            return Err(failure);
        }
        let mut tools: BTreeMap<String, AgentTool> = BTreeMap::new();
        for found in found {
            let ground = PreparedAgent::read(&found.path, args.offer.format_override)?;
            let agent = Arc::new(ServedAgent::of(&ground, &found.path, args.offer.to_words()));
            for tool in agent_tools(&ground, &agent, &agent.name) {
                let name = tool.shown.name.clone();
                if let Some(other) = tools.get(&name) {
                    let message = format!(
                        "`{}` and `{}` would both be the tool `{name}`",
                        other.agent.argument, agent.argument
                    );
                    return Err(CliFailure::new(message).hint("offer one, or rename one of them"));
                }
                tools.insert(name, tool);
            }
        }
        Ok(Self { tools, runs: RunPlaces::new() })
    }

    /// Agents that change while they are offered, each with its id and with what the command line calls it. Where
    /// two would be the same tool, both have their ids as names: neither may stand for the other.
    pub(crate) fn of_server(
        agents: impl IntoIterator<Item = ServerAgent>,
        runs: &Arc<RunPlaces>,
    ) -> Self {
        let agents: Vec<_> = agents.into_iter().collect();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for agent in &agents {
            *names.entry(tool_name(agent.ground.agent.name())).or_default() += 1;
        }
        let mut tools = BTreeMap::new();
        for ServerAgent { id, argument, ground } in agents {
            let name = ground.agent.name();
            let is_alone = names.get(&tool_name(name)).is_some_and(|count| *count == 1);
            let name = if is_alone { name.to_owned() } else { id };
            let agent = Arc::new(ServedAgent::of(&ground, &argument, Vec::new()));
            for tool in agent_tools(&ground, &agent, &name) {
                // The first one stays: an id or a function cannot take the name of another agent.
                tools.entry(tool.shown.name.clone()).or_insert(tool);
            }
        }
        Self { tools, runs: Arc::clone(runs) }
    }
}

/// An agent of a server.
pub(crate) struct ServerAgent {
    pub(crate) id: String,
    /// What `agentry run` gets.
    pub(crate) argument: String,
    pub(crate) ground: PreparedAgent,
}

impl ServedTools for OfferedAgents {
    fn tools(&self) -> Vec<ServedTool> {
        self.tools.values().map(|tool| tool.shown.clone()).collect()
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: CallerPort,
    ) -> RpcFuture<Result<CallResult, RpcError>> {
        let Some(tool) = self.tools.get(tool) else {
            let error = RpcError::invalid(format!("there is no tool `{tool}`"));
            return Box::pin(async move { Err(error) });
        };
        let (agent, runs) = (Arc::clone(&tool.agent), Arc::clone(&self.runs));
        let function = tool.function.clone();
        Box::pin(async move {
            let Some(_place) = runs.take() else {
                let text = format!("{RUNS} runs are under way: try again when one has ended");
                return Ok(CallResult::failure(text));
            };
            let call = match AgentCall::begin((&agent, &runs), function.as_ref(), &arguments) {
                Ok(call) => call,
                Err(why) => return Ok(CallResult::failure(why)),
            };
            Ok(call.follow(&caller).await)
        })
    }

    fn close(&self) -> RpcFuture<()> {
        let runs = Arc::clone(&self.runs);
        Box::pin(async move {
            // All permits are free when all runs have ended.
            let all = u32::try_from(RUNS).unwrap_or(u32::MAX);
            let _ = tokio::time::timeout(END, runs.places.acquire_many(all)).await;
        })
    }
}

/// The tool of an agent, and those of its functions.
fn agent_tools(ground: &PreparedAgent, agent: &Arc<ServedAgent>, name: &str) -> Vec<AgentTool> {
    let description = ground.agent.identity.description.as_ref().map(|it| it.value.clone());
    let description = description.unwrap_or_else(|| format!("Runs the agent {}", agent.name));
    let own = ServedTool {
        name: tool_name(name),
        description,
        input: prompt_schema(agent.converses),
        output: output_schema("answer", &json!({"type": "string"})),
    };
    let functions = functions(&ground.agent).into_iter().map(|function| AgentTool {
        shown: ServedTool {
            name: tool_name(&format!("{name}__{}", function.name)),
            description: function.description.clone().unwrap_or(function.signature.clone()),
            input: function.input.clone(),
            output: output_schema("result", &function.output),
        },
        agent: Arc::clone(agent),
        function: Some(function),
    });
    let own = AgentTool { shown: own, agent: Arc::clone(agent), function: None };
    std::iter::once(own).chain(functions).collect()
}

fn prompt_schema(has_run: bool) -> Value {
    let mut properties = Map::new();
    let text = |what: &str| json!({"type": "string", "minLength": 1, "description": what});
    properties.insert("prompt".to_owned(), text("What the agent is asked to do"));
    if has_run {
        properties
            .insert("run".to_owned(), text("The `run` of an earlier result, to go on with it"));
    }
    json!({"type": "object", "properties": properties, "required": ["prompt"], "additionalProperties": false})
}

/// The schema of a structured result. A run that did not end well has no value.
fn output_schema(value: &str, schema: &Value) -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"run": text, "state": text, value: schema},
        "required": ["run", "state"],
    })
}

/// A name that every client takes: letters, digits, `_` and `-`.
fn tool_name(name: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
    name.chars().take(NAME).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_names_are_sanitised_and_truncated() {
        let long = "x".repeat(60);
        for (name, expected) in [
            ("code-reviewer", "code-reviewer"),
            ("Code Reviewer", "Code_Reviewer"),
            ("prüfer/a", "pr_fer_a"),
            (&*long, &long[..NAME]),
        ] {
            assert_eq!(tool_name(name), expected);
        }
    }
}
