//! Converts every policy notation into ordered rules, the most expressive one.
//!
//! A notation of whole tools or axes becomes sections without rules. Sections that it cannot express are left
//! out, so that it does not decide about them.

use agentry_text::{Span, Spanned};

use crate::tool_permissions::section_of;
use crate::{
    Abilities, Ability, AbilityBase, Action, Declared, DeclaredList, ExecTrust, FilesystemTrust,
    NetworkTrust, PatternRule, Permissions, Section, SectionRules, ToolPermissions, Trust,
};

/// Other values of a definition on which its policy depends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyContext {
    /// The directory of the declaring file, relative to the workspace; empty for the workspace itself.
    pub dir: String,
    /// The MCP servers that it declares.
    pub servers: Vec<PolicyServer>,
    /// Whether it declares that it asks before writing.
    pub asks_before_writing: bool,
}

/// An MCP server, as far as it matters for a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyServer {
    /// Its name.
    pub name: String,
    /// The host of the server; `None` for a program on this machine.
    pub host: Option<String>,
}

pub(crate) fn of_trust(trust: &Trust, place: &PolicyContext) -> Permissions {
    let Trust { filesystem, network, exec, scope, hosts } = trust;
    let fs = filesystem.map_or(Spanned::new(FilesystemTrust::None, nowhere()), |axis| axis);
    let net = network.map_or(Spanned::new(NetworkTrust::None, nowhere()), |axis| axis);
    let run = exec.map_or(Spanned::new(ExecTrust::None, nowhere()), |axis| axis);
    let allow_if = |yes| if yes { Action::Allow } else { Action::Deny };
    let paths = scope.as_deref().unwrap_or_default();
    let scoped = paths.iter().filter_map(|path| scope_rule(path, place)).collect();
    let edit_rules = if fs.value == FilesystemTrust::Scoped { scoped } else { Vec::new() };
    let host_rules =
        if net.value == NetworkTrust::Scoped { named(hosts, net.span, place) } else { Vec::new() };
    let open = net.value == NetworkTrust::Allowed;
    let full = allow_if(fs.value == FilesystemTrust::Full);
    // A server that is not declared may be a program or an address, so both must be allowed.
    let servers = allow_if(open && run.value > ExecTrust::None);
    let server_rules = servers_of(place, run, net, &host_rules);
    let edit = section(Section::Edit, fs.span, full, edit_rules);
    let asks = if place.asks_before_writing { Action::Ask } else { Action::Allow };
    let sections = vec![
        section(Section::Bash, run.span, allow_if(run.value > ExecTrust::None), Vec::new()),
        edit.at_least(asks),
        section(Section::Read, fs.span, allow_if(fs.value > FilesystemTrust::None), Vec::new()),
        section(Section::Webfetch, net.span, allow_if(open), host_rules),
        section(Section::Websearch, net.span, allow_if(open), Vec::new()),
        section(Section::Mcp, net.span, servers, server_rules),
        section(Section::ExternalDirectory, fs.span, full, Vec::new()),
    ];
    Permissions { sections }
}

/// Returns the hosts of `network: scoped`: the named ones, or else those of the servers.
fn named(
    hosts: &DeclaredList<String>,
    span: Span,
    place: &PolicyContext,
) -> Vec<Spanned<PatternRule>> {
    match hosts {
        Some(hosts) => hosts.iter().map(|host| allow(host.value.clone(), host.span)).collect(),
        None => {
            let hosts = place.servers.iter().filter_map(|server| server.host.clone());
            hosts.map(|host| allow(host, span)).collect()
        }
    }
}

