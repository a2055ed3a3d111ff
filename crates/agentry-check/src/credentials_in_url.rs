//! AG9019: a password or a token in the address of an MCP server. The finding never shows it.

use std::ops::Range;

use agentry_text::{Findings, LintRule, rule};

use crate::packages::servers;
use crate::text_spans::inside;
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// Names of query parameters whose values are secrets.
const SECRET_NAMES: &[&str] = &[
    "token",
    "access_token",
    "api_key",
    "apikey",
    "api-key",
    "key",
    "secret",
    "password",
    "auth",
    "client_secret",
];

static RULE: LintRule = rule!("AG9019");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for server in servers(subject.agent) {
        let Some(url) = &server.url else { continue };
        let parts = [(password(url), "a password"), (query_secret(url), "a token")];
        for (range, what) in parts {
            let Some(range) = range else { continue };
            let message = format!("the address of server `{}` holds {what}", server.name);
            findings
                .add(&RULE, inside(url, range.start, range.len()), message)
                .secret()
                .hint("send it in a header that names a variable: `${env:NAME}`");
        }
    }
}

/// Returns the range of the password before the host.
fn password(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + 3;
    let authority = url.get(start..)?.split(['/', '?', '#']).next()?;
    // The password may contain `@`; the last one precedes the host.
    let at = authority.rfind('@')?;
    let colon = authority.get(..at)?.find(':')?;
    let range = start + colon + 1..start + at;
    is_literal(url.get(range.clone())?, 1).then_some(range)
}

/// Returns the range of the first secret among the query parameters.
fn query_secret(url: &str) -> Option<Range<usize>> {
    let mut start = url.find('?')? + 1;
    let query = url.get(start..)?.split('#').next()?;
    for pair in query.split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && SECRET_NAMES.contains(&name.to_lowercase().as_str())
            // A shorter value is hardly a key.
            && is_literal(value, 8)
        {
            let from = start + name.len() + 1;
            return Some(from..from + value.len());
        }
        start += pair.len() + 1;
    }
    None
}

/// Reports whether a value is literal: long enough, and not a reference or placeholder.
fn is_literal(value: &str, least: usize) -> bool {
    value.len() >= least && !value.contains(['$', '{', '<'])
}

#[cfg(test)]
mod tests {
    use agentry_model::Format;

    use super::*;
    use crate::testing::{address, found};

    #[test]
    fn credentials_in_addresses_are_reported() {
        let cases = [
            ("https://me:hunter2@example.com/mcp", Some("11..18")),
            ("https://example.com/mcp?a=1&token=0123456789", Some("34..44")),
            ("https://example.com/mcp?api_key=${env:KEY}", None),
            ("https://me@example.com/mcp", None),
            ("https://example.com/mcp?key=short", None),
            ("https://example.com/@me:x", None),
            ("not an address", None),
        ];
        for (url, expected) in cases {
            let lines = found(&CHECK, &address(url), Format::AgentDir);
            let place = lines.first().and_then(|line| line.split(' ').next());
            assert_eq!(place, expected, "{url}");
            assert!(!lines.iter().any(|line| line.contains("hunter2")), "{lines:?}");
        }
    }
}
