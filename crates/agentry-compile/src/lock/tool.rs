//! A tool of an MCP server as somebody saw it: a description that changes under way is how a server
//! that was trusted talks an agent into something else.

use agentry_model::digest;
use agentry_text::Data;

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedTool {
    /// The server that has it.
    pub server: String,
    /// Its name.
    pub name: String,
    /// `sha256:…` of its description.
    pub description: String,
    /// `sha256:…` of the schema of its input.
    pub schema: String,
}

impl LockedTool {
    /// A tool as its server describes it.
    pub fn new(server: &str, name: &str, description: &str, schema: &Data) -> Self {
        Self {
            server: server.to_owned(),
            name: name.to_owned(),
            description: digest::bytes(description.as_bytes()),
            schema: digest::full(schema),
        }
    }
}
