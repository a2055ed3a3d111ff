//! What a run stands on: the agent as it is now, what it may do, and where.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agentry_compile::model::{Agent, Format};
use agentry_compile::policy::{Action, Call, Judge, Section};
use agentry_compile::render::{DefinitionPart, definition};
use agentry_compile::text::Severity;
use agentry_compile::text::report::visible;
use agentry_compile::{
    Ask, Candidate, Caps, Compiled, Config, FileTree as _, Links, Plan, Settings, SkillFound,
    World as _, digest, judge, prompt, resolve, resolved,
};
use agentry_runtime::approval::Approvals;
use agentry_runtime::cassette::Places;
use agentry_runtime::commands::Commands;
use agentry_runtime::confine::Surroundings;
use agentry_runtime::driver::guarded::{Guarded, Shared};
use agentry_runtime::driver::parts::{Person, Sink};
use agentry_runtime::prompt::system;
use agentry_runtime::quarantine;
use agentry_runtime::redact::{Redactor, Secret};
use agentry_runtime::rulebook::Rulebook;
use agentry_runtime::tool::{Extras, Place, Search, Toolbox, real};
use agentry_runtime::undo::Images;

use super::outer;
use crate::command::guard::protected_paths;
use crate::command::render::locked::{Locks, Unknown};
use crate::command::{find_one, reported, show, usable};
use crate::disk::Disk;
use crate::home::{agentry_home, sweep};
use crate::output::{Failure, remark};

/// An agent that is about to run.
pub(crate) struct Ground {
    pub(crate) disk: Arc<Disk>,
    pub(crate) compiled: Compiled,
    /// With its defaults.
    pub(crate) agent: Agent,
    pub(crate) digest: String,
    pub(crate) judge: Judge,
    /// What it must not write to.
    pub(crate) protected: Vec<String>,
    pub(crate) system: String,
    pub(crate) settings: Settings,
    /// What the team and the user let every run spend.
    pub(crate) caps: Caps,
    pub(crate) workspace: PathBuf,
    /// Agentry's own directory.
    pub(crate) home: PathBuf,
    pub(crate) redactor: Arc<Redactor>,
    /// The models that it may run on, as far as nobody was asked.
    pub(crate) models: Vec<Candidate>,
    /// The tools that its skills come down to.
    skills: Vec<String>,
}

/// What differs between a real run and a replay.
pub(crate) struct Around {
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) commands: Arc<dyn Commands>,
    pub(crate) person: Arc<dyn Person>,
    pub(crate) output: Sink,
    pub(crate) images: Option<Images>,
    /// Where long outputs are kept.
    pub(crate) directory: PathBuf,
    /// Whether the agent may ask questions.
    pub(crate) can_ask: bool,
    /// The search service of the user.
    pub(crate) search: Option<Search>,
}

