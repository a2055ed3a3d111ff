//! `agentry runs tail`: follows a run while it continues.

use std::time::Duration;

use agentry_runtime::RunEffect;
use agentry_runtime::journal::JournalFollower;

use super::report::{self, RunStory};
use super::{failed, find};
use crate::args::{ResultFormat, RunsTailArguments};
use crate::home::home;
use crate::output::{CliOutcome, ExitKind, print, remark};

/// The polling interval of the journal.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn run(args: &RunsTailArguments) -> CliOutcome {
    let home = home()?;
    let id = find(&home, &args.id)?;
    let (mut follow, about) = JournalFollower::open(&home, &id).map_err(failed)?;
    let mut story = RunStory::new(&about.models);
    let mut last = Vec::new();
    loop {
        // Asked before reading: events written in between are still read below.
        let goes_on = follow.goes_on();
        for happened in follow.more().map_err(failed)? {
            let as_json = serde_json::to_string(&happened).unwrap_or_default();
            // What the user does between turns, an undo for example, does not start the run again.
            let is_between = happened.event.is_between_turns();
            let (text, effects) = story.next(happened);
            match args.format {
                ResultFormat::Human => print(&text),
                ResultFormat::Json => print(&format!("{as_json}\n")),
            }
            if !is_between {
                last = effects;
            }
        }
        if !goes_on {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let ending = last.iter().find_map(|effect| match effect {
        RunEffect::Finish(ending) => Some(report::ending(ending)),
        _ => None,
    });
    match ending {
        Some(ending) => remark(&ending),
        None => remark(&format!("no process runs it any more; `agentry resume {id}` continues it")),
    }
    Ok(ExitKind::Done)
}
