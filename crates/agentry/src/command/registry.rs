//! What the commands share about agents of registries.

use std::sync::Mutex;

use agentry_compile::text::path::{join, split};
use agentry_compile::{FoundAgent, World};
use agentry_registry::oci::{OciError, OciReference, RemoteAgent, RemoteAgents, RepositoryTrust};

use super::store::{AgentInStore, failed};
use crate::output::CliFailure;
use crate::progress::ProgressCounter;
use crate::registries::{remote_agents, repository_trust};

/// The agent that a text names by `oci://…` or a pinned URL; `None` if it is neither.
pub(super) fn found(disk: &dyn World, text: &str) -> Option<Result<AgentInStore, CliFailure>> {
    if OciReference::is_meant(text) {
        let agent = accepted(disk, text);
        return Some(agent.map(|agent| AgentInStore::new(text, &agent.object, &agent.files)));
    }
    RemoteAgents::is_url(text).then(|| {
        let trust = |place: &str| repository_trust(disk, place);
        let file = remote_agents().and_then(|remote| remote.pinned_file(text, &trust));
        let (path, stored) = file.map_err(remote_failed)?;
        let path = path.to_string_lossy().into_owned();
        let (dir, main) = split(&path);
        let (dir, main) = (dir.to_owned(), main.to_owned());
        let found = FoundAgent { path: text.to_owned(), dir, main, format: stored.format };
        Ok(AgentInStore { found, beside: None })
    })
}

/// The paths, with the main file of a copy for each agent of a registry.
pub(super) fn as_paths(disk: &dyn World, paths: Vec<String>) -> Result<Vec<String>, CliFailure> {
    let path = |text: String| match found(disk, &text) {
        Some(agent) => agent.map(|AgentInStore { found, .. }| join(&found.dir, &found.main)),
        None => Ok(text),
    };
    paths.into_iter().map(path).collect()
}

/// The agent of a reference, verified, if it has the required signatures.
pub(super) fn accepted(disk: &dyn World, text: &str) -> Result<RemoteAgent, CliFailure> {
    pulled(text, &|place| repository_trust(disk, place))
}

/// The agent of a reference, verified, if `trust` is content with its signatures.
pub(super) fn pulled(text: &str, trust: &RepositoryTrust<'_>) -> Result<RemoteAgent, CliFailure> {
    let reference: OciReference = text.parse().map_err(remote_failed)?;
    // The total is known only when the first bytes arrive.
    let counter: Mutex<Option<(ProgressCounter, u64)>> = Mutex::default();
    let progress = |done: u64, total: u64| {
        let kib = |bytes: u64| usize::try_from(bytes / 1024).unwrap_or(usize::MAX);
        if let Ok(mut counter) = counter.lock() {
            let (counter, before) =
                counter.get_or_insert_with(|| (ProgressCounter::new("pulling KiB", kib(total)), 0));
            counter.add(kib(done).saturating_sub(kib(*before)));
            *before = done;
        }
    };
    let agent = remote_agents().and_then(|remote| remote.pull(&reference, trust, &progress));
    if let Ok(mut counter) = counter.lock() {
        counter.iter_mut().for_each(|(counter, _)| counter.clear());
    }
    agent.map_err(remote_failed)
}

/// Converts an error of a registry to a failure with its exit code.
pub(super) fn remote_failed(error: OciError) -> CliFailure {
    let failure = CliFailure::new(error.to_string()).hint_opt(error.hint());
    match error {
        OciError::Refused { .. }
        | OciError::Taken { .. }
        | OciError::LocalBase { .. }
        | OciError::Private(_) => failure.finding(),
        OciError::Untrusted { .. } => failure.refused(),
        OciError::Store(error) => failed(error),
        OciError::Unfit(_)
        | OciError::Machine(_)
        | OciError::Unreachable { .. }
        | OciError::Login { .. }
        | OciError::Credentials(_)
        | OciError::Denied { .. }
        | OciError::Missing(_)
        | OciError::Busy { .. }
        | OciError::Protocol { .. } => failure,
    }
}
