//! A client for the conformance suite of the protocol: `conformance-client URL` connects to a server and uses
//! everything that it announces. The suite watches what the client sends.
#![expect(clippy::print_stderr, reason = "a program for the suite, which shows this to people")]

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_mcp::{
    AnnouncedTool, CallListener, ClientFuture, ClientRuntime, ElicitationAnswer,
    ElicitationRequest, HttpAddress, HttpGate, LoginBrowser, LoginStore, McpClient, McpFailure,
    RegisteredClient, SavedLogin, SecretUse, ServerConfig, ServerEndpoint, ServerLogin, StartPace,
};
use reqwest::redirect::Policy;
use serde_json::{Map, Value, json};
use url::Url;

/// The time of a call.
const CALL: Duration = Duration::from_secs(10);
/// The most logins of one test: a server may want more of each.
const MOST_LOGINS: usize = 2;
/// The document that describes the client of the suite.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(url) = std::env::args().next_back().and_then(|url| url.parse().ok()) else {
        eprintln!("usage: conformance-client URL");
        return ExitCode::from(2);
    };
    match exercise(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// What the suite says about the test.
fn context() -> Value {
    let text = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Uses everything that a server announces; logs in where it wants that.
async fn exercise(url: &Url) -> Result<(), String> {
    let context = context();
    let login = ServerLogin::new(url, Arc::new(OpenGate), Arc::new(Memory::default()))?;
    let text = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let client = text("client_id").map(|id| RegisteredClient {
        id,
        secret: text("client_secret"),
        secret_use: SecretUse::Basic,
    });
    let login = Arc::new(login.registered(client, DOCUMENT.parse().ok()));
    let mut failure = String::new();
    for _ in 0..=MOST_LOGINS {
        match attempt(url, &login, &context).await {
            Ok(()) => return Ok(()),
            Err(McpFailure::Status { status: 401 | 403, challenge, detail }) => {
                failure = format!("the login is refused again and again{detail}");
                login.log_in(challenge.as_deref(), &Browser).await?;
            }
            Err(other) => return Err(other.to_string()),
        }
    }
    Err(failure)
}

/// Connects once and uses everything.
async fn attempt(url: &Url, login: &Arc<ServerLogin>, context: &Value) -> Result<(), McpFailure> {
    let runtime =
        ClientRuntime::new().map_err(|error| McpFailure::Unstartable(error.to_string()))?;
    let address =
        HttpAddress { url: url.clone(), headers: Vec::new(), login: Some(Arc::clone(login)) };
    let config = ServerConfig {
        name: "conformance".to_owned(),
        endpoint: ServerEndpoint::Http(address, Arc::new(OpenGate)),
        can_ask: true,
        era: None,
        pace: StartPace { first_pause: Duration::from_millis(10), ..StartPace::default() },
    };
    let client = McpClient::connect(&runtime, config).await?;
    let tools = client.catalogue().await?.tools.clone();
    for (tool, arguments) in calls(&tools, context) {
        let called = client.call(&tool, &arguments, CALL, &Defaults).await;
        stop_at_login(called)?;
    }
    for resource in client.resources().await?.resources {
        stop_at_login(client.read_resource(&resource.uri, &Defaults).await)?;
    }
    for prompt in client.prompts().await? {
        let arguments = prompt.arguments.iter().map(|(name, _)| (name.clone(), json!("test")));
        let text = client.prompt(&prompt.name, arguments.collect(), &Defaults).await;
        stop_at_login(text.map(Value::String))?;
    }
    Ok(())
}

/// What a tool answers does not matter here; a refused login does.
fn stop_at_login(called: Result<Value, McpFailure>) -> Result<(), McpFailure> {
    match called {
        Err(failure @ McpFailure::Status { status: 401 | 403, .. }) => Err(failure),
        Err(other) => {
            eprintln!("{other}");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// The calls of a test: those that the suite names, or one of each tool.
fn calls(tools: &[AnnouncedTool], context: &Value) -> Vec<(String, Value)> {
    let is_there = |name: &str| tools.iter().any(|tool| tool.name == name);
    if let Some(calls) = context.get("toolCalls").and_then(Value::as_array) {
        let named = calls.iter().filter_map(|call| {
            let name = call.get("name")?.as_str().filter(|name| is_there(name))?;
            Some((name.to_owned(), call.get("arguments").cloned().unwrap_or_else(|| json!({}))))
        });
        return named.collect();
    }
    let first = tools.first().map(|tool| tool.input.clone());
    let call = |tool: &AnnouncedTool| {
        let arguments = match tool.name.as_str() {
            // The suite compares the schema that arrived with the one that it sent.
            "json_schema_echo" => json!({"schema": first}),
            _ => arguments(&tool.input),
        };
        (tool.name.clone(), arguments)
    };
    tools.iter().map(call).collect()
}

/// Values for everything that a schema requires.
fn arguments(schema: &Value) -> Value {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let values = required.filter_map(Value::as_str).map(|name| {
        let kind = properties.get(name).and_then(|it| it.get("type")?.as_str());
        let value = match kind {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("test"),
        };
        (name.to_owned(), value)
    });
    Value::Object(values.collect())
}

/// Accepts every question, with its defaults.
struct Defaults;

impl CallListener for Defaults {
    fn progress(&self, text: &str) {
        eprintln!("{text}");
    }

    fn ask(&self, asked: ElicitationRequest) -> ClientFuture<'_, ElicitationAnswer> {
        Box::pin(std::future::ready(ElicitationAnswer::Accept(asked.defaults())))
    }
}

/// Connects to everything: the suite runs on loopback.
struct OpenGate;

impl HttpGate for OpenGate {
    fn client<'a>(&'a self, _: &'a Url) -> ClientFuture<'a, Result<reqwest::Client, String>> {
        let client = reqwest::Client::builder().redirect(Policy::none()).no_proxy().build();
        Box::pin(std::future::ready(client.map_err(|error| error.to_string())))
    }
}

/// Keeps the login of one test.
#[derive(Default)]
struct Memory(Mutex<Option<SavedLogin>>);

impl LoginStore for Memory {
    fn find(&self, _: &Url) -> Result<Option<SavedLogin>, String> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn keep(&self, _: &Url, login: &SavedLogin) -> Result<(), String> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(login.clone());
        Ok(())
    }
}

/// A browser whose user agrees to everything: follows the redirect of the page.
struct Browser;

impl LoginBrowser for Browser {
    fn open<'a>(&'a self, page: &'a Url, _: &'a str) -> ClientFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let client = OpenGate.client(page).await?;
            let answer = client.get(page.clone()).send().await.map_err(|it| it.to_string())?;
            let to = answer.headers().get("location").and_then(|to| to.to_str().ok());
            let to = to.ok_or("the page sends the browser nowhere")?.to_owned();
            // The page on this machine answers only after this returns.
            tokio::spawn(async move { client.get(to).send().await.map(drop) });
            Ok(())
        })
    }
}
