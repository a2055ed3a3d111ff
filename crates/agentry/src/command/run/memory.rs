//! The memories of an agent in a run: whether it has any, where they are stored, and their part of
//! the prompt.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_compile::formats::agentfs::is_memory;
use agentry_compile::formats::info;
use agentry_compile::model::{Agent, LongTermMemory, WorkingMemory};
use agentry_compile::text::Severity;
use agentry_compile::text::report::visible;
use agentry_compile::{CompiledAgent, FileTree as _, PromptPart, World};
use agentry_home::layout::{identifier_of, is_identifier};
use agentry_home::memory::{
    MemoryPlaces, MemoryStore, PromptMemories, in_prompt, is_written_at_run_time,
};
use agentry_home::user::UserName;
use agentry_home::{AgentRecord, HomeLayout};
use agentry_runtime::journal::{RunDescription, RunSettings};
use agentry_runtime::tool::DeclaredKind;

use super::declared_tools::{DeclaredTools, MissingTool};
use super::delegation::reach::reachable;
use super::memory_tools::memory_tools;
use super::prepared_agent::PreparedAgent;
use super::session::seconds;
use super::skills::is_left_out;
use crate::disk::{DiskWorld, kept_root};
use crate::home::current_user;
use crate::output::{CliFailure, note, remark};

/// What the memory as a whole is called, for `--without`.
pub(crate) const NAME: &str = "memory";

/// Whether an agent remembers anything between runs.
#[derive(Debug, Clone)]
pub(crate) enum MemoryAccess {
    Off,
    /// The definition wants one that cannot be had, for this reason.
    Refused(String),
    On(OpenMemory),
}

/// The memory of an agent in a run of one user.
#[derive(Debug, Clone)]
pub(crate) struct OpenMemory {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) places: MemoryPlaces,
    /// Whether the workspace wants it in the prompt.
    is_in_prompt: bool,
}

/// What a run has of a memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunMemories {
    /// The part of the prompt.
    pub(crate) text: Option<String>,
    /// The user whose memories it may read.
    pub(crate) user: Option<String>,
    /// Whether there are private ones of this user.
    pub(crate) is_private: bool,
}

/// Whose memories the agents of a tree of runs may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum MemoryReach {
    /// Those of the user, and the agents' own.
    #[default]
    User,
    /// Only the agents' own: others will read the run, or it began without those of the user.
    Agent,
    /// None: it is the run of another user.
    Nothing,
}

/// What the runs of a tree have of memories together: what one of them reads reaches the others in prompts and answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeMemories {
    pub(crate) reach: MemoryReach,
    /// The user whose memories one of them may read.
    pub(crate) user: Option<String>,
    /// Whether there were private ones of this user at the beginning.
    pub(crate) is_private: bool,
}

impl TreeMemories {
    /// Those of a new run, with those of its delegates.
    pub(crate) fn of(reach: MemoryReach, ground: &PreparedAgent, own: &RunMemories) -> Self {
        if reach == MemoryReach::Nothing {
            return Self { reach, ..Self::default() };
        }
        let delegates = reachable(ground);
        let open: Vec<_> = delegates.iter().filter_map(|it| it.ground.memory.open(&[])).collect();
        let user = open.first().map(|open| open.user().as_str().to_owned());
        let has_private = || open.iter().any(|open| open.store.has_private());
        Self {
            reach,
            is_private: own.is_private || (reach == MemoryReach::User && has_private()),
            user: own.user.clone().or(user),
        }
    }

    /// Those of a run that goes on, in a process of `current`. A run that began without the memories of a user gets none later,
    /// and nobody's run uses the memories of somebody else.
    pub(crate) fn of_earlier(about: &RunDescription, current: &str) -> Self {
        let RunSettings { user, is_private, .. } = &about.settings;
        let reach = match (user, &about.user) {
            (Some(_), _) => MemoryReach::User,
            (None, Some(of)) if of != current => MemoryReach::Nothing,
            (None, _) => MemoryReach::Agent,
        };
        Self { reach, user: user.clone(), is_private: *is_private }
    }
}

impl MemoryAccess {
    /// The memory of an agent, as its definition or its installation wants it.
    pub(crate) fn of(
        disk: &DiskWorld,
        compiled: &CompiledAgent,
        home: &Path,
        is_in_prompt: bool,
    ) -> Result<Self, CliFailure> {
        match wanted(disk, compiled, home) {
            Ok(false) => Ok(Self::Off),
            Err(why) => Ok(Self::Refused(why)),
            Ok(true) => {
                let places = places(disk, compiled, home, current_user()?);
                let store = Arc::new(MemoryStore::new(&places));
                Ok(Self::On(OpenMemory { store, places, is_in_prompt }))
            }
        }
    }

