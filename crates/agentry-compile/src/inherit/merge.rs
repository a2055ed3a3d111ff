//! Merges two agents block by block. The child's value wins, and an omitted value is inherited. Lists
//! have merge modes. Hard rules, budgets and gates of the base stay.

use agentry_formats::info;
use agentry_model::{
    Agent, AgentBehaviour, AgentIdentity, AgentInstructions, AgentRequirements, AgentStatus,
    AgentTools, Declared, Format, Inheritance, LimitReaction, ListMerge, McpServer, MergeModes,
    ModelChoice, RunBudget, TextMerge,
};
use agentry_text::{Findings, Spanned};

use super::lists::{blocks, files, named, words};
use super::rules::{BASE_STAYS, SERVER_REPLACED};

/// The formats of base and child.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormatPair {
    pub(super) base: Format,
    pub(super) child: Format,
}

/// Merges `child` on top of `base`. The caller merges their policies.
pub(super) fn merge(
    base: &Agent,
    child: &Agent,
    formats: FormatPair,
    findings: &mut Findings,
) -> Agent {
    // No `..`: a new field of the model must be merged here or it does not compile.
    let Agent {
        identity,
        inheritance,
        instructions,
        model,
        auth,
        behaviour,
        budget,
        requirements,
        policy,
        access_control,
        skills,
        skill_packs,
        tools,
        memory,
        memories,
        expose,
        agents,
        pipeline,
        schedules,
        settings,
        extensions,
        unknown,
    } = child;
    let strategy = MergeStrategy::of(inheritance, child, formats.child);
    let by_name = ListMerge::Append;
    Agent {
        identity: self::identity(&base.identity, identity, strategy, findings),
        inheritance: inheritance.clone(),
        instructions: self::instructions(&base.instructions, instructions, strategy),
        model: self::model(&base.model, model),
        auth: block(auth, &base.auth),
        behaviour: self::behaviour((&base.behaviour, behaviour), strategy, formats, findings),
        budget: self::budget(&base.budget, budget, findings),
        requirements: self::requirements(&base.requirements, requirements, findings),
        policy: policy.clone(),
        access_control: written(access_control, &base.access_control),
        skills: named(strategy.skills, base.skills.as_deref(), skills.as_deref(), |it| &it.name),
        skill_packs: files(strategy.skills, &base.skill_packs, skill_packs, |pack| &pack.path),
        tools: self::tools(&base.tools, tools, strategy.tools, findings),
        memory: block(memory, &base.memory),
        memories: files(by_name, &base.memories, memories, |memory| &memory.path),
        expose: written(expose, &base.expose),
        agents: written(agents, &base.agents),
        pipeline: written(pipeline, &base.pipeline),
        // Schedules are not inherited: only the base itself runs at those times.
        schedules: schedules.clone(),
        settings: if formats.base == formats.child {
            blocks(&base.settings, settings)
        } else {
            settings.clone()
        },
        extensions: blocks(&base.extensions, extensions),
        unknown: unknown.clone(),
    }
}

/// How the blocks of a child are combined with those of its base.
#[derive(Debug, Clone, Copy)]
struct MergeStrategy {
    skills: ListMerge,
    tools: ListMerge,
    /// Whether the behaviour of the base is dropped as a whole.
    replaces_behaviour: bool,
}

impl MergeStrategy {
    fn of(inheritance: &Inheritance, child: &Agent, format: Format) -> Self {
        let MergeModes { skills, tools, behavior, trust: _ } = &inheritance.merge;
        let usual = info(format).behaviour_merge;
        let replaces = behavior.map_or(usual, |word| word.value) == TextMerge::Override;
        Self {
            skills: skills.map_or(ListMerge::Append, |word| word.value),
            tools: tools.map_or(ListMerge::Append, |word| word.value),
            replaces_behaviour: replaces && writes_behaviour(child),
        }
    }
}

/// Whether a definition has its own behaviour block.
fn writes_behaviour(agent: &Agent) -> bool {
    let AgentBehaviour { temperature, max_turns, on_error } = &agent.behaviour;
    let AgentInstructions { system_override, traits, .. } = &agent.instructions;
    temperature.is_some()
        || max_turns.is_some()
        || on_error.is_some()
        || system_override.is_some()
        || traits.is_some()
        || agent.identity.role.is_some()
}

/// The child's value, or the base's if it has none.
fn written<T: Clone>(child: &Option<T>, base: &Option<T>) -> Option<T> {
    child.clone().or_else(|| base.clone())
}

