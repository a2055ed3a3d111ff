//! `agentry check`: finds agents and reports what is wrong with them.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path};
use std::sync::Arc;

use agentry_compile::checks::harness::AgentSummary;
use agentry_compile::text::path::{join, split};
use agentry_compile::text::report::{CheckSummary, counted};
use agentry_compile::text::{Diagnostic, SourceFiles};
use agentry_compile::{
    AgentDiscovery, Baseline, CheckedHarnessFile, CompiledAgent, FileTree as _, FixMode,
    FixedHarnessFile, FoundAgent, FoundHarnessFile, HomeReceipt, WorkspaceConfig, World, check,
    check_harness, check_harness_together, check_receipt, discover_all, duplicate_names, fix,
    fix_harness,
};
use rayon::prelude::*;

use crate::args::CheckArguments;
use crate::command::{failures, home_agents, none_in, registry};
use crate::config_cache::ConfigCache;
use crate::disk::DiskWorld;
use crate::home::sweep;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, remark};
use crate::progress::ProgressCounter;
use crate::save;

use super::changed_scope::ChangedScope;
use super::check_report::CheckReport;

/// Agents are checked in parallel in groups, so that memory does not grow with their number.
const GROUP: usize = 256;
/// Fewer agents than this are checked on one thread: starting threads takes longer.
const FEW: usize = 8;

pub(crate) fn run(args: &CheckArguments) -> CliOutcome {
    sweep();
    let disk = DiskWorld::default();
    let paths = registry::as_paths(&disk, home_agents::as_paths(&args.paths)?)?;
    let config = WorkspaceConfig::read(&disk, paths.first().map_or(".", String::as_str));
    let exclude = |path: &str| config.excludes_path(path);
    let found = discover_all(&disk, &paths, args.reads, &exclude);
    let mut run = CheckRun::new(args, &disk, &config)?;
    run.report.diagnostics(&config.diagnostics, &config.sources);
    run.report.diagnostics(&found.diagnostics, &found.sources);
    // A path that the user names is checked even if the configuration excludes it.
    let named = |found: &FoundAgent| paths.contains(&found.path);
    let configs = &run.configs;
    let wanted = |found: &&FoundAgent| {
        named(found) || !configs.of(&disk, &found.dir).excludes_path(&found.path)
    };
    let agents: Vec<_> = if found.agents.len() < FEW {
        found.agents.iter().filter(wanted).cloned().collect()
    } else {
        found.agents.par_iter().filter(wanted).cloned().collect()
    };
    run.agents(&agents);
    run.names();
    let is_wanted = |found: &&FoundHarnessFile| {
        paths.contains(&found.path)
            || !run.configs.of(&disk, split(&found.path).0).excludes_path(&found.path)
    };
    let harness: Vec<_> = found.harness.iter().filter(is_wanted).cloned().collect();
    run.harness(&harness);
    // A named `agentry.toml` is checked as the configuration of its directory.
    for path in found.no_agents.iter().filter(|path| is_configuration(path)) {
        run.configs.of(&disk, split(path).0);
    }
    found.receipts.iter().for_each(|receipt| run.receipt(receipt));
    run.finish(&found)
}

struct CheckRun<'a> {
    args: &'a CheckArguments,
    disk: &'a DiskWorld,
    config: &'a WorkspaceConfig,
    configs: ConfigCache,
    baseline_path: Option<String>,
    report: CheckReport<'a>,
    /// The workspace, the name and the path of each agent, to find duplicate names.
    seen: Vec<(String, String, FoundAgent)>,
    fixed: usize,
    /// The agents of harnesses, to compare them with each other.
    harness_agents: Vec<(FoundHarnessFile, AgentSummary)>,
    /// With `--changed-since`, what decides which agents are reported.
    scope: Option<ChangedScope<'a>>,
    /// Paths that are not reported, because nothing of them changed.
    unchanged: HashSet<String>,
}

