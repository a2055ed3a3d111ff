//! What happened in a run, for people.

use agentry_compile::text::report::{counted, visible};
use agentry_runtime::budget::dollars;
use agentry_runtime::{
    Answer, Block, Call, Effect, Ending, Event, Failure, FailureKind, Happened, Spent, State, Turn,
    step,
};

use crate::output::{cut, without_tabs};

/// The most lines of one text.
const MOST_LINES: usize = 12;
/// The most characters of one line.
const MOST_COLUMNS: usize = 200;

/// The events of a run, one after the other, for people.
pub(super) struct Story {
    /// The models of the process that wrote them.
    models: Vec<String>,
    state: State,
}

impl Story {
    pub(super) fn new(models: &[String]) -> Self {
        Self { models: models.to_vec(), state: State::default() }
    }

    /// The next event in a few lines, and what followed from it.
    pub(super) fn next(&mut self, happened: Happened) -> (String, Vec<Effect>) {
        if matches!(happened.event, Event::Adjusted { .. }) {
            // Another process may have others.
            self.models.clear();
        }
        let model = |at: usize| self.models.get(at).map_or("", String::as_str);
        let text = match &happened.event {
            Event::TurnFailed(failure) => failed(model(self.state.model), failure),
            Event::Turned(turn) if turn.model > 0 => {
                line(&format!("= {}", model(turn.model))) + &event(&happened)
            }
            _ => event(&happened),
        };
        (text, step(&mut self.state, happened))
    }

    /// What the run has spent so far.
    pub(super) fn spent(&self) -> &Spent {
        &self.state.spent
    }
}

/// Which model did not answer, and why.
fn failed(model: &str, failure: &Failure) -> String {
    let kind = match failure.kind {
        FailureKind::Temporary => "no answer for now",
        FailureKind::Permanent => "no answer",
        FailureKind::TooLong => "too long for the model",
    };
    let model = if model.is_empty() { String::new() } else { format!("{model}: ") };
    indented("! ", &format!("{model}{kind}: {}", failure.message))
}

/// An event in a few lines; nothing if it tells a person nothing.
fn event(happened: &Happened) -> String {
    match &happened.event {
        Event::Began { .. } | Event::Asking { .. } | Event::Started { .. } | Event::Waited => {
            String::new()
        }
        Event::Said { text } => indented("> ", text),
        Event::Turned(turn) => turned(turn),
        Event::TurnFailed(failure) => failed("", failure),
        Event::Judged { id, verdict, reason, .. } => {
            line(&format!("  {id}: {} ({reason})", verdict.as_str()))
        }
        Event::Answered { id, answer } => {
            let about = id.as_ref().map_or("the run", |id| id);
            let answer = match answer {
                Answer::Yes => "yes".to_owned(),
                Answer::Always(names) => {
                    format!("yes, for the rest of the run: {}", names.join("; "))
                }
                Answer::No(None) => "no".to_owned(),
                Answer::No(Some(why)) => format!("no: {why}"),
                Answer::Park => "later".to_owned(),
            };
            line(&format!("  {about}: the person says {answer}"))
        }
        Event::Ended { id, text, failed } => {
            let verb = if *failed { "failed" } else { "done" };
            line(&format!("  {id}: {verb}")) + &indented("    ", text)
        }
        Event::Compacted { messages, summary, .. } => {
            line(&format!("{messages} messages in fewer words:")) + &indented("    ", summary)
        }
        Event::Cancelled { run: true } => line("the person stopped the run"),
        Event::Cancelled { run: false } => line("the person stopped the turn"),
        Event::Moved { directory } => line(&format!("  now in {directory}")),
        Event::TimeUp => line("! the time is over"),
        Event::Resumed => line("another process went on"),
        Event::Undone { paths } => {
            line(&format!("the person took back the changes of {}", paths.join(", ")))
        }
        Event::Adjusted { .. } => line("from here on with the limits and models of that process"),
    }
}

fn turned(turn: &Turn) -> String {
    let block = |block: &Block| match block {
        Block::Text { text } => indented("", text),
        Block::Thinking { text, .. } if text.trim().is_empty() => String::new(),
        Block::Thinking { text, .. } => indented("~ ", text),
        Block::Call(Call { id, tool, arguments, .. }) => {
            line(&format!("* {tool} {arguments} ({id})"))
        }
        Block::Result { .. } => String::new(),
    };
    let cut = if turn.truncated { line("! the answer was cut off") } else { String::new() };
    turn.message.blocks.iter().map(block).collect::<String>() + &cut
}

/// How a run ended, in a few words.
pub(super) fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Done => "done".to_owned(),
        Ending::Failed { why } => format!("failed: {why}"),
        Ending::OverBudget { limit } => format!("stopped at its limit of {limit}"),
        Ending::Cancelled => "stopped by the person".to_owned(),
        Ending::Parked { question } => format!("put aside: {question}"),
    }
}

/// What a run has spent, in a few words.
pub(super) fn spent(spent: &Spent) -> String {
    let Spent { turns, steps, usage, time } = spent;
    let tokens = usage.input.saturating_add(usage.output);
    let cost = usage.cost.map_or(String::new(), |cost| format!(", {}", dollars(cost)));
    let seconds = format!("{}.{} s", time / 1_000, time % 1_000 / 100);
    let (turns, steps) = (counted(*turns, "turn"), counted(*steps, "call"));
    format!("{turns}, {steps}, {}{cost}, {seconds}", counted(tokens, "token"))
}

/// The first lines of a text, each behind `before`.
fn indented(before: &str, text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = lines.iter().take(MOST_LINES).map(|text| line(&format!("{before}{text}")));
    let mut out: String = shown.collect();
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        out.push_str(&line(&format!("{before}… {}", counted(more, "more line"))));
    }
    out
}

/// One line, cut where it is too long.
fn line(text: &str) -> String {
    let text = without_tabs(text.trim_end());
    format!("{}\n", cut(&visible(&text), MOST_COLUMNS))
}
