//! AG9017: an MCP server from a package registry without a version.

use agentry_model::McpServer;
use agentry_text::{Findings, LintRule, Spanned, rule};

use crate::packages::{base_name, servers, words};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// Options of package runners that take a value which is not the package.
const WITH_VALUE: &[&str] =
    &["--python", "--index-url", "--registry", "--with", "--pip-args", "--cache", "--prefix"];
/// Options whose value is the package.
const NAMES_PACKAGE: &[&str] = &["-p", "--package", "--from", "--spec"];

static RULE: LintRule = rule!("AG9017");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for server in servers(subject.agent) {
        let Some((package, place)) = package(server) else { continue };
        if is_pinned(package) {
            continue;
        }
        let bare = package.trim_end_matches("@latest");
        let name = &server.name;
        findings
            .add(&RULE, place.span, format!("server `{name}` runs any version of `{bare}`"))
            .hint(format!("name a version, as in `{bare}@1.2.3`"));
    }
}

/// Returns the package that a runner fetches, with its place.
fn package(server: &McpServer) -> Option<(&str, &Spanned<String>)> {
    let words = words(server);
    let names: Vec<_> = words.iter().take(3).map(|(word, _)| *word).collect();
    let runs = match (base_name(names.first()?), names.get(1..).unwrap_or_default()) {
        ("npx" | "bunx" | "uvx" | "pnpx", _) => 1,
        ("pnpm" | "yarn", ["dlx", ..]) | ("pipx", ["run", ..]) | ("bun", ["x", ..]) => 2,
        ("uv", ["tool", "run"]) => 3,
        _ => return None,
    };
    let mut rest = words.into_iter().skip(runs);
    while let Some((word, place)) = rest.next() {
        // `--package=name`; any other option with its value in the same word is skipped.
        if let Some((option, value)) = word.split_once('=').filter(|_| word.starts_with('-')) {
            if NAMES_PACKAGE.contains(&option) {
                return Some((value, place));
            }
        } else if NAMES_PACKAGE.contains(&word) {
            return rest.next();
        } else if WITH_VALUE.contains(&word) {
            rest.next();
        } else if !word.starts_with('-') {
            return Some((word, place));
        }
    }
    None
}

/// Reports whether a package names a version, or does not come from a registry.
fn is_pinned(package: &str) -> bool {
    let local = package.starts_with(['.', '/', '~', '$']) || package.contains("://");
    // The first character is skipped: an npm scope starts with `@`, as in `@scope/name`.
    let version = package.char_indices().skip(1).find(|(_, c)| *c == '@');
    let version = version.and_then(|(at, _)| package.get(at + 1..));
    local
        || package.contains("==")
        || version.is_some_and(|version| !matches!(version, "" | "latest" | "next" | "*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, program};

    #[test]
    fn unpinned_server_packages_are_reported() {
        let cases: &[(&str, &[&str], usize)] = &[
            ("npx", &["-y", "search-server"], 1),
            ("npx", &["-y", "@scope/search-server"], 1),
            ("npx", &["-y", "@scope/search-server@2.0.1"], 0),
            ("npx", &["-y", "search-server@latest"], 1),
            ("npx -y search-server", &[], 1),
            ("/usr/bin/npx", &["--package=search-server", "serve"], 1),
            ("npx", &["--package", "search-server@1.0.0", "serve"], 0),
            ("npx", &["./local"], 0),
            ("uvx", &["search-server"], 1),
            ("uvx", &["--python", "3.12", "search-server==1.2"], 0),
            ("uvx", &["--from", "git+https://example.org/x@v1", "serve"], 0),
            ("pnpm", &["dlx", "search-server"], 1),
            ("pnpm", &["run", "serve"], 0),
            ("uv", &["tool", "run", "search-server"], 1),
            ("pipx", &["run", "search-server==1.0"], 0),
            ("node", &["server.js"], 0),
            ("npx", &["--yes"], 0),
        ];
        for (command, args, expected) in cases {
            assert_eq!(count(&CHECK, &program(command, args)), *expected, "{command} {args:?}");
        }
    }
}
