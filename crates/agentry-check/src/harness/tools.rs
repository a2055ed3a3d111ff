//! AG7041 to AG7050: the tools of an agent.

use std::collections::HashSet;

use agentry_policy::Section;
use agentry_targets::{TARGETS, Target, ToolFacts};
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, LintRule, Severity, Span, Spanned, TreeNode, TreeValue, rules};

use super::agent::{AuthoredAgent, items};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        UNKNOWN_TOOL: "AG7041",
        MISSPELT_TOOL: "AG7042",
        FOREIGN_TOOL: "AG7043",
        TOOL_PATTERN: "AG7044",
        REMOVED_BY_PATTERN: "AG7045",
        TOOL_BOTH_WAYS: "AG7046",
        TOOL_TWICE: "AG7047",
        EMPTY_TOOLS: "AG7048",
        MAIN_ONLY_TOOL: "AG7049",
        SERVER_TOOL_NAME: "AG7050",
    ]
}

/// Tools that only the agent of the main session gets.
const MAIN_ONLY: &str = "AskUserQuestion";

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let Some(facts) = agent.facts.tools else { return };
    let listed = list(agent, "tools", &facts, findings);
    let removed_field = facts.removed.map(|(field, _)| field);
    let removed = removed_field.map(|field| list(agent, field, &facts, findings));
    let removed: HashSet<&str> = removed.iter().flatten().map(|entry| bare(entry.value)).collect();
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
    let is_flow = entry.value.as_str().is_some_and(|text| text.starts_with('['));
    if is_flow || field == "tools" && all_tools(agent.target, &entry.value, facts, findings) {
        return Vec::new();
    }
    let entries = match &entry.value.value {
        // OpenCode has a map of switches.
        TreeValue::Map(map) => {
            map.entries.iter().map(|it| Spanned::new(it.key.text.as_str(), it.key.span)).collect()
        }
        _ => items(&entry.value),
    };
    let is_text =
        matches!(entry.value.value, TreeValue::Str(_) | TreeValue::List(_) | TreeValue::Null);
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

/// Reports a list that is a word for all tools, which is not the name of one. Returns whether it is.
fn all_tools(target: &Target, list: &TreeNode, facts: &ToolFacts, findings: &mut Findings) -> bool {
    let words = ["all", "all tools", "any", "everything", "inherit", "default"];
    let means_all = |text: &&str| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
    let Some(word) = list.as_str().filter(means_all).filter(|_| facts.is_complete) else {
        return false;
    };
    let message = format!("`{word}` is not a tool of {}", target.title);
    findings
        .add(&UNKNOWN_TOOL, list.span, message)
        .hint(format!("remove `tools`: without it the agent has all tools; {}", facts.unknown));
    true
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
fn name(target: &Target, name: &str, span: Span, facts: &ToolFacts, findings: &mut Findings) {
    let names = (facts.names)();
    let is_same =
        |known: &str| known == name || (facts.ignores_case && known.eq_ignore_ascii_case(name));
    if name.is_empty() || names.iter().any(|(known, _)| is_same(known)) {
        return;
    }
    if target.name == "claude-code" && is_server_name(name) && !name.contains("__") {
        let message = format!("`{name}` is not the name of a tool of an MCP server");
        findings.add(&SERVER_TOOL_NAME, span, message).hint("write `mcp__SERVER__TOOL`");
        return;
    }
    let (rule, near) = meant(target, name, &names);
    // An extension may have added a tool that another harness has as well.
    let is_unsure = near.is_none() || *rule == FOREIGN_TOOL;
    if (facts.is_foreign)(name) || (is_unsure && !facts.is_complete) {
        return;
    }
    let found = findings.add(rule, span, format!("`{name}` is not a tool of {}", target.title));
    found.hint(match near {
        Some(near) if *rule == FOREIGN_TOOL => format!("here it is `{near}`; {}", facts.unknown),
        Some(near) => format!("did you mean `{near}`? {}", facts.unknown),
        None => facts.unknown.to_owned(),
    });
    if let Some(near) = near.filter(|_| span.range().len() == name.len()) {
        found.fix(Fix::word(format!("write `{near}`"), span, near));
    }
    if facts.refuses {
        found.severity = Severity::Error;
    }
}

/// Names of tools, with the sections that decide about them.
type KnownTools = [(&'static str, Option<Section>)];

/// Returns the rule that an unknown name breaks, and a suggested tool.
fn meant(
    target: &Target,
    name: &str,
    names: &KnownTools,
) -> (&'static LintRule, Option<&'static str>) {
    let same = names.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    // A tool of another harness is not misspelt, even if its name is near.
    let (rule, near): (&LintRule, _) = match (same, elsewhere(target, name)) {
        (Some((known, _)), _) => (&MISSPELT_TOOL, Some(*known)),
        (None, Some(section)) => {
            (&FOREIGN_TOOL, alike(name, names).or_else(|| first_tool_of(names, section)))
        }
        (None, None) => (&MISSPELT_TOOL, nearest(name, names.iter().map(|(known, _)| *known))),
    };
    if near.is_none() { (&UNKNOWN_TOOL, None) } else { (rule, near) }
}

/// The section of a tool in another harness.
fn elsewhere(target: &Target, name: &str) -> Option<Section> {
    let others = TARGETS.iter().filter(|other| other.name != target.name);
    others.filter_map(|other| other.authoring?.tools).find_map(|tools| {
        let names = (tools.names)();
        names.into_iter().find(|(known, _)| *known == name).and_then(|(_, section)| section)
    })
}

/// Names of tools that do the same in different harnesses.
const ALIKE: &[&[&str]] = &[
    &["Grep", "grep", "grep_search", "search_file_content"],
    &["Glob", "glob", "find"],
    &["LS", "ls", "list", "list_directory"],
    &["Write", "write", "write_file"],
    &["WebSearch", "websearch", "web_search", "google_web_search"],
];

/// The tool here that does what a tool of another harness does.
fn alike(name: &str, names: &KnownTools) -> Option<&'static str> {
    let group = ALIKE.iter().find(|group| group.contains(&name))?;
    group.iter().copied().find(|tool| names.iter().any(|(known, _)| known == tool))
}

/// The first tool of a section here.
fn first_tool_of(names: &KnownTools, section: Section) -> Option<&'static str> {
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
    name.starts_with("mcp") && name.len() > 3
}
