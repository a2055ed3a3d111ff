//! Puts a run together: the driver with its models, its journal and the tools of the agent. The run of the
//! user and the runs of delegates are made here.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use agentry_runtime::TimedEvent;
use agentry_runtime::approval::Approvals;
use agentry_runtime::budget_pot::BudgetShare;
use agentry_runtime::commands::CommandStarter;
use agentry_runtime::driver::RunDriver;
use agentry_runtime::driver::interfaces::{
    Approver, DriverParts, EventLog, OutputSink, RunModels, RunTools,
};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::function::{FunctionCall, ResultTool};
use agentry_runtime::journal::{self, FileUplink, Journal, ParentRun, RunDescription, RunSettings};
use agentry_runtime::provider::plan::{ModelPlan, PlannedModel};
use agentry_runtime::quarantine::{QuarantineReport, ReportListener};
use agentry_runtime::rule_lines::{digest, written};
use agentry_runtime::undo::BeforeImages;

use super::attempt_log::logged;
use super::confinement::ConfinedCommands;
use super::declared_tools::{self, DeclaredTools, GatherTerms, built_in};
use super::delegation::DelegationTerms;
use super::prepared_agent::{PreparedAgent, RunSurroundings};
use super::run_observers::RunObservers;
use super::session::{SessionSetting, now, search};
use crate::engine;
use crate::output::{CliFailure, error_text};

/// What answers the requests of a run.
pub(crate) struct RunEngine {
    pub(crate) models: Arc<dyn RunModels>,
    /// The names of the models, in order.
    pub(crate) names: Vec<String>,
    /// Their smallest context window.
    pub(crate) window: Option<u64>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl From<ModelPlan> for RunEngine {
    fn from(plan: ModelPlan) -> Self {
        Self {
            names: plan.entries.iter().map(PlannedModel::id).collect(),
            window: plan.window(),
            notes: plan.notes.clone(),
            models: Arc::new(plan),
        }
    }
}

/// A journal that both the driver and the end of the run write to.
#[derive(Clone)]
pub(super) struct SharedJournal(pub(super) Arc<Mutex<Journal>>);

impl SharedJournal {
    /// Where the files of the run are stored as well, if an engine keeps the journal.
    pub(super) fn files(&self) -> Option<Arc<dyn FileUplink>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).files()
    }
}

impl EventLog for SharedJournal {
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        journal.append(happened, durable).map_err(|error| error.to_string())
    }
}

/// The tools of the definition, and what starts the commands of the run.
pub(super) struct ReadyTools {
    pub(super) declared: DeclaredTools,
    pub(super) commands: Arc<dyn CommandStarter>,
}

/// Who answers and watches while tools are made ready.
pub(super) struct ReadyTerms<'a> {
    pub(super) without: &'a [String],
    pub(super) accepts_changes: bool,
    pub(super) person: &'a Arc<dyn Approver>,
    pub(super) hears: &'a OutputSink,
    pub(super) can_ask: bool,
    /// What decides about delegates.
    pub(super) delegation: DelegationTerms,
}

impl ReadyTools {
    /// Makes the tools of a session ready, or refuses the run.
    pub(super) fn of_run(
        setting: &SessionSetting<'_>,
        watching: &RunObservers,
        journal: &Journal,
    ) -> Result<Self, CliFailure> {
        let terms = ReadyTerms {
            without: setting.without,
            accepts_changes: setting.accepts_changes,
            person: &watching.person,
            hears: &watching.hears,
            can_ask: watching.can_ask(),
            delegation: DelegationTerms {
                tree: setting.tree.clone(),
                above: None,
                can_ask: watching.can_ask(),
            },
        };
        Self::of(setting.ground, &setting.commands, journal.directory(), &terms)
    }

    /// Makes the tools of a run ready, or refuses the run.
    pub(super) fn of(
        ground: &PreparedAgent,
        commands: &ConfinedCommands,
        directory: &Path,
        terms: &ReadyTerms<'_>,
    ) -> Result<Self, CliFailure> {
        let commands = {
            let hears = logged(ground, directory, Arc::clone(terms.hears));
            commands.of_run(ground, directory, quarantine_listener(ground, &hears))
        };
        let gather = GatherTerms {
            without: terms.without,
            commands: Arc::clone(&commands),
            person: Arc::clone(terms.person),
            can_ask: terms.can_ask,
            accepts_changes: terms.accepts_changes,
        };
        Ok(Self { declared: declared_tools::ready(ground, &gather, &terms.delegation)?, commands })
    }
}

