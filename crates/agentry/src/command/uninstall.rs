//! `agentry uninstall`: removes an installed agent and its history.

use serde_json::json;

use crate::args::{ResultFormat, UninstallArguments};
use crate::command::installed;
use crate::output::{CliOutcome, ExitKind, print_json, remark};

pub(crate) fn run(args: &UninstallArguments) -> CliOutcome {
    let home = installed::open()?;
    let agent = home.uninstall(&args.id).map_err(installed::failed)?;
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
