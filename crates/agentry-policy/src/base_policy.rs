//! Combines the policy of an agent with that of its base, so that the child is nowhere milder than the base.

use agentry_text::Spanned;

use crate::memo::PolicyMemo;
use crate::narrow::strictest;
use crate::notations::{nowhere, of_abilities, of_tools, of_trust, section};
use crate::{
    Abilities, Action, DeclaredList, Permissions, Policy, PolicyContext, Section, ToolPermissions,
    Trust,
};

/// Returns the policy of `child` on top of `base`, with the combined trust. A notation that only one of them
/// uses is inherited. Where both use the same notation, the rules of the base become a further layer.
pub fn under(base: &Policy, child: &Policy, trust: Option<Trust>) -> Policy {
    let Policy { permissions, trust: _, abilities, tool_permissions, bases: _, tests } = child;
    let mut bases: Vec<Permissions> = Vec::new();
    if let (Some(base), Some(_)) = (&base.permissions, permissions) {
        bases.push(spelt_out(base));
    }
    if let (Some(base), Some(_)) = (&base.abilities, abilities) {
        bases.push(of_abilities(base));
    }
    if let (Some(base), Some(_)) = (&base.tool_permissions, tool_permissions) {
        bases.push(spelt_out(&of_tools(base)));
    }
    let silent: Vec<_> = Section::ALL
        .iter()
        .filter(|section| !speaks(base, **section) && names(child, **section))
        .map(|section| section.unwritten())
        .collect();
    if !silent.is_empty() {
        bases.push(Permissions { sections: silent });
    }
    bases.extend(base.bases.iter().cloned());
    Policy {
        permissions: both_permissions(base, permissions.as_ref()),
        trust,
        abilities: both_abilities(base.abilities.as_ref(), abilities.as_ref()),
        tool_permissions: both_tools(base.tool_permissions.as_ref(), tool_permissions.as_ref()),
        bases,
        tests: tests.clone(),
    }
}

/// Returns the child's sections, and those of the base for sections that the child omits.
fn both_permissions(base: &Policy, child: Option<&Permissions>) -> Option<Permissions> {
    let Some(child) = child else { return base.permissions.clone() };
    let inherited = |name: &Section| match &base.permissions {
        Some(rules) => rules.get(*name).cloned(),
        // The base decides this section in another notation; `allow` here leaves the verdict to that layer.
        None => speaks(base, *name).then(|| section(*name, nowhere(), Action::Allow, Vec::new())),
    };
    let omitted = Section::ALL.iter().filter(|name| child.get(**name).is_none());
    let sections = child.sections.iter().cloned().chain(omitted.filter_map(inherited));
    Some(Permissions { sections: sections.collect() })
}

/// Returns the child's abilities; abilities that the base denies stay denied.
fn both_abilities(base: Option<&Abilities>, child: Option<&Abilities>) -> Option<Abilities> {
    let (Some(base), Some(child)) = (base, child) else { return child.or(base).cloned() };
    let allow = child.allow.clone().or_else(|| base.allow.clone());
    Some(Abilities { allow, deny: united(&base.deny, &child.deny) })
}

/// Returns the child's lists; tools that the base denies stay denied.
fn both_tools(
    base: Option<&ToolPermissions>,
    child: Option<&ToolPermissions>,
) -> Option<ToolPermissions> {
    let (Some(base), Some(child)) = (base, child) else { return child.or(base).cloned() };
    let allowed = child.allowed.clone().or_else(|| base.allowed.clone());
    Some(ToolPermissions { allowed, denied: united(&base.denied, &child.denied) })
}

/// Returns the items of both lists, each once.
fn united<T: Clone + PartialEq>(
    base: &DeclaredList<T>,
    child: &DeclaredList<T>,
) -> DeclaredList<T> {
    let (Some(base), Some(child)) = (base, child) else {
        return child.clone().or_else(|| base.clone());
    };
    let new = |item: &&Spanned<T>| base.iter().all(|known| known.value != item.value);
    Some(base.iter().chain(child.iter().filter(new)).cloned().collect())
}

/// Whether any layer of a policy decides in `section`.
fn speaks(policy: &Policy, section: Section) -> bool {
    policy.permissions.is_some()
        || policy.tool_permissions.is_some()
        || policy.bases.iter().any(|rules| rules.get(section).is_some())
        || names(policy, section)
}

/// Whether a policy itself has rules about `section`, rather than the default.
fn names(policy: &Policy, section: Section) -> bool {
    let tools = policy.tool_permissions.as_ref().map(of_tools);
    let abilities = policy.abilities.as_ref().map(of_abilities);
    let trust = of_trust(&Trust::default(), &PolicyContext::default());
    policy.permissions.as_ref().is_some_and(|rules| rules.get(section).is_some())
        || tools.is_some_and(|rules| rules.get(section).is_some())
        || (policy.trust.is_some() && trust.get(section).is_some())
        || abilities.is_some_and(|rules| rules.get(section).is_some())
}

/// Returns the same rules with every section present.
fn spelt_out(permissions: &Permissions) -> Permissions {
    let of = |section: &Section| {
        permissions.get(*section).cloned().unwrap_or_else(|| section.unwritten())
    };
    Permissions { sections: Section::ALL.iter().map(of).collect() }
}

