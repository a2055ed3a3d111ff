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
use crate::command::{installed, reported};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, print, print_json, remark};

pub(crate) fn run(args: &ProposalsArguments) -> CliOutcome {
    let home = installed::open()?;
    let check = |agent: &_, old: &_, new: &_| installed::check_change(&home, agent, old, new);
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
            let accepted = ledger.accept(&args.proposal).map_err(failed)?;
            installed::refresh(&home, &accepted.agent)?;
            decided(&accepted, args.format);
        }
        ProposalsCommand::Reject(args) => {
            decided(&ledger.reject(&args.proposal, &args.reason).map_err(failed)?, args.format);
        }
    }
    Ok(ExitKind::Done)
}

/// Handles a change that an agent or a person proposes, and records what it became.
pub(crate) fn propose(
    home: &AgentHome,
    id: &str,
    change: &ProposedChange,
    rules: EvolutionRules,
) -> Result<StoredProposal, CliFailure> {
    let check = |agent: &_, old: &_, new: &_| installed::check_change(home, agent, old, new);
    let ledger = ProposalLedger::open(home, &check).map_err(failed)?;
    let proposal = ledger.propose(id, change, rules).map_err(failed)?;
    if proposal.state == ProposalState::Applied {
        installed::refresh(home, id)?;
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
        ProposalError::Home(error) => installed::failed(error),
        ProposalError::Refused(_) => CliFailure::new(error.to_string()).refused(),
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
