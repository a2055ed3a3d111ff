//! Resolves a declared agent for this machine: its language model, tools, skills and files, each with the
//! reason.
//!
//! ```text
//! Agent ─▶ candidates (agent + catalogue) ─▶ reachability (keys, servers) ─▶ models
//!       ─▶ skills (packs, built-in tools, MCP servers) ─▶ skills, tools
//!       ─▶ files (definition, context, rules, packs, scripts) ─▶ digests
//! ```

mod candidates;
mod catalogue;
pub(crate) mod files;
mod keys;
mod loadable;
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
pub use loadable::{LoadableSkill, SkillDirectory, loadable_skills};
pub use provider::{ModelProvider, ModelsEndpoint, ProviderApi};
pub use reachability::ModelLookup;
pub(crate) use settings::PROVIDER;
pub use settings::ResolveSettings;
pub use skills::{PlannedSkill, SEARCH_VARIABLES, SkillResolution};
pub use tools::{PlannedTool, ToolKind, native as native_tool};

/// What an agent gets on this machine.
#[derive(Debug)]
pub struct ResolvedPlan {
    /// The candidates in order, each with its outcome.
    pub models: Vec<ModelCandidate>,
    /// The tools that it names.
    pub tools: Vec<PlannedTool>,
    /// The skills that it asks for.
    pub skills: Vec<PlannedSkill>,
    /// The files that take part, sorted by path.
    pub files: Vec<PlannedFile>,
    /// Findings about skill files that were read.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that the findings refer to.
    pub sources: SourceFiles,
    /// The candidates for a lock, see [`candidates()`].
    pinned: Vec<ModelCandidate>,
}

impl ResolvedPlan {
    /// The model that the agent uses.
    pub fn chosen(&self) -> Option<&ModelCandidate> {
        self.models.iter().find(|candidate| candidate.outcome == CandidateOutcome::Chosen)
    }

    /// The candidates for a lock, in order: see [`candidates()`].
    pub fn candidates(&self) -> &[ModelCandidate] {
        &self.pinned
    }

    /// The errors that stop the agent: required skills that nothing provides.
    pub fn problems(&self) -> Vec<Diagnostic> {
        self.skills.iter().filter_map(PlannedSkill::problem).collect()
    }

    /// Whether the agent can run.
    pub fn is_usable(&self) -> bool {
        self.chosen().is_some() && self.problems().is_empty()
    }
}

/// Resolves an agent. `ask` selects which servers are asked for their models. Everything else depends on
/// the agent's files, the user's `settings` and the environment.
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

/// The model that the user names instead of the agent's, with its outcome.
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

/// The language models of this machine.
#[derive(Debug)]
pub struct ModelSurvey {
    /// Those of the catalogue and of servers on this machine, usable or skipped.
    pub models: Vec<ModelCandidate>,
    /// Providers without a listed model, and why.
    pub silent: Vec<(String, String)>,
}

/// Every language model that is known here, for an agent without requirements.
pub fn survey_models(
    world: &dyn World,
    settings: &ResolveSettings,
    ask: ModelLookup,
) -> ModelSurvey {
    let agent = Agent::default();
    let mut models = candidates::every(&agent, settings);
    let found = reachability::survey(world, settings, ask, &mut models);
    let named = |id: &String| candidates::named(&agent, settings, id);
    models.extend(found.unlisted.iter().map(named));
    ModelSurvey { models, silent: found.silent }
}

/// Every file of the packs that a search found.
fn pack_files(search: &SkillSearch<'_>) -> Vec<packs::SkillFile> {
    let own: Vec<_> = packs::own(search.compiled, search.agent).map(|(_, pack)| pack).collect();
    let packs = own.iter().chain(&search.packs);
    packs.flat_map(|pack| packs::files(search.world, pack)).collect()
}

/// What a lock records of an agent beside its own text.
pub(crate) struct OfflinePlan {
    pub(crate) models: Vec<String>,
    pub(crate) skills: Vec<PlannedSkill>,
    pub(crate) files: Vec<PlannedFile>,
    pub(crate) base_files: Vec<PlannedFile>,
}

/// Resolves an agent with only its files and the built-in catalogue. `agent` must have its defaults.
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

/// The candidates of an agent, in order, from its definition and the built-in catalogue only. No server is
/// asked, so the result is the same on every machine.
pub fn candidates(compiled: &CompiledAgent) -> Vec<ModelCandidate> {
    usable(&resolved(compiled), compiled.found.format)
}

fn usable(agent: &Agent, format: Format) -> Vec<ModelCandidate> {
    let all = candidates::candidates(agent, format, ResolveSettings::built_in());
    all.into_iter().filter(|candidate| candidate.outcome == CandidateOutcome::Usable).collect()
}

/// Reports required skills that nothing provides.
pub(crate) fn check(world: &dyn World, compiled: &CompiledAgent, findings: &mut Findings) {
    // For some formats, a harness may provide the skill; see `takes_harness_skills`.
    let asks = compiled.whole().skills.iter().flatten().any(|skill| !skill.optional);
    if !asks || info(compiled.found.format).takes_harness_skills {
        return;
    }
    // Without servers first: the user's configuration is read only if something is missing.
    if unprovided(world, compiled, &[]).is_empty() {
        return;
    }
    // The user may have configured a server that provides it.
    let servers = ResolveSettings::read(world).map(|settings| settings.servers).unwrap_or_default();
    for problem in unprovided(world, compiled, &servers) {
        findings.push(problem).severity = UNRESOLVED_SKILL.severity;
    }
}

/// The required skills that neither the agent's files nor `servers` provide.
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
