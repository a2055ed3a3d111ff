//! The page. The shell (`/`, `/page.js`, `/page.css`) is the same for every user and has no data.
//! The script gets a token by pairing and loads fragments of HTML below `/page/`, which the server
//! writes.

mod agent_view;
mod html;
mod lists;
mod run_view;

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde_json::Value;

use crate::api::{ApiServer, refused};
use crate::host::{HostCall, ListWindow};
use crate::reply::{self, ServerReply};
use crate::scope::TokenScope;
use html::HtmlWriter;

/// The runs and receipts on a page.
const SHOWN: usize = 100;

/// A file of the shell.
pub(crate) fn asset(path: &str) -> Option<ServerReply> {
    let (kind, text) = match path {
        "/" => ("text/html; charset=utf-8", include_str!("../../assets/page.html")),
        "/page.js" => ("text/javascript; charset=utf-8", include_str!("../../assets/page.js")),
        "/page.css" => ("text/css; charset=utf-8", include_str!("../../assets/page.css")),
        "/icon.svg" => ("image/svg+xml", include_str!("../../assets/icon.svg")),
        _ => return None,
    };
    Some(reply::text(StatusCode::OK, kind, text))
}

/// A fragment of the page.
pub(crate) async fn answer(
    server: &Arc<ApiServer>,
    (fragment, query): (&str, &str),
    (scope, headers): (TokenScope, &HeaderMap),
) -> Result<ServerReply, Box<ServerReply>> {
    let parameter = |pattern: &str| {
        crate::route::parameters(pattern, fragment).and_then(|found| found.into_iter().next())
    };
    if let Some(id) = parameter("runs/{id}/events") {
        server.call(HostCall::Run(id.clone())).await?;
        return server.stream(id, headers, run_view::as_fragment);
    }
    let mut page = HtmlWriter::default();
    let window = |agent| ListWindow { limit: SHOWN, before: None, agent };
    let list = async |call| Ok::<_, Box<ServerReply>>(entries(server.call(call).await?.body));
    match fragment {
        "runs" => {
            let before = query.strip_prefix("before=").map(|before| {
                percent_encoding::percent_decode_str(before).decode_utf8_lossy().into_owned()
            });
            let reply = server.call(HostCall::Runs(ListWindow { before, ..window(None) })).await?;
            let (runs, next) = (entries(reply.body), reply.next);
            let agents = list(HostCall::Agents).await?;
            let agents = scope.covers(TokenScope::Run).then_some(&*agents);
            lists::runs(&mut page, (&runs, next.as_deref()), agents);
        }
        "approvals" => {
            let waiting = list(HostCall::Approvals).await?;
            lists::approvals(&mut page, &waiting, scope.covers(TokenScope::Approve));
        }
        "waiting" => page.text(&server.call(HostCall::Waiting).await?.body.to_string()),
        "agents" => lists::agents(&mut page, &list(HostCall::Agents).await?),
        _ => {
            if let Some(id) = parameter("runs/{id}") {
                let run = server.call(HostCall::Run(id)).await?.body;
                run_view::head(&mut page, &run, scope);
            } else if let Some(id) = parameter("runs/{id}/changes") {
                let diff = server.call(HostCall::Changes(id)).await?.body;
                run_view::diff(&mut page, diff.as_str().unwrap_or_default());
            } else if let Some(id) = parameter("runs/{id}/waiting") {
                let mut waiting = list(HostCall::Approvals).await?;
                waiting.retain(|approval| approval["run"] == *id);
                lists::cards(&mut page, &waiting, scope.covers(TokenScope::Approve));
            } else if let Some(id) = parameter("agents/{id}") {
                let agent = server.call(HostCall::Agent(id.clone())).await?.body;
                let runs = list(HostCall::Runs(window(Some(id.clone())))).await?;
                let receipts = list(HostCall::Receipts(window(Some(id)))).await?;
                agent_view::show(&mut page, &agent, (&runs, &receipts), scope);
            } else {
                let message = "there is no such page";
                return Err(refused(StatusCode::NOT_FOUND, "missing", message));
            }
        }
    }
    Ok(reply::text(StatusCode::OK, "text/html; charset=utf-8", page.into_text()))
}

fn entries(list: Value) -> Vec<Value> {
    match list {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    }
}