impl<'a> CheckRun<'a> {
    fn new(
        args: &'a CheckArguments,
        disk: &'a DiskWorld,
        config: &'a WorkspaceConfig,
    ) -> Result<Self, CliFailure> {
        let configured = match &config.baseline {
            // A workspace is not trusted to name files elsewhere on the disk.
            Some(path) if !is_plain(path) => {
                let message =
                    format!("the baseline `{path}` of `agentry.toml` leaves the workspace");
                return Err(CliFailure::new(message).hint("name a file below the workspace"));
            }
            path => path.as_ref().map(|path| join(&config.root, path)),
        };
        let baseline_path = args.baseline.clone().or(configured);
        let known = match &baseline_path {
            // A new baseline must contain the old findings too, so none is filtered.
            Some(path) if !args.write_baseline => read_baseline(path)?,
            _ => Baseline::default(),
        };
        let report = CheckReport::new(config, args.format, known, args.write_baseline);
        let configs = ConfigCache::default();
        let since = args.changed_since.as_deref();
        let scope = since.map(|since| ChangedScope::open(disk, since)).transpose()?;
        Ok(Self {
            args,
            disk,
            config,
            configs,
            baseline_path,
            report,
            seen: Vec::new(),
            fixed: 0,
            harness_agents: Vec::new(),
            scope,
            unchanged: HashSet::new(),
        })
    }

    fn agents(&mut self, agents: &[FoundAgent]) {
        let mut progress = ProgressCounter::new("checking", agents.len());
        for group in agents.chunks(GROUP) {
            let checked: Vec<CheckedAgent> = if group.len() < FEW {
                group.iter().map(|found| self.one(found)).collect()
            } else {
                group.par_iter().map(|found| self.one(found)).collect()
            };
            for (found, checked) in group.iter().zip(checked) {
                if checked.is_unchanged {
                    self.unchanged.insert(found.path.clone());
                    self.seen.push((checked.workspace, checked.name, found.clone()));
                    continue;
                }
                if !checked.diagnostics.is_empty() {
                    progress.clear();
                }
                self.take(found, checked);
            }
            progress.add(group.len());
        }
        progress.clear();
    }

    /// Which fixes the user asked for.
    fn mode(&self) -> Option<FixMode> {
        match (self.args.fix_unsafe, self.args.fix) {
            (true, _) => Some(FixMode::Unsafe),
            (false, true) => Some(FixMode::Safe),
            (false, false) => None,
        }
    }

    /// Checks the files of harnesses, each for itself and then together.
    fn harness(&mut self, files: &[FoundHarnessFile]) {
        let mut progress = ProgressCounter::new("checking", files.len());
        for group in files.chunks(GROUP) {
            let checked: Vec<Option<(FixedHarnessFile, bool)>> = if group.len() < FEW {
                group.iter().map(|found| self.one_harness(found)).collect()
            } else {
                group.par_iter().map(|found| self.one_harness(found)).collect()
            };
            for (found, checked) in group.iter().zip(checked) {
                progress.clear();
                match checked {
                    Some((checked, false)) => {
                        self.unchanged.insert(found.path.clone());
                        let agents = checked.checked.agents.into_iter();
                        self.harness_agents.extend(agents.map(|agent| (found.clone(), agent)));
                    }
                    Some((checked, true)) => self.take_harness(found, checked),
                    None => self.defect(&found.path),
                }
            }
            progress.add(group.len());
        }
        progress.clear();
        let config_of = |dir: &str| self.configs.of(self.disk, dir);
        let together = check_harness_together(self.disk, &self.harness_agents, &config_of);
        for CheckedHarnessFile { diagnostics, sources, .. } in &together {
            let is_wanted = |it: &&Diagnostic| !self.unchanged.contains(sources.path(it.span));
            let wanted: Vec<_> = diagnostics.iter().filter(is_wanted).cloned().collect();
            self.report.diagnostics(&wanted, sources);
        }
    }

    /// Does some work for an agent in `dir`. Also returns whether something of it changed since the commit of
    /// `--changed-since`; without the option everything counts as changed.
    fn watched<T>(&self, dir: &str, work: impl FnOnce(&dyn World) -> T) -> (T, bool) {
        match &self.scope {
            Some(scope) => scope.watch(dir, work),
            None => (work(self.disk), true),
        }
    }

    /// Checks one file of a harness, and returns whether it changed; `None` after a panic.
    fn one_harness(&self, found: &FoundHarnessFile) -> Option<(FixedHarnessFile, bool)> {
        let dir = split(&found.path).0;
        let work = |world: &dyn World| {
            let config = self.configs.of(self.disk, dir);
            match self.mode() {
                Some(mode) => fix_harness(world, found, &config, mode),
                None => {
                    let checked = check_harness(world, found, &config);
                    FixedHarnessFile { files: Vec::new(), count: 0, checked }
                }
            }
        };
        catch_unwind(AssertUnwindSafe(|| self.watched(dir, work))).ok()
    }

