//! `agentry audit`: lists everything that takes part in a workspace, and what is suspicious about it.
//!
//! ```text
//! agents ─▶ examined (no suppression counts) ─▶ parts: agent, bases, skills, servers, rules
//!                                            └▶ findings: known-bad patterns, changes since the lock
//! rendered directories ─▶ files that no ledger, no lock and no person claims
//! ```

mod audit_finding;
mod committed_files;
mod rendered_files;
mod report;
mod workspace_part;

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentry_compile::lock::locked;
use agentry_compile::text::path::split;
use agentry_compile::{
    FileTree as _, FoundAgent, FoundHarnessFile, discover_all, examine, examine_harness,
};
use rayon::prelude::*;

use crate::args::AuditArguments;
use crate::command::lock::{LockCache, LockComparison};
use crate::command::{failures, home_agents, none_in, registry};
use crate::config_cache::ConfigCache;
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, complain, note};

use audit_finding::AuditFinding;
use rendered_files::LedgerCache;
use workspace_part::{PartSigners, WorkspacePart};

/// All that the audit found out.
#[derive(Debug, Default)]
struct AuditResult {
    parts: Vec<WorkspacePart>,
    findings: Vec<AuditFinding>,
}

pub(crate) fn run(args: &AuditArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let paths = registry::as_paths(&disk, home_agents::as_paths(&args.paths)?)?;
    let configs = ConfigCache::default();
    // Excludes are no reason to be left out: an agent that is not checked still runs.
    let mut found = discover_all(&disk, &paths, None, &|_| false);
    let hidden = committed_files::hidden(&disk, &paths);
    found.agents.extend(hidden.agents);
    found.harness.extend(hidden.harness);
    let mut result = AuditResult::default();
    let audit = Audit {
        disk: &disk,
        locks: LockCache::default(),
        ledgers: LedgerCache::default(),
        signers: PartSigners::open(),
    };
    let agents: Vec<AuditResult> = found.agents.par_iter().map(|it| audit.agent(it)).collect();
    let files: Vec<AuditResult> =
        found.harness.par_iter().map(|it| audit.harness_file(it)).collect();
    for one in agents.into_iter().chain(files) {
        result.parts.extend(one.parts);
        result.findings.extend(one.findings);
    }
    let problems = found.diagnostics.iter();
    result.findings.extend(problems.map(|it| AuditFinding::of(it, &found.sources)));
    for root in roots(&disk, &paths, &found.agents) {
        let config = configs.of(&disk, &root);
        result.findings.extend(rendered_files::findings(&disk, &config, &result.parts)?);
    }
    for part in result.parts.iter_mut().filter(|part| part.is_of_harness) {
        let config = configs.of(&disk, &disk.workspace(&part.path));
        part.settle(config.owns_path(&part.path), &mut result.findings);
    }
    result.findings.sort();
    result.findings.dedup();
    let failures = failures(&disk, &found);
    failures.iter().for_each(complain);
    found.empty.iter().for_each(|path| note(&format!("note: {}", none_in(&disk, path).message)));
    report::print(args, &result);
    Ok(exit(args, &result, !failures.is_empty()))
}

fn exit(args: &AuditArguments, result: &AuditResult, is_incomplete: bool) -> ExitKind {
    let fails = |it: &AuditFinding| it.is_error() || (args.deny_warnings && it.is_warning());
    match (is_incomplete, result.findings.iter().any(fails)) {
        (true, _) => ExitKind::Usage,
        (false, true) => ExitKind::Findings,
        (false, false) => ExitKind::Done,
    }
}

/// The workspaces of the paths and of their agents.
fn roots(disk: &DiskWorld, paths: &[String], agents: &[FoundAgent]) -> Vec<String> {
    let of_agents = agents.iter().map(|it| disk.workspace(&it.dir));
    let mut roots: Vec<String> =
        paths.iter().map(|path| disk.workspace(path)).chain(of_agents).collect();
    roots.sort();
    roots.dedup();
    roots
}

struct Audit<'a> {
    disk: &'a DiskWorld,
    locks: LockCache,
    ledgers: LedgerCache,
    signers: PartSigners,
}

impl Audit<'_> {
    fn agent(&self, found: &FoundAgent) -> AuditResult {
        let work = || {
            let compiled = examine(self.disk, found);
            let mut now = locked(self.disk, &compiled);
            let comparison = LockComparison::of(self.disk, &self.locks, &compiled, &mut now);
            let lock = self.locks.of(self.disk, &compiled.workspace);
            let mut findings: Vec<AuditFinding> = compiled
                .diagnostics
                .iter()
                .filter(|it| audit_finding::is_known_bad(it))
                .map(|it| AuditFinding::of(it, &compiled.sources))
                .collect();
            findings.extend(audit_finding::since_lock(&found.path, &lock, &comparison));
            let parts = workspace_part::of_agent(self.disk, &compiled, now, &self.signers);
            AuditResult { parts, findings }
        };
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| AuditResult {
            parts: Vec::new(),
            findings: vec![AuditFinding::defect(&found.path)],
        })
    }

    /// A file of a harness; one that was rendered belongs to its definition. Whether it was is in the list of rendered
    /// files: what the file says about itself proves nothing.
    fn harness_file(&self, found: &FoundHarnessFile) -> AuditResult {
        if self.ledgers.has(self.disk, &found.path) {
            return AuditResult::default();
        }
        let checked = examine_harness(self.disk, found);
        let bad = checked.diagnostics.iter().filter(|it| audit_finding::is_known_bad(it));
        let findings = bad.map(|it| AuditFinding::of(it, &checked.sources)).collect();
        let mut part = workspace_part::of_harness_file(self.disk, found, split(&found.path).1);
        part.says_rendered = checked.is_rendered;
        AuditResult { parts: vec![part], findings }
    }
}
