//! AG7001 to AG7009: the metadata of an agent file as a whole.

use agentry_targets::MetadataSyntax;
use agentry_text::{Findings, SourceFile, Span, TreeValue, markdown, rules};

use super::agent::{AgentOrigin, AuthoredAgent};
use super::document::HarnessDocument;

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        NO_METADATA: "AG7001",
        BROKEN_METADATA: "AG7002",
        UNQUOTED_VALUE: "AG7003",
        NOT_FIELDS: "AG7004",
        REPEATED_KEY: "AG7005",
        BYTE_ORDER_MARK: "AG7006",
        DASHES_IN_METADATA: "AG7007",
        MISSING_FIELD: "AG7008",
        NO_INSTRUCTIONS: "AG7009",
    ]
}

/// Reports a file that its harness does not load for want of metadata. Returns whether there is metadata.
pub(super) fn check_presence(
    agent: &AuthoredAgent<'_>,
    document: &HarnessDocument,
    findings: &mut Findings,
) -> bool {
    // The mark comes first, because Pi sees no metadata behind it.
    if agent.source.had_mark && agent.facts.syntax == MetadataSyntax::Lines {
        findings
            .add(&BYTE_ORDER_MARK, agent.start, "a byte order mark hides the metadata from Pi")
            .hint("save the file as UTF-8 without a byte order mark");
    }
    if document.has_metadata {
        dashes(agent, findings);
        return true;
    }
    let opened = agent.source.text.trim_start().starts_with("---");
    if is_fenced(&agent.source.text) {
        let effect = agent.facts.without_metadata.unwrap_or("its fields have no effect");
        findings
            .add(&NO_METADATA, agent.start, "the metadata stands in a code fence")
            .hint(format!("remove the fence above `---`; {effect}"));
    } else if let Some(effect) = agent.facts.without_metadata.filter(|_| !opened) {
        findings
            .add(&NO_METADATA, agent.start, "the file has no metadata")
            .hint(format!("start it with `---`, `name: …`, `description: …`, `---`; {effect}"));
    }
    false
}

/// Whether a file starts with a code fence around its metadata, as assistants like to write it.
fn is_fenced(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut first = lines.next();
    let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
    if !first.is_some_and(is_fence) {
        return false;
    }
    while first.is_some_and(is_fence) {
        first = lines.next();
    }
    first == Some("---")
}

/// Reports `---` inside the metadata of a Claude Code agent.
fn dashes(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    if agent.target.name != "claude-code" {
        return;
    }
    let Some(range) = markdown::parts(agent.source).metadata else { return };
    let text = agent.source.text.get(range.clone()).unwrap_or_default();
    // A comment of dashes alone is as bad as a value with them.
    if let Some(at) = text.find("---") {
        let span = Span::new(agent.source.id, range.start + at, range.start + at + 3);
        findings
            .add(&DASHES_IN_METADATA, span, "the metadata ends at these dashes")
            .hint("Claude Code ends it at the first `---`; write another sign, such as a comma");
    }
}

/// Reports fields that the harness needs, and instructions that are missing.
pub(super) fn check_required(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    for required in agent.facts.required {
        let node = agent.node(required);
        // An empty description has a finding of its own.
        let is_there = node.is_some_and(|node| node.value != TreeValue::Null);
        if is_there || (node.is_some() && *required == "description") {
            continue;
        }
        let span = agent.entry(required).map_or(agent.start, |entry| entry.key.span);
        let message = format!("`{required}` is missing");
        findings.add(&MISSING_FIELD, span, message).hint(agent.facts.without_required);
    }
    let is_toml = agent.facts.syntax == MetadataSyntax::Toml;
    if agent.prompt.is_none() && agent.origin != AgentOrigin::Settings && !is_toml {
        findings
            .add(&NO_INSTRUCTIONS, end_of(agent.source), "the agent has no instructions")
            .hint("write below the metadata what it is to do and how");
    }
}

fn end_of(source: &SourceFile) -> Span {
    let end = source.text.trim_end().len();
    Span::new(source.id, end.saturating_sub(3), end)
}
