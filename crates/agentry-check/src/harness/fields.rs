//! AG7010 to AG7019: fields and values that a harness does not take.

use agentry_targets::{FieldValue, IMPORT_ONLY, TARGETS, Target, UnknownFieldEffect, ValueKind};
use agentry_text::suggestion::nearest;
use agentry_text::{
    Findings, Fix, LintRule, RuleExample, Severity, TreeEntry, TreeNode, TreeValue,
};

use super::agent::{AgentOrigin, AuthoredAgent, field_names, knows_field};

pub(super) const RULES: &[&LintRule] = &[
    &UNKNOWN_FIELD,
    &MISSPELT_FIELD,
    &IGNORED_RESTRICTION,
    &FOREIGN_FIELD,
    &REFUSED_VALUE,
    &IGNORED_VALUE,
    &PLUGIN_FIELD,
    &UNBOUNDED_AGENT,
    &OLD_FIELD,
];

pub(super) static UNKNOWN_FIELD: LintRule = LintRule {
    code: "AG7010",
    name: "harness-unknown-field",
    severity: Severity::Warning,
    why: "Gemini CLI rejects an agent with a field that it does not know, and Codex ignores it. OpenCode \
          sends the field to the model provider as an option, which may refuse the request.",
    bad: RuleExample::File(
        ".gemini/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\nteam: support\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".gemini/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

pub(super) static MISSPELT_FIELD: LintRule = LintRule {
    code: "AG7011",
    name: "harness-misspelt-field",
    severity: Severity::Warning,
    why: "Most harnesses ignore a field that they do not know, without a message. A misspelt list of \
          tools restricts nothing, and a misspelt limit limits nothing.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ndisalowedTools: Bash\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ndisallowedTools: Bash\n---\nYou answer questions.\n",
    ),
};

pub(super) static IGNORED_RESTRICTION: LintRule = LintRule {
    code: "AG7012",
    name: "harness-ignored-restriction",
    severity: Severity::Warning,
    why: "The field restricts an agent in another harness; this one does not read it. The author thinks \
          that the agent is limited, and it is not.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\npermission: {bash: deny}\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ndisallowedTools: Bash\n---\nYou answer questions.\n",
    ),
};

pub(super) static FOREIGN_FIELD: LintRule = LintRule {
    code: "AG7013",
    name: "harness-foreign-field",
    severity: Severity::Note,
    why: "The field means something in another harness and nothing in this one, so what it sets here is \
          ignored.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntemperature: 0.2\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

pub(super) static REFUSED_VALUE: LintRule = LintRule {
    code: "AG7014",
    name: "harness-refused-value",
    severity: Severity::Error,
    why: "With a value of the wrong kind OpenCode does not start at all, Gemini CLI rejects the agent, and \
          Codex ignores it.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nmode: sub-agent\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nmode: subagent\n---\nYou answer questions.\n",
    ),
};

pub(super) static IGNORED_VALUE: LintRule = LintRule {
    code: "AG7015",
    name: "harness-ignored-value",
    severity: Severity::Warning,
    why: "Claude Code ignores a value that it does not know, without a message: an unknown permission mode \
          or a turn limit below one has no effect.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\npermissionMode: readonly\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\npermissionMode: plan\n---\nYou answer questions.\n",
    ),
};

pub(super) static PLUGIN_FIELD: LintRule = LintRule {
    code: "AG7017",
    name: "harness-plugin-field",
    severity: Severity::Warning,
    why: "Claude Code ignores `hooks`, `mcpServers` and `permissionMode` of an agent that comes with a \
          plugin. A plugin declares hooks and servers in its own files.",
    bad: RuleExample::File(
        "plugins/support/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\npermissionMode: plan\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        "plugins/support/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read\n---\nYou answer questions.\n",
    ),
};

