//! The other side: offers tools to MCP clients. Knows no agents; a [`ServedTools`] has the tools.
//!
//! ```text
//!  client ─▶ ServerService ─▶ ServedTools::call ─▶ a task with a CallerPort
//!         ◀─ progress, questions, result ◀──────┘
//! ```
//!
//! Both eras are spoken, request by request: one whose `_meta` names a version is stateless, every other one
//! belongs to the session that `initialize` began. A question to the user is a request of the server in the
//! older era. In the newer one the call is answered with `input_required` while its task waits, and the
//! client's next request with the same state goes on with it: no call is begun twice.

mod caller;
mod http_sessions;
mod message_headers;
mod service;
mod waiting_calls;

pub use caller::CallerPort;
pub use http_sessions::{HttpOutcome, HttpPost, HttpSessions, ServedHttp};
pub use service::ServerService;

use agentry_rpc::{RpcError, RpcFuture};
use serde_json::{Map, Value, json};

/// A tool that is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input: Value,
    /// The JSON Schema of the structured result.
    pub output: Value,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// For the model.
    pub text: String,
    /// For programs: what the schema of the output says.
    pub structured: Value,
    /// Whether it failed.
    pub failed: bool,
}

/// Has the tools.
pub trait ServedTools: Send + Sync + 'static {
    /// The tools.
    fn tools(&self) -> Vec<ServedTool>;

    /// Carries out a call. It is given up if the future of the caller's end is ready; the task goes on until
    /// it has cleaned up.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: CallerPort,
    ) -> RpcFuture<Result<CallResult, RpcError>>;

    /// Ends what is under way: the client is gone.
    fn close(&self) -> RpcFuture<()>;
}

impl ServedTool {
    fn to_json(&self) -> Value {
        let Self { name, description, input, output } = self;
        json!({"name": name, "description": description, "inputSchema": input, "outputSchema": output})
    }
}

impl CallResult {
    /// A failure without a structured result.
    pub fn failure(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: Value::Null, failed: true }
    }

    fn to_json(&self) -> Value {
        let mut result =
            json!({"content": [{"type": "text", "text": self.text}], "isError": self.failed});
        if let (false, Some(fields)) = (self.structured.is_null(), result.as_object_mut()) {
            fields.insert("structuredContent".to_owned(), self.structured.clone());
        }
        result
    }
}
