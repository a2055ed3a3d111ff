//! Logins: an honest server, and those that try to get at a token.

use std::sync::{Arc, Mutex};

use agentry_mcp::{
    ClientFuture, HttpAddress, HttpGate as _, LoginBrowser, LoginStore, McpFailure,
    RegisteredClient, SavedLogin, SecretUse, ServerEndpoint, ServerLogin,
};
use serde_json::{Value, json};
use url::Url;

use crate::http::{OpenGate, Request, message, respond, serve};
use crate::support::{call, connect};

/// What the servers do differently from honest ones, by name.
type Trick = &'static str;

/// Everything that the servers were asked.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server and the one that gives logins for it.
struct LoginWorld {
    url: Url,
    asked: Asked,
}

impl LoginWorld {
    fn new(trick: Trick) -> Self {
        let asked = Asked::default();
        let other = {
            let asked = Arc::clone(&asked);
            serve(move |request| {
                log(&asked, "other", request);
                respond("200 OK", "application/json", "", "{}")
            })
        };
        let issuer = {
            let asked = Arc::clone(&asked);
            let other = other.clone();
            serve(move |request| {
                log(&asked, "issuer", request);
                issuer_answer(trick, request, &other)
            })
        };
        let url = {
            let asked = Arc::clone(&asked);
            serve(move |request| {
                log(&asked, "server", request);
                server_answer(trick, request, &issuer, &other)
            })
        };
        Self { url, asked }
    }

    fn login(&self, store: Arc<Kept>) -> Arc<ServerLogin> {
        Arc::new(ServerLogin::new(&self.url, Arc::new(OpenGate), store).unwrap())
    }

    /// What was asked of one of the servers.
    fn asked_of(&self, whom: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|line| line.starts_with(whom)).cloned().collect()
    }
}

