//! Answers requests: the gate, then the page or a route of the table.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, watch};

use crate::events::{self, EventFeed};
use crate::gate::{self, AllowedHosts};
use crate::host::{HostCall, HostError, HostReply, RunHost};
use crate::limits::ServerLimits;
use crate::reply::{self, ServerReply};
use crate::route::{
    self, ApiRoute, BodyField, FieldType, MOST_ENTRIES, OwnAnswer, RouteAnswer, RouteInput,
    RouteMatch, RouteMethod,
};
use crate::scope::TokenScope;
use crate::token_store::{KnownToken, TokenStore, TokenWatch};
use crate::{completion, mcp_endpoint, metrics, openapi, page};

/// The most bytes of a request's body.
const MOST_BODY: usize = 1024 * 1024;
/// The most calls of the host at a time; others wait.
const MOST_CALLS: usize = 64;

/// The server behind every connection.
pub(crate) struct ApiServer {
    pub(crate) host: Arc<dyn RunHost>,
    pub(crate) tokens: TokenStore,
    pub(crate) hosts: AllowedHosts,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) limits: ServerLimits,
    calls: Semaphore,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) counters: metrics::RequestCounters,
}

impl ApiServer {
    pub(crate) fn new(
        host: Arc<dyn RunHost>,
        tokens: TokenStore,
        (hosts, limits): (AllowedHosts, ServerLimits),
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            host,
            tokens,
            hosts,
            streams: Arc::new(Semaphore::new(limits.streams)),
            limits,
            calls: Semaphore::new(MOST_CALLS),
            stop,
            counters: metrics::RequestCounters::default(),
        }
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(self: Arc<Self>, request: Request<B>) -> ServerReply
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
    {
        let server = Arc::clone(&self);
        // A proxy in front may have found another end of such a body: what follows on the connection is not trusted.
        let has_chunks = request.headers().contains_key(header::TRANSFER_ENCODING);
        let mut reply = self.admit(request).await.unwrap_or_else(|refused| *refused);
        if has_chunks {
            reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        server.counters.count(reply.status());
        reply
    }

    async fn admit<B>(self: Arc<Self>, request: Request<B>) -> Result<ServerReply, Box<ServerReply>>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
    {
        gate::admit_caller(&self.hosts, &request)?;
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        if let Some(asset) = page::asset(path).filter(|_| parts.method == Method::GET) {
            return Ok(asset);
        }
        let found = route::find(&parts.method, path);
        let is_free = matches!(&found, RouteMatch::Found(route, _) if route.scope.is_none());
        let token = if is_free {
            KnownToken { id: String::new(), scope: TokenScope::Read }
        } else {
            gate::admit_token(&self.tokens, &parts.headers)?
        };
        let watch = TokenWatch::new(&self.tokens, &token.id);
        let reply = self.answer_known(token, (parts, body), found).await?;
        Ok(reply::while_known(reply, watch))
    }

    /// Answers a request whose token is known, or that needs none.
    async fn answer_known<B>(
        self: Arc<Self>,
        token: KnownToken,
        (parts, body): (hyper::http::request::Parts, B),
        found: RouteMatch,
    ) -> Result<ServerReply, Box<ServerReply>>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
    {
        let (path, scope) = (parts.uri.path(), token.scope);
        if let Some(fragment) = path.strip_prefix("/page/").filter(|_| parts.method == Method::GET)
        {
            let query = parts.uri.query().unwrap_or_default();
            return page::answer(&self, (fragment, query), (scope, &parts.headers)).await;
        }
        let (route, parameters) = match found {
            RouteMatch::Found(route, parameters) => (route, parameters),
            RouteMatch::OtherMethod => {
                let message = "the path has no such method; `/openapi.json` lists all";
                let mut refused = refused(StatusCode::METHOD_NOT_ALLOWED, "method", message);
                if let Ok(methods) = HeaderValue::from_str(&route::methods(path)) {
                    refused.headers_mut().insert(header::ALLOW, methods);
                }
                return Err(refused);
            }
            RouteMatch::Missing => {
                let message = "there is no such path; `/openapi.json` lists all";
                return Err(refused(StatusCode::NOT_FOUND, "missing", message));
            }
        };
        gate::admit_scope(scope, route.scope.unwrap_or(TokenScope::Read))?;
        let mut input = RouteInput { parameters, ..RouteInput::default() };
        read_query(route, parts.uri.query().unwrap_or_default(), &mut input)?;
        match route.answer {
            RouteAnswer::Own(OwnAnswer::McpMessage) => {
                let body = read_json(&parts.headers, body, self.limits.patience).await?;
                return mcp_endpoint::post(&self, &token, (&parts.headers, &body)).await;
            }
            RouteAnswer::Own(OwnAnswer::McpEnd) => {
                return mcp_endpoint::end(&self, &token, &parts.headers).await;
            }
            _ => {}
        }
        if route.method == RouteMethod::Post {
            input.body = read_body(&parts.headers, body, self.limits.patience).await?;
            check_fields(route.fields, &input.body).map_err(|why| match route.answer {
                RouteAnswer::Own(OwnAnswer::ChatCompletion | OwnAnswer::Response) => {
                    completion::invalid(&why)
                }
                _ => refused(StatusCode::BAD_REQUEST, "invalid", &why),
            })?;
            // A key belongs to the client that chose it.
            let key = idempotency_key(&parts.headers)?;
            input.key = key.map(|key| format!("{} {key}", token.id));
        }
        self.perform(route, &input, &parts.headers).await
    }

    async fn perform(
        self: &Arc<Self>,
        route: &ApiRoute,
        input: &RouteInput,
        headers: &HeaderMap,
    ) -> Result<ServerReply, Box<ServerReply>> {
        match &route.answer {
            RouteAnswer::Host(call) => {
                let HostReply { body, next } = self.call(call(input)).await?;
                let mut answer = reply::json(StatusCode::OK, &body);
                if let Some(link) = next.and_then(|next| next_link(route.path, input, &next)) {
                    answer.headers_mut().insert(header::LINK, link);
                }
                Ok(answer)
            }
            RouteAnswer::Text(call) => {
                let text = self.call(call(input)).await?.body;
                let text = text.as_str().unwrap_or_default().to_owned();
                Ok(reply::text(StatusCode::OK, "text/plain; charset=utf-8", text))
            }
            RouteAnswer::Events => {
                // A run that does not exist has no events.
                self.call(HostCall::Run(input.id())).await?;
                self.stream(input.id(), headers, |id, event| Some(events::as_json(id, event)))
            }
            RouteAnswer::Own(own) => self.answer_itself(*own, input).await,
        }
    }

    async fn answer_itself(
        self: &Arc<Self>,
        own: OwnAnswer,
        input: &RouteInput,
    ) -> Result<ServerReply, Box<ServerReply>> {
        match own {
            OwnAnswer::Health => Ok(reply::json(StatusCode::OK, &json!({ "ok": true }))),
            OwnAnswer::OpenApi => Ok(reply::json(StatusCode::OK, &openapi::document())),
            OwnAnswer::Pair => self.pair(&input.field("code")),
            OwnAnswer::Metrics => metrics::answer(self).await,
            OwnAnswer::Models => completion::models(self).await,
            OwnAnswer::ChatCompletion => completion::chat(self, &input.body).await,
            OwnAnswer::Response => completion::response(self, &input.body).await,
            OwnAnswer::McpMessage | OwnAnswer::McpEnd => {
                Err(refused(StatusCode::NOT_FOUND, "missing", "there is no such path"))
            }
        }
    }

    fn pair(&self, code: &str) -> Result<ServerReply, Box<ServerReply>> {
        let exchanged = self.tokens.exchange(code).map_err(|error| {
            refused(StatusCode::INTERNAL_SERVER_ERROR, "failed", &error.to_string())
        })?;
        let (paired, token) = exchanged.ok_or_else(|| {
            let message = "the code was used already, or it is older than a minute";
            refused(StatusCode::UNAUTHORIZED, "code", message)
        })?;
        let body = json!({ "token": token, "id": paired.id, "scope": paired.scope.as_str() });
        Ok(reply::json(StatusCode::OK, &body))
    }

    /// Asks the host, on a thread where it may block.
    pub(crate) async fn call(&self, call: HostCall) -> Result<HostReply, Box<ServerReply>> {
        self.ask_host(call).await.map_err(|failure| Box::new(reply::host_error(&failure)))
    }

    /// The same, with the error of the host.
    pub(crate) async fn ask_host(&self, call: HostCall) -> Result<HostReply, HostError> {
        self.with_host(move |host| host.call(call)).await?
    }

    /// Uses the host on a thread where it may block.
    pub(crate) async fn with_host<T: Send + 'static>(
        &self,
        act: impl FnOnce(&dyn RunHost) -> T + Send + 'static,
    ) -> Result<T, HostError> {
        let _place = self.calls.acquire().await;
        let host = Arc::clone(&self.host);
        let done = tokio::task::spawn_blocking(move || act(&*host)).await;
        // A defect in one call must not end the server.
        done.map_err(|_| HostError::Failed("the request failed".to_owned()))
    }

