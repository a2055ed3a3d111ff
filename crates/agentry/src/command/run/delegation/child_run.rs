//! The run of a delegate: begun by a call of its parent, or continued where an earlier process left it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agentry_runtime::driver::RunDriver;
use agentry_runtime::driver::interfaces::{Approver, OutputSink};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::function::{AgentFunction, FunctionCall};
use agentry_runtime::journal::{Journal, ParentRun, RunDescription, RunSettings};
use agentry_runtime::rule_lines::{widened, written};
use agentry_runtime::tool::{AfterCall, ToolOutput};
use agentry_runtime::{MessageRole, RunEnding, RunLimits, StepState, TimedEvent};
use serde_json::Value;

use super::chain_approver::ChainApprover;
use super::delegate_list::{KnownDelegate, chain_text};
use super::readiness::{DelegationTerms, engine, prepared};
use super::scope::{ChildPlace, DelegationScope};
use crate::args::SpendingArguments;
use crate::command::receipts::recording::{record_ending, reopen};
use crate::command::run::assembly::{
    NewRun, ReadyTerms, ReadyTools, RunAssembly, RunEngine, SharedJournal, create_journal,
};
use crate::command::run::confinement::ConfinedCommands;
use crate::command::run::limits::{began, limits};
use crate::command::run::memory::RunMemories;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::engine;
use crate::output::CliFailure;

/// What a call asks of another agent.
#[derive(Clone)]
pub(super) struct DelegateTask {
    pub(super) delegate: KnownDelegate,
    pub(super) job: DelegateJob,
}

/// What a delegate is to do.
#[derive(Clone)]
pub(super) enum DelegateJob {
    /// Follow a prompt.
    Prompt(String),
    /// Carry out a function with this input.
    Call(Box<AgentFunction>, Value),
}

impl DelegateJob {
    fn prompt(&self) -> String {
        match self {
            Self::Prompt(prompt) => prompt.clone(),
            Self::Call(function, input) => function.prompt(input),
        }
    }
}

/// The journal of a child, what happened in it, and the memories in its prompt.
type ChildJournal = (Journal, Vec<TimedEvent>, Option<String>);

/// The run of a delegate.
struct ChildRun {
    driver: RunDriver,
    journal: SharedJournal,
    function: Option<FunctionCall>,
    name: String,
    home: PathBuf,
}

/// Lets a delegate work, and returns its answer as the result of the call.
pub(super) async fn work(
    scope: &Arc<DelegationScope>,
    task: &DelegateTask,
    call: &str,
) -> ToolOutput {
    let Ok(_seat) = scope.seats.acquire().await else {
        return ToolOutput::failed("the run is over");
    };
    // Reading the agent and starting its tools blocks.
    let setup = {
        let (scope, task, call) = (Arc::clone(scope), task.clone(), call.to_owned());
        tokio::task::spawn_blocking(move || ChildRun::set_up(&scope, &task, &call))
    };
    let name = &task.delegate.name;
    let mut child = match setup.await {
        Ok(Ok(child)) => child,
        Ok(Err(failure)) => return refused(name, &failure),
        Err(error) => return ToolOutput::failed(format!("`{name}` does not start: {error}")),
    };
    let ended = child.go(task.job.prompt()).await;
    child.report(ended)
}

fn refused(name: &str, failure: &CliFailure) -> ToolOutput {
    let hint = failure.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    let lines = failure.details.iter().map(String::as_str);
    let details = [""].into_iter().chain(lines).collect::<Vec<_>>().join("\n  ");
    ToolOutput::failed(format!(
        "`{name}` does not start: {}{hint}{}",
        failure.message,
        details.trim_end()
    ))
}

