//! The models that an agent may run on, in the order in which they are tried: those that it prefers,
//! those of the tier it falls back to, those of the tier it asks for. Nobody is asked here: what a
//! lock pins depends on the agent and the catalogue alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_formats::info;
use agentry_model::{Agent, AuthStrategy, Format, ModelTier, ProviderAuth};
use agentry_text::Spanned;
use agentry_text::suggestion::nearest;

use super::catalogue::{CatalogueModel, TokenPrice};
use super::keys::{ProviderKey, key};
use super::provider::canonical;
use super::settings::ResolveSettings;
use crate::memo::SessionMemo;

/// The tier of an agent that asks for none.
const DEFAULT_TIER: ModelTier = ModelTier::Mid;

/// A model that an agent may run on.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCandidate {
    /// `provider/model`, with the provider's own name.
    pub id: String,
    /// Whose model it is.
    pub provider: String,
    /// What the provider calls it.
    pub model: String,
    /// Why it is tried.
    pub wish: CandidateOrigin,
    /// What the agent calls it, where it names it.
    pub written: Option<String>,
    /// How able it is, if the catalogue knows.
    pub tier: Option<ModelTier>,
    /// The most tokens that it takes in, if the catalogue knows.
    pub context: Option<u64>,
    /// What it costs, if the catalogue knows.
    pub price: Option<TokenPrice>,
    /// Whether it can call tools, if the catalogue knows.
    pub tools: Option<bool>,
    /// The variables that may hold the key; none when it needs none.
    pub keys: Vec<String>,
    /// What becomes of it.
    pub outcome: CandidateOutcome,
}

/// Why a model is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateOrigin {
    /// The agent prefers it.
    Preferred,
    /// The agent's configuration lists it beside its default.
    Listed,
    /// It is of the tier that the agent falls back to.
    Fallback,
    /// It is of the tier that the agent asks for.
    Capability,
}

impl CandidateOrigin {
    /// The word that stands for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preferred => "preferred",
            Self::Listed => "listed",
            Self::Fallback => "fallback",
            Self::Capability => "capability",
        }
    }
}

/// What becomes of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// The agent runs on it.
    Chosen,
    /// The agent could run on it.
    Usable,
    /// It cannot; says why.
    Skipped(String),
}

/// What an agent needs of any model.
#[derive(Debug, Clone, Copy, Default)]
struct ModelNeeds<'a> {
    /// The least context: as a number, and as it was written.
    context: Option<(u64, &'a str)>,
    tools: bool,
}

/// Every model that `agent` may run on, in order, each once. Those that do not fit the agent are
/// skipped with their reason.
pub(crate) fn candidates(
    agent: &Agent,
    format: Format,
    settings: &ResolveSettings,
) -> Vec<ModelCandidate> {
    let mut walk = CandidateWalk { agent, settings, seen: BTreeSet::new(), found: Vec::new() };
    for name in agent.model.preferred.iter().flatten() {
        walk.named(name, CandidateOrigin::Preferred);
    }
    for name in info(format).models.map_or(Vec::new(), |models| models(agent)) {
        walk.named(&name, CandidateOrigin::Listed);
    }
    let fallback = agent.model.fallback.as_ref().and_then(|tier| tier.value.trim().parse().ok());
    fallback.into_iter().for_each(|tier| walk.tier(tier, CandidateOrigin::Fallback));
    walk.tier(asked_for(agent), CandidateOrigin::Capability);
    walk.found
}

/// The model that somebody names for `agent`.
pub(super) fn named(agent: &Agent, settings: &ResolveSettings, name: &str) -> ModelCandidate {
    let mut walk = CandidateWalk { agent, settings, seen: BTreeSet::new(), found: Vec::new() };
    walk.named(name, CandidateOrigin::Preferred);
    let unknown = || skipped(name, CandidateOrigin::Preferred, "it is not a model".to_owned());
    walk.found.pop().unwrap_or_else(unknown)
}

