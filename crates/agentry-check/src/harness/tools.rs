//! AG7041 to AG7050: the tools of an agent.

use std::collections::HashSet;

use agentry_policy::Section;
use agentry_targets::{IMPORT_ONLY, TARGETS, Target, ToolFacts};
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, LintRule, RuleExample, Severity, Span, Spanned, TreeValue};

use super::agent::{AuthoredAgent, items};

pub(super) const RULES: &[&LintRule] = &[
    &UNKNOWN_TOOL,
    &MISSPELT_TOOL,
    &FOREIGN_TOOL,
    &TOOL_PATTERN,
    &REMOVED_BY_PATTERN,
    &TOOL_BOTH_WAYS,
    &TOOL_TWICE,
    &EMPTY_TOOLS,
    &MAIN_ONLY_TOOL,
    &SERVER_TOOL_NAME,
];

pub(super) static UNKNOWN_TOOL: LintRule = LintRule {
    code: "AG7041",
    name: "harness-unknown-tool",
    severity: Severity::Warning,
    why: "Claude Code drops names of tools that it does not know, so the agent works without them. Gemini \
          CLI rejects the whole agent.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, Browser\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, WebFetch\n---\nYou answer questions.\n",
    ),
};

pub(super) static MISSPELT_TOOL: LintRule = LintRule {
    code: "AG7042",
    name: "harness-misspelt-tool",
    severity: Severity::Warning,
    why: "Names of tools are compared letter by letter, upper and lower case included. The agent does not \
          get a tool whose name is misspelt.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, WebFetsh\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, WebFetch\n---\nYou answer questions.\n",
    ),
};

pub(super) static FOREIGN_TOOL: LintRule = LintRule {
    code: "AG7043",
    name: "harness-foreign-tool",
    severity: Severity::Warning,
    why: "Every harness has its own names for the same tools. An agent that was copied from another \
          harness does not get a tool by the old name.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, run_shell_command\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, Bash\n---\nYou answer questions.\n",
    ),
};

pub(super) static TOOL_PATTERN: LintRule = LintRule {
    code: "AG7044",
    name: "harness-tool-pattern",
    severity: Severity::Warning,
    why: "`tools: Bash(git *)` gives the agent the whole `Bash` in Claude Code. A pattern works only in \
          the permission rules of the settings, which hold for all agents.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, Bash(git log *)\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, Bash\n---\nYou answer questions.\n",
    ),
};

pub(super) static REMOVED_BY_PATTERN: LintRule = LintRule {
    code: "AG7045",
    name: "harness-removed-by-pattern",
    severity: Severity::Warning,
    why: "`disallowedTools: Bash(rm *)` removes the whole `Bash` in Claude Code, not only the commands \
          that the pattern names.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ndisallowedTools: Bash(rm *)\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ndisallowedTools: Bash\n---\nYou answer questions.\n",
    ),
};

pub(super) static TOOL_BOTH_WAYS: LintRule = LintRule {
    code: "AG7046",
    name: "harness-tool-both-ways",
    severity: Severity::Warning,
    why: "A tool that is in `tools` and in `disallowedTools` is removed: Claude Code applies the second \
          list first.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, Bash\ndisallowedTools: Bash\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read\n---\nYou answer questions.\n",
    ),
};

pub(super) static TOOL_TWICE: LintRule = LintRule {
    code: "AG7047",
    name: "harness-tool-twice",
    severity: Severity::Note,
    why: "The second entry changes nothing. It often stands where another tool was meant.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, Grep, Read\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, Grep\n---\nYou answer questions.\n",
    ),
};

pub(super) static EMPTY_TOOLS: LintRule = LintRule {
    code: "AG7048",
    name: "harness-empty-tools",
    severity: Severity::Warning,
    why: "An empty list is not the same as no list. Without `tools` an agent has all of them; with an \
          empty list it has none in Pi, Gemini CLI and Copilot, and does not start in Claude Code.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools:\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read\n---\nYou answer questions.\n",
    ),
};