    /// What the definition says about memory without an effect.
    pub(crate) fn remark(&self, agent: &Agent) -> Option<String> {
        let is_shared = agent.memory.shared.as_ref().is_some_and(|shared| shared.value);
        let text = "`memory.shared` has no effect: `memory.long_term` is `none`";
        (is_shared && matches!(self, Self::Off)).then(|| text.to_owned())
    }

    /// Leaves out what the agents of a tree may not use.
    pub(crate) fn narrow(&mut self, reach: MemoryReach) {
        let Self::On(open) = self else { return };
        match reach {
            MemoryReach::User => {}
            MemoryReach::Agent => {
                let MemoryPlaces { layout, id, .. } = &open.places;
                open.store = Arc::new(open.store.without_user(layout, id));
            }
            MemoryReach::Nothing => *self = Self::Off,
        }
    }

    /// The memory, if the agent has one and the user wants it.
    pub(crate) fn open(&self, without: &[String]) -> Option<&OpenMemory> {
        match self {
            Self::On(open) if !is_left_out(NAME, without) => Some(open),
            _ => None,
        }
    }
}

impl OpenMemory {
    pub(crate) fn user(&self) -> &UserName {
        &self.places.user
    }

    /// The text for the prompt. A memory that cannot be read is reported, and the run goes on without it.
    pub(crate) fn in_prompt(&self, prompt: Option<&str>, window: Option<u64>) -> Option<String> {
        if !self.is_in_prompt {
            return None;
        }
        let store = self.store.noticing(announce_index);
        match in_prompt(&store, prompt, window, seconds()) {
            Ok(memories) => memories.map(|PromptMemories { text, .. }| text),
            Err(error) => {
                let error = error.to_string();
                remark(&format!("warning: the prompt has no memories: {}", visible(&error)));
                None
            }
        }
    }
}

/// Reports that many memories are indexed, which takes seconds.
pub(crate) fn announce_index(count: usize) {
    note(&format!("indexing {count} memories"));
}

/// The part of a prompt with this text.
pub(crate) fn part(text: String) -> PromptPart {
    PromptPart { name: NAME, origin: "agentry".to_owned(), text, masked_lines: Vec::new() }
}

/// The tools for the memory, or why it cannot be had.
pub(super) fn gather(
    ground: &PreparedAgent,
    others: &DeclaredTools,
    without: &[String],
) -> DeclaredTools {
    let missing = match &ground.memory {
        MemoryAccess::Refused(reason) => {
            let (name, reason) = (NAME.to_owned(), reason.clone());
            vec![MissingTool { name, kind: DeclaredKind::Home, reason, is_optional: false }]
        }
        MemoryAccess::On(_) if is_left_out(NAME, without) => {
            let (name, reason) = (NAME.to_owned(), "left out by `--without`".to_owned());
            vec![MissingTool { name, kind: DeclaredKind::Home, reason, is_optional: true }]
        }
        MemoryAccess::Off | MemoryAccess::On(_) => Vec::new(),
    };
    let store = ground.memory.open(without).map(|open| &open.store);
    let mode = ground.evolution.memory;
    let mut tools =
        store.map_or_else(Vec::new, |store| memory_tools(&ground.judge, Some(store), mode));
    // A tool of the definition keeps its name.
    let taken: Vec<String> = others.tools.iter().map(|tool| tool.spec().name).collect();
    tools.retain(|tool| !is_left_out(&tool.spec().name, &taken));
    DeclaredTools { tools, missing, ..DeclaredTools::default() }
}

/// Refuses to continue a conversation if the agent keeps no messages.
pub(crate) fn may_converse(ground: &PreparedAgent) -> Result<(), CliFailure> {
    let working = ground.agent.memory.working.as_ref();
    if working.is_none_or(|working| working.value != WorkingMemory::None) {
        return Ok(());
    }
    let message =
        format!("`{}` holds no conversation: its `memory.working` is `none`", ground.path());
    Err(CliFailure::new(message).hint("run it anew with each prompt").refused())
}

/// Whether an agent has a memory, or why it cannot have the one that it declares.
pub(crate) fn wanted(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    home: &Path,
) -> Result<bool, String> {
    let declared = compiled.whole().memory.long_term.as_ref();
    match declared.map(|declared| declared.value) {
        Some(LongTermMemory::External) => {
            let reason = "`memory.long_term` is `external`, and Agentry keeps memories on this machine \
                only; `local` does that";
            Err(reason.to_owned())
        }
        Some(LongTermMemory::Local) => Ok(true),
        Some(LongTermMemory::None) => Ok(false),
        None => Ok(info(compiled.found.format).remembers
            || installed_id(disk, compiled, home).is_some_and(|id| has_memory(home, &id))),
    }
}

