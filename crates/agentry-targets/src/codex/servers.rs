//! The MCP tools in an agent file that surely exist. Codex asks about some of them, so all count as asked.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;

use crate::encoding::{EncodedRule, MatchBounds, MatchOrder, RuleEncoding};
use crate::front_matter::list_items;
use crate::model::escape;

/// Returns rules for the tools, of which the first match counts; all other tools are denied.
pub(super) fn rules(servers: &Data) -> Vec<PatternRule> {
    let Data::Map(servers) = servers else { return Vec::new() };
    let rule = |server: &str, tool: &str, action| PatternRule {
        pattern: format!("{server}/{tool}"),
        action,
    };
    let mut out = Vec::new();
    for (name, server) in servers {
        let list = |key: &str| server.get(key).map(|list| list_items(list).unwrap_or_default());
        let plain = |text: &str| !text.contains(['*', '?', '/']);
        if server.get("enabled") == Some(&Data::Bool(false)) || !plain(name) {
            continue;
        }
        let removed = list("disabled_tools").unwrap_or_default();
        out.extend(removed.iter().map(|tool| rule(name, tool, Action::Deny)));
        let given = list("enabled_tools").unwrap_or_else(|| vec!["*".to_owned()]);
        let given = given.iter().filter(|tool| *tool == "*" || plain(tool));
        out.extend(given.map(|tool| rule(name, tool, Action::Ask)));
    }
    out
}

/// Encodes the same rules as Codex applies them.
pub(super) fn bound(servers: &Data) -> RuleEncoding {
    let entry = |rule: PatternRule| {
        let regex = match rule.pattern.strip_suffix("/*") {
            Some(server) => format!("{}/[^/]*", escape(server)),
            None => escape(&rule.pattern),
        };
        EncodedRule {
            text: rule.pattern,
            action: rule.action,
            matches: MatchBounds::exactly(regex),
        }
    };
    let entries = rules(servers).into_iter().map(entry).collect();
    RuleEncoding { section: Section::Mcp, order: MatchOrder::First, entries, default: Action::Deny }
}
