//! AG7010 to AG7019: fields and values that a harness does not take.

use agentry_targets::{FieldValue, TARGETS, Target, UnknownFieldEffect, ValueKind};
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, Severity, TreeEntry, TreeNode, TreeValue, rules};

use super::agent::{AgentOrigin, AuthoredAgent, field_names, knows_field};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        UNKNOWN_FIELD: "AG7010",
        MISSPELT_FIELD: "AG7011",
        IGNORED_RESTRICTION: "AG7012",
        FOREIGN_FIELD: "AG7013",
        REFUSED_VALUE: "AG7014",
        IGNORED_VALUE: "AG7015",
        PLUGIN_FIELD: "AG7017",
        UNBOUNDED_AGENT: "AG7018",
        OLD_FIELD: "AG7019",
    ]
}

/// Fields that restrict an agent in some harness.
const RESTRICTIONS: &[&str] = &[
    "tools",
    "allowedTools",
    "disallowedTools",
    "deniedTools",
    "excludeTools",
    "permission",
    "permissions",
    "permissionMode",
    "readonly",
    "sandbox_mode",
    "approval_policy",
];

/// Fields that change how an agent works in some harness.
const EFFECTS: &[&str] = &[
    "temperature",
    "top_p",
    "steps",
    "maxSteps",
    "maxTurns",
    "max_turns",
    "timeout_mins",
    "toolBudget",
    "turnBudget",
    "mcp_servers",
    "mcp-servers",
    "mcpServers",
    "model_reasoning_effort",
];

/// Fields of harnesses that have a newer name: the harness, the field, the newer one.
const OLDER: &[(&str, &str, &str)] = &[
    ("opencode", "maxSteps", "steps"),
    ("copilot", "user-invokable", "user-invocable"),
    ("copilot", "infer", "disable-model-invocation"),
];

/// Fields that Claude Code ignores in a plugin.
const NOT_IN_PLUGINS: &[&str] = &["hooks", "mcpServers", "permissionMode"];

/// Values that leave an agent without limits.
const UNBOUNDED: &[(&str, &str)] =
    &[("permissionMode", "bypassPermissions"), ("sandbox_mode", "danger-full-access")];

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    // Fields of a remote agent of Gemini are not known here.
    let is_remote = agent.text("kind").is_some_and(|kind| kind.value == "remote");
    for entry in &agent.fields.entries {
        let name = entry.key.text.as_str();
        if agent.knows(name) {
            known(agent, entry, findings);
        } else if !is_remote && !name.starts_with("x-") {
            unknown(agent, entry, findings);
        }
    }
}

fn known(agent: &AuthoredAgent<'_>, entry: &TreeEntry, findings: &mut Findings) {
    let name = entry.key.text.as_str();
    if agent.origin == AgentOrigin::Plugin && NOT_IN_PLUGINS.contains(&name) {
        let message = format!("`{name}` is ignored in an agent of a plugin");
        findings.add(&PLUGIN_FIELD, entry.key.span, message).hint("remove it");
    }
    let is_this =
        |(harness, old, _): &&(&str, &str, &str)| *harness == agent.target.name && *old == name;
    if let Some((_, _, newer)) = OLDER.iter().find(is_this) {
        let message = format!("`{name}` is an older name");
        findings.add(&OLD_FIELD, entry.key.span, message).hint(format!("use `{newer}`"));
    }
    let word = entry.value.as_str().unwrap_or_default();
    if UNBOUNDED.contains(&(name, word)) {
        let message = format!("`{word}` leaves the agent without limits");
        findings
            .add(&UNBOUNDED_AGENT, entry.value.span, message)
            .hint("let the person who starts it choose such a mode");
    }
    if let Some(value) = agent.facts.value(name) {
        check_value(agent, value, &entry.value, findings);
    }
}

fn check_value(
    agent: &AuthoredAgent<'_>,
    value: &FieldValue,
    node: &TreeNode,
    findings: &mut Findings,
) {
    // An empty value has findings of its own where it matters.
    if node.value == TreeValue::Null || fits(value.kind, node) {
        return;
    }
    // The metadata of Pi is text; only words can be wrong.
    let (name, title) = (value.name, agent.target.title);
    let message = match (value.kind, node.as_str()) {
        (ValueKind::Words(_), Some(word)) => format!("`{word}` is not a `{name}` of {title}"),
        (ValueKind::Count, _) => format!("`{name}` is not a whole number above zero"),
        _ => format!("`{name}` is {} and not {}", node.value.describe(), described(value.kind)),
    };
    let rule = if value.refuses { &REFUSED_VALUE } else { &IGNORED_VALUE };
    let near = suggestion(value.kind, node);
    let found = findings.add(rule, node.span, message);
    let parts = [near.as_ref().map(|(hint, _)| hint.clone()), Some(value.otherwise.to_owned())];
    let hints: Vec<String> = parts.into_iter().flatten().filter(|it| !it.is_empty()).collect();
    if !hints.is_empty() {
        found.hint(hints.join("; "));
    }
    if let Some((_, Some(word))) = near {
        found.fix(Fix::word(format!("write `{word}`"), node.span, word));
    }
}

/// A hint for an unknown word, and the suggested word.
fn suggestion(kind: ValueKind, node: &TreeNode) -> Option<(String, Option<&'static str>)> {
    let ValueKind::Words(words) = kind else { return None };
    let near = node.as_str().and_then(|word| nearest(word, words.iter().copied()));
    let all = || words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    Some(match near {
        Some(near) => (format!("did you mean `{near}`?"), Some(near)),
        None => (format!("use one of {}", all()), None),
    })
}

