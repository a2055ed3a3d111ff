//! How a server of a definition is reached: a program with its files, or an address with a login.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentry_compile::lock::LockedServer;
use agentry_compile::model::{McpServer, McpTransport};
use agentry_compile::policy::Action;
use agentry_compile::text::{Data, Spanned};
use agentry_home::HomeLayout;
use agentry_mcp::{HttpAddress, HttpGate, ServerEndpoint, ServerLogin, ServerPin};
use agentry_runtime::commands::{CommandConfinement, ProgramLaunch};
use agentry_runtime::confine::{self, ConfinementInputs, has_network, is_of_system};
use agentry_runtime::driver::interfaces::Approver;
use agentry_runtime::event::CallJudgement;
use agentry_runtime::tool::mcp::{
    AddressVerdict, InstalledProgram, JudgedGate, PinStore, ProgramFiles, ProgramPlaces,
    ServerProgram, UserLogins, locate,
};
use agentry_runtime::tool::{ToolOrigin, ToolTouch};

use super::declared_tools::GatherTerms;
use super::mcp_servers::{described, is_optional, place};
use super::pin_review::locked_server;
use super::prepared_agent::{PreparedAgent, variable};
use super::server_variables::expanded;
use super::session::runtime;
use super::survey::SurveyTerms;

/// A server that can be connected to.
pub(crate) struct PlannedServer {
    pub(crate) name: String,
    /// Its command or address, as the definition has it.
    pub(crate) place: String,
    pub(crate) endpoint: ServerEndpoint,
    pub(crate) time: Option<Duration>,
    pub(crate) origin: ToolOrigin,
    pub(crate) is_optional: bool,
    pub(crate) pin: Option<ServerPin>,
    /// What the lock of the workspace has of it.
    pub(crate) locked: Option<LockedServer>,
}

impl PlannedServer {
    /// Whether the user can log in to it.
    pub(crate) fn can_log_in(&self) -> bool {
        self.login().is_some()
    }

    /// The login of the user.
    pub(crate) fn login(&self) -> Option<&Arc<ServerLogin>> {
        match &self.endpoint {
            ServerEndpoint::Http(address, _) | ServerEndpoint::Events(address, _) => {
                address.login.as_ref()
            }
            ServerEndpoint::Program(_) => None,
        }
    }
}

/// How a server is reached, or why it is not.
pub(crate) fn plan(
    ground: &PreparedAgent,
    terms: &GatherTerms<'_>,
    declared: &Spanned<McpServer>,
    pins: &PinStore,
) -> Result<PlannedServer, String> {
    let server = described(ground, declared);
    let name = &declared.name;
    let place = place(server).ok_or_else(|| unplaced(name))?;
    let pin = pins.find(name).map_err(|error| format!("your consent cannot be read: {error}"))?;
    let endpoint = match &server.command {
        Some(command) => {
            let commands = Arc::clone(&terms.commands);
            let is_confined = commands.confined_by() != CommandConfinement::Nothing;
            let launch = launch(ground, is_confined, &command.value, server)?;
            ServerEndpoint::Program(Arc::new(ServerProgram { commands, launch }))
        }
        None => address(ground, &terms.person, server)?,
    };
    let sources = &ground.compiled.sources;
    let time = server.timeout.as_ref().and_then(|secs| u64::try_from(secs.value).ok());
    Ok(PlannedServer {
        name: name.clone(),
        place,
        endpoint,
        time: time.map(Duration::from_secs),
        origin: ToolOrigin {
            path: sources.path(declared.span).to_owned(),
            line: sources.start(declared.span).line,
        },
        is_optional: is_optional(declared),
        pin,
        locked: locked_server(ground, name),
    })
}

/// Why a server cannot be reached, as far as that is known without reaching it.
pub(crate) fn obstacle(
    ground: &PreparedAgent,
    terms: SurveyTerms,
    declared: &McpServer,
) -> Option<String> {
    let server = described(ground, declared);
    let found = match &server.command {
        _ if place(server).is_none() => Err(unplaced(&declared.name)),
        Some(command) => launch(ground, terms.is_confined, &command.value, server).map(drop),
        None => target(ground, server).and_then(|target| match target.judged {
            (CallJudgement::Deny, reason) => Err(refused(&reason)),
            (CallJudgement::Ask, reason) if !terms.can_ask => Err(unapproved(&reason)),
            (CallJudgement::Ask | CallJudgement::Allow, _) => Ok(()),
        }),
    };
    found.err()
}

