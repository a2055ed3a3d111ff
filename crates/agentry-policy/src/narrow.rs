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

/// The sections in which `result` can give a milder answer than `source` ever does, with the rules
/// of the source.
pub fn widened(source: &Permissions, result: &Permissions) -> Permissions {
    let wider = |rules: &&SectionRules| {
        result.mildest(rules.section.value) < source.mildest(rules.section.value)
    };
    Permissions { sections: source.sections.iter().filter(wider).cloned().collect() }
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
        for rule in tools.rules.iter().filter(|rule| !rule.pattern.contains('*')) {
            let list = if rule.action == Action::Allow { &mut allowed } else { &mut denied };
            if rule.action != Action::Ask {
                list.push(Spanned::new(rule.pattern.clone(), rule.span));
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

/// `./data` of a file in `agents/x` is `agents/x/data/**`. A path that leaves the workspace is left out.
fn scope_rule(path: &Spanned<String>, place: &Place) -> Option<Spanned<PatternRule>> {
    if path.starts_with('/') || path.starts_with("~/") {
        return Some(allow(format!("{}/**", path.trim_end_matches('/')), path.span));
    }
    let mut parts: Vec<&str> = place.dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    parts.push("**");
    let pattern = parts.join("/");
    // A wildcard or a colon in the name would change what the rule means.
    let literal = !path.contains('*');
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

fn of_tools(tools: &ToolPermissions) -> Permissions {
    let mut sections: Vec<SectionRules> = Vec::new();
    let lists = [(&tools.denied, Action::Deny), (&tools.allowed, Action::Allow)];
    for (list, action) in lists {
        for tool in list.as_deref().unwrap_or_default() {
            let of = section_of(tool);
            let target = of.unwrap_or(Section::Tool);
            let at = sections.iter().position(|rules| rules.section.value == target);
            let at = at.unwrap_or_else(|| {
                let intent = if of.is_some() { action } else { Action::Ask };
                sections.push(section(target, tool.span, intent, Vec::new()));
                sections.len() - 1
            });
            if of.is_none()
                && let Some(rules) = sections.get_mut(at)
            {
                let rule = PatternRule { pattern: tool.value.clone(), action };
                rules.rules.push(Spanned::new(rule, tool.span));
            }
        }
    }
    Permissions { sections }
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
