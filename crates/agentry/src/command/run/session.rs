//! A real run: connects the driver with the journal, the models, the tools and the output.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_compile::SEARCH_VARIABLES;
use agentry_compile::text::report::visible;
use agentry_runtime::approval::Approvals;
use agentry_runtime::cassette::{self, CassetteRecorder};
use agentry_runtime::commands::CommandStarter;
use agentry_runtime::driver::interfaces::{
    AbsentApprover, Approver, Clock, DriverParts, EventLog, OutputSink, RunModels, RunTools,
};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::driver::recording::{RecordedLog, RecordedModels, SharedRecording};
use agentry_runtime::driver::{BrokenRun, RunDriver};
use agentry_runtime::journal::{Journal, RunDescription, RunSettings};
use agentry_runtime::provider::http;
use agentry_runtime::provider::plan::{ModelPlan, PlannedModel};
use agentry_runtime::quarantine::{self, QuarantineReport, ReportListener};
use agentry_runtime::rule_lines::{digest, written};
use agentry_runtime::tool::SearchClient;
use agentry_runtime::undo::BeforeImages;
use agentry_runtime::{RunEnding, RunPhase, StepState, TimedEvent};
use tokio::runtime::Runtime;

use super::approver::TerminalApprover;
use super::confinement::ConfinedCommands;
use super::declared_tools::{self, DeclaredTools, GatherTerms, built_in};
use super::first_consent::{ConsentTerms, consent, listing};
use super::limits::{began, limits, limits_again};
use super::line_editor::LineEditor;
use super::prepared_agent::{PreparedAgent, RunSurroundings, variable};
use super::stop::StopSwitch;
use super::terminal::TerminalView;
use super::workers::workers;
use super::{exit, talk};
use crate::args::{AskFallback, ResumeArguments, RunArguments, RunFormat};
use crate::output::{CliFailure, CliOutcome, print, remark, said, when_unread};

/// A run that messages can be sent to.
pub(crate) struct RunSession<'a> {
    pub(super) ground: &'a PreparedAgent,
    pub(super) driver: RunDriver,
    pub(super) watching: RunObservers,
    pub(super) tools: Arc<dyn RunTools>,
    recording: Option<PendingRecording>,
    journal: SharedJournal,
    /// The name of the sandbox back end.
    sandbox: &'static str,
    /// The number of models, and their smallest context window.
    plan: (usize, Option<u64>),
    /// The switch that stops the run.
    pub(super) stop: Arc<StopSwitch>,
}

/// A journal that both the driver and the end of the session write to.
#[derive(Clone)]
struct SharedJournal(Arc<Mutex<Journal>>);

impl EventLog for SharedJournal {
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        journal.append(happened, durable).map_err(|error| error.to_string())
    }
}

/// A recording, and its final path. Until the end it lies beside the journal, where the agent does not
/// find it.
struct PendingRecording {
    recording: SharedRecording,
    part: PathBuf,
    path: PathBuf,
}

impl PendingRecording {
    fn new(ground: &PreparedAgent, directory: &Path, path: &str) -> Result<Self, CliFailure> {
        let part = directory.join("cassette.jsonl");
        // Secrets are redacted while recording, never afterwards.
        let redactor = Arc::clone(&ground.redactor);
        let name = ground.agent.name();
        let recorder = CassetteRecorder::create(&part, name, now(), redactor, ground.places());
        let recorder = recorder.map_err(|error| CliFailure::new(said(&error)))?;
        Ok(Self { recording: SharedRecording::new(recorder), part, path: admitted(path)? })
    }

    /// Moves the recording to its final path.
    fn keep(&self) -> io::Result<()> {
        self.recording.finish()?;
        // Without this, a parallel run would take the file for one that its own command created.
        let run = self.part.parent().unwrap_or(Path::new(""));
        quarantine::note(run, &self.part, &self.path)?;
        cassette::keep(&self.part, &self.path)?;
        fs::remove_file(&self.part)
    }
}

