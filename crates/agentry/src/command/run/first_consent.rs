//! Consent before the first run: lists all that the agent may do, and asks the user.

use agentry_compile::model::McpServer;
use agentry_compile::text::Spanned;
use agentry_runtime::confine::variables;
use agentry_runtime::consent::{
    ConsentListing, ConsentPin, ConsentPinKind, ConsentState, ConsentStore, UserConsent,
    row_changes,
};

use super::agreed_parts::{AgreedDelegates, pins};
use super::confinement::ConfinedCommands;
use super::delegation::delegate_list::speaks_of_delegates;
use super::delegation::reach::{ReachableDelegate, reachable};
use super::line_editor::{self, LineEditor, TypedInput};
use super::mcp_servers::{described, enabled, place};
use super::prepared_agent::{PreparedAgent, required_variables, server_references};
use super::server_plan::own_files;
use super::session::now;
use super::stop;
use super::terminal::{TerminalView, clean};
use crate::args::{RunArguments, RunFormat};
use crate::home::UNWRITABLE_HOME;
use crate::output::{CliFailure, columns, error_text, remark, terminal_columns};

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
        delegates: offered_agents(ground),
    }
}

/// The other agents of the workspace, if the definition offers them without naming them.
fn offered_agents(ground: &PreparedAgent) -> Vec<String> {
    let line = "agents of the workspace that are not named, within what it may do itself";
    speaks_of_delegates(&ground.agent).then(|| line.to_owned()).into_iter().collect()
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
pub(super) fn servers(ground: &PreparedAgent) -> Vec<String> {
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

/// What to do without consent, and after changes, at a terminal.
pub(crate) const CONSENT_HINT: &str =
    "run it at a terminal, where you are asked, or consent to what is listed above with `--yes`";
pub(crate) const CHANGES_HINT: &str = "`--accept-changes` consents to what is listed above";

/// How consent can be given.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another thing")]
pub(crate) struct ConsentTerms {
    /// Whether commands run without a sandbox.
    pub(crate) unconfined: bool,
    /// Whether the user consented on the command line.
    pub(crate) yes: bool,
    /// Whether the user can be asked.
    pub(crate) can_ask: bool,
    /// Whether the user accepted on the command line what changed since an earlier consent.
    pub(crate) accepts_changes: bool,
}

impl ConsentTerms {
    pub(crate) fn of(args: &RunArguments) -> Self {
        let can_ask = args.format == RunFormat::Human;
        let accepts_changes = args.accept_changes;
        Self { unconfined: args.unconfined, yes: args.yes, can_ask, accepts_changes }
    }
}

/// Shows the list and waits for consent, unless it was given already. Returns the delegates that the user agreed
/// to.
pub(crate) fn consent(
    ground: &PreparedAgent,
    terms: ConsentTerms,
    now: u64,
    listing: impl FnOnce() -> ConsentListing,
) -> Result<AgreedDelegates, CliFailure> {
    let consents = ConsentStore::of(&ground.home);
    let delegates = reachable(ground);
    let pins = pins(ground, &delegates);
    let state = consents.state(&ground.digest, terms.unconfined, &pins);
    let agreed = Ok(AgreedDelegates::of(&delegates));
    let name = ground.agent.name();
    let earlier = match state {
        ConsentState::Missing => consents.earlier(&ground.full_path(), terms.unconfined),
        _ => None,
    };
    let accepted = match &state {
        ConsentState::Given => return agreed,
        ConsentState::Missing if earlier.is_some() => {
            remark(&format!("`{name}` changed since you agreed to it."));
            terms.yes
        }
        ConsentState::Missing => {
            remark(&format!("`{name}` runs only if you agree. It may:"));
            terms.yes
        }
        ConsentState::Changed(changes) => {
            remark(&format!("`{name}` is not what you agreed to:"));
            changes.iter().for_each(|(_, line)| remark(&clean(&format!("  {line}"))));
            remark("It may:");
            // A changed file of a skill is like a changed definition; a changed delegate is another agent.
            let is_own = changes.iter().all(|(kind, _)| *kind == ConsentPinKind::Skill);
            terms.accepts_changes || (terms.yes && is_own)
        }
    };
    let rows = with_delegates(listing(), &delegates).rows();
    match earlier {
        Some(earlier) => show_changes(&earlier.rows, &whole_rows(&rows)),
        None => show_rows(&rows),
    }
    remark(&format!("  digest     {}", within_terminal(&ground.digest)));
    let attended = TerminalView::is_attended() && terms.can_ask;
    // The list is shown with `--yes` too, so that it is in the log.
    let consents_now = accepted || (attended && agrees());
    if !consents_now {
        let hint = match state {
            ConsentState::Changed(_) => CHANGES_HINT,
            _ => CONSENT_HINT,
        };
        let message = format!("`{}` was not run: there is no consent", ground.path());
        return Err(CliFailure::new(message).hint(hint).refused());
    }
    keep(ground, terms.unconfined, now, (pins, whole_rows(&rows)))?;
    agreed
}

/// A digest in the rest of its row, if that is on a terminal; whole in a log.
fn within_terminal(digest: &str) -> String {
    let room = terminal_columns().map_or(usize::MAX, |columns| columns.saturating_sub(16));
    match digest.get(..room.max(20)) {
        Some(start) if start != digest => format!("{start}..."),
        _ => digest.to_owned(),
    }
}

/// Shows everything that the agent may do.
fn show_rows(rows: &[(String, String)]) {
    let rows: Vec<_> =
        rows.iter().map(|(name, line)| vec![format!("  {name}"), clean(line)]).collect();
    columns(&rows).lines().for_each(remark);
}

/// Shows what the agent may do now and could not before, and the other way round.
fn show_changes(before: &[(String, String)], now: &[(String, String)]) {
    let changes = row_changes(before, now);
    match changes.as_slice() {
        [] => remark("It may do the same as before: only its texts changed."),
        lines => {
            remark("What it may do changed:");
            lines.iter().for_each(|line| remark(&clean(&format!("  {line}"))));
        }
    }
}

/// The rows, each with its kind.
fn whole_rows(rows: &[(String, String)]) -> Vec<(String, String)> {
    let mut kind = String::new();
    let whole = rows.iter().map(|(name, line)| {
        if !name.is_empty() {
            kind.clone_from(name);
        }
        (kind.clone(), line.clone())
    });
    whole.collect()
}

/// The list with the agents that the definition names.
pub(crate) fn with_delegates(
    listing: ConsentListing,
    named: &[ReachableDelegate],
) -> ConsentListing {
    let mut delegates: Vec<String> = named.iter().flat_map(ReachableDelegate::lines).collect();
    delegates.extend(listing.delegates);
    ConsentListing { delegates, ..listing }
}

/// Whether the user agreed to an agent as it is now, with its commands in the sandbox.
pub(crate) fn is_agreed(ground: &PreparedAgent) -> bool {
    let pins = pins(ground, &reachable(ground));
    let state = ConsentStore::of(&ground.home).state(&ground.digest, false, &pins);
    matches!(state, ConsentState::Given)
}

/// Everything that an agent may do, as rows of two columns.
pub(crate) fn agreement_rows(ground: &PreparedAgent, sandbox: String) -> Vec<(String, String)> {
    let models = ground.models.iter().map(|model| model.id.clone()).collect();
    with_delegates(listing(ground, sandbox, models), &reachable(ground)).rows()
}

/// Stores that the user agreed to an agent as it is now, with its commands in the sandbox.
pub(crate) fn agree(ground: &PreparedAgent) -> Result<(), CliFailure> {
    keep(ground, false, now(), (pins(ground, &reachable(ground)), rows_of(ground)))
}

/// What the user agreed to, before a change that the user approved as well.
pub(crate) struct AgreedVersion {
    digest: String,
    /// Whether the consents are for unconfined commands.
    terms: Vec<bool>,
    delegates: Vec<ConsentPin>,
    rows: Vec<(String, String)>,
}

impl AgreedVersion {
    /// The present version of an agent; `None` if the user did not agree to it or it cannot be read.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let ground = PreparedAgent::read(path, None).ok()?;
        let consents = ConsentStore::of(&ground.home);
        let all = pins(&ground, &reachable(&ground));
        let is_given = |unconfined: &bool| {
            matches!(consents.state(&ground.digest, *unconfined, &all), ConsentState::Given)
        };
        let terms: Vec<bool> = [false, true].into_iter().filter(is_given).collect();
        (!terms.is_empty()).then(|| Self {
            terms,
            delegates: of_delegates(&all),
            rows: rows_of(&ground),
            digest: ground.digest.clone(),
        })
    }

    /// Extends the consent to the version after an approved change, if the agent may do the same as before. Returns whether
    /// there is a new version with consent.
    pub(crate) fn extend(&self, path: &str) -> bool {
        let Ok(ground) = PreparedAgent::read(path, None) else { return false };
        let (all, rows) = (pins(&ground, &reachable(&ground)), rows_of(&ground));
        let is_same = rows == self.rows && of_delegates(&all) == self.delegates;
        let keeps =
            |unconfined: &bool| keep(&ground, *unconfined, now(), (all.clone(), rows.clone()));
        ground.digest != self.digest && is_same && self.terms.iter().all(|it| keeps(it).is_ok())
    }
}

fn rows_of(ground: &PreparedAgent) -> Vec<(String, String)> {
    let sandbox = ConfinedCommands::new(ground, false).words();
    whole_rows(&agreement_rows(ground, sandbox))
}

/// The pins of other agents. Files of skills are a part of the change that was approved.
fn of_delegates(pins: &[ConsentPin]) -> Vec<ConsentPin> {
    pins.iter().filter(|pin| pin.kind != ConsentPinKind::Skill).cloned().collect()
}

/// Stores a consent.
fn keep(
    ground: &PreparedAgent,
    unconfined: bool,
    at: u64,
    (pins, rows): (Vec<ConsentPin>, Vec<(String, String)>),
) -> Result<(), CliFailure> {
    let consent = UserConsent {
        digest: ground.digest.clone(),
        name: ground.agent.name().to_owned(),
        agent: ground.path().to_owned(),
        unconfined,
        at,
        pins: Some(pins),
        place: ground.full_path(),
        rows,
    };
    let kept = ConsentStore::of(&ground.home).give(&consent);
    kept.map_err(|error| {
        let message = format!("consent cannot be kept: {}", error_text(&error));
        CliFailure::new(message).hint(UNWRITABLE_HOME)
    })
}

/// Checks the consent of a run that continues, and returns the delegates that the user agreed to.
pub(crate) fn standing(
    ground: &PreparedAgent,
    unconfined: bool,
    accepts_changes: bool,
) -> Result<AgreedDelegates, CliFailure> {
    let delegates = reachable(ground);
    let pins = pins(ground, &delegates);
    let path = ground.path();
    let consents = ConsentStore::of(&ground.home);
    match consents.state(&ground.digest, unconfined, &pins) {
        ConsentState::Given => {}
        ConsentState::Changed(_) if accepts_changes => {
            // What was seen before still counts: only files of skills or delegates changed.
            let rows = consents.earlier(&ground.full_path(), unconfined);
            let rows = rows.map(|it| it.rows).unwrap_or_default();
            keep(ground, unconfined, now(), (pins, rows))?;
        }
        ConsentState::Changed(changes) => {
            changes.iter().for_each(|(_, line)| remark(&clean(&format!("  {line}"))));
            let message = format!("`{path}` is not what you agreed to");
            let hint = "`--accept-changes` continues with it as it is now";
            return Err(CliFailure::new(message).hint(hint).refused());
        }
        ConsentState::Missing => {
            let message = format!("there is no consent to `{path}` any more");
            return Err(CliFailure::new(message).hint("run it anew to be asked").refused());
        }
    }
    Ok(AgreedDelegates::of(&delegates))
}

fn agrees() -> bool {
    let Ok(lines) = LineEditor::new() else { return false };
    stop::end_at(&lines);
    line_editor::discard_typed();
    let TypedInput::Line(line) = lines.wait("run it? [y]es  [n]o › ") else { return false };
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}
