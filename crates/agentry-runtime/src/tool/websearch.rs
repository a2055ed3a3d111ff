//! `websearch`: asks the user's search service. Without one, the tool does not exist.

use std::fmt::Write as _;
use std::time::Duration;

use agentry_compile::policy::Section;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    output_cap, permit,
};
use crate::event::CallClass;

/// The time limit of a search.
const TIME: Duration = Duration::from_secs(20);
/// The most bytes of an answer.
const MOST_BYTES: usize = 4 << 20;
/// The most results.
const MOST: usize = 10;
/// The most bytes of the text of one result.
const MOST_OF_TEXT: usize = 600;

/// The user's search service.
pub struct SearchClient {
    /// Its kind.
    pub service: SearchService,
    /// Its address, without the path.
    pub base: String,
    /// The key, if one is required.
    pub key: Option<SecretString>,
    /// The HTTP client.
    pub http: reqwest::Client,
}

/// A kind of search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchService {
    /// Brave.
    Brave,
    /// Tavily.
    Tavily,
    /// `SearXNG`, which users host themselves.
    Searxng,
}

impl std::fmt::Debug for SearchClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { service, base, key: _, http: _ } = self;
        f.debug_struct("SearchClient").field("service", service).field("base", base).finish()
    }
}

impl SearchClient {
    /// Returns the first service that the user's environment names: `SEARXNG_URL`, `BRAVE_API_KEY`,
    /// `TAVILY_API_KEY`.
    pub fn of(
        environment: &dyn Fn(&str) -> Option<String>,
        http: &reqwest::Client,
    ) -> Option<Self> {
        let set = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
        let with = |service, base: &str, key: Option<String>| Self {
            service,
            base: base.to_owned(),
            key: key.map(SecretString::from),
            http: http.clone(),
        };
        if let Some(base) = set("SEARXNG_URL") {
            return Some(with(SearchService::Searxng, &base, None));
        }
        if let Some(key) = set("BRAVE_API_KEY") {
            let base = "https://api.search.brave.com";
            return Some(with(SearchService::Brave, base, Some(key)));
        }
        let key = set("TAVILY_API_KEY")?;
        Some(with(SearchService::Tavily, "https://api.tavily.com", Some(key)))
    }

    fn request(&self, query: &str) -> reqwest::RequestBuilder {
        let base = self.base.trim_end_matches('/');
        let key = self.key.as_ref().map_or("", |key| key.expose_secret());
        match self.service {
            SearchService::Brave => {
                let url = address(&format!("{base}/res/v1/web/search"), &[("q", query)]);
                self.http.get(url).header("x-subscription-token", key)
            }
            SearchService::Tavily => {
                let body = json!({"query": query, "max_results": MOST});
                self.http.post(format!("{base}/search")).bearer_auth(key).json(&body)
            }
            SearchService::Searxng => {
                let query = [("q", query), ("format", "json")];
                self.http.get(address(&format!("{base}/search"), &query))
            }
        }
    }

    async fn search(&self, query: &str) -> Result<String, String> {
        let failed = |why: String| format!("the search service did not answer: {why}");
        let sent = self.request(query).send().await;
        // The address is left out of the error; the query in it is already known to the model.
        let broken = |error: reqwest::Error| failed(error.without_url().to_string());
        let mut response = sent.map_err(broken)?;
        let status = response.status();
        if !status.is_success() {
            return Err(failed(status.to_string()));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MOST_BYTES {
                return Err(failed("the answer is too long".to_owned()));
            }
        }
        let answer = serde_json::from_slice(&bytes);
        answer.map(|answer| results(&answer)).map_err(|error| failed(error.to_string()))
    }
}

fn address(base: &str, query: &[(&str, &str)]) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(query);
    format!("{base}?{}", text.finish())
}

/// Returns the results of any service: a list of maps in the answer.
fn results(answer: &Value) -> String {
    // Brave has `web.results`; the other services have `results`.
    let found = answer.pointer("/web/results").or_else(|| answer.get("results"));
    let found = found.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut text = String::new();
    for result in found.iter().take(MOST) {
        let field = |name: &str| result.get(name).and_then(Value::as_str).map(str::trim);
        let Some(url) = field("url") else { continue };
        let title = field("title").unwrap_or(url);
        let about = field("content").or_else(|| field("description")).unwrap_or_default();
        let (title, url) = (output_cap::start(title, 200), output_cap::start(url, 1_000));
        let _ = writeln!(text, "{title}\n{url}\n{}\n", output_cap::start(about, MOST_OF_TEXT));
    }
    if text.is_empty() { "nothing was found".to_owned() } else { text }
}