/// The final path of a recording.
fn admitted(path: &str) -> Result<PathBuf, CliFailure> {
    let message = |error| format!("nothing can be recorded to `{path}`: {}", said(&error));
    cassette::admit(Path::new(path)).map_err(|error| CliFailure::new(message(error)))
}

/// How the tools of a run are made ready.
struct RunReadiness<'a> {
    without: &'a [String],
    accepts: bool,
}

/// The tools of the definition, and what starts the commands of the run.
struct ReadyTools {
    declared: DeclaredTools,
    commands: Arc<dyn CommandStarter>,
}

impl RunReadiness<'_> {
    /// Makes the tools ready, or refuses the run.
    fn check(
        self,
        setting: &SessionSetting<'_>,
        watching: &RunObservers,
        journal: &Journal,
    ) -> Result<ReadyTools, CliFailure> {
        let tell = tell(setting.ground, &watching.hears);
        let commands = setting.commands.of_run(setting.ground, journal.directory(), tell);
        let terms = GatherTerms {
            without: self.without,
            commands: Arc::clone(&commands),
            person: Arc::clone(&watching.person),
            can_ask: watching.attendant.is_some(),
            accepts_changes: self.accepts,
        };
        let declared = declared_tools::ready(setting.ground, &terms)?;
        Ok(ReadyTools { declared, commands })
    }
}

/// The settings that a new and a resumed run have in common.
pub(crate) struct SessionSetting<'a> {
    pub(crate) ground: &'a PreparedAgent,
    pub(crate) format: RunFormat,
    pub(crate) on_ask: AskFallback,
    pub(crate) commands: ConfinedCommands,
    pub(crate) record: Option<&'a str>,
    /// What the run does without, by name.
    pub(crate) without: &'a [String],
    /// Whether the user accepted changes of servers on the command line.
    pub(crate) accepts_changes: bool,
}

impl<'a> RunSession<'a> {
    /// Asks for consent and starts a run.
    pub(crate) fn start(
        ground: &'a PreparedAgent,
        args: &'a RunArguments,
        plan: ModelPlan,
        commands: ConfinedCommands,
        prompt: Option<&str>,
    ) -> Result<Self, CliFailure> {
        ground.tell_what_killed_runs_left();
        ground.report_masked_secrets();
        // Before the user is asked, and before any request costs money.
        args.record.as_deref().map(admitted).transpose()?;
        let names: Vec<String> = plan.entries.iter().map(PlannedModel::id).collect();
        let listed = || listing(ground, commands.words(), names.clone());
        consent(ground, ConsentTerms::of(args), now(), listed)?;
        for note in &plan.notes {
            remark(&format!("note: {note}"));
        }
        let setting = SessionSetting {
            ground,
            format: args.format,
            on_ask: args.on_ask,
            commands,
            record: args.record.as_deref(),
            without: &args.without,
            accepts_changes: args.accept_changes,
        };
        let watching = RunObservers::new(setting.format, setting.on_ask);
        // Before the servers start, because what they leave behind is kept beside it.
        let journal = Journal::create(
            &ground.home,
            &RunDescription {
                sandbox: setting.commands.name().to_owned(),
                ..about(ground, args, names, prompt)
            },
            Arc::clone(&ground.redactor),
        );
        let journal = journal.map_err(|error| CliFailure::new(error.to_string()))?;
        let readiness = RunReadiness { without: &args.without, accepts: args.accept_changes };
        let ready = readiness.check(&setting, &watching, &journal);
        let ready = match ready {
            Ok(ready) => ready,
            Err(failure) => {
                let _ = journal.discard();
                return Err(failure);
            }
        };
        let limits = limits(&ground.agent, &args.spending, &ground.caps);
        let began = began(&ground.agent, limits, plan.entries.len(), plan.window());
        let mut session = Self::with(&setting, plan, journal, watching, &ready)?;
        session.driver.begin(began).map_err(broken)?;
        session.introduce();
        Ok(session)
    }

    /// Creates a session that continues a journal.
    pub(crate) fn over(
        setting: &SessionSetting<'a>,
        plan: ModelPlan,
        journal: Journal,
    ) -> Result<Self, CliFailure> {
        let watching = RunObservers::new(setting.format, setting.on_ask);
        let readiness = RunReadiness { without: setting.without, accepts: setting.accepts_changes };
        let ready = readiness.check(setting, &watching, &journal)?;
        Self::with(setting, plan, journal, watching, &ready)
    }

