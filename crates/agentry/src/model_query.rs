//! Asks servers which models they have. A key is sent only to its own address: redirects are not followed,
//! and no part of a key is printed.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use agentry_compile::{ModelsEndpoint, ProviderApi};
use agentry_runtime::provider::http;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use crate::output::error_text;

/// The timeout for a server on this machine.
const LOCAL: Duration = Duration::from_secs(2);
/// The timeout for a hosted provider.
const HOSTED: Duration = Duration::from_secs(10);
/// The size limit of a list.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The models that a server on this machine lists at `url`.
pub(crate) fn local(url: &str) -> Option<Vec<String>> {
    let request = http::local().ok()?.get(url).timeout(LOCAL);
    let (status, body) = fetch(request).ok()?;
    names(&serde_json::from_slice(&body).ok().filter(|_| status.is_success())?)
}

/// The models that a provider lists, or why the request failed.
pub(crate) fn hosted(endpoint: &ModelsEndpoint) -> Result<Vec<String>, String> {
    let client = http::remote(&|name| std::env::var(name).ok())
        .map_err(|why| format!("it cannot be reached: {why}"))?;
    let mut request = client.get(&endpoint.url).timeout(HOSTED);
    if let Some(name) = &endpoint.key {
        let key = std::env::var(name).map_err(|_| format!("`{name}` is not text"))?;
        request = match endpoint.api {
            ProviderApi::OpenAi | ProviderApi::Responses | ProviderApi::Ollama => {
                request.bearer_auth(key.trim())
            }
            ProviderApi::Anthropic => request.header("x-api-key", key.trim()),
            ProviderApi::Google => request.header("x-goog-api-key", key.trim()),
        };
    }
    if endpoint.api == ProviderApi::Anthropic {
        request = request.header("anthropic-version", "2023-06-01");
    }
    let (status, body) = fetch(request)?;
    match status.as_u16() {
        200 => {}
        401 | 403 => return Err(refused(endpoint)),
        status => return Err(format!("it answered with the status {status}")),
    }
    let list = serde_json::from_slice(&body).ok().and_then(|list| names(&list));
    list.ok_or_else(|| "its answer is not a list of models".to_owned())
}

fn refused(endpoint: &ModelsEndpoint) -> String {
    match &endpoint.key {
        Some(name) => format!("the key in `{name}` was refused"),
        None => "it wants a key".to_owned(),
    }
}

/// Sends a request and waits for the whole answer, in its own thread: the caller may be inside an
/// asynchronous runtime, which must not block.
fn fetch(request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), String> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error_text(&error))?.block_on(read(request))
    };
    // A panic in the HTTP client must not end the run.
    let panicked = || Err("it cannot be asked".to_owned());
    std::thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|_| panicked()))
}

async fn read(request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), String> {
    let mut response = request.send().await.map_err(|error| failed(&error))?;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
        body.extend_from_slice(&piece);
        if body.len() > MOST_BYTES {
            return Err("its answer is too long".to_owned());
        }
    }
    Ok((response.status(), body))
}

fn failed(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("it did not answer within {} seconds", HOSTED.as_secs());
    }
    let causes = || std::iter::successors(error.source(), |&cause| cause.source());
    if causes().any(|cause| cause.to_string() == "dns error") {
        return "its host is not known".to_owned();
    }
    match causes().find_map(|cause| cause.downcast_ref::<io::Error>()) {
        Some(error) => format!("it cannot be reached: {}", error_text(error)),
        None => format!("it cannot be asked: {}", http::reason(error).to_lowercase()),
    }
}

/// The names in a list of models, in any of the shapes that providers use.
fn names(list: &Value) -> Option<Vec<String>> {
    let items = list.as_array().or_else(|| list["data"].as_array());
    let items = items.or_else(|| list["models"].as_array())?;
    let name = |item: &Value| item["id"].as_str().or(item["name"].as_str()).map(str::to_owned);
    Some(items.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_server_is_reported() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/models", listener.local_addr().unwrap());
        drop(listener);
        assert_eq!(local(&url), None);
        let request = http::local().unwrap().get(url).timeout(LOCAL);
        assert_eq!(fetch(request), Err("it cannot be reached: connection refused".to_owned()));
    }

    #[test]
    fn model_lists_parse_in_every_shape() {
        let cases = [
            (r#"{"data": [{"id": "a"}, {"id": "b"}]}"#, Some(vec!["a", "b"])),
            (r#"{"models": [{"name": "a:latest", "size": 1}]}"#, Some(vec!["a:latest"])),
            (r#"[{"id": "a"}, {"other": 1}]"#, Some(vec!["a"])),
            (r#"{"models": []}"#, Some(vec![])),
            (r#"{"error": "x"}"#, None),
            ("7", None),
        ];
        for (text, expected) in cases {
            let found = names(&serde_json::from_str(text).unwrap());
            assert_eq!(
                found,
                expected.map(|names| names.into_iter().map(str::to_owned).collect()),
                "{text}"
            );
        }
    }
}
