//! A real run: connects the driver with the journal, the models, the tools and the output.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_compile::SEARCH_VARIABLES;
use agentry_compile::text::report::visible;
use agentry_home::HomeLayout;
use agentry_runtime::budget_pot::BudgetShare;
use agentry_runtime::driver::interfaces::RunTools;
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::driver::{BrokenRun, RunDriver};
use agentry_runtime::function::FunctionCall;
use agentry_runtime::journal::{self, Journal, RunSettings};
use agentry_runtime::provider::http;
use agentry_runtime::tool::SearchClient;
use agentry_runtime::tool::mcp::ServerPrompt;
use agentry_runtime::undo::{RunFileChange, TurnLedger, changed_files};
use agentry_runtime::{RunEnding, RunPhase, StepState, TimedEvent};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::assembly::{NewRun, ReadyTools, RunAssembly, RunEngine, SharedJournal, create_journal};
use super::confinement::ConfinedCommands;
use super::control::{self, RunControl};
use super::delegation::scope::{DelegationScope, TreeSettings};
use super::first_consent::{ConsentTerms, consent, listing};
use super::limits::{began, limits, limits_again};
use super::line_editor::LineEditor;
use super::memory::{TreeMemories, may_converse};
use super::prepared_agent::{PreparedAgent, variable};
use super::recording::{PendingRecording, admitted, recorded};
use super::run_observers::{RunObservers, banner_rows};
use super::stop::StopSwitch;
use super::talk_commands::stat_lines;
use super::workers::workers;
use super::{exit, standing, talk, talk_requests};
use crate::args::{AskFallback, ResumeArguments, RunArguments, RunFormat};
use crate::command::receipts::recording as receipts;
use crate::engine;
use crate::output::{CliFailure, CliOutcome, error_text, print, print_json, remark, when_unread};

/// A run that messages can be sent to.
pub(crate) struct RunSession<'a> {
    pub(super) ground: &'a PreparedAgent,
    pub(super) driver: RunDriver,
    pub(super) watching: RunObservers,
    pub(super) tools: Arc<dyn RunTools>,
    /// The prompts of servers.
    pub(super) prompts: Vec<Arc<ServerPrompt>>,
    recording: Option<PendingRecording>,
    pub(super) journal: SharedJournal,
    /// What each turn changed.
    pub(super) turns: TurnLedger,
    /// The run to continue after this one.
    pub(super) next: Option<String>,
    /// What the user does without.
    pub(super) without: &'a [String],
    /// The name of the sandbox back end.
    sandbox: &'static str,
    /// The number of models, and their smallest context window.
    plan: (usize, Option<u64>),
    /// The switch that stops the run.
    pub(super) stop: Arc<StopSwitch>,
    /// The function that it carries out, and its output.
    function: Option<FunctionCall>,
    output: Option<Value>,
}

/// The settings that a new and a resumed run have in common.
pub(crate) struct SessionSetting<'a> {
    pub(crate) ground: &'a PreparedAgent,
    pub(crate) format: RunFormat,
    pub(crate) on_ask: AskFallback,
    /// Whether another program steers the run.
    pub(crate) is_controlled: bool,
    pub(crate) commands: ConfinedCommands,
    pub(crate) record: Option<&'a str>,
    /// The function that the run carries out.
    pub(crate) function: Option<FunctionCall>,
    /// What the user does without.
    pub(crate) without: &'a [String],
    /// What holds for the runs of all delegates.
    pub(crate) tree: TreeSettings,
    /// Whether the user accepted changes of servers on the command line.
    pub(crate) accepts_changes: bool,
}

