//! Responses: JSON, errors, streams, and the headers that all of them have.

use std::convert::Infallible;

use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use crate::host::HostError;
use crate::token_store::TokenWatch;

/// The body of every response.
pub(crate) type ReplyBody = UnsyncBoxBody<Bytes, Infallible>;
/// A response.
pub(crate) type ServerReply = Response<ReplyBody>;

/// Nothing is loaded from elsewhere, no script but ours runs, and no page frames this one.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The type of a response that goes on.
const EVENT_STREAM: &str = "text/event-stream";

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A response with a text.
pub(crate) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> ServerReply {
    with_body(status, kind, Full::new(text.into()).boxed_unsync())
}

/// A response with a JSON document.
pub(crate) fn json(status: StatusCode, value: &Value) -> ServerReply {
    text(status, "application/json", format!("{value}\n"))
}

/// A response that goes on: server-sent events.
pub(crate) fn stream(events: impl Stream<Item = String> + Send + 'static) -> ServerReply {
    let frames = events.map(|text| Ok(Frame::data(Bytes::from(text))));
    with_body(StatusCode::OK, EVENT_STREAM, StreamBody::new(frames).boxed_unsync())
}

/// The same response, which ends before its next event if the token is not known any more.
pub(crate) fn while_known(reply: ServerReply, watch: TokenWatch) -> ServerReply {
    if reply.headers().get(header::CONTENT_TYPE).is_none_or(|kind| kind != EVENT_STREAM) {
        return reply;
    }
    reply.map(|body| {
        let events = body.into_data_stream().map_ok(Frame::data);
        let known = events.take_while(move |_| std::future::ready(watch.is_known()));
        StreamBody::new(known).boxed_unsync()
    })
}

fn with_body(status: StatusCode, kind: &'static str, body: ReplyBody) -> ServerReply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    reply
}

/// An error: a word for programs, and a sentence for people.
pub(crate) fn error(status: StatusCode, word: &str, message: &str) -> ServerReply {
    json(status, &json!({ "error": word, "message": message }))
}

/// An error of the host.
pub(crate) fn host_error(failure: &HostError) -> ServerReply {
    match failure {
        HostError::Missing(message) => error(StatusCode::NOT_FOUND, "missing", message),
        HostError::Conflict(body) => json(StatusCode::CONFLICT, body),
        HostError::Invalid(message) => error(StatusCode::BAD_REQUEST, "invalid", message),
        HostError::Failed(message) => error(StatusCode::INTERNAL_SERVER_ERROR, "failed", message),
    }
}
