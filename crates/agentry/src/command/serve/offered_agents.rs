//! The agents that the server offers: those of its directories, and the installed ones. A request names one of
//! them, never a path.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_compile::resolved;
use agentry_home::{AgentRecord, HomeLayout};
use serde_json::{Value, json};

use crate::command::{find, read_definition};
use crate::disk::DiskWorld;

/// How long a search is valid.
const FRESH: Duration = Duration::from_secs(3);

/// An agent that can be started.
#[derive(Debug, Clone)]
pub(super) struct OfferedAgent {
    pub(super) id: String,
    pub(super) name: String,
    description: String,
    format: String,
    /// What `agentry run` gets.
    pub(super) argument: String,
    pub(super) is_installed: bool,
    /// Why it cannot be used.
    problem: Option<String>,
}

impl OfferedAgent {
    pub(super) fn as_json(&self) -> Value {
        json!({
            "id": self.id, "name": self.name, "description": self.description, "format": self.format,
            "path": self.argument, "installed": self.is_installed, "problem": self.problem,
        })
    }
}

/// The agents that are offered, searched again from time to time.
pub(super) struct AgentOffers {
    paths: Vec<String>,
    home: HomeLayout,
    found: Mutex<Option<(Instant, Vec<OfferedAgent>)>>,
}

/// Which agent a request means.
pub(super) enum MeantAgent {
    One(OfferedAgent),
    None,
    /// Several have this name: their ids.
    Several(Vec<String>),
}

impl AgentOffers {
    pub(super) fn new(paths: &[String], home: HomeLayout) -> Self {
        Self { paths: paths.to_vec(), home, found: Mutex::default() }
    }

    /// The directories and agents that the server was started with; none for the current directory.
    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// All agents, sorted by name.
    pub(super) fn all(&self) -> Vec<OfferedAgent> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, agents)) = &*found
            && at.elapsed() < FRESH
        {
            return agents.clone();
        }
        let agents = self.search();
        *found = Some((Instant::now(), agents.clone()));
        agents
    }

    /// The agent with this id, or the only one with this name.
    pub(super) fn meant(&self, text: &str) -> MeantAgent {
        let all = self.all();
        if let Some(agent) = all.iter().find(|agent| agent.id == text) {
            return MeantAgent::One(agent.clone());
        }
        let mut named: Vec<_> = all.into_iter().filter(|agent| agent.name == text).collect();
        match named.len() {
            0 => MeantAgent::None,
            1 => MeantAgent::One(named.remove(0)),
            _ => MeantAgent::Several(named.into_iter().map(|agent| agent.id).collect()),
        }
    }

    fn search(&self) -> Vec<OfferedAgent> {
        let disk = DiskWorld::default();
        // A directory without agents is no failure here: there may be installed ones.
        let here = [".".to_owned()];
        let paths = if self.paths.is_empty() { &here } else { self.paths.as_slice() };
        let (agents, _) = find(&disk, paths, None);
        let mut offered: Vec<_> = agents
            .iter()
            .map(|found| {
                let compiled = read_definition(&disk, found);
                let agent = resolved(&compiled);
                let description = agent.identity.description.as_ref();
                let path = found.path.trim_start_matches("./").trim_end_matches('/');
                // `./x` is a path, also where an installed agent is called `x`.
                let argument =
                    if path.starts_with('/') { path.to_owned() } else { format!("./{path}") };
                OfferedAgent {
                    id: path.to_owned(),
                    name: agent.name().to_owned(),
                    description: description.map(|it| it.value.clone()).unwrap_or_default(),
                    format: found.format.to_string(),
                    argument,
                    is_installed: false,
                    problem: compiled
                        .has_errors()
                        .then(|| format!("`{path}` has errors; `agentry check` shows them")),
                }
            })
            .collect();
        offered.extend(self.installed());
        offered.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        offered
    }

    fn installed(&self) -> Vec<OfferedAgent> {
        let record = AgentRecord::open_if_any(&self.home).ok().flatten();
        let agents = record.and_then(|record| record.all().ok()).unwrap_or_default();
        let offered = agents.into_iter().map(|agent| OfferedAgent {
            name: agent.name,
            description: String::new(),
            format: agent.format.to_string(),
            argument: agent.id.clone(),
            id: agent.id,
            is_installed: true,
            problem: None,
        });
        offered.collect()
    }
}