    fn take_harness(&mut self, found: &FoundHarnessFile, fixed: FixedHarnessFile) {
        let FixedHarnessFile { files, count, mut checked } = fixed;
        if checked.is_rendered {
            return;
        }
        for (path, bytes) in &files {
            if let Err(error) = save::replace(path, bytes) {
                let message = format!("`{path}` cannot be written: {}", error_text(&error));
                self.report.failure(&CliFailure::new(message).about(path));
                self.report.broken += 1;
                let config = self.configs.of(self.disk, split(path).0);
                checked = check_harness(self.disk, found, &config);
            }
        }
        self.fixed += count;
        self.report.harness(found, &checked.agents);
        self.report.diagnostics(&checked.diagnostics, &checked.sources);
        let agents = checked.agents.into_iter();
        self.harness_agents.extend(agents.map(|agent| (found.clone(), agent)));
    }

    /// Reports a file whose check panicked.
    fn defect(&mut self, path: &str) {
        let message =
            format!("`{path}` could not be checked: a defect in agentry; please report it");
        self.report.failure(&CliFailure::new(message).about(path));
        self.report.broken += 1;
    }

    fn one(&self, found: &FoundAgent) -> CheckedAgent {
        let config = || self.configs.of(self.disk, &found.dir);
        let work = |world: &dyn World| match self.mode() {
            None => CheckedAgent::new(check(world, found, &config()), Vec::new(), 0),
            Some(mode) => {
                let fixed = fix(world, found, &config(), mode);
                CheckedAgent::new(fixed.compiled, fixed.files, fixed.count)
            }
        };
        // A panic in one parser must not stop the check of the other files.
        let done = catch_unwind(AssertUnwindSafe(|| self.watched(&found.dir, work)));
        match done {
            Ok((checked, is_changed)) => CheckedAgent { is_unchanged: !is_changed, ..checked },
            Err(_) => CheckedAgent { broken: true, ..CheckedAgent::default() },
        }
    }

    fn take(&mut self, found: &FoundAgent, checked: CheckedAgent) {
        if checked.broken {
            self.defect(&found.path);
        }
        let checked = self.save(found, checked);
        self.fixed += checked.fixed;
        self.report.agent(found, &checked.name);
        self.report.diagnostics(&checked.diagnostics, &checked.sources);
        self.seen.push((checked.workspace, checked.name, found.clone()));
    }

    /// Writes the fixes. If that fails, the agent is reported unfixed.
    fn save(&mut self, found: &FoundAgent, checked: CheckedAgent) -> CheckedAgent {
        for (path, bytes) in &checked.files {
            if let Err(error) = save::replace(path, bytes) {
                let message = format!("`{path}` cannot be written: {}", error_text(&error));
                self.report.failure(&CliFailure::new(message).about(path));
                self.report.broken += 1;
                return CheckedAgent::new(
                    check(self.disk, found, &self.configs.of(self.disk, &found.dir)),
                    Vec::new(),
                    0,
                );
            }
        }
        checked
    }

    /// Reports names that two agents share; those agents are read again to get the span.
    fn names(&mut self) {
        let names =
            self.seen.iter().map(|(workspace, name, _)| (workspace.as_str(), name.as_str()));
        for taken in duplicate_names(names) {
            let (Some(first), Some(second)) =
                (self.seen.get(taken.first), self.seen.get(taken.second))
            else {
                continue;
            };
            // An agent without a name has its own finding.
            if second.1.is_empty() {
                continue;
            }
            let is_unchanged = |it: &FoundAgent| self.unchanged.contains(&it.path);
            if is_unchanged(&first.2) && is_unchanged(&second.2) {
                continue;
            }
            let mut compiled = agentry_compile::read(self.disk, &second.2);
            // Its own findings were reported by the first check.
            compiled.diagnostics.clear();
            compiled.name_taken(&first.2, &self.configs.of(self.disk, &second.2.dir));
            self.report.diagnostics(&compiled.diagnostics, &compiled.sources);
        }
    }

    /// Checks a receipt next to the agents of a home.
    fn receipt(&mut self, receipt: &HomeReceipt) {
        let config = self.configs.of(self.disk, &receipt.home);
        let work = |world: &dyn World| check_receipt(world, receipt, &config);
        let (checked, is_changed) = self.watched(&receipt.home, work);
        if is_changed {
            self.report.diagnostics(&checked.diagnostics, &checked.sources);
        }
    }