pub(super) static MAIN_ONLY_TOOL: LintRule = LintRule {
    code: "AG7049",
    name: "harness-main-only-tool",
    severity: Severity::Note,
    why: "Claude Code never gives `AskUserQuestion` to a subagent, and honours the list in `Agent(a, b)` \
          only for the agent of the main session.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, AskUserQuestion\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read\n---\nYou answer questions.\n",
    ),
};

pub(super) static SERVER_TOOL_NAME: LintRule = LintRule {
    code: "AG7050",
    name: "harness-server-tool-name",
    severity: Severity::Warning,
    why: "Claude Code calls a tool of an MCP server `mcp__SERVER__TOOL`, with two underscores each. \
          Another spelling names no tool, and the agent works without it.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, mcp_github_search\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read, mcp__github__search\n---\nYou answer questions.\n",
    ),
};

/// Tools that only the agent of the main session gets.
const MAIN_ONLY: &str = "AskUserQuestion";

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let Some(facts) = agent.facts.tools else { return };
    let listed = list(agent, "tools", &facts, findings);
    let removed_field = facts.removed.map(|(field, _)| field);
    let removed = removed_field.map(|field| list(agent, field, &facts, findings));
    let removed: HashSet<&str> =
        removed.iter().flatten().map(|entry| bare(entry.value)).collect();
    for entry in listed.iter().filter(|entry| removed.contains(bare(entry.value))) {
        let message = format!("`{}` is also removed", bare(entry.value));
        findings.add(&TOOL_BOTH_WAYS, entry.span, message).hint("keep it in one of the two lists");
    }
    if agent.target.name == "claude-code" {
        main_only(&listed, findings);
    }
}

/// Checks one list of tools and returns its entries.
fn list<'a>(
    agent: &AuthoredAgent<'a>,
    field: &str,
    facts: &ToolFacts,
    findings: &mut Findings,
) -> Vec<Spanned<&'a str>> {
    let Some(entry) = agent.entry(field) else { return Vec::new() };
    // A list in brackets that was read as a text has a finding of its own.
    if entry.value.as_str().is_some_and(|text| text.starts_with('[')) {
        return Vec::new();
    }
    let entries = match &entry.value.value {
        // OpenCode has a map of switches.
        TreeValue::Map(map) => {
            map.entries.iter().map(|it| Spanned::new(it.key.text.as_str(), it.key.span)).collect()
        }
        _ => items(&entry.value),
    };
    let is_text = matches!(entry.value.value, TreeValue::Str(_) | TreeValue::List(_) | TreeValue::Null);
    if entries.is_empty() && is_text && field == "tools" {
        findings.add(&EMPTY_TOOLS, entry.key.span, "the list of tools is empty").hint(facts.empty);
    }
    let mut seen = HashSet::new();
    for entry in &entries {
        if !seen.insert(entry.value) {
            let message = format!("`{}` is listed twice", entry.value);
            findings.add(&TOOL_TWICE, entry.span, message);
        }
        pattern(*entry, field, facts, findings);
        name(agent.target, bare(entry.value), entry.span, facts, findings);
    }
    entries
}

/// The name of a tool without its pattern.
fn bare(entry: &str) -> &str {
    entry.split('(').next().unwrap_or(entry).trim()
}

fn pattern(entry: Spanned<&str>, field: &str, facts: &ToolFacts, findings: &mut Findings) {
    let only = entry.value.split_once('(').map(|(_, rest)| rest.trim_end_matches(')').trim());
    let Some(only) = only.filter(|only| !only.is_empty() && *only != "*") else { return };
    let name = bare(entry.value);
    // A list of agents is honoured for the main session.
    if matches!(name, "Agent" | "Task") && field == "tools" {
        return;
    }
    match (facts.removed, facts.pattern) {
        (Some((removed, effect)), _) if removed == field => {
            let message = format!("`({only})` does not limit what is removed");
            findings.add(&REMOVED_BY_PATTERN, entry.span, message).hint(effect);
        }
        (_, Some(effect)) => {
            let message = format!("`({only})` restricts nothing");
            findings.add(&TOOL_PATTERN, entry.span, message).hint(effect);
        }
        _ => {}
    }
}