/// Whether an agent was installed with `--memory`.
fn has_memory(home: &Path, id: &str) -> bool {
    // A record that cannot be read is reported where an id is looked up.
    let record = AgentRecord::open_if_any(&HomeLayout::new(home)).ok().flatten();
    record.and_then(|record| record.find(id).ok().flatten()).is_some_and(|agent| agent.memory)
}

/// Where the memories of an agent lie. What users teach an agent that is not installed is kept under its name and a hash of
/// its place: another agent of the same name must not read it.
pub(crate) fn places(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    home: &Path,
    user: UserName,
) -> MemoryPlaces {
    let layout = HomeLayout::new(home);
    let installed = installed_id(disk, compiled, home);
    let shared = compiled.whole().memory.shared.as_ref();
    let of_format = has_folder(compiled).then(|| real(&disk.absolute(&compiled.found.dir)));
    let of_home = installed.as_ref().map(|id| layout.agent(id));
    MemoryPlaces {
        directory: of_format.or(of_home),
        is_installed: installed.is_some(),
        id: installed.unwrap_or_else(|| local_id(disk, compiled)),
        user,
        is_shared: shared.is_some_and(|shared| shared.value),
        layout,
    }
}

/// The id of an agent that lives in the home.
pub(crate) fn installed_id(
    disk: &dyn World,
    compiled: &CompiledAgent,
    home: &Path,
) -> Option<String> {
    let agents = fs::canonicalize(HomeLayout::new(home).agents()).ok()?;
    let directory = fs::canonicalize(disk.absolute(&compiled.found.dir)).ok()?;
    let id = directory.strip_prefix(agents).ok()?.components().next()?;
    id.as_os_str().to_str().filter(|id| is_identifier(id)).map(str::to_owned)
}

/// The identifier of an agent that is not installed: the slug of its name, and a hash of where it lies. Versions of an agent of the
/// store share theirs.
fn local_id(disk: &DiskWorld, compiled: &CompiledAgent) -> String {
    let directory = disk.absolute(&compiled.found.dir);
    let place = match kept_root(&directory) {
        Some(_) => compiled.found.path.split('@').next().unwrap_or_default().to_owned(),
        None => real(&disk.absolute(&compiled.found.path)).to_string_lossy().into_owned(),
    };
    let hash = agentry_compile::file_digest(place.as_bytes());
    let hash: String = hash.chars().take(12).collect();
    let slug = identifier_of(compiled.agent.name()).unwrap_or_else(|| "agent".to_owned());
    let slug: String = slug.chars().take(48).collect();
    format!("{slug}.{hash}")
}

fn real(path: &str) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// Whether the definition has a directory `memory/` of its own.
fn has_folder(compiled: &CompiledAgent) -> bool {
    let name = compiled.found.main.rsplit('/').next().unwrap_or_default();
    let files = &info(compiled.found.format).files;
    files.parts.contains(&"memory/") && files.mains.contains(&name)
}

/// Leaves out what an installed agent remembered, which is not a part of its definition: it must not ask for consent again.
/// A memory with an error, by whomever, does not stop the agent: its text is quoted as data in any case.
pub(crate) fn leave_out_remembered(disk: &dyn World, compiled: &mut CompiledAgent, home: &Path) {
    if compiled.agent.memories.is_empty() || installed_id(disk, compiled, home).is_none() {
        return;
    }
    for agent in [Some(&mut compiled.agent), compiled.whole.as_mut()].into_iter().flatten() {
        agent.memories.retain(|file| !is_written_at_run_time(&file.path));
        agent.unknown.retain(|(name, _)| {
            let file = name.strip_prefix("memory/").and_then(|name| name.rsplit_once('.'));
            !file.is_some_and(|(file, _)| is_written_at_run_time(file))
        });
    }
    let CompiledAgent { found, sources, diagnostics, .. } = compiled;
    let folder = format!("{}/memory/", found.dir.trim_end_matches('/'));
    for problem in diagnostics.iter_mut().filter(|it| it.severity == Severity::Error) {
        let is_memory = |path: &str| {
            let inner = path.strip_prefix(&folder);
            inner.is_some_and(is_memory)
                && !fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink())
        };
        if is_memory(sources.path(problem.span)) {
            problem.severity = Severity::Warning;
        }
    }
}
