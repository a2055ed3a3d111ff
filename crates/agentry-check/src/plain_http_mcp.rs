//! AG9018: an MCP server on another machine that is reached over plain `http`.

use agentry_text::{Findings, LintRule, rule};

use crate::packages::servers;
use crate::text_spans::inside;
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

const SCHEME: &str = "http://";

static RULE: LintRule = rule!("AG9018");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for server in servers(subject.agent) {
        let Some(url) = &server.url else { continue };
        let Some(rest) = url.strip_prefix(SCHEME) else { continue };
        if !stays_here(host(rest)) {
            let message = format!("server `{}` is spoken to in plain text", server.name);
            findings.add(&RULE, inside(url, 0, SCHEME.len()), message).hint("use `https://`");
        }
    }
}

/// Returns the host of an address without its scheme, without user name and port.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    // An IPv6 address is in brackets, because it contains colons itself.
    match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        None => host.split(':').next().unwrap_or(host),
    }
}

/// Reports whether a host is this machine or on its local network. A variable is treated as local,
/// because its value may be.
fn stays_here(host: &str) -> bool {
    let host = host.to_lowercase();
    let loopback = host == "::1" || host.starts_with("127.") || host == "0.0.0.0";
    // A name without a dot is resolved locally only, such as a container on the same network.
    let beside = !host.contains(['.', ':']);
    loopback
        || beside
        || host.contains("${")
        || host.ends_with(".localhost")
        || host == "host.docker.internal"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{address, count};

    #[test]
    fn plain_http_servers_are_reported() {
        let cases = [
            ("http://search.example.com/mcp", 1),
            ("http://user@search.example.com:8080", 1),
            ("http://192.0.2.7/mcp", 1),
            ("http://[2001:db8::1]/mcp", 1),
            ("https://search.example.com/mcp", 0),
            ("http://localhost:3000/mcp", 0),
            ("http://127.0.0.1/mcp", 0),
            ("http://[::1]:3000/mcp", 0),
            ("http://mcp:3000", 0),
            ("http://${env:HOST}/mcp", 0),
        ];
        for (url, expected) in cases {
            assert_eq!(count(&CHECK, &address(url)), expected, "{url}");
        }
    }
}
