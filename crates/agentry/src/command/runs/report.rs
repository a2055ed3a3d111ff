//! The events of a run as text.

use agentry_compile::text::report::{counted, visible};
use agentry_runtime::budget::dollars;
use agentry_runtime::skill::progress::{StepReport, TrackedKind};
use agentry_runtime::{
    ApprovalAnswer, MessageBlock, ModelFailure, ModelFailureKind, ModelTurn, RunEffect, RunEnding,
    RunEvent, RunSpending, SkillNote, StepCounts, StepState, TimedEvent, ToolCall, step,
};

use crate::output::{cut, without_tabs};

/// The most lines that are shown of one text.
const MOST_LINES: usize = 12;
/// The most characters that are shown of one line.
const MOST_COLUMNS: usize = 200;

/// Replays the events of a run and renders each as text.
pub(super) struct RunStory {
    /// The models of the process that wrote the events.
    models: Vec<String>,
    state: StepState,
}

impl RunStory {
    pub(super) fn new(models: &[String]) -> Self {
        Self { models: models.to_vec(), state: StepState::default() }
    }

    /// The next event in a few lines, and its effects.
    pub(super) fn next(&mut self, happened: TimedEvent) -> (String, Vec<RunEffect>) {
        if matches!(happened.event, RunEvent::Adjusted { .. }) {
            // A resumed run may use other models.
            self.models.clear();
        }
        let model = |at: usize| self.models.get(at).map_or("", String::as_str);
        let text = match &happened.event {
            RunEvent::TurnFailed(failure) => failed(model(self.state.model), failure),
            RunEvent::Turned(turn) if turn.model > 0 => {
                line(&format!("= {}", model(turn.model))) + &event(&happened)
            }
            _ => event(&happened),
        };
        (text, step(&mut self.state, happened))
    }

    /// The steps of skills that were done so far.
    pub(super) fn steps(&self) -> StepCounts {
        self.state.skills.counts()
    }

    /// What the run has spent so far.
    pub(super) fn spent(&self) -> &RunSpending {
        &self.state.spent
    }
}

/// The model that failed, and why.
fn failed(model: &str, failure: &ModelFailure) -> String {
    let kind = match failure.kind {
        ModelFailureKind::Temporary => "no answer for now",
        ModelFailureKind::Permanent => "no answer",
        ModelFailureKind::TooLong => "too long for the model",
        ModelFailureKind::Final => "the pipeline ended",
    };
    let model = if model.is_empty() { String::new() } else { format!("{model}: ") };
    indented("! ", &format!("{model}{kind}: {}", failure.message))
}

/// An event in a few lines; empty if it is of no use to the user.
fn event(happened: &TimedEvent) -> String {
    match &happened.event {
        RunEvent::Returned { id, text, output } => {
            let verb = if output.is_err() { "failed" } else { "returned" };
            let output = output.as_ref().map_or(text.clone(), ToString::to_string);
            line(&format!("  {id}: {verb}")) + &indented("    ", &output)
        }
        RunEvent::Suspended { id, question } => {
            line(&format!("  {id}: waits for an answer: {question}"))
        }
        RunEvent::Exhausted { limit } => line(&format!("! the limit of {limit} is reached")),
        RunEvent::Began { .. }
        | RunEvent::Delegated { .. }
        | RunEvent::Asking { .. }
        | RunEvent::Started { .. }
        | RunEvent::Waited => String::new(),
        RunEvent::UserSent { text } => indented("> ", text),
        RunEvent::Turned(turn) => turned(turn),
        RunEvent::TurnFailed(failure) => failed("", failure),
        RunEvent::Called { within, call: ToolCall { id, tool, arguments, .. } } => {
            line(&format!("  {within}: * {tool} {arguments} ({id})"))
        }
        RunEvent::Judged { id, verdict, reason, .. } => {
            line(&format!("  {id}: {} ({reason})", verdict.as_str()))
        }
        RunEvent::Answered { id, answer } => {
            let about = id.as_ref().map_or("the run", |id| id);
            let answer = match answer {
                ApprovalAnswer::Yes => "yes".to_owned(),
                ApprovalAnswer::Always(names) => {
                    format!("yes, for the rest of the run: {}", names.join("; "))
                }
                ApprovalAnswer::No(None) => "no".to_owned(),
                ApprovalAnswer::No(Some(why)) => format!("no: {why}"),
                ApprovalAnswer::Park => "later".to_owned(),
            };
            line(&format!("  {about}: the person says {answer}"))
        }
        RunEvent::Ended { id, text, failed } => {
            let verb = if *failed { "failed" } else { "done" };
            line(&format!("  {id}: {verb}")) + &indented("    ", text)
        }
        RunEvent::Skill { id, note } => line(&format!("  {id}: {}", noted(note))),
        RunEvent::Compacted { messages, summary, .. } => {
            line(&format!("{messages} messages compacted:")) + &indented("    ", summary)
        }
        RunEvent::Cancelled { run: true } => line("the person stopped the run"),
        RunEvent::Cancelled { run: false } => line("the person stopped the turn"),
        RunEvent::Moved { directory } => line(&format!("  now in {directory}")),
        RunEvent::TimeUp => line("! the time is over"),
        RunEvent::Resumed => line("another process continued it"),
        RunEvent::Undone { paths } => {
            line(&format!("the person took back the changes of {}", paths.join(", ")))
        }
        RunEvent::Switched { model } => line(&format!("the person chose model {}", model + 1)),
        RunEvent::CompactionRequested => line("the person asked to compact the conversation"),
        RunEvent::Cleared => line("the person began a new conversation"),
        RunEvent::UserRan { command, text: None } => line(&format!("the person runs: {command}")),
        RunEvent::UserRan { text: Some(text), .. } => indented("    ", text),
        RunEvent::Adjusted { .. } => {
            line("from here on with the limits and models of that process")
        }
    }
}