/// The parts of a run.
pub(super) struct RunAssembly<'a> {
    pub(super) ground: &'a PreparedAgent,
    pub(super) models: Arc<dyn RunModels>,
    pub(super) log: Box<dyn EventLog>,
    /// The directory of the run.
    pub(super) directory: &'a Path,
    /// Where its files are stored as well.
    pub(super) files: Option<Arc<dyn FileUplink>>,
    pub(super) ready: &'a ReadyTools,
    pub(super) function: Option<&'a FunctionCall>,
    pub(super) person: Arc<dyn Approver>,
    pub(super) hears: OutputSink,
    /// Whether the agent may ask the user questions.
    pub(super) can_ask: bool,
    pub(super) budget: BudgetShare,
    /// The memories in its prompt.
    pub(super) memory: Option<&'a str>,
    /// What the user has approved already.
    pub(super) approvals: Arc<Approvals>,
}

impl RunAssembly<'_> {
    /// Assembles the run without starting it.
    pub(super) fn build(self) -> Result<(RunDriver, Arc<dyn RunTools>), CliFailure> {
        let approvals = Arc::clone(&self.approvals);
        let tools = self.tools(&approvals)?;
        let declared = &self.ready.declared;
        let machine = self.ground.machine_parts(declared, self.memory);
        let system = self.ground.system(&machine, &declared.missing_names());
        let parts = DriverParts {
            system: system.into(),
            models: self.models,
            tools: Arc::clone(&tools),
            person: self.person,
            log: self.log,
            clock: Arc::new(now),
            output: logged(self.ground, self.directory, self.hears),
            redactor: Arc::clone(&self.ground.redactor),
            waits: true,
            budget: self.budget,
        };
        Ok((RunDriver::new(parts, approvals), tools))
    }

    /// The tools of the run.
    fn tools(&self, approvals: &Arc<Approvals>) -> Result<Arc<dyn RunTools>, CliFailure> {
        let images = BeforeImages::new(journal::images(self.directory));
        let images = images.map_err(|error| CliFailure::new(error_text(&error)))?;
        let images = images.shared_by(self.files.clone());
        let mut declared = built_in(&self.ready.declared.tools);
        declared.extend(self.function.map(ResultTool::shared));
        Ok(Arc::new(self.ground.tools(RunSurroundings {
            approvals: Arc::clone(approvals),
            commands: Arc::clone(&self.ready.commands),
            person: Arc::clone(&self.person),
            output: Arc::clone(&self.hears),
            images: Some(images),
            directory: self.directory.to_path_buf(),
            can_ask: self.can_ask,
            search: search(),
            declared,
        })))
    }
}

/// What is known of a run before it begins.
pub(super) struct NewRun<'a> {
    pub(super) settings: RunSettings,
    pub(super) models: Vec<String>,
    pub(super) prompt: Option<&'a str>,
    /// The name of the sandbox back end.
    pub(super) sandbox: &'static str,
    pub(super) parent: Option<ParentRun>,
}

/// Creates the journal of a run, with the description that `resume` needs.
pub(super) fn create_journal(
    ground: &PreparedAgent,
    new: NewRun<'_>,
) -> Result<Journal, CliFailure> {
    let policy = written(&ground.judge);
    let about = RunDescription {
        agent: ground.full_path(),
        name: ground.agent.name().to_owned(),
        digest: ground.digest.clone(),
        policy: digest(&policy),
        workspace: ground.workspace.clone(),
        prompt: new.prompt.map(str::to_owned),
        tools: ground.tool_names(search()),
        models: new.models,
        sandbox: new.sandbox.to_owned(),
        started: now(),
        pid: std::process::id(),
        user: engine::run_user(),
        settings: RunSettings { policy, ..new.settings },
        parent: new.parent,
    };
    engine::create_journal(&ground.home, &about, Arc::clone(&ground.redactor))
}

/// Reports files that were quarantined or restored.
fn quarantine_listener(ground: &PreparedAgent, hears: &OutputSink) -> ReportListener {
    let (redactor, hears) = (Arc::clone(&ground.redactor), Arc::clone(hears));
    Box::new(move |quarantined: &QuarantineReport| {
        let path = redactor.text(&quarantined.path);
        hears(RunOutput::Quarantined(QuarantineReport { path, ..quarantined.clone() }));
    })
}
