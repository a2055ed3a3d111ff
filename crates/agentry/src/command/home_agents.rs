//! What the commands about installed agents share: opening the home, finding an agent by its id, comparing versions.

use std::path::Path;

use agentry_compile::policy::compare::SectionDiff;
use agentry_compile::text::path::split;
use agentry_compile::{CompiledAgent, FoundAgent, digest, policy_diff, read};
use agentry_home::agent_home::refuse_foreign;
use agentry_home::repository::AgentTree;
use agentry_home::{AgentHome, AgentRecord, AgentUnderLock, HomeError, HomeLayout, InstalledAgent};

use crate::command::read_definition;
use crate::command::store::home;
use crate::disk::DiskWorld;
use crate::home::current_user;
use crate::output::CliFailure;

/// The layout of the home, which must be the user's own.
pub(crate) fn layout() -> Result<HomeLayout, CliFailure> {
    let home = home()?;
    refuse_foreign(&home).map_err(failed)?;
    Ok(HomeLayout::new(home))
}

/// The installed agents, with the current user.
pub(crate) fn open() -> Result<AgentHome, CliFailure> {
    AgentHome::open(&layout()?, current_user()?.as_str()).map_err(failed)
}

/// Converts an error of the home to a failure.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(crate) fn failed(error: HomeError) -> CliFailure {
    let failure = CliFailure::new(error.to_string()).hint_opt(error.hint());
    match error {
        HomeError::Taken { .. }
        | HomeError::InTheWay(_)
        | HomeError::Busy(_)
        | HomeError::Repository(_) => failure.finding(),
        HomeError::Record(_)
        | HomeError::Io { .. }
        | HomeError::Foreign { .. }
        | HomeError::Missing(_)
        | HomeError::Identifier(_) => failure,
    }
}

/// The installed agent that a text names, if it is the id of one. A word that is a path as well names two things.
pub(super) fn found(text: &str) -> Option<Result<FoundAgent, CliFailure>> {
    let agent = match recorded(text) {
        Ok(agent) => agent?,
        Err(failure) => return Some(Err(failure)),
    };
    if Path::new(text).exists() {
        let message = format!("`{text}` is a path here and the id of an installed agent");
        let hint =
            format!("write `./{text}` for the path, or go to another directory for the agent");
        return Some(Err(CliFailure::new(message).hint(hint)));
    }
    Some(Ok(found_agent(&agent, text)))
}

/// The row of an id, if there is one. A home without a record is not created.
fn recorded(id: &str) -> Result<Option<InstalledAgent>, CliFailure> {
    if !agentry_home::layout::is_identifier(id) {
        return Ok(None);
    }
    if home().is_err() {
        return Ok(None);
    }
    let layout = layout()?;
    let record = AgentRecord::open_if_any(&layout).map_err(|error| failed(error.into()))?;
    let found = record.map(|record| record.find(id)).transpose();
    Ok(found.map_err(|error| failed(error.into()))?.flatten())
}

/// Where an installed agent is found; `path` is what it is called in messages.
pub(super) fn found_agent(agent: &InstalledAgent, path: &str) -> FoundAgent {
    at(&agent.path, &agent.main, (path, agent.format))
}

fn at(
    root: &Path,
    main: &str,
    (path, format): (&str, agentry_compile::model::Format),
) -> FoundAgent {
    let (directory, name) = split(main);
    let dir = if directory.is_empty() { root.to_owned() } else { root.join(directory) };
    let dir = dir.to_string_lossy().into_owned();
    FoundAgent { path: path.to_owned(), dir, main: name.to_owned(), format }
}

/// The paths with the main files of installed agents in place of their ids.
pub(super) fn as_paths(paths: &[String]) -> Result<Vec<String>, CliFailure> {
    let path = |text: &String| match found(text) {
        Some(found) => found.map(|found| format!("{}/{}", found.dir, found.main)),
        None => Ok(text.clone()),
    };
    paths.iter().map(path).collect()
}

/// Reads an installed agent and records its digest, after its files changed.
pub(crate) fn record(
    home: &AgentHome,
    locked: &AgentUnderLock,
) -> Result<InstalledAgent, CliFailure> {
    let disk = DiskWorld::default();
    let compiled = read_definition(&disk, &found_agent(&locked.agent, &locked.agent.id));
    home.record_digest(locked, digest(&disk, &compiled)).map_err(failed)
}

/// The installed agent that a text names. What a person changed in it is committed, if its digest is not the recorded one.
pub(crate) fn admit_edits(path: &str, digest: &str) -> Result<Option<InstalledAgent>, CliFailure> {
    let Some(agent) = recorded(path)? else { return Ok(None) };
    if agent.digest == digest {
        return Ok(Some(agent));
    }
    let home = open()?;
    let locked = home.lock(path).map_err(|error| failed(error).refused())?;
    record(&home, &locked).map(Some)
}

/// An agent with these files, read in a directory of its own, which lasts as long as the value.
pub(super) struct StagedVersion {
    _directory: tempfile::TempDir,
    pub(super) compiled: CompiledAgent,
}

impl StagedVersion {
    /// Reads the files of a commit. The directory has the agent's id, because some agents are named by it.
    pub(super) fn read(
        home: &AgentHome,
        agent: &InstalledAgent,
        tree: &AgentTree,
    ) -> Result<Self, CliFailure> {
        let staging = home.layout().staging();
        let unwritable = |error| failed(HomeError::Io { path: staging.clone(), error });
        std::fs::create_dir_all(&staging).map_err(unwritable)?;
        let directory = tempfile::tempdir_in(&staging).map_err(unwritable)?;
        let root = directory.path().join(&agent.id);
        tree.write_all(&root).map_err(|error| failed(error.into()))?;
        let compiled =
            read(&DiskWorld::default(), &at(&root, &agent.main, (&agent.id, agent.format)));
        Ok(Self { _directory: directory, compiled })
    }
}

/// Refuses a change of an agent that could not be read any more, or that permits it more. The check of every proposal.
pub(crate) fn check_change(
    home: &AgentHome,
    agent: &InstalledAgent,
    old: &AgentTree,
    new: &AgentTree,
) -> Result<(), String> {
    let diffs =
        permission_diff(home, (agent, old), (agent, new)).map_err(|failure| failure.message)?;
    let diffs = diffs.ok_or("the agent has errors, or would have them")?;
    let more = diffs.iter().find(|diff| !diff.gained.is_empty() || diff.unknown.is_some());
    match more {
        Some(diff) => Err(format!("the agent could do more in `{}`", diff.section)),
        None => Ok(()),
    }
}

/// Commits and records what changed in an agent.
pub(crate) fn refresh(home: &AgentHome, id: &str) -> Result<InstalledAgent, CliFailure> {
    let locked = home.lock(id).map_err(failed)?;
    record(home, &locked)
}

/// What the second version may do more and less than the first. `None` if one of them has errors.
pub(super) fn permission_diff(
    home: &AgentHome,
    (old, old_tree): (&InstalledAgent, &AgentTree),
    (new, new_tree): (&InstalledAgent, &AgentTree),
) -> Result<Option<Vec<SectionDiff>>, CliFailure> {
    let old = StagedVersion::read(home, old, old_tree)?;
    let new = StagedVersion::read(home, new, new_tree)?;
    if old.compiled.has_errors() || new.compiled.has_errors() {
        return Ok(None);
    }
    Ok(Some(policy_diff(&old.compiled, &new.compiled)))
}
