//! `agentry render`: writes agents for the harnesses.
//!
//! ```text
//! agents of the paths ─▶ one project a workspace ─▶ read, render, plan ─▶ write ─▶ report
//! ```

mod destination;
mod disk_view;
mod files;
mod guard_advice;
pub(crate) mod lock_check;
mod loss_groups;
mod loss_text;
mod lost_tools;
mod ownership;
mod project;
mod refusal_rows;
mod render_cache;
mod render_counts;
mod report;
mod shared_lines;
mod target_settings;
mod watch;

use std::collections::BTreeMap;

use agentry_compile::targets::{RenderScope, Target, target};
use agentry_compile::text::report::human;
use agentry_compile::{
    AgentDiscovery, FileTree as _, FoundAgent, WorkspaceConfig, WorldRecorder, discover,
};

use crate::args::{RenderArguments, ResultFormat};
use crate::command::store::{self, AgentInStore};
use crate::command::{LOOKED_FOR, failures};
use crate::disk::DiskWorld;
use crate::home::sweep;
use crate::output::{
    CliFailure, CliOutcome, ExitKind, as_json, complain, has_remarked, print, remark, style,
};

pub(super) use destination::LEDGER;

use destination::RenderRoot;
use lock_check::RenderLocks;
use project::{ProjectOutcome, RenderProject};
use render_cache::RenderCache;
use report::RenderReport;

pub(crate) fn run(args: &RenderArguments) -> CliOutcome {
    sweep();
    if args.watch {
        return watch::run(args);
    }
    let remembered = RenderCache::of(&DiskWorld::default(), args);
    if let Some(rendered_text) =
        remembered.as_ref().and_then(|it| it.unchanged(&DiskWorld::default()))
    {
        print(&rendered_text);
        return Ok(ExitKind::Done);
    }
    // The current thread works too, instead of waiting for the others.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
    let disk = DiskWorld::default();
    let recorder = WorldRecorder::new(&disk);
    let (done, exit) = once(&recorder, args)?;
    let mut report = RenderReport::new(args);
    done.iter().for_each(|done| report.project(done));
    let rendered_text = match args.format {
        ResultFormat::Human => report.text(),
        ResultFormat::Json => as_json(&report.json()),
    };
    print(&rendered_text);
    let exit = exit.max(report.exit());
    let settled =
        exit == ExitKind::Done && done.iter().all(ProjectOutcome::is_settled) && !has_remarked();
    if let Some(remembered) = remembered.filter(|_| settled)
        && let Some(record) = recorder.record()
    {
        remembered.store(&record, &rendered_text);
    }
    // The process ends here; freeing the text of every agent takes longer than planning them.
    std::mem::forget(done);
    Ok(exit)
}

/// Renders once, and reports the failures of the paths themselves.
fn once(
    disk: &WorldRecorder<'_>,
    args: &RenderArguments,
) -> Result<(Vec<ProjectOutcome>, ExitKind), CliFailure> {
    let (groups, mut exit) = groups(disk, args)?;
    let mut out = Vec::new();
    for group in groups {
        // A nested workspace without targets is skipped.
        let Some(targets) = targets(args, &group)? else { continue };
        let place = RenderRoot::of(disk, args, &group.config, &group.root)?;
        let (config, locks) = (&group.config, RenderLocks::default());
        let named = ownership::named(disk, args, config);
        let project = RenderProject { args, disk, config, place, targets, locks, named };
        out.push(project.render(&group.agents)?);
    }
    if out.iter().any(|done| done.broken > 0) {
        exit = exit.max(ExitKind::Findings);
    }
    if out.iter().any(|done| done.not_as_locked > 0) {
        exit = exit.max(ExitKind::Refused);
    }
    Ok((out, exit))
}

/// The agents of one workspace.
struct WorkspaceGroup {
    root: String,
    config: WorkspaceConfig,
    agents: Vec<FoundAgent>,
    /// Whether it is the requested workspace, and not one nested in it.
    is_first: bool,
}