/// The child's block as a whole if it has one, else the base's.
fn block<T: Clone + Default + PartialEq>(child: &T, base: &T) -> T {
    if *child == T::default() { base.clone() } else { child.clone() }
}

fn identity(
    base: &AgentIdentity,
    child: &AgentIdentity,
    strategy: MergeStrategy,
    findings: &mut Findings,
) -> AgentIdentity {
    let AgentIdentity {
        name,
        display_name,
        description,
        version,
        category,
        author,
        license,
        tags,
        icon,
        avatar,
        status,
        mode,
        role,
        greeting,
        risk_level,
    } = child;
    AgentIdentity {
        // Name and version identify one agent, so they are not inherited.
        name: name.clone(),
        display_name: display_name.clone(),
        description: written(description, &base.description),
        version: version.clone(),
        category: written(category, &base.category),
        author: written(author, &base.author),
        license: written(license, &base.license),
        tags: written(tags, &base.tags),
        icon: written(icon, &base.icon),
        avatar: avatar.clone(),
        status: self::status(base.status, *status, findings),
        mode: written(mode, &base.mode),
        role: behaves(role, &base.role, strategy),
        greeting: written(greeting, &base.greeting),
        risk_level: written(risk_level, &base.risk_level),
    }
}

/// The stricter status: an agent built on a disabled one is disabled too.
fn status(
    base: Declared<AgentStatus>,
    child: Declared<AgentStatus>,
    findings: &mut Findings,
) -> Declared<AgentStatus> {
    strictest(
        "status",
        base,
        child,
        |status| match status {
            AgentStatus::Active => 0,
            AgentStatus::Deprecated => 1,
            AgentStatus::Disabled => 2,
        },
        findings,
    )
}

/// A field of the behaviour block.
fn behaves<T: Clone>(child: &Option<T>, base: &Option<T>, strategy: MergeStrategy) -> Option<T> {
    if strategy.replaces_behaviour { child.clone() } else { written(child, base) }
}

fn instructions(
    base: &AgentInstructions,
    child: &AgentInstructions,
    strategy: MergeStrategy,
) -> AgentInstructions {
    let AgentInstructions {
        system,
        rules,
        base_rules: _,
        system_override,
        traits,
        notes,
        context,
        rule_files,
    } = child;
    let traits = if strategy.replaces_behaviour {
        traits.clone()
    } else {
        words(ListMerge::Append, &base.traits, traits)
    };
    AgentInstructions {
        system: written(system, &base.system),
        rules: rules.clone(),
        // Hard rules of all bases stay, the farthest first.
        base_rules: base.base_rules.iter().chain(&base.rules).cloned().collect(),
        system_override: behaves(system_override, &base.system_override, strategy),
        traits,
        notes: notes.clone(),
        context: written(context, &base.context),
        rule_files: words(ListMerge::Append, &base.rule_files, rule_files),
    }
}

fn model(base: &ModelChoice, child: &ModelChoice) -> ModelChoice {
    let ModelChoice { capability, preferred, fallback, context, capabilities } = child;
    ModelChoice {
        capability: written(capability, &base.capability),
        preferred: written(preferred, &base.preferred),
        fallback: written(fallback, &base.fallback),
        context: written(context, &base.context),
        capabilities: written(capabilities, &base.capabilities),
    }
}

fn behaviour(
    (base, child): (&AgentBehaviour, &AgentBehaviour),
    strategy: MergeStrategy,
    formats: FormatPair,
    findings: &mut Findings,
) -> AgentBehaviour {
    let AgentBehaviour { temperature, max_turns, on_error } = child;
    // Without a step limit in both formats, `max_turns` is the only limit and must not grow.
    let is_limit = ![formats.base, formats.child].iter().all(|it| info(*it).has_step_limit);
    AgentBehaviour {
        temperature: behaves(temperature, &base.temperature, strategy),
        max_turns: if is_limit {
            smaller("max_turns", base.max_turns, *max_turns, i64::cmp, findings)
        } else {
            behaves(max_turns, &base.max_turns, strategy)
        },
        on_error: behaves(on_error, &base.on_error, strategy),
    }
}

