//! The tools an agent uses and the ones it brings.

use agentry_policy::words;
use agentry_text::{Data, Spanned};

use crate::{Field, ListField};

/// The tools of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools {
    /// Built-in tools by name.
    pub native: ListField<String>,
    /// MCP servers.
    pub mcp: Option<Vec<Spanned<McpServer>>>,
    /// Scripts, run in a JavaScript sandbox.
    pub scripts: Vec<Spanned<ScriptTool>>,
    /// Functions found in the definition's own JavaScript.
    pub functions: Vec<Spanned<Function>>,
    /// That JavaScript, block by block.
    pub source: Vec<Spanned<String>>,
}

/// A server of tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is spoken to.
    pub transport: Field<Transport>,
    /// The program that is it.
    pub command: Field<String>,
    /// The program's arguments.
    pub args: ListField<String>,
    /// Its address.
    pub url: Field<String>,
    /// Headers sent with every request.
    pub headers: Vec<(String, Spanned<String>)>,
    /// Variables for the program.
    pub env: Vec<(String, Spanned<String>)>,
    /// Whether it is used; it is unless said otherwise.
    pub enabled: Field<bool>,
    /// How long a call may take, in seconds.
    pub timeout: Field<i64>,
    /// What else the definition says of it, by key.
    pub options: Vec<(String, Data)>,
}

words! {
    /// How an MCP server is spoken to.
    pub enum Transport {
        /// Through the program's standard streams.
        Stdio = "stdio",
        /// Streamable HTTP.
        StreamableHttp = "streamable-http",
        /// HTTP with server-sent events, the older way.
        Http = "http",
    }
}

/// A script that is a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptTool {
    /// Its name.
    pub name: Field<String>,
    /// What it does.
    pub description: Field<String>,
    /// The script, relative to the agent's directory, else to the workspace.
    pub path: Field<String>,
    /// The tools that it may call; none unless listed.
    pub allowed_tools: ListField<String>,
    /// What it may use.
    pub limits: ScriptLimits,
    /// The JSON Schema of its input.
    pub inputs: Field<Data>,
    /// The script itself, when it lies in the agent's directory.
    pub source: Field<String>,
}

/// What a script may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Milliseconds.
    pub timeout_ms: Field<i64>,
    /// Calls of other tools.
    pub max_tool_calls: Field<i64>,
    /// Bytes of one result.
    pub max_output_bytes: Field<i64>,
}

/// A function of the definition's own JavaScript.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Function {
    /// The key under which it is returned.
    pub name: String,
    /// What its scheme says it does.
    pub description: Field<String>,
    /// The JSON Schema of its arguments, as far as it can be read without running the code.
    pub parameters: Field<Data>,
}
