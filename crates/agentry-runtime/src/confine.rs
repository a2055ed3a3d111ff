//! Derives the confinement of commands from the policy: the widest confinement that stays within it. What a
//! confinement cannot express makes it narrower, never wider.
//!
//! ```text
//! edit                        ─▶ writes: the workspace, or the directories that rules open
//! read, external_directory    ─▶ reads, beside the directories of the system and of programs
//! rules that deny a path      ─▶ read-only or hidden
//! secrets, own definition, …  ─▶ hidden or read-only, even where they do not exist yet
//! webfetch                    ─▶ no network, or a proxy that asks the policy
//! ```
//!
//! In the workspace, commands may also use what the policy asks about: the user approved the command itself.
//! Elsewhere they may use only what the policy allows.

mod environment;
mod hosts;
mod repositories;
mod roots;
mod secrets;
#[cfg(test)]
mod tests;
pub mod variables;

use std::fs;
use std::path::{Path, PathBuf};

use agentry_compile::policy::{Judge, Section};
use agentry_compile::render::DefinitionPart;
use agentry_sandbox::{Confinement, NetworkAccess, ResourceLimits};

use crate::protected_paths::{CommandBarrier, ProtectedName, names};
use crate::tool::mcp::ProgramFiles;
pub use environment::{PATH, environment};
pub use hosts::PolicyHosts;

/// The port of the proxy, in the network namespace of the commands.
pub const PROXY: u16 = 8118;

/// Directories with the programs and settings of the machine.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/gnu"];

/// What a confinement depends on beside the policy.
#[derive(Debug, Clone, Default)]
pub struct ConfinementInputs {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Agentry's home directory.
    pub agentry_home: Option<PathBuf>,
    /// The files that define the agent and its bases, including those that do not exist yet.
    pub definition: Vec<DefinitionPart>,
    /// The directories of `PATH`.
    pub programs: Vec<PathBuf>,
    /// The directories that a rule for everything opens: see [`top_level`].
    pub top_level: Vec<PathBuf>,
}

/// Returns the directories that a policy for everything opens: those at the root of the file system, without those
/// of the kernel and of services. A directory above one of `apart` is replaced by its entries.
pub fn top_level(apart: &[&Path]) -> Vec<PathBuf> {
    const LEFT_OUT: &[&str] = &["/proc", "/sys", "/dev", "/run"];
    let mut out = Vec::new();
    let mut open = vec![PathBuf::from("/")];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
        let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for path in entries.map(|entry| entry.path()) {
            if apart.iter().any(|other| *other == path)
                || LEFT_OUT.iter().any(|it| path == Path::new(it))
            {
                continue;
            }
            let is_above = apart.iter().any(|other| other.starts_with(&path));
            if is_above { open.push(path) } else { out.push(path) }
        }
    }
    out
}

/// A confinement, and what cannot be part of it.
#[derive(Debug, Clone)]
pub struct PlannedConfinement {
    /// The confinement for the sandbox.
    pub confinement: Confinement,
    /// The hosts for the proxy.
    pub hosts: PolicyHosts,
    /// What the policy allows but commands cannot do, as text.
    pub narrowed: Vec<String>,
    /// The same confinement with every protected path, also those that commands cannot see.
    draft: Confinement,
    workspace: PathBuf,
}

impl PlannedConfinement {
    /// Returns the confinement of a program of the definition: that of commands, and its own files can be
    /// read. What the machine protects, and what a rule of the policy names, stays hidden.
    pub fn of_program(&self, judge: &Judge, files: &ProgramFiles) -> Confinement {
        let mut confinement = self.draft.clone();
        let named = files.all().filter(|path| !roots::is_named_by_deny(judge, path));
        confinement.reads.extend(named.filter(|path| path.exists()).cloned());
        let mut narrowed = Vec::new();
        confinement.hidden.extend(secrets::below(&files.projects, judge, &mut narrowed));
        finished(confinement, &self.workspace)
    }
}

/// Returns whether commands have a way to the network.
pub fn has_network(judge: &Judge) -> bool {
    !PolicyHosts::new(judge).is_empty()
}