impl<'a> RunSession<'a> {
    /// Asks for consent and starts a run.
    pub(crate) fn start(
        setting: &mut SessionSetting<'a>,
        args: &'a RunArguments,
        engine: RunEngine,
        prompt: Option<&str>,
    ) -> Result<Self, CliFailure> {
        let ground = setting.ground;
        // Before the report, after which nothing is known of these changes.
        receipts::collect(&HomeLayout::new(&ground.home));
        ground.report_leftovers_of_killed_runs();
        ground.report_masked_secrets();
        // Before the user is asked, and before any request costs money.
        args.record.as_deref().map(admitted).transpose()?;
        let listed = || listing(ground, setting.commands.words(), engine.names.clone());
        let agreed = consent(ground, ConsentTerms::of(args), now(), listed)?;
        setting.tree.agreed = Arc::new(agreed);
        setting.commands.start_early(ground);
        for note in &engine.notes {
            remark(&format!("note: {note}"));
        }
        let watching = RunObservers::of(setting);
        // Before anything that may take long, most of all the start of servers.
        watching.greet(setting, &engine.models.name(0), prompt.is_none());
        let own = ground.memories(setting.without, prompt, engine.window);
        let tree = TreeMemories::of(setting.tree.memories.reach, ground, &own);
        let (memory, user, is_private) = (own.text, tree.user.clone(), tree.is_private);
        setting.tree.memories = tree;
        let new = NewRun {
            settings: RunSettings { user, is_private, memory: memory.clone(), ..settings(args) },
            models: engine.names.clone(),
            prompt,
            sandbox: setting.commands.name(),
            parent: None,
        };
        let amendment = receipts::amend_earlier_run(ground);
        // Before the servers start, because what they leave behind is kept beside it.
        let journal = create_journal(ground, new)?;
        let ready = match ReadyTools::of_run(setting, &watching, &journal) {
            Ok(ready) => ready,
            Err(failure) => {
                let _ = journal.discard();
                return Err(failure);
            }
        };
        drop(amendment);
        let limits = limits(&ground.agent, &args.spending, &ground.caps);
        let began = began(&ground.agent, limits, engine.names.len(), engine.window);
        let parts = (&ready, memory.as_deref());
        let mut session = Self::with(setting, engine, journal, watching, parts)?;
        session.driver.begin(began).map_err(broken)?;
        session.introduce();
        Ok(session)
    }

    /// Creates a session that continues a journal, with the memories that its prompt had.
    pub(crate) fn over(
        setting: &SessionSetting<'a>,
        engine: RunEngine,
        journal: Journal,
        memory: Option<&str>,
    ) -> Result<Self, CliFailure> {
        let watching = RunObservers::of(setting);
        let ready = ReadyTools::of_run(setting, &watching, &journal)?;
        receipts::reopen(&setting.ground.home, journal.id());
        Self::with(setting, engine, journal, watching, (&ready, memory))
    }

    fn with(
        setting: &SessionSetting<'a>,
        engine: RunEngine,
        journal: Journal,
        watching: RunObservers,
        (ready, memory): (&ReadyTools, Option<&str>),
    ) -> Result<Self, CliFailure> {
        let ground = setting.ground;
        let directory = journal.directory().to_path_buf();
        let declared = &ready.declared;
        let machine = ground.machine_parts(declared, memory);
        let missing = declared.missing_names();
        let function = setting.function.as_ref().map(|call| call.function.name.clone());
        let record = |path| {
            let about = (&*machine, &*missing);
            PendingRecording::new(ground, &directory, path, about, (function, declared))
        };
        let recording = setting.record.map(record).transpose()?;
        let budget = BudgetShare::root(ground.agent.name());
        if let Some(delegates) = &ready.declared.delegates {
            let scope = DelegationScope::root(setting, &watching, journal.id(), &budget)?;
            delegates.attach(scope);
        }
        let journal = SharedJournal(Arc::new(Mutex::new(journal)));
        let turns = TurnLedger::read(&directory);
        let plan = (engine.names.len(), engine.window);
        let log = Box::new(journal.clone());
        let (models, log) = recorded(recording.as_ref(), engine.models, log);
        let assembly = RunAssembly {
            ground,
            models,
            log,
            directory: &directory,
            files: journal.files(),
            ready,
            function: setting.function.as_ref(),
            person: Arc::clone(&watching.person),
            hears: Arc::clone(&watching.hears),
            can_ask: watching.can_ask(),
            budget,
            memory,
            approvals: Arc::new(standing::approvals(ground, recording.is_some())),
        };
        let (driver, tools) = assembly.build()?;
        let stop = stop(&driver, &watching);
        let sandbox = setting.commands.name();
        let (function, output) = (setting.function.clone(), None);
        Ok(Self {
            ground,
            driver,
            watching,
            tools,
            prompts: ready.declared.prompts.clone(),
            recording,
            journal,
            turns,
            next: None,
            without: setting.without,
            sandbox,
            plan,
            stop,
            function,
            output,
        })
    }

