//! The schedules of the agents that the user means.

use std::collections::HashSet;

use agentry_compile::formats::info;
use agentry_compile::model::Schedule;
use agentry_compile::{CompiledAgent, FileTree as _, FoundAgent, resolved};
use agentry_home::InstalledAgent;
use agentry_home::schedule::{PlanMemo, WatchedSchedule};

use rayon::prelude::*;

use crate::command::run::session::seconds;
use crate::command::{
    find, find_here, find_one, home_agents, read_definition, usable, without_errors,
};
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
        (agent, schedule): (&str, &Schedule),
        memo: &mut PlanMemo,
    ) -> Result<Self, CliFailure> {
        let watched = WatchedSchedule::with(key, schedule, memo);
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

/// The schedules of all agents at these paths; without paths, those of the current directory and of the installed agents. A bad
/// agent is reported and does not hide the others.
pub(crate) fn found(paths: &[String]) -> (Vec<FoundSchedule>, ExitKind) {
    let disk = DiskWorld::default();
    let (agents, wrong) =
        if paths.is_empty() { here_and_installed(&disk) } else { find(&disk, paths, None) };
    let (mut schedules, mut exit) = (Vec::new(), ExitKind::Done);
    let mut memo = PlanMemo::default();
    let mut report = |failure: CliFailure| {
        complain(&failure);
        exit = exit.max(failure.exit);
    };
    wrong.into_iter().for_each(&mut report);
    let read: Vec<_> = agents.par_iter().map(|agent| read_definition(&disk, agent)).collect();
    for compiled in read {
        match without_errors(compiled).and_then(|it| of_compiled(&disk, &it, &mut memo)) {
            Ok(own) => schedules.extend(own),
            Err(failure) => report(failure),
        }
    }
    (schedules, exit)
}

/// The agents of the current directory and the installed ones. The source of an installed agent is left out, so that its
/// schedules do not fire twice.
fn here_and_installed(disk: &DiskWorld) -> (Vec<FoundAgent>, Vec<CliFailure>) {
    let installed = home_agents::all();
    let (mut agents, wrong) = find_here(disk);
    let real = |path: &str| {
        let full = disk.absolute(path);
        disk.real(&full).unwrap_or(full)
    };
    let places = |it: &InstalledAgent| [it.source.clone(), real(&it.path.to_string_lossy())];
    let own: HashSet<String> = installed.iter().flat_map(places).collect();
    if !own.is_empty() {
        agents.retain(|found| {
            // What was installed is a directory or its main file.
            let main = format!("{}/{}", found.dir, found.main);
            ![&found.path, &found.dir, &main].iter().any(|at| own.contains(&real(at)))
        });
    }
    agents.extend(installed.iter().map(|agent| home_agents::found_agent(agent, &agent.id)));
    (agents, wrong)
}

/// The schedules of one agent.
pub(crate) fn of_agent(path: &str) -> Result<Vec<FoundSchedule>, CliFailure> {
    let disk = DiskWorld::default();
    let agent = find_one(&disk, path, None)?;
    let schedules = of_compiled(&disk, &usable(&disk, &agent)?, &mut PlanMemo::default())?;
    if schedules.is_empty() {
        return Err(CliFailure::new(format!("`{path}` has no schedule"))
            .hint("an agent directory has them in `schedules/*.md`"));
    }
    Ok(schedules)
}

fn of_compiled(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    memo: &mut PlanMemo,
) -> Result<Vec<FoundSchedule>, CliFailure> {
    let agent = resolved(compiled);
    let path = compiled.found.path.as_str();
    let key = key(disk, compiled);
    let schedules = agent.schedules.iter();
    let found = schedules.map(|it| FoundSchedule::new((&key, path), (agent.name(), it), memo));
    let is_heartbeat = |name: &str| info(compiled.found.format).heartbeat == Some(name);
    found
        .map(|found| found.map(|it| FoundSchedule { is_heartbeat: is_heartbeat(&it.name), ..it }))
        .collect()
}

/// The key of an agent in the ledger: its full path, which is the same wherever the command is called. `agentry run` takes it.
fn key(disk: &DiskWorld, compiled: &CompiledAgent) -> String {
    let installed = home_agents::directory(&disk.absolute(&compiled.found.dir));
    installed.unwrap_or_else(|| disk.absolute(&compiled.found.path))
}
