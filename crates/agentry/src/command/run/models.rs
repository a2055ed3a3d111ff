//! Finds the models that a run can use on this machine now.

use std::collections::BTreeSet;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use agentry_compile::policy::{Action, Section};
use agentry_compile::{
    CandidateOutcome, ModelCandidate, ModelLookup, ProviderApi, named_model, resolve,
};
use agentry_runtime::RunLimits;
use agentry_runtime::provider::plan::{ModelPlan, PlanInputs};

use super::prepared_agent::{PreparedAgent, variable};
use crate::output::CliFailure;

/// The connection timeout for each address of a model server.
const KNOCK: Duration = Duration::from_secs(1);
/// The most addresses of one host name that are tried.
const MOST_ADDRESSES: usize = 4;

/// The result of the search for models.
pub(crate) enum FoundModels {
    /// The usable models.
    Plan(ModelPlan),
    /// No model; each model that was searched for, and why it cannot be used.
    Nothing(Vec<String>),
}

/// Whether the prices of models must be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PriceNeed {
    /// The run has a cost limit.
    Limited,
    /// The run has no cost limit.
    Free,
}

impl PriceNeed {
    /// The need under these limits.
    pub(crate) fn under(limits: &RunLimits) -> Self {
        if limits.cost.is_some() { Self::Limited } else { Self::Free }
    }
}

/// The models that an agent can run on: the one that the user names, else its own. A cost limit is refused
/// for a model without a known price.
pub(crate) fn find(
    ground: &PreparedAgent,
    named: Option<&str>,
    money: PriceNeed,
) -> Result<FoundModels, CliFailure> {
    let mut models = candidates(ground, named, ModelLookup::Offline);
    ask_servers(ground, named, &mut models);
    let rules = ground.judge.rules(Section::Websearch);
    let may_search =
        rules.into_iter().all(|(_, rules)| rules.all().all(|rule| rule.action == Action::Allow));
    let wanted = PlanInputs {
        agent: &ground.agent,
        models: &models,
        settings: &ground.settings,
        may_search,
        counts_money: money == PriceNeed::Limited,
    };
    match ModelPlan::of(&wanted, &variable) {
        Ok(plan) => Ok(FoundModels::Plan(plan)),
        Err(nothing) if nothing.unpriced.is_empty() => Ok(FoundModels::Nothing(nothing.looked_for)),
        // Models exist, but a cost limit cannot be enforced without their prices.
        Err(nothing) => Err(unpriced(&nothing.unpriced)),
    }
}

fn unpriced(models: &[String]) -> CliFailure {
    let named: Vec<_> = models.iter().take(3).map(|id| format!("`{id}`")).collect();
    let more = models.len().saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let named = named.join(", ");
    CliFailure::new(format!("`--max-cost` cannot be kept: no price is known for {named}{more}"))
        .hint("add it to `[[models]]` of your own configuration, with `input` and `output`")
        .refused()
}

/// Asks the user's own model servers for their models. Hosted providers are not asked; a short connection
/// test first finds the servers that are not running.
fn ask_servers(ground: &PreparedAgent, named: Option<&str>, models: &mut [ModelCandidate]) {
    let server = |it: &ModelCandidate| {
        let skipped = matches!(it.outcome, CandidateOutcome::Skipped(_));
        let provider = ground.settings.provider(&it.provider).filter(|_| !skipped);
        let provider = provider.filter(|provider| provider.api == ProviderApi::Ollama);
        provider.map(|provider| provider.base_url.clone())
    };
    let urls: BTreeSet<String> = models.iter().filter_map(server).collect();
    let listening = listening(&urls);
    let asked = if listening.is_empty() {
        Vec::new()
    } else {
        candidates(ground, named, ModelLookup::Local)
    };
    for (at, model) in models.iter_mut().enumerate() {
        // A candidate of a hosted provider keeps its outcome.
        let Some(url) = server(model) else { continue };
        model.outcome = match asked.get(at).filter(|_| listening.contains(&url)) {
            Some(asked) => asked.outcome.clone(),
            None => CandidateOutcome::Skipped(format!("no server answers at `{url}`")),
        };
    }
}

/// The addresses with a listening server, tested in parallel.
fn listening(urls: &BTreeSet<String>) -> BTreeSet<String> {
    std::thread::scope(|scope| {
        let probes: Vec<_> =
            urls.iter().map(|url| (url, scope.spawn(|| is_listening(url)))).collect();
        let open = probes
            .into_iter()
            .filter_map(|(url, probe)| probe.join().unwrap_or(false).then(|| url.clone()));
        open.collect()
    })
}

/// Whether a server listens at any of the addresses of the host.
fn is_listening(url: &str) -> bool {
    let addresses = host_and_port(url).map(|door| door.to_socket_addrs().into_iter().flatten());
    let mut addresses = addresses.into_iter().flatten().take(MOST_ADDRESSES);
    addresses.any(|address| TcpStream::connect_timeout(&address, KNOCK).is_ok())
}

/// The host and the port of a URL.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    // A URL without a port means the default one of its scheme.
    let usual = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    let (name, port) = match host.rsplit_once(':') {
        // An IPv6 address in brackets contains colons that do not start a port.
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()?),
        _ => (host, usual),
    };
    Some((name.trim_start_matches('[').trim_end_matches(']').to_owned(), port))
}

/// The models that an agent can run on; otherwise a failure with everything that was tried.
pub(crate) fn plan(
    ground: &PreparedAgent,
    named: Option<&str>,
    money: PriceNeed,
) -> Result<ModelPlan, CliFailure> {
    match find(ground, named, money)? {
        FoundModels::Plan(plan) => Ok(plan),
        FoundModels::Nothing(looked_for) => Err(unusable(ground, looked_for)),
    }
}

/// The failure of a run without a model.
pub(crate) fn unusable(ground: &PreparedAgent, looked_for: Vec<String>) -> CliFailure {
    let failure = CliFailure::new(format!("no model can be used for `{}`", ground.path()));
    failure.details(looked_for).finding()
}

fn candidates(
    ground: &PreparedAgent,
    named: Option<&str>,
    ask: ModelLookup,
) -> Vec<ModelCandidate> {
    let PreparedAgent { disk, compiled, settings, .. } = ground;
    match named {
        Some(name) => vec![named_model(&**disk, compiled, settings, ask, name)],
        None if ask == ModelLookup::Offline => ground.models.clone(),
        None => resolve(&**disk, compiled, settings, ask).models,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn urls_give_a_host_and_a_port() {
        let cases = [
            ("http://localhost", Some(("localhost", 80))),
            ("https://box.example/ollama", Some(("box.example", 443))),
            ("http://127.0.0.1:11434", Some(("127.0.0.1", 11434))),
            ("http://[::1]:5/x", Some(("::1", 5))),
            ("http://[::1]", Some(("::1", 80))),
            ("localhost:1", None),
        ];
        for (url, expected) in cases {
            let found = host_and_port(url);
            let found = found.as_ref().map(|(name, port)| (name.as_str(), *port));
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn local_servers_are_probed_at_all_addresses() {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = open.local_addr().unwrap().port();
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let shut = closed.local_addr().unwrap().port();
        drop(closed);
        let urls = [
            format!("http://127.0.0.1:{shut}"),
            format!("http://127.0.0.1:{port}"),
            // By name: `localhost` may resolve to another address first.
            format!("http://localhost:{port}/x"),
        ];
        let found = listening(&urls.iter().cloned().collect());
        assert_eq!(found, urls[1..].iter().cloned().collect::<BTreeSet<_>>());
    }
}