/// Returns whether every command can read this directory of programs and settings.
pub fn is_of_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Returns the widest confinement within the policy of `judge`.
pub fn confinement(judge: &Judge, surroundings: &ConfinementInputs) -> PlannedConfinement {
    let mut narrowed = Vec::new();
    let workspace = PathBuf::from(&judge.places().workspace);
    let open = roots::readable(judge, surroundings, &mut narrowed);
    let writes = roots::writable(judge, surroundings, &open.open, &mut narrowed);
    let writes_open = writes.open;
    let mut reads = system(surroundings, judge);
    reads.extend(open.open.iter().cloned());
    let mut read_only = writes.closed;
    read_only.extend(protected(&workspace, surroundings));
    let mut hidden = unseen(&workspace, surroundings);
    // The secrets of the system are a list, so its directories are not searched.
    let is_system = |path: &&PathBuf| SYSTEM.iter().any(|system| *path == Path::new(system));
    let searched = open.open.iter().filter(|it| !is_system(it)).cloned();
    let (wide, searched): (Vec<PathBuf>, Vec<PathBuf>) =
        searched.partition(|path| surroundings.top_level.contains(path));
    hidden.extend(secrets::below(&searched, judge, &mut narrowed));
    hidden.extend(secrets::below_wide(&wide, judge, &mut narrowed));
    hidden.extend(open.closed);
    let hosts = PolicyHosts::new(judge);
    let network = if hosts.is_empty() { NetworkAccess::Off } else { NetworkAccess::Proxy(PROXY) };
    let private = private(surroundings.home.as_deref(), &reads, &writes_open);
    let draft = Confinement {
        reads,
        writes: writes_open,
        read_only,
        hidden,
        directories: directories(&workspace, surroundings),
        private,
        empty: Vec::new(),
        network,
        limits: ResourceLimits::default(),
    };
    let confinement = finished(draft.clone(), &workspace);
    PlannedConfinement { confinement, hosts, narrowed, draft, workspace }
}

/// Returns a confinement with complete lists without the entries that have no effect.
fn finished(mut confinement: Confinement, workspace: &Path) -> Confinement {
    let Confinement { reads, writes, read_only, hidden, .. } = &mut confinement;
    for list in [reads, writes, read_only, hidden] {
        *list = tidy(std::mem::take(list));
    }
    leave_out_what_is_not_seen(&mut confinement);
    let Confinement { reads, writes, .. } = &confinement;
    if !reads.iter().chain(writes).any(|root| workspace.starts_with(root)) {
        // Commands start in the workspace, even if they may read nothing there.
        confinement.empty.push(workspace.to_owned());
    }
    confinement
}

/// Returns the paths that stay read-only even in writable directories.
fn protected(workspace: &Path, surroundings: &ConfinementInputs) -> Vec<PathBuf> {
    let named = mounted().filter(|name| name.in_repository().is_none());
    let named = named.map(|name| (name.barrier, workspace.join(name.path)));
    let named =
        named.filter(|(barrier, path)| *barrier == CommandBarrier::Placeholder || path.exists());
    let repository = repositories::protected(workspace);
    let definition = surroundings.definition.iter().map(|own| PathBuf::from(&own.path));
    let definition = definition.flat_map(|path| {
        // The definition may be reached by a link; both paths must be protected.
        let real = fs::canonicalize(&path).ok();
        std::iter::once(path).chain(real)
    });
    named.map(|(_, path)| path).chain(repository).chain(definition).collect()
}

/// Returns the names that mounts protect at the root of a workspace.
fn mounted() -> impl Iterator<Item = &'static ProtectedName> {
    use CommandBarrier::{Mount, Placeholder};
    names().iter().filter(|name| matches!(name.barrier, Placeholder | Mount))
}

/// Returns which of the protected paths are directories.
fn directories(workspace: &Path, surroundings: &ConfinementInputs) -> Vec<PathBuf> {
    let usual = mounted().filter(|name| name.is_directory);
    let usual = usual.map(|name| workspace.join(name.path));
    let own = surroundings.definition.iter().filter(|own| own.is_directory);
    tidy(usual.chain(own.map(|own| PathBuf::from(&own.path))).collect())
}