/// Searches the web.
pub(super) struct WebsearchTool(pub(super) SearchClient);

#[derive(Deserialize)]
struct WebsearchInput {
    query: String,
}

impl BuiltInTool for WebsearchTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "websearch".to_owned(),
            description: "Searches the web and gives titles, addresses and a few lines of each \
                          result. Use `webfetch` to read one."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 1_000}},
                "required": ["query"],
                "additionalProperties": false
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::External
    }

    fn touches(&self, given: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        Ok(vec![touch(arguments::<WebsearchInput>(given)?.query)])
    }

    fn run<'a>(&'a self, given: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            let search = async {
                let WebsearchInput { query } = arguments(&given)?;
                permit(host, &touch(query.clone()))?;
                self.0.search(&query).await
            };
            let late = || Err(format!("the search took longer than {} s", TIME.as_secs()));
            tokio::time::timeout(TIME, search).await.unwrap_or_else(|_| late()).into()
        })
    }
}

fn touch(query: String) -> ToolTouch {
    ToolTouch { section: Section::Websearch, subject: query }
}

/// Creates a client for tests.
#[cfg(test)]
pub(super) fn client() -> reqwest::Client {
    crate::provider::http::choose_cryptography();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::testing::TestWorkspace;
    use super::*;

    /// Answers one request with `answer`, and returns the request.
    async fn asked(service: SearchService, answer: &'static str) -> (ToolOutput, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let whole = |request: &[u8]| {
                let text = String::from_utf8_lossy(request).into_owned();
                text.split_once("\r\n\r\n")
                    .is_some_and(|(head, body)| head.starts_with("GET") || body.ends_with('}'))
            };
            while !whole(&request) {
                stream.read_buf(&mut request).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(request).unwrap()
        });
        let key = Some(SecretString::from("the-key".to_owned()));
        let tool = WebsearchTool(SearchClient { service, base, key, http: client() });
        let world = TestWorkspace::new();
        let output = world.host().call(&tool, json!({"query": "rust & crabs"})).await;
        (output, server.await.unwrap())
    }

    #[tokio::test]
    async fn each_search_service_gets_its_request_format() {
        let brave = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"web\": {\"results\": [{\"title\": \"A\", \"url\": \"https://a.example\", \"description\": \"about\"}]}}";
        let other = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"results\": [{\"title\": \"A\", \"url\": \"https://a.example\", \"content\": \"about\"}, {}]}";
        let cases = [
            (
                SearchService::Brave,
                brave,
                ["GET /res/v1/web/search?q=rust+%26+crabs ", "x-subscription-token: the-key"],
            ),
            (SearchService::Tavily, other, ["POST /search ", "authorization: Bearer the-key"]),
            (SearchService::Searxng, other, ["GET /search?q=rust+%26+crabs&format=json ", "host"]),
        ];
        for (service, answer, expected) in cases {
            let (output, request) = asked(service, answer).await;
            assert_eq!(output, ToolOutput::done("A\nhttps://a.example\nabout\n\n"), "{service:?}");
            for part in expected {
                assert!(request.contains(part), "{service:?}: {request}");
            }
        }
    }

    #[tokio::test]
    async fn search_service_failures_are_reported() {
        let cases = [
            ("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n", "401 Unauthorized"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{", "EOF while parsing"),
        ];
        for (answer, expected) in cases {
            let (output, _) = asked(SearchService::Brave, answer).await;
            let start = format!("the search service did not answer: {expected}");
            assert!(output.failed && output.text.starts_with(&start), "{output:?}");
        }
        assert_eq!(results(&json!({"results": []})), "nothing was found");
    }

    #[test]
    fn the_search_service_follows_the_environment() {
        let cases = [
            (&[] as &[(&str, &str)], None),
            (&[("BRAVE_API_KEY", " ")], None),
            (&[("TAVILY_API_KEY", "x")], Some(SearchService::Tavily)),
            (&[("TAVILY_API_KEY", "x"), ("BRAVE_API_KEY", "x")], Some(SearchService::Brave)),
            (&[("SEARXNG_URL", "http://s"), ("BRAVE_API_KEY", "x")], Some(SearchService::Searxng)),
        ];
        let http = client();
        for (set, expected) in cases {
            let environment = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            let search = SearchClient::of(&environment, &http);
            assert_eq!(search.as_ref().map(|search| search.service), expected, "{set:?}");
            assert!(!format!("{search:?}").contains("key"));
        }
    }
}
