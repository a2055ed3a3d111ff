//! `agentry render`: agents as the harnesses want them.
//!
//! ```text
//! agents of the paths ─▶ one project a workspace ─▶ read, render, plan ─▶ write ─▶ report
//! ```

mod belongs;
mod files;
mod grouped;
pub(crate) mod locked;
mod look;
mod place;
mod project;
mod remembered;
mod report;
mod watch;
mod wishes;
mod words;

use std::collections::BTreeMap;

use agentry_compile::targets::{Scope, Target, target};
use agentry_compile::text::report::human;
use agentry_compile::{Config, FileTree as _, Found, WorldRecorder, discover};

use crate::args::{Render, ResultFormat};
use crate::command::{LOOKED_FOR, failures};
use crate::disk::Disk;
use crate::home::sweep;
use crate::output::{
    Exit, Failure, Outcome, as_json, complain, has_remarked, print, remark, style,
};

pub(super) use place::{LEDGER, agentry_home};

use locked::Locks;
use place::Place;
use project::{Done, Project};
use remembered::Remembered;
use report::Report;

pub(crate) fn run(args: &Render) -> Outcome {
    sweep();
    if args.watch {
        return watch::run(args);
    }
    let remembered = Remembered::of(&Disk::default(), args);
    if let Some(said) = remembered.as_ref().and_then(|it| it.unchanged(&Disk::default())) {
        print(&said);
        return Ok(Exit::Done);
    }
    // This thread works as well, instead of waiting for the others.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
    let disk = Disk::default();
    let recorder = WorldRecorder::new(&disk);
    let (done, exit) = once(&recorder, args)?;
    let mut report = Report::new(args);
    done.iter().for_each(|done| report.project(done));
    let said = match args.format {
        ResultFormat::Human => report.text(),
        ResultFormat::Json => as_json(&report.json()),
    };
    print(&said);
    let exit = exit.max(report.exit());
    let settled = exit == Exit::Done && done.iter().all(Done::is_settled) && !has_remarked();
    if let Some(remembered) = remembered.filter(|_| settled)
        && let Some(record) = recorder.record()
    {
        remembered.store(&record, &said);
    }
    // The program ends here; to give back every text of every agent takes longer than to plan them.
    std::mem::forget(done);
    Ok(exit)
}

/// Renders once, and says what was wrong with the paths themselves.
fn once(disk: &WorldRecorder<'_>, args: &Render) -> Result<(Vec<Done>, Exit), Failure> {
    let (groups, mut exit) = groups(disk, args)?;
    let mut out = Vec::new();
    for group in groups {
        let Some(targets) = targets(args, &group)? else { continue };
        let place = Place::of(disk, args, &group.config, &group.root)?;
        let (config, locks) = (&group.config, Locks::default());
        let named = belongs::named(disk, args, config);
        let project = Project { args, disk, config, place, targets, locks, named };
        out.push(project.render(&group.agents)?);
    }
    if out.iter().any(|done| done.broken > 0) {
        exit = exit.max(Exit::Findings);
    }
    if out.iter().any(|done| done.not_as_locked > 0) {
        exit = exit.max(Exit::Refused);
    }
    Ok((out, exit))
}

/// The agents of one workspace.
struct Group {
    root: String,
    config: Config,
    agents: Vec<Found>,
    /// Whether it is the workspace that was asked for, and not one that was met in it.
    is_first: bool,
}

/// The agents that were asked for, by workspace. Into a directory that is named, all go together.
fn groups(disk: &WorldRecorder<'_>, args: &Render) -> Result<(Vec<Group>, Exit), Failure> {
    let start = args.agents.first().map_or("", String::as_str);
    let root = disk.workspace(start);
    let paths = match args.agents.as_slice() {
        [] => vec![place::here(&root)],
        paths => paths.to_vec(),
    };
    let config = usable(Config::read(disk, start))?;
    let found = discover(disk, &paths, args.format_override, &|path| config.excludes_path(path));
    let mut exit = Exit::Done;
    for failure in failures(disk, &found) {
        complain(&failure);
        exit = exit.max(failure.exit);
    }
    for diagnostic in &found.diagnostics {
        let stderr = std::io::stderr();
        remark(&human::render(diagnostic, &found.sources, style(&stderr)));
        exit = exit.max(Exit::Findings);
    }
    for path in &found.empty {
        remark(&format!("note: no agent found in `{path}`"));
        remark(&format!("  = help: {LOOKED_FOR}"));
    }
    Ok((by_workspace(disk, args, (root, config), found.agents)?, exit))
}

/// Puts agents to their workspaces; the one that was asked for comes first.
fn by_workspace(
    disk: &WorldRecorder<'_>,
    args: &Render,
    (root, config): (String, Config),
    agents: Vec<Found>,
) -> Result<Vec<Group>, Failure> {
    let first = disk.absolute(&root);
    let mut groups = vec![Group { root, config, agents: Vec::new(), is_first: true }];
    let mut known = BTreeMap::from([(first.clone(), 0)]);
    for agent in agents {
        let own = disk.workspace(&agent.dir);
        let key = if args.output.is_some() { first.clone() } else { disk.absolute(&own) };
        let at = match known.get(&key) {
            Some(at) => *at,
            None => {
                let config = usable(Config::read(disk, &own))?;
                groups.push(Group { root: own, config, agents: Vec::new(), is_first: false });
                known.insert(key, groups.len() - 1);
                groups.len() - 1
            }
        };
        if let Some(group) = groups.get_mut(at) {
            group.agents.push(agent);
        }
    }
    Ok(groups)
}

/// A configuration without errors: one that cannot be read may say anything.
fn usable(config: Config) -> Result<Config, Failure> {
    let is_error = |found: &&agentry_compile::text::Diagnostic| {
        found.severity == agentry_compile::text::Severity::Error
    };
    if config.diagnostics.iter().any(|found| is_error(&found)) {
        return Err(super::reported(
            &config.diagnostics,
            &config.sources,
            "`agentry.toml` has errors",
        ));
    }
    Ok(config)
}

/// The targets of a workspace: those of the command line, else those that it lists.
fn targets(args: &Render, group: &Group) -> Result<Option<Vec<&'static Target>>, Failure> {
    let listed = group.config.render.targets.as_deref().unwrap_or_default();
    let mut out: Vec<&'static Target> = Vec::new();
    let named = args.targets.iter().copied();
    let listed = listed.iter().filter_map(|name| target(name)).filter(|_| args.targets.is_empty());
    for target in named.chain(listed) {
        if out.iter().all(|known| known.name != target.name) {
            out.push(target);
        }
    }
    match (out.is_empty(), group.is_first) {
        (false, _) => Ok(Some(out)),
        (true, false) => {
            let root = &group.root;
            remark(&format!("note: the workspace `{root}` lists no targets and is passed over"));
            Ok(None)
        }
        (true, true) => Err(Failure::new("there is no target to render for").hint(
            "name some with `--target`, or list them in `agentry.toml`: `[render]` `targets = [\"…\"]`",
        )),
    }
}

/// Where the files of a workspace go.
fn scope(args: &Render, config: &Config) -> Scope {
    args.scope.or(config.render.scope).unwrap_or(Scope::Project)
}
