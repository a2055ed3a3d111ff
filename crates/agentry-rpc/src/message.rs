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

    fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(fields)) = (&self.data, error.as_object_mut()) {
            fields.insert("data".to_owned(), data.clone());
        }
        error
    }

    /// Reads the error of an answer.
    pub fn read(error: &Value) -> Self {
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason is given");
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: message.to_owned(),
            data: error.get("data").cloned(),
        }
    }
}

/// A message, of either side.
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
    /// It answers a request.
    Answer {
        /// The id of the request; null if it had none that could be read.
        id: Value,
        /// The result or the error.
        outcome: Result<Value, RpcError>,
    },
}

impl PeerMessage {
    /// A request of this side, which numbers its requests.
    pub fn request(id: u64, method: &str, params: Value) -> Self {
        Self::Request { id: id.into(), method: method.to_owned(), params }
    }

    /// A notice of this side.
    pub fn notice(method: &str, params: Value) -> Self {
        Self::Notice { method: method.to_owned(), params }
    }

    /// An answer of this side.
    pub fn answer(id: &Value, outcome: Result<Value, RpcError>) -> Self {
        Self::Answer { id: id.clone(), outcome }
    }

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
        let id = id.filter(|id| id.is_string() || id.is_number())?;
        let outcome = match (fields.remove("result"), fields.remove("error")) {
            (_, Some(error)) => Err(RpcError::read(&error)),
            (Some(result), None) => Ok(result),
            (None, None) => return None,
        };
        Some(Self::Answer { id, outcome })
    }

    /// The message as it is sent.
    pub fn to_json(&self) -> Value {
        let mut message = json!({"jsonrpc": "2.0"});
        let mut set = |name: &str, value: &Value| {
            if let Some(fields) = message.as_object_mut() {
                fields.insert(name.to_owned(), value.clone());
            }
        };
        if let Self::Request { id, .. } | Self::Answer { id, .. } = self {
            set("id", id);
        }
        match self {
            Self::Request { method, params, .. } | Self::Notice { method, params } => {
                set("method", &json!(method));
                if !params.is_null() {
                    set("params", params);
                }
            }
            Self::Answer { outcome: Ok(result), .. } => set("result", result),
            Self::Answer { outcome: Err(error), .. } => set("error", &error.to_json()),
        }
        message
    }

    /// The method and the parameters, unless it is an answer.
    pub fn method_and_params(&self) -> Option<(&str, &Value)> {
        match self {
            Self::Request { method, params, .. } | Self::Notice { method, params } => {
                Some((method, params))
            }
            Self::Answer { .. } => None,
        }
    }

    /// The number of a request of this side that an id means. Some programs answer with the number as a text.
    pub fn request_number(id: &Value) -> Option<u64> {
        match id {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_json_rpc_messages_are_refused() {
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
                Some(PeerMessage::Answer { id: json!(3), outcome: Ok(Value::Null) }),
            ),
            (
                json!({"id": 3, "result": 1, "error": {"code": -1, "message": "no"}}),
                Some(PeerMessage::Answer { id: json!(3), outcome: Err(RpcError::new(-1, "no")) }),
            ),
            // An id that is null belongs to no request, and could not be answered.
            (json!({"id": null, "method": "a"}), None),
            (json!({"id": {}, "method": "a"}), None),
            (json!({"id": 1, "method": 2}), None),
            (json!({"id": 1}), None),
            (json!({"id": null, "result": 1}), None),
            (json!([{"id": 1, "method": "a"}]), None),
            (json!(1), None),
        ];
        for (value, expected) in cases {
            assert_eq!(PeerMessage::of(value.clone()), expected, "{value}");
        }
        for (id, number) in
            [(json!(7), Some(7)), (json!("7"), Some(7)), (json!(-7), None), (json!("x"), None)]
        {
            assert_eq!(PeerMessage::request_number(&id), number, "{id}");
        }
        let broken = PeerMessage::read(b"{\"id\"").expect_err("no JSON");
        assert_eq!(broken.code, codes::PARSE);
    }

    #[test]
    fn messages_round_trip() {
        let messages = [
            PeerMessage::request(1, "a", json!({"b": 1})),
            PeerMessage::notice("n", Value::Null),
            PeerMessage::answer(&json!("x"), Ok(json!([1]))),
            PeerMessage::answer(&json!(2), Err(RpcError::invalid("no").with_data(json!(3)))),
        ];
        for message in messages {
            assert_eq!(PeerMessage::of(message.to_json()), Some(message));
        }
    }
}
