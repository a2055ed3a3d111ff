//! Merges trust, which only narrows: an axis that the child omits is inherited, one that it declares is
//! at most the base's, and its paths and hosts lie inside the base's.

use agentry_policy::memo::PolicyMemo;
use std::fmt::Display;

use agentry_model::{Agent, Declared, DeclaredList};
use agentry_policy::compare::{RefinementAnswer, refines};
use agentry_policy::{
    Action, ExecTrust, FilesystemTrust, HazardProtection, NetworkTrust, PathAnchors, PatternRule,
    RuleList, Section, SectionRules, Trust,
};
use agentry_text::{Findings, Span, Spanned};

use super::rules::WIDER_THAN_BASE;
use crate::relocate::relative;
use crate::world::World;
use agentry_text::path::absolute as normal;
use agentry_text::path::join;

/// The limits that a base sets for the trust of its children.
pub(super) struct TrustLimits<'a> {
    pub(super) world: &'a dyn World,
    /// The directory that relative paths start from.
    pub(super) dir: &'a str,
    /// The base, as seen from there.
    pub(super) base: &'a Agent,
}

impl TrustLimits<'_> {
    /// The trust of a child that declares `child`. A wider value is reported and not granted.
    pub(super) fn merge(&self, child: Option<&Trust>, findings: &mut Findings) -> Option<Trust> {
        let base = self.base.policy.trust.as_ref();
        let (Some(base), Some(child)) = (base, child) else { return child.or(base).cloned() };
        let Trust { filesystem, network, exec, scope, hosts } = child;
        let open = base.filesystem.unwrap_or(Spanned::new(FilesystemTrust::None, nowhere()));
        let web = base.network.unwrap_or(Spanned::new(NetworkTrust::None, nowhere()));
        let run = base.exec.unwrap_or(Spanned::new(ExecTrust::None, nowhere()));
        let scope = self.scope(base, scope, open.value, findings);
        let hosts =
            hosts_inside(&self.world.memo().render.policy, base, (hosts, web.value), findings);
        Some(Trust {
            filesystem: Some(axis("filesystem", *filesystem, open, findings)),
            network: Some(axis("network", *network, web, findings)),
            exec: Some(axis("exec", *exec, run, findings)),
            scope,
            hosts,
        })
    }

    fn scope(
        &self,
        base: &Trust,
        child: &DeclaredList<String>,
        open: FilesystemTrust,
        findings: &mut Findings,
    ) -> DeclaredList<String> {
        let Some(paths) = child else { return base.scope.clone() };
        // Only a `scoped` base has paths to compare with. Otherwise the axis alone is the limit.
        if open != FilesystemTrust::Scoped {
            return child.clone();
        }
        let limits: Vec<_> = base.scope.iter().flatten().collect();
        let real: Vec<_> = limits.iter().filter_map(|path| self.real(path)).collect();
        let mut kept = Vec::new();
        for path in paths {
            let found = self.real(path);
            match found.filter(|found| real.iter().any(|limit| lies_in(limit, found))) {
                Some(found) => kept.push(Spanned::new(self.settled(path, &found), path.span)),
                None => {
                    let message =
                        format!("`{}` does not lie inside the `scope` of the base", path.value);
                    let found = findings.add(&WIDER_THAN_BASE, path.span, message);
                    for limit in limits.iter().filter(|limit| limit.span.is_written()) {
                        found.related(limit.span, "the base is trusted with this");
                    }
                    found.hint("name a path inside it; links count as what they lead to");
                }
            }
        }
        Some(kept)
    }

    /// The real path of a path in a scope, with links resolved.
    fn real(&self, path: &str) -> Option<String> {
        let full = match path.strip_prefix("~/") {
            Some(rest) => join(&self.world.machine().home.clone()?, rest),
            None if path.starts_with('/') => path.to_owned(),
            None => join(&self.world.absolute(self.dir), path),
        };
        let real = self.world.real(&full)?;
        let real = if self.world.ignores_case(self.dir) { real.to_lowercase() } else { real };
        Some(real.trim_end_matches('/').to_owned())
    }

    /// The path as written, or its real path if a link leads elsewhere. A link could change later.
    fn settled(&self, path: &str, real: &str) -> String {
        let Some(dir) = self.real(".") else { return real.to_owned() };
        if path.starts_with(['/', '~']) || normal(&join(&dir, path)) == real {
            return path.to_owned();
        }
        relative(&dir, real)
    }
}

/// The hosts of a child that lie inside the base's.
fn hosts_inside(
    memo: &PolicyMemo,
    base: &Trust,
    (child, open): (&DeclaredList<String>, NetworkTrust),
    findings: &mut Findings,
) -> DeclaredList<String> {
    let Some(hosts) = child else { return base.hosts.clone() };
    if open != NetworkTrust::Scoped {
        return child.clone();
    }
    let limits = base.hosts.as_deref().unwrap_or_default();
    let bound = rules_of(limits);
    let mut kept = Vec::new();
    for host in hosts {
        let one = rules_of(std::slice::from_ref(host));
        if refines(memo, &[&one], &[&bound], HazardProtection::On) == RefinementAnswer::Yes {
            kept.push(host.clone());
            continue;
        }
        let message = format!("`{}` does not lie inside the `hosts` of the base", host.value);
        let found = findings.add(&WIDER_THAN_BASE, host.span, message);
        for limit in limits.iter().filter(|limit| limit.span.is_written()) {
            found.related(limit.span, "the base is trusted with this");
        }
        found.hint("name a host that the base names too");
    }
    Some(kept)
}

/// One axis: the child's value, at most the base's.
fn axis<T: Copy + Ord + Display>(
    name: &str,
    child: Declared<T>,
    base: Spanned<T>,
    findings: &mut Findings,
) -> Spanned<T> {
    let Some(child) = child else { return base };
    if child.value <= base.value {
        return child;
    }
    let message =
        format!("`{name}: {}` is more than the `{}` of the base", child.value, base.value);
    let found = findings.add(&WIDER_THAN_BASE, child.span, message);
    if base.span.is_written() {
        found.related(base.span, "the base is trusted with this");
    }
    found.hint("write at most what the base has, or leave it out to inherit it");
    base
}

/// Whether `path` is `limit` or below it.
fn lies_in(limit: &str, path: &str) -> bool {
    path.strip_prefix(limit).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A rule list that allows these hosts and no other.
fn rules_of(hosts: &[Spanned<String>]) -> RuleList {
    let rule = |host: &Spanned<String>| {
        host.clone().map(|pattern| PatternRule { pattern, action: Action::Allow })
    };
    let written = SectionRules {
        section: Spanned::new(Section::Webfetch, nowhere()),
        intent: Some(Spanned::new(Action::Deny, nowhere())),
        rules: hosts.iter().map(rule).collect(),
    };
    RuleList::new(&written, &PathAnchors::default())
}

fn nowhere() -> Span {
    Span::start_of(agentry_text::FileId::BUILT_IN)
}
