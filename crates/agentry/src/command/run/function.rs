//! `agentry run --call`: a function that the agent exposes, with typed input and output.

use agentry_compile::model::Agent;
use agentry_runtime::function::{AgentFunction, FunctionCall};
use serde_json::Value;

use super::prepared_agent::PreparedAgent;
use crate::args::RunArguments;
use crate::output::CliFailure;

/// The functions that an agent exposes.
pub(crate) fn functions(agent: &Agent) -> Vec<AgentFunction> {
    agent.expose.iter().flatten().filter_map(|exposed| AgentFunction::of(&exposed.value)).collect()
}

/// The function with this name.
pub(crate) fn named(ground: &PreparedAgent, name: &str) -> Result<FunctionCall, CliFailure> {
    let functions = functions(&ground.agent);
    if let Some(function) = functions.iter().find(|function| function.name == name) {
        return Ok(FunctionCall::new(function.clone()));
    }
    let known: Vec<String> = functions.iter().map(|it| format!("`{}`", it.signature)).collect();
    let hint = if known.is_empty() {
        "it exposes no functions: `expose` of a manifest lists them".to_owned()
    } else {
        format!("it exposes {}", known.join(", "))
    };
    Err(CliFailure::new(format!("`{}` has no function `{name}`", ground.path())).hint(hint))
}

/// The function that the user calls, and the prompt that carries it out.
pub(crate) fn requested(
    ground: &PreparedAgent,
    args: &RunArguments,
) -> Result<Option<(FunctionCall, String)>, CliFailure> {
    let Some(name) = &args.call else { return Ok(None) };
    let call = named(ground, name)?;
    let text = args.input.as_deref().unwrap_or_default();
    let input: Value = serde_json::from_str(text).map_err(|error| {
        CliFailure::new(format!("the input of `{name}` is not JSON: {error}"))
            .hint("pass an object, like '{\"name\": \"value\"}'")
    })?;
    call.function.check_input(&input).map_err(|why| {
        CliFailure::new(format!("the input of `{name}` does not fit: {why}"))
            .hint(format!("it is `{}`", call.function.signature))
    })?;
    let prompt = call.function.prompt(&input);
    Ok(Some((call, prompt)))
}