    /// A stream of the events of a run.
    pub(crate) fn stream(
        &self,
        run: String,
        headers: &HeaderMap,
        write: fn(Option<u64>, &Value) -> Option<String>,
    ) -> Result<ServerReply, Box<ServerReply>> {
        let after = match gate::single(headers, "last-event-id") {
            Ok(None) => Some(0),
            Ok(Some(id)) => id.trim().parse().ok(),
            Err(()) => None,
        };
        let after = after.ok_or_else(|| {
            let message = "`Last-Event-ID` is not the number of an event";
            refused(StatusCode::BAD_REQUEST, "invalid", message)
        })?;
        Ok(reply::stream(events::frames(self.feed(run, after)?, write)))
    }

    /// The events of a run after a sequence number, if there is a place for another stream.
    pub(crate) fn feed(&self, run: String, after: u64) -> Result<EventFeed, Box<ServerReply>> {
        let Ok(place) = Arc::clone(&self.streams).try_acquire_owned() else {
            let message = format!("{} streams of events are open already", self.limits.streams);
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, "busy", &message));
        };
        let place = (place, self.limits.streams);
        Ok(EventFeed::new(Arc::clone(&self.host), (run, after), self.stop.clone(), place))
    }
}

/// An error, ready to be returned early.
#[expect(
    clippy::unnecessary_box_returns,
    reason = "errors are boxed everywhere: a response is large"
)]
pub(crate) fn refused(status: StatusCode, word: &str, message: &str) -> Box<ServerReply> {
    Box::new(reply::error(status, word, message))
}

