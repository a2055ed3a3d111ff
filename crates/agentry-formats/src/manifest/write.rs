//! Writes an agent as a manifest: one file, or a directory with soul and rules as Markdown.

use agentry_model::{
    Agent, AgentBehaviour, AgentIdentity, AgentInstructions, AgentMemory, ConversionLoss,
    ConversionLossKind, Declared, DeclaredList, Inheritance, MergeModes, ModelChoice, ProviderAuth,
    RunBudget, slug,
};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{Policy, Trust, to_permissions, to_trust};
use agentry_text::data::MapBuilder;
use agentry_text::{Data, Spanned, yaml};

use super::hash::is_manifest_name;
use super::{API_VERSION, write_parts as parts};
use crate::policy_tests;
use crate::{OutputShape, WriteTarget, WrittenFiles};

/// Writes `agent` as a manifest.
pub(super) fn write(agent: &Agent, target: &WriteTarget) -> WrittenFiles {
    // No `..`: a new field of the model must be handled here, or this does not compile.
    let Agent {
        identity,
        inheritance,
        instructions,
        model,
        auth,
        behaviour,
        budget,
        requirements: _,
        policy,
        access_control: _,
        skills,
        skill_packs,
        tools,
        memory,
        memories,
        expose,
        agents,
        pipeline,
        schedules: _,
        // Only `apiVersion` is written, by `metadata`.
        settings: _,
        extensions,
        unknown: _,
    } = agent;
    let mut notes = Vec::new();
    let name = name(identity, target);
    let trust = trust(policy, target, tools.mcp.is_some(), &mut notes);
    let in_files = target.shape == OutputShape::Directory;
    let groups = [
        metadata(&name, identity, agent.setting("apiVersion")),
        self::inheritance(inheritance),
        block("model", self::model(model)),
        block("auth", self::auth(auth)),
        one("skills", parts::skills(skills)),
        block("tools", parts::tools(tools)),
        block("memory", self::memory(memory)),
        block("behavior", behavior(identity, instructions, behaviour)),
        one("expose", parts::expose(expose)),
        trust.map(|trust| block("trust", self::trust_fields(&trust))).unwrap_or_default(),
        one(policy_tests::KEY, policy_tests::to_data(&policy.tests)),
        block("observability", observability(budget)),
        parts::others(agents, pipeline),
        one("extensions", parts::extensions(extensions)),
        if in_files { MapBuilder::new() } else { inline_texts(instructions) },
    ];
    let main = yaml_of(groups);
    let files = if in_files {
        parts::directory(main, instructions, skill_packs, memories)
    } else {
        vec![(file_name(target, &name), main)]
    };
    WrittenFiles { files, notes }
}

/// Writes the groups that are not empty, with a blank line between them.
fn yaml_of(groups: impl IntoIterator<Item = MapBuilder>) -> String {
    let full = groups.into_iter().filter(|group| !group.is_empty());
    let texts: Vec<_> = full.map(|mut group| yaml::emit(&group.build())).collect();
    texts.join("\n")
}

/// Puts a block under its key, unless it is empty.
fn block(key: &str, mut fields: MapBuilder) -> MapBuilder {
    let mut group = MapBuilder::new();
    if !fields.is_empty() {
        group.set(key, fields.build());
    }
    group
}

fn one(key: &str, value: Option<Data>) -> MapBuilder {
    let mut group = MapBuilder::new();
    group.set_opt(key, value);
    group
}

/// Returns the agent's name, or a derived one, because a manifest needs a name.
fn name(identity: &AgentIdentity, target: &WriteTarget) -> String {
    if let Some(name) = &identity.name {
        return name.value.clone();
    }
    let title = identity.display_name.as_ref().map(|title| slug(title));
    let file = || slug(target.name.trim_end_matches(".agent"));
    let made = title.filter(|name| !name.is_empty()).unwrap_or_else(file);
    if made.is_empty() { "agent".to_owned() } else { made }
}

fn file_name(target: &WriteTarget, name: &str) -> String {
    if is_manifest_name(&target.name) {
        return target.name.clone();
    }
    let stem = target.name.split('.').next().unwrap_or_default();
    let stem = if stem.is_empty() { slug(name) } else { stem.to_owned() };
    format!("{}.agent", if stem.is_empty() { "agent" } else { &stem })
}

/// Returns a trust that grants no more than the policy.
fn trust(
    policy: &Policy,
    target: &WriteTarget,
    has_mcp: bool,
    notes: &mut Vec<ConversionLoss>,
) -> Option<Trust> {
    let Policy { permissions, trust, abilities, tool_permissions, bases: _, tests: _ } = policy;
    let layers = [
        ("permissions", permissions.is_some()),
        ("abilities", abilities.is_some()),
        ("tool_permissions", tool_permissions.is_some()),
    ];
    // A policy that is only trust is written unchanged.
    if layers.iter().all(|(_, given)| !given) {
        return trust.clone();
    }
    let narrowed =
        to_trust(&to_permissions(&PolicyMemo::default(), policy, &target.place)?, has_mcp);
    let axis = |word: Option<&'static str>| word.unwrap_or("none");
    let detail = format!(
        "as trust: filesystem {}, network {}, exec {}",
        axis(narrowed.filesystem.map(|axis| axis.as_str())),
        axis(narrowed.network.map(|axis| axis.as_str())),
        axis(narrowed.exec.map(|axis| axis.as_str())),
    );
    let given = layers.into_iter().chain([("trust", trust.is_some())]).filter(|(_, given)| *given);
    notes.extend(given.map(|(field, _)| ConversionLoss {
        field: field.to_owned(),
        kind: ConversionLossKind::Narrowed,
        detail: detail.clone(),
    }));
    Some(narrowed)
}