    fn finish(mut self, found: &AgentDiscovery) -> CliOutcome {
        let own = self.disk.absolute(&self.config.root);
        // The findings of the first configuration were reported at the start.
        let is_other = |other: &&Arc<WorkspaceConfig>| self.disk.absolute(&other.root) != own;
        for other in self.configs.all().iter().filter(is_other) {
            self.report.diagnostics(&other.diagnostics, &other.sources);
        }
        let mut failures = failures(self.disk, found);
        // A named configuration was checked as such.
        let is_checked = |path: &String| is_configuration(path) && found.no_agents.contains(path);
        failures.retain(|failure| !failure.path.as_ref().is_some_and(is_checked));
        failures.iter().for_each(|failure| self.report.failure(failure));
        for path in &found.empty {
            let none = none_in(self.disk, path);
            remark(&format!("note: {}", none.message));
            // The hint matters only if no path had an agent.
            if let Some(hint) = none.hint.filter(|_| found.agents.is_empty()) {
                remark(&format!("  = help: {hint}"));
            }
        }
        for path in &found.unchecked {
            remark(&format!("note: there is nothing to check in `{path}`"));
        }
        if let Some(since) = self.args.changed_since.as_ref().filter(|_| self.report.is_empty()) {
            remark(&format!("note: no agent and no file of a harness changed since `{since}`"));
        }
        if self.fixed > 0 {
            remark(&format!("fixed {}", counted(self.fixed, "finding")));
        }
        let summary = self.report.finish();
        if self.args.write_baseline {
            self.write_baseline()?;
            return Ok(if failures.is_empty() { ExitKind::Done } else { ExitKind::Usage });
        }
        Ok(exit(&summary, self.args.deny_warnings, !failures.is_empty() || self.report.broken > 0))
    }

    fn write_baseline(&self) -> Result<(), CliFailure> {
        let path = self.baseline_path.clone().unwrap_or_else(|| "agentry-baseline.json".to_owned());
        save::replace(&path, self.report.baseline.to_text().as_bytes()).map_err(|error| {
            CliFailure::new(format!("`{path}` cannot be written: {}", error_text(&error)))
        })?;
        remark(&format!("wrote {} to `{path}`", counted(self.report.recorded, "finding")));
        if self.args.baseline.is_none() && self.config.baseline.is_none() {
            remark(&format!(
                "  = help: add `baseline = \"{path}\"` to `[check]` in `agentry.toml`"
            ));
        }
        Ok(())
    }
}

/// The part of a checked agent that is kept for the report.
#[derive(Debug, Default)]
struct CheckedAgent {
    name: String,
    workspace: String,
    diagnostics: Vec<Diagnostic>,
    sources: SourceFiles,
    files: Vec<(String, Vec<u8>)>,
    fixed: usize,
    broken: bool,
    /// Whether `--changed-since` leaves it out.
    is_unchanged: bool,
}

impl CheckedAgent {
    fn new(compiled: CompiledAgent, files: Vec<(String, Vec<u8>)>, fixed: usize) -> Self {
        let name = compiled.agent.identity.name.map_or(String::new(), |name| name.value);
        let CompiledAgent { workspace, diagnostics, sources, .. } = compiled;
        // The source text is needed only to show findings.
        let sources = if diagnostics.is_empty() { SourceFiles::default() } else { sources };
        Self {
            name,
            workspace,
            diagnostics,
            sources,
            files,
            fixed,
            broken: false,
            is_unchanged: false,
        }
    }
}

fn exit(summary: &CheckSummary, deny_warnings: bool, unreadable: bool) -> ExitKind {
    let found = summary.errors > 0 || (deny_warnings && summary.warnings > 0);
    match (unreadable, found) {
        // An incomplete check must not look like a complete one with findings.
        (true, _) => ExitKind::Usage,
        (false, true) => ExitKind::Findings,
        (false, false) => ExitKind::Done,
    }
}

/// Whether a file belongs to the workspace and not to one of its agents.
fn is_configuration(path: &str) -> bool {
    matches!(split(path).1, "agentry.toml" | "agentry.lock")
}

/// Whether a path has no part that leads out of its start directory.
fn is_plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.starts_with('~')
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The size limit of a baseline, so that a device or an endless pipe is never read.
const BASELINE_BYTES: u64 = 64 * 1024 * 1024;

fn read_baseline(path: &str) -> Result<Baseline, CliFailure> {
    let refuse = |why: String| {
        CliFailure::new(format!("the baseline `{path}` cannot be read: {why}"))
            .hint("make one with `--write-baseline`")
    };
    let metadata = std::fs::metadata(path).map_err(|error| refuse(error_text(&error)))?;
    if !metadata.is_file() || metadata.len() > BASELINE_BYTES {
        return Err(refuse("it is not a regular file".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error_text(&error)))?;
    Baseline::parse(&text)
        .map_err(|why| CliFailure::new(format!("`{path}` is not a baseline: {why}")))
}
