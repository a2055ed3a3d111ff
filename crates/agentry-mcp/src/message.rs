//! The messages of JSON-RPC.

use serde_json::{Value, json};

use crate::clean_text::clean_start;
use crate::failure::McpFailure;
use crate::limits;

/// The code for a method that is not offered.
pub(crate) const NO_SUCH_METHOD: i64 = -32601;

/// A message of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum IncomingMessage {
    /// The answer to a request.
    Answer { id: u64, outcome: Result<Value, RemoteError> },
    /// A request of the server.
    Request { id: Value, method: String, params: Value },
    /// A notification.
    Notice { method: String, params: Value },
}

/// An error that a server answered with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RemoteError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// A message to a server.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingMessage {
    /// The whole message.
    pub(crate) body: Value,
    /// The number of the request, if it is one.
    pub(crate) request: Option<u64>,
    /// Arguments that are sent as headers, too.
    pub(crate) mirrored: Vec<(String, String)>,
}

impl OutgoingMessage {
    pub(crate) fn request(id: u64, method: &str, params: &Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        Self { body, request: Some(id), mirrored: Vec::new() }
    }

    pub(crate) fn notice(method: &str, params: Value) -> Self {
        let mut body = json!({"jsonrpc": "2.0", "method": method});
        if let (Value::Object(fields), false) = (&mut body, params.is_null()) {
            fields.insert("params".to_owned(), params);
        }
        Self { body, request: None, mirrored: Vec::new() }
    }

    pub(crate) fn reply(id: &Value, result: &Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result});
        Self { body, request: None, mirrored: Vec::new() }
    }

    pub(crate) fn refusal(id: &Value, message: &str) -> Self {
        let error = json!({"code": NO_SUCH_METHOD, "message": message});
        let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
        Self { body, request: None, mirrored: Vec::new() }
    }

    /// Its method, if it has one.
    pub(crate) fn method(&self) -> Option<&str> {
        self.body.get("method").and_then(Value::as_str)
    }
}

impl IncomingMessage {
    /// Reads a message; returns `None` for anything else.
    pub(crate) fn read(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        let method = match fields.get("method") {
            Some(Value::String(method)) => Some(method.clone()),
            Some(_) => return None,
            None => None,
        };
        let id = fields.remove("id").filter(|id| !id.is_null());
        if let Some(method) = method {
            let params = fields.remove("params").unwrap_or_default();
            return match id {
                Some(id @ (Value::String(_) | Value::Number(_))) => {
                    Some(Self::Request { id, method, params })
                }
                Some(_) => None,
                None => Some(Self::Notice { method, params }),
            };
        }
        // All requests have numbers, but some servers answer with the number as a text.
        let id = match id? {
            Value::Number(number) => number.as_u64()?,
            Value::String(text) => text.parse().ok()?,
            _ => return None,
        };
        let outcome = match (fields.remove("result"), fields.remove("error")) {
            (Some(result), None) => Ok(result),
            (_, Some(error)) => Err(RemoteError::read(&error)),
            (None, None) => return None,
        };
        Some(Self::Answer { id, outcome })
    }
}

impl RemoteError {
    pub(crate) fn read(error: &Value) -> Self {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason is given");
        Self { code, message: clean_start(message, limits::ERROR_BYTES).text }
    }
}

impl From<RemoteError> for McpFailure {
    fn from(RemoteError { code, message }: RemoteError) -> Self {
        Self::Answered { code, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_everything_else() {
        let answer = |outcome| Some(IncomingMessage::Answer { id: 7, outcome });
        let cases = [
            (json!({"id": 7, "result": 1}), answer(Ok(json!(1)))),
            (json!({"id": "7", "result": null}), answer(Ok(json!(null)))),
            (
                json!({"id": 7, "error": {"code": -1, "message": "no\u{1b}[2J"}}),
                answer(Err(RemoteError { code: -1, message: "no".into() })),
            ),
            (
                json!({"id": 7, "error": 3}),
                answer(Err(RemoteError { code: 0, message: "no reason is given".into() })),
            ),
            (
                json!({"id": "x", "method": "ping"}),
                Some(IncomingMessage::Request {
                    id: json!("x"),
                    method: "ping".into(),
                    params: json!(null),
                }),
            ),
            (
                json!({"method": "notifications/message", "params": {"a": 1}}),
                Some(IncomingMessage::Notice {
                    method: "notifications/message".into(),
                    params: json!({"a": 1}),
                }),
            ),
            (json!({"id": 7}), None),
            (json!({"id": -7, "result": 1}), None),
            (json!({"id": {}, "method": "a"}), None),
            (json!({"method": 1, "id": 7, "result": 1}), None),
            (json!([{"id": 7, "result": 1}]), None),
            (json!("text"), None),
        ];
        for (value, expected) in cases {
            assert_eq!(IncomingMessage::read(value.clone()), expected, "{value}");
        }
    }
}
