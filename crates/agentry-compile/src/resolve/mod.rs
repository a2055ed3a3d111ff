//! From a declared agent to one that can run here: which model it runs on, what its tools and skills
//! come down to, and which files take part, each with the reason.
//!
//! ```text
//! Agent ─▶ candidates (agent + catalogue) ─▶ reach (keys, servers) ─▶ models
//!       ─▶ skills (packs, built-in tools, MCP servers) ─▶ skills, tools
//!       ─▶ files (definition, context, rules, packs, scripts) ─▶ digests
//! ```

mod candidates;
mod catalogue;
pub(crate) mod files;
mod keys;
pub(crate) mod packs;
mod provider;
mod reachability;
pub(crate) mod rules;
mod settings;
mod skills;
#[cfg(test)]
mod tests;
mod tools;

use agentry_formats::info;
use agentry_model::{Agent, Format, McpServer};
use agentry_text::{Diagnostic, Findings, SourceFiles};

use crate::pipeline::CompiledAgent;
use crate::show::resolved;
use crate::world::World;
use rules::UNRESOLVED_SKILL;
use skills::SkillSearch;

pub(crate) use candidates::TierKey;
pub use candidates::{CandidateOrigin, CandidateOutcome, ModelCandidate};
pub(crate) use catalogue::MODEL;
pub use catalogue::{CatalogueModel, ModelCatalogue, TokenPrice};
pub use files::PlannedFile;
pub use provider::{ModelProvider, ModelsEndpoint, ProviderApi};
pub use reachability::ModelLookup;
pub(crate) use settings::PROVIDER;
pub use settings::ResolveSettings;
pub use skills::{PlannedSkill, SkillResolution};
pub use tools::{PlannedTool, ToolKind, native as native_tool};

/// What an agent comes down to, here and now.
#[derive(Debug)]
pub struct ResolvedPlan {
    /// The models that it may run on, in order, each with what becomes of it.
    pub models: Vec<ModelCandidate>,
    /// The tools that it names.
    pub tools: Vec<PlannedTool>,
    /// The skills that it asks for.
    pub skills: Vec<PlannedSkill>,
    /// The files that take part, sorted by path.
    pub files: Vec<PlannedFile>,
    /// What is wrong with files that were looked at on the way.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that the findings are about.
    pub sources: SourceFiles,
    /// What a lock pins, see [`candidates()`].
    pinned: Vec<ModelCandidate>,
}

impl ResolvedPlan {
    /// The model that the agent runs on.
    pub fn chosen(&self) -> Option<&ModelCandidate> {
        self.models.iter().find(|candidate| candidate.outcome == CandidateOutcome::Chosen)
    }

    /// The models that a lock pins, in order: see [`candidates()`].
    pub fn candidates(&self) -> &[ModelCandidate] {
        &self.pinned
    }

    /// What of the agent's own files stops it: skills that nothing provides and that are not optional.
    pub fn problems(&self) -> Vec<Diagnostic> {
        self.skills.iter().filter_map(PlannedSkill::problem).collect()
    }

    /// Whether the agent can run.
    pub fn is_usable(&self) -> bool {
        self.chosen().is_some() && self.problems().is_empty()
    }
}

/// Resolves an agent. Who is asked which models there are is up to `ask`; the rest depends on the
/// agent's files, the user's `settings` and which variables are set.
pub fn resolve(
    world: &dyn World,
    compiled: &CompiledAgent,
    settings: &ResolveSettings,
    ask: ModelLookup,
) -> ResolvedPlan {
    let agent = resolved(compiled);
    let mut models = candidates::candidates(&agent, compiled.found.format, settings);
    reachability::choose(world, settings, ask, &mut models);
    let mut search = SkillSearch::new(world, compiled, &agent, &settings.servers);
    let skills = search.all();
    let (own, bases) = files::files(world, compiled, &pack_files(&search));
    let mut files = [own, bases].concat();
    files.sort();
    let SkillSearch { mut sources, findings, .. } = search;
    ResolvedPlan {
        models,
        tools: tools::tools(
            &agent,
            &tools::AllowedTools::new(&agent, &compiled.dir),
            &settings.servers,
        ),
        skills,
        files,
        diagnostics: crate::finding_text::ready(&mut sources, findings),
        sources,
        pinned: candidates(compiled),
    }
}