/// Returns the paths that are hidden everywhere.
fn unseen(workspace: &Path, surroundings: &ConfinementInputs) -> Vec<PathBuf> {
    let own = [workspace.join(".env")];
    let home = surroundings.home.iter().flat_map(|home| secrets::of_home(home));
    let agentry = surroundings.agentry_home.clone();
    own.into_iter().chain(agentry).chain(secrets::of_system()).chain(home).collect()
}

/// Returns the system directories, and the directories of `PATH` that the policy does not deny.
fn system(surroundings: &ConfinementInputs, judge: &Judge) -> Vec<PathBuf> {
    let exists = |path: &PathBuf| path.is_absolute() && path.exists();
    let system = SYSTEM.iter().map(PathBuf::from);
    let programs = surroundings.programs.iter().flat_map(|path| programs_at(path, surroundings));
    let programs = programs.filter(|path| !roots::is_denied(judge, Section::Read, path));
    system.chain(programs).filter(exists).collect()
}

/// Returns a program directory. If it is in a hidden directory of one tool in the home directory, also
/// returns what its programs need beside it. The rest of such a directory may have settings and tokens.
fn programs_at(path: &Path, surroundings: &ConfinementInputs) -> Vec<PathBuf> {
    const SHARED: &[&str] = &[".local", ".config", ".cache"];
    const BESIDE: &[&str] =
        &["lib", "lib64", "libexec", "versions", "installs", "toolchains", "tools"];
    const CARGO: &[&str] = &["bin", "config", "config.toml", "env", "git", "registry"];
    let below = surroundings.home.as_ref().and_then(|home| {
        let first = path.strip_prefix(home).ok()?.iter().next()?.to_str()?;
        let own = first.starts_with('.') && !SHARED.contains(&first);
        own.then_some((home, first))
    });
    match below {
        Some((home, ".cargo")) => {
            let own = CARGO.iter().map(|name| home.join(".cargo").join(name));
            own.chain([home.join(".rustup/toolchains"), home.join(".rustup/settings.toml")])
                .collect()
        }
        Some((home, _)) => {
            // A program directory right below the home has no tool directory around it.
            let tool = path.parent().filter(|parent| *parent != home.as_path());
            let beside = tool.into_iter().flat_map(|tool| BESIDE.iter().map(|it| tool.join(it)));
            std::iter::once(path.to_owned()).chain(beside).collect()
        }
        None => vec![path.to_owned()],
    }
}

/// Returns the home directory if commands get a private, empty one in its place: not if it is open itself.
fn private(home: Option<&Path>, reads: &[PathBuf], writes: &[PathBuf]) -> Vec<PathBuf> {
    let taken = |home: &&Path| {
        reads.iter().chain(writes).any(|root| home.starts_with(root)) || home.parent().is_none()
    };
    home.filter(|home| !taken(home)).map(Path::to_owned).into_iter().collect()
}

fn tidy(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup();
    paths
}

/// Removes entries that have no effect.
fn leave_out_what_is_not_seen(confinement: &mut Confinement) {
    let Confinement { reads, writes, read_only, hidden, .. } = confinement;
    let all = reads.clone();
    reads.retain(|path| !all.iter().any(|other| path != other && path.starts_with(other)));
    let below = |roots: &[PathBuf], path: &Path| roots.iter().any(|root| path.starts_with(root));
    // A directory inside a protected one is not made writable again.
    writes.retain(|path| !below(read_only, path));
    read_only.retain(|path| below(writes, path));
    hidden.retain(|path| below(writes, path) || below(reads, path));
    // Paths below a hidden one need no further protection.
    let all = hidden.clone();
    let deeper = |path: &PathBuf| all.iter().any(|other| path != other && path.starts_with(other));
    hidden.retain(|path| !deeper(path));
    read_only.retain(|path| !all.iter().any(|other| path.starts_with(other)));
    let all = read_only.clone();
    let deeper = |path: &PathBuf| all.iter().any(|other| path != other && path.starts_with(other));
    read_only.retain(|path| !deeper(path));
}