/// Returns the same policy without base layers, for a format that cannot express them. It is nowhere milder,
/// and stricter only where two lists of rules cannot be merged exactly.
pub fn flattened(policy: &Policy) -> Policy {
    if policy.bases.is_empty() {
        return policy.clone();
    }
    let own = Policy { bases: Vec::new(), ..policy.clone() };
    let rest = Policy { permissions: None, ..own.clone() };
    let memo = PolicyMemo::default();
    let section = |name: &Section| {
        let declared = policy
            .permissions
            .as_ref()
            .map(|rules| rules.get(*name).cloned().unwrap_or_else(|| name.unwritten()));
        let bases = policy.bases.iter().filter_map(|rules| rules.get(*name).cloned());
        let all = declared.into_iter().chain(bases).reduce(|a, b| strictest(&memo, &a, &b));
        // `allow` here leaves the verdict to the other notations.
        let left = || section(*name, nowhere(), Action::Allow, Vec::new());
        all.or_else(|| speaks(&rest, *name).then(left))
    };
    let sections = Section::ALL.iter().filter_map(section).collect();
    Policy { permissions: Some(Permissions { sections }), ..own }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SectionRules;
    use crate::compare::{RefinementAnswer, refines};
    use crate::{
        ExecTrust, FilesystemTrust, HazardProtection, Judge, NetworkTrust, PathAnchors, layers,
    };

    fn rules(name: Section, intent: Action, written: &[&str]) -> SectionRules {
        let rule = |text: &&str| Spanned::new(text.parse().expect("a rule"), nowhere());
        section(name, nowhere(), intent, written.iter().map(rule).collect())
    }

    fn permissions(sections: Vec<SectionRules>) -> Policy {
        Policy { permissions: Some(Permissions { sections }), ..Policy::default() }
    }

    fn abilities(allow: &[&str]) -> Policy {
        let ability = |text: &&str| Spanned::new(text.parse().expect("an ability"), nowhere());
        let allow = Some(allow.iter().map(ability).collect());
        Policy { abilities: Some(Abilities { allow, deny: None }), ..Policy::default() }
    }

    fn tools(allowed: &[&str], denied: &[&str]) -> Policy {
        let list = |names: &[&str]| {
            Some(names.iter().map(|name| Spanned::new((*name).to_owned(), nowhere())).collect())
        };
        let tools = ToolPermissions { allowed: list(allowed), denied: list(denied) };
        Policy { tool_permissions: Some(tools), ..Policy::default() }
    }

    fn trust(filesystem: FilesystemTrust, network: NetworkTrust, exec: ExecTrust) -> Policy {
        let trust = Trust {
            filesystem: Some(Spanned::new(filesystem, nowhere())),
            network: Some(Spanned::new(network, nowhere())),
            exec: Some(Spanned::new(exec, nowhere())),
            scope: None,
            hosts: None,
        };
        Policy { trust: Some(trust), ..Policy::default() }
    }

    fn policies() -> Vec<Policy> {
        vec![
            Policy::default(),
            permissions(vec![rules(Section::Bash, Action::Ask, &["git log *:allow", "rm *:deny"])]),
            permissions(vec![
                rules(Section::Bash, Action::Allow, &["git push *:deny"]),
                rules(Section::Question, Action::Allow, &[]),
            ]),
            abilities(&["fs", "sh:git"]),
            abilities(&["network", "mcp", "env"]),
            tools(&["Bash", "deploy"], &["Edit"]),
            tools(&["Read"], &["mcp__*"]),
            trust(FilesystemTrust::Full, NetworkTrust::Allowed, ExecTrust::Full),
            trust(FilesystemTrust::ReadOnly, NetworkTrust::None, ExecTrust::None),
        ]
    }

    /// The first section in which `first` is milder than `second`.
    fn milder(first: &Policy, second: &Policy) -> Option<Section> {
        let places = PathAnchors::default();
        let judge =
            |policy| Judge::new(layers(policy, &PolicyContext::default(), &places), places.clone());
        let (first, second) = (judge(first), judge(second));
        let is_milder = |section: &&Section| {
            let first: Vec<_> = first.rules(**section).map(|(_, rules)| rules).collect();
            let second: Vec<_> = second.rules(**section).map(|(_, rules)| rules).collect();
            refines(&PolicyMemo::default(), &first, &second, HazardProtection::On)
                != RefinementAnswer::Yes
        };
        Section::ALL.iter().find(is_milder).copied()
    }

    #[test]
    fn a_child_is_nowhere_milder_than_its_base() {
        for base in policies() {
            for child in policies() {
                let trust = base.trust.clone().or_else(|| child.trust.clone());
                let whole = under(&base, &child, trust);
                assert_eq!(milder(&whole, &base), None, "{child:?} on {base:?}");
                assert_eq!(milder(&flattened(&whole), &whole), None, "{child:?} on {base:?}");
            }
        }
    }

    #[test]
    fn an_empty_child_policy_equals_its_base() {
        for base in policies() {
            assert_eq!(under(&base, &Policy::default(), base.trust.clone()), base);
        }
    }

    #[test]
    fn narrowing_child_rules_are_kept_unchanged() {
        let base = permissions(vec![rules(Section::Bash, Action::Ask, &["git *:allow"])]);
        let child = permissions(vec![rules(Section::Bash, Action::Ask, &["git log *:allow"])]);
        let flat = flattened(&under(&base, &child, None));
        let left = flat.permissions.as_ref().and_then(|rules| rules.get(Section::Bash));
        assert_eq!(left, child.permissions.as_ref().and_then(|rules| rules.get(Section::Bash)));
    }
}
