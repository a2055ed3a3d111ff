//! The tools an agent uses and the ones it brings.

use agentry_policy::words;
use agentry_text::{Data, Spanned};

use crate::{Declared, DeclaredList};

/// The tools of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentTools {
    /// Built-in tools by name.
    pub native: DeclaredList<String>,
    /// MCP servers.
    pub mcp: Option<Vec<Spanned<McpServer>>>,
    /// Scripts, run in a JavaScript sandbox.
    pub scripts: Vec<Spanned<ScriptTool>>,
    /// Functions found in the definition's own JavaScript.
    pub functions: Vec<Spanned<JavaScriptFunction>>,
    /// That JavaScript, block by block.
    pub source: Vec<Spanned<String>>,
}

/// A server of tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is spoken to.
    pub transport: Declared<McpTransport>,
    /// The program that is it.
    pub command: Declared<String>,
    /// The program's arguments.
    pub args: DeclaredList<String>,
    /// Its address.
    pub url: Declared<String>,
    /// Headers sent with every request.
    pub headers: Vec<(String, Spanned<String>)>,
    /// Variables for the program.
    pub env: Vec<(String, Spanned<String>)>,
    /// Whether it is used; it is unless said otherwise.
    pub enabled: Declared<bool>,
    /// How long a call may take, in seconds.
    pub timeout: Declared<i64>,
    /// What else the definition says of it, by key.
    pub options: Vec<(String, Data)>,
}

words! {
    /// How an MCP server is spoken to.
    pub enum McpTransport {
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
    pub name: Declared<String>,
    /// What it does.
    pub description: Declared<String>,
    /// The script, relative to the agent's directory, else to the workspace.
    pub path: Declared<String>,
    /// The tools that it may call; none unless listed.
    pub allowed_tools: DeclaredList<String>,
    /// What it may use.
    pub limits: ScriptLimits,
    /// The JSON Schema of its input.
    pub inputs: Declared<Data>,
    /// The script itself, when it lies in the agent's directory.
    pub source: Declared<String>,
}

/// What a script may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Milliseconds.
    pub timeout_ms: Declared<i64>,
    /// Calls of other tools.
    pub max_tool_calls: Declared<i64>,
    /// Bytes of one result.
    pub max_output_bytes: Declared<i64>,
}

/// A function of the definition's own JavaScript.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JavaScriptFunction {
    /// The key under which it is returned.
    pub name: String,
    /// What its scheme says it does.
    pub description: Declared<String>,
    /// The JSON Schema of its arguments, as far as it can be read without running the code.
    pub parameters: Declared<Data>,
}