fn main_only(listed: &[Spanned<&str>], findings: &mut Findings) {
    for entry in listed {
        let name = bare(entry.value);
        if name == MAIN_ONLY {
            let message = format!("a subagent never gets `{MAIN_ONLY}`");
            findings.add(&MAIN_ONLY_TOOL, entry.span, message);
        } else if matches!(name, "Agent" | "Task") && entry.value.contains('(') {
            let message = "a subagent may start other agents than these".to_owned();
            findings.add(&MAIN_ONLY_TOOL, entry.span, message);
        }
    }
}

/// Reports the name of a tool that the harness does not have.
pub(super) fn name(
    target: &Target,
    name: &str,
    span: Span,
    facts: &ToolFacts,
    findings: &mut Findings,
) {
    let names = (facts.names)();
    let is_same = |known: &str| {
        known == name || (facts.ignores_case && known.eq_ignore_ascii_case(name))
    };
    if name.is_empty() || names.iter().any(|(known, _)| is_same(known)) {
        return;
    }
    let title = target.title;
    let is_server = target.name == "claude-code" && name.starts_with("mcp") && !name.contains("__");
    if is_server && name != "mcp" {
        let message = format!("`{name}` is not the name of a tool of an MCP server");
        findings.add(&SERVER_TOOL_NAME, span, message).hint("write `mcp__SERVER__TOOL`");
        return;
    }
    if (facts.is_foreign)(name) {
        return;
    }
    let message = format!("`{name}` is not a tool of {title}");
    // A tool of another harness is not misspelt, even if its name is near.
    let section = elsewhere(target, name);
    let same_word = names.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let (rule, near) = match (same_word, section) {
        (Some((known, _)), _) => (&MISSPELT_TOOL, Some(*known)),
        (None, Some(section)) => (&FOREIGN_TOOL, here(&names, section)),
        (None, None) => (&MISSPELT_TOOL, nearest(name, names.iter().map(|(known, _)| *known))),
    };
    let unsure = near.is_none() && !facts.is_complete;
    if unsure {
        return;
    }
    let rule = if near.is_none() { &UNKNOWN_TOOL } else { rule };
    let found = findings.add(rule, span, message);
    found.hint(match near {
        Some(near) if *rule == FOREIGN_TOOL => format!("here it is `{near}`; {}", facts.unknown),
        Some(near) => format!("did you mean `{near}`? {}", facts.unknown),
        None => facts.unknown.to_owned(),
    });
    if let Some(near) = near.filter(|_| span.range().len() == name.len()) {
        found.fix(Fix::unsafe_(format!("write `{near}`"), span, near));
    }
    if facts.refuses {
        found.severity = Severity::Error;
    }
}

/// The section of a tool in another harness.
fn elsewhere(target: &Target, name: &str) -> Option<Section> {
    let others = TARGETS.iter().chain(IMPORT_ONLY).filter(|other| other.name != target.name);
    others.filter_map(|other| other.authoring?.tools).find_map(|tools| {
        let names = (tools.names)();
        names.into_iter().find(|(known, _)| *known == name).and_then(|(_, section)| section)
    })
}

/// The first tool of a section here.
fn here(
    names: &[(&'static str, Option<Section>)],
    section: Section,
) -> Option<&'static str> {
    names.iter().find(|(_, other)| *other == Some(section)).map(|(name, _)| *name)
}

/// Whether a harness has a tool of that name, or may get it from a server.
pub(super) fn is_known(target: &Target, name: &str) -> bool {
    let facts = target.authoring.and_then(|facts| facts.tools);
    let name = bare(name);
    facts.is_some_and(|facts| {
        (facts.is_foreign)(name) || (facts.names)().iter().any(|(known, _)| *known == name)
    })
}

/// Whether a name looks like a tool of a server, rightly spelt or not.
pub(super) fn is_server_name(name: &str) -> bool {
    name.starts_with("mcp")
}
