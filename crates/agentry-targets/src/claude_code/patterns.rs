//! Translates rules of Claude Code to patterns of the model. An allow may match less than the rule, an ask or
//! a deny may match more.

use agentry_policy::{Action, Section};

use super::rule;
use crate::wildcard::{around, is_special};

/// Returns the nearest patterns for a rule of a section.
pub(super) fn source(section: Section, text: &str, action: Action) -> Vec<String> {
    let rule = rule::parse(text);
    match (section, rule.only) {
        (Section::Mcp, None) => server_tool(rule.tool),
        (Section::Bash, Some(only)) => command(only, action),
        (Section::Edit | Section::Read, Some(only)) => path(only, action),
        (Section::Webfetch, Some(only)) => {
            only.strip_prefix("domain:").map_or_else(Vec::new, |host| hosts(host, action))
        }
        (Section::Skill | Section::Delegate, Some(name)) if rule::is_plain(name) => {
            vec![name.to_owned()]
        }
        _ => Vec::new(),
    }
}

/// Translates a command pattern; a `*` of Claude Code matches across words and spaces.
fn command(pattern: &str, action: Action) -> Vec<String> {
    let unknown = rule::names_parameter(pattern) && !pattern.ends_with(":*");
    let pattern = match pattern.strip_suffix(":*") {
        Some(head) => format!("{head} *"),
        None => pattern.to_owned(),
    };
    match action {
        _ if pattern.trim().is_empty() => Vec::new(),
        Action::Allow if unknown || pattern.contains(is_special) => Vec::new(),
        Action::Allow => vec![pattern],
        _ if unknown => vec!["**".to_owned()],
        _ => around(&pattern),
    }
}

fn path(pattern: &str, action: Action) -> Vec<String> {
    let stricter = action > Action::Allow;
    let (start, rest) = if let Some(rest) = pattern.strip_prefix("//") {
        ("/", rest)
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        ("~/", rest)
    } else if let Some(rest) = pattern.strip_prefix('/') {
        ("", rest)
    } else {
        let rest = pattern.strip_prefix("./").unwrap_or(pattern);
        let deep = stricter || !rest.trim_end_matches('/').contains('/');
        (if deep { "**/" } else { "" }, rest)
    };
    let rest = rest.trim_end_matches('/');
    let special = |part: &str| part.contains(['?', '[', '\\', '!']);
    if !stricter && special(rest) {
        return Vec::new();
    }
    let plain = |part: &str| if special(part) { "*".to_owned() } else { part.to_owned() };
    let rest = rest.split('/').map(plain).collect::<Vec<_>>().join("/");
    let whole = if rest == "**" { format!("{start}{rest}/*") } else { format!("{start}{rest}") };
    // A named directory includes everything below it.
    let below = (stricter && !rest.ends_with("**")).then(|| format!("{whole}/**"));
    let mut found: Vec<String> = std::iter::once(whole).chain(below).collect();
    if start == "**/" && stricter {
        // The rule may also apply outside the working directory, so a stricter rule covers both.
        found.extend(found.clone().into_iter().map(|text| format!("/{text}")));
    }
    found
}

fn hosts(host: &str, action: Action) -> Vec<String> {
    if action == Action::Allow {
        return vec![host.to_owned()];
    }
    if host == "*" {
        return vec!["**".to_owned()];
    }
    let host = match host.strip_prefix("*.") {
        Some(rest) => format!("**.{rest}"),
        None => host.to_owned(),
    };
    vec![format!("https://{host}:*"), format!("http://{host}:*")]
}

fn server_tool(tool: &str) -> Vec<String> {
    let Some(rest) = tool.strip_prefix("mcp__") else { return Vec::new() };
    let (server, tool) = rest.split_once("__").unwrap_or((rest, "*"));
    if rule::is_plain(server) { vec![format!("{server}/{tool}")] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_rules_are_read_as_patterns() {
        let (allow, deny) = (Action::Allow, Action::Deny);
        let cases: &[(Section, &str, Action, &[&str])] = &[
            (Section::Bash, "Bash(git log:*)", allow, &["git log *"]),
            (Section::Bash, "Bash(git * main)", allow, &["git * main"]),
            (Section::Bash, "Bash(git * main)", deny, &["git ** *main"]),
            (Section::Bash, "Bash(rm -rf $HOME*)", deny, &["rm -rf *"]),
            (Section::Bash, "Bash(rm -rf $HOME*)", allow, &[]),
            (Section::Bash, "Bash(command:x)", deny, &["**"]),
            (Section::Bash, "Bash(a*b c)", deny, &["a*"]),
            (Section::Edit, "Edit(/src/**)", allow, &["src/**"]),
            (Section::Edit, "Edit(src/**)", deny, &["**/src/**", "/**/src/**"]),
            (Section::Read, "Read(//etc/x)", deny, &["/etc/x", "/etc/x/**"]),
            (
                Section::Read,
                "Read(.env)",
                deny,
                &["**/.env", "**/.env/**", "/**/.env", "/**/.env/**"],
            ),
            (Section::Read, "Read(/.env.*)", deny, &[".env.*", ".env.*/**"]),
            (Section::Webfetch, "WebFetch(domain:x.org)", allow, &["x.org"]),
            (Section::Webfetch, "WebFetch(domain:*)", deny, &["**"]),
            (Section::Mcp, "mcp__gh", deny, &["gh/*"]),
        ];
        for (section, text, action, expected) in cases {
            assert_eq!(source(*section, text, *action), *expected, "{text}");
        }
    }
}