    /// Shows what runs.
    fn introduce(&self) {
        let remarks = &self.ground.prompt.remarks;
        remarks.iter().for_each(|line| remark(&format!("warning: {}", visible(line))));
        let journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        let greeting = self.ground.agent.identity.greeting.as_ref().map(|it| it.value.clone());
        (self.watching.hears)(RunOutput::Run {
            id: Some(journal.id().to_owned()),
            agent: self.ground.agent.name().to_owned(),
            digest: self.ground.digest.clone(),
            models: (0..self.driver.state().models).map(|at| self.driver.model(at)).collect(),
            tools: self.tools.specs().iter().map(|spec| spec.name.clone()).collect(),
            sandbox: self.sandbox.to_owned(),
            limits: self.driver.state().limits,
            spent: self.driver.state().spent,
            greeting,
        });
    }

    /// Runs the prompt, or a conversation without one.
    pub(crate) fn run(mut self, prompt: Option<String>) -> CliOutcome {
        let runtime = workers()?;
        let ending = runtime.block_on(async {
            self.stop.listen();
            match (prompt, self.conversing_program()) {
                (prompt, Some(control)) => control::converse(&mut self, &control, prompt).await,
                (Some(prompt), None) => {
                    self.watching.begin();
                    let ending = self.send_message(prompt).await?;
                    self.settle(Some(ending)).await
                }
                (None, None) => talk::talk(&mut self).await,
            }
        });
        self.end(runtime, ending)
    }

    /// Whether the run is recorded to a cassette.
    pub(super) const fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    /// The program that steers the run, if it may send one message after the other.
    fn conversing_program(&self) -> Option<Arc<RunControl>> {
        let is_single = self.function.is_some() || may_converse(self.ground).is_err();
        self.watching.control.clone().filter(|_| !is_single)
    }

    /// The files that the tools of the run changed.
    pub(super) fn changed_files(&self) -> Vec<RunFileChange> {
        let journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Only shown: a file that cannot be read now is left out, and the run goes on.
        changed_files(&[journal::images(journal.directory())]).unwrap_or_default()
    }

    /// Shows the files that a turn changed.
    pub(super) fn show_changes(&self, changed: &[RunFileChange]) {
        let mut view = self.watching.view();
        if view.is_live() {
            view.show(&stat_lines(self, changed));
            view.draw();
        }
    }

