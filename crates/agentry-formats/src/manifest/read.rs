//! Reads a manifest in four steps: load the files, validate the fields, fill the model, and check the fields
//! together.

use std::str::FromStr;

use agentry_model::{
    Agent, AgentBehaviour, AgentIdentity, AgentMemory, AgentRef, Declared, DeclaredList,
    ExposedFunction, Inheritance, MergeModes, ModelChoice, PipelineStage, ProviderAuth, RunBudget,
};
use agentry_policy::Trust;
use agentry_text::table::{Coercion, validate};
use agentry_text::{FieldTable, Findings, Spanned, TableRecord, TreeMap};

use super::load::{LoadedManifest, load};
use super::{ambiguity, check, fields, keys, packs, texts, tools, unknown_fields};
use crate::{AgentPackage, agentry_block, policy_tests, skill};

/// Reads the manifest of `package`.
pub(super) fn read(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Agent {
    let Some(loaded) = load(package, findings) else { return Agent::default() };
    validate(&fields::MANIFEST, &loaded.node, Coercion::Lax, findings);
    keys::check(&loaded.node, findings);
    let mut agent = agent(&loaded, findings);
    check::empty_base(&loaded.node, findings);
    if loaded.is_directory {
        texts::check_names(package, &loaded, findings);
        agent.skill_packs = skill::read_all(package, "skills", packs::DIALECT, findings);
        agent.memories = packs::memories(package, findings);
    }
    check::run(&agent, findings);
    // Last, because it skips scalars for which an error was reported above.
    ambiguity::check(&loaded, findings);
    agentry_block::adopt(&mut agent, &loaded.node, findings);
    agent
}

fn agent(loaded: &LoadedManifest, findings: &mut Findings) -> Agent {
    let root = TableRecord::new(&fields::MANIFEST, &loaded.node, Coercion::Lax);
    let mut agent = Agent {
        identity: identity(&root),
        inheritance: inheritance(&root),
        instructions: texts::instructions(loaded, &root, findings),
        model: model(&root),
        auth: auth(&root),
        behaviour: behaviour(&root),
        budget: budget(&root),
        skills: tools::skills(&root, findings),
        tools: tools::tools(&root, findings),
        memory: memory(&root),
        expose: expose(&root),
        agents: agents(&root),
        pipeline: pipeline(&root),
        ..Agent::default()
    };
    agent.policy.trust = block(&root, "trust", &fields::TRUST).map(|trust| self::trust(&trust));
    agent.policy.tests = policy_tests::read(&root, policy_tests::KEY);
    // Only an unusual version is kept; the writer adds the default one.
    if let Some(version) = root.str("apiVersion").filter(|version| **version != super::API_VERSION)
    {
        let version = version.map(agentry_text::Data::Str);
        agent.settings.push(("apiVersion".to_owned(), version));
    }
    unknown_fields::collect(&loaded.node, &mut agent);
    agent
}

/// Returns the fields of a block, if it is present.
pub(super) fn block<'t>(
    root: &TableRecord<'t>,
    name: &str,
    table: &'static FieldTable,
) -> Option<TableRecord<'t>> {
    root.record(name, table)
}

/// Reads a field with a fixed set of values, spelt exactly as in the format.
pub(super) fn word<T: FromStr>(record: &TableRecord<'_>, name: &str) -> Declared<T> {
    let text = record.str(name)?;
    Some(Spanned::new(text.value.parse().ok()?, text.span))
}

/// Returns the strings of a field that must be a list.
pub(super) fn texts(record: &TableRecord<'_>, name: &str) -> DeclaredList<String> {
    record.list(name).and_then(|_| record.strings(name))
}

/// Returns the strings of a map, by key.
pub(super) fn pairs(map: Option<&TreeMap>) -> Vec<(String, Spanned<String>)> {
    let mut out: Vec<(String, Spanned<String>)> = Vec::new();
    for entry in map.map(|map| map.entries.as_slice()).unwrap_or_default() {
        let Some(text) = entry.value.to_spanned() else { continue };
        put(&mut out, &entry.key.text, text);
    }
    out
}

/// Sets a key; a repeated key gets the new value, because the last one wins.
pub(super) fn put<T>(list: &mut Vec<(String, T)>, key: &str, value: T) {
    match list.iter_mut().find(|(name, _)| name == key) {
        Some((_, slot)) => *slot = value,
        None => list.push((key.to_owned(), value)),
    }
}

fn identity(root: &TableRecord<'_>) -> AgentIdentity {
    let behavior = block(root, "behavior", &fields::BEHAVIOR);
    AgentIdentity {
        name: root.str("name"),
        description: root.str("description"),
        version: root.str("version"),
        author: root.str("author"),
        license: root.str("license"),
        tags: texts(root, "tags"),
        role: behavior.and_then(|behavior| behavior.str("persona")),
        ..AgentIdentity::default()
    }
}

