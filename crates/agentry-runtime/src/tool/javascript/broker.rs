//! Answers the requests of a running JavaScript tool: each address is judged, as for `webfetch`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_javascript::{BrokerFuture, FetchHead, FetchRequest, JobBroker, LogLevel};
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use super::super::web_client::{WebClient, parse, touch, unsent};
use super::super::{PauseClock, ToolHost, declared_tool};
use crate::event::CallJudgement;

/// The most redirects that are followed.
const MOST_HOPS: usize = 8;
/// The most responses that are open at once.
const MOST_OPEN: usize = 256;
/// Headers that the client sets itself.
const OWN_HEADERS: &[&str] =
    &["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"];

/// Answers for one call in a run.
pub(super) struct RunBroker<'a> {
    host: &'a dyn ToolHost,
    tool: &'a str,
    client: WebClient,
    time: Duration,
    bodies: Mutex<OpenBodies>,
    paused: PauseClock,
}

/// The bodies of responses, by number.
#[derive(Default)]
struct OpenBodies {
    last: u64,
    open: HashMap<u64, Arc<tokio::sync::Mutex<Response>>>,
}

impl<'a> RunBroker<'a> {
    pub(super) fn new(host: &'a dyn ToolHost, tool: &'a str, time: Duration) -> Self {
        let (client, bodies) = (WebClient::default(), Mutex::default());
        let paused = PauseClock::default();
        Self { host, tool, client, time, bodies, paused }
    }

    /// Follows a request to its response.
    async fn follow(&self, request: FetchRequest, body: Vec<u8>) -> Result<FetchHead, String> {
        let mut hop = WebHop::new(request, body)?;
        for _ in 0..=MOST_HOPS {
            self.admit(&hop.url).await?;
            let response = self.send(&hop).await?;
            let status = response.status();
            let next = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let next = next.filter(|_| status.is_redirection()).map(str::to_owned);
            match (next, hop.redirect.as_str()) {
                (Some(_), "error") => return Err(format!("`{}` is a redirect", hop.url)),
                (Some(to), "follow") => hop.redirected(status, &to)?,
                _ => return self.open(response, &hop),
            }
        }
        Err(format!("it was led elsewhere more than {MOST_HOPS} times"))
    }

    /// Asks the policy about an address, and the user if the policy requires it.
    async fn admit(&self, url: &Url) -> Result<(), String> {
        let (verdict, reason) = self.host.judge(&touch(url));
        let question = format!("the tool `{}` wants to fetch `{url}`: allow it?", self.tool);
        let choices = ["yes".to_owned(), "no".to_owned()];
        match verdict {
            CallJudgement::Allow => Ok(()),
            CallJudgement::Deny => Err(format!("refused: `{url}`: {reason}")),
            CallJudgement::Ask => {
                self.paused.begin();
                let answer = self.host.ask(&question, &choices).await;
                self.paused.end();
                match answer.as_deref() {
                    Some("yes") => Ok(()),
                    Some(_) => Err(format!("refused: `{url}`: the user said no")),
                    None => Err(format!("refused: `{url}` needs an approval: {reason}")),
                }
            }
        }
    }

    async fn send(&self, hop: &WebHop) -> Result<Response, String> {
        let WebHop { url, method, headers, body, .. } = hop;
        let client =
            self.client.pinned(url, &|touch| self.host.judge(touch), Some(self.time)).await?;
        let request = client.request(method.clone(), url.clone()).headers(headers.clone());
        let request = match body {
            Some(body) => request.body(body.clone()),
            None => request,
        };
        request.send().await.map_err(|error| unsent(url, &error))
    }

    fn open(&self, response: Response, hop: &WebHop) -> Result<FetchHead, String> {
        let mut bodies = locked(&self.bodies);
        let is_empty = is_empty(&response, &hop.method);
        if !is_empty && bodies.open.len() >= MOST_OPEN {
            return Err(format!("at most {MOST_OPEN} responses are open at once"));
        }
        bodies.last += 1;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers().iter().map(|(name, it)| (name.to_string(), text(it)));
        let head = FetchHead {
            status: response.status().as_u16(),
            status_text: response.status().canonical_reason().unwrap_or_default().to_owned(),
            headers: headers.collect(),
            url: hop.url.to_string(),
            redirected: hop.is_redirected,
            // Nothing is read from an empty body, and so nothing stays open for it.
            body: if is_empty { 0 } else { bodies.last },
        };
        if !is_empty {
            bodies.open.insert(head.body, Arc::new(tokio::sync::Mutex::new(response)));
        }
        Ok(head)
    }
}