    /// What a user should know at the start of a conversation.
    pub(super) fn banner(&self) -> [(&'static str, String); 4] {
        let model = self.driver.model(self.driver.state().model);
        banner_rows(self.ground, model, self.sandbox)
    }

    /// Checks the output of the function that the run carries out.
    async fn settle(&mut self, ending: Option<RunEnding>) -> Result<Option<RunEnding>, BrokenRun> {
        let Some(function) = self.function.clone() else { return Ok(ending) };
        let ending = ending.unwrap_or(RunEnding::Done);
        let (ending, output) = function.finish(&mut self.driver, ending).await?;
        let is_known = self.driver.state().phase == RunPhase::Ended(ending.clone());
        if matches!(ending, RunEnding::Failed { .. }) && !is_known {
            let spent = self.driver.state().spent;
            (self.watching.hears)(RunOutput::Ended { ending: ending.clone(), spent });
        }
        self.output = output;
        Ok(Some(ending))
    }

    /// Resumes a run: first the unfinished step, then the new prompt. A conversation without a prompt
    /// continues at the terminal.
    pub(crate) fn go_on(
        mut self,
        recalled: Vec<TimedEvent>,
        args: &ResumeArguments,
        (prompt, is_conversation): (Option<String>, bool),
    ) -> CliOutcome {
        let runtime = workers()?;
        self.driver.recall(recalled);
        let before = self.driver.state().limits;
        let limits = limits_again(&self.ground.agent, &args.spending, &self.ground.caps, &before);
        let (models, window) = self.plan;
        self.driver.adjust(limits, models, window).map_err(broken)?;
        self.watching.recall(self.driver.state());
        self.introduce();
        let talks = is_conversation && self.watching.attendant.is_some() && prompt.is_none();
        let ending = runtime.block_on(async {
            self.stop.listen();
            if let Some(ending) = self.ended_before(prompt.as_ref()) {
                return Ok(Some(ending));
            }
            let program = self.conversing_program();
            let waits = talks || program.is_some() || prompt.is_some();
            let resumes = !waits || is_under_way(self.driver.state());
            if resumes || prompt.is_some() {
                self.watching.begin();
            }
            self.begin_turn();
            let ending = if resumes { self.driver.resume().await? } else { None };
            self.end_turn();
            match prompt.clone() {
                // The resumed step ended the run, for example at a limit: there is no turn for a new prompt.
                _ if resumes && matches!(self.driver.state().phase, RunPhase::Ended(_)) => {
                    Ok(ending)
                }
                prompt if program.is_some() => {
                    let last = converse_on(&mut self, program, prompt).await?;
                    Ok(last.or(ending))
                }
                Some(prompt) => self.send_message(prompt).await.map(Some),
                // A conversation continues at the prompt, once the unfinished step is done.
                None if talks => talk::talk(&mut self).await,
                None => self.settle(ending).await,
            }
        });
        if matches!(ending, Ok(None)) && !talks {
            let spent = self.driver.state().spent;
            (self.watching.hears)(RunOutput::Ended { ending: RunEnding::Done, spent });
            remark("nothing was left to do: `agentry resume ID PROMPT` says something more");
        }
        self.end(runtime, ending)
    }

    /// How a run ended that a worker continues although all is done: its process died before it could say so.
    fn ended_before(&self, prompt: Option<&String>) -> Option<RunEnding> {
        let state = self.driver.state();
        if !engine::is_claimed() || prompt.is_some() || is_under_way(state) {
            return None;
        }
        let ending = match &state.phase {
            RunPhase::Ended(ending) => ending.clone(),
            _ => RunEnding::Done,
        };
        (self.watching.hears)(RunOutput::Ended { ending: ending.clone(), spent: state.spent });
        Some(ending)
    }

    /// Ends the session and restores the terminal. An open question does not block the exit.
    fn end(self, runtime: Runtime, ending: Result<Option<RunEnding>, BrokenRun>) -> CliOutcome {
        self.watching.leave();
        let lines = self.watching.attendant.as_ref().map(|it| it.lines.clone());
        let restore = |lines: &LineEditor| lines.restore();
        if lines.as_ref().is_some_and(restore) {
            print("\n");
        }
        let next = self.next.clone();
        let outcome = ending.map_err(broken).and_then(|ending| self.finish(ending));
        // Not a plain drop, which would wait for the blocking read of the line editor.
        runtime.shutdown_background();
        // A read may have started between the first restore and the shutdown.
        lines.as_ref().map(restore);
        match next {
            Some(id) => outcome.and_then(|_| talk_requests::continue_run(&id)),
            None => outcome,
        }
    }

    /// Writes the end of the run to the journal.
    fn finish(self, ending: Option<RunEnding>) -> CliOutcome {
        let mut journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ending = ending.unwrap_or(RunEnding::Done);
        engine::git_workspace::hand_in(&journal, self.ground);
        journal.finished(&ending).map_err(|error| CliFailure::new(error.to_string()))?;
        receipts::record_ending(&self.ground.home, journal.id(), &ending);
        if let Some(recording) = &self.recording {
            let message = |error| format!("the cassette was not kept: {}", error_text(&error));
            recording.keep().map_err(|error| CliFailure::new(message(error)))?;
        }
        match &self.output {
            Some(output) if self.watching.control.is_some() => control::report_output(output),
            Some(output) => print_json(output),
            None => {}
        }
        let exit = exit(&ending);
        if let RunEnding::OverBudget { limit } = &ending {
            let option = limit_option(limit);
            let id = journal.id();
            remark(&format!(
                "  = help: `agentry resume {id} {option}` continues it with a higher limit"
            ));
        }
        if matches!(ending, RunEnding::Cancelled | RunEnding::Parked { .. }) {
            remark(&format!("  = help: `agentry resume {}` continues it", journal.id()));
        }
        Ok(exit)
    }
}

/// The option that raises a limit, from the text of the limit.
fn limit_option(limit: &str) -> &'static str {
    match limit {
        _ if limit.starts_with('$') => "--max-cost DOLLARS",
        _ if limit.contains("turn") => "--max-turns N",
        _ if limit.contains("step") => "--max-steps N",
        _ if limit.contains("token") => "--max-tokens N",
        _ => "--max-time TIME",
    }
}

