//! AG9021: an MCP server that needs a path in one user's home directory.

use agentry_text::{Findings, LintRule, Spanned, rule};

use crate::packages::servers;
use crate::text_spans::inside;
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// The parents of home directories on Linux, macOS and Windows.
const HOMES: &[&str] = &["/home/", "/Users/", "C:\\Users\\", "C:/Users/"];

static RULE: LintRule = rule!("AG9021");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for server in servers(subject.agent) {
        let words = server.command.iter().chain(server.args.iter().flatten());
        for word in words {
            report(word, &server.name, findings);
        }
    }
}

fn report(word: &Spanned<String>, server: &str, findings: &mut Findings) {
    let found = HOMES.iter().filter_map(|home| Some((word.find(home)?, home.len()))).min();
    let Some((at, len)) = found else { return };
    let rest = word.get(at + len..).unwrap_or("");
    let user = rest.split(['/', '\\']).next().unwrap_or("");
    // In the middle of a longer path or address the same text is not a home directory.
    let starts = at == 0 || word.get(..at).is_some_and(|before| before.ends_with(['=', ':', ' ']));
    // `$USER`, `<name>`, `{name}` and `*` are placeholders, not one user's name.
    if starts && !user.is_empty() && !user.starts_with(['$', '<', '{', '*']) {
        let message = format!("server `{server}` needs a file in the home of `{user}`");
        findings
            .add(&RULE, inside(word, at, len + user.len()), message)
            .hint("use a path relative to the workspace, or a program on `PATH`");
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::Format;

    use super::*;
    use crate::testing::{found, program};

    #[test]
    fn arguments_with_a_home_directory_are_reported() {
        let cases = [
            ("/home/alice/x", Some("0..11")),
            ("--root=/Users/bob/x", Some("7..17")),
            ("C:\\Users\\bob\\x", Some("0..12")),
            ("/home/", None),
            ("/home/$USER/x", None),
            ("data/home/alice", None),
            ("/opt/x", None),
        ];
        for (argument, expected) in cases {
            let lines = found(&CHECK, &program("serve", &[argument]), Format::AgentDir);
            let place = lines.first().and_then(|line| line.split(' ').next());
            assert_eq!(place, expected, "{argument}");
        }
    }
}