impl ChildRun {
    /// Prepares the run of a delegate: everything before its first event.
    fn set_up(
        scope: &Arc<DelegationScope>,
        task: &DelegateTask,
        call: &str,
    ) -> Result<Self, CliFailure> {
        let (ground, above) = prepared(&scope.tree, &scope.ceiling, &task.delegate)?;
        let function = function(&ground, &task.job)?;
        let limits = limits(&ground.agent, &SpendingArguments::default(), &ground.caps);
        let engine = engine(&scope.tree, &ground, &limits)?;
        let unconfined = scope.tree.unconfined && !ground.agent.policy.needs_sandbox();
        let commands = ConfinedCommands::new(&ground, unconfined);
        let chain = chain_text(&scope.chain, &task.delegate.name);
        let person: Arc<dyn Approver> =
            Arc::new(ChainApprover { person: Arc::clone(&scope.person), chain: chain.clone() });
        let earlier = scope.begun(call);
        let (journal, happened, memory) = match &earlier {
            Some(id) => {
                let found = reopened(scope, &ground, id)?;
                reopen(&ground.home, id);
                found
            }
            None => begun(scope, &ground, task, call, (&engine, &commands))?,
        };
        let hears = wrapped(&scope.hears, chain, journal.id());
        let terms = ReadyTerms {
            without: &[],
            accepts_changes: scope.tree.accepts_changes,
            person: &person,
            hears: &hears,
            can_ask: scope.can_ask,
            delegation: DelegationTerms {
                tree: scope.tree.clone(),
                above: above.clone(),
                can_ask: scope.can_ask,
            },
        };
        let ready = match ReadyTools::of(&ground, &commands, journal.directory(), &terms) {
            Ok(ready) => ready,
            // A journal without an event is useless.
            Err(failure) if earlier.is_none() => {
                let _ = journal.discard();
                return Err(failure);
            }
            Err(failure) => return Err(failure),
        };
        scope.begin(call, journal.id());
        let budget = scope.budget.delegate(ground.agent.name(), journal.id(), call);
        if let Some(delegates) = &ready.declared.delegates {
            let place = ChildPlace {
                above,
                budget: budget.clone(),
                is_resumed: earlier.is_some(),
                counts_money: scope.tree.counts_money || limits.cost.is_some(),
            };
            delegates.attach(scope.below(&ground, journal.id(), place)?);
        }
        let directory = journal.directory().to_path_buf();
        let journal = SharedJournal(Arc::new(Mutex::new(journal)));
        let (models, window) = (engine.names.len(), engine.window);
        let assembly = RunAssembly {
            ground: &ground,
            models: engine.models,
            log: Box::new(journal.clone()),
            directory: &directory,
            files: journal.files(),
            ready: &ready,
            function: function.as_ref(),
            person,
            hears,
            can_ask: scope.can_ask,
            budget,
            memory: memory.as_deref(),
            // What the user approves for a delegate holds for its own run only.
            approvals: Arc::default(),
        };
        let (mut driver, _) = assembly.build()?;
        let written = match earlier {
            Some(_) => {
                driver.recall(happened);
                driver.adjust(narrowed(limits, driver.state().limits), models, window)
            }
            None => driver.begin(began(&ground.agent, limits, models, window)),
        };
        written.map_err(|error| CliFailure::new(error.to_string()))?;
        let name = task.delegate.name.clone();
        let home = ground.home.clone();
        Ok(Self { driver, journal, function, name, home })
    }

    /// Runs until nothing is left to do.
    async fn go(&mut self, prompt: String) -> Result<(RunEnding, Option<Value>), String> {
        let worked = self.turn(prompt).await.map_err(|error| error.to_string())?;
        let ended = match (self.function.clone(), worked) {
            (Some(function), ending) => function
                .finish(&mut self.driver, ending)
                .await
                .map_err(|error| error.to_string())?,
            (None, ending) => (ending, None),
        };
        let mut journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        journal.finished(&ended.0).map_err(|error| error.to_string())?;
        record_ending(&self.home, journal.id(), &ended.0);
        Ok(ended)
    }

    async fn turn(
        &mut self,
        prompt: String,
    ) -> Result<RunEnding, agentry_runtime::driver::BrokenRun> {
        let state = self.driver.state();
        if state.messages.is_empty() && state.queue.is_empty() {
            return self.driver.send_message(prompt).await;
        }
        // A run without anything left to do has its answer already.
        Ok(self.driver.resume().await?.unwrap_or(RunEnding::Done))
    }

    /// The result of the call that began it.
    fn report(&self, ended: Result<(RunEnding, Option<Value>), String>) -> ToolOutput {
        let name = &self.name;
        let (ending, output) = match ended {
            Ok(ended) => ended,
            Err(why) => return ToolOutput::failed(format!("`{name}` was stopped: {why}")),
        };
        match ending {
            RunEnding::Done => {
                let text = output.map(|output| output.to_string());
                ToolOutput::done(text.unwrap_or_else(|| answer(self.driver.state())))
            }
            RunEnding::Failed { why } => ToolOutput::failed(format!("`{name}` failed: {why}")),
            RunEnding::OverBudget { limit } => {
                ToolOutput::failed(format!("`{name}` stopped at the limit of {limit}"))
            }
            RunEnding::Cancelled => ToolOutput::failed(format!("`{name}` was stopped")),
            RunEnding::Parked { question } => ToolOutput {
                then: AfterCall::Park(format!("`{name}`: {question}")),
                ..ToolOutput::failed(format!("`{name}` waits for the person"))
            },
        }
    }
}

