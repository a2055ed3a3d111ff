//! Converts one policy notation into another, never wider.
//!
//! Every notation is first converted into ordered rules, the most expressive one. A coarser notation then
//! grants only what the rules allow without exception; subjects with the verdict `ask` are not granted.

use agentry_text::Spanned;

use crate::compare::{RefinementAnswer, refines};
use crate::memo::PolicyMemo;
use crate::notations::{nowhere, section, sections_of};
use crate::tool_permissions::tools_of;
use crate::{
    Abilities, Ability, AbilityBase, Action, ExecTrust, FilesystemTrust, HazardProtection,
    LayerSource, NetworkTrust, PathAnchors, PatternRule, Permissions, Policy, PolicyContext,
    RuleList, Section, SectionRules, ToolPermissions, Trust, written,
};

/// Combines all layers into one set of ordered rules; `None` if the definition has no policy.
pub fn to_permissions(
    memo: &PolicyMemo,
    policy: &Policy,
    place: &PolicyContext,
) -> Option<Permissions> {
    let layers = written(policy, place);
    match layers.as_slice() {
        [] => None,
        [(_, only)] => Some(only.clone()),
        several => {
            let sections = Section::ALL.iter().filter_map(|name| combine(memo, *name, several));
            Some(Permissions { sections: sections.collect() })
        }
    }
}

/// Returns rules of one section at least as strict as every layer; `None` if no layer has the section.
fn combine(
    memo: &PolicyMemo,
    name: Section,
    layers: &[(LayerSource, Permissions)],
) -> Option<SectionRules> {
    layers.iter().find(|(_, rules)| rules.get(name).is_some())?;
    let rules = |(source, rules): &(LayerSource, Permissions)| {
        rules.get(name).cloned().or_else(|| source.decides_all().then(|| name.unwritten()))
    };
    layers.iter().filter_map(rules).reduce(|one, other| strictest(memo, &one, &other))
}

/// Returns the trust that grants only what the rules allow without exception. The one exception is reading
/// with a few denied files: the rules are kept beside the trust, and without it nothing could be read.
pub fn to_trust(rules: &Permissions, has_mcp: bool) -> Trust {
    let allows = |section| rules.strictest(section) == Action::Allow;
    let span = rules.sections.first().map_or(nowhere(), |first| first.section.span);
    let filesystem = match (allows(Section::Read), allows(Section::Edit)) {
        (true, true) if allows(Section::ExternalDirectory) => FilesystemTrust::Full,
        (true, _) => FilesystemTrust::ReadOnly,
        (false, _) if reads_but_some(rules) => FilesystemTrust::ReadOnly,
        (false, _) => FilesystemTrust::None,
    };
    let web = allows(Section::Webfetch) && allows(Section::Websearch);
    // A declared MCP server may use the network, so MCP must be allowed as well.
    let network = if web && (!has_mcp || allows(Section::Mcp)) {
        NetworkTrust::Allowed
    } else {
        NetworkTrust::None
    };
    let exec = if allows(Section::Bash) { ExecTrust::Sandboxed } else { ExecTrust::None };
    Trust {
        filesystem: Some(Spanned::new(filesystem, span)),
        network: Some(Spanned::new(network, span)),
        exec: Some(Spanned::new(exec, span)),
        scope: None,
        hosts: None,
    }
}

/// Whether every file of the workspace may be read, except those that have their own rules.
fn reads_but_some(rules: &Permissions) -> bool {
    let Some(SectionRules { intent, rules, .. }) = rules.get(Section::Read) else { return false };
    let all = |rule: &Spanned<PatternRule>| {
        rule.action == Action::Allow && matches!(rule.pattern.as_str(), "**" | "**/*")
    };
    intent.is_some_and(|intent| intent.value == Action::Allow) || rules.iter().any(all)
}

/// Returns the abilities that grant only what the rules allow without exception.
pub fn to_abilities(rules: &Permissions) -> Abilities {
    let span = rules.sections.first().map_or(nowhere(), |first| first.section.span);
    let allowed = |base: &AbilityBase| {
        let sections = sections_of(*base);
        !sections.is_empty() && sections.iter().all(|s| rules.strictest(*s) == Action::Allow)
    };
    let (allow, deny): (Vec<_>, Vec<_>) = AbilityBase::ALL.iter().partition(|base| allowed(base));
    let spanned = |bases: Vec<&AbilityBase>| -> Vec<Spanned<Ability>> {
        bases
            .into_iter()
            .map(|base| Spanned::new(Ability { base: *base, command: None }, span))
            .collect()
    };
    if allow.is_empty() {
        // Without an allow list, everything that is not denied has the default rules.
        let is_left = |base: &&AbilityBase| {
            let sections = sections_of(**base);
            !sections.is_empty() && sections.iter().all(|of| is_within_default(rules, *of))
        };
        let deny = deny.into_iter().filter(|base| !is_left(base)).collect();
        Abilities { allow: None, deny: Some(spanned(deny)) }
    } else {
        // An allow list denies everything else, so no deny list is needed.
        Abilities { allow: Some(spanned(allow)), deny: None }
    }
}

