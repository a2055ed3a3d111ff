//! The state of a run in one line: what it does, for how long, and what it has spent of its budget.

use std::time::{Duration, Instant};

use agentry_compile::text::report::counted;
use agentry_runtime::budget::dollars;
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::{RunLimits, RunSpending};

use super::call_list::time_words;
use super::screen::styled_line::{StyledLine, TextLook};

/// The frames of the sign of life.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// What it does while no text arrives.
pub(super) const WAITS: &str = "waits for the model";
const CHECKS: &str = "checks its calls";
const WORKS: &str = "works";
/// How it is stopped.
const STOP: &str = "Esc stops";
/// About as many bytes are one token.
const BYTES_PER_TOKEN: usize = 4;

/// What is known of a run while it works.
#[derive(Debug, Default)]
pub(super) struct RunStatus {
    model: String,
    limits: RunLimits,
    spent: RunSpending,
    /// Since when it works; `None` if it waits for a message.
    since: Option<Instant>,
    /// What it does now.
    activity: String,
    /// The calls of the last answer that have no verdict yet.
    unjudged: usize,
    /// When a model that failed is asked again.
    retry: Option<Instant>,
    /// The time that it worked, since it began.
    worked: Duration,
    /// The bytes of the answer that is streaming in.
    streamed: usize,
    frame: usize,
}

impl RunStatus {
    pub(super) fn begin(&mut self, activity: &str) {
        self.since = Some(Instant::now());
        self.retry = None;
        self.unjudged = 0;
        activity.clone_into(&mut self.activity);
    }

    /// Names the model that is used from now on.
    pub(super) fn switch(&mut self, model: String) {
        self.model = model;
    }

    pub(super) fn end(&mut self) {
        self.worked = self.since.take().map_or(self.worked, |since| since.elapsed());
        self.streamed = 0;
    }

    pub(super) const fn is_busy(&self) -> bool {
        self.since.is_some()
    }

    pub(super) fn tick(&mut self) {
        self.frame = (self.frame + 1) % SPINNER.len();
    }

    pub(super) fn spinner(&self) -> char {
        SPINNER.get(self.frame).copied().unwrap_or('*')
    }

    /// Follows the run.
    pub(super) fn show_output(&mut self, output: &RunOutput) {
        self.retry = match output {
            RunOutput::Waiting { time } => Instant::now().checked_add(Duration::from_millis(*time)),
            // Other calls and delegates go on meanwhile.
            RunOutput::Text { .. } | RunOutput::Thinking { .. } | RunOutput::Turn { .. } => None,
            _ => self.retry,
        };
        match output {
            RunOutput::Run { models, limits, spent, .. } => {
                self.model = models.first().cloned().unwrap_or_default();
                (self.limits, self.spent) = (*limits, *spent);
            }
            RunOutput::Limits { limits } => self.limits = *limits,
            RunOutput::Turn { spent, model, calls, .. } => {
                self.model.clone_from(model);
                (self.spent, self.streamed, self.unjudged) = (*spent, 0, *calls);
                CHECKS.clone_into(&mut self.activity);
            }
            RunOutput::Call { within: None, .. } => {
                self.unjudged = self.unjudged.saturating_sub(1);
            }
            RunOutput::Text { text } => {
                self.streamed += text.len();
                "answers".clone_into(&mut self.activity);
            }
            RunOutput::Thinking { text } => {
                self.streamed += text.len();
                "thinks".clone_into(&mut self.activity);
            }
            RunOutput::Calling { tool } => self.activity = format!("writes a call of {tool}"),
            RunOutput::Started { .. } => {
                self.spent.steps += 1;
                WORKS.clone_into(&mut self.activity);
            }
            RunOutput::Ended { spent, .. } => self.spent = *spent,
            _ => {}
        }
    }

    /// No call is open: the model is asked next, unless a call has no verdict yet.
    pub(super) fn rest(&mut self) {
        if self.unjudged == 0 && [CHECKS, WORKS].contains(&self.activity.as_str()) {
            WAITS.clone_into(&mut self.activity);
        }
    }

    /// What it does now, in words.
    fn activity(&self) -> String {
        let left = self.retry.map(|at| at.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            // Rounded up: «0 s» would be a second of nothing.
            Some(left) => format!("asks the model again in {} s", left.as_secs() + 1),
            None => self.activity.clone(),
        }
    }

    /// The line of the region. Where it is narrow, what matters least is left out: how to stop it stays longest.
    pub(super) fn line(&self, columns: usize) -> StyledLine {
        let time = self.since.map_or(String::new(), |since| time_words(since.elapsed()));
        let usage = self.spent.usage;
        let tokens = usage.input.saturating_add(usage.output);
        let streamed = u64::try_from(self.streamed / BYTES_PER_TOKEN).unwrap_or_default();
        let tokens = counted(tokens.saturating_add(streamed), "token");
        let mut facts = vec![time, tokens, self.money(), STOP.to_owned(), self.model.clone()];
        let head = StyledLine::new(TextLook::Code, &format!("{} ", self.spinner()))
            .with(TextLook::Plain, &self.activity());
        // The model, the money and the tokens are the first to go.
        for least in [Some(4), Some(2), Some(1), None] {
            let all = facts.iter().fold(String::new(), |all, fact| format!("{all} · {fact}"));
            let line = head.clone().with(TextLook::Dim, &all);
            let Some(least) = least.filter(|_| line.columns() > columns) else { return line };
            facts.remove(least);
        }
        head
    }

    /// The line at the end.
    pub(super) fn summary(&self) -> String {
        format!("{} · {} · {}", self.model, time_words(self.worked), self.spending())
    }

    /// What the run has spent, with its limits.
    pub(super) fn spending(&self) -> String {
        let RunSpending { turns, steps, usage, .. } = self.spent;
        let RunLimits { turns: most_turns, steps: most_steps, tokens, .. } = self.limits;
        let of = |spent: u64, most: Option<u64>, what: &str| match most {
            Some(most) => format!("{spent} of {}", counted(most, what)),
            None => counted(spent, what),
        };
        let used = usage.input.saturating_add(usage.output);
        let turns = of(turns, most_turns, "turn");
        let (steps, tokens) = (of(steps, most_steps, "step"), of(used, tokens, "token"));
        format!("{turns} · {steps} · {tokens} · {}", self.money())
    }

    fn money(&self) -> String {
        let money = match self.spent.usage.cost {
            Some(cost) => dollars(cost),
            None => "cost unknown".to_owned(),
        };
        let most = self.limits.cost.map_or(String::new(), |most| format!(" of {}", dollars(most)));
        format!("{money}{most}")
    }
}
