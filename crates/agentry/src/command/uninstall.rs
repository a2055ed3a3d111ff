//! `agentry uninstall`: removes an installed agent and its history.

use serde_json::json;

use crate::args::{ResultFormat, UninstallArguments};
use crate::command::{home_agents, schedule};
use crate::output::{CliOutcome, ExitKind, print_json, remark};

pub(crate) fn run(args: &UninstallArguments) -> CliOutcome {
    let home = home_agents::open()?;
    let agent = home.uninstall(&args.id).map_err(home_agents::failed)?;
    if let Err(failure) = schedule::forget(&agent.path.to_string_lossy()) {
        remark(&format!("warning: its schedules are still in the ledger: {}", failure.message));
    }
    match args.format {
        ResultFormat::Json => {
            print_json(&json!({"id": agent.id, "path": agent.path.to_string_lossy()}));
        }
        ResultFormat::Human => {
            remark(&format!(
                "{} is removed; its runs, its receipts and what users taught it stay",
                agent.id
            ));
        }
    }
    Ok(ExitKind::Done)
}
