//! Shows a run to the user. On a terminal the answer streams in, calls are folded and a status line is
//! kept; elsewhere the answer goes to standard output, and one line for each call to standard error.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write as _};

use agentry_compile::text::report::{counted, visible};
use agentry_runtime::budget::dollars;
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::{CallJudgement, RunEnding, RunLimits, RunSpending};
use serde_json::Value;

use super::markdown::MarkdownStream;
use crate::output::{cut, print, style, without_tabs};

const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";
/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[2K";
/// The number of lines of a result that are shown.
const FOLDED: usize = 3;

/// The view of a run.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another thing")]
pub(crate) struct TerminalView {
    /// Whether the output is a terminal.
    rich: bool,
    /// Whether colours are used.
    color: bool,
    markdown: MarkdownStream,
    /// Whether the current line is the status line.
    status: bool,
    /// Whether the current line has text of the model.
    open: bool,
    model: String,
    limits: RunLimits,
    spent: RunSpending,
    /// The running calls, each as one line.
    calls: HashMap<String, String>,
    /// The decisions about calls, for `/why`.
    decided: Vec<String>,
    /// Whether standard output has something else than the answer.
    is_aside: bool,
    /// What happened while a question is on the screen; `None` if there is none.
    held: Option<Vec<RunOutput>>,
}

impl TerminalView {
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        // A dumb terminal has no escape sequences to clear the status line.
        let rich = out.is_terminal() && std::env::var_os("TERM").is_none_or(|it| it != "dumb");
        Self { rich, color: style(&out).color, ..Self::default() }
    }

    /// A view that leaves standard output to the result of a function.
    pub(crate) fn aside() -> Self {
        Self { is_aside: true, ..Self::default() }
    }

    /// Whether a user is at the terminal.
    pub(crate) fn is_attended() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// The decisions about the last calls.
    pub(crate) fn decided(&self) -> &[String] {
        &self.decided
    }

    /// Shows nothing from now on: a question is on the screen.
    pub(super) fn hold(&mut self) {
        self.close();
        self.held.get_or_insert_default();
    }

    /// Shows what happened since [`TerminalView::hold`].
    pub(super) fn release(&mut self) {
        for output in self.held.take().unwrap_or_default() {
            self.hear(&output);
        }
    }

    /// Shows an output of the run.
    pub(crate) fn hear(&mut self, output: &RunOutput) {
        if let Some(held) = &mut self.held {
            return held.push(output.clone());
        }
        match output {
            RunOutput::Run { models, limits, spent, .. } => {
                self.model = models.first().cloned().unwrap_or_default();
                (self.limits, self.spent) = (*limits, *spent);
            }
            RunOutput::Limits { limits } => self.limits = *limits,
            // Elsewhere the text waits for the end of its turn: only then is it known to be the answer.
            RunOutput::Text { text } if self.rich => self.stream(text),
            RunOutput::Turn { text, spent, calls, model, .. } => {
                self.model.clone_from(model);
                self.spent = *spent;
                self.turned(text, *calls);
            }
            RunOutput::Call { id, tool, arguments, verdict, reason, .. } => {
                let call = format!("{tool} {}", brief(arguments));
                self.judged(&call, *verdict, reason);
                self.calls.insert(id.clone(), call);
            }
            RunOutput::Result { id, text, failed } => {
                let call = self.calls.remove(id).unwrap_or_else(|| "an earlier call".to_owned());
                self.result(&call, text, *failed);
            }
            RunOutput::Quarantined(told) => self.note(&format!("warning: {told}"), YELLOW),
            RunOutput::ModelFailed { model, message, .. } => {
                self.note(&format!("{model}: {message}"), RED);
            }
            RunOutput::Waiting { time } => self.note(&format!("asking again in {time} ms"), DIM),
            RunOutput::Compacted { messages, .. } => {
                self.note(&format!("{messages} messages were compacted"), DIM);
            }
            RunOutput::Ended { ending, spent } => {
                self.spent = *spent;
                self.ended(ending);
            }
            RunOutput::Delegate { agent, output, .. } => self.delegate(agent, output),
            RunOutput::Piece { .. }
            | RunOutput::Text { .. }
            | RunOutput::Thinking { .. }
            | RunOutput::Calling { .. }
            | RunOutput::Skill { .. }
            | RunOutput::Answer { .. } => self.under_way(),
            RunOutput::Started { .. } => {
                self.spent.steps += 1;
                self.under_way();
            }
        }
    }

    /// Prints a line that is not from the model; to standard error where there is no terminal.
    pub(crate) fn note(&mut self, line: &str, look: &str) {
        self.close();
        let line = without_tabs(line);
        let line = visible(&line);
        if self.rich {
            print(&format!("{}\n", self.looking(&line, look)));
        } else {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Ends the line of the model or the status, so that other text can follow.
    pub(crate) fn close(&mut self) {
        if self.status {
            print(CLEAR);
            self.status = false;
        }
        if self.open {
            let rest = self.markdown.finish();
            print(&format!("{rest}\n"));
            self.open = false;
        }
    }

    /// What the run has spent, with its limits.
    pub(crate) fn spending(&self) -> String {
        let RunSpending { turns, steps, usage, .. } = self.spent;
        let RunLimits { turns: most_turns, steps: most_steps, cost: most, tokens, .. } =
            self.limits;
        let of = |spent: u64, most: Option<u64>, what: &str| match most {
            Some(most) => format!("{spent} of {}", counted(most, what)),
            None => counted(spent, what),
        };
        let money = match usage.cost {
            Some(cost) => dollars(cost),
            None => "cost unknown".to_owned(),
        };
        let most = most.map_or(String::new(), |most| format!(" of {}", dollars(most)));
        let used = usage.input.saturating_add(usage.output);
        let turns = of(turns, most_turns, "turn");
        let (steps, tokens) = (of(steps, most_steps, "step"), of(used, tokens, "token"));
        format!("{turns} · {steps} · {tokens} · {money}{most}")
    }

    fn stream(&mut self, text: &str) {
        if self.status {
            print(CLEAR);
            self.status = false;
        }
        let text = clean(text);
        let text = if self.color { self.markdown.push(&text) } else { text };
        self.open = self.open || !text.is_empty();
        print(&text);
    }

    fn turned(&mut self, text: &str, calls: usize) {
        if self.rich {
            self.close();
        } else if !text.trim().is_empty() {
            let text = clean(text);
            // Text between calls is reasoning; only the last text is the answer.
            if calls == 0 && !self.is_aside {
                print(&format!("{}\n", text.trim_end()));
            } else {
                let _ = writeln!(io::stderr(), "{}", text.trim_end());
            }
        }
    }

    fn judged(&mut self, call: &str, verdict: CallJudgement, reason: &str) {
        let word = verdict.as_str();
        let look = match verdict {
            CallJudgement::Allow => DIM,
            CallJudgement::Ask => YELLOW,
            CallJudgement::Deny => RED,
        };
        self.decided.push(format!("{call}: {word}: {reason}"));
        let mark = if self.rich { "● " } else { "" };
        self.note(&format!("{mark}{call}  {word}"), look);
        if verdict == CallJudgement::Deny {
            self.note(&format!("  {reason}"), look);
        }
        self.under_way();
    }

    /// Shows what a delegate does, with the agents that lead to it.
    fn delegate(&mut self, agent: &str, output: &RunOutput) {
        match output {
            RunOutput::Call { tool, arguments, verdict, reason, .. } => {
                let call = format!("{agent}: {tool} {}", brief(arguments));
                self.judged(&call, *verdict, reason);
            }
            RunOutput::Quarantined(told) => {
                self.note(&format!("warning: {agent}: {told}"), YELLOW);
            }
            RunOutput::ModelFailed { model, message, .. } => {
                self.note(&format!("{agent}: {model}: {message}"), RED);
            }
            _ => self.under_way(),
        }
    }

    /// Shows the first lines of a result.
    fn result(&mut self, call: &str, text: &str, failed: bool) {
        let lines: Vec<&str> = text.lines().collect();
        let look = if failed { RED } else { DIM };
        if !self.rich {
            let state = if failed { "failed" } else { "done" };
            let first =
                lines.first().filter(|_| failed).map_or(String::new(), |it| format!(": {it}"));
            let count = counted(lines.len(), "line");
            self.note(&format!("  {}: {state}, {count}{first}", cut(call, 50)), look);
            return;
        }
        for line in lines.iter().take(FOLDED) {
            self.note(&format!("  {}", cut(line, 160)), look);
        }
        if let Some(more) = lines.len().checked_sub(FOLDED).filter(|more| *more > 0) {
            self.note(&format!("  … {}", counted(more, "more line")), look);
        }
    }

    fn ended(&mut self, ending: &RunEnding) {
        self.close();
        if self.rich {
            let line = format!("{} · {}", self.model, self.spending());
            self.note(&line, DIM);
        }
        match ending {
            RunEnding::Done => {}
            RunEnding::Failed { why } => self.note(&format!("error: the run failed: {why}"), RED),
            RunEnding::OverBudget { limit } => {
                self.note(&format!("error: the run has reached its limit of {limit}"), RED);
            }
            RunEnding::Cancelled => self.note("stopped", YELLOW),
            RunEnding::Parked { question } => {
                self.note(&format!("the run waits for an answer: {question}"), YELLOW);
            }
        }
    }

    /// Shows the status on a line that is overwritten later.
    fn under_way(&mut self) {
        // A status line must not overwrite text of the model.
        if !self.rich || self.open {
            return;
        }
        let line = format!("{} · {}", self.model, self.spending());
        // A line that wraps could not be cleared.
        let line = self.looking(&cut(&line, columns().saturating_sub(1).min(100)), DIM);
        print(&format!("{CLEAR}{line}"));
        self.status = true;
    }

    fn looking(&self, text: &str, look: &str) -> String {
        if self.color { format!("{look}{text}{PLAIN}") } else { text.to_owned() }
    }
}

/// The width of the terminal; 80 where it cannot be asked.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// The arguments in one short line.
pub(super) fn brief(arguments: &Value) -> String {
    let text = match arguments {
        Value::Object(entries) if entries.len() == 1 => {
            entries.values().next().map_or(String::new(), plain)
        }
        Value::Object(entries) => {
            let parts =
                entries.iter().map(|(name, value)| format!("{name}={}", cut(&plain(value), 60)));
            parts.collect::<Vec<_>>().join(" ")
        }
        other => plain(other),
    };
    cut(&text.replace('\n', "⏎"), 120)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Removes control characters, so that text cannot control the terminal.
pub(super) fn clean(text: &str) -> String {
    let text = without_tabs(&text.replace("\r\n", "\n"));
    text.split('\n').map(|line| visible(line).into_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_brief_and_text_is_harmless() {
        let cases = [
            (json!({"command": "ls -l"}), "ls -l"),
            (json!({"command": "a\nb"}), "a⏎b"),
            (json!({"path": "x", "text": "y"}), "path=x text=y"),
            (json!("not JSON"), "not JSON"),
            (json!({}), ""),
        ];
        for (arguments, expected) in cases {
            assert_eq!(brief(&arguments), expected, "{arguments}");
        }
        assert_eq!(clean("a\tb\r\nc"), "a    b\nc");
        assert!(!clean("\x1b[2Jgone").contains('\x1b'));
    }
}
