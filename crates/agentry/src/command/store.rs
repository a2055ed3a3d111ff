//! What the store commands share: opening the store, finding agents in it, reporting its errors.

use std::path::Path;

use agentry_compile::text::path::split;
use agentry_compile::{FoundAgent, World, signing};
use agentry_registry::{
    AgentReference, AgentStore, GatherError, GatheredObject, SignatureTrust, StoreError,
    StoreObject, StoredName, gather,
};

use crate::command::suggestion::one_of;
use crate::command::{find_one, reported, show_errors};
use crate::command::{home_agents, registry};
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::CliFailure;
use crate::registries::{open_store, signing_settings, with_option};

/// The store, or a failure if there is none.
pub(super) fn open() -> Result<AgentStore, CliFailure> {
    open_store(&home()?).map_err(failed)
}

/// The store, or `None` if there is none yet.
pub(super) fn open_if_any() -> Result<Option<AgentStore>, CliFailure> {
    match open_store(&home()?) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::NoStore(_)) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// The signatures that the user's configuration and the workspace require of agents of the store.
pub(super) fn trust(disk: &dyn World) -> Result<SignatureTrust, CliFailure> {
    let signing = signing(disk).map_err(|(findings, sources)| {
        reported(&findings, &sources, "your own configuration has errors")
    })?;
    let (_, workspace) = signing_settings(disk).map_err(failed)?;
    SignatureTrust::new(&with_option(signing), &workspace).map_err(|error| {
        CliFailure::new(format!("`[signing]` of your configuration: {error}"))
            .hint("`agentry keygen` prints a key as it must be written")
    })
}

/// The agent of the home that a text names: an installed one by its id, one of the store by `name@version` or a digest, one
/// of a registry by `oci://…` or a pinned URL.
/// `None` if it is a path.
pub(super) fn kept(disk: &dyn World, text: &str) -> Option<Result<AgentInStore, CliFailure>> {
    let alone = |found| AgentInStore { found, beside: None };
    if let Some(found) = registry::found(disk, text) {
        return Some(found);
    }
    match home_agents::found(text) {
        Some(found) => Some(found.map(alone)),
        None => stored(disk, text),
    }
}

/// The agent of the store that a text names by `name@version` or by a digest; `None` if it is a path. A path
/// wins over a reference of the same text.
fn stored(disk: &dyn World, text: &str) -> Option<Result<AgentInStore, CliFailure>> {
    let is_exact = text.contains('@') || ["sha256:", "ag1:"].iter().any(|it| text.starts_with(it));
    if !is_exact || Path::new(text).exists() {
        return None;
    }
    let reference: AgentReference = text.parse().ok()?;
    let found = || {
        let (store, trust) = (open()?, trust(disk)?);
        // Verifies every file, and the agent as a whole.
        let object =
            store.read_trusted(&reference, &trust).map_err(|error| missed(&store, error))?;
        let files = store.files(&object.manifest).map_err(failed)?;
        Ok(AgentInStore::new(text, &object, &files))
    };
    Some(found())
}

/// An agent of the home, where its files lie there.
pub(super) struct AgentInStore {
    pub(super) found: FoundAgent,
    /// A file of its workspace outside its own directory, if it has one.
    pub(super) beside: Option<String>,
}

impl AgentInStore {
    /// The agent that `text` names, whose verified files lie in `files`.
    pub(super) fn new(text: &str, object: &StoreObject, files: &Path) -> Self {
        let (dir, main) = split(&object.manifest.main);
        let own = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let is_beside = |(path, _): &&(String, Vec<u8>)| !path.starts_with(&own);
        let beside = object.files.iter().find(is_beside).map(|(path, _)| path.clone());
        let found = FoundAgent {
            path: text.to_owned(),
            dir: files.join(dir).to_string_lossy().into_owned(),
            main: main.to_owned(),
            format: object.manifest.format,
        };
        Self { found, beside }
    }
}

/// The files of an agent on disk, ready for the store.
pub(super) fn gathered(
    disk: &DiskWorld,
    path: &str,
    format: Option<agentry_compile::model::Format>,
    version: Option<&str>,
) -> Result<GatheredObject, CliFailure> {
    let found = find_one(disk, path, format)?;
    gather(disk, &found, version).map_err(|error| match error {
        GatherError::Refused(error) => failed(error).finding(),
        GatherError::Unusable(compiled) => {
            show_errors(&compiled);
            CliFailure::new(format!("`{}` has errors", found.path))
                .hint("`agentry check` shows all findings")
                .finding()
        }
        GatherError::Secrets(secrets) => {
            let list: Vec<_> = secrets
                .iter()
                .map(|secret| format!("`{}` ({})", secret.place, secret.kind))
                .collect();
            CliFailure::new(format!("`{}` holds secrets: {}", found.path, list.join(", ")))
                .hint("put them into the environment and name the variable, as `${env:NAME}`")
                .finding()
        }
    })
}

/// The object that the user means: by the files that it was pushed from, or by a reference.
pub(super) fn object(
    disk: &DiskWorld,
    store: &AgentStore,
    text: &str,
) -> Result<StoreObject, CliFailure> {
    // A path wins over a reference of the same text.
    if !Path::new(text).exists() {
        let reference = text.parse().map_err(failed)?;
        let digest = store.resolve(&reference).map_err(|error| missed(store, error))?;
        return store.read(&digest).map_err(failed);
    }
    let gathered = gathered(disk, text, None, None)?;
    let object = match store.read(&gathered.manifest.digest) {
        Err(StoreError::Missing(_)) => {
            return Err(CliFailure::new(format!("`{text}` is not in the store"))
                .hint("`agentry push` puts it there")
                .finding());
        }
        other => other.map_err(failed)?,
    };
    let differs = |(path, bytes): &&(String, Vec<u8>)| {
        !object.files.iter().any(|(other, stored)| other == path && stored == bytes)
    };
    match gathered.files.iter().find(differs) {
        // A digest covers what an agent means; its files may still differ, for example in a comment.
        Some((path, _)) => {
            let message = format!("`{path}` is another file than the one in the store");
            Err(CliFailure::new(message).hint("push it as a new version").finding())
        }
        None => Ok(object),
    }
}

/// The failure for an unknown reference, with a suggestion.
pub(super) fn missed(store: &AgentStore, error: StoreError) -> CliFailure {
    let StoreError::Missing(given) = &error else { return failed(error) };
    let (given, listed) = (given.clone(), store.list().unwrap_or_default());
    let mut known: Vec<String> = Vec::new();
    for StoredName { name, version, .. } in &listed {
        known.extend([name.clone(), format!("{name}@{version}")]);
    }
    let hint =
        one_of(&given, known.iter().map(String::as_str), "`agentry list` shows what there is");
    failed(error).hint(hint)
}

/// Converts an error of the store to a failure with its exit code.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn failed(error: StoreError) -> CliFailure {
    let failure = CliFailure::new(error.to_string()).hint_opt(error.hint());
    match error {
        StoreError::Damaged { .. }
        | StoreError::Taken { .. }
        | StoreError::OtherFile { .. }
        | StoreError::Needed { .. }
        | StoreError::OtherName { .. } => failure.finding(),
        StoreError::Untrusted { .. } => failure.refused(),
        StoreError::Io { .. }
        | StoreError::Newer { .. }
        | StoreError::NoStore(_)
        | StoreError::Missing(_)
        | StoreError::Ambiguous { .. }
        | StoreError::NoVersion { .. }
        | StoreError::Unfit(_) => failure,
    }
}
