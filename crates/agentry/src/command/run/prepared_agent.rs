//! The agent of a run, with its policy, its workspace and everything else that is read before the start.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentry_compile::model::{Agent, Format, McpServer};
use agentry_compile::policy::{Action, ExecTrust, Judge, Section, SectionCall, Verdict};
use agentry_compile::render::{DefinitionPart, definition, judged};
use agentry_compile::text::Severity;
use agentry_compile::text::report::visible;
use agentry_compile::{
    CompiledAgent, EnvironmentFacts, EvolutionRules, FileTree as _, LoadableSkill, ModelCandidate,
    ModelLookup, NotifySettings, PromptPart, ResolveSettings, ResolvedPlan, RunPrompt,
    SkillResolution, SpendingCaps, WorkspaceConfig, World as _, WorldLinks, digest, judge,
    loadable_skills, resolve, resolved, skill_list,
};
use agentry_home::InstalledAgent;
use agentry_runtime::approval::Approvals;
use agentry_runtime::cassette::CassettePaths;
use agentry_runtime::commands::CommandStarter;
use agentry_runtime::confine::{ConfinementInputs, top_level, variables};
use agentry_runtime::driver::guarded_tools::{GuardedTools, SharedRun};
use agentry_runtime::driver::interfaces::{Approver, OutputSink};
use agentry_runtime::journal::DisplayTime;
use agentry_runtime::prompt::system;
use agentry_runtime::quarantine;
use agentry_runtime::redact::{KnownSecret, Redactor, sounds_secret};
use agentry_runtime::rulebook::Rulebook;
use agentry_runtime::tool::{BuiltInTool, CallLocation, SearchClient, ToolExtras, Toolbox, real};
use agentry_runtime::undo::BeforeImages;

use super::declared_tools::{DeclaredTools, MissingTool};
use super::memory::{self, MemoryAccess, RunMemories};
use super::server_variables::references;
use super::session::now;
use super::{outer_workspaces, skills};
use crate::command::guard::{project_root, protected_in};
use crate::command::render::lock_check::{RenderLocks, UnlockedAgent};
use crate::command::{find_one, home_agents, mask_note, reported, usable, work_here};
use crate::disk::{DiskWorld, kept_root};
use crate::home::{agentry_home, home, sweep};
use crate::output::{CliFailure, remark};

/// An agent that is ready to run.
pub(crate) struct PreparedAgent {
    pub(crate) disk: Arc<DiskWorld>,
    pub(crate) compiled: CompiledAgent,
    /// The agent with its defaults.
    pub(crate) agent: Agent,
    pub(crate) digest: String,
    pub(crate) judge: Judge,
    /// Its policy without that of the agent that it works for. It decides which tools are offered, so that a
    /// refusal says what the parent denies.
    pub(crate) own_judge: Option<Judge>,
    /// The paths that it must not write to.
    pub(crate) protected: Vec<String>,
    pub(crate) prompt: RunPrompt,
    /// The texts of the prompt in which a secret is masked: `path:line`.
    masked: Vec<String>,
    pub(crate) settings: ResolveSettings,
    /// The spending caps of the workspace and of the user.
    pub(crate) caps: SpendingCaps,
    pub(crate) workspace: PathBuf,
    /// The home directory of Agentry.
    pub(crate) home: PathBuf,
    pub(crate) redactor: Arc<Redactor>,
    /// The secrets that are redacted.
    pub(crate) secrets: Vec<KnownSecret>,
    /// The names of the variables that its commands get.
    pub(crate) granted: Vec<String>,
    /// Whether it may start programs of its own: `exec: none`, its own or that of an agent above it, starts none.
    pub(crate) starts_programs: bool,
    /// The candidate models, before any server is asked.
    pub(crate) models: Vec<ModelCandidate>,
    /// The tools that its skills resolve to.
    skill_tools: Vec<String>,
    /// The skills that a model can load.
    pub(crate) skills: Vec<LoadableSkill>,
    /// The skills that nothing provides.
    pub(crate) unprovided: Vec<MissingTool>,
    /// Its row in the home, if it is installed.
    pub(crate) installed: Option<InstalledAgent>,
    /// What becomes of the changes that it proposes to itself.
    pub(crate) evolution: EvolutionRules,
    /// How the user is called to a question.
    pub(crate) notify: NotifySettings,
    /// What it remembers between runs.
    pub(crate) memory: MemoryAccess,
}