impl Ground {
    /// Reads an agent and everything that decides about it.
    pub(crate) fn read(path: &str, format: Option<Format>) -> Result<Self, Failure> {
        let home = agentry_home().ok_or_else(|| Failure::new("there is no home directory"))?;
        let disk = Arc::new(Disk::default());
        let found = find_one(&disk, path, format)?;
        let mut compiled = usable(&disk, &found)?;
        Locks::default().admit(&*disk, &compiled, Unknown::IsRefused)?;
        let outer = outer::above(&disk.absolute(&compiled.workspace));
        outer::admit(&disk, &mut compiled, &outer)?;
        let judge = judge(&*disk, &mut compiled).map_err(|findings| {
            reported(&findings, &compiled.sources, "the user's policy has errors").refused()
        })?;
        let settings = Settings::read(&*disk).map_err(|(findings, sources)| {
            reported(&findings, &sources, "your configuration has errors")
        })?;
        let settings = settings.with_environment(&variable);
        let config = config(&disk, &found.dir)?;
        let plan = resolve(&*disk, &compiled, &settings, Ask::Nobody);
        show(&plan.problems(), &compiled.sources);
        if !plan.problems().is_empty() {
            let message = format!("`{}` lacks skills that it needs", found.path);
            return Err(Failure::new(message).finding());
        }
        let agent = resolved(&compiled);
        let redactor = Arc::new(Redactor::new(secrets(&agent, &settings)));
        Ok(Self {
            digest: digest(&*disk, &compiled),
            protected: protected_paths(&disk, &compiled),
            system: system(&prompt(&*disk, &compiled)),
            workspace: PathBuf::from(&judge.places().workspace),
            caps: outer::caps(&disk, &outer)?.narrowed(config.run).narrowed(settings.caps),
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
    pub(crate) fn tools(&self, around: Around) -> Guarded {
        let Around { approvals, commands, person, output, images, directory, can_ask, search } =
            around;
        let extras = Extras { person: can_ask, search, skills: self.skills.clone() };
        let toolbox = Toolbox::of(&self.agent, &self.judge, extras);
        let place = Place {
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
        let shared = Shared {
            rulebook,
            approvals,
            place: Mutex::new(place),
            images,
            commands,
            person,
            output,
            redactor: Arc::clone(&self.redactor),
        };
        Guarded::new(toolbox, Arc::new(shared))
    }

    /// What the policy says of giving a variable to commands.
    pub(crate) fn variable(&self, name: &str) -> Action {
        let directory = &self.judge.places().workspace;
        let call = Call { section: Section::Env, subject: name, directory };
        self.judge.judge(call, &Links(&*self.disk)).action
    }

    /// The names of the tools of the agent, whoever is there to be asked.
    pub(crate) fn tool_names(&self, searches: Option<Search>) -> Vec<String> {
        let extras = Extras { person: true, search: searches, skills: self.skills.clone() };
        let specs = Toolbox::of(&self.agent, &self.judge, extras).specs();
        specs.into_iter().map(|spec| spec.name).collect()
    }

    /// Directories that a cassette does not spell out.
    pub(crate) fn places(&self) -> Places {
        let home = self.judge.places().home.clone().map(PathBuf::from);
        let mut places = vec![("workspace", self.workspace.as_path())];
        places.extend(home.as_deref().map(|home| ("home", home)));
        Places::new(places)
    }

    /// What its commands are confined by, beside its policy.
    pub(crate) fn surroundings(&self) -> Surroundings {
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
fn config(disk: &Disk, directory: &str) -> Result<Config, Failure> {
    let config = Config::read(disk, directory);
    if config.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        let failure = reported(&config.diagnostics, &config.sources, "`agentry.toml` has errors");
        return Err(failure.refused());
    }
    Ok(config)
}

/// What a confinement depends on beside the policy, on this machine: the same for a run and for whoever
/// explains one.
pub(crate) fn surroundings(disk: &Disk, compiled: &Compiled, protected: &[String]) -> Surroundings {
    let mut decides = definition(disk, compiled);
    // Of the rest, what does not exist yet is protected by its name where a line is judged.
    let exists = |path: &&String| std::path::Path::new(path).exists();
    let others = protected.iter().filter(exists).cloned();
    decides.extend(others.map(|path| DefinitionPart { path, is_directory: false }));
    let programs = std::env::var_os("PATH").unwrap_or_default();
    Surroundings {
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
fn skills(plan: &Plan) -> Vec<String> {
    let native = plan.skills.iter().filter_map(|skill| match &skill.found {
        SkillFound::Native(name) => Some((*name).to_owned()),
        _ => None,
    });
    native.collect()
}

/// The secrets at hand: keys of providers, and what the agent needs.
fn secrets(agent: &Agent, settings: &Settings) -> Vec<Secret> {
    let keys = settings.providers.iter().flat_map(|provider| provider.keys.iter().cloned());
    let needed = agent.requirements.env.iter().flatten().map(|name| name.value.clone());
    let mut names: Vec<String> = keys.chain(needed).collect();
    names.sort();
    names.dedup();
    names.into_iter().filter_map(|name| Secret::new(name.clone(), variable(&name)?)).collect()
}
