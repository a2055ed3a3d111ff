//! Who gives logins for a server: the server names an issuer, and the issuer describes itself. Each step is
//! checked against the one before, so that no other server can take part.

use agentry_text::path::is_inside;
use serde_json::Value;
use url::Url;

use super::challenge::LoginChallenge;
use super::{ServerLogin, endpoint};
use crate::clean_text::clean_start;

/// An authorization server.
#[derive(Debug, Clone)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) registration_endpoint: Option<Url>,
    /// How secrets of clients are sent, in the words of the metadata.
    pub(super) secret_uses: Option<Vec<String>>,
    /// Whether a client can be named by the address of its document.
    pub(super) takes_documents: bool,
    /// Whether its redirects say who they come from.
    pub(super) names_itself: bool,
    /// The name of the server for tokens, if the server has one.
    pub(super) resource: Option<String>,
    /// What the server permits, and what the issuer knows.
    resource_scopes: Vec<String>,
    issuer_scopes: Vec<String>,
}

impl AuthorizationServer {
    /// Finds the authorization server of a server.
    pub(super) async fn discover(
        login: &ServerLogin,
        challenge: &LoginChallenge,
    ) -> Result<Self, String> {
        let Some(document) = protected_resource(login, challenge).await? else {
            return Self::of_older_server(login).await;
        };
        let resource = document.get("resource").and_then(Value::as_str).unwrap_or_default();
        if !covers(resource, &login.resource) {
            let shown = clean_start(resource, 200).text;
            return Err(format!("its metadata is about another server: `{shown}`"));
        }
        let issuers = document.get("authorization_servers").and_then(Value::as_array);
        let issuer = issuers.and_then(|all| all.first()?.as_str());
        let issuer = issuer.ok_or("its metadata names no authorization server")?;
        let metadata = metadata(login, issuer).await?;
        let metadata = metadata.ok_or_else(|| {
            format!(
                "the authorization server `{}` does not describe itself",
                clean_start(issuer, 200).text
            )
        })?;
        let mut server = Self::read(issuer, &metadata)?;
        server.resource = Some(resource.to_owned());
        server.resource_scopes = texts(document.get("scopes_supported")).unwrap_or_default();
        Ok(server)
    }

    /// A server of 2025-03-26 is its own authorization server, with or without a description.
    async fn of_older_server(login: &ServerLogin) -> Result<Self, String> {
        let issuer = login.resource.origin().ascii_serialization();
        if let Some(metadata) = metadata(login, &issuer).await? {
            return Self::read(&issuer, &metadata);
        }
        let at = |path: &str| endpoint(&format!("{issuer}{path}"));
        Ok(Self {
            authorization_endpoint: at("/authorize")?,
            token_endpoint: at("/token")?,
            registration_endpoint: Some(at("/register")?),
            secret_uses: None,
            takes_documents: false,
            names_itself: false,
            resource: None,
            resource_scopes: Vec::new(),
            issuer_scopes: Vec::new(),
            issuer,
        })
    }

