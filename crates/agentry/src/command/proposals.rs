//! `agentry proposals`: the changes that installed agents propose to themselves, and what the user decides about them.

use agentry_compile::text::report::visible;
use agentry_compile::{EvolutionRules, FileTree as _, ResolveSettings, WorkspaceConfig};
use agentry_home::AgentHome;
use agentry_home::evolution::{
    ProposalError, ProposalLedger, ProposalState, ProposedChange, StoredProposal,
};
use serde_json::{Value, json};

use crate::args::{ProposalsArguments, ProposalsCommand, ResultFormat};
use crate::command::history::visible_lines;
use crate::command::run::first_consent::AgreedVersion;
use crate::command::{home_agents, reported};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, note, print, print_json, remark};

pub(crate) fn run(args: &ProposalsArguments) -> CliOutcome {
    let home = home_agents::open()?;
    let check = |agent: &_, old: &_, new: &_| home_agents::check_change(&home, agent, old, new);
    let ledger = ProposalLedger::open(&home, &check).map_err(failed)?;
    match &args.command {
        ProposalsCommand::List(args) => {
            let all = ledger.list(args.id.as_deref()).map_err(failed)?;
            list(&all, args.format);
        }
        ProposalsCommand::Show(args) => {
            show(&ledger.find(&args.proposal).map_err(failed)?, args.format);
        }
        ProposalsCommand::Accept(args) => {
            let (accepted, has_consent) = accept(&ledger, &home, &args.proposal)?;
            decided(&accepted, args.format);
            if has_consent {
                note("your consent extends to it: the agent may do the same as before");
            }
        }
        ProposalsCommand::Reject(args) => {
            decided(&ledger.reject(&args.proposal, &args.reason).map_err(failed)?, args.format);
        }
    }
    Ok(ExitKind::Done)
}

/// Makes a proposal a change of its agent. Returns whether the user's consent extends to the changed agent.
fn accept(
    ledger: &ProposalLedger<'_>,
    home: &AgentHome,
    proposal: &str,
) -> Result<(StoredProposal, bool), CliFailure> {
    let agent = ledger.find(proposal).map_err(failed)?.agent;
    let agreed = AgreedVersion::of(&place(home, &agent));
    let accepted = ledger.accept(proposal).map_err(failed)?;
    home_agents::refresh(home, &agent)?;
    let has_consent = agreed.is_some_and(|agreed| agreed.extend(&place(home, &agent)));
    Ok((accepted, has_consent))
}

/// The directory of an installed agent, which names it in every directory.
fn place(home: &AgentHome, id: &str) -> String {
    home.layout().agent(id).to_string_lossy().into_owned()
}

/// Accepts a proposal of an agent, or rejects it for a reason; `None` if the agent has no such proposal.
pub(crate) fn decide(
    (agent, proposal): (&str, &str),
    rejection: Option<&str>,
) -> Result<Option<Value>, CliFailure> {
    let home = home_agents::open()?;
    let check = |agent: &_, old: &_, new: &_| home_agents::check_change(&home, agent, old, new);
    let ledger = ProposalLedger::open(&home, &check).map_err(failed)?;
    match ledger.find(proposal) {
        Ok(found) if found.agent == agent => {}
        Ok(_) | Err(ProposalError::Missing(_)) => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let decided = match rejection {
        None => accept(&ledger, &home, proposal)?.0,
        Some(reason) => ledger.reject(proposal, reason).map_err(failed)?,
    };
    Ok(Some(to_json(&decided)))
}

/// Handles a change that an agent or a person proposes, and records what it became.
pub(crate) fn propose(
    home: &AgentHome,
    id: &str,
    change: &ProposedChange,
    rules: EvolutionRules,
) -> Result<StoredProposal, CliFailure> {
    let check = |agent: &_, old: &_, new: &_| home_agents::check_change(home, agent, old, new);
    let ledger = ProposalLedger::open(home, &check).map_err(failed)?;
    let place = place(home, id);
    let agreed = AgreedVersion::of(&place);
    let proposal = ledger.propose(id, change, rules).map_err(failed)?;
    if proposal.state == ProposalState::Applied {
        home_agents::refresh(home, id)?;
        // It was applied because the user's own configuration approves such changes.
        let _ = agreed.map(|agreed| agreed.extend(&place));
    }
    Ok(proposal)
}

/// The rules of the user and of the current workspace; the workspace can only be stricter.
pub(crate) fn rules(disk: &DiskWorld) -> Result<EvolutionRules, CliFailure> {
    let settings = ResolveSettings::read(disk).map_err(|(findings, sources)| {
        reported(&findings, &sources, "your configuration has errors")
    })?;
    let config = WorkspaceConfig::read(disk, &disk.workspace(""));
    if config
        .diagnostics
        .iter()
        .any(|found| found.severity == agentry_compile::text::Severity::Error)
    {
        return Err(
            reported(&config.diagnostics, &config.sources, "`agentry.toml` has errors").refused()
        );
    }
    Ok(settings.evolution.narrowed(config.evolution))
}

fn failed(error: ProposalError) -> CliFailure {
    match error {
        ProposalError::Home(error) => home_agents::failed(error),
        ProposalError::Refused(_) | ProposalError::Private(..) => {
            CliFailure::new(error.to_string()).refused()
        }
        ProposalError::Missing(_) => {
            CliFailure::new(error.to_string()).hint("`agentry proposals list` shows them")
        }
        ProposalError::Decided(..) | ProposalError::Stale(_) | ProposalError::Audit(_) => {
            CliFailure::new(error.to_string()).finding()
        }
    }
}

fn list(all: &[StoredProposal], format: ResultFormat) {
    match format {
        ResultFormat::Json => print_json(&Value::Array(all.iter().map(to_json).collect())),
        ResultFormat::Human if all.is_empty() => remark("no agent proposed anything"),
        ResultFormat::Human => {
            let row = |it: &StoredProposal| {
                let reason = it.reason.lines().next().unwrap_or_default();
                vec![
                    it.id.clone(),
                    it.agent.clone(),
                    it.state.to_string(),
                    it.risk.to_string(),
                    visible(&it.file).into_owned(),
                    visible(reason).into_owned(),
                ]
            };
            print(&columns(&all.iter().map(row).collect::<Vec<_>>()));
        }
    }
}

fn show(it: &StoredProposal, format: ResultFormat) {
    if format == ResultFormat::Json {
        return print_json(&to_json(it));
    }
    let run = it.run.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
    print(&format!(
        "{} {} ({}, {} risk), by {}{run}\n",
        it.id,
        it.agent,
        it.state,
        it.risk,
        visible(&it.author)
    ));
    print(&visible_lines(&it.reason));
    if let Some(outcome) = &it.outcome {
        print(&format!("{}\n", visible(outcome)));
    }
    print(&visible_lines(&it.diff));
}

pub(super) fn decided(it: &StoredProposal, format: ResultFormat) {
    match format {
        ResultFormat::Json => print_json(&to_json(it)),
        ResultFormat::Human => {
            let outcome =
                it.outcome.as_ref().map(|outcome| format!(": {outcome}")).unwrap_or_default();
            remark(&format!("{} is {}{outcome}", it.id, it.state));
        }
    }
}

fn to_json(it: &StoredProposal) -> Value {
    json!({
        "id": it.id,
        "agent": it.agent,
        "state": it.state.as_str(),
        "risk": it.risk.as_str(),
        "files": [it.file],
        "diff": it.diff,
        "run": it.run,
        "reason": it.reason,
        "author": it.author,
        "outcome": it.outcome,
    })
}