/// Whether a response has no body, whatever follows its head.
fn is_empty(response: &Response, method: &Method) -> bool {
    let status = response.status().as_u16();
    method == Method::HEAD
        || matches!(status, 204 | 205 | 304)
        || response.content_length() == Some(0)
}

impl JobBroker for RunBroker<'_> {
    fn fetch(
        &self,
        request: FetchRequest,
        body: Vec<u8>,
    ) -> BrokerFuture<'_, Result<FetchHead, String>> {
        Box::pin(self.follow(request, body))
    }

    fn read(&self, body: u64) -> BrokerFuture<'_, Result<Option<Vec<u8>>, String>> {
        let response = locked(&self.bodies).open.get(&body).cloned();
        Box::pin(async move {
            let Some(response) = response else { return Ok(None) };
            let piece = response.lock().await.chunk().await;
            let piece = piece.map_err(|error| format!("the response broke off: {error}"))?;
            if piece.is_none() {
                self.close(body);
            }
            Ok(piece.map(|piece| piece.to_vec()))
        })
    }

    fn close(&self, body: u64) {
        locked(&self.bodies).open.remove(&body);
    }

    fn log(&self, level: LogLevel, text: &str) {
        declared_tool::show_log(self.host, level, text);
    }

    fn paused(&self) -> Duration {
        self.paused.total()
    }
}

/// Answers while the code is only evaluated: nothing may be asked for then.
pub(super) struct SilentBroker;

impl JobBroker for SilentBroker {
    fn fetch(&self, _: FetchRequest, _: Vec<u8>) -> BrokerFuture<'_, Result<FetchHead, String>> {
        Box::pin(std::future::ready(Err("refused: only a call of a tool may fetch".to_owned())))
    }

    fn read(&self, _: u64) -> BrokerFuture<'_, Result<Option<Vec<u8>>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn close(&self, _: u64) {}

    fn log(&self, _: LogLevel, _: &str) {}
}

/// One request on the way to a response.
struct WebHop {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    redirect: String,
    is_redirected: bool,
}

impl WebHop {
    fn new(request: FetchRequest, body: Vec<u8>) -> Result<Self, String> {
        let FetchRequest { url, method, headers, has_body, redirect } = request;
        let method = match method.as_str() {
            "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => {
                Method::from_bytes(method.as_bytes()).map_err(|error| error.to_string())?
            }
            _ => return Err("refused: not a method of HTTP that can be used".to_owned()),
        };
        let mut out = HeaderMap::new();
        for (name, value) in headers.iter().filter(|(name, _)| !is_own(name)) {
            let name: HeaderName = name.parse().map_err(|_| "a header has no valid name")?;
            let value = HeaderValue::from_bytes(value.as_bytes());
            out.append(name, value.map_err(|_| "a header has no valid value")?);
        }
        let body = has_body.then_some(body);
        Ok(Self { url: parse(&url)?, method, headers: out, body, redirect, is_redirected: false })
    }

    /// Changes it to the target of a redirect. Credentials stay with their origin.
    fn redirected(&mut self, status: StatusCode, to: &str) -> Result<(), String> {
        let next = self.url.join(to).map_err(|error| format!("`{}`: {error}", self.url))?;
        let next = parse(next.as_str())?;
        if next.origin() != self.url.origin() {
            [AUTHORIZATION, COOKIE].iter().for_each(|name| drop(self.headers.remove(name)));
        }
        let becomes_get = status == StatusCode::SEE_OTHER
            || (matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND)
                && self.method == Method::POST);
        if becomes_get && self.method != Method::HEAD {
            self.method = Method::GET;
            self.body = None;
        }
        self.url = next;
        self.is_redirected = true;
        Ok(())
    }
}

fn is_own(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OWN_HEADERS.contains(&name.as_str()) || name.starts_with("proxy-")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
