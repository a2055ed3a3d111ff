//! One rule of Claude Code: the name of a tool with an optional specifier in brackets.

use agentry_policy::{Action, PatternRule, Section};

use super::paths;
use crate::encoding::{EncodedRule, MatchBounds};
use crate::model::escape;
use crate::render_result::RenderScope;
use crate::wildcard::{ANYTHING, NOTHING, WildcardDialect, at_least};

const WILDCARDS: WildcardDialect = WildcardDialect { question: false, sole: true };

/// A parsed rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClaudeRule<'a> {
    pub(super) tool: &'a str,
    /// The specifier; `None` for every call of the tool.
    pub(super) only: Option<&'a str>,
}

/// Parses a rule.
pub(super) fn parse(text: &str) -> ClaudeRule<'_> {
    match text.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?))) {
        Some((tool, "" | "*")) => ClaudeRule { tool, only: None },
        Some((tool, only)) => ClaudeRule { tool, only: Some(only) },
        None => ClaudeRule { tool: text, only: None },
    }
}

/// Encodes a rule for a section as Claude Code reads it; `None` if it belongs to another section.
pub(super) fn entry(section: Section, text: &str, action: Action) -> Option<EncodedRule> {
    let rule = parse(text);
    let matches = match section {
        Section::Mcp => server_tool(rule)?,
        Section::Tool => name_of_tool(rule)?,
        _ if rule.tool != tool_of(section)? => return None,
        _ => of_section(section, rule, action),
    };
    Some(EncodedRule { text: text.to_owned(), action, matches })
}

/// Encodes a rule about a less common tool of a section, or about a name with wildcards. It is not known
/// which calls of the section it matches.
pub(super) fn beside(section: Section, text: &str, action: Action) -> Option<EncodedRule> {
    let tool = parse(text).tool;
    let other = tool_of(section).is_some_and(|own| own != tool);
    let named = other && super::tools::section_of(tool) == Some(section);
    let about = named || (tool.contains('*') && may_be_of(section, tool));
    about.then(|| EncodedRule { text: text.to_owned(), action, matches: unknown() })
}

/// Whether a name with wildcards may match a tool of a section; names of MCP and plugin tools are unknown.
fn may_be_of(section: Section, name: &str) -> bool {
    let group = super::tools::GROUPS.iter().find(|group| group.section == section);
    let tools = group.map(|group| group.tools.iter().copied().chain(super::tools::beside(section)));
    tools.is_none_or(|mut tools| tools.any(|tool| WILDCARDS.takes(name, tool)))
}

/// The tool that rules of a section are written for.
pub(super) fn tool_of(section: Section) -> Option<&'static str> {
    let group = super::tools::GROUPS.iter().find(|group| group.section == section)?;
    group.tools.first().copied()
}

fn of_section(section: Section, rule: ClaudeRule<'_>, action: Action) -> MatchBounds {
    // It is not known whether a plain `Edit` also applies to `Write`.
    let bare = section == Section::Edit;
    match (section, rule.only) {
        (_, None) if bare => unknown(),
        (_, None) => MatchBounds::exactly(ANYTHING),
        (Section::Bash, Some(only)) => command(only),
        (Section::Edit | Section::Read, Some(only)) => paths::matches(only, action),
        (Section::Webfetch, Some(only)) => {
            only.strip_prefix("domain:").map_or_else(unknown, domain)
        }
        (Section::Skill | Section::Delegate, Some(name)) if is_plain(name) => {
            MatchBounds::exactly(escape(name))
        }
        (_, Some(_)) => unknown(),
    }
}

/// The bounds of a rule that may match everything or nothing.
fn unknown() -> MatchBounds {
    MatchBounds { most: ANYTHING.to_owned(), least: NOTHING.to_owned() }
}

/// Reads a command pattern; `:*` at its end means a space and a wildcard.
fn command(pattern: &str) -> MatchBounds {
    match pattern.strip_suffix(":*") {
        Some(head) => WILDCARDS.command(&format!("{head} *")),
        // Claude Code may read this as a parameter of the tool with its value.
        None if names_parameter(pattern) => unknown(),
        None => WILDCARDS.command(pattern),
    }
}

pub(super) fn names_parameter(pattern: &str) -> bool {
    let word = pattern.split(':').next().unwrap_or_default();
    pattern.contains(':') && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads a host: a leading `*.` matches any number of labels, another `*` matches one.
fn domain(host: &str) -> MatchBounds {
    if host == "*" {
        // `*` may match every host, or only hosts of one label.
        let one = format!(r"https?://[^/.]+\.:[0-9]+/{ANYTHING}");
        return MatchBounds { most: ANYTHING.to_owned(), least: one };
    }
    let (start, rest) = match host.strip_prefix("*.") {
        Some(rest) => (r"(?:[^/.]+\.)+", rest),
        None => ("", host),
    };
    let label = |label: &str| match label {
        "*" => r"[^/.]+\.".to_owned(),
        label => format!(r"{}\.", escape(label)),
    };
    let wild = rest.split('.').any(|label| label.contains('*') && label != "*");
    let labels: String = rest.split('.').map(label).collect();
    let regex = format!("https?://{start}{labels}:[0-9]+/{ANYTHING}");
    if wild { unknown() } else { MatchBounds::exactly(regex) }
}

/// Reads a rule about the tools of an MCP server.
fn server_tool(rule: ClaudeRule<'_>) -> Option<MatchBounds> {
    let rest = rule.tool.strip_prefix("mcp__")?;
    let (server, tool) = rest.split_once("__").unwrap_or((rest, "*"));
    if !is_plain(server) || rule.only.is_some() {
        return Some(unknown());
    }
    Some(MatchBounds::exactly(format!("{}/{}", escape(server), WILDCARDS.plain(tool))))
}

/// Reads a rule about a tool that belongs to no section.
fn name_of_tool(rule: ClaudeRule<'_>) -> Option<MatchBounds> {
    if super::tools::section_of(rule.tool).is_some() {
        return None;
    }
    let plain = is_plain(rule.tool) && rule.only.is_none();
    Some(if plain { MatchBounds::exactly(escape(rule.tool)) } else { unknown() })
}

/// Whether a name needs no escaping anywhere.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(plain)
}

