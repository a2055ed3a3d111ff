//! The request that a browser is sent to, and the tokens that come of it.

use reqwest::header::HeaderValue;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::discovery::AuthorizationServer;
use super::loopback::LoopbackPage;
use super::registration::{RegisteredClient, SecretUse};
use super::{SavedLogin, now, random};
use crate::header_text::{base64, base64_url};

/// The most bytes of a token.
const MOST: usize = 16 << 10;

/// The page for the user, and what proves that the answer belongs to it.
pub(super) struct AuthorizationRequest {
    pub(super) url: Url,
    pub(super) state: String,
    verifier: String,
    redirect: String,
}

impl AuthorizationRequest {
    pub(super) fn new(
        client: &RegisteredClient,
        page: &LoopbackPage,
        server: &AuthorizationServer,
        scope: Option<String>,
    ) -> Result<Self, String> {
        let (state, verifier) = (random()?, random()?);
        let redirect = page.address().to_string();
        let mut url = server.authorization_endpoint.clone();
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("response_type", "code").append_pair("client_id", &client.id);
            query.append_pair("redirect_uri", &redirect).append_pair("state", &state);
            let challenge = base64_url(&Sha256::digest(verifier.as_bytes()));
            query.append_pair("code_challenge", &challenge);
            query.append_pair("code_challenge_method", "S256");
            if let Some(scope) = &scope {
                query.append_pair("scope", scope);
            }
            if let Some(resource) = &server.resource {
                query.append_pair("resource", resource);
            }
        }
        Ok(Self { url, state, verifier, redirect })
    }
}

/// What is sent for a token.
pub(super) struct TokenGrant {
    pub(super) form: Vec<(&'static str, String)>,
    pub(super) header: Option<HeaderValue>,
}

impl TokenGrant {
    /// For the code of a redirect.
    pub(super) fn code(login: &SavedLogin, asked: &AuthorizationRequest, code: &str) -> Self {
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", asked.redirect.clone()),
            ("code_verifier", asked.verifier.clone()),
        ];
        Self { form, header: None }.for_login(login)
    }

    /// For the token that renews.
    pub(super) fn refresh(login: &SavedLogin, refresh: &str) -> Self {
        let form =
            vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh.to_owned())];
        Self { form, header: None }.for_login(login)
    }

    /// Adds the server that the token is for, and the client that asks for it.
    fn for_login(mut self, login: &SavedLogin) -> Self {
        let SavedLogin { client, audience, .. } = login;
        self.form.extend(audience.iter().map(|audience| ("resource", audience.clone())));
        match (client.secret_use, &client.secret) {
            (SecretUse::Basic, Some(secret)) => {
                let part = |text: &str| {
                    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let pair = format!("{}:{}", part(&client.id), part(secret));
                let value = HeaderValue::from_str(&format!("Basic {}", base64(pair.as_bytes())));
                self.header = value.ok().map(|mut value| {
                    value.set_sensitive(true);
                    value
                });
            }
            (SecretUse::Post, Some(secret)) => {
                self.form.push(("client_id", client.id.clone()));
                self.form.push(("client_secret", secret.clone()));
            }
            _ => self.form.push(("client_id", client.id.clone())),
        }
        self
    }
}

/// Reads a token for the login that it was asked for.
pub(super) fn read(answer: &Value, asked: &SavedLogin) -> Result<SavedLogin, String> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let access_token = text("access_token").ok_or("the answer has no token")?;
    let is_bearer = text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !is_bearer {
        return Err("the token is no bearer token".to_owned());
    }
    let refresh_token = text("refresh_token");
    let is_plain = |text: &str| text.len() <= MOST && text.chars().all(|c| matches!(c, '!'..='~'));
    if !is_plain(access_token) || !refresh_token.is_none_or(is_plain) {
        return Err("the token cannot be sent".to_owned());
    }
    let lasts = answer.get("expires_in").and_then(Value::as_u64);
    Ok(SavedLogin {
        access_token: access_token.to_owned(),
        refresh_token: refresh_token.map(str::to_owned),
        ends: lasts.map(|seconds| now().saturating_add(seconds)),
        scope: text("scope").map(str::to_owned).or_else(|| asked.scope.clone()),
        ..asked.clone()
    })
}
