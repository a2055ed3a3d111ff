//! Nothing that an agent defines is dropped in silence: every field of the model, from every format to every
//! other, is in the result or in the list of losses.

use agentry_compile::formats::{FORMATS, convert};
use agentry_compile::model::{Agent, ConversionLoss, Format, losses, tree};
use agentry_compile::{
    CompiledAgent, ConversionRequest, FoundAgent, MemoryWorld, convert_agent, flat, prompt, read,
};

use crate::arbitrary::{full_agent, particulars, policies, with_setting};
use crate::round_trip::targets;

/// The agents that together have every field of the model.
fn agents() -> Vec<(String, Agent)> {
    let disabled = || {
        let mut agent = full_agent();
        let status = "disabled".parse().expect("a status");
        agent.identity.status = agent.identity.status.map(|field| field.map(|_| status));
        agent
    };
    let with_policy = policies()
        .into_iter()
        .map(|(name, policy)| (name.to_owned(), Agent { policy, ..full_agent() }));
    let with_setting =
        FORMATS.iter().map(|row| (format!("setting of {}", row.format), with_setting(row.format)));
    let named = particulars().into_iter().map(|(name, agent)| (name.to_owned(), agent));
    let mut plain = full_agent();
    plain.inheritance = agentry_compile::model::Inheritance::default();
    let all = [("everything".to_owned(), full_agent()), ("disabled".to_owned(), disabled())];
    let all = all.into_iter().chain([("no base".to_owned(), plain)]);
    all.chain(with_policy).chain(with_setting).chain(named).collect()
}

/// The agent in `format`, on disk.
fn source(agent: &Agent, format: Format) -> (MemoryWorld, FoundAgent) {
    let target = targets(format, agent).into_iter().next().expect("a target");
    let written = convert(agent, format, &target);
    let is_file = matches!(format, Format::AgentMd | Format::Manifest);
    let dir = if is_file { "agents".to_owned() } else { format!("agents/{}", target.name) };
    let main = written.files.first().map_or(String::new(), |(path, _)| path.clone());
    let files = written.files.into_iter().map(|(path, text)| (format!("{dir}/{path}"), text));
    let world = MemoryWorld::new(files);
    (world, FoundAgent { path: format!("{dir}/{main}"), dir, main, format })
}

/// Whether a field is kept as a path from the new place.
fn is_relocated(field: &str, detail: &str) -> bool {
    let is_path = field == "base" || field == "context" || field.rsplit('.').next() == Some("ref");
    is_path && detail.contains(" became ")
}

fn is_covered(field: &str, listed: &[ConversionLoss]) -> bool {
    let is_within = |field: &str, of: &str| field == of || field.starts_with(&format!("{of}."));
    listed.iter().any(|loss| is_within(field, &loss.field) || is_within(&loss.field, field))
}

/// What the result of a conversion lacks and does not list.
fn silent_losses(world: &MemoryWorld, compiled: &CompiledAgent, to: Format) -> Vec<String> {
    let target = targets(to, &compiled.agent).into_iter().next().expect("a target");
    let output = format!("out/{}", target.name);
    let request = ConversionRequest { to, output: &output, resolved: false };
    // A refusal is no silence.
    let Ok(converted) = convert_agent(world, compiled, request) else { return Vec::new() };
    let data = |agent: &Agent| tree::tree(agent).to_data();
    let before = if converted.agent.inheritance.base.is_some() {
        data(&compiled.agent)
    } else {
        data(&flat(compiled))
    };
    let expected = losses(&before, &data(&converted.agent));
    let silent = expected.into_iter().filter(|loss| {
        !is_covered(&loss.field, &converted.losses) && !is_relocated(&loss.field, &loss.detail)
    });
    silent.map(|loss| format!("{}: {}", loss.field, loss.detail)).collect()
}

#[test]
fn conversions_keep_or_list_every_field() {
    let mut wrong = Vec::new();
    for (case, agent) in agents() {
        for from in FORMATS.iter().map(|row| row.format) {
            let (world, found) = source(&agent, from);
            let compiled = read(&world, &found);
            for to in FORMATS.iter().map(|row| row.format) {
                let silent = silent_losses(&world, &compiled, to);
                wrong.extend(silent.iter().map(|loss| format!("{case}, {from} to {to}: {loss}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Agentry adds parts to the prompt of an agent directory. A conversion lists them.
#[test]
fn the_fixed_parts_of_an_agent_directory_are_listed() {
    let files =
        [("helper/instructions.md", "You help.\n"), ("helper/agent.acl", "max_tool_rounds = 3\n")];
    let world = crate::world::world(&files);
    let found = crate::world::agents(&world, None).remove(0);
    let compiled = read(&world, &found);
    let parts = ["boundaries", "tool_contract", "response_format", "verification"];
    assert_eq!(prompt(&world, &compiled).len(), 1 + parts.len());
    for to in [Format::AgentMd, Format::AgentToml, Format::Manifest, Format::AgentFs] {
        let output = if to == Format::AgentMd { "x_helper.agent.md" } else { "out/helper" };
        let request = ConversionRequest { to, output, resolved: false };
        let converted = convert_agent(&world, &compiled, request).expect("a result");
        let listed: Vec<_> = converted.losses.iter().map(|loss| loss.field.as_str()).collect();
        for part in parts {
            assert!(listed.contains(&format!("prompt.{part}").as_str()), "{to}: {listed:?}");
        }
    }
}
