//! Consent before the first run: lists all that the agent may do, and asks the user.

use agentry_compile::model::McpServer;
use agentry_compile::text::Spanned;
use agentry_runtime::confine::variables;
use agentry_runtime::consent::{ConsentListing, ConsentStore, UserConsent};

use super::line_editor::{LineEditor, TypedInput};
use super::mcp_servers::{described, enabled, place};
use super::prepared_agent::{PreparedAgent, required_variables, server_references};
use super::server_plan::own_files;
use super::stop;
use super::terminal::{TerminalView, clean};
use crate::args::{RunArguments, RunFormat};
use crate::output::{CliFailure, columns, error_text, remark};

/// The list of all that an agent may do in a run now.
pub(crate) fn listing(
    ground: &PreparedAgent,
    sandbox: String,
    models: Vec<String>,
) -> ConsentListing {
    ConsentListing {
        may: ConsentListing::of(&ground.judge),
        variables: variables::listed(&ground.judge, &required_variables(&ground.agent)),
        code: code(ground),
        servers: servers(ground),
        sandbox: vec![sandbox],
        models,
    }
}

/// The JavaScript of the definition: where it is, and the tools that can be read from it.
fn code(ground: &PreparedAgent) -> Vec<String> {
    let tools = &ground.agent.tools;
    let names: Vec<_> = tools.functions.iter().map(|it| format!("`{}`", it.value.name)).collect();
    let block = tools.source.first().map(|first| {
        let at = ground.compiled.sources.start(first.span);
        let path = ground.compiled.sources.path(first.span);
        format!("JavaScript of {path}:{}: {}", at.line, names.join(", "))
    });
    let text = |text: &Option<Spanned<String>>| text.as_ref().map_or("", |it| &it.value).to_owned();
    let scripts = tools.scripts.iter().map(|script| {
        let calls = script.allowed_tools.iter().flatten().map(|tool| format!("`{}`", tool.value));
        let calls: Vec<_> = calls.collect();
        let calls = if calls.is_empty() { "no tools".to_owned() } else { calls.join(", ") };
        format!("script {}: `{}`, which may call {calls}", text(&script.path), text(&script.name))
    });
    block.into_iter().chain(scripts).collect()
}

/// The MCP servers that are started or connected to, and the variables that each gets.
fn servers(ground: &PreparedAgent) -> Vec<String> {
    let line = |declared: &Spanned<McpServer>| {
        let server = described(ground, declared);
        let place = place(server).unwrap_or_else(|| "nothing says how to reach it".to_owned());
        let mut names = server_references(server);
        names.dedup();
        let listed = |what: &str, items: &[String]| match items {
            [] => String::new(),
            items => format!(" ({what} {})", items.join(", ")),
        };
        let reads = own_files(ground, server);
        let (gets, reads) = (listed("gets", &names), listed("reads", &reads));
        format!("`{}`: {place}{gets}{reads}", declared.name)
    };
    enabled(ground).map(line).collect()
}

/// How consent can be given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConsentTerms {
    /// Whether commands run without a sandbox.
    pub(crate) unconfined: bool,
    /// Whether the user consented on the command line.
    pub(crate) yes: bool,
    /// Whether the user can be asked.
    pub(crate) can_ask: bool,
}

impl ConsentTerms {
    pub(crate) fn of(args: &RunArguments) -> Self {
        let can_ask = args.format == RunFormat::Human;
        Self { unconfined: args.unconfined, yes: args.yes, can_ask }
    }
}

/// Shows the list and waits for consent, unless this digest already has it.
pub(crate) fn consent(
    ground: &PreparedAgent,
    terms: ConsentTerms,
    now: u64,
    listing: impl FnOnce() -> ConsentListing,
) -> Result<(), CliFailure> {
    let consents = ConsentStore::of(&ground.home);
    if consents.has(&ground.digest, terms.unconfined) {
        return Ok(());
    }
    let name = ground.agent.name();
    remark(&format!("`{name}` ({}) runs only if you agree. It may:", ground.digest));
    let rows = listing().rows();
    let rows: Vec<_> =
        rows.iter().map(|(name, line)| vec![format!("  {name}"), clean(line)]).collect();
    columns(&rows).lines().for_each(remark);
    let attended = TerminalView::is_attended() && terms.can_ask;
    // The list is shown with `--yes` too, so that it is in the log.
    let agreed = terms.yes || (attended && agrees());
    if !agreed {
        return Err(CliFailure::new(format!(
            "`{}` was not run: there is no consent",
            ground.path()
        ))
        .hint("`--yes` consents to what is listed above")
        .refused());
    }
    let consent = UserConsent {
        digest: ground.digest.clone(),
        name: name.to_owned(),
        agent: ground.path().to_owned(),
        unconfined: terms.unconfined,
        at: now,
    };
    let kept = consents.give(&consent);
    kept.map_err(|error| CliFailure::new(format!("consent cannot be kept: {}", error_text(&error))))
}

fn agrees() -> bool {
    let Ok(lines) = LineEditor::new() else { return false };
    stop::end_at(&lines);
    let TypedInput::Line(line) = lines.wait("run it? [y]es  [n]o › ") else { return false };
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}
