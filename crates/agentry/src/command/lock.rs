//! `agentry lock`: pins the agents of a workspace, and reports what changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use agentry_compile::lock::{self, LockChange, LockError, LockedAgent, Lockfile};
use agentry_compile::text::path::{is_inside, join, split};
use agentry_compile::text::{Diagnostic, SourceFiles};
use agentry_compile::{
    CompiledAgent, EntryKind, FileTree as _, FoundAgent, WorkspaceConfig, discover,
};
use agentry_runtime::tool::mcp::PinStore;
use rayon::prelude::*;

use crate::args::LockArguments;
use crate::command::lock_report::report;
use crate::command::run::pin_review::pin_lines;
use crate::command::{BrokenAgent, failures, incomparable, none_in, show};
use crate::config_cache::ConfigCache;
use crate::disk::DiskWorld;
use crate::home::{agentry_home, sweep};
use crate::output::{CliFailure, CliOutcome, ExitKind, complain, error_text};
use crate::save;

/// Agents are read in parallel in groups, so that memory does not grow with their number.
const GROUP: usize = 256;

pub(crate) fn run(args: &LockArguments) -> CliOutcome {
    sweep();
    let disk = DiskWorld::default();
    let agents = find(&disk, args)?;
    let locks = LockCache::default();
    let looked = look(&disk, &locks, &agents, args)?;
    let mut results = Vec::new();
    for (root, agents) in by_workspace(&disk, args, looked) {
        let old = locks.of(&disk, &root);
        results.push(LockWorkspace { args, root, agents }.run(&old)?);
    }
    report(args, &results);
    let changed = results.iter().any(|result| result.agents.iter().any(LockedRow::is_changed));
    Ok(if args.check && changed { ExitKind::Findings } else { ExitKind::Done })
}

/// The named agents; without names, all agents of the workspace.
fn find(disk: &DiskWorld, args: &LockArguments) -> Result<Vec<FoundAgent>, CliFailure> {
    let whole = args.agents.is_empty();
    let root = disk.workspace("");
    let root = if root.is_empty() { ".".to_owned() } else { root };
    let paths = if whole { vec![root.clone()] } else { args.agents.clone() };
    let config = WorkspaceConfig::read(disk, &root);
    // Excludes apply to a full run only; a named agent is always wanted.
    let exclude = |path: &str| whole && config.excludes_path(path);
    let found = discover(disk, &paths, None, &exclude);
    let mut wrong: Vec<_> =
        failures(disk, &found).into_iter().map(|failure| or_gone(disk, failure)).collect();
    if !whole {
        wrong.extend(found.empty.iter().map(|path| none_in(disk, path)));
    }
    show(&found.diagnostics, &found.sources);
    if !found.diagnostics.is_empty() {
        wrong.push(CliFailure::new("some agents have errors").finding());
    }
    let mut wrong = wrong.into_iter();
    if let Some(first) = wrong.next() {
        complain(&first);
        wrong.for_each(|failure| complain(&failure));
        let so = if args.check { "nothing was compared" } else { "nothing was locked" };
        return Err(CliFailure { message: so.to_owned(), hint: None, ..first });
    }
    let configs = ConfigCache::default();
    let wanted =
        |found: &FoundAgent| !whole || !configs.of(disk, &found.dir).excludes_path(&found.path);
    Ok(found.agents.into_par_iter().filter(wanted).collect())
}

/// Adds to the failure of a missing path whether it is still in the lock.
fn or_gone(disk: &DiskWorld, failure: CliFailure) -> CliFailure {
    let Some(path) = failure.path.clone().filter(|it| disk.kind(it) == EntryKind::Missing) else {
        return failure;
    };
    let root = disk.workspace(split(&path).0);
    let (whole, top) = (disk.absolute(&path), disk.absolute(&root));
    // A lock lists paths relative to its workspace.
    let key = whole.strip_prefix(top.trim_end_matches('/')).unwrap_or(&whole).trim_matches('/');
    match lock::read(disk, &root) {
        Ok(Some(file)) if file.keys().any(|other| is_inside(other, key)) => {
            CliFailure { message: format!("`{path}` is locked, but gone"), ..failure }
                .hint("`agentry lock` without arguments forgets it")
        }
        _ => failure,
    }
}

/// An agent as it is now, and its differences from the lock.
struct LockCheck {
    found: FoundAgent,
    workspace: String,
    key: String,
    name: String,
    digest: String,
    changes: Result<Vec<LockChange>, LockError>,
    /// The new entry of the lock; `None` in the common case that nothing changed.
    locked: Option<Box<LockedAgent>>,
    problems: Vec<Diagnostic>,
    sources: SourceFiles,
}

