//! The schedules of the agents that the user means.

use agentry_compile::formats::info;
use agentry_compile::model::Schedule;
use agentry_compile::{CompiledAgent, FileTree as _, resolved};
use agentry_home::schedule::WatchedSchedule;

use super::seconds;
use crate::command::{find, find_one, usable};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, ExitKind, complain};

/// A schedule of an agent, with what is shown of it.
pub(crate) struct FoundSchedule {
    /// The full path of the agent: its key in the ledger.
    pub(crate) key: String,
    /// The name of the agent.
    pub(crate) agent: String,
    /// The path of the agent, as the user wrote it.
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) cron: String,
    pub(crate) timezone: String,
    pub(crate) is_enabled: bool,
    pub(crate) prompt: String,
    /// Whether it is the heartbeat of an AgentFS agent, which runs only if there is something to do.
    pub(crate) is_heartbeat: bool,
    pub(crate) watched: WatchedSchedule,
}

impl FoundSchedule {
    fn new(
        (key, path): (&str, &str),
        agent: &str,
        schedule: &Schedule,
    ) -> Result<Self, CliFailure> {
        let watched = WatchedSchedule::new(key, schedule);
        let text = |it: &Option<agentry_compile::text::Spanned<String>>| {
            it.as_ref().map(|it| it.value.clone()).unwrap_or_default()
        };
        let name = text(&schedule.name);
        let watched = watched.map_err(|problem| {
            CliFailure::new(format!("`{path}`: the schedule `{name}` cannot fire: {problem}"))
                .finding()
        })?;
        let zone = text(&schedule.timezone);
        Ok(Self {
            key: key.to_owned(),
            agent: agent.to_owned(),
            path: path.to_owned(),
            cron: text(&schedule.cron),
            timezone: if zone.is_empty() { "UTC".to_owned() } else { zone },
            is_enabled: schedule.enabled.as_ref().is_none_or(|enabled| enabled.value),
            prompt: text(&schedule.prompt),
            is_heartbeat: false,
            name,
            watched,
        })
    }

    /// The next time, with the offset of its zone.
    pub(crate) fn next(&self) -> Option<String> {
        self.watched.times(seconds()).next().map(|time| self.at(time))
    }

    /// The next times, at most this many.
    pub(crate) fn upcoming(&self, most: usize) -> Vec<String> {
        self.watched.times(seconds()).take(most).map(|time| self.at(time)).collect()
    }

    /// An instant with the offset of the zone.
    pub(crate) fn at(&self, instant: i64) -> String {
        let wall = self.watched.plan().zone().wall(instant);
        wall.map(|wall| wall.to_rfc3339()).unwrap_or_default()
    }

    /// The expression, with the zone unless it is UTC.
    pub(crate) fn times(&self) -> String {
        match self.timezone.as_str() {
            "UTC" => self.cron.clone(),
            zone => format!("{} ({zone})", self.cron),
        }
    }
}

/// The schedules of all agents at these paths. A bad agent is reported and does not hide the others.
pub(crate) fn found(paths: &[String]) -> (Vec<FoundSchedule>, ExitKind) {
    let disk = DiskWorld::default();
    let here = [".".to_owned()];
    let (agents, wrong) = find(&disk, if paths.is_empty() { &here } else { paths }, None);
    let (mut schedules, mut exit) = (Vec::new(), ExitKind::Done);
    let mut report = |failure: CliFailure| {
        complain(&failure);
        exit = exit.max(failure.exit);
    };
    wrong.into_iter().for_each(&mut report);
    for agent in agents {
        match usable(&disk, &agent).and_then(|compiled| of_compiled(&disk, &compiled)) {
            Ok(own) => schedules.extend(own),
            Err(failure) => report(failure),
        }
    }
    (schedules, exit)
}

/// The schedules of one agent.
pub(crate) fn of_agent(path: &str) -> Result<Vec<FoundSchedule>, CliFailure> {
    let disk = DiskWorld::default();
    let agent = find_one(&disk, path, None)?;
    let schedules = of_compiled(&disk, &usable(&disk, &agent)?)?;
    if schedules.is_empty() {
        return Err(CliFailure::new(format!("`{path}` has no schedule"))
            .hint("an agent directory has them in `schedules/*.md`"));
    }
    Ok(schedules)
}

fn of_compiled(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
) -> Result<Vec<FoundSchedule>, CliFailure> {
    let agent = resolved(compiled);
    let path = compiled.found.path.as_str();
    let key = disk.absolute(path);
    let schedules = agent.schedules.iter();
    let found = schedules.map(|it| FoundSchedule::new((&key, path), agent.name(), it));
    let is_heartbeat = |name: &str| info(compiled.found.format).heartbeat == Some(name);
    found
        .map(|found| found.map(|it| FoundSchedule { is_heartbeat: is_heartbeat(&it.name), ..it }))
        .collect()
}
