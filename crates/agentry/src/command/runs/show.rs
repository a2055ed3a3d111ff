//! `agentry runs show`: shows one run from its start.

use agentry_compile::text::report::visible;
use agentry_runtime::TimedEvent;
use agentry_runtime::journal::{self, JournalFollower, RunDescription, RunSummary};
use serde_json::json;

use super::report::{self, RunStory};
use super::{failed, find, home, started};
use crate::args::{ResultFormat, RunsShowArguments};
use crate::output::{CliOutcome, ExitKind, columns, print, print_json};

pub(super) fn run(args: &RunsShowArguments) -> CliOutcome {
    let home = home()?;
    let id = find(&home, &args.id)?;
    let (mut follow, about) = JournalFollower::open(&home, &id).map_err(failed)?;
    let events = follow.more().map_err(failed)?;
    let summary = journal::summary(&home, &id).map_err(failed)?;
    let mut story = RunStory::new(&about.models);
    let text: String = events.iter().map(|event| story.next(event.clone()).0).collect();
    match args.format {
        ResultFormat::Json => as_json(&summary, &about, &events, &story),
        ResultFormat::Human => as_text(&summary, &about, &text, &story),
    }
    Ok(ExitKind::Done)
}

fn as_json(summary: &RunSummary, about: &RunDescription, events: &[TimedEvent], story: &RunStory) {
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