fn fits(kind: ValueKind, node: &TreeNode) -> bool {
    match (kind, &node.value) {
        (ValueKind::Any, _)
        | (ValueKind::Text | ValueKind::Names, TreeValue::Str(_))
        | (ValueKind::Names | ValueKind::List, TreeValue::List(_))
        | (ValueKind::Switch, TreeValue::Bool(_))
        | (ValueKind::Number, TreeValue::Int(_) | TreeValue::Float(_))
        | (ValueKind::Map, TreeValue::Map(_))
        // A plain text that looks like a number or a date is still a text to most harnesses.
        | (ValueKind::Text, TreeValue::Int(_) | TreeValue::Float(_) | TreeValue::Date(_)) => true,
        (ValueKind::Count, TreeValue::Int(count)) => *count > 0,
        (ValueKind::Words(words), TreeValue::Str(word)) => words.contains(&word.as_str()),
        (ValueKind::Form(fits, _), TreeValue::Str(text)) => fits(text),
        _ => false,
    }
}

fn described(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Any => "a value",
        ValueKind::Text => "a text",
        ValueKind::Switch => "`true` or `false`",
        ValueKind::Count => "a whole number above zero",
        ValueKind::Number => "a number",
        ValueKind::List => "a list",
        ValueKind::Names => "a list or a text with commas",
        ValueKind::Map => "a map",
        ValueKind::Words(_) => "one of its words",
        ValueKind::Form(_, form) => form,
    }
}

fn unknown(agent: &AuthoredAgent<'_>, entry: &TreeEntry, findings: &mut Findings) {
    let (name, span) = (entry.key.text.as_str(), entry.key.span);
    let title = agent.target.title;
    let effect = agent.facts.unknown_field;
    let other = others(agent.target).find(|target| knows_field(target, name));
    // A field of another harness may be near to one of this harness by chance, and `allowedTools` is near to
    // its opposite.
    let is_slip = other.is_none() && !restricts(name);
    let slip = || is_slip.then(|| nearest_field(agent.target, name)).flatten();
    let near = respelt(agent.target, name).or_else(slip);
    if let Some(near) = near.filter(|near| agent.entry(near).is_none()) {
        let message = format!("`{name}` is not a field of {title}");
        let found = findings.add(&MISSPELT_FIELD, span, message);
        found.hint(format!("did you mean `{near}`?"));
        found.fix(Fix::word(format!("write `{near}`"), span, near));
        if effect == UnknownFieldEffect::Refused {
            found.severity = Severity::Error;
        }
        return;
    }
    let is_refused = match effect {
        UnknownFieldEffect::Refused => true,
        UnknownFieldEffect::RefusedIfUnknown => other.is_some() && restricts(name),
        UnknownFieldEffect::Ignored | UnknownFieldEffect::Sent => false,
    };
    if is_refused {
        let message = format!("`{name}` is not a field of {title}");
        let found = findings.add(&UNKNOWN_FIELD, span, message);
        found.hint(format!("remove it: {title} does not load an agent with it"));
        found.severity = Severity::Error;
    } else if restricts(name) {
        let message = format!("`{name}` restricts nothing: {title} has no such field");
        findings.add(&IGNORED_RESTRICTION, span, message).hint_opt(instead(agent.target));
    } else if effect == UnknownFieldEffect::Sent {
        let message =
            format!("`{name}` is not a field of {title}, which sends it to the model provider");
        findings
            .add(&UNKNOWN_FIELD, span, message)
            .hint("remove it, or write it below `options` if the provider knows it");
    } else if let Some(other) = other.filter(|_| EFFECTS.contains(&name)) {
        let message = format!("`{name}` is a field of {}, and ignored by {title}", other.title);
        findings.add(&FOREIGN_FIELD, span, message);
    }
}

/// How this harness restricts an agent.
fn instead(target: &Target) -> Option<String> {
    let hint = match target.name {
        "claude-code" => "use `tools` or `disallowedTools`",
        "opencode" => "use `permission`",
        "pi" | "gemini" | "copilot" => "use `tools`",
        "cursor" => "Cursor has `readonly`, and rules in `.cursor/cli.json`",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn others(target: &Target) -> impl Iterator<Item = &'static Target> {
    let name = target.name;
    let all = TARGETS.iter().copied();
    all.filter(move |other| other.name != name && other.authoring.is_some())
}

/// The letters of a name, without the signs and capitals that separate its words.
fn bare(name: &str) -> String {
    name.replace(['-', '_'], "").to_lowercase()
}

/// Whether a field is meant to restrict an agent, however its words are separated.
fn restricts(name: &str) -> bool {
    RESTRICTIONS.iter().any(|known| bare(known) == bare(name))
}

/// The field with the same words in another spelling: `max_turns` for `maxTurns`.
fn respelt(target: &Target, name: &str) -> Option<&'static str> {
    field_names(target).find(|known| bare(known) == bare(name))
}

/// Suggests a field with a similar name. Only in longer names is a typing error certain.
fn nearest_field(target: &Target, name: &str) -> Option<&'static str> {
    let long = name.chars().count() >= 5;
    nearest(name, field_names(target)).filter(|near| long && near.chars().count() >= 5)
}