fn inheritance(root: &TableRecord<'_>) -> Inheritance {
    let merge = block(root, "merge", &fields::MERGE).map(|merge| MergeModes {
        skills: word(&merge, "skills"),
        tools: word(&merge, "tools"),
        behavior: word(&merge, "behavior"),
        // The only mode that the format has for trust.
        trust: merge.str("trust").filter(|word| **word == "restrict"),
    });
    // The reference treats an empty `base` as absent; `check::empty_base` reports it.
    let base = root.str("base").filter(|base| !base.is_empty());
    Inheritance { base, merge: merge.unwrap_or_default() }
}

fn model(root: &TableRecord<'_>) -> ModelChoice {
    let Some(model) = block(root, "model", &fields::MODEL) else { return ModelChoice::default() };
    ModelChoice {
        capability: word(&model, "capability"),
        preferred: texts(&model, "preferred"),
        fallback: model.str("fallback"),
        context: model.str("context"),
        capabilities: None,
    }
}

fn auth(root: &TableRecord<'_>) -> ProviderAuth {
    let Some(auth) = block(root, "auth", &fields::AUTH) else { return ProviderAuth::default() };
    let providers = auth.map("providers").map(|map| {
        let mut out = Vec::new();
        for entry in map.entries.iter().filter(|entry| entry.value.as_map().is_some()) {
            let provider = TableRecord::new(&fields::PROVIDER, &entry.value, Coercion::Lax);
            let source = provider.str("from");
            // A provider without a source is kept, so that the check reports it.
            let source = source.unwrap_or_else(|| Spanned::new(String::new(), entry.key.span));
            put(&mut out, &entry.key.text, source);
        }
        out
    });
    ProviderAuth { strategy: word(&auth, "strategy"), providers }
}

fn behaviour(root: &TableRecord<'_>) -> AgentBehaviour {
    let Some(behavior) = block(root, "behavior", &fields::BEHAVIOR) else {
        return AgentBehaviour::default();
    };
    AgentBehaviour {
        temperature: behavior.float("temperature"),
        max_turns: behavior.int("max_steps"),
        on_error: word(&behavior, "on_error"),
    }
}

fn budget(root: &TableRecord<'_>) -> RunBudget {
    let Some(limits) = block(root, "observability", &fields::OBSERVABILITY) else {
        return RunBudget::default();
    };
    RunBudget {
        trace: limits.bool("trace"),
        cost_limit: limits.float("cost_limit"),
        step_limit: limits.int("step_limit"),
        on_exceed: word(&limits, "on_exceed"),
    }
}

fn memory(root: &TableRecord<'_>) -> AgentMemory {
    let Some(memory) = block(root, "memory", &fields::MEMORY) else {
        return AgentMemory::default();
    };
    AgentMemory {
        working: word(&memory, "working"),
        long_term: word(&memory, "long_term"),
        shared: memory.bool("shared"),
    }
}

fn trust(trust: &TableRecord<'_>) -> Trust {
    Trust {
        filesystem: word(trust, "filesystem"),
        network: word(trust, "network"),
        exec: word(trust, "exec"),
        scope: texts(trust, "scope"),
        hosts: texts(trust, "hosts"),
    }
}

fn expose(root: &TableRecord<'_>) -> DeclaredList<ExposedFunction> {
    let items = root.list("expose")?.iter().filter(|node| node.as_map().is_some());
    let each = items.map(|node| {
        let function = TableRecord::new(&fields::EXPOSED, node, Coercion::Lax);
        let exposed = ExposedFunction {
            name: function.str("name"),
            description: function.str("description"),
            input: pairs(function.map("input")),
            output: function.str("output"),
        };
        Spanned::new(exposed, node.span)
    });
    Some(each.collect())
}

fn agents(root: &TableRecord<'_>) -> DeclaredList<AgentRef> {
    let mut out = Vec::new();
    for entry in &root.map("agents")?.entries {
        let agent = TableRecord::new(&fields::AGENT, &entry.value, Coercion::Lax);
        let name = entry.key.text.clone();
        let agent = AgentRef { name, reference: agent.str("ref"), role: word(&agent, "role") };
        put(&mut out, &entry.key.text, Spanned::new(agent, entry.key.span));
    }
    Some(out.into_iter().map(|(_, agent)| agent).collect())
}

fn pipeline(root: &TableRecord<'_>) -> DeclaredList<PipelineStage> {
    let items = root.list("pipeline")?.iter().filter(|node| node.as_map().is_some());
    let each = items.map(|node| {
        let stage = TableRecord::new(&fields::STAGE, node, Coercion::Lax);
        let stage = PipelineStage { call: stage.str("call"), output: stage.str("output") };
        Spanned::new(stage, node.span)
    });
    Some(each.collect())
}
