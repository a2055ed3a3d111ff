//! Logs a user in to an HTTP server by OAuth 2.1: authorization code with PKCE, and a loopback address that
//! the browser is sent back to.
//!
//! ```text
//! challenge ─▶ discovery ─▶ registration ─▶ browser ─▶ redirect ─▶ token ─▶ SavedLogin
//! ```
//!
//! A token belongs to one server. It is sent to the origin of that server alone, and never over plain HTTP
//! except to this machine.

mod challenge;
mod discovery;
mod loopback;
mod registration;
mod token;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Response, header};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::{Host, Url};

use crate::ClientFuture;
use crate::clean_text::clean_start;
use crate::http_wire::{HttpGate, body, unsent};
use challenge::LoginChallenge;
use discovery::AuthorizationServer;
use loopback::LoopbackPage;
pub use registration::{RegisteredClient, SecretUse};
use token::TokenGrant;

/// The most bytes of an answer about logins.
const MOST_ANSWER: usize = 256 << 10;
/// The time of one request about logins.
const REQUEST: Duration = Duration::from_secs(20);
/// The time that the user has in the browser.
const BROWSER: Duration = Duration::from_mins(5);
/// A token that ends within this time counts as over.
const MARGIN: u64 = 30;

/// Keeps logins.
pub trait LoginStore: Send + Sync {
    /// Returns the login for a server, if there is one.
    fn find(&self, resource: &Url) -> Result<Option<SavedLogin>, String>;

    /// Keeps a login, instead of the one before.
    fn keep(&self, resource: &Url, login: &SavedLogin) -> Result<(), String>;
}

/// The browser of the user.
pub trait LoginBrowser: Send + Sync {
    /// Shows a page to the user. `issuer` is who asks for the login.
    fn open<'a>(&'a self, page: &'a Url, issuer: &'a str) -> ClientFuture<'a, Result<(), String>>;
}

/// A login, with its secrets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedLogin {
    /// The server that it is for.
    pub resource: String,
    /// What the server is called in tokens, if it has such a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Who gave it.
    pub issuer: String,
    /// Where it is renewed.
    pub token_endpoint: String,
    /// What this program is called there.
    pub client: RegisteredClient,
    /// The token for requests.
    pub access_token: String,
    /// The token for new tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When the token ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<u64>,
    /// What it permits, in the words of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl fmt::Debug for SavedLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedLogin").field("resource", &self.resource).finish_non_exhaustive()
    }
}

/// The login of one server.
pub struct ServerLogin {
    resource: Url,
    gate: Arc<dyn HttpGate>,
    store: Arc<dyn LoginStore>,
    /// What this program is called at the server, if it was registered by hand.
    client: Option<RegisteredClient>,
    /// The address of the document that describes this program, if it has one.
    document: Option<Url>,
    current: Mutex<Option<SavedLogin>>,
}

impl fmt::Debug for ServerLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLogin")
            .field("resource", &self.resource.as_str())
            .finish_non_exhaustive()
    }
}

impl ServerLogin {
    /// Creates the login of the server at this address. Reads what is kept of it.
    pub fn new(
        resource: &Url,
        gate: Arc<dyn HttpGate>,
        store: Arc<dyn LoginStore>,
    ) -> Result<Self, String> {
        let resource = canonical(resource);
        let found = store.find(&resource)?;
        // A login that was kept for another server is not used, whatever the store says.
        let current = found.filter(|login| login.resource == resource.as_str());
        let current = Mutex::new(current);
        Ok(Self { resource, gate, store, client: None, document: None, current })
    }

    /// Uses what this program was registered as, instead of registering it.
    #[must_use]
    pub fn registered(mut self, client: Option<RegisteredClient>, document: Option<Url>) -> Self {
        (self.client, self.document) = (client, document);
        self
    }

    /// Whether there is a login.
    pub fn is_there(&self) -> bool {
        self.current().is_some()
    }