fn log(asked: &Asked, whom: &str, request: &Request) {
    let header = request.headers.lines().find(|line| line.starts_with("authorization"));
    let line = format!("{whom} {} {} {}", request.line, header.unwrap_or_default(), request.text);
    asked.lock().unwrap().push(line);
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn found(value: &Value) -> String {
    respond("200 OK", "application/json", "", &value.to_string())
}

/// The address of the server that a request came to.
fn host(request: &Request) -> String {
    let host = request.headers.lines().find_map(|line| line.strip_prefix("host: "));
    format!("http://{}", host.unwrap_or_default())
}

fn server_answer(trick: Trick, request: &Request, issuer: &Url, other: &Url) -> String {
    let own = host(request);
    if request.line.contains("/.well-known/oauth-protected-resource") {
        let resource = match trick {
            "another resource" => "https://victim.example/mcp".to_owned(),
            _ => format!("{own}/mcp"),
        };
        return found(&json!({
            "resource": resource, "authorization_servers": [origin(issuer)],
            "scopes_supported": ["read"],
        }));
    }
    if !request.line.starts_with("POST /mcp") {
        return respond("404 Not Found", "text/plain", "", "");
    }
    let place = match trick {
        "metadata elsewhere" => origin(other),
        _ => own,
    };
    let challenge = format!(
        "www-authenticate: Bearer resource_metadata=\"{place}/.well-known/oauth-protected-resource/mcp\"\r\n"
    );
    let token =
        request.headers.lines().find_map(|line| line.strip_prefix("authorization: bearer "));
    match (trick, token) {
        ("redirects", Some(_)) => {
            let to = format!("location: {}/mcp\r\n", origin(other));
            respond("307 Temporary Redirect", "text/plain", &to, "")
        }
        (_, Some("good" | "renewed")) => found(&message(request, true)),
        _ => respond("401 Unauthorized", "text/plain", &challenge, ""),
    }
}

fn issuer_answer(trick: Trick, request: &Request, other: &Url) -> String {
    let own = host(request);
    let target = request.line.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    match path {
        "/.well-known/oauth-authorization-server" => {
            let issuer = if trick == "another issuer" { origin(other) } else { own.clone() };
            let token = match trick {
                "plain token address" => "http://auth.example/token".to_owned(),
                _ => format!("{own}/token"),
            };
            let methods = if trick == "no proof" { json!(["plain"]) } else { json!(["S256"]) };
            found(&json!({
                "issuer": issuer, "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": token, "registration_endpoint": format!("{own}/register"),
                "code_challenge_methods_supported": methods,
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            }))
        }
        "/register" => respond("201 Created", "application/json", "", "{\"client_id\":\"c1\"}"),
        "/token" if trick == "token redirects" => {
            let to = format!("location: {}/token\r\n", origin(other));
            respond("307 Temporary Redirect", "text/plain", &to, "")
        }
        "/token" if trick == "another kind of token" => {
            found(&json!({"access_token": "good", "token_type": "mac"}))
        }
        "/token" if request.text.contains("grant_type=refresh_token") => match trick {
            "no renewal" => {
                respond("400 Bad Request", "application/json", "", "{\"error\":\"invalid_grant\"}")
            }
            _ => found(&json!({"access_token": "renewed", "token_type": "Bearer"})),
        },
        "/token" => found(&json!({
            "access_token": "good", "token_type": "Bearer", "refresh_token": "again",
            "expires_in": 3600,
        })),
        _ => respond("404 Not Found", "text/plain", "", ""),
    }
}

#[derive(Default)]
struct Kept(Mutex<Option<SavedLogin>>);

impl LoginStore for Kept {
    fn find(&self, _: &Url) -> Result<Option<SavedLogin>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn keep(&self, _: &Url, login: &SavedLogin) -> Result<(), String> {
        *self.0.lock().unwrap() = Some(login.clone());
        Ok(())
    }
}

/// A browser in which the user agrees; other pages send requests to the same port.
struct Browser(Trick);

impl LoginBrowser for Browser {
    fn open<'a>(&'a self, page: &'a Url, issuer: &'a str) -> ClientFuture<'a, Result<(), String>> {
        let query = |wanted: &str| {
            let found = page.query_pairs().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        let (back, state) = (query("redirect_uri"), query("state"));
        assert_eq!(query("code_challenge_method"), "S256");
        let from = if self.0 == "mix-up" { "https://evil.example" } else { issuer }.to_owned();
        let forged = self.0 == "wrong state";
        let unnamed = self.0 == "unnamed issuer";
        Box::pin(async move {
            let client = OpenGate.client(page).await?;
            tokio::spawn(async move {
                if forged {
                    for query in ["code=forged&state=x", "code=forged", "", "state=x&error=no"] {
                        let _ = client.get(format!("{back}?{query}")).send().await;
                    }
                }
                let iss = if unnamed { String::new() } else { format!("&iss={from}") };
                let _ = client.get(format!("{back}?code=c0de&state={state}{iss}")).send().await;
            });
            Ok(())
        })
    }
}

async fn logged_in(
    world: &LoginWorld,
    login: &Arc<ServerLogin>,
    trick: Trick,
) -> Result<(), String> {
    let Err(McpFailure::Status { status: 401, challenge, .. }) = reached(world, login).await else {
        panic!("no challenge");
    };
    login.log_in(challenge.as_deref(), &Browser(trick)).await
}

/// Connects, and calls a tool.
async fn reached(world: &LoginWorld, login: &Arc<ServerLogin>) -> Result<String, McpFailure> {
    let (url, login) = (world.url.clone(), Some(Arc::clone(login)));
    let address = HttpAddress { url, headers: Vec::new(), login };
    let endpoint = ServerEndpoint::Http(address, Arc::new(OpenGate));
    let client = connect(endpoint, None, false).await?;
    call(&client, json!({"n": 1})).await
}