/// The model that the user names in place of those of the agent, and what becomes of it.
pub fn named_model(
    world: &dyn World,
    compiled: &CompiledAgent,
    settings: &ResolveSettings,
    ask: ModelLookup,
    name: &str,
) -> ModelCandidate {
    let agent = resolved(compiled);
    let mut model = candidates::named(&agent, settings, name);
    reachability::choose(world, settings, ask, std::slice::from_mut(&mut model));
    model
}

/// Every file of the packs that a search found.
fn pack_files(search: &SkillSearch<'_>) -> Vec<packs::SkillFile> {
    let own: Vec<_> = packs::own(search.compiled, search.agent).map(|(_, pack)| pack).collect();
    let packs = own.iter().chain(&search.packs);
    packs.flat_map(|pack| packs::files(search.world, pack)).collect()
}

/// What a lock pins of an agent beside its own text.
pub(crate) struct OfflinePlan {
    pub(crate) models: Vec<String>,
    pub(crate) skills: Vec<PlannedSkill>,
    pub(crate) files: Vec<PlannedFile>,
    pub(crate) base_files: Vec<PlannedFile>,
}

/// Resolves an agent as far as its files and the built-in catalogue decide; `agent` has its defaults.
pub(crate) fn offline(world: &dyn World, compiled: &CompiledAgent, agent: &Agent) -> OfflinePlan {
    let mut search = SkillSearch::new(world, compiled, agent, &[]);
    let skills = search.all();
    let (files, base_files) = files::files(world, compiled, &pack_files(&search));
    OfflinePlan {
        models: candidates::usable_ids(world.memo(), agent, compiled.found.format),
        skills,
        files,
        base_files,
    }
}

/// The models that an agent may run on, in order, as far as its definition and the built-in catalogue
/// decide: nobody is asked, and the answer is the same on every machine.
pub fn candidates(compiled: &CompiledAgent) -> Vec<ModelCandidate> {
    usable(&resolved(compiled), compiled.found.format)
}

fn usable(agent: &Agent, format: Format) -> Vec<ModelCandidate> {
    let all = candidates::candidates(agent, format, ResolveSettings::built_in());
    all.into_iter().filter(|candidate| candidate.outcome == CandidateOutcome::Usable).collect()
}

/// Reports skills without which an agent does not work, and which nothing provides.
pub(crate) fn check(world: &dyn World, compiled: &CompiledAgent, findings: &mut Findings) {
    // The reader of this format looks for skills itself.
    let asks = compiled.whole().skills.iter().flatten().any(|skill| !skill.optional);
    if !asks || info(compiled.found.format).takes_harness_skills {
        return;
    }
    if unprovided(world, compiled, &[]).is_empty() {
        return;
    }
    // Who is at this machine may have a server for it.
    let servers = ResolveSettings::read(world).map(|settings| settings.servers).unwrap_or_default();
    for problem in unprovided(world, compiled, &servers) {
        findings.push(problem).severity = UNRESOLVED_SKILL.severity;
    }
}

/// The skills without which an agent does not work, and which neither its files nor `servers` provide.
pub(crate) fn unprovided(
    world: &dyn World,
    compiled: &CompiledAgent,
    servers: &[McpServer],
) -> Vec<Diagnostic> {
    // A harness that this format is rendered for may have the skill.
    if info(compiled.found.format).takes_harness_skills {
        return Vec::new();
    }
    let agent = resolved(compiled);
    let skills = SkillSearch::new(world, compiled, &agent, servers).all();
    skills.iter().filter_map(PlannedSkill::problem).collect()
}
