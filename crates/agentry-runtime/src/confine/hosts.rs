//! The hosts that commands may reach: those for which the policy allows every address.

use std::fmt;
use std::net::IpAddr;

use agentry_compile::policy::compare::{RefinementAnswer, refines};
use agentry_compile::policy::path::NoLinks;
use agentry_compile::policy::{
    Action, HazardProtection, Judge, Pattern, PatternKind, PolicyRule, RuleList, Section,
    SectionCall, web,
};
use agentry_sandbox::proxy::{HostReach, ProxyGate};

/// The hosts that commands may reach, for the proxy.
#[derive(Clone)]
pub struct PolicyHosts(Judge);

impl fmt::Debug for PolicyHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicyHosts").field(&self.names()).finish()
    }
}

impl PolicyHosts {
    pub(super) fn new(judge: &Judge) -> Self {
        Self(judge.clone())
    }

    /// Returns whether no host can be reached.
    pub fn is_empty(&self) -> bool {
        !self.is_everything() && self.names().is_empty()
    }

    /// Returns whether every public host can be reached.
    pub fn is_everything(&self) -> bool {
        self.open("https", "a-name-that-nobody-uses.example", 443).is_ok()
    }

    /// Returns the patterns that open hosts, as they are written. A pattern with a wildcard is included
    /// if it may open some hosts.
    pub fn names(&self) -> Vec<String> {
        let rules = self.0.rules(Section::Webfetch).flat_map(|(_, rules)| rules.rules.iter());
        let granting = rules.filter(|rule| rule.action == Action::Allow);
        let opens = |rule: &&PolicyRule| {
            let (scheme, host, port) = parts(&rule.pattern.text);
            host.contains('*') || self.open(scheme, host, port).is_ok()
        };
        let mut names: Vec<String> =
            granting.filter(opens).map(|rule| rule.pattern.text.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

impl ProxyGate for PolicyHosts {
    fn open(&self, scheme: &str, host: &str, port: u16) -> Result<HostReach, String> {
        let judge = &self.0;
        let closed = || format!("the policy does not let commands reach `{host}` on port {port}");
        // An IPv6 address needs brackets in a URL.
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let place = format!("{scheme}://{host}:{port}");
        let (subject, directory) = (format!("{place}/"), &judge.places().workspace);
        let call = SectionCall { section: Section::Webfetch, subject: &subject, directory };
        let address = web::address(&subject).map_err(|_| closed())?;
        if judge.judge(call, &NoLinks).action != Action::Allow || !whole(judge, &place) {
            return Err(closed());
        }
        // A private address passes the policy only if a rule names it.
        Ok(if address.private { HostReach::Private } else { HostReach::Public })
    }

    fn is_private(&self, address: IpAddr) -> bool {
        web::is_private_ip(address)
    }
}

/// Returns whether the policy allows every address of a host.
fn whole(judge: &Judge, place: &str) -> bool {
    let rule = |text: &str, action| PolicyRule {
        pattern: Pattern::new(PatternKind::Web, text, action, judge.places()),
        action,
        text: String::new(),
        span: None,
    };
    // The proxy sees only the host, not the path, so the host must be allowed with every path.
    let claim = RuleList {
        section: Section::Webfetch,
        rules: vec![rule(place, Action::Allow)],
        intent: rule("**", Action::Deny),
    };
    let policy: Vec<&RuleList> = judge.rules(Section::Webfetch).map(|(_, rules)| rules).collect();
    matches!(refines(judge.memo(), &[&claim], &policy, HazardProtection::On), RefinementAnswer::Yes)
}

/// Returns scheme, host and port of a pattern.
fn parts(pattern: &str) -> (&str, &str, u16) {
    let (scheme, rest) = pattern.split_once("://").unwrap_or(("https", pattern));
    let place = rest.split(['/', '?']).next().unwrap_or_default();
    let default = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
    match place.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => (scheme, bare(host), port.parse().unwrap_or(default)),
        None => (scheme, bare(place), default),
    }
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}
