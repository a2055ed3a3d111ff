//! Agents for the tests of single checks, and the findings of one check as text.

use agentry_formats::info;
use agentry_model::{Agent, Format, McpServer};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{Permissions, Section, SectionRules};
use agentry_text::{FileId, Findings, Span, Spanned};

use crate::{CheckSubject, RuleCheck};

/// A value whose span is a whole file.
pub(crate) fn text(value: &str) -> Spanned<String> {
    Spanned::new(value.to_owned(), Span::new(FileId(0), 0, value.len()))
}

/// Values, each with a span of a whole file.
pub(crate) fn texts(values: &[&str]) -> Vec<Spanned<String>> {
    values.iter().map(|value| text(value)).collect()
}

/// A value whose span does not matter.
pub(crate) fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId(0)))
}

/// An agent with one section of rules; the first text is the intent.
pub(crate) fn permissions(section: Section, rules: &[&str]) -> Agent {
    let (intent, rules) = rules.split_first().expect("an intent");
    let rule = |rule: &&str| Spanned::new(rule.parse().expect("a rule"), text(rule).span);
    let section = SectionRules {
        section: at(section),
        intent: Some(at(intent.parse().expect("an action"))),
        rules: rules.iter().map(rule).collect(),
    };
    let mut agent = Agent::default();
    agent.policy.permissions = Some(Permissions { sections: vec![section] });
    agent
}

/// An agent with one MCP server that is a program.
pub(crate) fn program(command: &str, args: &[&str]) -> Agent {
    let server = McpServer {
        name: "search".to_owned(),
        command: Some(text(command)),
        args: Some(texts(args)),
        ..McpServer::default()
    };
    with_server(server)
}

/// An agent with one MCP server that is an address.
pub(crate) fn address(url: &str) -> Agent {
    with_server(McpServer { url: Some(text(url)), ..McpServer::default() })
}

fn with_server(server: McpServer) -> Agent {
    let mut agent = Agent::default();
    agent.tools.mcp = Some(vec![at(server)]);
    agent
}

/// Returns the findings of one check as `start..end message`.
pub(crate) fn found(check: &RuleCheck, agent: &Agent, format: Format) -> Vec<String> {
    let mut findings = Findings::default();
    let memo = &PolicyMemo::default();
    (check.check)(&CheckSubject { agent, format: info(format), memo }, &mut findings);
    let line = |found: &agentry_text::Diagnostic| {
        assert_eq!(found.rule, check.rule);
        format!("{}..{} {}", found.span.start, found.span.end, found.message)
    };
    findings.into_sorted().iter().map(line).collect()
}

/// Counts the findings of a check.
pub(crate) fn count(check: &RuleCheck, agent: &Agent) -> usize {
    found(check, agent, "agent-toml".parse().expect("a format")).len()
}
