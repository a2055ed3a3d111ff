//! The locked description of an MCP tool. A trusted server could later change a description to inject
//! instructions into an agent.

use agentry_model::digest;
use agentry_text::Data;

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedTool {
    /// The server that offers it.
    pub server: String,
    /// Its name.
    pub name: String,
    /// `sha256:…` of its description.
    pub description: String,
    /// `sha256:…` of its input schema.
    pub schema: String,
}

impl LockedTool {
    /// Hashes a tool as its server describes it.
    pub fn new(server: &str, name: &str, description: &str, schema: &Data) -> Self {
        Self {
            server: server.to_owned(),
            name: name.to_owned(),
            description: digest::bytes(description.as_bytes()),
            schema: digest::full(schema),
        }
    }
}