/// What a call of a skill tool means.
fn noted(note: &SkillNote) -> String {
    match note {
        SkillNote::Loaded { skill } => format!("the skill `{skill}` is loaded"),
        SkillNote::Over { skill } => format!("the skill `{skill}` is over"),
        SkillNote::Step(StepReport { skill, step, of, title, kind, status }) => {
            let kind = match kind {
                TrackedKind::Deterministic => "deterministic",
                TrackedKind::Adaptive => "adaptive",
                TrackedKind::HumanGate => "human gate",
            };
            format!("step {step} of {of} of `{skill}`, {title} ({kind}): {}", status.as_str())
        }
    }
}

/// The steps of skills that were done, in a few words; empty if there are none.
pub(super) fn steps(counts: StepCounts) -> String {
    let StepCounts { deterministic, adaptive, human_gate } = counts;
    if counts == StepCounts::default() {
        return String::new();
    }
    format!("{deterministic} deterministic, {adaptive} adaptive, {human_gate} human gates")
}

fn turned(turn: &ModelTurn) -> String {
    let block = |block: &MessageBlock| match block {
        MessageBlock::Text { text } => indented("", text),
        MessageBlock::Thinking { text, .. } if text.trim().is_empty() => String::new(),
        MessageBlock::Thinking { text, .. } => indented("~ ", text),
        MessageBlock::Call(ToolCall { id, tool, arguments, .. }) => {
            line(&format!("* {tool} {arguments} ({id})"))
        }
        MessageBlock::Result { .. } => String::new(),
    };
    let cut = if turn.truncated { line("! the answer was cut off") } else { String::new() };
    turn.message.blocks.iter().map(block).collect::<String>() + &cut
}

/// The end of a run in a few words.
pub(super) fn ending(ending: &RunEnding) -> String {
    match ending {
        RunEnding::Done => "done".to_owned(),
        RunEnding::Failed { why } => format!("failed: {why}"),
        RunEnding::OverBudget { limit } => format!("stopped at its limit of {limit}"),
        RunEnding::Cancelled => "stopped by the person".to_owned(),
        RunEnding::Parked { question } => format!("parked: {question}"),
    }
}

/// The spending of a run in a few words.
pub(super) fn spent(spent: &RunSpending) -> String {
    let RunSpending { turns, steps, usage, time } = spent;
    let tokens = usage.input.saturating_add(usage.output);
    let cost = usage.cost.map_or(String::new(), |cost| format!(", {}", dollars(cost)));
    let seconds = format!("{}.{} s", time / 1_000, time % 1_000 / 100);
    let (turns, steps) = (counted(*turns, "turn"), counted(*steps, "call"));
    format!("{turns}, {steps}, {}{cost}, {seconds}", counted(tokens, "token"))
}

/// The first lines of a text, each prefixed with `before`.
fn indented(before: &str, text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = lines.iter().take(MOST_LINES).map(|text| line(&format!("{before}{text}")));
    let mut out: String = shown.collect();
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        out.push_str(&line(&format!("{before}… {}", counted(more, "more line"))));
    }
    out
}

/// One line, shortened if it is too long.
fn line(text: &str) -> String {
    let text = without_tabs(text.trim_end());
    format!("{}\n", cut(&visible(&text), MOST_COLUMNS))
}