impl LockCheck {
    fn broken(&self) -> BrokenAgent<'_> {
        (&self.found.path, &self.problems, &self.sources)
    }
}

/// Reads the agents. If one has errors, none is locked.
fn look(
    disk: &DiskWorld,
    locks: &LockCache,
    agents: &[FoundAgent],
    args: &LockArguments,
) -> Result<Vec<LockCheck>, CliFailure> {
    let (mut looked, mut broken) = (Vec::new(), Vec::new());
    for group in agents.chunks(GROUP) {
        let group: Vec<_> = group.par_iter().map(|found| one(disk, locks, found)).collect();
        let (sound, other) =
            group.into_iter().partition(|agent: &LockCheck| agent.problems.is_empty());
        looked.extend::<Vec<_>>(sound);
        broken.extend::<Vec<_>>(other);
    }
    if broken.is_empty() {
        return Ok(looked);
    }
    let broken: Vec<_> = broken.iter().map(LockCheck::broken).collect();
    // With `--check`, exit code 1 means that something changed.
    Err(if args.check {
        incomparable(&broken, "", args.format)
    } else {
        incomparable(&broken, "; nothing was locked", args.format).finding()
    })
}

fn one(disk: &DiskWorld, locks: &LockCache, found: &FoundAgent) -> LockCheck {
    let (compiled, mut locked, problems) = lock::look(disk, found);
    let LockComparison { key, has_new_pins, changes } =
        LockComparison::of(disk, locks, &compiled, &mut locked);
    LockCheck {
        found: found.clone(),
        key,
        name: locked.name.clone(),
        digest: locked.digest.clone(),
        // An unchanged agent needs no new entry, which saves memory for large workspaces.
        locked: changes
            .as_ref()
            .is_ok_and(|all| !all.is_empty() || has_new_pins)
            .then(|| Box::new(locked)),
        changes,
        // The source text is needed only to show problems.
        sources: if problems.is_empty() {
            SourceFiles::default()
        } else {
            compiled.sources.clone()
        },
        problems,
        workspace: compiled.workspace,
    }
}

/// An agent beside its entry in the lock.
pub(super) struct LockComparison {
    /// Its key in the lock.
    pub(super) key: String,
    /// Whether the lock would get pins of servers for the first time.
    has_new_pins: bool,
    /// What changed since it was locked.
    pub(super) changes: Result<Vec<LockChange>, LockError>,
}

impl LockComparison {
    /// Compares `locked`, the entry of today, and adds the pins of its servers to it.
    pub(super) fn of(
        disk: &DiskWorld,
        locks: &LockCache,
        compiled: &CompiledAgent,
        locked: &mut LockedAgent,
    ) -> Self {
        let key = lock::key(disk, compiled);
        let lock = locks.of(disk, &compiled.workspace);
        let has_new_pins = add_pins(disk, compiled, locked, || known(&lock, &key));
        let changes = match lock.as_ref() {
            Ok(lock) => lock.as_ref().map_or_else(
                || Lockfile::default().changes(&key, locked),
                |lock| lock.changes(&key, locked),
            ),
            Err(error) => Err(error.clone()),
        };
        Self { key, has_new_pins, changes }
    }
}

/// The entry of the lock, if it can be read.
fn known(lock: &Result<Option<Lockfile>, LockError>, key: &str) -> Option<LockedAgent> {
    lock.as_ref().ok()?.as_ref()?.get(key).ok()?
}

/// Adds what the servers announced when this user agreed to them, or else what is locked already: a user who
/// never ran the agent must not remove it. Returns whether there is something to lock for the first time. Most agents
/// have no server, and their entries need not be parsed.
fn add_pins(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    locked: &mut LockedAgent,
    known: impl FnOnce() -> Option<LockedAgent>,
) -> bool {
    let servers = locked.servers.as_mut().filter(|servers| !servers.is_empty());
    let (Some(servers), Some(home)) = (servers, agentry_home()) else { return false };
    let known = known();
    let agreed = PinStore::of(&home, &disk.absolute(&compiled.found.path));
    let mut is_new = false;
    for server in servers {
        let before = known.iter().flat_map(|agent| agent.servers.iter().flatten());
        let before = before.into_iter().find(|it| it.name == server.name);
        let before = before.and_then(|it| it.pins.clone());
        // A pin that cannot be read is no agreement.
        let now = agreed.find(&server.name).ok().flatten().map(|pin| pin_lines(&pin));
        is_new |= before.is_none() && now.is_some();
        server.pins = now.or(before);
    }
    is_new
}

/// The locks of the visited workspaces, each read once.
#[derive(Default)]
pub(super) struct LockCache {
    known: RwLock<BTreeMap<String, CachedLock>>,
}

