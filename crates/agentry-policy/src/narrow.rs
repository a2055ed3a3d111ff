//! From one policy notation to another, never wider.
//!
//! Every notation is first turned into ordered rules, the most expressive one; a coarser notation
//! then grants only what the rules allow without exception. What is asked about in the source is
//! granted nowhere.

use agentry_text::{Span, Spanned};

use crate::tool_permissions::{section_of, tools_of};
use crate::{
    Abilities, Ability, Action, Base, Exec, Field, Filesystem, Network, PatternRule, Permissions,
    Policy, Section, SectionRules, ToolPermissions, Trust,
};

/// Where a definition lies, to turn its relative paths into patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The directory of the declaring file, relative to the workspace; empty for the workspace itself.
    pub dir: String,
}

/// All layers as one set of ordered rules; `None` when the definition says nothing.
pub fn to_permissions(policy: &Policy, place: &Place) -> Option<Permissions> {
    let Policy { permissions, trust, abilities, tool_permissions } = policy;
    let layers = [
        permissions.clone(),
        trust.as_ref().map(|trust| of_trust(trust, place)),
        abilities.as_ref().map(of_abilities),
        tool_permissions.as_ref().map(of_tools),
    ];
    layers.into_iter().flatten().reduce(|a, b| meet(&a, &b))
}

/// The sections in which `result` may give a milder answer than `source`, with the rules of the
/// source; a section that the source does not name asks. Without looking at single patterns this is
/// sure only where both say the same, or where the result is milder in neither of its extremes.
pub fn widened(source: &Permissions, result: &Permissions) -> Permissions {
    let wider = |name: &&Section| {
        let milder = result.mildest(**name) < source.mildest(**name)
            || result.strictest(**name) < source.strictest(**name);
        milder && !says_the_same(source.get(**name), result.get(**name))
    };
    let rules = |name: &Section| {
        let asks = || section(*name, nowhere(), source.mildest(*name), Vec::new());
        source.get(*name).cloned().unwrap_or_else(asks)
    };
    Permissions { sections: Section::ALL.iter().filter(wider).map(rules).collect() }
}

/// The trust that grants nothing which the rules do not allow outright.
pub fn to_trust(rules: &Permissions, has_mcp: bool) -> Trust {
    let allows = |section| rules.strictest(section) == Action::Allow;
    let span = rules.sections.first().map_or(nowhere(), |first| first.section.span);
    let filesystem = match (allows(Section::Read), allows(Section::Edit)) {
        (true, true) if allows(Section::ExternalDirectory) => Filesystem::Full,
        (true, _) => Filesystem::ReadOnly,
        (false, _) => Filesystem::None,
    };
    let web = allows(Section::Webfetch) && allows(Section::Websearch);
    let network =
        if web && (!has_mcp || allows(Section::Mcp)) { Network::Allowed } else { Network::None };
    let exec = if allows(Section::Bash) { Exec::Sandboxed } else { Exec::None };
    Trust {
        filesystem: Some(Spanned::new(filesystem, span)),
        network: Some(Spanned::new(network, span)),
        exec: Some(Spanned::new(exec, span)),
        scope: None,
        hosts: None,
    }
}

/// The abilities that grant nothing which the rules do not allow outright.
pub fn to_abilities(rules: &Permissions) -> Abilities {
    let span = rules.sections.first().map_or(nowhere(), |first| first.section.span);
    let allowed = |base: &Base| {
        let sections = sections_of(*base);
        !sections.is_empty() && sections.iter().all(|s| rules.strictest(*s) == Action::Allow)
    };
    let (allow, deny): (Vec<_>, Vec<_>) = Base::ALL.iter().partition(|base| allowed(base));
    let spanned = |bases: Vec<&Base>| -> Vec<Spanned<Ability>> {
        bases
            .into_iter()
            .map(|base| Spanned::new(Ability { base: *base, command: None }, span))
            .collect()
    };
    if allow.is_empty() {
        Abilities { allow: None, deny: Some(spanned(deny)) }
    } else {
        Abilities { allow: Some(spanned(allow)), deny: None }
    }
}

/// The tool lists that grant nothing which the rules do not allow outright.
pub fn to_tool_permissions(rules: &Permissions) -> ToolPermissions {
    let span = rules.sections.first().map_or(nowhere(), |first| first.section.span);
    let (mut allowed, mut denied) = (Vec::new(), Vec::new());
    for section in Section::ALL {
        let list = match rules.strictest(*section) {
            Action::Allow => &mut allowed,
            Action::Deny => &mut denied,
            Action::Ask => continue,
        };
        list.extend(tools_of(*section).map(|tool| Spanned::new(tool.to_owned(), span)));
    }
    if let Some(tools) = rules.get(Section::Tool) {
        for (at, rule) in tools.rules.iter().enumerate() {
            // An earlier wildcard or the same name may decide first: only what is sure is granted.
            let earlier = tools.rules.iter().take(at);
            let first = earlier
                .clone()
                .all(|other| !other.pattern.contains('*') && other.pattern != rule.pattern);
            let literal = !rule.pattern.contains('*');
            let tool = Spanned::new(rule.pattern.clone(), rule.span);
            match rule.action {
                Action::Allow if literal && first => allowed.push(tool),
                Action::Deny if literal => denied.push(tool),
                Action::Allow | Action::Ask | Action::Deny => {}
            }
        }
    }
    let full = |list: Vec<_>| (!list.is_empty()).then_some(list);
    ToolPermissions { allowed: full(allowed), denied: full(denied) }
}

