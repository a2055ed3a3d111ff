//! `agentry agents`: lists the installed agents.

use agentry_compile::text::report::visible;
use agentry_home::AgentRecord;
use serde_json::{Value, json};

use crate::args::{AgentsArguments, ResultFormat};
use crate::command::home_agents;
use crate::output::{CliOutcome, ExitKind, columns, note, print, print_json};

pub(crate) fn run(args: &AgentsArguments) -> CliOutcome {
    let failed = |error: agentry_home::RecordError| home_agents::failed(error.into());
    let record = AgentRecord::open_if_any(&home_agents::layout()?).map_err(failed)?;
    let agents = record.map(|record| record.all()).transpose().map_err(failed)?.unwrap_or_default();
    match args.format {
        ResultFormat::Json => {
            let row = |agent: &agentry_home::InstalledAgent| {
                json!({
                    "id": agent.id,
                    "name": agent.name,
                    "format": agent.format.as_str(),
                    "digest": agent.digest,
                    "path": agent.path.to_string_lossy(),
                    "memory": agent.memory,
                    "source": agent.source,
                })
            };
            print_json(&Value::Array(agents.iter().map(row).collect()));
        }
        ResultFormat::Human if agents.is_empty() => note("no agent is installed"),
        ResultFormat::Human => {
            let row = |agent: &agentry_home::InstalledAgent| {
                vec![
                    agent.id.clone(),
                    visible(&agent.name).into_owned(),
                    agent.format.to_string(),
                    visible(&agent.source).into_owned(),
                ]
            };
            print(&columns(&agents.iter().map(row).collect::<Vec<_>>()));
        }
    }
    Ok(ExitKind::Done)
}