fn metadata(name: &str, identity: &AgentIdentity, of_format: Option<&Data>) -> MapBuilder {
    let AgentIdentity {
        version,
        author,
        license,
        description,
        tags,
        // `name` and `behavior` write these.
        name: _,
        display_name: _,
        role: _,
        // The format has no fields for these.
        category: _,
        icon: _,
        avatar: _,
        status: _,
        mode: _,
        greeting: _,
        risk_level: _,
    } = identity;
    let of_format = of_format.and_then(Data::as_str).unwrap_or(API_VERSION);
    let mut out = MapBuilder::new();
    out.set("apiVersion", Data::str(of_format));
    out.set("name", Data::str(name));
    out.set_opt("version", text(version));
    out.set_opt("author", text(author));
    out.set_opt("license", text(license));
    out.set_opt("description", text(description));
    out.set_opt("tags", texts(tags));
    out
}

fn inheritance(Inheritance { base, merge }: &Inheritance) -> MapBuilder {
    let MergeModes { skills, tools, behavior, trust } = merge;
    let mut fields = MapBuilder::new();
    fields.set_opt("skills", word(skills));
    fields.set_opt("tools", word(tools));
    fields.set_opt("behavior", word(behavior));
    fields.set_opt("trust", text(trust));
    let mut out = MapBuilder::new();
    out.set_opt("base", text(base));
    out.set_full("merge", fields.build());
    out
}

fn model(model: &ModelChoice) -> MapBuilder {
    let ModelChoice { capability, preferred, fallback, context, capabilities: _ } = model;
    let mut out = MapBuilder::new();
    out.set_opt("capability", word(capability));
    out.set_opt("preferred", texts(preferred));
    out.set_opt("fallback", text(fallback));
    out.set_opt("context", text(context));
    out
}

fn auth(ProviderAuth { strategy, providers }: &ProviderAuth) -> MapBuilder {
    let mut out = MapBuilder::new();
    out.set_opt("strategy", word(strategy));
    if let Some(providers) = providers {
        let each = |(name, source): &(String, Spanned<String>)| {
            let source = Some(source.as_str()).filter(|source| !source.is_empty());
            (name.clone(), MapBuilder::new().str_opt("from", source).build())
        };
        out.set("providers", Data::Map(providers.iter().map(each).collect()));
    }
    out
}

fn memory(AgentMemory { working, long_term, shared }: &AgentMemory) -> MapBuilder {
    let mut out = MapBuilder::new();
    out.set_opt("working", word(working));
    out.set_opt("long_term", word(long_term));
    out.set_opt("shared", shared.map(|shared| Data::Bool(shared.value)));
    out
}

fn behavior(
    identity: &AgentIdentity,
    instructions: &AgentInstructions,
    behaviour: &AgentBehaviour,
) -> MapBuilder {
    let AgentInstructions {
        traits,
        system_override,
        // These are files of a directory, or written by `inline_texts`.
        system: _,
        rules: _,
        // The format has no fields for these.
        notes: _,
        context: _,
        rule_files: _,
        base_rules: _,
    } = instructions;
    let AgentBehaviour { temperature, max_turns, on_error } = behaviour;
    let temperature = temperature.filter(|value| (0.0..=2.0).contains(&value.value));
    let mut out = MapBuilder::new();
    out.set_opt("persona", text(&identity.role));
    out.set_opt("traits", texts(traits));
    out.set_opt("temperature", temperature.map(|value| Data::Float(value.value)));
    out.set_opt("max_steps", max_turns.map(|value| Data::Int(value.value.max(1))));
    out.set_opt("on_error", word(on_error));
    out.set_opt("system_override", system_override.as_ref().map(|text| prose(text)));
    out
}

fn trust_fields(trust: &Trust) -> MapBuilder {
    let Trust { filesystem, network, exec, scope, hosts } = trust;
    let mut out = MapBuilder::new();
    out.set_opt("filesystem", word(filesystem));
    out.set_opt("network", word(network));
    out.set_opt("exec", word(exec));
    out.set_opt("scope", texts(scope));
    out.set_opt("hosts", texts(hosts));
    out
}

fn observability(budget: &RunBudget) -> MapBuilder {
    let RunBudget { trace, cost_limit, step_limit, on_exceed } = budget;
    // An invalid limit becomes the strictest one. Leaving it out would mean no limit.
    let money = |value: f64| if value.is_nan() { 0.0 } else { value.clamp(0.0, f64::MAX) };
    let mut out = MapBuilder::new();
    out.set_opt("trace", trace.map(|trace| Data::Bool(trace.value)));
    out.set_opt("cost_limit", cost_limit.map(|limit| Data::Float(money(limit.value))));
    out.set_opt("step_limit", step_limit.map(|limit| Data::Int(limit.value.max(0))));
    out.set_opt("on_exceed", word(on_exceed));
    out
}

fn inline_texts(instructions: &AgentInstructions) -> MapBuilder {
    let mut out = MapBuilder::new();
    out.set_opt("soul", instructions.system.as_ref().map(|text| prose(text)));
    out.set_opt("rules", instructions.rules.as_ref().map(|text| prose(text)));
    out
}

/// Returns text with a line break at its end, so that YAML writes it as a block.
fn prose(text: &str) -> Data {
    Data::str(format!("{}\n", text.trim_end()))
}

pub(super) fn text(field: &Declared<String>) -> Option<Data> {
    field.as_ref().map(|text| Data::str(&text.value))
}

pub(super) fn texts(list: &DeclaredList<String>) -> Option<Data> {
    list.as_ref().map(|list| Data::strings(list.iter().map(|text| &text.value)))
}

pub(super) fn word<T: ToString>(field: &Declared<T>) -> Option<Data> {
    field.as_ref().map(|word| Data::str(word.value.to_string()))
}
