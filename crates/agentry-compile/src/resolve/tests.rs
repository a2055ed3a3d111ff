//! The rules of resolving, each as a table, in a world with fixed answers.

use crate::memo::SessionMemo;
use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;
use crate::inherit::BaseMemo;
use crate::store_reference::{FetchError, StoreRef, StoredAgent};
use crate::world::{FileLayer, FileTree, MachineFacts, WorldServices};
use crate::{MemoryWorld, discover, read};

mod models;
mod tooling;
mod vectors;

/// A machine: its files, its variables, and the models of its server and providers.
#[derive(Default)]
struct Here {
    files: MemoryWorld,
    set: Vec<String>,
    local: Option<Vec<&'static str>>,
    hosted: BTreeMap<&'static str, Result<Vec<&'static str>, &'static str>>,
    /// Every address that was asked, with the variable of the key.
    asked: Mutex<Vec<String>>,
}

impl Here {
    fn new(files: &[(&str, &str)], set: &[&str]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), *text));
        let set = set.iter().map(|&name| name.to_owned()).collect();
        Self { files: MemoryWorld::new(files), set, ..Self::default() }
    }

    /// The plan of the one agent at `path`.
    fn plan(&self, path: &str, ask: ModelLookup) -> ResolvedPlan {
        let found = discover(self, &[path.to_owned()], None, &|_| false);
        let compiled = read(self, &found.agents[0]);
        let settings = ResolveSettings::read(self).expect("settings");
        resolve(self, &compiled, &settings, ask)
    }
}

impl Here {
    /// The lock entry of the one agent at `path`.
    fn locked(&self, path: &str) -> crate::lock::LockedAgent {
        let found = discover(self, &[path.to_owned()], None, &|_| false);
        crate::lock::locked(self, &read(self, &found.agents[0]))
    }
}

/// The outcome of each candidate, up to the chosen one: `id: reason`.
fn outcomes(plan: &ResolvedPlan) -> Vec<String> {
    let chosen = plan.models.iter().position(|it| it.outcome == CandidateOutcome::Chosen);
    let models = plan.models.iter().take(chosen.map_or(usize::MAX, |at| at + 1));
    let line = |candidate: &ModelCandidate| match &candidate.outcome {
        CandidateOutcome::Skipped(why) => format!("{}: {why}", candidate.id),
        CandidateOutcome::Chosen | CandidateOutcome::Usable => candidate.id.clone(),
    };
    models.map(line).collect()
}

impl FileLayer for Here {
    fn below(&self) -> &dyn FileTree {
        &self.files
    }
}

impl World for Here {
    fn machine(&self) -> &MachineFacts {
        self.files.machine()
    }

    fn services(&self) -> &dyn WorldServices {
        self
    }

    fn memo(&self) -> &SessionMemo {
        self.files.memo()
    }

    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}

impl WorldServices for Here {
    fn has_env(&self, name: &str) -> bool {
        self.set.iter().any(|set| set == name)
    }

    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError> {
        self.files.fetch(reference)
    }

    fn local_models(&self, url: &str) -> Option<Vec<String>> {
        self.asked.lock().expect("one thread").push(url.to_owned());
        let models = self.local.as_ref()?;
        Some(models.iter().map(|&name| name.to_owned()).collect())
    }

    fn hosted_models(&self, endpoint: &ModelsEndpoint) -> Result<Vec<String>, String> {
        let ModelsEndpoint { url, key, .. } = endpoint;
        let line = format!("{url} {}", key.as_deref().unwrap_or("-"));
        self.asked.lock().expect("one thread").push(line);
        let known = self.hosted.iter().find(|(host, _)| url.contains(*host));
        match known.map(|(_, answer)| answer) {
            Some(Ok(models)) => Ok(models.iter().map(|&name| name.to_owned()).collect()),
            Some(Err(why)) => Err((*why).to_owned()),
            None => Err("it cannot be reached".to_owned()),
        }
    }
}
