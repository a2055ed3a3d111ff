//! `agentry tools login`: logs the user in to an MCP server, in their browser.

use std::sync::Arc;

use agentry_compile::text::report::{counted, visible};
use agentry_mcp::{
    ClientFuture, ClientRuntime, LoginBrowser, McpClient, McpFailure, ServerConfig, StartPace,
};
use agentry_runtime::commands::RefusedCommands;
use agentry_runtime::tool::mcp::PinStore;
use reqwest::Url;

use super::declared_tools::GatherTerms;
use super::first_consent::{ConsentTerms, consent, listing};
use super::mcp_servers::enabled;
use super::prepared_agent::PreparedAgent;
use super::run_observers::RunObservers;
use super::server_plan::{PlannedServer, plan};
use super::session::{now, runtime};
use crate::args::{AskFallback, RunFormat, ToolsLoginArguments};
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, print, remark};

/// The most logins in a row: a server may want more than it said at first.
const MOST_TRIES: usize = 2;

pub(crate) fn run(args: &ToolsLoginArguments) -> CliOutcome {
    let ground = PreparedAgent::read(&args.agent, args.format_override)?;
    let terms =
        ConsentTerms { unconfined: false, yes: args.yes, can_ask: true, accepts_changes: false };
    let sandbox = "nothing is executed".to_owned();
    consent(&ground, terms, now(), || listing(&ground, sandbox, Vec::new()))?;
    let plan = planned(&ground, &args.server)?;
    let login = plan.login().ok_or_else(|| {
        CliFailure::new(format!("the MCP server `{}` takes no login", args.server))
            .hint("a login is for a server with a `url` and without a header `Authorization`")
    })?;
    let threads = ClientRuntime::new().map_err(|error| CliFailure::new(error_text(&error)))?;
    let failed = |why: String| {
        CliFailure::new(
            ground.redactor.text(&format!("the login at `{}` failed: {why}", plan.name)),
        )
    };
    for _ in 0..=MOST_TRIES {
        let connected = runtime()?.block_on(connect(&threads, &plan));
        match connected {
            Ok(tools) => {
                let count = counted(tools, "tool");
                print(&format!("you are logged in to `{}`, which has {count}\n", plan.name));
                return Ok(ExitKind::Done);
            }
            Err(McpFailure::Status { status: 401 | 403, challenge, .. }) => {
                let browser = TerminalBrowser { server: plan.name.clone() };
                let logged = login.log_in(challenge.as_deref(), &browser);
                runtime()?.block_on(logged).map_err(failed)?;
            }
            Err(failure) => return Err(failed(failure.to_string())),
        }
    }
    Err(failed("the server refuses the new login, too".to_owned()))
}

/// How the server is reached.
fn planned(ground: &PreparedAgent, name: &str) -> Result<PlannedServer, CliFailure> {
    let names: Vec<_> = enabled(ground).map(|server| format!("`{}`", server.name)).collect();
    let found = enabled(ground).find(|server| server.name == name);
    let declared = found.ok_or_else(|| {
        CliFailure::new(format!("`{}` has no MCP server `{name}`", ground.path()))
            .hint(format!("it has {}", names.join(", ")))
    })?;
    let observers = RunObservers::new(RunFormat::Human, AskFallback::Deny);
    let terms = GatherTerms {
        without: &[],
        commands: Arc::new(RefusedCommands("nothing is executed".to_owned())),
        person: Arc::clone(&observers.person),
        can_ask: observers.attendant.is_some(),
        accepts_changes: false,
    };
    let pins = PinStore::of(&ground.home, &ground.full_path());
    plan(ground, &terms, declared, &pins).map_err(|why| {
        CliFailure::new(format!("the MCP server `{name}` is not ready: {why}")).refused()
    })
}

/// Connects to the server; returns how many tools it has.
async fn connect(threads: &Arc<ClientRuntime>, plan: &PlannedServer) -> Result<usize, McpFailure> {
    let config = ServerConfig {
        name: plan.name.clone(),
        endpoint: plan.endpoint.clone(),
        can_ask: false,
        era: plan.pin.as_ref().map(|pin| pin.era),
        pace: StartPace::default(),
    };
    let client = McpClient::connect(threads, config).await?;
    Ok(client.catalogue().await?.tools.len())
}

/// Shows the address of the page; the user opens it.
struct TerminalBrowser {
    server: String,
}

impl LoginBrowser for TerminalBrowser {
    fn open<'a>(&'a self, page: &'a Url, issuer: &'a str) -> ClientFuture<'a, Result<(), String>> {
        let issuer = visible(issuer);
        remark(&format!("logins for `{}` are given by {issuer}. Open this page:", self.server));
        remark(&format!("  {page}"));
        Box::pin(std::future::ready(Ok(())))
    }
}