    fn read(issuer: &str, metadata: &Value) -> Result<Self, String> {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        let is_set = |key: &str| metadata.get(key).and_then(Value::as_bool).unwrap_or_default();
        // Compared letter by letter: an address that is nearly the same may be another server.
        let named_issuer = text("issuer").unwrap_or_default();
        if named_issuer != issuer {
            let (named_issuer, issuer) =
                (clean_start(named_issuer, 200).text, clean_start(issuer, 200).text);
            return Err(format!("`{issuer}` describes itself as `{named_issuer}`"));
        }
        let needed = |key: &str| {
            endpoint(text(key).ok_or(format!("the authorization server has no `{key}`"))?)
        };
        let methods = texts(metadata.get("code_challenge_methods_supported"));
        if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            return Err("the authorization server does not support PKCE with S256".to_owned());
        }
        Ok(Self {
            issuer: issuer.to_owned(),
            authorization_endpoint: needed("authorization_endpoint")?,
            token_endpoint: needed("token_endpoint")?,
            registration_endpoint: text("registration_endpoint").map(endpoint).transpose()?,
            secret_uses: texts(metadata.get("token_endpoint_auth_methods_supported")),
            takes_documents: is_set("client_id_metadata_document_supported"),
            names_itself: is_set("authorization_response_iss_parameter_supported"),
            resource: None,
            resource_scopes: Vec::new(),
            issuer_scopes: texts(metadata.get("scopes_supported")).unwrap_or_default(),
        })
    }

    /// What the login asks for: what the server wants now and had before, or what it names.
    pub(super) fn scope(&self, challenge: &LoginChallenge, before: Option<&str>) -> Option<String> {
        let mut scopes: Vec<&str> = match (&challenge.scope, self.resource_scopes.as_slice()) {
            (Some(wanted), _) => {
                before.unwrap_or_default().split(' ').chain(wanted.split(' ')).collect()
            }
            (None, []) => return None,
            (None, all) => all.iter().map(String::as_str).collect(),
        };
        if self.issuer_scopes.iter().any(|scope| scope == OFFLINE) {
            scopes.push(OFFLINE);
        }
        let mut unique: Vec<&str> = Vec::new();
        for scope in scopes.into_iter().filter(|scope| !scope.is_empty()) {
            if !unique.contains(&scope) {
                unique.push(scope);
            }
        }
        (!unique.is_empty()).then(|| unique.join(" "))
    }
}

/// The scope for tokens that can be renewed.
const OFFLINE: &str = "offline_access";

/// The metadata of the server. It is looked for at the server itself, wherever a challenge points to.
async fn protected_resource(
    login: &ServerLogin,
    challenge: &LoginChallenge,
) -> Result<Option<Value>, String> {
    let mut places = Vec::new();
    if let Some(text) = &challenge.metadata {
        let url = endpoint(text)?;
        if url.origin() != login.resource.origin() {
            let shown = clean_start(text, 200).text;
            return Err(format!("its metadata is at another server: `{shown}`"));
        }
        places.push(url);
    }
    let path = login.resource.path().trim_end_matches('/');
    places.push(well_known(&login.resource, "oauth-protected-resource", path));
    places.push(well_known(&login.resource, "oauth-protected-resource", ""));
    first(login, places).await
}

/// The metadata of an issuer.
async fn metadata(login: &ServerLogin, issuer: &str) -> Result<Option<Value>, String> {
    let url = endpoint(issuer)?;
    let path = url.path().trim_end_matches('/');
    let mut places: Vec<Url> = Vec::new();
    places.push(well_known(&url, "oauth-authorization-server", path));
    places.push(well_known(&url, "openid-configuration", path));
    if !path.is_empty() {
        let mut after = url.clone();
        after.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(after);
    }
    first(login, places).await
}

/// The first document that is there.
async fn first(login: &ServerLogin, mut places: Vec<Url>) -> Result<Option<Value>, String> {
    places.dedup();
    for place in places {
        if let Some(found) = login.get(&place).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn well_known(url: &Url, name: &str, path: &str) -> Url {
    let mut out = url.clone();
    out.set_query(None);
    out.set_fragment(None);
    out.set_path(&format!("/.well-known/{name}{path}"));
    out
}

/// Whether a name of a server is that of this address: the same origin, and a path above it.
fn covers(resource: &str, url: &Url) -> bool {
    let Ok(named) = Url::parse(resource) else { return false };
    named.origin() == url.origin()
        && named.query().is_none_or(|query| url.query() == Some(query))
        && is_inside(url.path(), named.path())
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let all = value?.as_array()?;
    Some(all.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_must_cover_the_server_url() {
        let url: Url = "https://a.example/team/mcp".parse().unwrap();
        let cases = [
            ("https://a.example/team/mcp", true),
            ("https://a.example/team/", true),
            ("https://a.example", true),
            ("https://a.example/tea", false),
            ("https://a.example/team/mcp/x", false),
            ("https://b.example/team/mcp", false),
            ("http://a.example/team/mcp", false),
            ("https://a.example:444/team/mcp", false),
            ("https://a.example/team/mcp?x=1", false),
            ("", false),
        ];
        for (resource, expected) in cases {
            assert_eq!(covers(resource, &url), expected, "{resource}");
        }
    }
}
