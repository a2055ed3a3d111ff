//! Every route of the API. This table is the router, the check of scopes and the `OpenAPI` document.

use RouteAnswer::{Events, Host, Own, Text};
use hyper::Method;
use serde_json::{Map, Value};

use crate::host::{HostCall, ListWindow};
use crate::scope::TokenScope;

/// A route of the API.
pub(crate) struct ApiRoute {
    pub(crate) method: RouteMethod,
    /// Segments in braces are parameters.
    pub(crate) path: &'static str,
    /// The scope that a token must have; `None` if no token is needed.
    pub(crate) scope: Option<TokenScope>,
    /// One sentence, for the `OpenAPI` document.
    pub(crate) summary: &'static str,
    /// The fields of the body.
    pub(crate) fields: &'static [BodyField],
    /// The query parameters that it takes.
    pub(crate) query: &'static [&'static str],
    /// How it is answered.
    pub(crate) answer: RouteAnswer,
}

/// The methods of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteMethod {
    /// Reads.
    Get,
    /// Changes something.
    Post,
    /// Ends something.
    Delete,
}

impl RouteMethod {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// How a route is answered.
pub(crate) enum RouteAnswer {
    /// With a document of the host.
    Host(fn(&RouteInput) -> HostCall),
    /// With a text of the host.
    Text(fn(&RouteInput) -> HostCall),
    /// With the events of a run.
    Events,
    /// By the server itself.
    Own(OwnAnswer),
}

/// What the server answers itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnAnswer {
    /// That it runs.
    Health,
    /// The `OpenAPI` document.
    OpenApi,
    /// A code of pairing for a token.
    Pair,
    /// The metrics as text.
    Metrics,
    /// Agents as models.
    Models,
    /// A chat completion.
    ChatCompletion,
    /// A response.
    Response,
    /// A message of an MCP client.
    McpMessage,
    /// The end of a session of an MCP client.
    McpEnd,
}

/// A field of a request's body.
pub(crate) struct BodyField {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldType,
    pub(crate) is_required: bool,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// A text.
    Text,
    /// A text that begins so. What follows, the answer checks itself.
    Prefixed(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A conversation, which the answer checks itself.
    Messages {
        /// Whether a text is a conversation as well.
        or_text: bool,
    },
    /// Any value, which the answer checks itself.
    Any,
}

/// What a request says.
#[derive(Debug, Default)]
pub(crate) struct RouteInput {
    /// The parameters of the path, in order.
    pub(crate) parameters: Vec<String>,
    pub(crate) body: Map<String, Value>,
    pub(crate) limit: Option<usize>,
    pub(crate) before: Option<String>,
    pub(crate) agent: Option<String>,
    /// The header `Idempotency-Key`.
    pub(crate) key: Option<String>,
}

/// The entries of a list, unless the request says how many.
const LIMIT: usize = 100;
/// The most entries of a list.
pub(crate) const MOST_ENTRIES: usize = 1_000;

impl RouteInput {
    /// The first parameter of the path.
    pub(crate) fn id(&self) -> String {
        self.parameters.first().cloned().unwrap_or_default()
    }