/// The lock; `None` if the file is missing.
pub(super) type CachedLock = Arc<Result<Option<Lockfile>, LockError>>;

impl LockCache {
    pub(super) fn of(&self, disk: &DiskWorld, root: &str) -> CachedLock {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
        known.unwrap_or_else(|| {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            let read = || Arc::new(lock::read(disk, root));
            // Read under the write lock, so that parallel agents read the file once.
            known.entry(root.to_owned()).or_insert_with(read).clone()
        })
    }
}

/// Groups the agents by workspace. The current workspace is included even without agents: it may still
/// have a lock.
fn by_workspace(
    disk: &DiskWorld,
    args: &LockArguments,
    looked: Vec<LockCheck>,
) -> BTreeMap<String, Vec<LockCheck>> {
    let mut groups: BTreeMap<String, Vec<LockCheck>> = BTreeMap::new();
    let here = disk.workspace("");
    let has_lock = disk.kind(&join(&here, lock::FILE)) != EntryKind::Missing;
    if args.agents.is_empty() && (has_lock || looked.is_empty()) {
        groups.insert(here, Vec::new());
    }
    for agent in looked {
        groups.entry(agent.workspace.clone()).or_default().push(agent);
    }
    groups
}

/// One workspace and what to do with its lock.
struct LockWorkspace<'a> {
    args: &'a LockArguments,
    root: String,
    agents: Vec<LockCheck>,
}

/// The result for a workspace.
pub(super) struct LockOutcome {
    /// The path of the lock.
    pub(super) path: String,
    /// Whether it was written.
    pub(super) written: bool,
    /// The number of agents in the lock.
    pub(super) total: usize,
    /// The agents of this run.
    pub(super) agents: Vec<LockedRow>,
}

/// The result for an agent.
pub(super) struct LockedRow {
    /// The path as the user would write it.
    pub(super) path: String,
    /// The name and the digest now; `None` if the agent is gone.
    pub(super) now: Option<(String, String)>,
    /// Whether it was locked before.
    pub(super) known: bool,
    /// The differences from the lock.
    pub(super) changes: Vec<LockChange>,
}

impl LockedRow {
    pub(super) fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }
}

impl LockWorkspace<'_> {
    fn run(mut self, old: &Result<Option<Lockfile>, LockError>) -> Result<LockOutcome, CliFailure> {
        let path = join(&self.root, lock::FILE);
        let old = old.as_ref().map_err(|error| unusable(error.clone()))?;
        let mut file = old.clone().unwrap_or_default();
        let mut agents = self.gone(&mut file);
        for looked in std::mem::take(&mut self.agents) {
            agents.push(self.agent(&mut file, looked)?);
        }
        // An unchanged lock is not rewritten, and an empty workspace gets none.
        let same = old.as_ref().map_or_else(|| file.is_empty(), |old| *old == file);
        let written = !self.args.check && !same;
        if written {
            save::replace(&path, file.to_text().as_bytes()).map_err(|error| {
                CliFailure::new(format!("`{path}` cannot be written: {}", error_text(&error)))
                    .hint("the old lock is as it was")
            })?;
        }
        Ok(LockOutcome { path, written, total: file.keys().count(), agents })
    }

    fn agent(&self, file: &mut Lockfile, looked: LockCheck) -> Result<LockedRow, CliFailure> {
        let LockCheck { found, key, name, digest, changes, locked, .. } = looked;
        let known = file.has(&key);
        if self.args.update && !known {
            let message = format!("`{}` is not locked", found.path);
            return Err(
                CliFailure::new(message).hint(format!("`agentry lock {}` adds it", found.path))
            );
        }
        if let Some(locked) = locked.filter(|_| !self.args.check) {
            file.set(&key, &locked);
        }
        let changes = changes.map_err(unusable)?;
        Ok(LockedRow { path: found.path, now: Some((name, digest)), known, changes })
    }

    /// Locked agents that no longer exist; empty where only some agents are read, since the rest is unknown.
    fn gone(&self, file: &mut Lockfile) -> Vec<LockedRow> {
        let here: BTreeSet<_> = self.agents.iter().map(|agent| agent.key.as_str()).collect();
        let whole = self.args.agents.is_empty();
        let gone: Vec<_> =
            file.keys().filter(|key| whole && !here.contains(key)).map(str::to_owned).collect();
        gone.iter().filter(|_| !self.args.check).for_each(|key| file.remove(key));
        let agent =
            |path| LockedRow { path, now: None, known: true, changes: vec![LockChange::gone()] };
        gone.into_iter().map(agent).collect()
    }
}

fn unusable(error: LockError) -> CliFailure {
    CliFailure::new(error.message).hint(error.hint)
}