/// Returns a rule for each declared server: a program needs `exec`, an address needs the network.
fn servers_of(
    place: &PolicyContext,
    run: Spanned<ExecTrust>,
    net: Spanned<NetworkTrust>,
    hosts: &[Spanned<PatternRule>],
) -> Vec<Spanned<PatternRule>> {
    let reaches = |host: &str| match net.value {
        NetworkTrust::None => false,
        NetworkTrust::Allowed => true,
        NetworkTrust::Scoped => hosts.iter().any(|rule| rule.pattern.eq_ignore_ascii_case(host)),
    };
    let rule = |server: &PolicyServer| {
        let (open, span) = match &server.host {
            Some(host) => (reaches(host), net.span),
            None => (run.value > ExecTrust::None, run.span),
        };
        let action = if open { Action::Allow } else { Action::Deny };
        // A name with a wildcard would match other servers, so it is left to the intent.
        let literal = !server.name.contains('*');
        let pattern = format!("{}/**", server.name);
        literal.then(|| Spanned::new(PatternRule { pattern, action }, span))
    };
    place.servers.iter().filter_map(rule).collect()
}

/// Makes a rule of a scope path: `./data` of a file in `agents/x` is `agents/x/data/**`. A path that leaves
/// the workspace, or that would have another meaning as a pattern, is left out.
fn scope_rule(path: &Spanned<String>, place: &PolicyContext) -> Option<Spanned<PatternRule>> {
    let absolute = path.starts_with('/') || path.starts_with("~/");
    let start = if absolute { "" } else { place.dir.as_str() };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    parts.push("**");
    let pattern = parts.join("/");
    let is_rooted = path.starts_with('/') || start.starts_with('/');
    let pattern = if is_rooted { format!("/{pattern}") } else { pattern };
    let home = !absolute && pattern.starts_with('~');
    let literal = !pattern.trim_end_matches("**").contains('*') && !home;
    literal.then(|| allow(pattern, path.span))
}

pub(crate) fn of_abilities(abilities: &Abilities) -> Permissions {
    let allow_list = abilities.allow.as_deref().unwrap_or_default();
    let deny_list = abilities.deny.as_deref().unwrap_or_default();
    // An allow list denies everything else. Without one, the default policy decides about the rest.
    let is_deny_only = abilities.allow.is_none();
    let span = allow_list.iter().chain(deny_list).next().map_or(nowhere(), |first| first.span);
    let sections = AbilityBase::ALL.iter().flat_map(|base| {
        let whole = Ability { base: *base, command: None };
        let allowed = allow_list.iter().any(|ability| ability.value == whole);
        let denied = deny_list.iter().any(|ability| ability.value == whole);
        let is_left = is_deny_only && !denied;
        let intent = match (is_left, allowed && !denied) {
            (true, _) => Action::Ask,
            (false, true) => Action::Allow,
            (false, false) => Action::Deny,
        };
        sections_of(*base).iter().filter_map(move |of| {
            let rules = if *of == Section::Bash && !denied {
                commands(allow_list, deny_list)
            } else {
                Vec::new()
            };
            let decides = !is_left || !rules.is_empty();
            decides.then(|| section(*of, span, intent, rules))
        })
    });
    Permissions { sections: sections.collect() }
}

/// Makes rules of abilities such as `sh:git`; denied commands come first, so that they win.
fn commands(
    allow_list: &[Spanned<Ability>],
    deny_list: &[Spanned<Ability>],
) -> Vec<Spanned<PatternRule>> {
    let rules = |list: &[Spanned<Ability>], action| -> Vec<_> {
        let of = |ability: &Spanned<Ability>| {
            let pattern = format!("{} *", ability.command.as_ref()?);
            Some(Spanned::new(PatternRule { pattern, action }, ability.span))
        };
        list.iter().filter_map(of).collect()
    };
    [rules(deny_list, Action::Deny), rules(allow_list, Action::Allow)].concat()
}

/// Lists the sections that an ability grants. A browser is never granted, because it has no section.
pub(crate) fn sections_of(base: AbilityBase) -> &'static [Section] {
    match base {
        AbilityBase::Fs => &[Section::Read, Section::Edit, Section::ExternalDirectory],
        AbilityBase::Network => &[Section::Webfetch, Section::Websearch],
        AbilityBase::Sh => &[Section::Bash],
        AbilityBase::Tool => &[Section::Tool],
        AbilityBase::Mcp => &[Section::Mcp],
        AbilityBase::Env => &[Section::Env],
        AbilityBase::Browser => &[],
    }
}