/// Whether the default rules of a section are at least as strict as these.
fn is_within_default(rules: &Permissions, section: Section) -> bool {
    rules.strictest(section) <= section.unwritten_action()
}

/// Returns the tool lists that grant only what the rules allow without exception.
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
            // An earlier wildcard or an equal name may decide first, so only certain grants are kept.
            let earlier = tools.rules.iter().take(at);
            let first = earlier
                .clone()
                .all(|other| !other.pattern.contains('*') && other.pattern != rule.pattern);
            let literal = !rule.pattern.contains('*');
            let tool = Spanned::new(rule.pattern.clone(), rule.span);
            match rule.action {
                Action::Allow if literal && first => allowed.push(tool),
                // A denial is safe even if an earlier rule decides.
                Action::Deny if literal => denied.push(tool),
                Action::Allow | Action::Ask | Action::Deny => {}
            }
        }
    }
    let full = |list: Vec<_>| (!list.is_empty()).then_some(list);
    ToolPermissions { allowed: full(allowed), denied: full(denied) }
}

/// Returns rules of one section at least as strict as both. The result is exact if one of them has no rules
/// or is within the other.
pub(crate) fn strictest(memo: &PolicyMemo, x: &SectionRules, y: &SectionRules) -> SectionRules {
    let places = PathAnchors::default();
    let within = |one: &SectionRules, other: &SectionRules| {
        let (one, other) = (RuleList::new(one, &places), RuleList::new(other, &places));
        refines(memo, &[&one], &[&other], HazardProtection::On) == RefinementAnswer::Yes
    };
    if y.rules.is_empty() {
        x.at_least(y.strictest())
    } else if x.rules.is_empty() {
        y.at_least(x.strictest())
    } else if within(x, y) {
        x.clone()
    } else if within(y, x) {
        y.clone()
    } else {
        let action = x.strictest().strictest(y.strictest());
        section(x.section.value, x.section.span, action, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(section: Section, intent: Action, rules: &[&str]) -> Permissions {
        let span = nowhere();
        let rules =
            rules.iter().map(|text| Spanned::new(text.parse().expect("a rule"), span)).collect();
        Permissions { sections: vec![crate::notations::section(section, span, intent, rules)] }
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
            // What is allowed without a rule is listed too.
            let is_named = |tool: &&str| !matches!(*tool, "Read" | "AskUserQuestion");
            let allowed: Vec<_> = allowed.into_iter().filter(is_named).collect();
            assert_eq!(allowed, *expected, "{written:?}");
        }
    }

    #[test]
    fn only_what_is_allowed_without_exception_becomes_trust() {
        let cases = [
            (rules(Section::Bash, Action::Allow, &[]), ExecTrust::Sandboxed),
            (rules(Section::Bash, Action::Allow, &["rm *:ask"]), ExecTrust::None),
            (rules(Section::Bash, Action::Ask, &["git log *:allow"]), ExecTrust::None),
        ];
        for (rules, expected) in cases {
            assert_eq!(to_trust(&rules, false).exec.map(|exec| exec.value), Some(expected));
        }
    }

    #[test]
    fn a_denied_file_keeps_other_reads() {
        let cases = [
            (Action::Allow, &[][..], FilesystemTrust::ReadOnly),
            (Action::Allow, &["**/.env:deny"], FilesystemTrust::ReadOnly),
            (Action::Deny, &["**/.env:deny", "**/*:allow"], FilesystemTrust::ReadOnly),
            (Action::Deny, &["src/**:allow"], FilesystemTrust::None),
            (Action::Ask, &["**/.env:deny"], FilesystemTrust::None),
        ];
        for (intent, list, expected) in cases {
            let trust = to_trust(&rules(Section::Read, intent, list), false);
            assert_eq!(trust.filesystem.map(|it| it.value), Some(expected), "{list:?}");
        }
    }
}