impl Drop for ChildRun {
    /// A child that is dropped while it works was stopped from above.
    fn drop(&mut self) {
        self.driver.leave();
    }
}

/// The last text of the model.
fn answer(state: &StepState) -> String {
    let last = state.messages.iter().rev().find(|it| it.role == MessageRole::Assistant);
    let text = last.map(|it| it.text()).unwrap_or_default();
    if text.trim().is_empty() { "it ended without an answer".to_owned() } else { text }
}

/// The function as the definition has it now.
fn function(ground: &PreparedAgent, job: &DelegateJob) -> Result<Option<FunctionCall>, CliFailure> {
    match job {
        DelegateJob::Prompt(_) => Ok(None),
        DelegateJob::Call(function, _) => {
            crate::command::run::function::named(ground, &function.name).map(Some)
        }
    }
}

/// Creates the journal of a new child, which names the run and the call that it works for.
fn begun(
    scope: &DelegationScope,
    ground: &PreparedAgent,
    task: &DelegateTask,
    call: &str,
    (engine, commands): (&RunEngine, &ConfinedCommands),
) -> Result<ChildJournal, CliFailure> {
    let function = match &task.job {
        DelegateJob::Prompt(_) => None,
        DelegateJob::Call(function, _) => Some(function.name.clone()),
    };
    let prompt = task.job.prompt();
    let RunMemories { text: memory, user, is_private } =
        ground.memories(&[], Some(&prompt), engine.window);
    let above = &scope.tree.memories;
    let settings = RunSettings {
        user: user.or_else(|| above.user.clone()),
        is_private: is_private || above.is_private,
        memory: memory.clone(),
        unconfined: scope.tree.unconfined,
        function,
        directory: std::env::current_dir().ok(),
        ..RunSettings::default()
    };
    let journal = create_journal(
        ground,
        NewRun {
            settings,
            models: engine.names.clone(),
            prompt: Some(&prompt),
            sandbox: commands.name(),
            parent: Some(ParentRun { run: scope.run.clone(), call: call.to_owned() }),
        },
    )?;
    Ok((journal, Vec::new(), memory))
}

/// Opens the journal of a child that an earlier process began. It continues with no more rights than it had.
fn reopened(
    scope: &DelegationScope,
    ground: &PreparedAgent,
    id: &str,
) -> Result<ChildJournal, CliFailure> {
    let opened = engine::open_journal(&scope.home, id, Arc::clone(&ground.redactor));
    let (journal, about, happened) =
        opened.map_err(|error| CliFailure::new(error.to_string()).refused())?;
    let RunDescription { digest, settings, .. } = &about;
    let wider = widened(&settings.policy, &written(&ground.judge));
    if (*digest != ground.digest || !wider.is_empty()) && !scope.tree.accepts_changes {
        let message = format!("`{}` is not what it was when the run began", about.agent);
        return Err(CliFailure::new(message).hint("`agentry resume --accept-changes`").refused());
    }
    Ok((journal, happened, about.settings.memory))
}

/// The stricter of the limits now and before; limits that were raised by the user stay raised.
fn narrowed(now: RunLimits, before: RunLimits) -> RunLimits {
    let least = |now: Option<u64>, before: Option<u64>| match (now, before) {
        (Some(_), Some(before)) => Some(before),
        (now, before) => before.or(now),
    };
    RunLimits {
        turns: least(now.turns, before.turns),
        steps: least(now.steps, before.steps),
        tokens: least(now.tokens, before.tokens),
        cost: least(now.cost, before.cost),
        time: least(now.time, before.time),
    }
}

/// The output of a child, with the agents that lead to it.
fn wrapped(hears: &OutputSink, agent: String, run: &str) -> OutputSink {
    let (hears, run) = (Arc::clone(hears), run.to_owned());
    Arc::new(move |output: RunOutput| {
        let output = Box::new(output);
        hears(RunOutput::Delegate { agent: agent.clone(), run: run.clone(), output });
    })
}