pub(super) static UNBOUNDED_AGENT: LintRule = LintRule {
    code: "AG7018",
    name: "harness-unbounded-agent",
    severity: Severity::Warning,
    why: "The agent does everything without a question and without a sandbox, on every machine that \
          checks out the repository. Such a choice belongs to the person who starts it.",
    bad: RuleExample::File(
        ".codex/agents/helper.toml",
        "name = \"helper\"\ndescription = \"Answers questions about the build\"\ndeveloper_instructions = \"You answer questions.\"\nsandbox_mode = \"danger-full-access\"\n",
    ),
    good: RuleExample::File(
        ".codex/agents/helper.toml",
        "name = \"helper\"\ndescription = \"Answers questions about the build\"\ndeveloper_instructions = \"You answer questions.\"\nsandbox_mode = \"workspace-write\"\n",
    ),
};

pub(super) static OLD_FIELD: LintRule = LintRule {
    code: "AG7019",
    name: "harness-old-field",
    severity: Severity::Note,
    why: "The harness still reads the field, and its documentation names another one for new files.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nmaxSteps: 20\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nsteps: 20\n---\nYou answer questions.\n",
    ),
};

/// Fields that restrict an agent in some harness.
const RESTRICTIONS: &[&str] = &[
    "tools",
    "allowed-tools",
    "allowedTools",
    "allowed_tools",
    "disallowedTools",
    "disallowed-tools",
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
    let is_this = |(harness, old, _): &&(&str, &str, &str)| {
        *harness == agent.target.name && *old == name
    };
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
        found.fix(Fix::unsafe_(format!("write `{word}`"), node.span, word));
    }
}

/// A hint for a word that does not exist, and the word that was meant.
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
        | (ValueKind::Map, TreeValue::Map(_)) => true,
        // A plain text that looks like a number or a date is still a text to most harnesses.
        (ValueKind::Text, TreeValue::Int(_) | TreeValue::Float(_) | TreeValue::Date(_)) => true,
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
    // A field of another harness may be near to one of this harness by chance, and is not misspelt.
    let other = others(agent.target).find(|target| knows_field(target, name));
    let near = other.is_none().then(|| nearest_field(agent.target, name)).flatten();
    if let Some(near) = near.filter(|near| agent.entry(near).is_none()) {
        let message = format!("`{name}` is not a field of {title}");
        let found = findings.add(&MISSPELT_FIELD, span, message);
        found.hint(format!("did you mean `{near}`?"));
        found.fix(Fix::unsafe_(format!("write `{near}`"), span, near));
        if effect == UnknownFieldEffect::Refused {
            found.severity = Severity::Error;
        }
        return;
    }
    let is_refused = match effect {
        UnknownFieldEffect::Refused => true,
        UnknownFieldEffect::RefusedIfUnknown => other.is_some() && RESTRICTIONS.contains(&name),
        UnknownFieldEffect::Ignored | UnknownFieldEffect::Sent => false,
    };
    if is_refused {
        let message = format!("`{name}` is not a field of {title}");
        let found = findings.add(&UNKNOWN_FIELD, span, message);
        found.hint(format!("remove it: {title} does not load an agent with it"));
        found.severity = Severity::Error;
    } else if RESTRICTIONS.contains(&name) {
        let message = format!("`{name}` restricts nothing: {title} has no such field");
        findings.add(&IGNORED_RESTRICTION, span, message).hint_opt(instead(agent.target));
    } else if effect == UnknownFieldEffect::Sent {
        let message = format!("`{name}` is not a field of {title}, which sends it to the model provider");
        findings.add(&UNKNOWN_FIELD, span, message).hint("remove it");
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
    let all = TARGETS.iter().chain(IMPORT_ONLY).copied();
    all.filter(move |other| other.name != name && other.authoring.is_some())
}

/// Returns the field that was probably meant.
fn nearest_field(target: &Target, name: &str) -> Option<&'static str> {
    // A different spelling of the same words is certain; a typing error only in longer names.
    let bare = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    let same = field_names(target).find(|known| bare(known) == bare(name));
    same.or_else(|| {
        let long = name.chars().count() >= 5;
        nearest(name, field_names(target)).filter(|near| long && near.chars().count() >= 5)
    })
}
