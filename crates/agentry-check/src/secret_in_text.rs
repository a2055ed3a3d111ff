//! AG9005: a credential in any text of the agent. The finding never shows it.

use agentry_formats::{FormatInfo, ReaderReport};
use agentry_model::Agent;
use agentry_text::{Findings, LintRule, Spanned, credentials, rule};

use crate::text_spans::{attachments, inside, instructions};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9005");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for text in texts(subject.agent, subject.format) {
        for (kind, range) in credentials::find(text) {
            findings
                .add(
                    &RULE,
                    inside(text, range.start, range.len()),
                    format!("this looks like {kind}"),
                )
                .secret()
                .hint("revoke it, and name an environment variable instead");
        }
    }
}

/// Returns every text that an author writes by hand.
fn texts<'a>(agent: &'a Agent, format: &FormatInfo) -> Vec<&'a Spanned<String>> {
    let identity = [&agent.identity.description, &agent.identity.greeting, &agent.identity.role];
    let prose = instructions(agent).into_iter().chain(attachments(agent)).map(|(_, text)| text);
    let scripts = agent.tools.scripts.iter().filter_map(|script| script.source.as_ref());
    let mut texts: Vec<_> = identity.into_iter().flatten().chain(prose).chain(scripts).collect();
    texts.extend(&agent.tools.source);
    for server in agent.tools.mcp.iter().flatten() {
        texts.extend(server.command.iter().chain(server.args.iter().flatten()));
        // Most readers check these values themselves, by the names of the variables and headers.
        if !format.reports(ReaderReport::ServerSecret) {
            texts.extend(server.env.iter().chain(&server.headers).map(|(_, value)| value));
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use agentry_model::Format;

    use super::*;
    use crate::testing::{found, program, text};

    const TOKEN: &str = concat!("ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");

    #[test]
    fn a_secret_is_reported_by_position_only() {
        let mut agent = Agent::default();
        agent.identity.description = Some(text(&format!("Uses {TOKEN}")));
        let lines = found(&CHECK, &agent, Format::AgentToml);
        assert_eq!(lines, ["5..45 this looks like a GitHub token"]);
    }

    #[test]
    fn secrets_in_server_arguments_are_reported() {
        let mut agent = program("server", &["--token", TOKEN]);
        assert_eq!(found(&CHECK, &agent, Format::Manifest).len(), 1);
        for server in agent.tools.mcp.iter_mut().flatten() {
            server.value.env = vec![("TOKEN".to_owned(), text(TOKEN))];
            server.value.args = None;
        }
        assert_eq!(found(&CHECK, &agent, Format::Manifest).len(), 1);
        assert_eq!(found(&CHECK, &agent, Format::AgentDir).len(), 0);
    }
}
