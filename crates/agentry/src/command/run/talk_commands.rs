//! The commands of a conversation: `/tools`, `/why`, `/diff` …, and `!command`.

use std::sync::{Arc, PoisonError};

use agentry_compile::text::suggestion::did_you_mean;
use agentry_runtime::driver::{BrokenRun, judged};
use agentry_runtime::tool::mcp::ServerPrompt;
use agentry_runtime::undo::RunFileChange;
use agentry_runtime::{CallJudgement, RunEvent, ToolCall};
use serde_json::json;

use super::approver::short_paths;
use super::call_words::diff_lines;
use super::delegation::reach::{ReachableDelegate, reachable};
use super::first_consent::{listing, servers, with_delegates};
use super::screen::styled_line::{StyledLine, TextLook};
use super::session::RunSession;
use super::terminal::clean;
use crate::output::{columns, cut, print};

/// The commands and what they do.
pub(super) const COMMANDS: [(&str, &str); 17] = [
    ("/help", "this list"),
    ("/tools", "the tools that the agent is offered"),
    ("/policy", "all that it may do"),
    ("/agents", "the agents that work for it"),
    ("/mcp", "the MCP servers that it uses"),
    ("/cost", "what the run has spent"),
    ("/why", "why the last calls were allowed, asked about or refused"),
    ("/expand", "the whole result of the last call, or `/expand 3` of call 3"),
    ("/diff", "the files that its tools changed in this run"),
    ("/undo", "restores the files that tools changed in the last turn"),
    ("/model", "the models that it can use; `/model NAME` switches to one of them"),
    ("/compact", "replaces the older messages by a summary"),
    ("/clear", "begins a new conversation in the same run"),
    ("/memory", "what it remembers between runs"),
    ("/resume", "its other conversations; `/resume ID` continues one of them"),
    ("/exit", "ends the conversation; `agentry resume` continues it"),
    ("/quit", "the same"),
];

/// What else can be typed.
const KEYS: [(&str, &str); 6] = [
    ("!COMMAND", "runs a command under the policy of the agent, which does not see it"),
    ("Tab", "completes a command after `/`, and the name of a file after `@`"),
    ("\\", "at the end of a line: the message goes on in the next one"),
    ("↑", "an earlier message; while the agent works, the one that you typed for later"),
    ("Esc", "stops what the agent does; so does Ctrl-C, and twice ends the run"),
    ("Ctrl-O", "the whole result of the last call, while the agent works"),
];

/// Why a recorded conversation takes no such command.
pub(super) const NOT_RECORDED: &str =
    "a recorded conversation cannot do that: a replay could not follow\n";

/// The most characters of a call that `/why` shows.
const MOST_CALL: usize = 100;
/// The number of decisions that `/why` shows.
const SHOWN: usize = 10;

/// Runs a command to Agentry.
pub(super) fn command(session: &RunSession<'_>, line: &str) {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let text = match word {
        "/tools" => tools(session),
        "/policy" => policy(session),
        "/agents" => {
            let lines = reachable(session.ground);
            listed(lines.iter().flat_map(ReachableDelegate::lines), "no agent works for it")
        }
        "/mcp" => listed(servers(session.ground).into_iter(), "it uses no MCP server"),
        "/cost" => format!("{}\n", session.watching.view().spending()),
        "/why" => {
            why(session);
            String::new()
        }
        "/expand" => {
            let mut view = session.watching.view();
            view.expand(rest.trim().parse().ok());
            view.draw();
            String::new()
        }
        "/diff" => {
            diff(session);
            String::new()
        }
        "/help" => help(session),
        other => unknown(other),
    };
    print(&text);
}

fn unknown(word: &str) -> String {
    let near = did_you_mean(word, COMMANDS.iter().map(|(name, _)| *name));
    let near = near.unwrap_or_else(|| "`/help` lists what there is".to_owned());
    format!("there is no `{}`; {near}\n", clean(word))
}

/// The lines, or a message if the list is empty.
pub(super) fn listed(lines: impl Iterator<Item = String>, none: &str) -> String {
    let lines: Vec<String> = lines.map(|line| clean(&line)).collect();
    if lines.is_empty() { format!("{none}\n") } else { format!("{}\n", lines.join("\n")) }
}

fn tools(session: &RunSession<'_>) -> String {
    let rows = session
        .tools
        .specs()
        .iter()
        .map(|spec| vec![clean(&spec.name), clean(&first_sentence(&spec.description))]);
    columns(&rows.collect::<Vec<_>>())
}

/// The first sentence of a description; the rest is for models.
fn first_sentence(text: &str) -> String {
    let paragraph = text.trim().split("\n\n").next().unwrap_or_default();
    let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match paragraph.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => paragraph,
    }
}

fn policy(session: &RunSession<'_>) -> String {
    let models = (0..session.driver.state().models).map(|at| session.driver.model(at));
    let sandbox = "as `agentry sandbox explain` lists it".to_owned();
    let rows = listing(session.ground, sandbox, models.collect());
    let rows = with_delegates(rows, &reachable(session.ground));
    let rows = rows.rows().into_iter().map(|(name, line)| vec![name, clean(&line)]);
    columns(&rows.collect::<Vec<_>>())
}

