//! The list of runs, from their journals. A run that has not changed is not read again.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use agentry_home::HomeLayout;
use agentry_home::receipt::{RunRow, first_line};
use agentry_runtime::journal::{self, DisplayTime, JournalError, RunState, RunSummary};
use agentry_server::ListWindow;
use serde_json::{Value, json};

use crate::command::receipts::recording;
use crate::command::runs::is_withheld;

/// How long the costs of all runs are valid.
const FRESH: Duration = Duration::from_secs(2);

/// The state of the files of a run.
type FileMark = [Option<(u64, SystemTime)>; 3];
/// That of a summary that has to be read again.
const NO_MARK: FileMark = [None; 3];

/// The runs of a home.
pub(super) struct RunList {
    home: PathBuf,
    known: Mutex<HashMap<String, (FileMark, Arc<RunSummary>)>>,
    costs: Mutex<Option<(Instant, BTreeMap<String, RunRow>)>>,
}

impl RunList {
    pub(super) fn new(home: PathBuf) -> Self {
        Self { home, known: Mutex::default(), costs: Mutex::default() }
    }

    /// A run as it is now.
    pub(super) fn summary(&self, id: &str) -> Result<Arc<RunSummary>, JournalError> {
        let directory = journal::runs(&self.home).join(id);
        let mark = ["journal.db", "journal.db-wal", "engine"].map(|name| {
            let found = std::fs::metadata(directory.join(name)).ok()?;
            Some((found.len(), found.modified().ok()?))
        });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, summary)) = known.get(id)
            && *before == mark
            && mark[0].is_some()
        {
            return Ok(Arc::clone(summary));
        }
        let summary = Arc::new(journal::summary(&self.home, id)?);
        // The end of a process changes no file, so nothing shows that this summary is still true.
        let mark = if summary.state == RunState::Running { NO_MARK } else { mark };
        known.insert(id.to_owned(), (mark, Arc::clone(&summary)));
        Ok(summary)
    }

    /// The same for a list, which does not read the journals of the runs that this server has a process for.
    fn listed(
        &self,
        id: &str,
        is_live: impl Fn(&str) -> bool,
    ) -> Result<Arc<RunSummary>, JournalError> {
        if is_live(id) {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((mark, summary)) = known.get_mut(id) {
                if summary.state != RunState::Running {
                    let (id, about) = (id.to_owned(), summary.about.clone());
                    let running = RunSummary { id, state: RunState::Running, detail: None, about };
                    (*mark, *summary) = (NO_MARK, Arc::new(running));
                }
                return Ok(Arc::clone(summary));
            }
        }
        self.summary(id)
    }

    /// A part of the list, the newest first, and the last id if there is more.
    pub(super) fn window(
        &self,
        window: &ListWindow,
        is_live: impl Fn(&str) -> bool,
        is_meant: impl Fn(&RunSummary) -> bool,
    ) -> Result<(Vec<Arc<RunSummary>>, Option<String>), JournalError> {
        let names = journal::run_names(&self.home)?;
        let before = |id: &&String| window.before.as_ref().is_none_or(|before| *id < before);
        let mut found = Vec::new();
        for id in names.iter().rev().filter(before) {
            // A run that never began, or disappears meanwhile, is left out.
            let Ok(summary) = self.listed(id, &is_live) else { continue };
            if !is_meant(&summary) {
                continue;
            }
            if found.len() == window.limit {
                let last = found.last().map(|run: &Arc<RunSummary>| run.id.clone());
                return Ok((found, last));
            }
            found.push(summary);
        }
        Ok((found, None))
    }

    /// The runs that are parked, of any process, without those that may repeat memories of another user.
    pub(super) fn parked(&self, is_live: impl Fn(&str) -> bool) -> Vec<Arc<RunSummary>> {
        let window = ListWindow { limit: usize::MAX, before: None, agent: None };
        let is_parked = |run: &RunSummary| {
            run.state == RunState::Parked && run.about.parent.is_none() && !is_withheld(run)
        };
        self.window(&window, is_live, is_parked).map(|(runs, _)| runs).unwrap_or_default()
    }

    /// How many runs have each state.
    pub(super) fn states(&self, is_live: impl Fn(&str) -> bool) -> BTreeMap<&'static str, u64> {
        let mut states = BTreeMap::new();
        for id in journal::run_names(&self.home).unwrap_or_default() {
            if let Ok(run) = self.listed(&id, &is_live) {
                *states.entry(run.state.as_str()).or_default() += 1;
            }
        }
        states
    }

    /// A run as the API shows it.
    pub(super) fn as_json(&self, run: &RunSummary, is_waiting: bool) -> Value {
        let about = &run.about;
        let is_withheld = is_withheld(run);
        json!({
            "id": run.id,
            "agent": about.agent,
            "name": if about.name.is_empty() { &about.agent } else { &about.name },
            "state": run.state.as_str(),
            "detail": run.detail.as_ref().filter(|_| !is_withheld),
            "started": (about.started > 0).then(|| DisplayTime(about.started).to_string()),
            "prompt": about.prompt.as_deref().filter(|_| !is_withheld).map(first_line),
            "cost": self.cost(&run.id),
            "parent": about.parent.as_ref().map(|parent| &parent.run),
            "waiting": is_waiting,
        })
    }

    /// What a run cost, in dollars, by its receipt.
    fn cost(&self, id: &str) -> Option<f64> {
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        if costs.as_ref().is_none_or(|(at, _)| at.elapsed() >= FRESH) {
            *costs = Some((Instant::now(), recording::run_rows(&HomeLayout::new(&self.home))));
        }
        let row = costs.as_ref().and_then(|(_, rows)| rows.get(id))?;
        #[expect(clippy::cast_precision_loss, reason = "no run costs 2^53 millionths of a dollar")]
        row.cost.map(|cost| cost as f64 / 1_000_000.0)
    }
}
