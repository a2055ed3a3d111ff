//! `agentry consent`: what the user agreed to when agents first ran.

use agentry_compile::text::near::did_you_mean;
use agentry_runtime::consent::{Consent, Consents};
use agentry_runtime::journal::Written;
use serde_json::json;

use crate::args::{Consent as Args, ConsentCommand, ResultFormat};
use crate::home::agentry_home;
use crate::output::{Exit, Failure, Outcome, columns, print, print_json, remark, said};

pub(crate) fn run(args: &Args) -> Outcome {
    let home = agentry_home().ok_or_else(|| Failure::new("there is no home directory"))?;
    let consents = Consents::of(&home);
    match &args.command {
        ConsentCommand::List { format } => list(&consents.list(), *format),
        ConsentCommand::Revoke { agents } => return revoke(&consents, agents),
    }
    Ok(Exit::Done)
}

fn list(consents: &[Consent], format: ResultFormat) {
    match format {
        ResultFormat::Json => {
            let entry = |it: &Consent| {
                json!({
                    "digest": it.digest,
                    "name": it.name,
                    "agent": it.agent,
                    "unconfined": it.unconfined,
                    "given": Written(it.at).to_string(),
                })
            };
            print_json(&consents.iter().map(entry).collect());
        }
        ResultFormat::Human if consents.is_empty() => remark("no agent may run without a question"),
        ResultFormat::Human => {
            let row = |it: &Consent| {
                let how = if it.unconfined { "unconfined" } else { "confined" };
                let digest: String = it.digest.chars().take("sha256:".len() + 12).collect();
                vec![
                    it.name.clone(),
                    digest,
                    how.into(),
                    Written(it.at).to_string(),
                    it.agent.clone(),
                ]
            };
            print(&columns(&consents.iter().map(row).collect::<Vec<_>>()));
        }
    }
}

fn revoke(consents: &Consents, agents: &[String]) -> Outcome {
    let mut exit = Exit::Done;
    for agent in agents {
        let gone = consents.revoke(agent);
        let gone =
            gone.map_err(|error| Failure::new(format!("consent stays: {}", said(&error))))?;
        if gone.is_empty() {
            remark(&format!("nobody consented to `{agent}`"));
            let known = consents.list();
            let known = known.iter().flat_map(|it| [it.name.as_str(), it.agent.as_str()]);
            if let Some(near) = did_you_mean(agent, known) {
                remark(&format!("  = help: {near}"));
            }
            exit = Exit::Findings;
        }
        for consent in gone {
            remark(&format!("`{}` ({}) is asked about again", consent.name, consent.digest));
        }
    }
    Ok(exit)
}