fn read_query(
    route: &ApiRoute,
    query: &str,
    input: &mut RouteInput,
) -> Result<(), Box<ServerReply>> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned();
        let is_known = route.query.contains(&name);
        match name {
            "limit" if is_known => {
                let limit = value.parse().ok().filter(|limit| (1..=MOST_ENTRIES).contains(limit));
                let message = format!("`limit` is not a number from 1 to {MOST_ENTRIES}");
                input.limit = Some(
                    limit.ok_or_else(|| refused(StatusCode::BAD_REQUEST, "invalid", &message))?,
                );
            }
            "before" if is_known => input.before = Some(value),
            "agent" if is_known => input.agent = Some(value),
            _ => {
                let message = format!("there is no parameter `{name}` here");
                return Err(refused(StatusCode::BAD_REQUEST, "invalid", &message));
            }
        }
    }
    Ok(())
}

/// Reads the body of a request as a JSON object. An empty one has no fields.
async fn read_body<B>(
    headers: &HeaderMap,
    body: B,
    patience: Duration,
) -> Result<Map<String, Value>, Box<ServerReply>>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
{
    let bytes = read_json(headers, body, patience).await?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(refused(StatusCode::BAD_REQUEST, "invalid", "the body is not a JSON object")),
        Err(error) => {
            let message = format!("the body is not JSON: {error}");
            Err(refused(StatusCode::BAD_REQUEST, "invalid", &message))
        }
    }
}