    fn current(&self) -> MutexGuard<'_, Option<SavedLogin>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The header of a request to this address: only for the server that the login is for.
    pub(crate) async fn header(&self, url: &Url) -> Option<HeaderValue> {
        if url.origin() != self.resource.origin() || !is_safe(url) {
            return None;
        }
        let login = self.current().clone()?;
        let is_over = login.ends.is_some_and(|ends| ends <= now().saturating_add(MARGIN));
        if is_over && login.refresh_token.is_some() {
            // Without a new token the old one is tried; the server then says what is wrong.
            let _ = self.renew().await;
        }
        let login = self.current().clone()?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", login.access_token)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Gets a new token for the old one. Fails if the user must log in.
    pub(crate) async fn renew(&self) -> Result<(), String> {
        let login = self.current().clone().ok_or("there is no login")?;
        let refresh = login.refresh_token.clone().ok_or("the login has ended")?;
        let endpoint = endpoint(&login.token_endpoint)?;
        let grant = TokenGrant::refresh(&login, &refresh);
        let answer = self.post(&endpoint, grant.form, grant.header).await?;
        let mut new = token::read(&answer, &login)?;
        // A server that gives no new one expects the old one again.
        new.refresh_token = new.refresh_token.or(Some(refresh));
        self.keep(new)
    }

    fn keep(&self, login: SavedLogin) -> Result<(), String> {
        self.store.keep(&self.resource, &login)?;
        *self.current() = Some(login);
        Ok(())
    }

    /// Logs the user in. `challenge` is the header `WWW-Authenticate` of the refusal.
    pub async fn log_in(
        &self,
        challenge: Option<&str>,
        browser: &dyn LoginBrowser,
    ) -> Result<(), String> {
        let challenge = LoginChallenge::read(challenge.unwrap_or_default());
        let server = AuthorizationServer::discover(self, &challenge).await?;
        let page = LoopbackPage::bind().await?;
        let client = registration::register(self, &server, page.address()).await?;
        let before = self.current().clone().filter(|login| login.issuer == server.issuer);
        let wanted = server.scope(&challenge, before.and_then(|login| login.scope).as_deref());
        let asked = token::AuthorizationRequest::new(&client, &page, &server, wanted.as_deref())?;
        browser.open(&asked.url, &server.issuer).await?;
        let code = tokio::time::timeout(BROWSER, page.code(&asked.state, &server)).await;
        let code = code.map_err(|_| "the browser did not come back in time".to_owned())??;
        let empty = SavedLogin {
            resource: self.resource.to_string(),
            audience: server.resource.clone(),
            issuer: server.issuer.clone(),
            token_endpoint: server.token_endpoint.to_string(),
            client,
            access_token: String::new(),
            refresh_token: None,
            ends: None,
            scope: wanted,
        };
        let grant = TokenGrant::code(&empty, &asked, &code);
        let answer = self.post(&server.token_endpoint, grant.form, grant.header).await?;
        self.keep(token::read(&answer, &empty)?)
    }

    /// Gets a document; returns `None` if there is none.
    async fn get(&self, url: &Url) -> Result<Option<Value>, String> {
        let client = self.gate.client(url).await?;
        let request = client.get(url.clone()).header(header::ACCEPT, "application/json");
        let response =
            request.timeout(REQUEST).send().await.map_err(|it| unsent(it).to_string())?;
        if !response.status().is_success() {
            return Ok(None);
        }
        json(response).await.map(Some)
    }

    /// Sends a form; returns the answer, or the error in it.
    async fn post(
        &self,
        url: &Url,
        form: Vec<(&'static str, String)>,
        authorization: Option<HeaderValue>,
    ) -> Result<Value, String> {
        let text = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form.iter().map(|(name, value)| (*name, value.as_str())))
            .finish();
        let client = self.gate.client(url).await?;
        let mut request = client.post(url.clone()).header(header::ACCEPT, "application/json");
        request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let sent = request.body(text).timeout(REQUEST).send().await;
        answered(sent.map_err(|error| unsent(error).to_string())?).await
    }

    /// Sends JSON; returns the answer, or the error in it.
    async fn post_json(&self, url: &Url, value: &Value) -> Result<Value, String> {
        let client = self.gate.client(url).await?;
        let request = client.post(url.clone()).header(header::ACCEPT, "application/json");
        let sent = request.json(value).timeout(REQUEST).send().await;
        answered(sent.map_err(|error| unsent(error).to_string())?).await
    }
}

async fn json(response: Response) -> Result<Value, String> {
    let body = body(response, MOST_ANSWER).await.map_err(|failure| failure.to_string())?;
    serde_json::from_slice(&body).map_err(|_| "the answer is no JSON".to_owned())
}

/// The answer, or the error that OAuth has for it. A redirect is no answer: a secret was sent.
async fn answered(response: Response) -> Result<Value, String> {
    let status = response.status();
    let answer = json(response).await;
    if status.is_success() {
        return answer;
    }
    let answer = answer.unwrap_or_default();
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    let shown = clean_start(&format!("{} {}", text("error"), text("error_description")), 200).text;
    Err(format!("the status is {}: {}", status.as_u16(), shown.trim()))
}

/// The address of a server as its name: without a fragment, and without a slash that means nothing.
fn canonical(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}

/// An address to which secrets may be sent.
fn endpoint(text: &str) -> Result<Url, String> {
    let shown = clean_start(text, 200).text;
    let url = Url::parse(text).map_err(|error| format!("the address `{shown}`: {error}"))?;
    if !is_safe(&url) || !url.username().is_empty() || url.password().is_some() {
        return Err(format!("the address `{shown}` is not safe: it must begin with `https://`"));
    }
    Ok(url)
}

/// Whether what is sent there stays private: HTTPS, or this machine.
fn is_safe(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Random letters that cannot be guessed.
fn random() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("there is no randomness: {error}"))?;
    Ok(crate::header_text::base64_url(&bytes))
}
