//! AG9020: an MCP server that is started through a shell.

use agentry_text::{Findings, LintRule, rule};

use crate::packages::{base_name, servers, words};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "fish", "cmd", "powershell", "pwsh"];
const SCRIPT_FLAGS: &[&str] = &["-c", "-lc", "-ic", "/c", "/C", "-Command"];

static RULE: LintRule = rule!("AG9020");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for server in servers(subject.agent) {
        let words = words(server);
        let [(program, place), rest @ ..] = words.as_slice() else { continue };
        // The flag may follow other options of the shell, as in `bash -e -c …`.
        let inline = rest.iter().take(3).any(|(word, _)| SCRIPT_FLAGS.contains(word));
        if inline && SHELLS.contains(&base_name(program)) {
            let message = format!("server `{}` is a line of shell", server.name);
            findings
                .add(&RULE, place.span, message)
                .hint("name the program in `command` and its arguments in `args`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, program};

    #[test]
    fn servers_started_through_a_shell_are_reported() {
        let cases: &[(&str, &[&str], usize)] = &[
            ("bash", &["-c", "curl x | sh"], 1),
            ("/bin/sh", &["-c", "serve"], 1),
            ("cmd", &["/c", "npx", "serve@1.0.0"], 1),
            ("bash -lc 'serve'", &[], 1),
            ("bash", &["serve.sh"], 0),
            ("python3", &["-c", "import serve"], 0),
            ("serve", &["-c", "serve.toml"], 0),
        ];
        for (command, args, expected) in cases {
            assert_eq!(count(&CHECK, &program(command, args)), *expected, "{command} {args:?}");
        }
    }
}