    fn with(
        setting: &SessionSetting<'a>,
        plan: ModelPlan,
        journal: Journal,
        watching: RunObservers,
        ready: &ReadyTools,
    ) -> Result<Self, CliFailure> {
        let ground = setting.ground;
        let approvals: Arc<Approvals> = Arc::default();
        let tools = tools(setting, &watching, &journal, &approvals, ready)?;
        let declared = &ready.declared;
        let directory = journal.directory().to_path_buf();
        let recording = setting.record.map(|path| PendingRecording::new(ground, &directory, path));
        let recording = recording.transpose()?;
        let journal = SharedJournal(Arc::new(Mutex::new(journal)));
        let count = (plan.entries.len(), plan.window());
        let note = declared.note().map(|note| format!("\n\n{note}")).unwrap_or_default();
        let system = format!("{}{note}", ground.system);
        let (models, log) = recorded(recording.as_ref(), plan, &journal);
        let parts = DriverParts {
            system: system.into(),
            models,
            tools: Arc::clone(&tools),
            person: Arc::clone(&watching.person),
            log,
            clock: Arc::new(now),
            output: Arc::clone(&watching.hears),
            redactor: Arc::clone(&ground.redactor),
            waits: true,
        };
        let driver = RunDriver::new(parts, approvals);
        let stop = stop(&driver, watching.attendant.as_deref());
        let sandbox = setting.commands.name();
        let plan = count;
        Ok(Self { ground, driver, watching, tools, recording, journal, sandbox, plan, stop })
    }

    /// Shows what runs.
    fn introduce(&self) {
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
            match prompt {
                Some(prompt) => self.driver.say(prompt).await.map(Some),
                None => talk::talk(&mut self).await,
            }
        });
        self.end(runtime, ending)
    }

    /// Resumes a run: first the unfinished step, then the new prompt. A conversation without a prompt
    /// continues at the terminal.
    pub(crate) fn go_on(
        mut self,
        recalled: Vec<TimedEvent>,
        args: &ResumeArguments,
        is_conversation: bool,
    ) -> CliOutcome {
        let runtime = workers()?;
        self.driver.recall(recalled);
        let before = self.driver.state().limits;
        let limits = limits_again(&self.ground.agent, &args.spending, &self.ground.caps, &before);
        let (models, window) = self.plan;
        self.driver.adjust(limits, models, window).map_err(broken)?;
        self.introduce();
        let talks = is_conversation && self.watching.attendant.is_some() && args.prompt.is_none();
        let ending = runtime.block_on(async {
            self.stop.listen();
            let waits = talks || args.prompt.is_some();
            let resumes = !waits || is_under_way(self.driver.state());
            let ending = if resumes { self.driver.resume().await? } else { None };
            match args.prompt.clone() {
                // The resumed step ended the run, for example at a limit: there is no turn for a new prompt.
                _ if resumes && matches!(self.driver.state().phase, RunPhase::Ended(_)) => {
                    Ok(ending)
                }
                Some(prompt) => self.driver.say(prompt).await.map(Some),
                // A conversation continues at the prompt, once the unfinished step is done.
                None if talks => talk::talk(&mut self).await,
                None => Ok(ending),
            }
        });
        if matches!(ending, Ok(None)) && !talks {
            let spent = self.driver.state().spent;
            (self.watching.hears)(RunOutput::Ended { ending: RunEnding::Done, spent });
            remark("nothing was left to do: `agentry resume ID PROMPT` says something more");
        }
        self.end(runtime, ending)
    }

    /// Ends the session and restores the terminal. An open question does not block the exit.
    fn end(self, runtime: Runtime, ending: Result<Option<RunEnding>, BrokenRun>) -> CliOutcome {
        let lines = self.watching.attendant.as_ref().map(|it| it.lines.clone());
        let restore = |lines: &LineEditor| lines.restore();
        if lines.as_ref().is_some_and(restore) {
            print("\n");
        }
        let outcome = ending.map_err(broken).and_then(|ending| self.finish(ending));
        // Not a plain drop, which would wait for the blocking read of the line editor.
        runtime.shutdown_background();
        // A read may have started between the first restore and the shutdown.
        lines.as_ref().map(restore);
        outcome
    }

    /// Writes the end of the run to the journal.
    fn finish(self, ending: Option<RunEnding>) -> CliOutcome {
        let mut journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ending = ending.unwrap_or(RunEnding::Done);
        journal.finished(&ending).map_err(|error| CliFailure::new(error.to_string()))?;
        if let Some(recording) = &self.recording {
            let message = |error| format!("the cassette was not kept: {}", said(&error));
            recording.keep().map_err(|error| CliFailure::new(message(error)))?;
        }
        let exit = exit(&ending);
        if matches!(ending, RunEnding::Cancelled | RunEnding::Parked { .. }) {
            remark(&format!("  = help: `agentry resume {}` continues it", journal.id()));
        }
        Ok(exit)
    }
}