/// The ids of the models that `agent` may run on, in order, as far as the built-in catalogue decides: the
/// same as those of [`candidates`]. Many agents ask for the same tiers, whose lists are made once.
pub(crate) fn usable_ids(memo: &SessionMemo, agent: &Agent, format: Format) -> Vec<String> {
    let settings = ResolveSettings::built_in();
    let mut walk = CandidateWalk { agent, settings, seen: BTreeSet::new(), found: Vec::new() };
    for name in agent.model.preferred.iter().flatten() {
        walk.named(name, CandidateOrigin::Preferred);
    }
    for name in info(format).models.map_or(Vec::new(), |models| models(agent)) {
        walk.named(&name, CandidateOrigin::Listed);
    }
    let usable =
        walk.found.iter().filter(|candidate| candidate.outcome == CandidateOutcome::Usable);
    let mut ids: Vec<String> = usable.map(|candidate| candidate.id.clone()).collect();
    let fallback = agent.model.fallback.as_ref().and_then(|tier| tier.value.trim().parse().ok());
    for tier in fallback.into_iter().chain([asked_for(agent)]) {
        for id in tier_ids(memo, agent, tier).iter() {
            if !walk.seen.contains(id) && !ids.contains(id) {
                ids.push(id.clone());
            }
        }
    }
    ids
}

/// All that decides which models of a tier fit an agent.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TierKey {
    tier: ModelTier,
    context: Option<u64>,
    tools: bool,
    strategy: Option<AuthStrategy>,
    providers: Option<Vec<(String, String)>>,
}

impl TierKey {
    fn of(agent: &Agent, tier: ModelTier) -> Self {
        let ModelNeeds { context, tools } = needs(agent);
        let ProviderAuth { strategy, providers } = &agent.auth;
        let source =
            |(name, source): &(String, Spanned<String>)| (name.clone(), source.value.clone());
        Self {
            tier,
            context: context.map(|(least, _)| least),
            tools,
            strategy: strategy.as_ref().map(|strategy| strategy.value),
            providers: providers.as_ref().map(|all| all.iter().map(source).collect()),
        }
    }
}

/// The ids of the models of a tier that fit an agent.
fn tier_ids(memo: &SessionMemo, agent: &Agent, tier: ModelTier) -> Arc<Vec<String>> {
    memo.tiers.get(TierKey::of(agent, tier), || {
        let settings = ResolveSettings::built_in();
        let mut walk = CandidateWalk { agent, settings, seen: BTreeSet::new(), found: Vec::new() };
        walk.tier(tier, CandidateOrigin::Capability);
        let usable = walk.found.into_iter().filter(|it| it.outcome == CandidateOutcome::Usable);
        Arc::new(usable.map(|candidate| candidate.id).collect())
    })
}

/// The tier that an agent asks for: its own word, or that of `llm.smart`.
fn asked_for(agent: &Agent) -> ModelTier {
    let smart = || {
        let (_, llm) = agent.settings.iter().find(|(name, _)| name == "llm")?;
        let smart = llm.value.get("smart")?;
        let tier = smart.get("tier").or_else(|| smart.get("profile")?.get("tier"))?.as_str()?;
        tier.parse().or_else(|()| format!("reasoning-{tier}").parse()).ok()
    };
    let own = agent.model.capability.as_ref().map(|tier| tier.value);
    own.or_else(smart).unwrap_or(DEFAULT_TIER)
}

struct CandidateWalk<'a> {
    agent: &'a Agent,
    settings: &'a ResolveSettings,
    seen: BTreeSet<String>,
    found: Vec<ModelCandidate>,
}

