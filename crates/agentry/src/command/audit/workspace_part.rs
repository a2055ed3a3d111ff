//! What takes part in a workspace, each with its digest and where it comes from.

use agentry_compile::lock::{LockedAgent, LockedServer};
use agentry_compile::text::path::join;
use agentry_compile::text::{digest, limits};
use agentry_compile::{BaseAgent, CompiledAgent, FileTree as _, FoundHarnessFile};
use agentry_registry::AgentStore;
use serde_json::{Value, json};

use super::audit_finding::AuditFinding;
use crate::command::store;
use crate::disk::DiskWorld;

/// One part.
#[derive(Debug, Clone)]
pub(super) struct WorkspacePart {
    /// `agent`, `base`, `skill`, `server`, `rule`, or the kind of a harness' file.
    pub(super) kind: String,
    pub(super) name: String,
    /// Its file, or that of the agent which names it.
    pub(super) path: String,
    pub(super) digest: Option<String>,
    /// `workspace`, `store`, `home`, `program`, `network`, `claimed` (by a person), or what else provides it.
    pub(super) origin: String,
    /// The keys that signed it; `None` where nothing is signed.
    pub(super) signers: Option<Vec<String>>,
    /// The agent that it is a part of.
    pub(super) agent: Option<String>,
    /// Its files, which the agent's lock covers.
    pub(super) files: Vec<String>,
    /// Whether it is a file of a harness.
    pub(super) is_of_harness: bool,
    /// Whether it says that Agentry wrote it, and no list of rendered files has it.
    pub(super) says_rendered: bool,
}

impl WorkspacePart {
    pub(super) fn to_json(&self) -> Value {
        let Self { kind, name, path, digest, origin, signers, agent, .. } = self;
        json!({
            "kind": kind,
            "name": name,
            "path": path,
            "digest": digest,
            "origin": origin,
            "signed": signers.as_ref().map(|keys| !keys.is_empty()),
            "signers": signers,
            "agent": agent,
        })
    }

    /// Notes that a person claims the file, or reports that nothing proves what it says about itself.
    pub(super) fn settle(&mut self, is_claimed: bool, findings: &mut Vec<AuditFinding>) {
        if is_claimed {
            "claimed".clone_into(&mut self.origin);
        } else if self.says_rendered && !findings.iter().any(|it| it.is_unclaimed(&self.path)) {
            findings.push(AuditFinding::unproved(&self.path));
        }
    }
}

/// Who signed the agents of the store.
pub(super) struct PartSigners {
    store: Option<AgentStore>,
}

impl PartSigners {
    pub(super) fn open() -> Self {
        Self { store: store::open_if_any().ok().flatten() }
    }

    /// The keys whose signatures are valid. None where the object cannot be read.
    fn of(&self, digest: &str) -> Vec<String> {
        let Some(store) = &self.store else { return Vec::new() };
        let object = store.read(digest).ok();
        let signers = object.and_then(|it| store.signers(&it.manifest).ok()).unwrap_or_default();
        signers.iter().map(ToString::to_string).collect()
    }
}

/// An agent and everything that it brings.
pub(super) fn of_agent(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    now: &LockedAgent,
    signers: &PartSigners,
) -> Vec<WorkspacePart> {
    let path = &compiled.found.path;
    let part = |kind: &str, name: &str, origin: &str| WorkspacePart {
        kind: kind.to_owned(),
        name: name.to_owned(),
        path: path.clone(),
        digest: None,
        origin: origin.to_owned(),
        signers: None,
        agent: Some(path.clone()),
        files: Vec::new(),
        is_of_harness: false,
        says_rendered: false,
    };
    let shown = |file: &str| disk.absolute(&join(&compiled.workspace, file));
    let own = WorkspacePart {
        digest: Some(now.digest.clone()),
        agent: None,
        files: now.files.iter().map(|file| shown(&file.path)).collect(),
        ..part("agent", &now.name, "workspace")
    };
    let mut parts = vec![own];
    parts.extend(compiled.bases.iter().zip(&now.bases).map(|(base, entry)| {
        let BaseAgent { path, stored, .. } = base;
        let origin = if stored.is_some() { "store" } else { "workspace" };
        let signers = stored.as_ref().map(|digest| signers.of(digest));
        let digest = stored.clone().or_else(|| base_digest(now, entry));
        WorkspacePart { path: path.clone(), digest, signers, ..part("base", path, origin) }
    }));
    parts.extend(now.skills.iter().map(|(name, found)| {
        let digest = digest_below(now, found);
        let origin = match found {
            found if found.starts_with("~/") => "home",
            _ if digest.is_some() => "workspace",
            found => found.as_str(),
        };
        let path = match origin {
            "workspace" => join(&compiled.workspace, found),
            "home" => found.clone(),
            _ => path.clone(),
        };
        WorkspacePart { path, digest, ..part("skill", name, origin) }
    }));
    parts.extend(now.servers.iter().flatten().map(|server| {
        let origin = if server.url.is_some() { "network" } else { "program" };
        WorkspacePart {
            digest: Some(server_digest(server)),
            ..part("server", &server.name, origin)
        }
    }));
    parts.extend(now.policy.iter().map(|line| part("rule", line, "workspace")));
    parts
}

/// The digest of the files below a path; `None` if there is none.
fn digest_below(now: &LockedAgent, path: &str) -> Option<String> {
    let dir = path.strip_suffix("/SKILL.md").unwrap_or(path);
    let is_below = |file: &str| file == path || file.starts_with(&format!("{dir}/"));
    let files = now.files.iter().chain(&now.base_files).filter(|file| is_below(&file.path));
    let lines: Vec<String> = files.map(|file| format!("{} {}\n", file.path, file.digest)).collect();
    (!lines.is_empty()).then(|| digest::of(lines.concat()))
}

fn base_digest(now: &LockedAgent, base: &str) -> Option<String> {
    let file = now.base_files.iter().find(|file| file.path == base);
    file.map(|file| file.digest.clone()).or_else(|| digest_below(now, base))
}

/// The digest of how a server is started or reached. Values of variables are no part of it.
fn server_digest(server: &LockedServer) -> String {
    let LockedServer { name, command, args, url, env, headers, pins: _ } = server;
    let text = json!([name, command, args, url, env, headers]).to_string();
    digest::of(text)
}

/// A file that a harness reads and a person wrote.
pub(super) fn of_harness_file(
    disk: &DiskWorld,
    found: &FoundHarnessFile,
    name: &str,
) -> WorkspacePart {
    let root = disk.workspace(&found.path);
    let bytes = disk.read(&root, &found.path, limits::FILE_BYTES).ok();
    WorkspacePart {
        kind: found.kind.as_str().to_owned(),
        name: name.to_owned(),
        path: found.path.clone(),
        digest: bytes.map(digest::of),
        origin: "workspace".to_owned(),
        signers: None,
        agent: None,
        files: vec![disk.absolute(&found.path)],
        is_of_harness: true,
        says_rendered: false,
    }
}
