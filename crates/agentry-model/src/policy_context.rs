//! The values of an agent on which its policy depends, besides the policy itself.

use agentry_policy::{PolicyContext, PolicyServer, web};

use crate::{Agent, McpServer, McpTransport};

/// The trait that turns every edit into a question.
pub const ASK_BEFORE_WRITING: &str = "ask-before-writing";

impl Agent {
    /// Whether it has the trait that turns every edit into a question.
    pub fn asks_before_writing(&self) -> bool {
        let mut traits = self.instructions.traits.iter().flatten();
        traits.any(|text| text.value.trim() == ASK_BEFORE_WRITING)
    }

    /// Returns the values that its policy depends on. `dir` is its directory in the workspace.
    pub fn policy_context(&self, dir: &str) -> PolicyContext {
        PolicyContext {
            dir: dir.to_owned(),
            servers: self.tools.mcp.iter().flatten().map(|spanned| server(spanned)).collect(),
            asks_before_writing: self.asks_before_writing(),
        }
    }
}

fn server(server: &McpServer) -> PolicyServer {
    // A server that runs as a program has no host.
    let program = server.command.is_some()
        || server.transport.is_some_and(|how| how.value == McpTransport::Stdio);
    let host = server.url.as_ref().filter(|_| !program).and_then(|url| host(&url.value));
    PolicyServer { name: server.name.clone(), host }
}

/// Returns the host of a web address, with its port unless it is the default port.
fn host(url: &str) -> Option<String> {
    let address = web::address(url).ok()?;
    let (_, rest) = address.text.split_once("://")?;
    let host = rest.split('/').next()?;
    Some(host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(host).to_owned())
}