    pub(crate) fn field(&self, name: &str) -> String {
        self.body.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn reason(&self) -> Option<String> {
        Some(self.field("reason")).filter(|reason| !reason.is_empty())
    }

    fn window(&self) -> ListWindow {
        let limit = self.limit.unwrap_or(LIMIT);
        ListWindow { limit, before: self.before.clone(), agent: self.agent.clone() }
    }
}

const fn text(name: &'static str) -> BodyField {
    BodyField { name, kind: FieldType::Text, is_required: true }
}

const fn optional(name: &'static str, kind: FieldType) -> BodyField {
    BodyField { name, kind, is_required: false }
}

/// The answers to an approval.
const ANSWERS: FieldType = FieldType::Word(&["yes", "no", "always", "exact"]);
/// The word that accepts a proposal.
const ACCEPT: &str = "accept";
/// A decision about a proposal.
const DECISION: &[BodyField] = &[
    BodyField { name: "decision", kind: FieldType::Word(&[ACCEPT, "reject"]), is_required: true },
    optional("reason", FieldType::Text),
];
const LIST: &[&str] = &["limit", "before", "agent"];
const fn any(name: &'static str) -> BodyField {
    optional(name, FieldType::Any)
}

/// The start of the id of a response.
pub(crate) const RESPONSE_ID: &str = "resp_";
/// The conversation, and settings of a model, which change nothing: an agent has its own.
const CHAT: &[BodyField] = &[
    text("model"),
    BodyField { name: "messages", kind: FieldType::Messages { or_text: false }, is_required: true },
    any("stream"),
    any("stream_options"),
    any("temperature"),
    any("top_p"),
    any("max_tokens"),
    any("max_completion_tokens"),
    any("user"),
    any("metadata"),
    any("store"),
];
/// The same for a response.
const RESPONSE: &[BodyField] = &[
    text("model"),
    BodyField { name: "input", kind: FieldType::Messages { or_text: true }, is_required: true },
    optional("previous_response_id", FieldType::Prefixed(RESPONSE_ID)),
    any("stream"),
    any("temperature"),
    any("top_p"),
    any("max_output_tokens"),
    any("user"),
    any("metadata"),
    any("store"),
];

const READ: Option<TokenScope> = Some(TokenScope::Read);
const RUN: Option<TokenScope> = Some(TokenScope::Run);
const APPROVE: Option<TokenScope> = Some(TokenScope::Approve);

/// A row that reads.
const fn get(path: &'static str, summary: &'static str, answer: RouteAnswer) -> ApiRoute {
    let (method, scope) = (RouteMethod::Get, READ);
    ApiRoute { method, path, scope, summary, answer, fields: &[], query: &[] }
}

/// A row that reads a list.
const fn list(
    path: &'static str,
    summary: &'static str,
    call: fn(&RouteInput) -> HostCall,
) -> ApiRoute {
    let (method, scope, answer) = (RouteMethod::Get, READ, RouteAnswer::Host(call));
    ApiRoute { method, path, scope, summary, answer, fields: &[], query: LIST }
}

/// A row that changes something.
const fn post(
    (path, fields): (&'static str, &'static [BodyField]),
    scope: Option<TokenScope>,
    summary: &'static str,
    answer: RouteAnswer,
) -> ApiRoute {
    ApiRoute { method: RouteMethod::Post, path, scope, summary, answer, fields, query: &[] }
}

/// The routes, in the order of the documentation.
pub(crate) static ROUTES: &[ApiRoute] = &[
    ApiRoute { scope: None, ..get("/healthz", "Whether the server runs.", Own(OwnAnswer::Health)) },
    post(
        ("/v1/pair", &[text("code")]),
        None,
        "Exchanges a code of pairing for a token, once.",
        Own(OwnAnswer::Pair),
    ),
    get("/v1/agents", "The agents that can be started.", Host(|_| HostCall::Agents)),
    get("/v1/agents/{id}", "One agent, with what it may do.", Host(|it| HostCall::Agent(it.id()))),
    post(
        ("/v1/agents/{id}/consent", &[text("digest")]),
        APPROVE,
        "Consents to what an agent with this digest may do.",
        Host(|it| HostCall::Consent { agent: it.id(), digest: it.field("digest") }),
    ),
    post(
        ("/v1/agents/{id}/proposals/{proposal}", DECISION),
        APPROVE,
        "Accepts or rejects a change that an agent proposes to itself. One that was decided before gets 409.",
        Host(|it| HostCall::Decide {
            agent: it.id(),
            proposal: it.parameters.get(1).cloned().unwrap_or_default(),
            accepts: it.field("decision") == ACCEPT,
            reason: it.reason(),
        }),
    ),
    post(
        ("/v1/runs", &[text("agent"), text("prompt"), optional("commit", FieldType::Text)]),
        RUN,
        "Starts a run, on a Git commit if one is named: with an engine, a worker checks it out. The same \
         `Idempotency-Key` gives the same run for 24 hours.",
        Host(|it| HostCall::Start {
            agent: it.field("agent"),
            prompt: it.field("prompt"),
            commit: Some(it.field("commit")).filter(|commit| !commit.is_empty()),
            key: it.key.clone(),
            waits: true,
        }),
    ),
    list("/v1/runs", "Runs, the newest first.", |it| HostCall::Runs(it.window())),
    get("/v1/runs/{id}", "One run.", Host(|it| HostCall::Run(it.id()))),
    get(
        "/v1/runs/{id}/events",
        "The events of a run as server-sent events; `Last-Event-ID` continues after an event.",
        Events,
    ),
    post(
        ("/v1/runs/{id}/messages", &[text("text")]),
        RUN,
        "Sends a message to a run, which continues.",
        Host(|it| HostCall::Say { run: it.id(), text: it.field("text") }),
    ),
    post(
        ("/v1/runs/{id}/cancel", &[]),
        RUN,
        "Cancels a run.",
        Host(|it| HostCall::Cancel(it.id())),
    ),
    post(
        ("/v1/runs/{id}/resume", &[]),
        RUN,
        "Continues a run that was stopped.",
        Host(|it| HostCall::Resume(it.id())),
    ),
    post(
        ("/v1/runs/{id}/undo", &[]),
        RUN,
        "Restores the files that a run changed.",
        Host(|it| HostCall::Undo(it.id())),
    ),
    get(
        "/v1/runs/{id}/changes",
        "What a run changed in files, as a diff.",
        Text(|it| HostCall::Changes(it.id())),
    ),
    get("/v1/runs/{id}/export", "The transcript of a run.", Text(|it| HostCall::Export(it.id()))),
    get("/v1/approvals", "What waits for a person.", Host(|_| HostCall::Approvals)),
    post(
        (
            "/v1/approvals/{id}",
            &[
                BodyField { name: "answer", kind: ANSWERS, is_required: true },
                optional("reason", FieldType::Text),
            ],
        ),
        APPROVE,
        "Answers an approval. The same answer again is accepted, another one gets 409 and the first answer.",
        Host(|it| HostCall::Answer {
            id: it.id(),
            answer: it.field("answer"),
            reason: it.reason(),
        }),
    ),
    list("/v1/receipts", "Receipts, the newest first.", |it| HostCall::Receipts(it.window())),
    get("/v1/schedules", "The schedules of the agents.", Host(|_| HostCall::Schedules)),
    get("/v1/models", "The agents, as models for OpenAI clients.", Own(OwnAnswer::Models)),
    post(
        ("/v1/chat/completions", CHAT),
        RUN,
        "Runs an agent as a chat completion.",
        Own(OwnAnswer::ChatCompletion),
    ),
    post(
        ("/v1/responses", RESPONSE),
        RUN,
        "Runs an agent as a response.",
        Own(OwnAnswer::Response),
    ),
    post(
        ("/mcp", &[]),
        RUN,
        "Takes a message of an MCP client (streamable HTTP): each agent and each of its functions is a tool.",
        Own(OwnAnswer::McpMessage),
    ),
    ApiRoute {
        method: RouteMethod::Delete,
        ..post(("/mcp", &[]), RUN, "Ends the session of an MCP client.", Own(OwnAnswer::McpEnd))
    },
    get("/metrics", "Metrics in the format of Prometheus.", Own(OwnAnswer::Metrics)),
    get("/openapi.json", "This document.", Own(OwnAnswer::OpenApi)),
];

/// The result of looking for a route.
pub(crate) enum RouteMatch {
    /// The route, and the parameters of the path.
    Found(&'static ApiRoute, Vec<String>),
    /// The path has routes, but none for the method.
    OtherMethod,
    /// There is no such path.
    Missing,
}

/// Finds the route of a request.
pub(crate) fn find(method: &Method, path: &str) -> RouteMatch {
    let mut has_path = false;
    for route in ROUTES {
        let Some(parameters) = parameters(route.path, path) else { continue };
        if route.method.as_str() == method.as_str() {
            return RouteMatch::Found(route, parameters);
        }
        has_path = true;
    }
    if has_path { RouteMatch::OtherMethod } else { RouteMatch::Missing }
}

/// The methods of a path, for the header `Allow`.
pub(crate) fn methods(path: &str) -> String {
    let routes = ROUTES.iter().filter(|route| parameters(route.path, path).is_some());
    routes.map(|route| route.method.as_str()).collect::<Vec<_>>().join(", ")
}

/// The parameters of a path, if the pattern matches it.
pub(crate) fn parameters(pattern: &str, path: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(found),
            (Some(wanted), Some(part)) if wanted.starts_with('{') && !part.is_empty() => {
                found.push(percent_encoding::percent_decode_str(part).decode_utf8().ok()?.into());
            }
            (Some(wanted), Some(part)) if wanted == part => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched_by_segments() {
        let cases = [
            ("/v1/runs", "/v1/runs", Some(vec![])),
            ("/v1/runs/{id}", "/v1/runs/20261115-x", Some(vec!["20261115-x"])),
            ("/v1/runs/{id}", "/v1/runs/a%20b", Some(vec!["a b"])),
            ("/v1/runs/{id}", "/v1/runs/", None),
            ("/v1/runs/{id}", "/v1/runs/a/b", None),
            ("/v1/runs/{id}", "/v1/runs/%ff", None),
            ("/v1/runs/{id}/events", "/v1/runs/a/events", Some(vec!["a"])),
            ("/v1/runs", "/v1/runs/", None),
            ("/v1/runs", "//v1/runs", None),
        ];
        for (pattern, path, expected) in cases {
            let found = parameters(pattern, path);
            let found = found.as_ref().map(|it| it.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }

    /// What changes something is never free, and never a GET.
    #[test]
    fn only_two_routes_need_no_token() {
        let free: Vec<_> =
            ROUTES.iter().filter(|it| it.scope.is_none()).map(|it| it.path).collect();
        assert_eq!(free, ["/healthz", "/v1/pair"]);
        for route in ROUTES {
            let reads = route.scope.is_none_or(|scope| scope == TokenScope::Read);
            assert!(reads || route.method != RouteMethod::Get, "{}", route.path);
        }
    }
}
