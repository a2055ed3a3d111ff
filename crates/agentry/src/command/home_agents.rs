//! What the commands about installed agents share: opening the home, finding an agent by its id, comparing versions.

use std::path::Path;

use agentry_compile::policy::compare::SectionDiff;
use agentry_compile::text::path::split;
use agentry_compile::{CompiledAgent, FoundAgent, digest, policy_diff, read};
use agentry_home::agent_home::refuse_foreign;
use agentry_home::layout::is_identifier;
use agentry_home::repository::AgentTree;
use agentry_home::{AgentHome, AgentRecord, AgentUnderLock, HomeError, HomeLayout, InstalledAgent};

use crate::command::read_definition;
use crate::disk::DiskWorld;
use crate::home::{current_user, home};
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

/// The installed agent that a text names: by its id, or by its directory in the home. A word that is a path as well names two
/// things.
pub(super) fn found(text: &str) -> Option<Result<FoundAgent, CliFailure>> {
    let agent = match recorded(text) {
        Ok(agent) => agent?,
        Err(failure) => return Some(Err(failure)),
    };
    if text == agent.id && Path::new(text).exists() {
        let message = format!("`{text}` is a path here and the id of an installed agent");
        let installed = agent.path.display();
        let hint = format!("write `./{text}` for the path, `{installed}` for the installed agent");
        return Some(Err(CliFailure::new(message).hint(hint)));
    }
    Some(Ok(found_agent(&agent, &agent.id)))
}

/// The row of the agent that a text names, if there is one. A home without a record is not created.
fn recorded(text: &str) -> Result<Option<InstalledAgent>, CliFailure> {
    let Some(id) = meant_id(text) else { return Ok(None) };
    let layout = layout()?;
    let record = AgentRecord::open_if_any(&layout).map_err(|error| failed(error.into()))?;
    let found = record.map(|record| record.find(&id)).transpose();
    Ok(found.map_err(|error| failed(error.into()))?.flatten())
}

/// The id that a text could mean: the text itself, or the name of a directory in the home. No other path is an id.
fn meant_id(text: &str) -> Option<String> {
    let home = home().ok()?;
    if is_identifier(text) {
        return Some(text.to_owned());
    }
    let path = std::path::absolute(text).ok()?;
    let id = path.file_name()?.to_str().filter(|id| is_identifier(id))?;
    // Compared without links: a link elsewhere is another path.
    (path == HomeLayout::new(home).agent(id)).then(|| id.to_owned())
}

/// The directory of the installed agent that a path leads into.
pub(super) fn directory(path: &str) -> Option<String> {
    let root = root()?;
    let id = Path::new(path).strip_prefix(&root).ok()?.components().next()?;
    Some(Path::new(&root).join(id).to_string_lossy().into_owned())
}

/// The directory of all installed agents.
pub(super) fn root() -> Option<String> {
    Some(HomeLayout::new(home().ok()?).agents().to_string_lossy().into_owned())
}

/// The directory of the installed agent that a text names.
pub(super) fn place(text: &str) -> Option<String> {
    let agent = recorded(text).ok()??;
    Some(agent.path.to_string_lossy().into_owned())
}

/// All installed agents; none if there is no home or it cannot be read.
pub(super) fn all() -> Vec<InstalledAgent> {
    let record = home()
        .ok()
        .and_then(|home| AgentRecord::open_if_any(&HomeLayout::new(home)).ok().flatten());
    record.and_then(|record| record.all().ok()).unwrap_or_default()
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
    let locked = home.lock(&agent.id).map_err(|error| failed(error).refused())?;
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
