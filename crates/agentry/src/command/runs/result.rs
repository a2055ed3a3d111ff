//! `agentry runs result`: what a run made of the Git commit that a worker checked out for it.

use std::io::Write as _;

use serde_json::json;

use super::find;
use crate::args::{ResultFormat, RunsResultArguments};
use crate::engine::git_workspace;
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, note, print, print_json, remark};

pub(super) fn run(args: &RunsResultArguments) -> CliOutcome {
    let id = find(&home()?, &args.id)?;
    if args.fetch { fetch(&id, args.format) } else { show(&id, args.format) }
}

fn show(id: &str, format: ResultFormat) -> CliOutcome {
    let (result, _, patch) = git_workspace::result(id)?;
    if let Some(problem) = &result.problem {
        return Err(CliFailure::new(format!("the run has no result: {problem}")).finding());
    }
    match format {
        ResultFormat::Json => print_json(&json!({
            "base": result.base, "commit": result.commit, "files": result.files,
            "patch": String::from_utf8_lossy(&patch),
        })),
        ResultFormat::Human if result.files.is_empty() => note("the run changed no file"),
        ResultFormat::Human => {
            // For `git apply`, byte by byte. A reader that is gone wants no more of it.
            let _ = std::io::stdout().lock().write_all(&patch);
        }
    }
    Ok(ExitKind::Done)
}

fn fetch(id: &str, format: ResultFormat) -> CliOutcome {
    let (result, reference) = git_workspace::fetch(id)?;
    match format {
        ResultFormat::Json => print_json(&json!({
            "base": result.base, "commit": result.commit, "files": result.files,
            "reference": reference,
        })),
        ResultFormat::Human => {
            print(&format!("{}\n", result.commit));
            remark(&format!("  = help: `git diff {} {reference}` shows it", result.base));
        }
    }
    Ok(ExitKind::Done)
}
