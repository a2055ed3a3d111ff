//! Why a server could not be used.

use std::time::Duration;

use agentry_rpc::{LineFailure, RpcError};

use crate::clean_text::clean_start;
use crate::limits;

/// Why a server could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpFailure {
    /// The program could not be started, or nothing may connect to the address.
    #[error("it cannot be started: {0}")]
    Unstartable(String),
    /// The program ended, or the connection broke off.
    #[error("it ended{0}")]
    Ended(String),
    /// There was no answer in time.
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// A message exceeds the limit.
    #[error("it sent a message of more than {0} bytes")]
    TooLong(usize),
    /// The server broke the protocol.
    #[error("it broke the protocol: {0}")]
    Protocol(String),
    /// The server answered with an error.
    #[error("{message}")]
    Answered {
        /// The code of JSON-RPC.
        code: i64,
        /// Its message, cleaned.
        message: String,
    },
    /// The server answered an HTTP request with this status.
    #[error("it answered with the HTTP status {status}{detail}")]
    Status {
        /// The status.
        status: u16,
        /// The start of the body, cleaned, after a colon.
        detail: String,
        /// The header `WWW-Authenticate`.
        challenge: Option<String>,
    },
    /// Too many failures in a row; it is not started again.
    #[error("it failed {0} times in a row and is not started again; the last time: {1}")]
    GivenUp(u32, String),
    /// The call was cancelled by the user.
    #[error("the question of the server was not answered")]
    Unanswered,
}

impl From<LineFailure> for McpFailure {
    fn from(failure: LineFailure) -> Self {
        match failure {
            LineFailure::TooLong(most) => Self::TooLong(most),
            LineFailure::Broken(why) => Self::Ended(format!(": {why}")),
        }
    }
}

impl From<RpcError> for McpFailure {
    /// The other side wrote the message, so it is cleaned.
    fn from(RpcError { code, message, .. }: RpcError) -> Self {
        Self::Answered { code, message: clean_start(&message, limits::ERROR_BYTES).text }
    }
}

impl McpFailure {
    /// Whether the connection is of no further use.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Unstartable(_) | Self::Ended(_) | Self::TooLong(_) | Self::GivenUp(..) => true,
            Self::TimedOut(_)
            | Self::Protocol(_)
            | Self::Answered { .. }
            | Self::Status { .. }
            | Self::Unanswered => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn server_error_messages_are_sanitised() {
        let cases = [
            (json!({"code": -1, "message": "no\u{1b}[2J"}), (-1, "no")),
            (json!(3), (0, "no reason is given")),
        ];
        for (error, (code, message)) in cases {
            let expected = McpFailure::Answered { code, message: message.to_owned() };
            assert_eq!(McpFailure::from(RpcError::read(&error)), expected);
        }
    }
}
