//! `agentry uninstall`: removes an installed agent and its history.

use serde_json::json;

use crate::args::{ResultFormat, UninstallArguments};
use crate::command::home_agents;
use crate::output::{CliOutcome, ExitKind, print_json, remark};

pub(crate) fn run(args: &UninstallArguments) -> CliOutcome {
    let home = home_agents::open()?;
    let agent = home.uninstall(&args.id).map_err(home_agents::failed)?;
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
