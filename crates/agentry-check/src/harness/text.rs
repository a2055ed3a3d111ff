//! Secrets in the texts and servers of an agent, by the checks that definitions have as well.

use agentry_model::Agent;
use agentry_text::{Findings, Spanned};

use super::agent::AuthoredAgent;
use super::{HarnessSubject, as_definition, servers};
use crate::secret_in_text;

/// Fields that hold servers.
const SERVERS: &[&str] = &["mcpServers", "mcp_servers", "mcp-servers"];

pub(super) fn check(
    subject: &HarnessSubject<'_>,
    agent: &AuthoredAgent<'_>,
    findings: &mut Findings,
) {
    let mut plain = Agent::default();
    let description = agent.text("description");
    plain.identity.description = description.map(|it| Spanned::new(it.value.to_owned(), it.span));
    plain.instructions.system.clone_from(&agent.prompt);
    if let Some(checked) = as_definition(&plain, subject) {
        (secret_in_text::CHECK.check)(&checked, findings);
    }
    for node in SERVERS.iter().filter_map(|name| agent.node(name)) {
        servers::check(subject, node, findings);
    }
}