/// The description of a run that `resume` needs.
fn about(
    ground: &PreparedAgent,
    args: &RunArguments,
    models: Vec<String>,
    prompt: Option<&str>,
) -> RunDescription {
    let policy = written(&ground.judge);
    let settings = RunSettings {
        model: args.model.clone(),
        unconfined: args.unconfined,
        parks: args.on_ask == AskFallback::Park,
        format: args.format_override.map(|format| format.to_string()),
        directory: std::env::current_dir().ok(),
        without: args.without.clone(),
        policy: policy.clone(),
    };
    RunDescription {
        agent: ground.full_path(),
        name: ground.agent.name().to_owned(),
        digest: ground.digest.clone(),
        policy: digest(&policy),
        workspace: ground.workspace.clone(),
        prompt: prompt.map(str::to_owned),
        tools: ground.tool_names(search()),
        models,
        sandbox: String::new(),
        started: now(),
        pid: std::process::id(),
        settings,
    }
}

/// Whether a step is unfinished and continues before a new prompt is sent.
fn is_under_way(state: &StepState) -> bool {
    match &state.phase {
        // A run that ended at a limit continues only if the limit was raised.
        RunPhase::Ended(RunEnding::OverBudget { .. }) => state.exceeded().is_none(),
        RunPhase::Ended(ending) => matches!(ending, RunEnding::Parked { .. }),
        phase => *phase != RunPhase::Idle,
    }
}

/// The listeners of a run: the output, and the user who approves.
pub(crate) struct RunObservers {
    pub(super) terminal: Arc<Mutex<TerminalView>>,
    hears: OutputSink,
    /// The user at the terminal, if there is one.
    pub(crate) attendant: Option<Arc<TerminalApprover>>,
    pub(crate) person: Arc<dyn Approver>,
}

impl RunObservers {
    pub(crate) fn new(format: RunFormat, on_ask: AskFallback) -> Self {
        let terminal = Arc::new(Mutex::new(TerminalView::new()));
        let attended = TerminalView::is_attended() && format == RunFormat::Human;
        let attendant =
            attended.then(|| TerminalApprover::new(Arc::clone(&terminal)).ok()).flatten();
        let attendant = attendant.map(Arc::new);
        let person: Arc<dyn Approver> = match (&attendant, on_ask) {
            (Some(attendant), _) => attendant.clone(),
            // Without a terminal no user can approve: an `ask` is denied, or the run is parked.
            (None, AskFallback::Deny) => Arc::new(AbsentApprover::Denies),
            (None, AskFallback::Park) => Arc::new(AbsentApprover::Parks),
        };
        Self { hears: sink(format, &terminal), terminal, attendant, person }
    }
}