fn help(session: &RunSession<'_>) -> String {
    let row = |(name, about): &(&str, &str)| vec![(*name).to_owned(), (*about).to_owned()];
    let prompt = |prompt: &Arc<ServerPrompt>| vec![clean(&prompt.command()), clean(&prompt.help())];
    let commands = COMMANDS.iter().map(row).chain(session.prompts.iter().map(prompt));
    let keys = std::iter::once(vec![String::new()]).chain(KEYS.iter().map(row));
    columns(&commands.chain(keys).collect::<Vec<_>>())
}

/// Shows the last decisions, each with its reason below it.
fn why(session: &RunSession<'_>) {
    let mut view = session.watching.view();
    let skipped = view.decided().len().saturating_sub(SHOWN);
    let mut lines = Vec::new();
    for (call, verdict, reason) in view.decided().iter().skip(skipped) {
        let look = match verdict {
            CallJudgement::Allow => TextLook::Good,
            CallJudgement::Ask => TextLook::Warning,
            CallJudgement::Deny => TextLook::Bad,
        };
        let call = StyledLine::new(TextLook::Plain, &format!("{}: ", cut(call, MOST_CALL)));
        lines.push(call.with(look, verdict.as_str()));
        let reason = short_paths(reason, Some(&session.ground.workspace));
        lines.push(StyledLine::new(TextLook::Dim, &format!("    {reason}")));
    }
    if lines.is_empty() {
        lines.push(StyledLine::new(TextLook::Dim, "no call was made yet"));
    }
    view.show_broken(&lines);
    view.draw();
}

/// Shows the changed files, each with its differences.
fn diff(session: &RunSession<'_>) {
    let changed = session.changed_files();
    let mut lines = Vec::new();
    for (stat, file) in stat_lines(session, &changed).into_iter().zip(&changed) {
        lines.push(stat.emphasized());
        // The line above names the file.
        let is_name = |line: &StyledLine| line.starts_with("--- ") || line.starts_with("+++ ");
        let shown = diff_lines(&session.ground.redactor.text(&file.diff));
        lines.extend(shown.into_iter().skip_while(is_name));
    }
    if lines.is_empty() {
        lines.push(StyledLine::new(TextLook::Dim, "no tool of the run changed a file"));
    }
    let mut view = session.watching.view();
    view.show(&lines);
    view.draw();
}

/// The changed files, each with the number of its new and removed lines.
pub(super) fn stat_lines(session: &RunSession<'_>, changed: &[RunFileChange]) -> Vec<StyledLine> {
    let line = |file: &RunFileChange| {
        StyledLine::new(
            TextLook::Plain,
            &format!("  {} ", session.short_path(&file.path).display()),
        )
        .with(TextLook::Good, &format!(" +{}", file.added))
        .with(TextLook::Bad, &format!(" −{}", file.removed))
    };
    changed.iter().map(line).collect()
}

/// Runs a call if the policy does not deny it. The user typed it, so `ask` is answered.
async fn judged_and_run(session: &RunSession<'_>, call: &ToolCall) -> String {
    let decision = judged(Arc::clone(&session.tools), call.clone()).await;
    match decision.verdict {
        CallJudgement::Deny => format!("the policy denies it: {}", decision.reason),
        CallJudgement::Ask | CallJudgement::Allow => session.tools.run(call).await.text,
    }
}

/// Runs a call while the region shows its last lines. Esc or Ctrl-C stops it.
async fn run_command(session: &RunSession<'_>, call: &ToolCall) -> String {
    session.stop.anew();
    session.watching.begin_command(call);
    let text = tokio::select! {
        text = judged_and_run(session, call) => text,
        () = session.stop.command_stopped() => {
            let printed = session.watching.view().calls.tail(&call.id).to_owned();
            format!("{}\nstopped", printed.trim_end())
        }
    };
    session.watching.leave();
    text
}

/// Runs a command of the user under the policy of the agent.
pub(super) async fn shell(session: &mut RunSession<'_>, command: &str) -> Result<(), BrokenRun> {
    if session.is_recorded() {
        print(NOT_RECORDED);
        return Ok(());
    }
    let command = command.trim();
    let redacted = session.ground.redactor.text(command);
    // Before it starts: it may end this process.
    session.driver.note(RunEvent::UserRan { command: redacted.clone(), text: None })?;
    let call = ToolCall {
        id: "user".to_owned(),
        tool: "bash".to_owned(),
        arguments: json!({ "command": command }),
        opaque: None,
    };
    let has_shell = session.tools.specs().iter().any(|spec| spec.name == call.tool);
    let text = if has_shell {
        run_command(session, &call).await
    } else {
        "the agent has no shell, so `!` has none".to_owned()
    };
    let text = session.ground.redactor.text(&text);
    session.driver.note(RunEvent::UserRan { command: redacted, text: Some(text.clone()) })?;
    let mut view = session.watching.terminal.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<_> = text.lines().map(|line| StyledLine::new(TextLook::Plain, line)).collect();
    view.show(&lines);
    view.draw();
    Ok(())
}