/// The inputs that differ between a real run and a replay.
pub(crate) struct RunSurroundings {
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) commands: Arc<dyn CommandStarter>,
    pub(crate) person: Arc<dyn Approver>,
    pub(crate) output: OutputSink,
    pub(crate) images: Option<BeforeImages>,
    /// The directory for long outputs.
    pub(crate) directory: PathBuf,
    /// Whether the agent may ask the user questions.
    pub(crate) can_ask: bool,
    /// The user's search service.
    pub(crate) search: Option<SearchClient>,
    /// The tools of the definition.
    pub(crate) declared: Vec<Arc<dyn BuiltInTool>>,
}

impl PreparedAgent {
    /// Reads an agent and everything that decides about it.
    pub(crate) fn read(path: &str, format: Option<Format>) -> Result<Self, CliFailure> {
        Self::read_in(path, format, None)
    }

    /// Reads an agent that works in `project`, or in its own workspace if that is `None`.
    pub(crate) fn read_in(
        path: &str,
        format: Option<Format>,
        project: Option<&str>,
    ) -> Result<Self, CliFailure> {
        let home = home()?;
        let disk = Arc::new(DiskWorld::default());
        let found = find_one(&disk, path, format)?;
        let mut compiled = usable(&disk, &found)?;
        let settings = ResolveSettings::read(&*disk).map_err(|(findings, sources)| {
            reported(&findings, &sources, "your configuration has errors")
        })?;
        let settings = settings.with_environment(&variable);
        // No server is asked yet: a replay and `agentry test` must work offline.
        let plan = resolve(&*disk, &compiled, &settings, ModelLookup::Offline);
        let digest = digest(&*disk, &compiled);
        let prompt = RunPrompt::read(&*disk, &compiled);
        let skills = loadable_skills(&*disk, &compiled, &settings);
        // An installed agent is compared with the record of the home, every other one with the lock.
        let installed = home_agents::admit_edits(path, &digest)?;
        // An agent of the home was read from there, and works in the current workspace.
        work_here(&disk, &mut compiled);
        if installed.is_none() {
            RenderLocks::default().admit(&*disk, &compiled, UnlockedAgent::IsRefused)?;
        }
        let outer = outer_workspaces::above(&disk.absolute(&compiled.workspace));
        outer_workspaces::admit(&disk, &mut compiled, &outer)?;
        let project = project.map(|path| project_root(&disk, path)).transpose();
        let project = project.map_err(CliFailure::new)?;
        let protected = protected_in(&disk, &mut compiled, project.as_deref());
        if let Some(project) = &project {
            compiled.work_in(&*disk, project);
        }
        let judge = judge(&*disk, &mut compiled).map_err(|findings| {
            reported(&findings, &compiled.sources, "the user's policy has errors").refused()
        })?;
        let config = config(&disk, &compiled.workspace)?;
        let agent = resolved(&compiled);
        let mut prompt = prompt.in_workspace(&*disk, &compiled.workspace, config.prompt, &facts());
        let memory = MemoryAccess::of(&disk, &compiled, &home, config.prompt.memory)?;
        prompt.remarks.extend(memory.remark(&agent));
        let granted = variables::granted(&judge, &required_variables(&agent), variable_names());
        let secrets = secrets(&agent, &granted, &settings);
        let redactor = Arc::new(Redactor::new(secrets.clone()));
        Ok(Self {
            digest,
            protected,
            skills: skills::offered(&disk, skills, &judge),
            unprovided: skills::unprovided(&plan.skills),
            masked: prompt.masked(),
            installed,
            evolution: settings.evolution.narrowed(config.evolution),
            notify: settings.notify.narrowed(config.notify),
            prompt,
            workspace: PathBuf::from(&judge.places().workspace),
            caps: outer_workspaces::caps(&disk, &outer)?
                .narrowed(config.run)
                .narrowed(settings.caps),
            memory,
            skill_tools: native_skills(&plan),
            models: plan.models,
            redactor,
            secrets,
            own_judge: None,
            starts_programs: starts_programs(&agent),
            granted,
            agent,
            judge,
            settings,
            home,
            compiled,
            disk,
        })
    }

    /// Reports the secrets that the model does not see.
    pub(crate) fn report_masked_secrets(&self) {
        for origin in &self.masked {
            remark(&format!("note: {}", mask_note(origin)));
        }
    }