/// The tools of a run.
fn tools(
    setting: &SessionSetting<'_>,
    watching: &RunObservers,
    journal: &Journal,
    approvals: &Arc<Approvals>,
    ready: &ReadyTools,
) -> Result<Arc<dyn RunTools>, CliFailure> {
    let images = BeforeImages::new(journal.images());
    let images = images.map_err(|error| CliFailure::new(said(&error)))?;
    Ok(Arc::new(setting.ground.tools(RunSurroundings {
        approvals: Arc::clone(approvals),
        commands: Arc::clone(&ready.commands),
        person: Arc::clone(&watching.person),
        output: Arc::clone(&watching.hears),
        images: Some(images),
        directory: journal.directory().to_path_buf(),
        can_ask: watching.attendant.is_some(),
        search: search(),
        declared: built_in(&ready.declared.tools),
    })))
}

/// The models and the journal, wrapped by the recorder if there is one.
fn recorded(
    recording: Option<&PendingRecording>,
    plan: ModelPlan,
    journal: &SharedJournal,
) -> (Arc<dyn RunModels>, Box<dyn EventLog>) {
    let models: Arc<dyn RunModels> = Arc::new(plan);
    let log: Box<dyn EventLog> = Box::new(journal.clone());
    let Some(PendingRecording { recording, .. }) = recording else { return (models, log) };
    let (clock, recording): (Clock, _) = (Arc::new(now), recording.clone());
    let log = Box::new(RecordedLog { log, recording: recording.clone() });
    (Arc::new(RecordedModels { models, recording, clock }), log)
}

/// Shows the output of the run in the requested format.
pub(super) fn sink(format: RunFormat, terminal: &Arc<Mutex<TerminalView>>) -> OutputSink {
    let terminal = Arc::clone(terminal);
    let shown: OutputSink = match format {
        RunFormat::Human => Arc::new(move |output: RunOutput| {
            terminal.lock().unwrap_or_else(PoisonError::into_inner).hear(&output);
        }),
        RunFormat::Json => Arc::new(|output: RunOutput| {
            // Also on standard error, for a user who watches only that.
            if let RunOutput::Quarantined(told) = &output {
                remark(&format!("warning: {}", visible(&told.to_string())));
            }
            let line = serde_json::to_string(&output).unwrap_or_default();
            print(&format!("{line}\n"));
        }),
    };
    #[cfg(feature = "otel")]
    let shown = crate::telemetry::export(shown);
    #[cfg(not(feature = "otel"))]
    warn_without_telemetry();
    shown
}

/// Warns if the environment names a collector, because this build cannot export runs.
#[cfg(not(feature = "otel"))]
fn warn_without_telemetry() {
    let named = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    if let Some(name) = named.into_iter().find(|name| variable(name).is_some()) {
        remark(&format!("note: `{name}` is set, and this program was built without telemetry"));
        remark("  = help: install it with `--features otel`");
    }
}

/// Reports files that were quarantined or restored.
fn tell(ground: &PreparedAgent, hears: &OutputSink) -> ReportListener {
    let (redactor, hears) = (Arc::clone(&ground.redactor), Arc::clone(hears));
    Box::new(move |told: &QuarantineReport| {
        let path = redactor.text(&told.path);
        hears(RunOutput::Quarantined(QuarantineReport { path, ..told.clone() }));
    })
}

/// The search service of the environment. No client is built without one.
pub(crate) fn search() -> Option<SearchClient> {
    SEARCH_VARIABLES.into_iter().find_map(variable)?;
    SearchClient::of(&variable, &http::remote(&variable).ok()?)
}

/// The stop switch of a run: signals, Ctrl-C at a question, and a closed standard output use it.
fn stop(driver: &RunDriver, attendant: Option<&TerminalApprover>) -> Arc<StopSwitch> {
    let stop = Arc::new(StopSwitch::new(driver.canceller()));
    if let Some(attendant) = attendant {
        attendant.stop_by(&stop);
    }
    let unread = Arc::clone(&stop);
    when_unread(move || unread.end());
    stop
}

/// A single-threaded runtime for a replay, in which nothing blocks.
pub(super) fn runtime() -> Result<Runtime, CliFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliFailure::new(format!("nothing can be run: {}", said(&error))))
}

pub(super) fn broken(BrokenRun(why): BrokenRun) -> CliFailure {
    CliFailure::new(format!("the run cannot be written down: {why}")).finding()
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