pub(crate) fn of_tools(tools: &ToolPermissions) -> Permissions {
    let mut sections: Vec<SectionRules> = Vec::new();
    for tool in tools.denied.as_deref().unwrap_or_default() {
        for of in denied_sections(tool) {
            put(&mut sections, *of, tool.span, Action::Deny);
        }
        if denied_sections(tool).is_empty() {
            name_tool(&mut sections, tool, Action::Deny);
        }
    }
    for tool in tools.allowed.as_deref().unwrap_or_default() {
        match section_of(tool) {
            Some(of) => put(&mut sections, of, tool.span, Action::Allow),
            // A pattern in the allowed list grants nothing, because it is unknown which tools it covers.
            None if tool.contains(['*', '(']) => {}
            None => name_tool(&mut sections, tool, Action::Allow),
        }
    }
    Permissions { sections }
}

/// Lists the whole sections that a denied name closes; a pattern closes every section that it might cover.
fn denied_sections(tool: &str) -> &'static [Section] {
    let name = tool.split('(').next().unwrap_or(tool).trim();
    match section_of(name) {
        Some(of) => Section::ALL
            .iter()
            .position(|section| *section == of)
            .map_or(&[], |at| Section::ALL.get(at..=at).unwrap_or_default()),
        None if name.starts_with("mcp__") && name.contains('*') => &[Section::Mcp],
        None if name.contains('*') => Section::ALL,
        None => &[],
    }
}

/// Sets the verdict of a whole section, unless it already has a stricter one.
fn put(sections: &mut Vec<SectionRules>, of: Section, span: Span, action: Action) {
    match sections.iter_mut().find(|rules| rules.section.value == of) {
        Some(rules) => *rules = rules.at_least(action),
        None => sections.push(section(of, span, action, Vec::new())),
    }
}

/// Adds a rule for one tool by its name.
fn name_tool(sections: &mut Vec<SectionRules>, tool: &Spanned<String>, action: Action) {
    if !sections.iter().any(|rules| rules.section.value == Section::Tool) {
        sections.push(section(Section::Tool, tool.span, Action::Ask, Vec::new()));
    }
    let rule = PatternRule { pattern: tool.value.clone(), action };
    let tools = sections.iter_mut().filter(|rules| rules.section.value == Section::Tool);
    tools.for_each(|rules| rules.rules.push(Spanned::new(rule.clone(), tool.span)));
}

pub(crate) fn section(
    section: Section,
    span: Span,
    intent: Action,
    rules: Vec<Spanned<PatternRule>>,
) -> SectionRules {
    let intent: Declared<Action> = Some(Spanned::new(intent, span));
    SectionRules { section: Spanned::new(section, span), intent, rules }
}

fn allow(pattern: String, span: Span) -> Spanned<PatternRule> {
    Spanned::new(PatternRule { pattern, action: Action::Allow }, span)
}

/// Returns the span of rules that no author wrote.
pub(crate) fn nowhere() -> Span {
    Span::start_of(agentry_text::FileId::BUILT_IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_pattern_never_covers_more_than_the_scope() {
        let cases = [
            ("agents/x", "./data", Some("agents/x/data/**")),
            ("agents/x", "..", Some("agents/**")),
            ("agents/x", "../../..", None),
            ("", "data", Some("data/**")),
            ("", "/srv/x/", Some("/srv/x/**")),
            ("", "/srv/../etc", Some("/etc/**")),
            ("", "/srv/*", None),
            ("a*b", "d", None),
            ("", "~", None),
            ("", "~/notes", Some("~/notes/**")),
        ];
        for (dir, path, expected) in cases {
            let place = PolicyContext { dir: dir.to_owned(), ..PolicyContext::default() };
            let rule = scope_rule(&Spanned::new(path.to_owned(), nowhere()), &place);
            let pattern = rule.map(|rule| rule.value.pattern);
            assert_eq!(pattern.as_deref(), expected, "{path} in {dir}");
        }
    }
}
