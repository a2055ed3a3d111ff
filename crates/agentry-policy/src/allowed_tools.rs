//! `allowed_tools` of a script or a skill, as a layer that applies only to the calls inside it.
//!
//! A name stands for a whole section (`Read`), a part of one (`Bash(git log:*)`), a tool of an MCP server
//! (`mcp__github__search`) or a tool of the agent itself. Everything else is denied.

use agentry_text::Spanned;

use crate::tool_permissions::section_of;
use crate::{
    Action, LayerSource, PathAnchors, Pattern, PolicyLayer, PolicyRule, RuleList, Section,
};

/// Other tools that only do what a section is about. Which of them may be called is decided by their names.
const OTHER_TOOLS: &[(&str, Section)] = &[
    ("Grep", Section::Read),
    ("Glob", Section::Read),
    ("List", Section::Read),
    ("LS", Section::Read),
    ("apply_patch", Section::Edit),
    ("MultiEdit", Section::Edit),
];

/// Makes the layer that allows the named tools and denies everything else.
pub fn allowed_tools(names: &[Spanned<String>], places: &PathAnchors) -> PolicyLayer {
    let sections = Section::ALL.iter().map(|section| {
        let rules = names.iter().filter_map(|name| {
            let pattern = pattern(*section, &name.value)?;
            Some(PolicyRule {
                pattern: Pattern::new(section.kind(), &pattern, Action::Allow, places),
                action: Action::Allow,
                text: format!("allowed_tools: {}", name.value),
                span: name.span.is_written().then_some(name.span),
            })
        });
        let intent = PolicyRule {
            pattern: Pattern::new(section.kind(), "**", Action::Deny, places),
            action: Action::Deny,
            text: "not among the allowed tools".to_owned(),
            span: None,
        };
        RuleList { section: *section, rules: rules.collect(), intent }
    });
    PolicyLayer { source: LayerSource::AllowedTools, sections: sections.collect() }
}

/// Returns the pattern that a name allows in a section.
fn pattern(section: Section, name: &str) -> Option<String> {
    let (tool, part) = match name.trim().strip_suffix(')').and_then(|name| name.split_once('(')) {
        Some((tool, part)) => (tool.trim(), Some(part.trim())),
        None => (name.trim(), None),
    };
    let named = |(name, _): &&(&str, Section)| name.eq_ignore_ascii_case(tool);
    let other_tool = OTHER_TOOLS.iter().find(named).map(|(_, section)| *section);
    match (section_of(tool).or(other_tool), part) {
        (Some(of), _) if of != section => None,
        (Some(_), None | Some("" | "*" | "**")) => Some("**".to_owned()),
        (Some(Section::Bash), Some(part)) => Some(part.replace(":*", " *")),
        (Some(Section::Webfetch), Some(part)) => {
            Some(part.strip_prefix("domain:").unwrap_or(part).to_owned())
        }
        (Some(_), Some(part)) => Some(part.to_owned()),
        // The meaning of `(…)` is unknown for a tool that has no section.
        (None, Some(_)) => None,
        (None, None) => other(section, tool),
    }
}

/// Returns the pattern for a tool of an MCP server, or for one of the agent itself.
fn other(section: Section, tool: &str) -> Option<String> {
    let server = tool.strip_prefix("mcp__").map(|rest| match rest.split_once("__") {
        Some((server, tool)) => format!("{server}/{tool}"),
        None => format!("{rest}/**"),
    });
    match (section, server) {
        (Section::Mcp, Some(server)) => Some(server),
        (Section::Mcp, None) if tool.contains('/') => Some(tool.to_owned()),
        (Section::Tool, None) if !tool.contains('*') => Some(tool.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use agentry_text::{FileId, Span};

    use super::*;
    use crate::path::NoLinks;
    use crate::{Judge, SectionCall};

    #[test]
    fn only_listed_tools_are_allowed() {
        let names =
            ["Read", "Bash(git log:*)", "mcp__github__search", "WebFetch(domain:docs.rs)", "lint"];
        let spanned = |name: &&str| Spanned::new((*name).to_owned(), Span::start_of(FileId(0)));
        let names: Vec<_> = names.iter().map(spanned).collect();
        let places = PathAnchors::default();
        let judge = Judge::new(vec![allowed_tools(&names, &places)], places);
        let cases = [
            (Section::Read, "src/main.rs", Action::Allow),
            (Section::Edit, "src/main.rs", Action::Deny),
            (Section::Bash, "git log -5", Action::Allow),
            (Section::Bash, "git logs", Action::Deny),
            (Section::Bash, "git log; rm x", Action::Deny),
            (Section::Mcp, "github/search", Action::Allow),
            (Section::Mcp, "github/delete", Action::Deny),
            (Section::Webfetch, "https://docs.rs/x", Action::Allow),
            (Section::Webfetch, "https://example.org/", Action::Deny),
            (Section::Tool, "lint", Action::Allow),
            (Section::Tool, "format", Action::Deny),
            (Section::Question, "why?", Action::Deny),
        ];
        let grep = Spanned::new("grep".to_owned(), Span::start_of(FileId(0)));
        let places = PathAnchors::default();
        let searching = Judge::new(vec![allowed_tools(&[grep], &places)], places);
        let call =
            SectionCall { section: Section::Read, subject: "src/*", directory: "/workspace" };
        assert_eq!(searching.judge(call, &NoLinks).action, Action::Allow);
        for (section, subject, expected) in cases {
            let call = SectionCall { section, subject, directory: "/workspace" };
            assert_eq!(judge.judge(call, &NoLinks).action, expected, "{section} {subject}");
        }
    }

    #[test]
    fn allowed_tools_never_exceed_the_agent_policy() {
        let places = PathAnchors::default();
        let read = Spanned::new("Read".to_owned(), Span::start_of(FileId(0)));
        let agent = Judge::new(vec![allowed_tools(&[], &places)], places.clone());
        let inside = agent.narrowed(allowed_tools(&[read], &places));
        let call = SectionCall { section: Section::Read, subject: "x", directory: "/workspace" };
        assert_eq!(inside.judge(call, &NoLinks).action, Action::Deny);
    }

    /// A section without rules asks by default, and a list of tools does not change that.
    #[test]
    fn allowed_tools_grant_nothing() {
        let places = PathAnchors::default();
        let tools = ["Write", "Bash", "WebFetch"]
            .map(|name| Spanned::new(name.to_owned(), Span::start_of(FileId(0))));
        let silent = Judge::new(Vec::new(), places.clone());
        let inside = silent.narrowed(allowed_tools(&tools, &places));
        let cases = [
            (Section::Edit, "x"),
            (Section::Bash, "make"),
            (Section::Webfetch, "https://example.org/"),
        ];
        for (section, subject) in cases {
            let call = SectionCall { section, subject, directory: "/workspace" };
            assert_eq!(inside.judge(call, &NoLinks).action, Action::Ask, "{section}");
        }
    }
}