/// The sections that an ability opens. A browser is never granted: no section is about it alone.
fn sections_of(base: Base) -> &'static [Section] {
    match base {
        Base::Fs => &[Section::Read, Section::Edit, Section::ExternalDirectory],
        Base::Network => &[Section::Webfetch, Section::Websearch],
        Base::Sh => &[Section::Bash],
        Base::Tool => &[Section::Tool],
        Base::Mcp => &[Section::Mcp],
        Base::Env => &[Section::Env],
        Base::Browser => &[],
    }
}

fn of_trust(trust: &Trust, place: &Place) -> Permissions {
    let Trust { filesystem, network, exec, scope, hosts } = trust;
    let fs = filesystem.map_or(Spanned::new(Filesystem::None, nowhere()), |axis| axis);
    let net = network.map_or(Spanned::new(Network::None, nowhere()), |axis| axis);
    let run = exec.map_or(Spanned::new(Exec::None, nowhere()), |axis| axis);
    let allow_if = |yes| if yes { Action::Allow } else { Action::Deny };
    let paths = scope.as_deref().unwrap_or_default();
    let scoped = paths.iter().filter_map(|path| scope_rule(path, place)).collect();
    let hosts = hosts.as_deref().unwrap_or_default();
    let named = hosts.iter().map(|host| allow(host.value.clone(), host.span)).collect();
    let edit_rules = if fs.value == Filesystem::Scoped { scoped } else { Vec::new() };
    let host_rules = if net.value == Network::Scoped { named } else { Vec::new() };
    let open = net.value == Network::Allowed;
    // A server may be a program or an address; without knowing which, both must be open.
    let servers = open && run.value > Exec::None;
    let sections = vec![
        section(Section::Bash, run.span, allow_if(run.value > Exec::None), Vec::new()),
        section(Section::Edit, fs.span, allow_if(fs.value == Filesystem::Full), edit_rules),
        section(Section::Read, fs.span, allow_if(fs.value > Filesystem::None), Vec::new()),
        section(Section::Webfetch, net.span, allow_if(open), host_rules),
        section(Section::Websearch, net.span, allow_if(open), Vec::new()),
        section(Section::Mcp, net.span, allow_if(servers), Vec::new()),
        section(
            Section::ExternalDirectory,
            fs.span,
            allow_if(fs.value == Filesystem::Full),
            Vec::new(),
        ),
    ];
    Permissions { sections }
}

/// `./data` of a file in `agents/x` is `agents/x/data/**`. A path that leaves the workspace, or that
/// would mean something else as a pattern, is left out.
fn scope_rule(path: &Spanned<String>, place: &Place) -> Option<Spanned<PatternRule>> {
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
    let pattern = if path.starts_with('/') { format!("/{pattern}") } else { pattern };
    let home = !absolute && pattern.starts_with('~');
    let literal = !pattern.trim_end_matches("**").contains('*') && !home;
    literal.then(|| allow(pattern, path.span))
}

fn of_abilities(abilities: &Abilities) -> Permissions {
    let allow_list = abilities.allow.as_deref().unwrap_or_default();
    let deny_list = abilities.deny.as_deref().unwrap_or_default();
    let span = allow_list.iter().chain(deny_list).next().map_or(nowhere(), |first| first.span);
    let sections = Base::ALL.iter().flat_map(|base| {
        let whole = Ability { base: *base, command: None };
        let allowed = allow_list.iter().any(|ability| ability.value == whole);
        let denied = deny_list.iter().any(|ability| ability.value == whole);
        let intent = if allowed && !denied { Action::Allow } else { Action::Deny };
        sections_of(*base).iter().map(move |of| {
            let rules = if *of == Section::Bash && !denied {
                commands(allow_list, deny_list)
            } else {
                Vec::new()
            };
            section(*of, span, intent, rules)
        })
    });
    Permissions { sections: sections.collect() }
}

/// `sh:git` as rules: the denied commands first, so that they win.
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

/// Whether two sections have the same intent and the same rules in the same order.
fn says_the_same(a: Option<&SectionRules>, b: Option<&SectionRules>) -> bool {
    let plain = |rules: &SectionRules| {
        let intent = rules.intent.map(|intent| intent.value);
        (intent, rules.rules.iter().map(|rule| rule.value.clone()).collect::<Vec<_>>())
    };
    a.map(plain) == b.map(plain)
}

fn of_tools(tools: &ToolPermissions) -> Permissions {
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
            // A pattern grants nothing: what it covers is not known.
            None if tool.contains(['*', '(']) => {}
            None => name_tool(&mut sections, tool, Action::Allow),
        }
    }
    Permissions { sections }
}

