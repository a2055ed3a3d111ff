//! The commands of a conversation: `/tools`, `/why`, `/diff` …, and `!command`.

use std::sync::{Arc, PoisonError};

use agentry_compile::text::suggestion::did_you_mean;
use agentry_runtime::driver::BrokenRun;
use agentry_runtime::tool::mcp::ServerPrompt;
use agentry_runtime::undo::RunFileChange;
use agentry_runtime::{CallJudgement, RunEvent, ToolCall};
use serde_json::json;

use super::call_words::diff_lines;
use super::delegation::reach::{ReachableDelegate, reachable};
use super::first_consent::{listing, servers, with_delegates};
use super::screen::styled_line::{StyledLine, TextLook};
use super::session::RunSession;
use super::terminal::clean;
use crate::output::{columns, print};

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
    (
        "/undo",
        "restores the files that its tools changed in the last turn; commands are not undone",
    ),
    ("/model", "the models that it can use; `/model NAME` switches to one of them"),
    ("/compact", "replaces the older messages by a summary"),
    ("/clear", "begins a new conversation in the same run; its limits and approvals stay"),
    ("/memory", "what it remembers between runs"),
    ("/resume", "its other conversations; `/resume ID` continues one of them"),
    ("/exit", "ends the conversation; `agentry resume` continues it"),
    ("/quit", "the same"),
];

/// What else can be typed.
const KEYS: &str = "\
!COMMAND runs a command under the policy of the agent; the agent does not see it.
@ and Tab complete the name of a file. A line that ends with \\ goes on in the next one.
What you type while the agent works is its next message; ↑ brings the last one back.
Esc or Ctrl-C stops what the agent does, Ctrl-C twice the run. Ctrl-O shows the last result.
";

/// Why a recorded conversation takes no such command.
pub(super) const NOT_RECORDED: &str =
    "a recorded conversation cannot do that: a replay could not follow\n";

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
            let view = session.watching.view();
            let skipped = view.decided().len().saturating_sub(SHOWN);
            listed(view.decided().iter().skip(skipped).cloned(), "no call was made yet")
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
    let near = near.map_or(String::new(), |near| format!("; {near}"));
    format!("there is no `{}`{near}; `/help` lists what there is\n", clean(word))
}

/// The lines, or a message if the list is empty.
pub(super) fn listed(lines: impl Iterator<Item = String>, none: &str) -> String {
    let lines: Vec<String> = lines.map(|line| clean(&line)).collect();
    if lines.is_empty() { format!("{none}\n") } else { format!("{}\n", lines.join("\n")) }
}

fn tools(session: &RunSession<'_>) -> String {
    let rows = session.tools.specs().iter().map(|spec| {
        let first = spec.description.lines().next().unwrap_or_default();
        vec![clean(&spec.name), clean(first)]
    });
    columns(&rows.collect::<Vec<_>>())
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
    let rows = COMMANDS.iter().map(row).chain(session.prompts.iter().map(prompt));
    format!("{}{KEYS}", columns(&rows.collect::<Vec<_>>()))
}

/// Shows the changed files with their differences.
fn diff(session: &RunSession<'_>) {
    let changed = session.changed_files();
    let mut lines = stat_lines(session, &changed);
    if lines.is_empty() {
        lines.push(StyledLine::new(TextLook::Dim, "no tool of the run changed a file"));
    }
    for file in &changed {
        lines.extend(diff_lines(&session.ground.redactor.text(&file.diff)));
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

/// Runs a call while the region shows its last lines. Esc or Ctrl-C stops it.
async fn run_command(session: &RunSession<'_>, call: &ToolCall) -> String {
    session.stop.anew();
    session.watching.begin_command(call);
    let text = tokio::select! {
        output = session.tools.run(call) => output.text,
        () = session.stop.command_stopped() => {
            let printed = session.watching.view().calls.tail(&call.id).to_owned();
            format!("{}\nstopped", printed.trim_end())
        }
    };
    session.watching.leave();
    text
}

/// Runs a command of the user under the policy of the agent. The user typed it, so `ask` is answered.
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
    let decision = session.tools.judge(&call);
    let text = if !has_shell {
        "the agent has no shell, so `!` has none".to_owned()
    } else if decision.verdict == CallJudgement::Deny {
        format!("the policy denies it: {}", decision.reason)
    } else {
        run_command(session, &call).await
    };
    let text = session.ground.redactor.text(&text);
    session.driver.note(RunEvent::UserRan { command: redacted, text: Some(text.clone()) })?;
    let mut view = session.watching.terminal.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<_> = text.lines().map(|line| StyledLine::new(TextLook::Plain, line)).collect();
    view.show(&lines);
    view.draw();
    Ok(())
}
