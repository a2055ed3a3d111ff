//! The language models that an agent may use, in order: preferred ones, those of its fallback tier, those of
//! its own tier. No server is contacted here, so that a lock depends only on the agent and the catalogue.

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

/// The tier of an agent that declares none.
const DEFAULT_TIER: ModelTier = ModelTier::Mid;

/// A language model that an agent may use.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCandidate {
    /// `provider/model`, with the provider's canonical name.
    pub id: String,
    /// The provider.
    pub provider: String,
    /// The provider's name for it.
    pub model: String,
    /// Why it is a candidate.
    pub wish: CandidateOrigin,
    /// The name in the definition, if it is named there.
    pub written: Option<String>,
    /// Its tier, if the catalogue has it.
    pub tier: Option<ModelTier>,
    /// Its context window in tokens, if the catalogue has it.
    pub context: Option<u64>,
    /// Its price, if the catalogue has it.
    pub price: Option<TokenPrice>,
    /// Whether it can call tools, if the catalogue has that.
    pub tools: Option<bool>,
    /// The variables that may hold the key. Empty if it needs none.
    pub keys: Vec<String>,
    /// Whether it is chosen, usable or skipped.
    pub outcome: CandidateOutcome,
}

/// Why a model is a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateOrigin {
    /// The agent prefers it.
    Preferred,
    /// The agent's configuration lists it beside its default.
    Listed,
    /// It belongs to the fallback tier.
    Fallback,
    /// It belongs to the tier of the agent.
    Capability,
}

impl CandidateOrigin {
    /// The name in the output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preferred => "preferred",
            Self::Listed => "listed",
            Self::Fallback => "fallback",
            Self::Capability => "capability",
        }
    }
}

/// The outcome for a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// The agent uses it.
    Chosen,
    /// The agent could use it.
    Usable,
    /// It cannot be used, for this reason.
    Skipped(String),
}

/// The requirements of an agent for any model.
#[derive(Debug, Clone, Copy, Default)]
struct ModelNeeds<'a> {
    /// The smallest context window: as a number, and as written.
    context: Option<(u64, &'a str)>,
    tools: bool,
}

/// Every candidate of `agent`, in order and without duplicates. Those that do not meet its requirements
/// are skipped with a reason.
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

/// The candidate for a model that the user names.
pub(super) fn named(agent: &Agent, settings: &ResolveSettings, name: &str) -> ModelCandidate {
    let mut walk = CandidateWalk { agent, settings, seen: BTreeSet::new(), found: Vec::new() };
    walk.named(name, CandidateOrigin::Preferred);
    let unknown = || skipped(name, CandidateOrigin::Preferred, "it is not a model".to_owned());
    walk.found.pop().unwrap_or_else(unknown)
}

/// Every model of the catalogue, for an agent without requirements.
pub(super) fn every(agent: &Agent, settings: &ResolveSettings) -> Vec<ModelCandidate> {
    let mut walk = CandidateWalk { agent, settings, seen: BTreeSet::new(), found: Vec::new() };
    for model in &settings.catalogue.models {
        let candidate = walk.candidate(model, CandidateOrigin::Listed);
        walk.add(candidate);
    }
    walk.found
}

/// The ids of the usable models of `agent`, in order, according to the built-in catalogue; the same as
/// those of [`candidates`]. The lists of tiers are memoised, because many agents share them.
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
            // `seen` also has the named models that were skipped; a tier must not bring them back.
            if !walk.seen.contains(id) && !ids.contains(id) {
                ids.push(id.clone());
            }
        }
    }
    ids
}

/// Everything that decides which models of a tier meet an agent's requirements.
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

/// The ids of a tier's models that meet the agent's requirements.
fn tier_ids(memo: &SessionMemo, agent: &Agent, tier: ModelTier) -> Arc<Vec<String>> {
    memo.tiers.get(TierKey::of(agent, tier), || {
        let settings = ResolveSettings::built_in();
        let mut walk = CandidateWalk { agent, settings, seen: BTreeSet::new(), found: Vec::new() };
        walk.tier(tier, CandidateOrigin::Capability);
        let usable = walk.found.into_iter().filter(|it| it.outcome == CandidateOutcome::Usable);
        Arc::new(usable.map(|candidate| candidate.id).collect())
    })
}

/// The tier of an agent: its own field, or `llm.smart`.
fn asked_for(agent: &Agent) -> ModelTier {
    let smart = || {
        let (_, llm) = agent.settings.iter().find(|(name, _)| name == "llm")?;
        let smart = llm.value.get("smart")?;
        let tier = smart.get("tier").or_else(|| smart.get("profile")?.get("tier"))?.as_str()?;
        // The prefix is optional: `mid` means `reasoning-mid`.
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
    /// Adds a model by its name in the definition.
    fn named(&mut self, written: &str, wish: CandidateOrigin) {
        let (provider, model) = match split(written) {
            Some((provider, model)) => (canonical(provider), model.to_owned()),
            None => match self.settings.catalogue.named(written).as_slice() {
                [model] => (model.provider.clone(), model.id.clone()),
                several => {
                    let why = without_provider(several, &self.settings.catalogue.similar(written));
                    return self.add(skipped(written, wish, why));
                }
            },
        };
        // A model that the catalogue does not have is still tried, without facts about it.
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
        // The first origin is kept: a preferred model stays preferred in its tier.
        if self.seen.insert(candidate.id.clone()) {
            self.found.push(candidate);
        }
    }
}

/// Splits `provider/model`, if both parts are there.
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

fn without_provider(several: &[&CatalogueModel], similar: &[&CatalogueModel]) -> String {
    if several.is_empty() {
        let names: Vec<_> =
            similar.iter().map(|model| format!("`{}/{}`", model.provider, model.id)).collect();
        let meant = if names.is_empty() {
            String::new()
        } else {
            format!("; did you mean {}?", names.join(" or "))
        };
        return format!("it names no provider, and the catalogue has no model of this name{meant}");
    }
    let names: Vec<_> = several.iter().map(|model| format!("`{}`", model.provider)).collect();
    format!("it names no provider, and several have it: {}", names.join(", "))
}

fn unknown_provider(provider: &str, settings: &ResolveSettings) -> String {
    let known = settings.providers.iter().map(|provider| provider.name.as_str());
    let near = nearest(provider, known).map(|name| format!("; did you mean `{name}`?"));
    format!("no provider `{provider}` is known{}", near.unwrap_or_default())
}

/// The requirements of an agent for any model.
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
    /// Why a model with these facts does not meet the requirements.
    fn unmet(self, context: Option<u64>, tools: Option<bool>) -> Option<String> {
        match (self.context, context) {
            (Some((least, written)), Some(size)) if size < least => {
                return Some(format!("it takes {size} tokens, and the agent asks for `{written}`"));
            }
            // An unknown context window must not count as large enough.
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

/// The tokens of a context size such as `128k`. `None` for `full`, which means what the model has.
fn tokens(size: &str) -> Option<u64> {
    let size = size.trim().to_ascii_lowercase();
    let (number, unit) = match size.strip_suffix('k') {
        Some(number) => (number, 1_000),
        None => size.strip_suffix('m').map_or((size.as_str(), 1), |number| (number, 1_000_000)),
    };
    number.trim().parse::<u64>().ok()?.checked_mul(unit)
}