/// The whole sections that a denied name closes: a pattern closes everything that it might mean.
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

/// Sets the answer of a whole section, unless a stricter one is there.
fn put(sections: &mut Vec<SectionRules>, of: Section, span: Span, action: Action) {
    match sections.iter_mut().find(|rules| rules.section.value == of) {
        Some(rules) => *rules = at_least(rules, action),
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

/// Rules at least as strict as both. Where both have rules of their own, the strictest answer of
/// either holds for the whole section.
fn meet(a: &Permissions, b: &Permissions) -> Permissions {
    let both = |section: Section| match (a.get(section), b.get(section)) {
        (None, None) => None,
        (Some(x), None) => Some(at_least(x, b.strictest(section))),
        (None, Some(y)) => Some(at_least(y, a.strictest(section))),
        (Some(x), Some(y)) if y.rules.is_empty() => Some(at_least(x, y.strictest())),
        (Some(x), Some(y)) if x.rules.is_empty() => Some(at_least(y, x.strictest())),
        (Some(x), Some(y)) => {
            let strictest = x.strictest().strictest(y.strictest());
            Some(crate::narrow::section(section, x.section.span, strictest, Vec::new()))
        }
    };
    Permissions { sections: Section::ALL.iter().filter_map(|section| both(*section)).collect() }
}

/// The same rules, none milder than `least`.
fn at_least(rules: &SectionRules, least: Action) -> SectionRules {
    let mut rules = rules.clone();
    let span = rules.section.span;
    let intent = rules.intent.map_or(Action::Ask, |intent| intent.value);
    rules.intent =
        Some(Spanned::new(intent.strictest(least), rules.intent.map_or(span, |i| i.span)));
    for rule in &mut rules.rules {
        rule.value.action = rule.action.strictest(least);
    }
    rules
}

fn section(
    section: Section,
    span: Span,
    intent: Action,
    rules: Vec<Spanned<PatternRule>>,
) -> SectionRules {
    let intent: Field<Action> = Some(Spanned::new(intent, span));
    SectionRules { section: Spanned::new(section, span), intent, rules }
}

fn allow(pattern: String, span: Span) -> Spanned<PatternRule> {
    Spanned::new(PatternRule { pattern, action: Action::Allow }, span)
}

/// The place of what nobody wrote.
fn nowhere() -> Span {
    Span::start_of(agentry_text::FileId::BUILT_IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(section: Section, intent: Action, rules: &[&str]) -> Permissions {
        let span = nowhere();
        let rules =
            rules.iter().map(|text| Spanned::new(text.parse().expect("a rule"), span)).collect();
        Permissions { sections: vec![super::section(section, span, intent, rules)] }
    }

    #[test]
    fn a_tool_is_granted_only_where_its_first_rule_allows_it() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["foo:allow"], &["foo"]),
            (&["f*:deny", "foo:allow"], &[]),
            (&["foo:ask", "foo:allow"], &[]),
            (&["bar:deny", "foo:allow"], &["foo"]),
            (&["*:allow"], &[]),
        ];
        for (written, expected) in cases {
            let lists = to_tool_permissions(&rules(Section::Tool, Action::Ask, written));
            let allowed: Vec<_> =
                lists.allowed.iter().flatten().map(|tool| tool.value.as_str()).collect();
            let allowed: Vec<_> = allowed.into_iter().filter(|tool| *tool != "Read").collect();
            assert_eq!(allowed, *expected, "{written:?}");
        }
    }

    #[test]
    fn a_scope_never_means_more_as_a_pattern() {
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
            let place = Place { dir: dir.to_owned() };
            let rule = scope_rule(&Spanned::new(path.to_owned(), nowhere()), &place);
            let pattern = rule.map(|rule| rule.value.pattern);
            assert_eq!(pattern.as_deref(), expected, "{path} in {dir}");
        }
    }

    #[test]
    fn a_milder_result_is_noticed_even_where_the_source_is_silent() {
        let deny = rules(Section::Env, Action::Deny, &[]);
        let allow = rules(Section::Bash, Action::Allow, &[]);
        let sections = |found: Permissions| -> Vec<Section> {
            found.sections.iter().map(|rules| rules.section.value).collect()
        };
        assert_eq!(sections(widened(&deny, &Permissions::default())), [Section::Env]);
        assert_eq!(sections(widened(&Permissions::default(), &allow)), [Section::Bash]);
        assert_eq!(sections(widened(&allow, &Permissions::default())), []);
    }

    #[test]
    fn only_what_is_allowed_without_exception_becomes_trust() {
        let cases = [
            (rules(Section::Bash, Action::Allow, &[]), Exec::Sandboxed),
            (rules(Section::Bash, Action::Allow, &["rm *:ask"]), Exec::None),
            (rules(Section::Bash, Action::Ask, &["git log *:allow"]), Exec::None),
        ];
        for (rules, expected) in cases {
            assert_eq!(to_trust(&rules, false).exec.map(|exec| exec.value), Some(expected));
        }
    }
}
