//! Converts one policy notation into another, never wider.
//!
//! Every notation is first converted into ordered rules, the most expressive one. A coarser notation then
//! grants only what the rules allow without exception; subjects with the verdict `ask` are not granted.

use agentry_text::Spanned;

use crate::compare::{RefinementAnswer, refines};
use crate::layer::default_rules;
use crate::memo::PolicyMemo;
use crate::notations::{nowhere, of_abilities, of_tools, of_trust, section, sections_of};
use crate::tool_permissions::tools_of;
use crate::{
    Abilities, Ability, AbilityBase, Action, ExecTrust, FilesystemTrust, HazardProtection,
    NetworkTrust, PathAnchors, PatternRule, Permissions, Policy, PolicyContext, RuleList, Section,
    SectionRules, ToolPermissions, Trust,
};

/// Combines all layers into one set of ordered rules; `None` if the definition has no policy.
pub fn to_permissions(
    memo: &PolicyMemo,
    policy: &Policy,
    place: &PolicyContext,
) -> Option<Permissions> {
    let Policy { permissions, trust, abilities, tool_permissions, bases, tests: _ } = policy;
    let layers = [
        permissions.clone(),
        trust.as_ref().map(|trust| of_trust(trust, place)),
        abilities.as_ref().map(of_abilities),
        tool_permissions.as_ref().map(of_tools),
    ];
    let own = layers.into_iter().flatten().reduce(|a, b| meet(memo, &a, &b));
    bases.iter().fold(own, |own, base| Some(bounded(memo, own.as_ref(), base)))
}

/// Returns rules at least as strict as `own` and `base`; a section that `base` does not have is not
/// restricted.
fn bounded(memo: &PolicyMemo, own: Option<&Permissions>, base: &Permissions) -> Permissions {
    let section = |name: &Section| {
        let own = own.and_then(|own| own.get(*name));
        match (own, base.get(*name)) {
            (None, rules) | (rules, None) => rules.cloned(),
            (Some(own), Some(base)) => Some(strictest(memo, own, base)),
        }
    };
    Permissions { sections: Section::ALL.iter().filter_map(section).collect() }
}

/// Returns the sections in which `result` has a milder verdict than `source` for some call, with the rules of
/// the source. A missing section counts as `ask`, and a comparison without an answer as milder.
pub fn widened(source: &Permissions, result: &Permissions) -> Permissions {
    let (places, memo) = (PathAnchors::default(), PolicyMemo::default());
    let compiled = |permissions: &Permissions, section| match permissions.get(section) {
        Some(written) => RuleList::new(written, &places),
        None => default_rules(section, &places),
    };
    let wider = |name: &&Section| {
        let (before, after) = (source.get(**name), result.get(**name));
        // The cheap comparisons come first.
        let stricter = result.mildest(**name) >= source.strictest(**name);
        !stricter && !says_the_same(before, after) && {
            let (before, after) = (compiled(source, **name), compiled(result, **name));
            refines(&memo, &[&after], &[&before], HazardProtection::On) != RefinementAnswer::Yes
        }
    };
    let rules = |name: &Section| {
        let asks = || section(*name, nowhere(), source.mildest(*name), Vec::new());
        source.get(*name).cloned().unwrap_or_else(asks)
    };
    Permissions { sections: Section::ALL.iter().filter(wider).map(rules).collect() }
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
        Abilities { allow: None, deny: Some(spanned(deny)) }
    } else {
        // An allow list denies everything else, so no deny list is needed.
        Abilities { allow: Some(spanned(allow)), deny: None }
    }
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

/// Whether two sections have the same intent and the same rules in the same order.
fn says_the_same(a: Option<&SectionRules>, b: Option<&SectionRules>) -> bool {
    let plain = |rules: &SectionRules| {
        let intent = rules.intent.map(|intent| intent.value);
        (intent, rules.rules.iter().map(|rule| rule.value.clone()).collect::<Vec<_>>())
    };
    a.map(plain) == b.map(plain)
}

/// Returns rules at least as strict as both. Where both have rules in a section, the strictest verdict of
/// either may apply to the whole section.
fn meet(memo: &PolicyMemo, a: &Permissions, b: &Permissions) -> Permissions {
    let both = |section: Section| match (a.get(section), b.get(section)) {
        (None, None) => None,
        (Some(x), None) => Some(x.at_least(b.strictest(section))),
        (None, Some(y)) => Some(y.at_least(a.strictest(section))),
        (Some(x), Some(y)) => Some(strictest(memo, x, y)),
    };
    Permissions { sections: Section::ALL.iter().filter_map(|section| both(*section)).collect() }
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
            let allowed: Vec<_> = allowed.into_iter().filter(|tool| *tool != "Read").collect();
            assert_eq!(allowed, *expected, "{written:?}");
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
    fn a_single_call_that_is_milder_is_noticed() {
        let cases: &[(&[&str], &[&str], bool)] = &[
            (&["git log *:allow"], &["git log *:allow"], false),
            (
                &["git log *:allow", "git push *:deny"],
                &["git push *:deny", "git log *:allow"],
                false,
            ),
            (&["git push *:deny"], &["git push *:deny", "git log *:allow"], true),
            (&["git *:allow", "rm *:deny"], &["git log *:allow", "rm *:deny"], false),
            (&["rm -rf *:deny"], &["rm *:deny"], false),
            (&["rm *:deny"], &["rm -rf *:deny"], true),
        ];
        for (before, after, expected) in cases {
            let before = rules(Section::Bash, Action::Ask, before);
            let after = rules(Section::Bash, Action::Ask, after);
            let wider = !widened(&before, &after).sections.is_empty();
            assert_eq!(wider, *expected, "{before:?} to {after:?}");
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
    fn a_file_that_must_not_be_read_leaves_the_others() {
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
