//! `agentry consent`: lists and revokes what the user accepted before first runs.

use agentry_compile::text::digest;
use agentry_compile::text::report::visible;
use agentry_compile::text::suggestion::did_you_mean;
use agentry_runtime::consent::{ConsentStore, UserConsent};
use agentry_runtime::journal::DisplayTime;
use agentry_runtime::standing_approval::{StandingApproval, StandingStore};
use serde_json::json;

use crate::args::{ConsentArguments, ConsentCommand, ResultFormat};
use crate::home::home;
use crate::output::{
    CliFailure, CliOutcome, ExitKind, columns, error_text, note, print, print_json, remark,
};

pub(crate) fn run(args: &ConsentArguments) -> CliOutcome {
    let home = home()?;
    let consents = ConsentStore::of(&home);
    match &args.command {
        ConsentCommand::List { format } => {
            list(&consents.list(), &StandingStore::of(&home).list(), *format);
        }
        ConsentCommand::Revoke { agents } => {
            return revoke(&consents, &StandingStore::of(&home), agents);
        }
    }
    Ok(ExitKind::Done)
}

fn list(consents: &[UserConsent], standing: &[StandingApproval], format: ResultFormat) {
    match format {
        ResultFormat::Json => {
            let entry = |it: &UserConsent| {
                json!({
                    "digest": it.digest,
                    "name": it.name,
                    "agent": it.agent,
                    "unconfined": it.unconfined,
                    "given": DisplayTime(it.at).to_string(),
                })
            };
            let approval = |it: &StandingApproval| {
                json!({
                    "name": it.name,
                    "agent": it.agent,
                    "policy": it.policy,
                    "workspace": it.workspace,
                    "covers": it.covers,
                    "given": DisplayTime(it.at).to_string(),
                })
            };
            let consents = consents.iter().map(entry);
            print_json(&consents.chain(standing.iter().map(approval)).collect());
        }
        ResultFormat::Human if consents.is_empty() && standing.is_empty() => {
            note("no consent is stored");
        }
        ResultFormat::Human => {
            let row = |it: &UserConsent| {
                let how = if it.unconfined { "unconfined" } else { "confined" };
                vec![
                    it.name.clone(),
                    digest::short(&it.digest),
                    how.into(),
                    DisplayTime(it.at).to_string(),
                    it.agent.clone(),
                ]
            };
            print(&columns(&consents.iter().map(row).collect::<Vec<_>>()));
            standing.iter().for_each(|approval| print(&standing_text(approval)));
        }
    }
}

/// A standing approval with all that it covers.
fn standing_text(approval: &StandingApproval) -> String {
    let StandingApproval { name, agent, workspace, covers, at, .. } = approval;
    let head = format!(
        "{name}  approved for every run in {}  {}  {agent}",
        workspace.display(),
        DisplayTime(*at)
    );
    let covers = covers.iter().map(|line| format!("  {line}"));
    let lines: Vec<String> =
        std::iter::once(head).chain(covers).map(|line| visible(&line).into_owned()).collect();
    format!("{}\n", lines.join("\n"))
}

fn revoke(consents: &ConsentStore, standing: &StandingStore, agents: &[String]) -> CliOutcome {
    let mut exit = ExitKind::Done;
    for agent in agents {
        let gone = consents.revoke(agent);
        let gone = gone
            .map_err(|error| CliFailure::new(format!("consent stays: {}", error_text(&error))))?;
        let approvals = standing.revoke(agent);
        let approvals = approvals.map_err(|error| {
            CliFailure::new(format!("an approval stays: {}", error_text(&error)))
        })?;
        if gone.is_empty() && approvals.is_empty() {
            remark(&format!("there is no consent to `{agent}`"));
            let known = consents.list();
            let known = known.iter().flat_map(|it| [it.name.as_str(), it.agent.as_str()]);
            if let Some(near) = did_you_mean(agent, known) {
                remark(&format!("  = help: {near}"));
            }
            exit = ExitKind::Findings;
        }
        for consent in gone {
            remark(&format!("`{}` ({}) is asked about again", consent.name, consent.digest));
        }
        for line in approvals.iter().flat_map(|it| &it.covers) {
            remark(&format!("`{agent}` asks again about {line}"));
        }
    }
    Ok(exit)
}
