//! What takes part in a workspace, each with its digest and where it comes from.

use std::borrow::Cow;
use std::sync::Arc;

use agentry_compile::lock::{LockedAgent, LockedServer};
use agentry_compile::text::path::join;
use agentry_compile::text::{digest, limits};
use agentry_compile::{BaseAgent, CompiledAgent, FileTree as _, FoundHarnessFile};
use agentry_registry::AgentStore;
use serde_json::{Value, json};

use super::audit_finding::AuditFinding;
use crate::command::store;
use crate::disk::DiskWorld;

/// One part. A workspace has many thousands, so that their texts are shared where they are the same.
#[derive(Debug, Clone)]
pub(super) struct WorkspacePart {
    /// `agent`, `base`, `skill`, `server`, `rule`, or the kind of a harness' file.
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Its file, or that of the agent which names it.
    pub(super) path: Arc<str>,
    pub(super) digest: Option<String>,
    /// `workspace`, `store`, `home`, `program`, `network`, `claimed` (by a person), or what else provides it.
    pub(super) origin: Cow<'static, str>,
    /// The keys that signed it; `None` where nothing is signed.
    pub(super) signers: Option<Vec<String>>,
    /// The agent that it is a part of.
    pub(super) agent: Option<Arc<str>>,
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
            "path": **path,
            "digest": digest,
            "origin": origin,
            "signed": signers.as_ref().map(|keys| !keys.is_empty()),
            "signers": signers,
            "agent": agent.as_deref(),
        })
    }

    /// Notes that a person claims the file, or reports that nothing proves what it says about itself.
    pub(super) fn settle(&mut self, is_claimed: bool, findings: &mut Vec<AuditFinding>) {
        if is_claimed {
            self.origin = Cow::Borrowed("claimed");
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
    now: LockedAgent,
    signers: &PartSigners,
) -> Vec<WorkspacePart> {
    let path: Arc<str> = Arc::from(compiled.found.path.as_str());
    let part = |kind: &'static str, name: String, origin: &'static str| WorkspacePart {
        kind,
        name,
        path: Arc::clone(&path),
        digest: None,
        origin: Cow::Borrowed(origin),
        signers: None,
        agent: Some(Arc::clone(&path)),
        files: Vec::new(),
        is_of_harness: false,
        says_rendered: false,
    };
    let shown = |file: &str| disk.absolute(&join(&compiled.workspace, file));
    let own = WorkspacePart {
        digest: Some(now.digest.clone()),
        agent: None,
        files: now.files.iter().map(|file| shown(&file.path)).collect(),
        ..part("agent", now.name.clone(), "workspace")
    };
    let mut parts = vec![own];
    parts.extend(compiled.bases.iter().zip(&now.bases).map(|(base, entry)| {
        let BaseAgent { path, stored, .. } = base;
        let origin = if stored.is_some() { "store" } else { "workspace" };
        let signers = stored.as_ref().map(|digest| signers.of(digest));
        let digest = stored.clone().or_else(|| base_digest(&now, entry));
        let own_path = Arc::from(path.as_str());
        WorkspacePart { path: own_path, digest, signers, ..part("base", path.clone(), origin) }
    }));
    parts.extend(now.skills.iter().map(|(name, found)| {
        skill(part("skill", name.clone(), "workspace"), &now, (&compiled.workspace, found))
    }));
    parts.extend(now.servers.iter().flatten().map(|server| {
        let origin = if server.url.is_some() { "network" } else { "program" };
        let digest = Some(server_digest(server));
        WorkspacePart { digest, ..part("server", server.name.clone(), origin) }
    }));
    parts.extend(now.policy.into_iter().map(|line| part("rule", line, "workspace")));
    parts
}

/// A skill, and what the lock found for it.
fn skill(
    part: WorkspacePart,
    now: &LockedAgent,
    (workspace, found): (&str, &str),
) -> WorkspacePart {
    let digest = digest_below(now, found);
    if found.starts_with("~/") {
        return WorkspacePart { path: found.into(), digest, origin: Cow::Borrowed("home"), ..part };
    }
    if digest.is_some() {
        return WorkspacePart { path: join(workspace, found).into(), digest, ..part };
    }
    WorkspacePart { origin: Cow::Owned(found.to_owned()), ..part }
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
        kind: found.kind.as_str(),
        name: name.to_owned(),
        path: Arc::from(found.path.as_str()),
        digest: bytes.map(digest::of),
        origin: Cow::Borrowed("workspace"),
        signers: None,
        agent: None,
        files: vec![disk.absolute(&found.path)],
        is_of_harness: true,
        says_rendered: false,
    }
}