/// The requested agents, by workspace. With an output directory they form one group.
fn groups(
    disk: &WorldRecorder<'_>,
    args: &RenderArguments,
) -> Result<(Vec<WorkspaceGroup>, ExitKind), CliFailure> {
    let start = args.agents.first().map_or("", String::as_str);
    let root = disk.workspace(start);
    let paths = match args.agents.as_slice() {
        [] => vec![destination::here(&root)],
        paths => paths.to_vec(),
    };
    let config = usable(WorkspaceConfig::read(disk, start))?;
    let mut exit = ExitKind::Done;
    let mut stored = Vec::new();
    let mut others = Vec::new();
    for path in &paths {
        match store::kept(disk, path).map(|found| found.and_then(alone)) {
            Some(Ok(found)) => stored.push(found),
            Some(Err(failure)) => {
                complain(&failure);
                exit = exit.max(failure.exit);
            }
            None => others.push(path.clone()),
        }
    }
    let found = if others.is_empty() {
        AgentDiscovery::default()
    } else {
        discover(disk, &others, args.format_override, &|path| config.excludes_path(path))
    };
    for failure in failures(disk, &found) {
        complain(&failure);
        exit = exit.max(failure.exit);
    }
    for diagnostic in &found.diagnostics {
        let stderr = std::io::stderr();
        remark(&human::render(diagnostic, &found.sources, style(&stderr)));
        exit = exit.max(ExitKind::Findings);
    }
    for path in &found.empty {
        remark(&format!("note: no agent found in `{path}`"));
        remark(&format!("  = help: {LOOKED_FOR}"));
    }
    let mut groups = by_workspace(disk, args, (root, config), found.agents)?;
    if let Some(first) = groups.first_mut() {
        first.agents.extend(stored);
    }
    Ok((groups, exit))
}

/// Refuses an agent of the store that uses files of a workspace: rendered files would name them there.
fn alone(AgentInStore { found, beside }: AgentInStore) -> Result<FoundAgent, CliFailure> {
    let Some(file) = beside else { return Ok(found) };
    let message = format!("`{}` uses `{file}` of its workspace", found.path);
    let hint = format!("`agentry pull {} -o DIR` writes it with that file", found.path);
    Err(CliFailure::new(message).hint(hint).finding())
}

/// Groups agents by workspace; the requested workspace comes first.
fn by_workspace(
    disk: &WorldRecorder<'_>,
    args: &RenderArguments,
    (root, config): (String, WorkspaceConfig),
    agents: Vec<FoundAgent>,
) -> Result<Vec<WorkspaceGroup>, CliFailure> {
    let first = disk.absolute(&root);
    let mut groups = vec![WorkspaceGroup { root, config, agents: Vec::new(), is_first: true }];
    let mut known = BTreeMap::from([(first.clone(), 0)]);
    for agent in agents {
        let own = disk.workspace(&agent.dir);
        // Everything in one output directory shares one ledger, so it must be planned together.
        let key = if args.output.is_some() { first.clone() } else { disk.absolute(&own) };
        let at = match known.get(&key) {
            Some(at) => *at,
            None => {
                let config = usable(WorkspaceConfig::read(disk, &own))?;
                groups.push(WorkspaceGroup {
                    root: own,
                    config,
                    agents: Vec::new(),
                    is_first: false,
                });
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

/// A configuration without errors: one that cannot be read might change anything.
fn usable(config: WorkspaceConfig) -> Result<WorkspaceConfig, CliFailure> {
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

/// The targets of a workspace: those of the command line, else those of its configuration.
fn targets(
    args: &RenderArguments,
    group: &WorkspaceGroup,
) -> Result<Option<Vec<&'static Target>>, CliFailure> {
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
            remark(&format!("note: the workspace `{root}` lists no targets and is skipped"));
            Ok(None)
        }
        (true, true) => Err(CliFailure::new("there is no target to render for").hint(
            "name some with `--target`, or list them in `agentry.toml`: `[render]` `targets = [\"…\"]`",
        )),
    }
}

/// The scope that the files of a workspace are written for.
fn scope(args: &RenderArguments, config: &WorkspaceConfig) -> RenderScope {
    args.scope.or(config.render.scope).unwrap_or(RenderScope::Project)
}
