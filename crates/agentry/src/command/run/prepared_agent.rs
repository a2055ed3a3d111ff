//! What a run stands on: the agent as it is now, what it may do, and where.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agentry_compile::model::{Agent, Format};
use agentry_compile::policy::{Action, Judge, Section, SectionCall};
use agentry_compile::render::{DefinitionPart, definition};
use agentry_compile::text::Severity;
use agentry_compile::text::report::visible;
use agentry_compile::{
    CompiledAgent, FileTree as _, ModelCandidate, ModelLookup, ResolveSettings, ResolvedPlan,
    SkillResolution, SpendingCaps, WorkspaceConfig, World as _, WorldLinks, digest, judge, prompt,
    resolve, resolved,
};
use agentry_runtime::approval::Approvals;
use agentry_runtime::cassette::CassettePaths;
use agentry_runtime::commands::CommandStarter;
use agentry_runtime::confine::ConfinementInputs;
use agentry_runtime::driver::guarded_tools::{GuardedTools, SharedRun};
use agentry_runtime::driver::interfaces::{Approver, OutputSink};
use agentry_runtime::prompt::system;
use agentry_runtime::quarantine;
use agentry_runtime::redact::{KnownSecret, Redactor};
use agentry_runtime::rulebook::Rulebook;
use agentry_runtime::tool::{CallLocation, SearchClient, ToolExtras, Toolbox, real};
use agentry_runtime::undo::BeforeImages;

use super::outer_workspaces;
use crate::command::guard::protected_paths;
use crate::command::render::lock_check::{RenderLocks, UnlockedAgent};
use crate::command::{find_one, reported, show, usable};
use crate::disk::DiskWorld;
use crate::home::{agentry_home, sweep};
use crate::output::{CliFailure, remark};

/// An agent that is about to run.
pub(crate) struct PreparedAgent {
    pub(crate) disk: Arc<DiskWorld>,
    pub(crate) compiled: CompiledAgent,
    /// With its defaults.
    pub(crate) agent: Agent,
    pub(crate) digest: String,
    pub(crate) judge: Judge,
    /// What it must not write to.
    pub(crate) protected: Vec<String>,
    pub(crate) system: String,
    pub(crate) settings: ResolveSettings,
    /// What the team and the user let every run spend.
    pub(crate) caps: SpendingCaps,
    pub(crate) workspace: PathBuf,
    /// Agentry's own directory.
    pub(crate) home: PathBuf,
    pub(crate) redactor: Arc<Redactor>,
    /// The models that it may run on, as far as nobody was asked.
    pub(crate) models: Vec<ModelCandidate>,
    /// The tools that its skills come down to.
    skills: Vec<String>,
}

/// What differs between a real run and a replay.
pub(crate) struct RunSurroundings {
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) commands: Arc<dyn CommandStarter>,
    pub(crate) person: Arc<dyn Approver>,
    pub(crate) output: OutputSink,
    pub(crate) images: Option<BeforeImages>,
    /// Where long outputs are kept.
    pub(crate) directory: PathBuf,
    /// Whether the agent may ask questions.
    pub(crate) can_ask: bool,
    /// The search service of the user.
    pub(crate) search: Option<SearchClient>,
}

impl PreparedAgent {
    /// Reads an agent and everything that decides about it.
    pub(crate) fn read(path: &str, format: Option<Format>) -> Result<Self, CliFailure> {
        let home = agentry_home().ok_or_else(|| CliFailure::new("there is no home directory"))?;
        let disk = Arc::new(DiskWorld::default());
        let found = find_one(&disk, path, format)?;
        let mut compiled = usable(&disk, &found)?;
        RenderLocks::default().admit(&*disk, &compiled, UnlockedAgent::IsRefused)?;
        let outer = outer_workspaces::above(&disk.absolute(&compiled.workspace));
        outer_workspaces::admit(&disk, &mut compiled, &outer)?;
        let judge = judge(&*disk, &mut compiled).map_err(|findings| {
            reported(&findings, &compiled.sources, "the user's policy has errors").refused()
        })?;
        let settings = ResolveSettings::read(&*disk).map_err(|(findings, sources)| {
            reported(&findings, &sources, "your configuration has errors")
        })?;
        let settings = settings.with_environment(&variable);
        let config = config(&disk, &found.dir)?;
        let plan = resolve(&*disk, &compiled, &settings, ModelLookup::Nobody);
        show(&plan.problems(), &compiled.sources);
        if !plan.problems().is_empty() {
            let message = format!("`{}` lacks skills that it needs", found.path);
            return Err(CliFailure::new(message).finding());
        }
        let agent = resolved(&compiled);
        let redactor = Arc::new(Redactor::new(secrets(&agent, &settings)));
        Ok(Self {
            digest: digest(&*disk, &compiled),
            protected: protected_paths(&disk, &compiled),
            system: system(&prompt(&*disk, &compiled)),
            workspace: PathBuf::from(&judge.places().workspace),
            caps: outer_workspaces::caps(&disk, &outer)?
                .narrowed(config.run)
                .narrowed(settings.caps),
            skills: skills(&plan),
            models: plan.models,
            redactor,
            agent,
            judge,
            settings,
            home,
            compiled,
            disk,
        })
    }

