//! AG9040 and AG9041: scoped trust whose scope or host pattern leaves nothing out.

use agentry_policy::Trust;
use agentry_text::{Findings, LintRule, Spanned, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const SCOPE: RuleCheck = RuleCheck { rule: &WIDE_SCOPE, check: scope };
pub(super) const HOSTS: RuleCheck = RuleCheck { rule: &WIDE_HOSTS, check: hosts };

static WIDE_SCOPE: LintRule = rule!("AG9040");

static WIDE_HOSTS: LintRule = rule!("AG9041");

fn scope(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for path in listed(subject, |trust| trust.scope.as_ref()) {
        if is_every_path(path) {
            findings
                .add(
                    &WIDE_SCOPE,
                    path.span,
                    format!("the scope `{}` leaves nothing out", path.value),
                )
                .hint("name the directories that the agent writes to");
        }
    }
}

fn hosts(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for host in listed(subject, |trust| trust.hosts.as_ref()) {
        if is_every_host(host) {
            findings
                .add(&WIDE_HOSTS, host.span, format!("the host `{}` is every host", host.value))
                .hint("name the hosts that the agent talks to");
        }
    }
}

fn listed<'a>(
    subject: &CheckSubject<'a>,
    of: impl Fn(&'a Trust) -> Option<&'a Vec<Spanned<String>>>,
) -> impl Iterator<Item = &'a Spanned<String>> {
    subject.agent.policy.trust.as_ref().and_then(of).into_iter().flatten()
}

/// Reports whether a path is the root, the home directory, or wildcards alone.
fn is_every_path(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let is_wild = |part: &str| part.chars().all(|c| c == '*');
    let (rooted, home) = (path.starts_with('/'), path.starts_with('~'));
    match parts.next() {
        None => rooted,
        Some("~") if home => parts.all(is_wild),
        // A relative `*` is only the files of the workspace's top directory, so it counts as a real scope.
        Some(first) => is_wild(first) && parts.all(is_wild) && (rooted || first == "**"),
    }
}

/// Reports whether a host pattern has no literal label.
fn is_every_host(host: &str) -> bool {
    let host = host.split_once("://").map_or(host, |(_, host)| host);
    let host = host.split(['/', ':']).next().unwrap_or(host);
    host == "*" || host.split('.').all(|label| label == "**")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_cover_everything_are_recognised() {
        let paths = [
            ("/", true),
            ("//", true),
            ("/.", true),
            ("/*", true),
            ("/**", true),
            ("**", true),
            ("**/*", true),
            ("~", true),
            ("~/", true),
            ("~/**", true),
            (".", false),
            ("./", false),
            ("*", false),
            ("src/**", false),
            ("/srv", false),
            ("~/reports", false),
        ];
        for (path, expected) in paths {
            assert_eq!(is_every_path(path), expected, "{path}");
        }
        let hosts = [
            ("**", true),
            ("*", true),
            ("**.**", true),
            ("https://**", true),
            ("**:443", true),
            ("**/api", true),
            ("*.example.com", false),
            ("**.example.com", false),
            ("localhost", false),
            ("", false),
        ];
        for (host, expected) in hosts {
            assert_eq!(is_every_host(host), expected, "{host}");
        }
    }
}
