//! An agent that other programs use through this one. They name it and talk to it; what it may do stays as
//! the definition and the user say.

use std::path::PathBuf;

use agentry_runtime::journal::{self, JournalFollower, RunDescription, RunState, RunSummary};
use agentry_runtime::{StepState, TimedEvent, step};

use super::run::first_consent::{CHANGES_HINT, CONSENT_HINT};
use super::run::memory::may_converse;
use super::run::prepared_agent::PreparedAgent;
use super::run::session::is_under_way;
use super::steered_run::SteeredEvent;
use crate::home::recorded_user;
use crate::output::CliFailure;

/// An agent that is offered to other programs.
#[derive(Debug, Clone)]
pub(crate) struct ServedAgent {
    /// The agent as the user named it on the command line.
    pub(crate) argument: String,
    /// The path by which runs know it.
    path: String,
    pub(crate) name: String,
    pub(crate) workspace: PathBuf,
    home: PathBuf,
    /// Whether one run can take several messages.
    pub(crate) converses: bool,
    /// Options of the command line that hold for every run.
    options: Vec<String>,
}

/// An earlier run of a served agent.
pub(crate) struct EarlierRun {
    pub(crate) events: Vec<TimedEvent>,
    /// Whether a step of it is unfinished, which continues before a new message.
    pub(crate) is_under_way: bool,
}

impl ServedAgent {
    /// Describes an agent that was read for the user.
    pub(crate) fn of(ground: &PreparedAgent, argument: &str, options: Vec<String>) -> Self {
        Self {
            argument: argument.to_owned(),
            path: ground.full_path(),
            name: ground.agent.name().to_owned(),
            workspace: ground.workspace.clone(),
            home: ground.home.clone(),
            converses: may_converse(ground).is_ok(),
            options,
        }
    }

    /// The arguments that begin a run; without a prompt it waits for a message.
    pub(crate) fn new_run(&self, more: &[&str], prompt: Option<&str>) -> Vec<String> {
        let options = self.options.iter().map(String::as_str);
        let words = ["run", "--on-ask", "park"].into_iter().chain(more.iter().copied());
        let last: Vec<&str> = [&*self.argument].into_iter().chain(prompt).collect();
        steered_words(&words.chain(options).collect::<Vec<_>>(), &last)
    }

    /// The arguments that continue a run, which then waits for a message.
    pub(crate) fn earlier_run(id: &str) -> Vec<String> {
        steered_words(&["resume", "--on-ask", "park"], &[id])
    }

    /// Finds a run of this agent by its whole id. A program may go on only with runs that it could have begun
    /// itself.
    pub(crate) fn earlier(&self, id: &str) -> Result<EarlierRun, String> {
        let unknown = || format!("`{}` has no run `{id}`", self.name);
        // An id is a name of a directory; a part of one, or a path, names nothing here.
        let names = journal::run_names(&self.home).map_err(|error| error.to_string())?;
        if !names.iter().any(|name| name == id) {
            return Err(unknown());
        }
        let opened = JournalFollower::open(&self.home, id);
        let (mut follower, about) = opened.map_err(|error| error.to_string())?;
        if !self.is_own(&about) {
            return Err(unknown());
        }
        if let Some(why) = self.closed_because(&about) {
            return Err(format!("run `{id}` {why}"));
        }
        if follower.goes_on() {
            return Err(format!("run `{id}` is under way in another process"));
        }
        let events = follower.more().map_err(|error| error.to_string())?;
        let mut state = StepState::default();
        for event in events.clone() {
            step(&mut state, event);
        }
        Ok(EarlierRun { events, is_under_way: is_under_way(&state) })
    }

    /// All runs of this agent that a program may go on with, the newest first.
    pub(crate) fn earlier_runs(&self) -> Vec<RunSummary> {
        let all = journal::list(&self.home).unwrap_or_default();
        let is_own = |run: &RunSummary| {
            self.is_own(&run.about)
                && self.closed_because(&run.about).is_none()
                && !matches!(run.state, RunState::Damaged | RunState::Running)
        };
        all.into_iter().rev().filter(is_own).collect()
    }

    /// Whether a run is one of this agent, here, for the current user.
    fn is_own(&self, about: &RunDescription) -> bool {
        about.agent == self.path
            && about.workspace == self.workspace
            && about.parent.is_none()
            && about.user.as_deref().is_none_or(|user| user == recorded_user())
    }

    /// Why a run of this agent takes no message of a program.
    fn closed_because(&self, about: &RunDescription) -> Option<&'static str> {
        if about.settings.unconfined {
            Some("was begun with `--unconfined`: `agentry resume` continues it in a terminal")
        } else if about.settings.function.is_some() {
            Some("carries out a function, and takes no message")
        } else if !self.converses {
            Some("takes no message: the agent holds no conversation")
        } else {
            None
        }
    }

    /// Explains why a run did not begin to a user who is not at a terminal. Nothing that a program sends can
    /// consent.
    pub(crate) fn refusal(&self, event: &SteeredEvent) -> Option<String> {
        let SteeredEvent::Refused { message, details, hint } = event else { return None };
        let hint = match hint.as_deref() {
            Some(CONSENT_HINT | CHANGES_HINT) => Some(format!(
                "run `agentry run {}` in a terminal: it lists what the agent may do and asks you",
                self.argument
            )),
            hint => hint.map(str::to_owned),
        };
        let lines = [message.clone()].into_iter().chain(details.iter().cloned()).chain(hint);
        Some(lines.collect::<Vec<_>>().join("; "))
    }
}

/// The whole command line of a run that is steered. After the dashes nothing is an option, whatever a program
/// sends.
pub(crate) fn steered_words(words: &[&str], last: &[&str]) -> Vec<String> {
    let words = [words, &["--control", "--format", "json", "--"], last];
    words.concat().into_iter().map(str::to_owned).collect()
}

/// The message of a failure in one line.
pub(crate) fn in_one_line(failure: &CliFailure) -> String {
    let CliFailure { message, details, hint, .. } = failure;
    let lines = [message].into_iter().chain(details).chain(hint);
    lines.cloned().collect::<Vec<_>>().join("; ")
}
