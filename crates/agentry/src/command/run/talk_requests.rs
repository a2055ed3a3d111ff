//! The commands of a conversation that change the run, or leave it: `/model`, `/clear`, `/compact`, `/undo`,
//! `/resume`; and `/memory`. Each change is an event of the journal, so that a resumed run has it too.

use agentry_posix::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::PoisonError;

use agentry_compile::text::report::visible;
use agentry_runtime::driver::BrokenRun;
use agentry_runtime::journal::{self, DisplayTime, RunState, RunSummary};
use agentry_runtime::undo::UndoOutcome;
use agentry_runtime::{RunEnding, RunEvent, RunPhase};

use super::memory::MemoryAccess;
use super::session::RunSession;
use super::talk_commands::{NOT_RECORDED, listed};
use super::terminal::clean;
use crate::command::memory::table;
use crate::command::runs;
use crate::output::{CliFailure, CliOutcome, color_option, columns, cut, error_text, print};
use crate::registries::signature_option;

/// The most conversations that `/resume` lists.
const MOST_CONVERSATIONS: usize = 10;
/// The most characters of a message in the list.
const MOST_MESSAGE: usize = 60;

/// What follows from a command.
pub(super) enum TalkRequest {
    /// It is done.
    Done,
    /// The conversation is left.
    Leave,
    /// The run has ended, at a limit for example.
    Over(RunEnding),
    /// It is a command of another kind.
    Other,
}

/// Carries out a command that changes the run.
pub(super) async fn carry_out(
    session: &mut RunSession<'_>,
    line: &str,
) -> Result<TalkRequest, BrokenRun> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let is_change = matches!((word, rest), ("/clear" | "/compact" | "/undo", _))
        || (word == "/model" && !rest.is_empty());
    if is_change && session.is_recorded() {
        print(NOT_RECORDED);
        return Ok(TalkRequest::Done);
    }
    match word {
        "/model" if rest.is_empty() => print(&models(session)),
        "/model" => switch(session, rest)?,
        "/clear" => {
            session.driver.note(RunEvent::Cleared)?;
            print(
                "a new conversation: the agent knows nothing of the one before\n\
                 it is the same run, with its limits, its spending and its approvals\n",
            );
        }
        "/compact" => return compact(session).await,
        "/undo" => undo(session)?,
        "/memory" => print(&memories(session)),
        "/resume" => return Ok(resume(session, rest)),
        _ => return Ok(TalkRequest::Other),
    }
    Ok(TalkRequest::Done)
}

/// The models of the plan. The one in use has a star.
fn models(session: &RunSession<'_>) -> String {
    let state = session.driver.state();
    let line = |at: usize| {
        let sign = if at == state.model { "*" } else { " " };
        format!("{sign} {}", session.driver.model(at))
    };
    listed((0..state.models).map(line), "it has no model")
}

fn switch(session: &mut RunSession<'_>, wanted: &str) -> Result<(), BrokenRun> {
    let names: Vec<String> =
        (0..session.driver.state().models).map(|at| session.driver.model(at)).collect();
    let is_named = |name: &String| {
        name == wanted || name.split_once('/').is_some_and(|(_, model)| model == wanted)
    };
    let Some(model) = names.iter().position(is_named) else {
        let wanted = clean(wanted);
        print(&format!(
            "`{wanted}` is none of the models of this run:\n{}\
             `agentry run --model {wanted}` begins a run with it\n",
            models(session)
        ));
        return Ok(());
    };
    session.driver.note(RunEvent::Switched { model })?;
    session.show_model();
    print(&models(session));
    Ok(())
}

impl RunSession<'_> {
    /// Names the model in use in the line about the run.
    pub(super) fn show_model(&self) {
        let model = self.driver.model(self.driver.state().model);
        self.watching.view().status.switch(model);
    }
}

async fn compact(session: &mut RunSession<'_>) -> Result<TalkRequest, BrokenRun> {
    session.stop.anew();
    session.watching.begin();
    let Some(ending) = session.driver.compact_now().await? else {
        session.watching.leave();
        print("the conversation is short: there is nothing to compact\n");
        return Ok(TalkRequest::Done);
    };
    let is_over = matches!(session.driver.state().phase, RunPhase::Ended(_));
    Ok(if is_over { TalkRequest::Over(ending) } else { TalkRequest::Done })
}

