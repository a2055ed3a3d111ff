//! A conversation: what is said, and the few words that are for Agentry itself.

use std::sync::PoisonError;

use agentry_runtime::Ending;
use agentry_runtime::driver::Broken;

use super::permission::listing;
use super::person::{Attendant, Typed};
use super::session::Session;
use super::terminal::clean;
use crate::output::{columns, print};

const HELP: &str = "\
/tools   the tools that the agent is offered
/policy  all that it may do
/cost    what the run has spent
/why     why the last calls were allowed, asked about or refused
/exit    ends the conversation; `agentry resume` goes on with it
Ctrl-C stops what the agent does, twice the run.
";

/// What was decided about this many calls is shown.
const SHOWN: usize = 10;

/// Talks until the person has nothing more to say. How the last turn ended, if there was one.
pub(super) async fn talk(session: &mut Session<'_>) -> Result<Option<Ending>, Broken> {
    let Some(attendant) = session.watching.attendant.clone() else { return Ok(None) };
    let history = session.ground.home.join("history");
    attendant.history(&history);
    if let Some(greeting) = &session.ground.agent.identity.greeting {
        print(&format!("{}\n", clean(&greeting.value)));
    }
    let mut last = None;
    loop {
        let next = tokio::select! {
            line = next(&attendant) => line,
            () = session.ended.notified() => None,
        };
        let Some(line) = next else {
            // Whoever leaves a conversation has finished it.
            return Ok(last.filter(|ending| *ending != Ending::Cancelled));
        };
        match line.as_str() {
            "" => {}
            "/exit" | "/quit" => return Ok(last.filter(|ending| *ending != Ending::Cancelled)),
            word if word.starts_with('/') => command(session, word),
            _ => {
                attendant.remember(&session.ground.redactor.text(&line), &history);
                let ending = session.driver.say(line).await?;
                let over = matches!(session.driver.state().phase, agentry_runtime::Phase::Ended(_));
                last = Some(ending);
                if over {
                    return Ok(last);
                }
            }
        }
    }
}

/// The next line; nothing at the end. Ctrl-C at an empty line asks for a second one.
async fn next(attendant: &Attendant) -> Option<String> {
    let mut interrupted = false;
    loop {
        match attendant.line("› ").await {
            Typed::Line(line) => return Some(line.trim().to_owned()),
            Typed::Interrupt if !interrupted => {
                interrupted = true;
                print("once more ends the conversation\n");
            }
            Typed::Interrupt | Typed::End => return None,
        }
    }
}

/// A word for Agentry.
fn command(session: &Session<'_>, word: &str) {
    let terminal = session.watching.terminal.lock().unwrap_or_else(PoisonError::into_inner);
    let text = match word {
        "/tools" => {
            let specs = session.tools.specs().iter();
            let rows = specs.map(|spec| {
                let first = spec.description.lines().next().unwrap_or_default();
                vec![spec.name.clone(), first.to_owned()]
            });
            columns(&rows.collect::<Vec<_>>())
        }
        "/policy" => {
            let models = (0..session.driver.state().models).map(|at| session.driver.model(at));
            let sandbox = "as `agentry sandbox explain` lists it".to_owned();
            let rows = listing(session.ground, sandbox, models.collect());
            let rows = rows.rows().into_iter().map(|(name, line)| vec![name, clean(&line)]);
            columns(&rows.collect::<Vec<_>>())
        }
        "/cost" => format!("{}\n", terminal.spending()),
        "/why" => {
            let decided = terminal.decided();
            let skipped = decided.len().saturating_sub(SHOWN);
            let lines = decided.iter().skip(skipped).map(|line| format!("{}\n", clean(line)));
            let lines: String = lines.collect();
            if lines.is_empty() { "no call was made yet\n".to_owned() } else { lines }
        }
        "/help" => HELP.to_owned(),
        other => format!("there is no `{}`; `/help` lists what there is\n", clean(other)),
    };
    print(&text);
}