fn unplaced(name: &str) -> String {
    format!(
        "neither the agent nor `[mcp_servers.{name}]` of your `config.toml` says how to reach it"
    )
}

fn refused(reason: &str) -> String {
    format!("refused: {reason}")
}

fn unapproved(reason: &str) -> String {
    format!("its address needs an approval: {reason}")
}

/// How a program is started in the sandbox of the run.
fn launch(
    ground: &PreparedAgent,
    is_confined: bool,
    command: &str,
    server: &McpServer,
) -> Result<ProgramLaunch, String> {
    if !ground.starts_programs {
        return Err("its program is not started: the agent, or the one above it, has `exec: none`"
            .to_owned());
    }
    let expand = |text: &str| expanded(text, &|name| granted(ground, name));
    let mut argv = vec![command.to_owned()];
    for arg in server.args.iter().flatten() {
        argv.push(expand(&arg.value)?);
    }
    let variables =
        server.env.iter().map(|(name, value)| Ok((name.clone(), expand(&value.value)?)));
    let variables = variables.collect::<Result<Vec<_>, String>>()?;
    required(ground, server)?;
    let directory = directory(ground, server)?;
    let files = if is_confined {
        let places = ProgramPlaces { directory: directory.clone(), ..program_places(ground) };
        let InstalledProgram { argv: installed, files } = locate(&argv, &places)?;
        argv = installed;
        files
    } else {
        ProgramFiles::default()
    };
    Ok(ProgramLaunch { argv, directory, variables, files })
}

/// Fails if a variable is not there that the definition says the server needs.
fn required(ground: &PreparedAgent, server: &McpServer) -> Result<(), String> {
    let names = option(server, "requires").and_then(|requires| requires.get("env"));
    let Some(Data::Map(names)) = names else { return Ok(()) };
    names.iter().try_for_each(|(name, _)| granted(ground, name).map(drop))
}

/// Where a program starts: in the workspace, or in the directory that the definition writes.
fn directory(ground: &PreparedAgent, server: &McpServer) -> Result<PathBuf, String> {
    let Some(written) = written_directory(server) else { return Ok(ground.workspace.clone()) };
    let directory = ground.workspace.join(written);
    if !directory.is_dir() {
        return Err(format!("its directory `{written}` does not exist"));
    }
    Ok(directory)
}

/// The directory that a definition writes for the program of a server.
pub(super) fn written_directory(server: &McpServer) -> Option<&str> {
    option(server, "cwd").and_then(Data::as_str)
}

/// A setting that has no field of its own.
pub(super) fn option<'a>(server: &'a McpServer, name: &str) -> Option<&'a Data> {
    server.options.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// Where the programs of servers are looked for.
fn program_places(ground: &PreparedAgent) -> ProgramPlaces {
    let ConfinementInputs { home, agentry_home, programs, .. } = ground.surroundings();
    // Programs are started with the usual directories if the user has no others.
    let usual = || std::env::split_paths(confine::PATH).collect();
    ProgramPlaces {
        path: if programs.is_empty() { usual() } else { programs },
        home,
        workspace: ground.workspace.clone(),
        directory: ground.workspace.clone(),
        closed: agentry_home.into_iter().chain([ground.home.clone()]).collect(),
        has_network: has_network(&ground.judge),
    }
}

/// What the program of a server can read beside what commands can, for the user.
pub(crate) fn own_files(ground: &PreparedAgent, server: &McpServer) -> Vec<String> {
    let Some(command) = &server.command else { return Vec::new() };
    let args = server.args.iter().flatten().map(|arg| arg.value.clone());
    let line: Vec<String> = std::iter::once(command.value.clone()).chain(args).collect();
    let directory = ground.workspace.join(written_directory(server).unwrap_or_default());
    let places = ProgramPlaces { directory, ..program_places(ground) };
    let Ok(found) = locate(&line, &places) else { return Vec::new() };
    let own = found.files.all().filter(|path| !is_of_system(path));
    own.map(|path| path.display().to_string()).collect()
}

