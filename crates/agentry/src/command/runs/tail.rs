//! `agentry runs tail`: one run, while it goes on.

use std::time::Duration;

use agentry_runtime::journal::{self, Follow};
use agentry_runtime::{Effect, Happened, State, step};

use super::{failed, home, report};
use crate::args::{ResultFormat, RunsTail};
use crate::output::{Exit, Outcome, print, remark};

/// How often the journal is looked at.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn run(args: &RunsTail) -> Outcome {
    let home = home()?;
    let id = journal::find(&home, &args.id).map_err(failed)?;
    let (mut follow, _) = Follow::open(&home, &id).map_err(failed)?;
    let mut state = State::default();
    let mut last = Vec::new();
    loop {
        // Asked before reading: what is written until then is read below.
        let goes_on = follow.goes_on();
        for happened in follow.more().map_err(failed)? {
            show(&happened, args.format);
            last = step(&mut state, happened);
        }
        if !goes_on {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let ending = last.iter().find_map(|effect| match effect {
        Effect::Finish(ending) => Some(report::ending(ending)),
        _ => None,
    });
    match ending {
        Some(ending) => remark(&ending),
        None => remark(&format!("no process runs it any more; `agentry resume {id}` goes on")),
    }
    Ok(Exit::Done)
}

fn show(happened: &Happened, format: ResultFormat) {
    match format {
        ResultFormat::Human => print(&report::event(happened)),
        ResultFormat::Json => {
            print(&format!("{}\n", serde_json::to_string(happened).unwrap_or_default()));
        }
    }
}
