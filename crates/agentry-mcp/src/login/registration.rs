//! What this program is called at an authorization server: registered by hand, named by the address of a
//! document, or registered now.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::ServerLogin;
use super::discovery::AuthorizationServer;

/// A client of an authorization server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredClient {
    /// Its name there.
    pub id: String,
    /// Its secret, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// How the secret is sent.
    #[serde(default)]
    pub secret_use: SecretUse,
}

/// How the secret of a client is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretUse {
    /// The client has no secret.
    #[default]
    None,
    /// In the header.
    Basic,
    /// In the form.
    Post,
}

impl SecretUse {
    fn read(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::None),
            "client_secret_basic" => Some(Self::Basic),
            "client_secret_post" => Some(Self::Post),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    /// The first one that the server takes: a client with a secret prefers the header, which is the default
    /// of the standard.
    fn choose(server: &AuthorizationServer, has_secret: bool) -> Self {
        let Some(taken) = &server.secret_uses else {
            return if has_secret { Self::Basic } else { Self::None };
        };
        let mut known = taken.iter().filter_map(|text| Self::read(text));
        known.find(|one| (*one != Self::None) == has_secret).unwrap_or_default()
    }
}

/// Returns the client for a login; registers it where that is needed.
pub(super) async fn register(
    login: &ServerLogin,
    server: &AuthorizationServer,
    redirect: &Url,
) -> Result<RegisteredClient, String> {
    if let Some(client) = &login.client {
        let secret_use = SecretUse::choose(server, client.secret.is_some());
        return Ok(RegisteredClient { secret_use, ..client.clone() });
    }
    if let Some(document) = login.document.as_ref().filter(|_| server.takes_documents) {
        let id = document.to_string();
        return Ok(RegisteredClient { id, secret: None, secret_use: SecretUse::None });
    }
    let endpoint = server.registration_endpoint.as_ref().ok_or(
        "the authorization server registers no programs; it needs a client that was registered by hand",
    )?;
    let asked = asked_use(server);
    let request = json!({
        "client_name": "Agentry",
        "redirect_uris": [redirect.as_str()],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": asked.as_str(),
        "application_type": "native",
    });
    let answer = login.post_json(endpoint, &request).await;
    let answer = answer.map_err(|why| format!("this program cannot be registered: {why}"))?;
    read(&answer, asked)
}

/// What a new client asks for: no secret, if the server takes that, since a program cannot keep one.
fn asked_use(server: &AuthorizationServer) -> SecretUse {
    let taken = server.secret_uses.iter().flatten().filter_map(|text| SecretUse::read(text));
    let taken: Vec<SecretUse> = taken.collect();
    let first = taken.first().copied().unwrap_or_default();
    if taken.contains(&SecretUse::None) { SecretUse::None } else { first }
}

fn read(answer: &Value, asked: SecretUse) -> Result<RegisteredClient, String> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("client_id").ok_or("the registration has no `client_id`")?.to_owned();
    let secret = text("client_secret").map(str::to_owned);
    let given = text("token_endpoint_auth_method").and_then(SecretUse::read).unwrap_or(asked);
    // A secret that is given is expected back, even if none was asked for.
    let secret_use = match (&secret, given) {
        (Some(_), SecretUse::None) if asked == SecretUse::None => SecretUse::None,
        (None, _) => SecretUse::None,
        (Some(_), given) => given,
    };
    Ok(RegisteredClient { id, secret, secret_use })
}