#[tokio::test]
async fn a_user_logs_in_and_the_login_is_kept_and_renewed() {
    for trick in ["", "wrong state"] {
        let (world, store) = (LoginWorld::new(trick), Arc::new(Kept::default()));
        let login = world.login(Arc::clone(&store));
        logged_in(&world, &login, trick).await.unwrap();
        assert_eq!(reached(&world, &login).await.unwrap(), "{\"n\":1}", "{trick}");
        let token = world.asked_of("issuer POST /token");
        let resource: String =
            url::form_urlencoded::byte_serialize(world.url.as_str().as_bytes()).collect();
        for part in ["code=c0de", "code_verifier=", &format!("resource={resource}"), "client_id=c1"]
        {
            assert!(token[0].contains(part), "{part}: {token:?}");
        }
        assert_eq!(token.len(), 1);
        let kept = store.0.lock().unwrap().clone().unwrap();
        assert!(!format!("{kept:?}").contains("good"), "a token is never shown: {kept:?}");
        // The next run uses it; a token that has ended is renewed first.
        let ended = SavedLogin { ends: Some(1), access_token: "old".to_owned(), ..kept.clone() };
        *store.0.lock().unwrap() = Some(ended);
        let login = world.login(Arc::clone(&store));
        assert_eq!(reached(&world, &login).await.unwrap(), "{\"n\":1}");
        assert!(!world.asked_of("server").iter().any(|line| line.contains("bearer old")));
        // A token that the server no longer takes is renewed, too.
        *store.0.lock().unwrap() = Some(SavedLogin { access_token: "revoked".to_owned(), ..kept });
        let login = world.login(Arc::clone(&store));
        assert_eq!(reached(&world, &login).await.unwrap(), "{\"n\":1}");
    }
}

#[tokio::test]
async fn logins_refuse_metadata_of_other_servers() {
    let cases = [
        ("another resource", "its metadata is about another server: `https://victim.example/mcp`"),
        ("metadata elsewhere", "its metadata is at another server"),
        ("another issuer", "describes itself as"),
        ("mix-up", "but from `https://evil.example`"),
        ("unnamed issuer", "but from ``"),
        ("plain token address", "is not safe"),
        ("no proof", "does not support PKCE with S256"),
        ("token redirects", "the status is 307"),
        ("another kind of token", "no bearer token"),
    ];
    for (trick, expected) in cases {
        let (world, store) = (LoginWorld::new(trick), Arc::new(Kept::default()));
        let login = world.login(Arc::clone(&store));
        let why = logged_in(&world, &login, trick).await.unwrap_err();
        assert!(why.contains(expected), "{trick}: {why}");
        assert!(store.0.lock().unwrap().is_none(), "{trick}");
        assert_eq!(world.asked_of("other"), [""; 0], "{trick}");
    }
}

#[tokio::test]
async fn a_token_is_sent_only_to_its_server() {
    let kept = |url: &Url| SavedLogin {
        resource: url.to_string(),
        audience: None,
        issuer: "https://auth.example".to_owned(),
        token_endpoint: "http://127.0.0.1:1/token".to_owned(),
        client: RegisteredClient { id: "c".to_owned(), secret: None, secret_use: SecretUse::None },
        access_token: "good".to_owned(),
        refresh_token: None,
        ends: None,
        scope: None,
    };
    // A redirect is not followed.
    let world = LoginWorld::new("redirects");
    let store = Arc::new(Kept(Mutex::new(Some(kept(&world.url)))));
    let failure = reached(&world, &world.login(store)).await.unwrap_err();
    assert!(matches!(failure, McpFailure::Status { status: 307, .. }), "{failure}");
    assert_eq!(world.asked_of("other"), [""; 0]);
    // The login of another server is not used, whatever a store returns.
    let world = LoginWorld::new("");
    let other: Url = "https://other.example/mcp".parse().unwrap();
    let login = world.login(Arc::new(Kept(Mutex::new(Some(kept(&other))))));
    assert!(!login.is_there());
    let failure = reached(&world, &login).await.unwrap_err();
    assert!(matches!(failure, McpFailure::Status { status: 401, .. }), "{failure}");
    assert!(!world.asked_of("server").iter().any(|line| line.contains("bearer")));
    // A login that cannot be renewed ends with the status of the server.
    let world = LoginWorld::new("no renewal");
    let revoked = SavedLogin {
        access_token: "revoked".to_owned(),
        refresh_token: Some("again".to_owned()),
        token_endpoint: format!("{}/token", origin(&world.url)),
        ..kept(&world.url)
    };
    let login = world.login(Arc::new(Kept(Mutex::new(Some(revoked)))));
    let failure = reached(&world, &login).await.unwrap_err();
    assert!(matches!(failure, McpFailure::Status { status: 401, .. }), "{failure}");
}