/// Limits only shrink, and `trace` stays on.
fn budget(base: &RunBudget, child: &RunBudget, findings: &mut Findings) -> RunBudget {
    let RunBudget { trace, cost_limit, step_limit, on_exceed } = child;
    let exceeds = |word: LimitReaction| match word {
        LimitReaction::Ask => 0,
        LimitReaction::Abort => 1,
    };
    RunBudget {
        trace: strictest("trace", base.trace, *trace, u8::from, findings),
        cost_limit: smaller("cost_limit", base.cost_limit, *cost_limit, f64::total_cmp, findings),
        step_limit: smaller("step_limit", base.step_limit, *step_limit, i64::cmp, findings),
        on_exceed: strictest("on_exceed", base.on_exceed, *on_exceed, exceeds, findings),
    }
}

fn requirements(
    base: &AgentRequirements,
    child: &AgentRequirements,
    findings: &mut Findings,
) -> AgentRequirements {
    let AgentRequirements { env, startup } = child;
    if let (Some(base), Some(own)) = (&base.startup, startup)
        && base.value != own.value
    {
        stays("startup", base, own, findings);
    }
    AgentRequirements {
        env: words(ListMerge::Append, &base.env, env),
        // Base and child are swapped on purpose: the base's check wins.
        startup: written(&base.startup, startup),
    }
}

fn tools(
    base: &AgentTools,
    child: &AgentTools,
    strategy: ListMerge,
    findings: &mut Findings,
) -> AgentTools {
    let AgentTools { native, mcp, scripts, functions, source } = child;
    replaced(base, mcp.as_deref().unwrap_or_default(), findings);
    let name = |name: &'_ Declared<String>| {
        name.as_ref().map_or("", |name| name.value.as_str()).to_owned()
    };
    let scripts = {
        let key = |list: &[Spanned<agentry_model::ScriptTool>]| -> Vec<_> {
            list.iter().map(|script| (name(&script.name), script.clone())).collect()
        };
        files(strategy, &key(&base.scripts), &key(scripts), |(name, _)| name)
    };
    // The base's source has its functions. It is dropped only if the child replaces them with its own.
    let both = strategy == ListMerge::Append || source.is_empty();
    let code = base.source.iter().filter(|_| both);
    AgentTools {
        native: words(strategy, &base.native, native),
        mcp: named(strategy, base.mcp.as_deref(), mcp.as_deref(), |server| &server.name),
        scripts: scripts.into_iter().map(|(_, script)| script).collect(),
        functions: files(strategy, &base.functions, functions, |function| &function.name),
        source: code.chain(source).cloned().collect(),
    }
}

/// Reports servers of the child that replace a server of the base.
fn replaced(base: &AgentTools, child: &[Spanned<McpServer>], findings: &mut Findings) {
    for server in child {
        let same = |other: &&Spanned<McpServer>| other.name == server.name;
        if let Some(other) = base.mcp.iter().flatten().find(same) {
            let message = format!("the MCP server `{}` takes the place of the base's", server.name);
            findings
                .add(&SERVER_REPLACED, server.span, message)
                .related(other.span, "this one")
                .hint("give it another name to have both");
        }
    }
}

/// The smaller of two limits; reports a larger one in the child.
fn smaller<T: Copy + std::fmt::Display>(
    name: &str,
    base: Declared<T>,
    child: Declared<T>,
    order: fn(&T, &T) -> std::cmp::Ordering,
    findings: &mut Findings,
) -> Declared<T> {
    let (Some(limit), Some(own)) = (base, child) else { return child.or(base) };
    if order(&own.value, &limit.value).is_gt() {
        stays(name, &limit, &own, findings);
        return base;
    }
    child
}

/// The value with the higher rank; reports a lower one in the child.
fn strictest<T: Copy + std::fmt::Display>(
    name: &str,
    base: Declared<T>,
    child: Declared<T>,
    rank: impl Fn(T) -> u8,
    findings: &mut Findings,
) -> Declared<T> {
    let (Some(limit), Some(own)) = (base, child) else { return child.or(base) };
    if rank(own.value) < rank(limit.value) {
        stays(name, &limit, &own, findings);
        return base;
    }
    child
}

/// Reports that the base's value is used instead of the child's.
fn stays<T: std::fmt::Display>(
    name: &str,
    base: &Spanned<T>,
    own: &Spanned<T>,
    findings: &mut Findings,
) {
    let message = format!("`{name}` stays `{}`, as in the base", base.value);
    let found = findings.add(&BASE_STAYS, own.span, message);
    if base.span.is_written() {
        found.related(base.span, "this one counts");
    }
    found.hint("remove it, or be stricter than the base");
}