/// Returns the nearest rules for a source rule: an ask or a deny matches at least as much, an allow at most.
pub(super) fn written(section: Section, rule: &PatternRule, scope: RenderScope) -> Vec<String> {
    let PatternRule { pattern, action } = rule;
    let of = |tool: &str, only: String| format!("{tool}({only})");
    match (section, tool_of(section)) {
        (Section::Bash, Some(tool)) => {
            // A rule for the whole tool is written separately.
            let texts = at_least(pattern).into_iter().flat_map(with_bare);
            texts.filter(|only| only != "*").map(|only| of(tool, colons(&only))).collect()
        }
        (Section::Edit | Section::Read, Some(tool)) => {
            paths::written(pattern, *action, scope).map(|only| of(tool, only)).into_iter().collect()
        }
        (Section::Webfetch, Some(tool)) => {
            hosts(pattern).into_iter().map(|host| of(tool, format!("domain:{host}"))).collect()
        }
        (Section::Skill | Section::Delegate, Some(tool)) if is_plain(pattern) => {
            vec![of(tool, pattern.clone())]
        }
        (Section::Mcp, _) => match pattern.split_once('/') {
            Some((server, tool)) if is_plain(server) && is_plain(tool) => {
                vec![format!("mcp__{server}__{tool}")]
            }
            Some((server, "*" | "**")) if is_plain(server) => vec![format!("mcp__{server}")],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Adds a command pattern without its last ` *`, which matches nothing only if no other wildcard precedes it.
fn with_bare(pattern: String) -> Vec<String> {
    let bare = pattern.strip_suffix(" *").filter(|bare| bare.contains('*')).map(str::to_owned);
    std::iter::once(pattern).chain(bare).collect()
}

/// Removes a colon that Claude Code would read in another way: `x:*`, `word:value`.
fn colons(pattern: &str) -> String {
    let (head, tail) = match pattern.strip_suffix(":*") {
        Some(head) => (head, "*"),
        None => (pattern, ""),
    };
    if names_parameter(head) {
        let word = head.split(':').next().unwrap_or_default();
        return format!("{word}*");
    }
    format!("{head}{tail}")
}

/// Returns the hosts of an address pattern; empty if they cannot be expressed.
fn hosts(pattern: &str) -> Vec<String> {
    let rest = pattern.split_once("://").map_or(pattern, |(_, rest)| rest);
    let host = rest.split(['/', '?', ':']).next().unwrap_or_default().to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.*".contains(c);
    if host.is_empty() || !host.chars().all(plain) || host.contains("..") {
        return Vec::new();
    }
    let (deep, rest) = match host.strip_prefix("**.") {
        Some(rest) => (true, rest),
        None => (false, host.as_str()),
    };
    if rest.contains("**") || rest.trim_matches(['*', '.']).is_empty() {
        return Vec::new();
    }
    let label = |label: &str| if label.contains('*') { "*".to_owned() } else { label.to_owned() };
    let rest = rest.split('.').map(label).collect::<Vec<_>>().join(".");
    if deep { vec![format!("*.{rest}"), rest] } else { vec![rest] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_rules_are_written_as_claude_code_rules() {
        let (deny, allow) = (Action::Deny, Action::Allow);
        let cases: &[(Section, &str, Action, &[&str])] = &[
            (Section::Bash, "git push*", deny, &["Bash(git push*)"]),
            (Section::Bash, "echo (x)", deny, &["Bash(echo*)"]),
            (Section::Bash, "git * -f *", deny, &["Bash(git * -f *)", "Bash(git * -f)"]),
            (Section::Bash, "foo:*", deny, &["Bash(foo*)"]),
            (Section::Bash, "npm run test:unit", deny, &["Bash(npm run test:unit)"]),
            (Section::Bash, "command:x", deny, &["Bash(command*)"]),
            (Section::Edit, "/run/agenix/**", deny, &["Edit(//run/agenix/**)"]),
            (Section::Edit, "src/[x]", allow, &[]),
            (
                Section::Webfetch,
                "https://docs.example.org/*",
                deny,
                &["WebFetch(domain:docs.example.org)"],
            ),
            (
                Section::Webfetch,
                "**.x.org",
                deny,
                &["WebFetch(domain:*.x.org)", "WebFetch(domain:x.org)"],
            ),
            (Section::Webfetch, "http://[::1]/", deny, &[]),
            (Section::Mcp, "gh/list", deny, &["mcp__gh__list"]),
            (Section::Mcp, "gh/*", deny, &["mcp__gh"]),
            (Section::Skill, "pdf", deny, &["Skill(pdf)"]),
            (Section::Skill, "pdf-*", deny, &[]),
        ];
        for (section, pattern, action, expected) in cases {
            let rule = PatternRule { pattern: (*pattern).to_owned(), action: *action };
            assert_eq!(written(*section, &rule, RenderScope::Project), *expected, "{pattern}");
        }
    }
}