    /// Removes the placeholders of killed runs, and reports what else they changed, since it may affect this
    /// run. Called before a real run only: a command that only reads must not change files.
    pub(crate) fn report_leftovers_of_killed_runs(&self) {
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
            declared,
        } = around;
        let extras = ToolExtras { person: can_ask, search, skills: self.skill_tools.clone() };
        let offering = self.own_judge.as_ref().unwrap_or(&self.judge);
        let mut toolbox = Toolbox::of(&self.agent, offering, extras);
        declared.into_iter().for_each(|tool| toolbox.add(tool));
        let place = CallLocation {
            workspace: self.workspace.clone(),
            directory: self.workspace.clone(),
            run: directory,
            home: self.judge.places().home.as_ref().map(PathBuf::from),
            protected: self.protected.iter().map(PathBuf::from).collect(),
            // Both spellings: a call may name the home through a link.
            hidden: real(&self.home).into_iter().chain([self.home.clone()]).collect(),
            editor: person.editor(),
        };
        let shared = SharedRun {
            rulebook: self.rulebook(),
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

    /// What decides about its calls.
    pub(crate) fn rulebook(&self) -> Rulebook {
        Rulebook {
            world: self.disk.clone(),
            judge: self.judge.clone(),
            protected: self.protected.clone(),
            sources: self.compiled.sources.clone(),
        }
    }

    /// The verdict of the policy on passing a variable to commands.
    pub(crate) fn variable(&self, name: &str) -> Action {
        let directory = &self.judge.places().workspace;
        let call = SectionCall { section: Section::Env, subject: name, directory };
        self.judge.judge(call, &WorldLinks(&*self.disk)).action
    }

    /// The verdict on a call in a directory, with the protection of its own files.
    pub(crate) fn verdict(&self, section: Section, subject: &str, directory: &Path) -> Verdict {
        let directory = &directory.to_string_lossy();
        let call = SectionCall { section, subject, directory };
        judged(&*self.disk, &self.judge, &self.protected, call)
    }

    /// The names of the agent's tools, whether or not a user is present.
    pub(crate) fn tool_names(&self, searches: Option<SearchClient>) -> Vec<String> {
        let extras =
            ToolExtras { person: true, search: searches, skills: self.skill_tools.clone() };
        let specs = Toolbox::of(&self.agent, &self.judge, extras).specs();
        specs.into_iter().map(|spec| spec.name).collect()
    }

    /// The memories for the prompt of a run, and the user to whom the run belongs because of them.
    pub(crate) fn memories(
        &self,
        without: &[String],
        prompt: Option<&str>,
        window: Option<u64>,
    ) -> RunMemories {
        let Some(open) = self.memory.open(without) else { return RunMemories::default() };
        let text = open.in_prompt(prompt, window).map(|text| self.redactor.text(&text));
        let (user, is_private) = (open.user().as_str().to_owned(), open.store.has_private());
        RunMemories { text, user: Some(user), is_private }
    }

    /// The parts of its prompt that come from the machine, what it remembers, and what is missing here.
    pub(crate) fn machine_parts(
        &self,
        declared: &DeclaredTools,
        memory: Option<&str>,
    ) -> Vec<PromptPart> {
        let memory = memory.map(|text| memory::part(text.to_owned()));
        let missing = declared.note().map(|text| PromptPart {
            name: "missing",
            origin: "agentry".to_owned(),
            masked_lines: Vec::new(),
            text,
        });
        self.prompt.machine.iter().cloned().chain(memory).chain(missing).collect()
    }

    /// Its system prompt, with these parts of a machine, and without the skills of these names.
    pub(crate) fn system(&self, machine: &[PromptPart], without: &[String]) -> String {
        let is_listed = |skill: &&LoadableSkill| {
            !skill.needs.is_for_people && !skills::is_left_out(&skill.name, without)
        };
        let skills = skill_list(self.skills.iter().filter(is_listed));
        system(&self.prompt.with(skills, machine))
    }

    /// The directories that a cassette replaces by placeholders.
    pub(crate) fn places(&self) -> CassettePaths {
        let home = self.judge.places().home.clone().map(PathBuf::from);
        let mut places = vec![("workspace", self.workspace.as_path())];
        places.extend(home.as_deref().map(|home| ("home", home)));
        CassettePaths::new(places)
    }

    /// The inputs of its confinement beside the policy.
    pub(crate) fn surroundings(&self) -> ConfinementInputs {
        surroundings(&self.disk, &self.compiled, &self.protected)
    }

    /// The absolute path of the agent, or its reference to the store.
    pub(crate) fn full_path(&self) -> String {
        let dir = self.disk.absolute(&self.compiled.found.dir);
        match kept_root(&dir) {
            Some(_) => self.path().to_owned(),
            None => self.disk.absolute(self.path()),
        }
    }

    /// The path of the agent as the user wrote it.
    pub(crate) fn path(&self) -> &str {
        &self.compiled.found.path
    }
}

/// Where and when a prompt is read.
pub(crate) fn facts() -> EnvironmentFacts {
    let time = DisplayTime(now()).to_string();
    EnvironmentFacts {
        date: time.split('T').next().unwrap_or_default().to_owned(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    }
}

/// The configuration of the workspace. A limit that cannot be read must not be ignored.
fn config(disk: &DiskWorld, directory: &str) -> Result<WorkspaceConfig, CliFailure> {
    let config = WorkspaceConfig::read(disk, directory);
    if config.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        let failure = reported(&config.diagnostics, &config.sources, "`agentry.toml` has errors");
        return Err(failure.refused());
    }
    Ok(config)
}

/// The inputs of a confinement on this machine beside the policy; a run and `sandbox explain` share
/// them.
pub(crate) fn surroundings(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    protected: &[String],
) -> ConfinementInputs {
    let mut decides = definition(disk, compiled);
    // Only existing paths can be mounted; the others are protected by name when a command line is judged.
    let exists = |path: &&String| std::path::Path::new(path).exists();
    let others = protected.iter().filter(exists).cloned();
    decides.extend(others.map(|path| DefinitionPart { path, is_directory: false }));
    let programs = std::env::var_os("PATH").unwrap_or_default();
    let home = disk.machine().home.clone().map(PathBuf::from);
    let workspace = disk.absolute(&compiled.workspace);
    let workspace = PathBuf::from(disk.real(&workspace).unwrap_or(workspace));
    let apart: Vec<&Path> = home.iter().chain([&workspace]).map(PathBuf::as_path).collect();
    ConfinementInputs {
        top_level: top_level(&apart),
        home,
        agentry_home: agentry_home(),
        definition: decides,
        // A relative entry of `PATH` would depend on the directory of the command.
        programs: std::env::split_paths(&programs).filter(|path| path.is_absolute()).collect(),
    }
}

/// The value of an environment variable, if it is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The built-in tools that the skills of an agent resolve to.
fn native_skills(plan: &ResolvedPlan) -> Vec<String> {
    let native = plan.skills.iter().filter_map(|skill| match &skill.found {
        SkillResolution::Native(name) => Some((*name).to_owned()),
        _ => None,
    });
    native.collect()
}

/// Whether the trust of a definition lets it start programs. Without trust, its rules decide about each call.
fn starts_programs(agent: &Agent) -> bool {
    let exec = agent.policy.trust.as_ref().map(|trust| trust.exec);
    exec.is_none_or(|exec| exec.is_some_and(|exec| exec.value != ExecTrust::None))
}

/// The variables that the definition requires.
pub(crate) fn required_variables(agent: &Agent) -> Vec<String> {
    agent.requirements.env.iter().flatten().map(|name| name.value.clone()).collect()
}

/// The names of all variables of this process.
fn variable_names() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

/// The secrets to redact: keys of providers, the variables that the agent needs, and those of its rules that
/// look like credentials. Other values, such as a directory, may be part of any text.
fn secrets(agent: &Agent, granted: &[String], settings: &ResolveSettings) -> Vec<KnownSecret> {
    let keys = settings.providers.iter().flat_map(|provider| provider.keys.iter().cloned());
    let granted = granted.iter().filter(|name| sounds_secret(name)).cloned();
    let mut names: Vec<String> = keys.chain(required_variables(agent)).chain(granted).collect();
    let declared = agent.tools.mcp.iter().flatten().map(|server| &server.value);
    names.extend(declared.chain(&settings.servers).flat_map(server_references));
    names.sort();
    names.dedup();
    names.into_iter().filter_map(|name| KnownSecret::new(name.clone(), variable(&name)?)).collect()
}

/// The variables that the settings of a server refer to.
pub(crate) fn server_references(server: &McpServer) -> Vec<String> {
    let McpServer { args, url, headers, env, .. } = server;
    let texts = args.iter().flatten().chain(url).chain(headers.iter().chain(env).map(|it| &it.1));
    texts.flat_map(|text| references(&text.value)).map(str::to_owned).collect()
}
