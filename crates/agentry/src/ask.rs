//! Asks servers which models they have. A key goes to the one address that it is for: redirections are
//! not followed, and nothing of a key is ever printed.

use std::time::Duration;

use agentry_compile::{Api, Endpoint};
use serde_json::Value;

use crate::output::said;

/// How long a server on this machine may take.
const LOCAL: Duration = Duration::from_secs(2);
/// How long a hosted provider may take.
const HOSTED: Duration = Duration::from_secs(10);
/// The most bytes of a list.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// The models that a server on this machine lists at `url`.
pub(crate) fn local(url: &str) -> Option<Vec<String>> {
    let config = ureq::Agent::config_builder().proxy(None);
    let agent = config.timeout_global(Some(LOCAL)).max_redirects(0).build().new_agent();
    let mut response = agent.get(url).call().ok()?;
    let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_string().ok()?;
    names(&serde_json::from_str(&body).ok()?)
}

/// The models that a provider lists, or why it does not answer.
pub(crate) fn hosted(endpoint: &Endpoint) -> Result<Vec<String>, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(HOSTED));
    let agent = config.max_redirects(0).http_status_as_error(false).build().new_agent();
    let mut request = agent.get(&endpoint.url);
    if let Some(name) = &endpoint.key {
        let key = std::env::var(name).map_err(|_| format!("`{name}` is not text"))?;
        request = match endpoint.api {
            Api::OpenAi | Api::Responses | Api::Ollama => {
                request.header("authorization", format!("Bearer {}", key.trim()))
            }
            Api::Anthropic => request.header("x-api-key", key.trim()),
            Api::Google => request.header("x-goog-api-key", key.trim()),
        };
    }
    if endpoint.api == Api::Anthropic {
        request = request.header("anthropic-version", "2023-06-01");
    }
    let mut response = request.call().map_err(|error| failed(&error))?;
    match response.status().as_u16() {
        200 => {}
        401 | 403 => return Err(refused(endpoint)),
        status => return Err(format!("it answered with the status {status}")),
    }
    let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_string();
    let body = body.map_err(|error| failed(&error))?;
    let list = serde_json::from_str(&body).ok().and_then(|list| names(&list));
    list.ok_or_else(|| "its answer is no list of models".to_owned())
}

fn refused(endpoint: &Endpoint) -> String {
    match &endpoint.key {
        Some(name) => format!("the key in `{name}` was refused"),
        None => "it wants a key".to_owned(),
    }
}

fn failed(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("it did not answer within {} seconds", HOSTED.as_secs()),
        ureq::Error::Io(error) => format!("it cannot be reached: {}", said(error)),
        ureq::Error::HostNotFound => "its host is not known".to_owned(),
        other => format!("it cannot be asked: {}", other.to_string().to_lowercase()),
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
    fn lists_come_in_several_shapes() {
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
