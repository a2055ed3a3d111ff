//! `agentry runs show`: shows one run from its start.

use std::fmt::Write as _;
use std::path::Path;

use agentry_compile::text::report::visible;
use agentry_runtime::journal::{self, JournalFollower, RunDescription, RunSummary};
use agentry_runtime::{RunSpending, TimedEvent};
use serde_json::json;

use super::report::{self, RunStory};
use super::{failed, find, started};
use crate::args::{ResultFormat, RunsShowArguments};
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, print, print_json};

/// The levels of delegates below a run.
const MOST_DEPTH: usize = 8;

pub(super) fn run(args: &RunsShowArguments) -> CliOutcome {
    let home = home()?;
    let id = find(&home, &args.id)?;
    let (mut follow, about) = JournalFollower::open(&home, &id).map_err(failed)?;
    let events = follow.more().map_err(failed)?;
    let summary = journal::summary(&home, &id).map_err(failed)?;
    let mut story = RunStory::new(&about.models);
    let text: String = events.iter().map(|event| story.next(event.clone()).0).collect();
    let tree = delegates(&home, &id, 0)?;
    match args.format {
        ResultFormat::Json => as_json(&summary, &about, &events, (&story, &tree)),
        ResultFormat::Human => {
            as_text(&summary, &about, &text, &story);
            if !tree.is_empty() {
                print(&format!("\ndelegates:\n{}", drawn(&tree, "  ")));
            }
        }
    }
    Ok(ExitKind::Done)
}

/// The run of a delegate, with those below it.
struct DelegateBranch {
    summary: RunSummary,
    spent: RunSpending,
    below: Vec<DelegateBranch>,
}

/// The runs of the delegates of a run.
fn delegates(home: &Path, id: &str, depth: usize) -> Result<Vec<DelegateBranch>, CliFailure> {
    // No run is deeper; a damaged home must not recurse for ever.
    if depth >= MOST_DEPTH {
        return Ok(Vec::new());
    }
    let mut branches = Vec::new();
    for (id, about) in journal::delegates(home, id).map_err(failed)? {
        let (mut follow, _) = JournalFollower::open(home, &id).map_err(failed)?;
        let mut story = RunStory::new(&about.models);
        follow.more().map_err(failed)?.into_iter().for_each(|event| drop(story.next(event)));
        branches.push(DelegateBranch {
            summary: journal::summary(home, &id).map_err(failed)?,
            spent: *story.spent(),
            below: delegates(home, &id, depth + 1)?,
        });
    }
    Ok(branches)
}

fn branch_json(branch: &DelegateBranch) -> serde_json::Value {
    let DelegateBranch { summary, spent, below } = branch;
    json!({
        "id": summary.id,
        "agent": summary.about.agent,
        "name": summary.about.name,
        "call": summary.about.parent.as_ref().map(|parent| &parent.call),
        "state": summary.state.as_str(),
        "detail": summary.detail,
        "spent": spent,
        "delegates": below.iter().map(branch_json).collect::<Vec<_>>(),
    })
}

/// The tree of delegates, one line each.
fn drawn(branches: &[DelegateBranch], indent: &str) -> String {
    let mut out = String::new();
    for (at, DelegateBranch { summary, spent, below }) in branches.iter().enumerate() {
        let is_last = at + 1 == branches.len();
        let (edge, inner) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let name = visible(&summary.about.name);
        let state = summary.state.as_str();
        let spent = report::spent(spent);
        let _ = writeln!(out, "{indent}{edge}{name} ({}) {state}: {spent}", summary.id);
        out.push_str(&drawn(below, &format!("{indent}{inner}")));
    }
    out
}

fn as_json(
    summary: &RunSummary,
    about: &RunDescription,
    events: &[TimedEvent],
    (story, tree): (&RunStory, &[DelegateBranch]),
) {
    print_json(&json!({
        "id": summary.id,
        "agent": about.agent,
        "name": about.name,
        "state": summary.state.as_str(),
        "detail": summary.detail,
        "started": started(summary),
        "digest": about.digest,
        "policy": about.policy,
        "workspace": about.workspace,
        "prompt": about.prompt,
        "tools": about.tools,
        "models": about.models,
        "sandbox": (!about.sandbox.is_empty()).then_some(&about.sandbox),
        "pid": about.pid,
        "spent": story.spent(),
        "skill_steps": story.steps(),
        "parent": about.parent,
        "delegates": tree.iter().map(branch_json).collect::<Vec<_>>(),
        "events": events,
    }));
}

fn as_text(summary: &RunSummary, about: &RunDescription, events: &str, story: &RunStory) {
    let state = match &summary.detail {
        Some(detail) => format!("{}: {}", summary.state.as_str(), visible(detail)),
        None => summary.state.as_str().to_owned(),
    };
    let rows = [
        ("run", summary.id.clone()),
        ("agent", format!("{} ({})", visible(&about.name), visible(&about.agent))),
        ("digest", about.digest.clone()),
        ("state", state),
        ("started", started(summary).unwrap_or_default()),
        ("models", about.models.join(", ")),
        ("sandbox", about.sandbox.clone()),
        ("spent", report::spent(story.spent())),
        ("skill steps", report::steps(story.steps())),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    let rows: Vec<_> = rows.map(|(name, value)| vec![name.to_owned(), value]).collect();
    print(&format!("{}\n{events}", columns(&rows)));
}
