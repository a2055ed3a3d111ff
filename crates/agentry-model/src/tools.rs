//! The tools that an agent uses, and those that come with it.

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
    /// Functions in the JavaScript of the definition.
    pub functions: Vec<Spanned<JavaScriptFunction>>,
    /// The JavaScript of the definition, block by block.
    pub source: Vec<Spanned<String>>,
}

/// An MCP server, which offers tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// The protocol between agent and server.
    pub transport: Declared<McpTransport>,
    /// The program to start.
    pub command: Declared<String>,
    /// The program's arguments.
    pub args: DeclaredList<String>,
    /// Its address.
    pub url: Declared<String>,
    /// Headers sent with every request.
    pub headers: Vec<(String, Spanned<String>)>,
    /// Environment variables for the program.
    pub env: Vec<(String, Spanned<String>)>,
    /// Whether it is used; true by default.
    pub enabled: Declared<bool>,
    /// The time limit of a call, in seconds.
    pub timeout: Declared<i64>,
    /// Further settings of the definition for it, by key.
    pub options: Vec<(String, Data)>,
}

words! {
    /// The protocol between an agent and an MCP server.
    pub enum McpTransport {
        /// The standard streams of the program.
        Stdio = "stdio",
        /// Streamable HTTP.
        StreamableHttp = "streamable-http",
        /// HTTP with server-sent events, the older protocol.
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
    /// The script, relative to the agent's directory or else to the workspace.
    pub path: Declared<String>,
    /// The tools that it may call; none by default.
    pub allowed_tools: DeclaredList<String>,
    /// Its limits.
    pub limits: ScriptLimits,
    /// The JSON Schema of its input.
    pub inputs: Declared<Data>,
    /// The text of the script, if it is in the agent's directory.
    pub source: Declared<String>,
    /// The files of the agent's directory that it imports.
    pub modules: Vec<ScriptModule>,
    /// The program that is to run it, if the definition names one.
    pub runtime: Declared<String>,
    /// What runs the tool, if the definition says that it is something other than a script.
    pub executor: Declared<String>,
    /// Whether the person must confirm each call.
    pub confirms: Declared<bool>,
    /// Which arguments are files that it reads and writes.
    pub files: Declared<Data>,
}

/// A file that a script imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptModule {
    /// Its path, relative to the agent's directory.
    pub path: String,
    /// Its text.
    pub source: Spanned<String>,
}

/// The limits of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptLimits {
    /// The time limit, in milliseconds.
    pub timeout_ms: Declared<i64>,
    /// The most calls of other tools.
    pub max_tool_calls: Declared<i64>,
    /// The most bytes of one result.
    pub max_output_bytes: Declared<i64>,
}

/// A function in the JavaScript of the definition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JavaScriptFunction {
    /// The key of the returned object.
    pub name: String,
    /// The description in its schema.
    pub description: Declared<String>,
    /// The JSON Schema of its arguments, as far as it is known without running the code.
    pub parameters: Declared<Data>,
}
