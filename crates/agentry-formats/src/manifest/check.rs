//! Checks the fields of a manifest, alone and together.

use std::collections::HashMap;
use std::hash::Hash;

use agentry_model::{Agent, AuthStrategy, ExposedFunction, McpServer, McpTransport, ProviderAuth};
use agentry_policy::{FilesystemTrust, NetworkTrust, Trust};
use agentry_text::table::rules::OUT_OF_RANGE;
use agentry_text::{Findings, Fix, LintRule, Severity, Span, Spanned, TreeNode};

use super::rules::{
    EXPLICIT_WITHOUT_PROVIDERS, FUNCTION_TWICE, HOSTS_WITHOUT_EFFECT, KEY_IN_MANIFEST,
    MALFORMED_TYPE, MERGE_WITHOUT_BASE, MODEL_WITHOUT_PROVIDER, NO_SYSTEM_TEXT,
    PROVIDER_WITHOUT_SOURCE, SCOPE_WITHOUT_EFFECT, SCOPED_WITHOUT_HOSTS, SCOPED_WITHOUT_SCOPE,
    SERVER_TRANSPORT, SERVER_TWICE, SKILL_TWICE, TAG_TWICE, TEXT_WITHOUT_EFFECT, UNKNOWN_CALLEE,
    UNUSABLE_NAME, UNUSABLE_REFERENCE, VERSION_NOT_SEMVER,
};
use super::{function_type, reference};
use crate::mcp;
use crate::text_checks::is_variable;

/// Reports a `base` that is empty, which the reference treats as absent.
pub(super) fn empty_base(root: &TreeNode, findings: &mut Findings) {
    let base = root.as_map().and_then(|map| map.get("base"));
    if let Some(base) = base.filter(|base| base.as_str() == Some("")) {
        findings
            .add(&UNUSABLE_REFERENCE, base.span, "`base` is empty")
            .hint("remove it, or say where the base is")
            .severity = Severity::Warning;
    }
}

/// Reports problems of `agent`.
pub(super) fn run(agent: &Agent, findings: &mut Findings) {
    metadata(agent, findings);
    references(agent, findings);
    auth(agent, findings);
    tools(agent, findings);
    texts(agent, findings);
    interface(agent, findings);
    if let Some(trust) = &agent.policy.trust {
        filesystem(trust, agent, findings);
        network(trust, agent, findings);
    }
    // The range of the field table includes infinity, which is not a limit.
    let unlimited =
        agent.budget.cost_limit.filter(|limit| limit.is_infinite() && limit.value > 0.0);
    if let Some(limit) = unlimited {
        findings
            .add(&OUT_OF_RANGE, limit.span, "`cost_limit` is out of range")
            .hint("leave it out for no limit");
    }
}

fn metadata(agent: &Agent, findings: &mut Findings) {
    let identity = &agent.identity;
    if let Some(name) = &identity.name
        && let Some(what) = unusable(name)
    {
        findings
            .add(&UNUSABLE_NAME, name.span, format!("the name {what}"))
            .hint("use letters, digits and hyphens, as in `deep-researcher`");
    }
    if let Some(version) = &identity.version
        && semver::Version::parse(version).is_err()
    {
        let message = format!("`{}` is not a semantic version", version.value.escape_debug());
        findings
            .add(&VERSION_NOT_SEMVER, version.span, message)
            .hint("write major.minor.patch, as in `1.0.0`");
    }
    let tags = identity.tags.iter().flatten().map(|tag| (tag.as_str(), tag.span));
    twice(tags, &TAG_TWICE, "the tag", findings);
    for model in agent.model.preferred.iter().flatten() {
        let named = model.split_once('/').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
        if !named {
            findings
                .add(
                    &MODEL_WITHOUT_PROVIDER,
                    model.span,
                    format!("`{}` has no provider", model.value),
                )
                .hint("write `provider/model`, as in `openai/gpt-5`");
        }
    }
}

/// Returns what makes a name unusable, as the end of a sentence that starts with «the name».
fn unusable(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("is empty")
    } else if name.contains(['/', '\\']) || matches!(name, "." | "..") {
        Some("is a path")
    } else if name.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        Some("holds a control character")
    } else if name.trim() != name {
        Some("starts or ends with white space")
    } else {
        None
    }
}

/// Reports every repeated name.
fn twice<K: Hash + Eq + std::fmt::Display>(
    names: impl Iterator<Item = (K, Span)>,
    rule: &'static LintRule,
    what: &str,
    findings: &mut Findings,
) {
    let mut seen: HashMap<K, Span> = HashMap::new();
    for (name, span) in names {
        if let Some(first) = seen.get(&name) {
            findings
                .add(rule, span, format!("{what} `{name}` is here twice"))
                .related(*first, "it was first written here")
                .hint("keep one of them");
        } else {
            seen.insert(name, span);
        }
    }
}