/// Reads the bytes of a body that is said to be JSON, or is empty.
async fn read_json<B>(
    headers: &HeaderMap,
    body: B,
    patience: Duration,
) -> Result<Bytes, Box<ServerReply>>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
{
    let too_large = || {
        let message = "the body has more than 1 MiB";
        refused(StatusCode::PAYLOAD_TOO_LARGE, "size", message)
    };
    if body.size_hint().lower() > MOST_BODY as u64 {
        return Err(too_large());
    }
    let read = tokio::time::timeout(patience, Limited::new(body, MOST_BODY).collect()).await;
    let bytes = match read {
        Err(_) => {
            let message = "the body did not arrive in time";
            return Err(refused(StatusCode::REQUEST_TIMEOUT, "time", message));
        }
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            return Err(too_large());
        }
        Ok(Err(_)) => {
            let message = "the body broke off";
            return Err(refused(StatusCode::BAD_REQUEST, "invalid", message));
        }
        Ok(Ok(body)) => body.to_bytes(),
    };
    // A form of another page cannot send this type without asking first.
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !bytes.is_empty() && !kind.eq_ignore_ascii_case("application/json") {
        let message = "the body must be `application/json`";
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "type", message));
    }
    Ok(bytes)
}

/// Refuses a body with a missing, wrong or unknown field: nothing is ignored in silence.
fn check_fields(fields: &[BodyField], body: &Map<String, Value>) -> Result<(), String> {
    for BodyField { name, kind, is_required } in fields {
        let fits = match (body.get(*name), kind) {
            (None, _) => !is_required,
            (Some(_), FieldType::Any | FieldType::Messages { .. }) => true,
            (Some(value), FieldType::Text | FieldType::Prefixed(_)) => value.is_string(),
            (Some(value), FieldType::Word(words)) => {
                value.as_str().is_some_and(|value| words.contains(&value))
            }
        };
        match (fits, kind) {
            (true, _) => {}
            (false, FieldType::Word(words)) => {
                return Err(format!("`{name}` must be one of {}", words.join(", ")));
            }
            (false, _) => return Err(format!("`{name}` is missing, or it is not a text")),
        }
    }
    match body.keys().find(|key| fields.iter().all(|field| field.name != key.as_str())) {
        Some(unknown) => Err(format!("there is no field `{unknown}` here")),
        None => Ok(()),
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Box<ServerReply>> {
    match gate::single(headers, "idempotency-key") {
        Ok(None) => Ok(None),
        Ok(Some(key)) if (1..=200).contains(&key.len()) => Ok(Some(key.to_owned())),
        Ok(Some(_)) | Err(()) => {
            let message = "`Idempotency-Key` must be one text of 1 to 200 characters";
            Err(refused(StatusCode::BAD_REQUEST, "invalid", message))
        }
    }
}

/// The header that names the next part of a list.
fn next_link(path: &str, input: &RouteInput, next: &str) -> Option<HeaderValue> {
    let encoded = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let limit = input.limit.map_or(String::new(), |limit| format!("limit={limit}&"));
    let agent = input.agent.as_deref();
    let agent = agent.map_or(String::new(), |agent| format!("agent={}&", encoded(agent)));
    let link = format!("<{path}?{limit}{agent}before={}>; rel=\"next\"", encoded(next));
    HeaderValue::from_str(&link).ok()
}