/// The options of a new run, for `resume`.
fn settings(args: &RunArguments) -> RunSettings {
    RunSettings {
        model: args.model.clone(),
        unconfined: args.unconfined,
        parks: args.on_ask == AskFallback::Park,
        format: args.format_override.map(|format| format.to_string()),
        function: args.call.clone(),
        without: args.without.clone(),
        directory: std::env::current_dir().ok(),
        user: None,
        is_private: false,
        memory: None,
        estimate: args.estimate,
        firing: args.firing.clone(),
        policy: Vec::new(),
    }
}

/// Lets the program send messages to a run that was resumed.
async fn converse_on(
    session: &mut RunSession<'_>,
    program: Option<Arc<RunControl>>,
    prompt: Option<String>,
) -> Result<Option<RunEnding>, BrokenRun> {
    let Some(control) = program else { return Ok(None) };
    control::converse(session, &control, prompt).await
}

/// Whether a step is unfinished and continues before a new prompt is sent.
pub(crate) fn is_under_way(state: &StepState) -> bool {
    match &state.phase {
        // A run that ended at a limit continues only if the limit was raised.
        RunPhase::Ended(RunEnding::OverBudget { .. }) => state.exceeded().is_none(),
        RunPhase::Ended(ending) => matches!(ending, RunEnding::Parked { .. }),
        phase => *phase != RunPhase::Idle,
    }
}

/// The search service of the environment. No client is built without one.
pub(crate) fn search() -> Option<SearchClient> {
    SEARCH_VARIABLES.into_iter().find_map(variable)?;
    SearchClient::of(&variable, &http::remote(&variable).ok()?)
}

/// The stop switch of a run: signals, Ctrl-C at a question, and a closed standard output use it.
fn stop(driver: &RunDriver, watching: &RunObservers) -> Arc<StopSwitch> {
    let stop = Arc::new(StopSwitch::new(driver.canceller()));
    let replaced = Arc::clone(&stop);
    engine::end_by(move || replaced.end());
    if let Some(attendant) = &watching.attendant {
        attendant.stop_by(&stop);
    }
    if let Some(control) = watching.control.clone() {
        control.stop_by(&stop);
        // A program that ends does not take the turn under way with it.
        when_unread(move || control.leave());
        return stop;
    }
    let unread = Arc::clone(&stop);
    when_unread(move || unread.end());
    stop
}

/// A single-threaded runtime for a replay, in which nothing blocks.
pub(crate) fn runtime() -> Result<Runtime, CliFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliFailure::new(format!("nothing can be run: {}", error_text(&error))))
}

pub(super) fn broken(BrokenRun(why): BrokenRun) -> CliFailure {
    CliFailure::new(format!("the run cannot be written down: {why}")).finding()
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds since the Unix epoch.
pub(crate) fn seconds() -> i64 {
    i64::try_from(now() / 1_000).unwrap_or(i64::MAX)
}
