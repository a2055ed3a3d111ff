//! The agents as tools of `/mcp`. They are read again while the server runs, as the agents of the page are.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use agentry_mcp::serving::{
    CallResult, CallerPort, HttpSessions, ServedHttp, ServedTool, ServedTools,
};
use agentry_rpc::{RpcError, RpcFuture};
use serde_json::{Map, Value};

use super::offered_agents::AgentOffers;
use crate::command::mcp::INSTRUCTIONS;
use crate::command::mcp::agent_tools::{OfferedAgents, ServerAgent};
use crate::command::mcp::run_places::RunPlaces;
use crate::command::run::prepared_agent::PreparedAgent;

/// How long what was read is valid.
const FRESH: Duration = Duration::from_secs(3);

/// The tools, and the clients that use them.
pub(super) struct McpTools {
    tools: Arc<CurrentTools>,
    sessions: Arc<HttpSessions<CurrentTools>>,
    runs: Arc<RunPlaces>,
}

/// The tools as they were read last.
struct CurrentTools(RwLock<Option<(Instant, Arc<OfferedAgents>)>>);

impl McpTools {
    pub(super) fn new() -> Self {
        let tools = Arc::new(CurrentTools(RwLock::default()));
        let sessions = HttpSessions::new(Arc::clone(&tools), INSTRUCTIONS.to_owned());
        Self { tools, sessions: Arc::new(sessions), runs: RunPlaces::new() }
    }

    /// Stops a run that a client started, if it is one.
    pub(super) fn stop(&self, run: &str) -> bool {
        self.runs.stop(run)
    }

    /// What takes messages, once the tools are fresh. An agent that cannot be read is no tool.
    pub(super) fn sessions(&self, offers: &AgentOffers) -> Arc<dyn ServedHttp> {
        if !self.tools.are_fresh() {
            let agents = offers.all().into_iter().filter_map(|agent| {
                let ground = PreparedAgent::read(&agent.argument, None).ok()?;
                Some(ServerAgent { id: agent.id, argument: agent.argument, ground })
            });
            let read = Arc::new(OfferedAgents::of_server(agents, &self.runs));
            let mut tools = self.tools.0.write().unwrap_or_else(PoisonError::into_inner);
            *tools = Some((Instant::now(), read));
        }
        Arc::clone(&self.sessions) as Arc<dyn ServedHttp>
    }
}

impl CurrentTools {
    fn are_fresh(&self) -> bool {
        let tools = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tools.as_ref().is_some_and(|(at, _)| at.elapsed() < FRESH)
    }

    fn current(&self) -> Option<Arc<OfferedAgents>> {
        let tools = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tools.as_ref().map(|(_, tools)| Arc::clone(tools))
    }
}

impl ServedTools for CurrentTools {
    fn tools(&self) -> Vec<ServedTool> {
        self.current().map(|tools| tools.tools()).unwrap_or_default()
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: CallerPort,
    ) -> RpcFuture<Result<CallResult, RpcError>> {
        match self.current() {
            Some(tools) => tools.call(tool, arguments, caller),
            None => Box::pin(async { Err(RpcError::invalid("there are no tools")) }),
        }
    }

    fn close(&self) -> RpcFuture<()> {
        Box::pin(async {})
    }
}
