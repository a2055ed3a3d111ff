//! Decides which candidates can be used now: their key is set, and their server answers.

use std::collections::HashMap;

use super::candidates::{CandidateOutcome, ModelCandidate};
use super::provider::{ModelProvider, ProviderApi};
use super::settings::ResolveSettings;
use crate::world::World;

/// The servers that are queried for their models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelLookup {
    /// No server.
    Offline,
    /// Servers on this machine.
    Local,
    /// Hosted providers as well.
    Live,
}

/// The models that a provider lists, or why it did not answer.
type ModelsAnswer = Result<Vec<String>, String>;

/// Skips candidates that cannot be used here, and chooses the first of the others.
pub(super) fn choose(
    world: &dyn World,
    settings: &ResolveSettings,
    ask: ModelLookup,
    list: &mut [ModelCandidate],
) {
    let mut reach = ProviderReach { world, settings, ask, answers: HashMap::new() };
    let mut chosen = false;
    for candidate in
        list.iter_mut().filter(|candidate| candidate.outcome == CandidateOutcome::Usable)
    {
        candidate.outcome = match reach.why_unreachable(candidate) {
            Some(why) => CandidateOutcome::Skipped(why),
            None if chosen => CandidateOutcome::Usable,
            None => {
                chosen = true;
                CandidateOutcome::Chosen
            }
        };
    }
}

/// Skips candidates that cannot be used here, and chooses none. Returns what else the providers say.
pub(super) fn survey(
    world: &dyn World,
    settings: &ResolveSettings,
    ask: ModelLookup,
    list: &mut [ModelCandidate],
) -> ProviderSurvey {
    let mut reach = ProviderReach { world, settings, ask, answers: HashMap::new() };
    for candidate in list.iter_mut().filter(|it| it.outcome == CandidateOutcome::Usable) {
        if let Some(why) = reach.why_unreachable(candidate) {
            candidate.outcome = CandidateOutcome::Skipped(why);
        }
    }
    let mut survey = ProviderSurvey::default();
    for provider in &settings.providers {
        let own: Vec<_> = list.iter().filter(|it| it.provider == provider.name).collect();
        let answer = reach.models_of(provider);
        if let Ok(models) = &answer {
            let is_new = |name: &&String| !own.iter().any(|it| is_same(name, it, provider));
            let new = models.iter().filter(is_new).map(|it| format!("{}/{it}", provider.name));
            survey.unlisted.extend(new);
        }
        if let (true, Err(why)) = (own.is_empty(), answer) {
            survey.silent.push((provider.name.clone(), why));
        }
    }
    survey
}

/// What providers say beside the models of the catalogue.
#[derive(Debug, Default)]
pub(super) struct ProviderSurvey {
    /// Models that servers on this machine have, as `provider/model`.
    pub(super) unlisted: Vec<String>,
    /// Providers without a model in the catalogue, and why none of theirs is listed.
    pub(super) silent: Vec<(String, String)>,
}

struct ProviderReach<'a> {
    world: &'a dyn World,
    settings: &'a ResolveSettings,
    ask: ModelLookup,
    /// Answers by provider and variable, so that each provider is asked once.
    answers: HashMap<(String, Option<String>), ModelsAnswer>,
}

impl ProviderReach<'_> {
    /// The models that a server on this machine lists; of another provider, why its models are not known.
    fn models_of(&mut self, provider: &ModelProvider) -> ModelsAnswer {
        if let Some(why) = self.settings.unusable(provider) {
            return Err(why);
        }
        let has_key = |key: &String| self.world.services().has_env(key);
        if !provider.keys.is_empty() && !provider.keys.iter().any(has_key) {
            return Err(unset(&provider.keys));
        }
        // Hosted providers list much that is no language model, so they are not asked.
        if !provider.is_local() || !provider.keys.is_empty() || self.ask < ModelLookup::Local {
            let name = &provider.name;
            return Err(format!("the catalogue has none of its models; name one: `{name}/MODEL`"));
        }
        let (world, about) = (self.world, (provider.name.clone(), None));
        self.answers.entry(about).or_insert_with(|| asked(world, provider, None)).clone()
    }

    /// Why a candidate cannot be reached. Keeps only the variable that is set.
    fn why_unreachable(&mut self, candidate: &mut ModelCandidate) -> Option<String> {
        let key = candidate.keys.iter().find(|key| self.world.services().has_env(key)).cloned();
        if key.is_none() && !candidate.keys.is_empty() {
            return Some(unset(&candidate.keys));
        }
        candidate.keys = key.iter().cloned().collect();
        let settings = self.settings;
        let provider = settings.provider(&candidate.provider)?;
        // A provider with a key counts as hosted, even if its address is a proxy on this machine.
        let is_here = provider.is_local() && key.is_none();
        let needed = if is_here { ModelLookup::Local } else { ModelLookup::Live };
        if self.ask < needed {
            return None;
        }
        let world = self.world;
        let about = (provider.name.clone(), key.clone());
        let answer = self.answers.entry(about).or_insert_with(|| asked(world, provider, key));
        match answer {
            Err(why) => Some(why.clone()),
            Ok(models) if models.iter().any(|listed| is_same(listed, candidate, provider)) => None,
            Ok(_) => Some(not_there(provider)),
        }
    }
}

fn asked(world: &dyn World, provider: &ModelProvider, key: Option<String>) -> ModelsAnswer {
    let list = provider.list(key);
    // A request to this machine without a key is a local one.
    if provider.is_local() && list.key.is_none() {
        let silent = || format!("no server answers at `{}`", provider.base_url);
        return world.services().local_models(&list.url).ok_or_else(silent);
    }
    world.services().hosted_models(&list)
}

fn unset(keys: &[String]) -> String {
    match keys {
        [key] => format!("`{key}` is not set"),
        [one, other] => format!("neither `{one}` nor `{other}` is set"),
        keys => {
            let names: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
            format!("none of {} is set", names.join(", "))
        }
    }
}

fn not_there(provider: &ModelProvider) -> String {
    if provider.is_local() {
        format!("the server at `{}` does not have it", provider.base_url)
    } else {
        format!("`{}` does not list it", provider.name)
    }
}

/// Whether a listed name means the model: exactly, with the tag `latest`, or as a dated version.
fn is_same(listed: &str, candidate: &ModelCandidate, provider: &ModelProvider) -> bool {
    let listed = listed.strip_prefix("models/").unwrap_or(listed);
    let Some(rest) = listed.strip_prefix(candidate.model.as_str()) else {
        return provider.api == ProviderApi::Ollama
            && candidate.model.strip_suffix(":latest") == Some(listed);
    };
    match provider.api {
        ProviderApi::Ollama => matches!(rest, "" | ":latest"),
        ProviderApi::OpenAi
        | ProviderApi::Responses
        | ProviderApi::Anthropic
        | ProviderApi::Google => {
            let digits = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '-');
            let dated = |rest: &str| rest.len() >= 4 && digits(rest);
            rest.is_empty() || rest.strip_prefix('-').is_some_and(dated)
        }
    }
}