fn references(agent: &Agent, findings: &mut Findings) {
    let inheritance = &agent.inheritance;
    let bases = inheritance.base.iter().map(|base| ("base", base));
    let agents = agent.agents.iter().flatten();
    let agents = agents.filter_map(|agent| Some(("ref", agent.reference.as_ref()?)));
    for (field, text) in bases.chain(agents) {
        if let Some((what, hint)) = reference::problem(text) {
            let message = format!("`{field}` {what}");
            findings.add(&UNUSABLE_REFERENCE, text.span, message).hint(hint);
        }
    }
    let merge = &inheritance.merge;
    let first = merge.skills.map(|word| word.span).or(merge.tools.map(|word| word.span));
    let first = first.or(merge.behavior.map(|word| word.span));
    let first = first.or(merge.trust.as_ref().map(|word| word.span));
    if let (Some(span), None) = (first, &inheritance.base) {
        findings
            .add(&MERGE_WITHOUT_BASE, span, "there is no `base` to merge with")
            .hint("add `base`, or remove `merge`");
    }
}

fn auth(agent: &Agent, findings: &mut Findings) {
    let ProviderAuth { strategy, providers } = &agent.auth;
    let providers = providers.as_deref().unwrap_or_default();
    let explicit = strategy.filter(|strategy| strategy.value == AuthStrategy::Explicit);
    if let Some(strategy) = explicit
        && providers.is_empty()
        // The base may list the providers.
        && agent.inheritance.base.is_none()
    {
        findings
            .add(
                &EXPLICIT_WITHOUT_PROVIDERS,
                strategy.span,
                "`explicit` has no providers to take keys from",
            )
            .hint("list them under `auth.providers`");
    }
    for (name, source) in providers {
        if source.is_empty() {
            findings
                .add(
                    &PROVIDER_WITHOUT_SOURCE,
                    source.span,
                    format!("the provider `{name}` has no source"),
                )
                .hint("add `from: env.NAME`");
        } else if !source.strip_prefix("env.").is_some_and(is_variable) {
            key_source(name, source, findings);
        }
    }
}

/// Reports a source that is not `env.NAME`, without showing it: it may be the key itself.
fn key_source(provider: &str, source: &Spanned<String>, findings: &mut Findings) {
    let message = format!("the source of `{provider}` is not an environment variable");
    let found = findings.add(&KEY_IN_MANIFEST, source.span, message).secret();
    found.hint("write `env.NAME`; if a key stands here, it is not a secret any more: replace it");
    let inner = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.or_else(|| source.strip_prefix('$')).or_else(|| source.strip_prefix("env:"));
    if let Some(name) = inner.filter(|name| is_variable(name)) {
        found.fix(Fix::unsafe_("name the variable", source.span, format!("env.{name}")));
    }
}

fn tools(agent: &Agent, findings: &mut Findings) {
    let skills = agent.skills.iter().flatten().map(|skill| (skill.name.as_str(), skill.span));
    twice(skills, &SKILL_TWICE, "the skill", findings);
    let servers = || agent.tools.mcp.iter().flatten();
    let names = servers().map(|server| (server.name.as_str(), server.span));
    twice(names, &SERVER_TWICE, "the MCP server", findings);
    for server in servers() {
        if let Some((span, message, hint)) = transport(server) {
            findings.add(&SERVER_TRANSPORT, span, message).hint(hint);
        }
        for (key, text) in server.env.iter().chain(&server.headers) {
            if mcp::looks_secret(key, text) {
                findings
                    .add(
                        &mcp::LITERAL_SECRET,
                        text.span,
                        format!("the value of `{key}` looks like a secret"),
                    )
                    .secret()
                    .hint("name a variable instead: `env.NAME`");
            }
        }
    }
}

/// Returns what keeps a server from being contacted. A server without `command` and `url` is one that the
/// harness knows by its name.
fn transport(server: &McpServer) -> Option<(Span, String, &'static str)> {
    let McpServer { name, transport, command, url, .. } = server;
    let is =
        |wanted| transport.filter(|transport| (transport.value == McpTransport::Stdio) == wanted);
    match (command, url) {
        (Some(_), Some(url)) => {
            let message = format!("`{name}` has both a command and a URL");
            Some((url.span, message, "keep the one that is meant"))
        }
        (Some(_), None) => is(false).map(|at| {
            (at.span, format!("`{name}` has a command, which speaks `stdio`"), "use `stdio`")
        }),
        (None, Some(_)) => is(true).map(|at| {
            (at.span, format!("`{name}` has a URL, which speaks `http`"), "use `http` or `sse`")
        }),
        (None, None) => {
            is(false).map(|at| (at.span, format!("`{name}` has no address"), "add `url`"))
        }
    }
}

fn texts(agent: &Agent, findings: &mut Findings) {
    let instructions = &agent.instructions;
    // A base may have the soul.
    let has_system = instructions.system.is_some() || agent.inheritance.base.is_some();
    let Some(raw) = instructions.system_override.as_ref().filter(|_| !has_system) else {
        return no_system(agent, findings);
    };
    let traits = instructions.traits.iter().flatten().next().map(|first| ("traits", first.span));
    let persona = agent.identity.role.as_ref().map(|role| ("persona", role.span));
    for (field, span) in persona.into_iter().chain(traits) {
        findings
            .add(
                &TEXT_WITHOUT_EFFECT,
                span,
                format!("`{field}` is not used beside `system_override`"),
            )
            .related(raw.span, "this is used")
            .hint(format!("write a soul, remove `{field}`, or remove `system_override`"));
    }
}

