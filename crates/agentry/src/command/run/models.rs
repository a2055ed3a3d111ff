//! Which models a run can ask here and now.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use agentry_compile::policy::{Action, Section};
use agentry_compile::{Api, Ask, Candidate, Outcome, named_model, resolve};
use agentry_runtime::provider::plan::{Plan, Wanted};

use super::ground::{Ground, variable};
use crate::output::{Failure, remark};

/// How long a server on this machine may take to open its door.
const KNOCK: Duration = Duration::from_millis(100);

/// What was found.
pub(crate) enum Found {
    /// Models.
    Plan(Plan),
    /// None; all that was looked for, in words.
    Nothing(String),
}

/// The models that an agent can run on: the one that the user names, or else its own.
pub(crate) fn find(ground: &Ground, named: Option<&str>) -> Found {
    let mut models = candidates(ground, named, Ask::Nobody);
    ask_servers(ground, named, &mut models);
    let rules = ground.judge.rules(Section::Websearch);
    let may_search =
        rules.into_iter().all(|(_, rules)| rules.all().all(|rule| rule.action == Action::Allow));
    let wanted =
        Wanted { agent: &ground.agent, models: &models, settings: &ground.settings, may_search };
    match Plan::of(&wanted, &variable) {
        Ok(plan) => Found::Plan(plan),
        Err(nothing) => Found::Nothing(nothing.to_string()),
    }
}

/// Asks model servers of the user which models they have; nobody else needs to be asked, and that
/// nobody listens is found out without waiting.
fn ask_servers(ground: &Ground, named: Option<&str>, models: &mut [Candidate]) {
    let server = |it: &Candidate| {
        let skipped = matches!(it.outcome, Outcome::Skipped(_));
        let provider = ground.settings.provider(&it.provider).filter(|_| !skipped);
        provider.filter(|provider| provider.api == Api::Ollama)
    };
    let Some(provider) = models.iter().find_map(server) else { return };
    let listens = is_listening(&provider.base_url);
    let asked = if listens { candidates(ground, named, Ask::Local) } else { Vec::new() };
    for (at, model) in models.iter_mut().enumerate() {
        if server(model).is_some() {
            let silent =
                || Outcome::Skipped(format!("no server answers at `{}`", provider.base_url));
            model.outcome = asked.get(at).map_or_else(silent, |asked| asked.outcome.clone());
        }
    }
}

/// Whether somebody listens at an address of this machine.
fn is_listening(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let addresses = host.to_socket_addrs().into_iter().flatten();
    addresses.take(2).any(|address| TcpStream::connect_timeout(&address, KNOCK).is_ok())
}

/// The models that an agent can run on; a failure that says what was looked for otherwise.
pub(crate) fn plan(ground: &Ground, named: Option<&str>) -> Result<Plan, Failure> {
    match find(ground, named) {
        Found::Plan(plan) => Ok(plan),
        Found::Nothing(why) => {
            why.lines().for_each(remark);
            Err(Failure::new(format!("no model can be used for `{}`", ground.path())).finding())
        }
    }
}

fn candidates(ground: &Ground, named: Option<&str>, ask: Ask) -> Vec<Candidate> {
    let Ground { disk, compiled, settings, .. } = ground;
    match named {
        Some(name) => vec![named_model(&**disk, compiled, settings, ask, name)],
        None if ask == Ask::Nobody => ground.models.clone(),
        None => resolve(&**disk, compiled, settings, ask).models,
    }
}