    /// Takes away what only stood there while runs lasted that were killed, and tells what else is not as
    /// it was since. It may decide about this one. To be called before a real run, and by nobody who
    /// only reads.
    pub(crate) fn tell_what_killed_runs_left(&self) {
        sweep();
        for line in quarantine::left(&self.home.join("runs"), &self.workspace) {
            remark(&format!("warning: {}", visible(&line)));
        }
    }

    /// The tools of the agent, under its policy.
    pub(crate) fn tools(&self, around: RunSurroundings) -> GuardedTools {
        let RunSurroundings {
            approvals,
            commands,
            person,
            output,
            images,
            directory,
            can_ask,
            search,
        } = around;
        let extras = ToolExtras { person: can_ask, search, skills: self.skills.clone() };
        let toolbox = Toolbox::of(&self.agent, &self.judge, extras);
        let place = CallLocation {
            workspace: self.workspace.clone(),
            directory: self.workspace.clone(),
            run: directory,
            home: self.judge.places().home.as_ref().map(PathBuf::from),
            protected: self.protected.iter().map(PathBuf::from).collect(),
            hidden: real(&self.home).into_iter().chain([self.home.clone()]).collect(),
        };
        let rulebook = Rulebook {
            world: self.disk.clone(),
            judge: self.judge.clone(),
            protected: self.protected.clone(),
            sources: self.compiled.sources.clone(),
        };
        let shared = SharedRun {
            rulebook,
            approvals,
            place: Mutex::new(place),
            images,
            commands,
            person,
            output,
            redactor: Arc::clone(&self.redactor),
        };
        GuardedTools::new(toolbox, Arc::new(shared))
    }

    /// What the policy says of giving a variable to commands.
    pub(crate) fn variable(&self, name: &str) -> Action {
        let directory = &self.judge.places().workspace;
        let call = SectionCall { section: Section::Env, subject: name, directory };
        self.judge.judge(call, &WorldLinks(&*self.disk)).action
    }

    /// The names of the tools of the agent, whoever is there to be asked.
    pub(crate) fn tool_names(&self, searches: Option<SearchClient>) -> Vec<String> {
        let extras = ToolExtras { person: true, search: searches, skills: self.skills.clone() };
        let specs = Toolbox::of(&self.agent, &self.judge, extras).specs();
        specs.into_iter().map(|spec| spec.name).collect()
    }

    /// Directories that a cassette does not spell out.
    pub(crate) fn places(&self) -> CassettePaths {
        let home = self.judge.places().home.clone().map(PathBuf::from);
        let mut places = vec![("workspace", self.workspace.as_path())];
        places.extend(home.as_deref().map(|home| ("home", home)));
        CassettePaths::new(places)
    }

    /// What its commands are confined by, beside its policy.
    pub(crate) fn surroundings(&self) -> ConfinementInputs {
        surroundings(&self.disk, &self.compiled, &self.protected)
    }

    /// The agent, from the root of the file system.
    pub(crate) fn full_path(&self) -> String {
        self.disk.absolute(self.path())
    }

    /// The agent, as the user names it.
    pub(crate) fn path(&self) -> &str {
        &self.compiled.found.path
    }
}

/// What the team says. A limit that cannot be read must not be passed over.
fn config(disk: &DiskWorld, directory: &str) -> Result<WorkspaceConfig, CliFailure> {
    let config = WorkspaceConfig::read(disk, directory);
    if config.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        let failure = reported(&config.diagnostics, &config.sources, "`agentry.toml` has errors");
        return Err(failure.refused());
    }
    Ok(config)
}

/// What a confinement depends on beside the policy, on this machine: the same for a run and for whoever
/// explains one.
pub(crate) fn surroundings(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    protected: &[String],
) -> ConfinementInputs {
    let mut decides = definition(disk, compiled);
    // Of the rest, what does not exist yet is protected by its name where a line is judged.
    let exists = |path: &&String| std::path::Path::new(path).exists();
    let others = protected.iter().filter(exists).cloned();
    decides.extend(others.map(|path| DefinitionPart { path, is_directory: false }));
    let programs = std::env::var_os("PATH").unwrap_or_default();
    ConfinementInputs {
        home: disk.machine().home.clone().map(PathBuf::from),
        agentry_home: agentry_home(),
        definition: decides,
        programs: std::env::split_paths(&programs).filter(|path| path.is_absolute()).collect(),
    }
}

/// The value of a variable, if it has one.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The built-in tools that the skills of an agent come down to.
fn skills(plan: &ResolvedPlan) -> Vec<String> {
    let native = plan.skills.iter().filter_map(|skill| match &skill.found {
        SkillResolution::Native(name) => Some((*name).to_owned()),
        _ => None,
    });
    native.collect()
}

/// The secrets at hand: keys of providers, and what the agent needs.
fn secrets(agent: &Agent, settings: &ResolveSettings) -> Vec<KnownSecret> {
    let keys = settings.providers.iter().flat_map(|provider| provider.keys.iter().cloned());
    let needed = agent.requirements.env.iter().flatten().map(|name| name.value.clone());
    let mut names: Vec<String> = keys.chain(needed).collect();
    names.sort();
    names.dedup();
    names.into_iter().filter_map(|name| KnownSecret::new(name.clone(), variable(&name)?)).collect()
}