/// Reports an agent whose description is its system text. A pipeline calls other agents, so it needs none.
fn no_system(agent: &Agent, findings: &mut Findings) {
    let Agent { instructions, identity, inheritance, pipeline, .. } = agent;
    let has_text = instructions.system.is_some()
        || instructions.system_override.is_some()
        || identity.role.is_some()
        || inheritance.base.is_some()
        || pipeline.is_some()
        // The text may be in a part that could not be read.
        || findings.has_errors();
    // Without a description, another finding says that there is nothing to go by.
    let Some(description) = identity.description.as_ref().filter(|_| !has_text) else { return };
    findings
        .add(&NO_SYSTEM_TEXT, description.span, "the description is the whole system text")
        .hint("write a `soul` (or `SOUL.md`), or a `persona` under `behavior`");
}

fn interface(agent: &Agent, findings: &mut Findings) {
    let functions = agent.expose.iter().flatten().filter_map(|exposed| exposed.name.as_ref());
    let named = functions.clone().map(|name| (name.as_str(), name.span));
    twice(named, &FUNCTION_TWICE, "the function", findings);
    agent.expose.iter().flatten().for_each(|exposed| types(exposed, findings));
    // The base may define the agents.
    if agent.agents.is_none() && agent.inheritance.base.is_some() {
        return;
    }
    let agents: Vec<_> = agent.agents.iter().flatten().map(|agent| agent.name.as_str()).collect();
    for call in agent.pipeline.iter().flatten().filter_map(|stage| stage.call.as_ref()) {
        let callee = call.split('.').next().unwrap_or(call);
        let own = functions.clone().any(|name| name.value == call.value);
        if !own && !agents.contains(&callee) {
            let near = agentry_text::suggestion::did_you_mean(callee, agents.iter().copied());
            findings
                .add(&UNKNOWN_CALLEE, call.span, format!("`{callee}` is not in `agents`"))
                .hint(near.unwrap_or_else(|| "list it under `agents`".to_owned()));
        }
    }
}

/// Reports the malformed types of a function.
fn types(exposed: &ExposedFunction, findings: &mut Findings) {
    for of in exposed.input.iter().map(|(_, of)| of).chain(&exposed.output) {
        if let Err(why) = function_type::schema(of) {
            findings
                .add(&MALFORMED_TYPE, of.span, format!("`{}` is no type: {why}", of.value))
                .hint(
                    "write a name such as `str`, `int?`, `list[str]`, `dict[str, int]` or `Report`",
                );
        }
    }
}

fn filesystem(trust: &Trust, agent: &Agent, findings: &mut Findings) {
    let has_base = agent.inheritance.base.is_some();
    let first = trust.scope.iter().flatten().next();
    let axis = trust.filesystem;
    let scoped = axis.is_some_and(|axis| axis.value == FilesystemTrust::Scoped);
    if let Some(first) = first
        && !scoped
        // The base may set `filesystem: scoped`.
        && !(axis.is_none() && has_base)
    {
        findings
            .add(
                &SCOPE_WITHOUT_EFFECT,
                first.span,
                "`scope` has no effect without `filesystem: scoped`",
            )
            .hint("set `filesystem: scoped`, or remove `scope`");
    }
    if let Some(axis) = axis.filter(|_| scoped && first.is_none() && !has_base) {
        findings
            .add(&SCOPED_WITHOUT_SCOPE, axis.span, "`scoped` opens no path")
            .hint("list the paths under `trust.scope`");
    }
}

fn network(trust: &Trust, agent: &Agent, findings: &mut Findings) {
    let has_base = agent.inheritance.base.is_some();
    let first = trust.hosts.iter().flatten().next();
    let axis = trust.network;
    let scoped = axis.is_some_and(|axis| axis.value == NetworkTrust::Scoped);
    if let Some(first) = first
        && !scoped
        && !(axis.is_none() && has_base)
    {
        findings
            .add(
                &HOSTS_WITHOUT_EFFECT,
                first.span,
                "`hosts` has no effect without `network: scoped`",
            )
            .hint("set `network: scoped`, or remove `hosts`");
    }
    // Without `hosts`, `scoped` opens the hosts of servers and providers.
    let others = agent.tools.mcp.iter().flatten().any(|server| server.url.is_some())
        || agent.auth.providers.as_ref().is_some_and(|list| !list.is_empty())
        || agent.model.preferred.as_ref().is_some_and(|list| !list.is_empty());
    if let Some(axis) = axis.filter(|_| scoped && first.is_none() && !others && !has_base) {
        findings
            .add(&SCOPED_WITHOUT_HOSTS, axis.span, "`scoped` opens no host")
            .hint("list the hosts under `trust.hosts`");
    }
}
