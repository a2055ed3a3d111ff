//! Builds the lock entry of an agent from its current state.

use agentry_model::{Agent, McpServer};
use agentry_text::path::{absolute, join};
use agentry_text::{Diagnostic, Severity};

use super::delegates::delegates;
use super::policy;
use super::{LockedAgent, LockedServer};
use crate::digest::digest_of;
use crate::discover::FoundAgent;
use crate::inherit::BaseAgent;
use crate::pipeline::{CompiledAgent, read_openly};
use crate::relocate::relative;
use crate::resolve::{self, ResolveSettings, SkillResolution};
use crate::secret_mask::SecretMask;
use crate::show::resolved;
use crate::world::World;

/// The entry of a skill that no file of the workspace provides.
const NOTHING: &str = "nothing in the workspace";

/// The key of an agent in the lock: its main file, relative to the workspace root. Its name would not
/// do, because two agents may have the same name.
pub fn key(world: &dyn World, compiled: &CompiledAgent) -> String {
    named(world, compiled, &join(&compiled.found.dir, &compiled.found.main))
}

/// A path relative to the workspace root.
fn named(world: &dyn World, compiled: &CompiledAgent, path: &str) -> String {
    let full = |path: &str| absolute(&world.absolute(path));
    relative(&full(&compiled.workspace), &full(path))
}

/// The lock entry of an agent. Its MCP servers are not contacted.
pub fn locked(world: &dyn World, compiled: &CompiledAgent) -> LockedAgent {
    let agent = resolved(compiled);
    let offline = resolve::offline(world, compiled, &agent);
    let policy = policy::lines(&agent, &compiled.dir);
    let skill = |skill: resolve::PlannedSkill| (skill.name, found(world, compiled, &skill.found));
    LockedAgent {
        name: agent.name().to_owned(),
        format: compiled.found.format,
        digest: digest_of(world, compiled, agent.clone()),
        bases: compiled.bases.iter().map(|it| base(world, compiled, it)).collect(),
        files: offline.files,
        base_files: offline.base_files,
        models: offline.models,
        skills: offline.skills.into_iter().map(skill).collect(),
        policy_digest: policy::digest_of(&policy),
        policy,
        servers: Some(servers(compiled, &agent)),
        delegates: delegates(world, compiled),
    }
}

fn base(world: &dyn World, compiled: &CompiledAgent, base: &BaseAgent) -> String {
    match &base.stored {
        Some(digest) if *digest == base.path => digest.clone(),
        Some(digest) => format!("{} {digest}", base.path),
        None => named(world, compiled, &base.path),
    }
}

/// What a skill resolves to, as far as files decide it.
fn found(world: &dyn World, compiled: &CompiledAgent, found: &SkillResolution) -> String {
    match found {
        SkillResolution::Pack(path) if path.starts_with("~/") => path.clone(),
        SkillResolution::Pack(path) => named(world, compiled, path),
        SkillResolution::Native(tool) => format!("the tool {tool}"),
        SkillResolution::Mcp(server) => format!("the server {server}"),
        SkillResolution::Model => "the model".to_owned(),
        SkillResolution::Missing(_) => NOTHING.to_owned(),
    }
}

fn servers(compiled: &CompiledAgent, agent: &Agent) -> Vec<LockedServer> {
    let Some(all) = agent.tools.mcp.as_ref().filter(|all| !all.is_empty()) else {
        return Vec::new();
    };
    let mask = SecretMask::new(&compiled.sources);
    let text = |text: &str| mask.text(text.to_owned());
    let server = |server: &McpServer| {
        // Only names: values may be secrets, and differ between machines.
        let mut env: Vec<_> = server.env.iter().map(|(name, _)| name.clone()).collect();
        let mut headers: Vec<_> = server.headers.iter().map(|(name, _)| name.clone()).collect();
        env.sort();
        headers.sort();
        LockedServer {
            name: server.name.clone(),
            command: server.command.as_ref().map(|command| text(command)),
            args: server.args.iter().flatten().map(|arg| text(arg)).collect(),
            url: server.url.as_ref().map(|url| text(url)),
            env,
            headers,
            pins: None,
        }
    };
    let mut servers: Vec<_> = all.iter().map(|it| server(it)).collect();
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    servers
}

/// Reads an agent. Returns its lock entry, and the problems that prevent locking: its errors, and required
/// skills that nothing provides.
pub fn look(
    world: &dyn World,
    found: &FoundAgent,
) -> (CompiledAgent, LockedAgent, Vec<Diagnostic>) {
    let mut compiled = read_openly(world, found);
    // Looking for secrets costs time. They can only be shown in servers or in findings.
    let has_servers = compiled.whole().tools.mcp.as_ref().is_some_and(|all| !all.is_empty());
    if has_servers {
        compiled.hide_secrets();
    }
    let locked = locked(world, &compiled);
    let errors = compiled.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let mut problems: Vec<_> = errors.cloned().collect();
    // With errors, unresolved skills may only be a consequence.
    if problems.is_empty() {
        problems = unprovided(world, &compiled, &locked);
    }
    if !problems.is_empty() && !has_servers {
        compiled.hide_secrets();
    }
    (compiled, locked, problems)
}

/// Skills that neither the workspace nor a server of the user provides. The user's settings are read only
/// if the workspace lacks one.
fn unprovided(
    world: &dyn World,
    compiled: &CompiledAgent,
    locked: &LockedAgent,
) -> Vec<Diagnostic> {
    if locked.skills.iter().all(|(_, found)| found != NOTHING) {
        return Vec::new();
    }
    let servers = ResolveSettings::read(world).map(|settings| settings.servers).unwrap_or_default();
    resolve::unprovided(world, compiled, &servers)
}
