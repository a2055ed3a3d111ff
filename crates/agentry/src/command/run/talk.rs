//! A conversation at the terminal: messages to the agent, and commands to Agentry such as `/why`.

use agentry_compile::policy::Action;
use agentry_runtime::conversation::{Message, MessageBlock, MessageRole};
use agentry_runtime::driver::BrokenRun;
use agentry_runtime::tool::mcp::ServerPrompt;
use agentry_runtime::{RunEnding, RunPhase};

use super::approver::TerminalApprover;
use super::line_editor::TypedInput;
use super::screen::styled_line::StyledLine;
use super::session::RunSession;
use super::stop::StopSwitch;
use super::talk_commands;
use super::talk_requests::{self, TalkRequest};
use super::terminal::clean;
use crate::output::print;

/// Talks until the user leaves. Returns how the last turn ended, if there was one.
pub(super) async fn talk(session: &mut RunSession<'_>) -> Result<Option<RunEnding>, BrokenRun> {
    let Some(attendant) = session.watching.attendant.clone() else { return Ok(None) };
    let history = session.ground.home.join("history");
    attendant.lines.history(&history);
    attendant.lines.complete(completions(session), &session.ground.workspace);
    session.show_model();
    session.watching.view().banner(&session.banner());
    recall_last_turn(session);
    if let Some(greeting) = &session.ground.agent.identity.greeting {
        print(&format!("{}\n", clean(&greeting.value)));
    }
    let mut last = None;
    loop {
        let next = tokio::select! {
            line = next(&attendant, &session.stop) => line,
            () = session.stop.ended() => TalkInput::Stop,
        };
        let line = match next {
            TalkInput::Line(line) => line,
            // Leaving a conversation is a normal end, even after a cancelled turn.
            TalkInput::Leave => return Ok(last.filter(is_no_cancel)),
            TalkInput::Stop => return Ok(Some(RunEnding::Cancelled)),
        };
        match line.as_str() {
            "" => {}
            word if word.starts_with('!') => {
                talk_commands::shell(session, word.trim_start_matches('!')).await?;
            }
            // A message cannot start with `/`; a mistyped command is never sent to the model.
            word if word.starts_with('/') && !is_prompt(session, word) => {
                match talk_requests::carry_out(session, word).await? {
                    TalkRequest::Done => {}
                    TalkRequest::Leave => return Ok(last.filter(is_no_cancel)),
                    TalkRequest::Over(ending) => return Ok(Some(ending)),
                    TalkRequest::Other => talk_commands::command(session, word),
                }
            }
            _ => {
                let Some(message) = message(session, &line).await else { continue };
                // The history is a file, so secrets are redacted in it.
                attendant.lines.remember(&session.ground.redactor.text(&line), &history);
                session.stop.anew();
                // The message stands apart from the turn, and the turn from the next message.
                session.watching.view().show(&[StyledLine::default()]);
                session.watching.begin();
                let ending = session.send_message(message).await?;
                session.watching.view().show(&[StyledLine::default()]);
                last = Some(ending);
                // A reached limit ends the run, not only the turn. After a failure the next message tries again.
                let phase = &session.driver.state().phase;
                let is_failed = matches!(phase, RunPhase::Ended(RunEnding::Failed { .. }));
                if matches!(phase, RunPhase::Ended(_)) && !is_failed {
                    return Ok(last);
                }
            }
        }
    }
}

/// Shows the last message of a continued conversation and the answer to it.
fn recall_last_turn(session: &RunSession<'_>) {
    let messages = &session.driver.state().messages;
    let last = |role: MessageRole| messages.iter().rev().filter(move |it| it.role == role);
    let prompt = last(MessageRole::User).find_map(|message| text_of(message));
    let Some(prompt) = prompt.and_then(|text| text.lines().next()) else { return };
    let answer = messages.last().filter(|it| it.role == MessageRole::Assistant);
    let answer = answer.and_then(|message| text_of(message)).unwrap_or_default();
    session.watching.view().recall_turn(prompt, answer);
}

/// The text of a message that has no results of tools.
fn text_of(message: &Message) -> Option<&str> {
    message.blocks.iter().rev().find_map(|block| match block {
        MessageBlock::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

fn is_no_cancel(ending: &RunEnding) -> bool {
    *ending != RunEnding::Cancelled
}

/// The words that Tab completes at the start of a line.
fn completions(session: &RunSession<'_>) -> Vec<String> {
    let own = talk_commands::COMMANDS.iter().map(|(name, _)| (*name).to_owned());
    own.chain(session.prompts.iter().map(|prompt| prompt.command())).collect()
}

/// Whether a line starts a prompt of a server.
fn is_prompt(session: &RunSession<'_>, line: &str) -> bool {
    prompt(session, line).is_some()
}

/// The prompt that a line starts, and what is typed after its name.
fn prompt<'a, 'b>(
    session: &'a RunSession<'_>,
    line: &'b str,
) -> Option<(&'a ServerPrompt, &'b str)> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let found = session.prompts.iter().find(|prompt| prompt.command() == word)?;
    Some((found, rest))
}

/// The message for the model: what was typed, or the text of a prompt, which is shown first.
async fn message(session: &RunSession<'_>, line: &str) -> Option<String> {
    let Some((prompt, rest)) = prompt(session, line) else { return Some(line.to_owned()) };
    let touch = prompt.touch();
    let workspace = &session.ground.workspace;
    let verdict = session.ground.verdict(touch.section, &touch.subject, workspace);
    // The user typed the command, so only a denial of the policy stops it.
    let found = match verdict.action {
        Action::Deny => Err(format!("the policy denies `{}`", touch.subject)),
        Action::Allow | Action::Ask => match prompt.arguments(rest) {
            Ok(arguments) => prompt.message(arguments).await,
            Err(why) => Err(why),
        },
    };
    let shown = match &found {
        Ok(text) => format!("{}\n", clean(text)),
        Err(why) => format!("`{}`: {}\n", clean(&prompt.command()), clean(why)),
    };
    print(&session.ground.redactor.text(&shown));
    found.ok()
}

/// The input at the prompt.
enum TalkInput {
    Line(String),
    Leave,
    Stop,
}

/// Reads the next line. Ctrl-C asks for a second one, unless it is the second.
async fn next(attendant: &TerminalApprover, stop: &StopSwitch) -> TalkInput {
    let mut interrupted = false;
    loop {
        match attendant.line("› ").await {
            TypedInput::Line(line) => {
                let line = line.trim();
                let leaves = matches!(line, "/exit" | "/quit");
                return if leaves { TalkInput::Leave } else { TalkInput::Line(line.to_owned()) };
            }
            TypedInput::End => return TalkInput::Leave,
            TypedInput::Interrupt if stop.again() || interrupted => return TalkInput::Stop,
            TypedInput::Interrupt => {
                interrupted = true;
                print("once more ends the conversation\n");
            }
        }
    }
}
