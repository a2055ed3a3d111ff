//! The messages of JSON-RPC, from either side.

use serde_json::{Value, json};

/// Codes of errors.
pub mod codes {
    /// The line is no JSON.
    pub const PARSE: i64 = -32700;
    /// It is JSON and no message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const NO_SUCH_METHOD: i64 = -32601;
    /// The parameters do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// It failed on this side.
    pub const INTERNAL: i64 = -32603;
    /// The request was cancelled.
    pub const CANCELLED: i64 = -32800;
}

/// An error as an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// One of [`codes`], or one of the protocol above.
    pub code: i64,
    /// What is wrong, for a person.
    pub message: String,
    /// More about it, for a program.
    pub data: Option<Value>,
}

impl RpcError {
    /// An error with a code.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The parameters of a request do not fit.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(codes::INVALID_PARAMS, message)
    }

    /// There is no such method.
    pub fn no_method(method: &str) -> Self {
        Self::new(codes::NO_SUCH_METHOD, format!("there is no method `{method}`"))
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(fields)) = (&self.data, error.as_object_mut()) {
            fields.insert("data".to_owned(), data.clone());
        }
        error
    }

    fn read(error: &Value) -> Self {
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason is given");
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: message.to_owned(),
            data: error.get("data").cloned(),
        }
    }
}

/// A message of the other side.
#[derive(Debug, Clone, PartialEq)]
pub enum PeerMessage {
    /// It asks.
    Request {
        /// The id that the answer carries: a number or a text.
        id: Value,
        /// What it asks for.
        method: String,
        /// The parameters, or null.
        params: Value,
    },
    /// It reports something.
    Notice {
        /// What it is about.
        method: String,
        /// The parameters, or null.
        params: Value,
    },
    /// It answers a request of this side.
    Answer {
        /// The number of the request.
        id: u64,
        /// The result or the error.
        outcome: Result<Value, RpcError>,
    },
}

impl PeerMessage {
    /// Reads a line; the error is the answer to it.
    pub fn read(line: &[u8]) -> Result<Self, RpcError> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| RpcError::new(codes::PARSE, format!("a line is no JSON: {error}")))?;
        Self::of(value)
            .ok_or_else(|| RpcError::new(codes::INVALID_REQUEST, "a line is no JSON-RPC message"))
    }

    /// Reads a message; `None` for anything else.
    pub fn of(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        let id = fields.remove("id");
        let params = fields.remove("params").unwrap_or_default();
        if let Some(method) = fields.remove("method") {
            let method = method.as_str()?.to_owned();
            return match id {
                Some(id @ (Value::String(_) | Value::Number(_))) => {
                    Some(Self::Request { id, method, params })
                }
                Some(_) => None,
                None => Some(Self::Notice { method, params }),
            };
        }
        let id = id?.as_u64()?;
        let outcome = match (fields.remove("result"), fields.remove("error")) {
            (_, Some(error)) => Err(RpcError::read(&error)),
            (Some(result), None) => Ok(result),
            (None, None) => return None,
        };
        Some(Self::Answer { id, outcome })
    }
}

/// A request of this side.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notice of this side.
pub(crate) fn notice(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// An answer of this side.
pub(crate) fn answer(id: &Value, outcome: &Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_json()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_everything_else() {
        let request = |id: Value| {
            let (method, params) = ("a".to_owned(), json!({"b": 1}));
            Some(PeerMessage::Request { id, method, params })
        };
        let cases = [
            (json!({"id": 1, "method": "a", "params": {"b": 1}}), request(json!(1))),
            (json!({"id": "x", "method": "a", "params": {"b": 1}}), request(json!("x"))),
            (
                json!({"method": "n"}),
                Some(PeerMessage::Notice { method: "n".into(), params: Value::Null }),
            ),
            (
                json!({"id": 3, "result": null}),
                Some(PeerMessage::Answer { id: 3, outcome: Ok(Value::Null) }),
            ),
            (
                json!({"id": 3, "result": 1, "error": {"code": -1, "message": "no"}}),
                Some(PeerMessage::Answer { id: 3, outcome: Err(RpcError::new(-1, "no")) }),
            ),
            // An id that is null belongs to no request, and could not be answered.
            (json!({"id": null, "method": "a"}), None),
            (json!({"id": {}, "method": "a"}), None),
            (json!({"id": 1, "method": 2}), None),
            (json!({"id": 1}), None),
            (json!([{"id": 1, "method": "a"}]), None),
            (json!(1), None),
        ];
        for (value, expected) in cases {
            assert_eq!(PeerMessage::of(value.clone()), expected, "{value}");
        }
        let broken = PeerMessage::read(b"{\"id\"").expect_err("no JSON");
        assert_eq!(broken.code, codes::PARSE);
    }
}