impl CandidateWalk<'_> {
    /// A model by the name that the agent gives it.
    fn named(&mut self, written: &str, wish: CandidateOrigin) {
        let (provider, model) = match split(written) {
            Some((provider, model)) => (canonical(provider), model.to_owned()),
            None => match self.settings.catalogue.named(written).as_slice() {
                [model] => (model.provider.clone(), model.id.clone()),
                several => {
                    let why = without_provider(several);
                    return self.add(skipped(written, wish, why));
                }
            },
        };
        let known = self.settings.catalogue.find(&provider, &model).cloned();
        let model = known.unwrap_or(CatalogueModel {
            provider,
            id: model,
            tier: None,
            context: None,
            price: None,
            tools: None,
        });
        let candidate = self.candidate(&model, wish);
        self.add(ModelCandidate { written: Some(written.to_owned()), ..candidate });
    }

    fn tier(&mut self, tier: ModelTier, wish: CandidateOrigin) {
        let settings = self.settings;
        for model in settings.catalogue.tier(tier) {
            let candidate = self.candidate(model, wish);
            self.add(candidate);
        }
    }

    fn candidate(&self, model: &CatalogueModel, wish: CandidateOrigin) -> ModelCandidate {
        let CatalogueModel { provider, id, tier, context, price, tools } = model;
        let (keys, refused) = match self.settings.provider(provider) {
            Some(known) => match key(known, &self.agent.auth) {
                ProviderKey::Needless => (Vec::new(), self.settings.unusable(known)),
                ProviderKey::In(keys) => (keys, self.settings.unusable(known)),
                ProviderKey::Refused(why) => (Vec::new(), Some(why)),
            },
            None => (Vec::new(), Some(unknown_provider(provider, self.settings))),
        };
        let outcome = refused.or_else(|| needs(self.agent).unmet(*context, *tools));
        ModelCandidate {
            id: format!("{provider}/{id}"),
            provider: provider.clone(),
            model: id.clone(),
            wish,
            written: None,
            tier: *tier,
            context: *context,
            price: *price,
            tools: *tools,
            keys,
            outcome: outcome.map_or(CandidateOutcome::Usable, CandidateOutcome::Skipped),
        }
    }

    fn add(&mut self, candidate: ModelCandidate) {
        if self.seen.insert(candidate.id.clone()) {
            self.found.push(candidate);
        }
    }
}

/// Provider and model, where both are there.
fn split(written: &str) -> Option<(&str, &str)> {
    let (provider, model) = written.trim().split_once('/')?;
    (!provider.is_empty() && !model.is_empty()).then_some((provider, model))
}

fn skipped(written: &str, wish: CandidateOrigin, why: String) -> ModelCandidate {
    ModelCandidate {
        id: written.to_owned(),
        provider: String::new(),
        model: written.to_owned(),
        wish,
        written: Some(written.to_owned()),
        tier: None,
        context: None,
        price: None,
        tools: None,
        keys: Vec::new(),
        outcome: CandidateOutcome::Skipped(why),
    }
}

fn without_provider(several: &[&CatalogueModel]) -> String {
    if several.is_empty() {
        return "it names no provider, and the catalogue has no model of this name".to_owned();
    }
    let names: Vec<_> = several.iter().map(|model| format!("`{}`", model.provider)).collect();
    format!("it names no provider, and several have it: {}", names.join(", "))
}

fn unknown_provider(provider: &str, settings: &ResolveSettings) -> String {
    let known = settings.providers.iter().map(|provider| provider.name.as_str());
    let near = nearest(provider, known).map(|name| format!("; did you mean `{name}`?"));
    format!("no provider `{provider}` is known{}", near.unwrap_or_default())
}

/// What an agent needs of any model.
fn needs(agent: &Agent) -> ModelNeeds<'_> {
    let context = agent.model.context.as_ref();
    let context = context.and_then(|size| Some((tokens(&size.value)?, size.value.as_str())));
    let tools = &agent.tools;
    let some = |list: &Option<Vec<Spanned<String>>>| list.iter().flatten().next().is_some();
    ModelNeeds {
        context,
        tools: some(&tools.native)
            || tools.mcp.iter().flatten().next().is_some()
            || !tools.scripts.is_empty()
            || !tools.functions.is_empty()
            || agent.skills.iter().flatten().next().is_some(),
    }
}

impl ModelNeeds<'_> {
    /// Why a model of which this is known does not do.
    fn unmet(self, context: Option<u64>, tools: Option<bool>) -> Option<String> {
        match (self.context, context) {
            (Some((least, written)), Some(size)) if size < least => {
                return Some(format!("it takes {size} tokens, and the agent asks for `{written}`"));
            }
            (Some((_, written)), None) => {
                return Some(format!(
                    "the catalogue does not know how much it takes, and the agent asks for `{written}`"
                ));
            }
            _ => {}
        }
        (self.tools && tools == Some(false))
            .then(|| "it cannot call tools, and the agent has some".to_owned())
    }
}

/// The tokens that a size of context stands for: `128k`. `full` is whatever the model has.
fn tokens(size: &str) -> Option<u64> {
    let size = size.trim().to_ascii_lowercase();
    let (number, unit) = match size.strip_suffix('k') {
        Some(number) => (number, 1_000),
        None => size.strip_suffix('m').map_or((size.as_str(), 1), |number| (number, 1_000_000)),
    };
    number.trim().parse::<u64>().ok()?.checked_mul(unit)
}