/// The value of a variable that a definition writes for a server.
fn granted(ground: &PreparedAgent, name: &str) -> Result<String, String> {
    if ground.variable(name) == Action::Deny {
        return Err(format!("it needs `{name}`, which the policy denies"));
    }
    variable(name).ok_or_else(|| format!("it needs `{name}`, which is not set"))
}

/// The address of a server.
struct ServerTarget {
    /// As the definition writes it.
    written: String,
    url: reqwest::Url,
    headers: Vec<(String, String)>,
    judge: AddressVerdict,
    /// The verdict on it as `webfetch`, and the reason.
    judged: (CallJudgement, String),
}

fn target(ground: &PreparedAgent, server: &McpServer) -> Result<ServerTarget, String> {
    required(ground, server)?;
    let expand = |text: &str| expanded(text, &|name| granted(ground, name));
    let written = server.url.as_ref().map(|url| url.value.as_str()).unwrap_or_default();
    let url = expand(written)?;
    let parsed = reqwest::Url::parse(&url);
    let url = parsed.map_err(|error| format!("its address cannot be read: {error}"))?;
    let headers =
        server.headers.iter().map(|(name, value)| Ok((name.clone(), expand(&value.value)?)));
    let headers = headers.collect::<Result<Vec<_>, String>>()?;
    let judge = address_judge(ground);
    let judged = judge(&agentry_runtime::tool::mcp::address_touch(&url));
    Ok(ServerTarget { written: written.to_owned(), url, headers, judge, judged })
}

/// An address that the policy allows as `webfetch`, or that the user agrees to now.
fn address(
    ground: &PreparedAgent,
    person: &Arc<dyn Approver>,
    server: &McpServer,
) -> Result<ServerEndpoint, String> {
    let ServerTarget { written, url, headers, judge, judged } = target(ground, server)?;
    let is_approved = match judged {
        (CallJudgement::Allow, _) => false,
        (CallJudgement::Deny, reason) => return Err(refused(&reason)),
        (CallJudgement::Ask, reason) => {
            let name = &server.name;
            let question = format!("the MCP server `{name}` is at `{written}`: connect to it?");
            let choices = ["yes".to_owned(), "no".to_owned()];
            let runtime = runtime().map_err(|_| "no runtime".to_owned())?;
            let answer = runtime.block_on(person.answer(&question, &choices));
            if answer.as_deref() != Some("yes") {
                return Err(unapproved(&reason));
            }
            true
        }
    };
    let gate: Arc<dyn HttpGate> = Arc::new(JudgedGate::new(judge, is_approved));
    let is_authorization =
        |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    let login = if headers.iter().any(is_authorization) {
        // The definition has its own way to log in.
        None
    } else {
        Some(Arc::new(ServerLogin::new(&url, Arc::clone(&gate), user_logins(ground))?))
    };
    let address = HttpAddress { url, headers, login };
    Ok(match server.transport.as_ref().map(|transport| transport.value) {
        Some(McpTransport::Http) => ServerEndpoint::Events(address, gate),
        _ => ServerEndpoint::Http(address, gate),
    })
}

/// The logins of the user.
fn user_logins(ground: &PreparedAgent) -> Arc<UserLogins> {
    let path: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .filter(|directory| directory.is_absolute())
        .collect();
    let has_session = variable("DBUS_SESSION_BUS_ADDRESS").is_some();
    Arc::new(UserLogins::new(HomeLayout::new(&ground.home).logins(), &path, has_session))
}

/// Judges addresses by the policy of the agent.
fn address_judge(ground: &PreparedAgent) -> AddressVerdict {
    let rulebook = ground.rulebook();
    let workspace = ground.workspace.clone();
    Arc::new(move |touch: &ToolTouch| {
        let ruled = rulebook.ask(std::slice::from_ref(touch), &workspace);
        (ruled.verdict, ruled.reason)
    })
}
