//! Which models a run can ask here and now.

use agentry_compile::policy::{Action, Section};
use agentry_compile::{Ask, Candidate, Outcome, named_model, resolve};
use agentry_runtime::provider::plan::{Plan, Wanted};

use super::ground::Ground;
use crate::output::{Failure, remark};

/// What was found.
pub(crate) enum Found {
    /// Models.
    Plan(Plan),
    /// None; all that was looked for, in words.
    Nothing(String),
}

/// The models that an agent can run on: the one that the user names, or else its own.
pub(crate) fn find(ground: &Ground, named: Option<&str>) -> Found {
    // A server on this machine is asked only if it would be the first: hosted models need no question,
    // and one that is not there is found out when it is its turn.
    let mut models = candidates(ground, named, Ask::Nobody);
    let chosen = models.iter().find(|it| it.outcome == Outcome::Chosen);
    let is_local = |it: &Candidate| {
        ground.settings.provider(&it.provider).is_some_and(agentry_compile::Provider::is_local)
    };
    if chosen.is_some_and(is_local) {
        models = candidates(ground, named, Ask::Local);
    }
    let rules = ground.judge.rules(Section::Websearch);
    let may_search =
        rules.into_iter().all(|(_, rules)| rules.all().all(|rule| rule.action == Action::Allow));
    let wanted =
        Wanted { agent: &ground.agent, models: &models, settings: &ground.settings, may_search };
    match Plan::of(&wanted, &|name| std::env::var(name).ok().filter(|value| !value.is_empty())) {
        Ok(plan) => Found::Plan(plan),
        Err(nothing) => Found::Nothing(nothing.to_string()),
    }
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
        None => resolve(&**disk, compiled, settings, ask).models,
    }
}