fn undo(session: &mut RunSession<'_>) -> Result<(), BrokenRun> {
    let undone = match session.undo_last() {
        Some(Ok(undone)) => undone,
        Some(Err(why)) => {
            print(&format!("the turn cannot be undone: {}\n", clean(&why)));
            return Ok(());
        }
        None => {
            let id = id(session);
            print(&format!(
                "no turn that could be undone changed a file with a tool\n\
                 `agentry runs undo {id}` restores the files of the whole run\n"
            ));
            return Ok(());
        }
    };
    let is_back = |it: &UndoOutcome| matches!(it, UndoOutcome::Back | UndoOutcome::Partly);
    let paths = undone.iter().filter(|(_, it)| is_back(it));
    let paths: Vec<String> = paths.map(|(path, _)| path.display().to_string()).collect();
    if !paths.is_empty() {
        session.driver.note(RunEvent::Undone { paths })?;
    }
    let lines = undone.iter().map(|(path, outcome)| undone_line(session.short_path(path), outcome));
    print(&listed(lines, "nothing was changed"));
    Ok(())
}

fn undone_line(path: &Path, outcome: &UndoOutcome) -> String {
    let path = path.display();
    match outcome {
        UndoOutcome::Back => format!("restored: {path}"),
        UndoOutcome::Same => format!("as it was: {path}"),
        UndoOutcome::Partly => format!("restored in part: {path}: it was changed meanwhile"),
        UndoOutcome::Kept(why) => format!("kept: {path}: {why}"),
        UndoOutcome::Refused(why) => format!("refused: {path}: {why}"),
    }
}

fn memories(session: &RunSession<'_>) -> String {
    let memory = &session.ground.memory;
    if let MemoryAccess::Refused(why) = memory {
        return format!("it has no memory: {}\n", clean(why));
    }
    let Some(open) = memory.open(session.without) else {
        return "it remembers nothing between runs\n".to_owned();
    };
    match open.store.list() {
        Err(error) => format!("its memories cannot be read: {}\n", clean(&error.to_string())),
        Ok((entries, unreadable)) => {
            let broken = unreadable.iter().map(|error| format!("warning: {error}"));
            let text = match (entries.is_empty(), unreadable.is_empty()) {
                (true, true) => "nothing is remembered yet\n".to_owned(),
                (_, true) => table(entries.iter().map(|entry| (entry, None))),
                (_, false) => {
                    listed(broken, "") + &table(entries.iter().map(|entry| (entry, None)))
                }
            };
            session.ground.redactor.text(&text)
        }
    }
}

/// Lists the other conversations, or leaves this one for another.
fn resume(session: &mut RunSession<'_>, wanted: &str) -> TalkRequest {
    if wanted.is_empty() {
        print(&conversations(session));
        return TalkRequest::Done;
    }
    let found = match runs::find(&session.ground.home, wanted) {
        Ok(found) => found,
        Err(failure) => {
            print(&format!("{}\n", clean(&failure.message)));
            return TalkRequest::Done;
        }
    };
    let own = id(session);
    if found == own {
        print("this is that conversation\n");
        return TalkRequest::Done;
    }
    print(&format!("`agentry resume {own}` continues the conversation that you leave\n"));
    session.next = Some(found);
    TalkRequest::Leave
}

fn conversations(session: &RunSession<'_>) -> String {
    let home = &session.ground.home;
    let all = match journal::list(home) {
        Ok(all) => all,
        Err(error) => return format!("{}\n", clean(&error.to_string())),
    };
    let own = id(session);
    let Some(about) = all.iter().find(|run| run.id == own).map(|run| &run.about) else {
        return "this run is not in the list of runs\n".to_owned();
    };
    let is_like = |run: &&RunSummary| {
        let is_conversation = run.about.prompt.is_none() && run.about.parent.is_none();
        let is_same = run.about.agent == about.agent && run.about.workspace == about.workspace;
        let is_open = run.state != RunState::Running && !runs::is_withheld(run);
        is_conversation && is_same && run.id != own && is_open
    };
    let row = |run: &RunSummary| {
        let started = DisplayTime(run.about.started).to_string();
        let first_text = runs::first_message(home, &run.id).unwrap_or_default();
        let first_text = cut(&first_text, MOST_MESSAGE);
        vec![run.id.clone(), started, visible(&first_text).into_owned()]
    };
    let rows: Vec<_> = all.iter().rev().filter(is_like).take(MOST_CONVERSATIONS).map(row).collect();
    if rows.is_empty() {
        "there is no other conversation here\n".to_owned()
    } else {
        format!("{}`/resume ID` continues one of them\n", columns(&rows))
    }
}

fn id(session: &RunSession<'_>) -> String {
    let journal = session.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
    journal.id().to_owned()
}

/// Continues another run in place of this process, which has ended its own.
pub(super) fn continue_run(id: &str) -> CliOutcome {
    let hint = format!("`agentry resume {id}` continues it");
    let failed = |error| {
        let message = format!("the other run cannot be continued here: {}", error_text(&error));
        CliFailure::new(message).hint(hint.clone())
    };
    let program = std::env::current_exe().map_err(&failed)?;
    let mut command = Command::new(program);
    command.args(color_option()).args(signature_option()).args(["resume", id]);
    // It returns only if it fails.
    Err(failed(command.exec()))
}
