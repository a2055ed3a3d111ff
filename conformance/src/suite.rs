//! Runs the suite: agents × clients × calls, each compared with the source.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{self, Case};
use crate::client::Client;
use crate::install::{self, Installed};
use crate::rendering::{Guard, Order};
use crate::report;
use crate::sheet::{self, Sheet};
use crate::source::Source;

/// Two clients at a time: they compete for the disk more than for the processor.
const WORKERS: usize = 2;

/// The agent that is also tested with failing hooks.
const FAILING: &str = "keeper";

/// The paths and options of the suite.
#[derive(Debug, Clone)]
pub(crate) struct House {
    /// The program under test.
    pub(crate) agentry: PathBuf,
    /// The build directory, for installed clients and scratch projects.
    pub(crate) target: PathBuf,
    /// The directory of this crate, with agents and calls.
    pub(crate) home: PathBuf,
    /// Whether missing clients are installed.
    pub(crate) install: bool,
    /// Whether a client that cannot be installed is a defect.
    pub(crate) required: bool,
}

impl House {
    /// The same, without installing clients.
    pub(crate) fn installed_only(&self) -> Self {
        Self { install: false, required: false, ..self.clone() }
    }
}

/// The result of one client.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Which.
    pub(crate) client: Client,
    /// The time of its installation, if it was missing.
    pub(crate) installing: Duration,
    /// The time of its tests.
    pub(crate) asking: Duration,
    /// Whether it must be tested.
    pub(crate) required: bool,
    /// The sheets, or why it was skipped.
    pub(crate) sheets: Result<Vec<Sheet>, String>,
}

/// The result of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// No defect.
    Well,
    /// Some defects.
    Defects,
    /// No client could be tested.
    Skipped,
}

/// Tests the clients and prints the report.
pub(crate) fn run(house: &House, clients: &[Client]) -> Result<End, String> {
    let table = fs::read_to_string(house.home.join("calls.txt"));
    let cases = calls::read(&table.map_err(|error| format!("the table of calls: {error}"))?)?;
    // The files that a search finds are part of the question.
    let project = sheet::scratch(house, "source")?.project();
    let read = |agent| Source::read(&house.agentry, &project, agent, &cases);
    let agents = agents(house)?.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let queue = Mutex::new(clients.iter().copied().collect::<VecDeque<_>>());
    let outcomes = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(client) = next() {
                    let outcome = ask(house, client, &agents, &cases);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|outcome| outcome.client);
    report::print(&outcomes, &house.target.join("conformance/calls.txt"));
    Ok(if outcomes.iter().any(Outcome::is_defect) {
        End::Defects
    } else if outcomes.iter().all(|outcome| outcome.sheets.is_err()) {
        End::Skipped
    } else {
        End::Well
    })
}

impl Outcome {
    /// Whether it makes the suite fail.
    pub(crate) fn is_defect(&self) -> bool {
        match &self.sheets {
            Ok(sheets) => sheets.iter().any(Sheet::is_defect),
            Err(_) => self.required,
        }
    }
}

/// The names of the agents of the suite.
fn agents(house: &House) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(house.home.join("workspace/agents"));
    let entries = entries.map_err(|error| format!("the agents of the suite: {error}"))?;
    let directories = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        directories.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn ask(house: &House, client: Client, agents: &[Source], cases: &[Case]) -> Outcome {
    let start = Instant::now();
    let installed = match install::find(client, &house.target) {
        None if !house.install => Err("it is not installed".to_owned()),
        None => install::install(client, &house.target),
        Some(installed) => Ok(installed),
    };
    let installing = start.elapsed();
    let sheets = match installed {
        Err(reason) => Err(reason),
        Ok(installed) => Ok(sheets(house, &installed, agents, cases)),
    };
    let asking = start.elapsed().saturating_sub(installing);
    Outcome { client, installing, asking, required: house.required, sheets }
}

/// Tests every agent, with and without the guard, in every role.
fn sheets(house: &House, installed: &Installed, agents: &[Source], cases: &[Case]) -> Vec<Sheet> {
    let mut sheets: Vec<Sheet> = Vec::new();
    for source in agents {
        let agent = source.agent.as_str();
        // A failing hook behaves the same for all agents, and each start is slow.
        let ways = if agent == FAILING { &Guard::ALL[..] } else { &Guard::WORKING[..] };
        for guard in ways {
            let order = Order { agent, client: installed.client, guard: *guard };
            sheets.extend(sheet::ask(house, installed, order, (source, cases)));
        }
    }
    sheets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_required_client_is_a_defect() {
        for required in [false, true] {
            let outcome = Outcome {
                client: Client::ALL[0],
                installing: Duration::ZERO,
                asking: Duration::ZERO,
                required,
                sheets: Err("`npm install` failed".to_owned()),
            };
            assert_eq!(outcome.is_defect(), required);
        }
    }
}
