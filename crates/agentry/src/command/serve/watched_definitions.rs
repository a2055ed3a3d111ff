//! Notices that definitions changed while `serve` runs: by the names, sizes and times of the files that a search
//! for agents walks over.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::time::{Duration, Instant};

use agentry_compile::{FileTree as _, WalkedPath};

use crate::command::schedule::found_schedules::{FoundSchedule, found};
use crate::command::{find_one, home_agents, usable};
use crate::disk::DiskWorld;

/// The shortest pause between two looks.
const SHORTEST: Duration = Duration::from_secs(2);
/// The time of a look is at most this part of the time between two, so that waiting costs next to nothing.
const PART: u32 = 200;

/// The definitions whose schedules are kept.
pub(super) struct WatchedDefinitions {
    paths: Vec<String>,
    /// What the files looked like.
    seen: u64,
    looked: Instant,
    pause: Duration,
    /// The agents that have schedules.
    agents: BTreeSet<String>,
}

impl WatchedDefinitions {
    /// Watches the agents at these paths; those of the current directory and the installed ones if there are none.
    pub(super) fn new(paths: &[String]) -> Self {
        let looked = Instant::now();
        Self { paths: paths.to_vec(), seen: 0, looked, pause: SHORTEST, agents: BTreeSet::new() }
    }

    /// The directories and files that are looked at.
    fn places(&self) -> Vec<String> {
        let installed = |path: &str| home_agents::place(path);
        if self.paths.is_empty() {
            return [".".to_owned()].into_iter().chain(home_agents::root()).collect();
        }
        self.paths.iter().map(|path| installed(path).unwrap_or_else(|| path.clone())).collect()
    }

    /// Reads the schedules of all agents.
    pub(super) fn read(&mut self) -> Vec<FoundSchedule> {
        // Before the files are read: a change in between is seen at the next look.
        self.seen = self.look();
        let (schedules, _) = found(&self.paths);
        self.agents = schedules.iter().map(|it| it.key.clone()).collect();
        schedules
    }

    /// Reads the schedules again. `None` if an agent cannot be read now: its schedules stay as they are.
    pub(super) fn read_again(&mut self) -> Option<Vec<FoundSchedule>> {
        let before = std::mem::take(&mut self.agents);
        let schedules = self.read();
        if before.iter().any(|agent| !self.agents.contains(agent) && is_broken(agent)) {
            self.agents = before;
            return None;
        }
        Some(schedules)
    }

    /// Whether a file changed since the schedules were read. Looks only if the pause is over.
    pub(super) fn have_changed(&mut self) -> bool {
        self.looked.elapsed() >= self.pause && self.look() != self.seen
    }

    /// The longest time to wait until the next look.
    pub(super) fn pause(&self) -> Duration {
        self.pause
    }

    fn look(&mut self) -> u64 {
        let started = Instant::now();
        let disk = DiskWorld::default();
        let mut sum = 0_u64;
        for path in &self.places() {
            disk.walk(path, &mut |met| {
                if let WalkedPath::File(path) = met {
                    // A sum, because the order of the walk is not fixed.
                    sum = sum.wrapping_add(file_hash(Path::new(path)));
                }
            });
        }
        self.looked = Instant::now();
        self.pause = (started.elapsed() * PART).max(SHORTEST);
        sum
    }
}

/// Whether an agent is still there and cannot be read, as while it is edited.
fn is_broken(path: &str) -> bool {
    let disk = DiskWorld::default();
    find_one(&disk, path, None).is_ok_and(|found| usable(&disk, &found).is_err())
}

fn file_hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    if let Ok(found) = path.symlink_metadata() {
        (found.len(), found.modified().ok()).hash(&mut hasher);
    }
    hasher.finish()
}
