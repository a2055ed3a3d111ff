//! `/mcp`: the agents as tools for MCP clients. The gate has checked host, origin and token before; the messages
//! themselves are those of `agentry mcp` on the standard streams.

use std::sync::Arc;

use agentry_mcp::serving::{HttpOutcome, HttpPost, ServedHttp};
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use tokio::sync::{mpsc, watch};

use crate::api::{ApiServer, refused};
use crate::events::{SILENCE, SILENT};
use crate::host::RunHost;
use crate::listen::stopped;
use crate::reply::{self, ServerReply};
use crate::scope::TokenScope;
use crate::token_store::KnownToken;

/// Takes a message.
pub(crate) async fn post(
    server: &Arc<ApiServer>,
    token: &KnownToken,
    (headers, body): (&HeaderMap, &Bytes),
) -> Result<ServerReply, Box<ServerReply>> {
    // Who starts runs must not approve of their calls by answering the questions of their own client.
    let may_approve = token.scope.covers(TokenScope::Approve);
    let post = HttpPost { owner: &token.id, may_approve, headers, body };
    Ok(match served(server).await?.post(post) {
        HttpOutcome::Document { status, body, session } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut answer = reply::json(status, &body);
            if let Some(session) = session.and_then(|it| HeaderValue::from_str(&it).ok()) {
                answer.headers_mut().insert("mcp-session-id", session);
            }
            answer
        }
        HttpOutcome::Empty(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            reply::text(status, "text/plain; charset=utf-8", "")
        }
        HttpOutcome::Stream(lines) => stream(lines, server.stop.clone()),
    })
}

/// Ends a session.
pub(crate) async fn end(
    server: &Arc<ApiServer>,
    token: &KnownToken,
    headers: &HeaderMap,
) -> Result<ServerReply, Box<ServerReply>> {
    if served(server).await?.end(&token.id, headers) {
        return Ok(reply::text(StatusCode::OK, "text/plain; charset=utf-8", ""));
    }
    Err(refused(StatusCode::NOT_FOUND, "missing", "there is no such session"))
}

async fn served(server: &Arc<ApiServer>) -> Result<Arc<dyn ServedHttp>, Box<ServerReply>> {
    let sessions = server.with_host(RunHost::mcp).await;
    sessions.map_err(|failure| Box::new(reply::host_error(&failure)))
}

/// Messages as server-sent events, until the answer or the end of the server.
fn stream(lines: mpsc::Receiver<Vec<u8>>, stop: watch::Receiver<bool>) -> ServerReply {
    let frames = futures_util::stream::unfold((lines, stop), async |(mut lines, mut stop)| {
        let line = tokio::select! {
            line = tokio::time::timeout(SILENCE, lines.recv()) => line,
            () = stopped(&mut stop) => return None,
        };
        let text = match line {
            Err(_) => SILENT.to_owned(),
            Ok(None) => return None,
            // A JSON text has no line breaks but the last one.
            Ok(Some(line)) => {
                format!("event: message\ndata: {}\n\n", String::from_utf8_lossy(&line).trim_end())
            }
        };
        Some((text, (lines, stop)))
    });
    reply::stream(frames)
}
