//! Requests to one registry: credentials, redirects, retries, and a cap on every body.
//!
//! Credentials go to the registry's own origin only. A redirect to another host is followed without them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::challenge::AuthChallenge;
use super::credentials::{CredentialFiles, RegistryCredential};
use super::error::OciError;
use super::location::OciReference;

/// How often a request is sent if the registry is busy.
const TRIES: u32 = 4;
/// The first pause before a retry; each next one is twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest pause that a registry may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The longest silence while an answer arrives.
const SILENCE: Duration = Duration::from_mins(1);
/// The most redirects of one request.
const REDIRECTS: usize = 5;
/// The most bytes of the answer of a token server.
const TOKEN_BYTES: u64 = 1024 * 1024;

/// Called with the number of bytes that just arrived.
pub(crate) type ByteWatch<'w> = dyn Fn(u64) + Sync + 'w;

/// The HTTP clients. They must follow no redirects by themselves.
#[derive(Debug, Clone)]
pub struct HttpClients {
    /// For this machine: without a proxy, without certificates.
    pub local: Client,
    /// For all other servers.
    pub remote: Client,
}

/// One request, before it has credentials.
#[derive(Debug, Clone)]
pub(crate) struct RegistryRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) accept: Option<&'static str>,
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
}

impl RegistryRequest {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self { method, url, accept: None, body: None }
    }

    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept: Some(accept), ..self }
    }

    pub(crate) fn body(self, kind: &'static str, bytes: Vec<u8>) -> Self {
        Self { body: Some((kind, bytes)), ..self }
    }
}

/// A connection to the registry of one repository.
#[derive(Debug)]
pub(crate) struct RegistryConnection {
    pub(crate) reference: OciReference,
    /// The start of all addresses: `https://host/v2/repository/`.
    base: Url,
    client: Client,
    credentials: CredentialFiles,
    /// The header that was accepted last.
    authorization: Mutex<Option<String>>,
}

impl RegistryConnection {
    /// Connects to the registry of a reference. Plain HTTP is used on this machine, or if `plain` permits it.
    pub(crate) async fn open(
        clients: &HttpClients,
        credentials: &CredentialFiles,
        reference: &OciReference,
        plain: bool,
    ) -> Result<Self, OciError> {
        let make = |scheme: &str, client: &Client| {
            let base = format!("{scheme}://{}/v2/{}/", api_host(reference), reference.repository);
            let base = Url::parse(&base).map_err(|error| OciError::Unfit(error.to_string()))?;
            Ok::<_, OciError>(Self {
                reference: reference.clone(),
                base,
                client: client.clone(),
                credentials: credentials.clone(),
                authorization: Mutex::default(),
            })
        };
        let is_here = reference.is_loopback();
        let http = if is_here { &clients.local } else { &clients.remote };
        if plain {
            return make("http", http);
        }
        let secure = make("https", &clients.remote)?;
        if !is_here {
            return Ok(secure);
        }
        // A registry on this machine often has no TLS. The probe carries no credentials.
        let probe = secure.client.get(secure.base.clone()).timeout(SILENCE).send().await;
        match probe {
            Err(error) if speaks_no_tls(&error) => make("http", http),
            _ => Ok(secure),
        }
    }

    /// An address below the repository: `manifests/1.0.0`.
    pub(crate) fn url(&self, path: &str) -> Result<Url, OciError> {
        self.base.join(path).map_err(|error| self.protocol(format!("has a bad address: {error}")))
    }

    /// Sends a request: with credentials if they are wanted, again if the registry is busy, and along redirects.
    pub(crate) async fn send(&self, mut request: RegistryRequest) -> Result<Response, OciError> {
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        for _ in 0..=REDIRECTS {
            let response = self.patient(async || self.authorized(&request).await).await?;
            if !(is_read && response.status().is_redirection()) {
                return Ok(response);
            }
            request.url = self.redirected(&request.url, response.headers())?;
        }
        Err(self.protocol(format!("redirects more than {REDIRECTS} times")))
    }

    /// Where a redirect leads. Never from HTTPS to HTTP.
    pub(crate) fn redirected(&self, from: &Url, headers: &HeaderMap) -> Result<Url, OciError> {
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let to = location.and_then(|location| from.join(location).ok());
        let to = to.ok_or_else(|| self.protocol("redirects to nowhere"))?;
        let is_safe =
            to.scheme() == "https" || (to.scheme() == "http" && self.base.scheme() == "http");
        if is_safe { Ok(to) } else { Err(self.protocol("redirects to an address without TLS")) }
    }

    /// Sends a request, and sends it again while the registry or its token server is busy.
    async fn patient(
        &self,
        send: impl AsyncFn() -> Result<Response, OciError>,
    ) -> Result<Response, OciError> {
        let mut pause = PAUSE;
        for tries in 1..=TRIES {
            let response = send().await?;
            let status = response.status();
            if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
                return Ok(response);
            }
            if tries == TRIES {
                let status = status.as_u16();
                return Err(OciError::Busy { host: self.host(), status, tries });
            }
            let wanted = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let wanted = wanted.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
            tokio::time::sleep(wanted.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause *= 2;
        }
        Err(self.protocol("did not answer"))
    }

    /// Sends a request, and answers a challenge once.
    async fn authorized(&self, request: &RegistryRequest) -> Result<Response, OciError> {
        let known = self.known_authorization().filter(|_| self.is_own(&request.url));
        let response = self.once(request, known.as_deref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !self.is_own(&request.url) {
            return Ok(response);
        }
        let header = self.authorize(response.headers()).await?;
        let response = self.once(request, Some(&header)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let why = "refuses your credentials; they may have expired".to_owned();
            return Err(OciError::Login { host: self.host(), why });
        }
        *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = Some(header);
        Ok(response)
    }

    fn known_authorization(&self) -> Option<String> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether an address is the registry itself.
    fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Sends a request as it is. One that is cut off before the answer begins is sent again, without a pause:
    /// servers and proxies close connections that they find idle.
    async fn once(
        &self,
        request: &RegistryRequest,
        authorization: Option<&str>,
    ) -> Result<Response, OciError> {
        let is_cut_off = |error: &reqwest::Error| !error.is_connect() && !error.is_timeout();
        match self.sent(request, authorization).await? {
            Err(error) if is_cut_off(&error) => self.sent(request, authorization).await?,
            other => other,
        }
        .map_err(|error| self.unreachable(&reason(&error)))
    }

    async fn sent(
        &self,
        request: &RegistryRequest,
        authorization: Option<&str>,
    ) -> Result<reqwest::Result<Response>, OciError> {
        let mut builder = self.client.request(request.method.clone(), request.url.clone());
        if let Some(accept) = request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        if let Some(header) = authorization {
            builder = builder.header(AUTHORIZATION, header);
        }
        if let Some((kind, bytes)) = &request.body {
            builder = builder.header(CONTENT_TYPE, *kind).body(bytes.clone());
        }
        let sent = tokio::time::timeout(SILENCE, builder.send()).await;
        sent.map_err(|_| self.unreachable("it does not answer"))
    }

    /// The header that answers a challenge.
    async fn authorize(&self, headers: &HeaderMap) -> Result<String, OciError> {
        let challenges = headers.get_all(WWW_AUTHENTICATE).iter();
        let mut challenges =
            challenges.filter_map(|value| AuthChallenge::parse(value.to_str().ok()?));
        let challenge = challenges.next();
        let challenge =
            challenge.ok_or_else(|| self.protocol("wants a login of a kind that is not known"))?;
        let credential = self.credentials.find(&self.reference.place())?;
        match challenge {
            AuthChallenge::Basic => {
                let header = credential.and_then(|credential| credential.basic());
                header.ok_or_else(|| self.login("wants a user and a password"))
            }
            AuthChallenge::Bearer { .. } => self.token(&challenge, credential).await,
        }
    }

    /// A token of the registry's token server.
    async fn token(
        &self,
        challenge: &AuthChallenge,
        credential: Option<RegistryCredential>,
    ) -> Result<String, OciError> {
        let AuthChallenge::Bearer { realm, service, scope } = challenge else {
            return Err(self.login("wants a user and a password"));
        };
        let mut url = Url::parse(realm)
            .map_err(|_| self.protocol("names a token server that is no address"))?;
        // The credential goes there: never without TLS if the registry has it.
        if url.scheme() != "https" && !(url.scheme() == "http" && self.base.scheme() == "http") {
            return Err(self.protocol("names a token server without TLS"));
        }
        let mut fields = vec![("service", service.clone().unwrap_or_default())];
        fields.push(("scope", scope.clone().unwrap_or_default()));
        let request = match &credential {
            Some(RegistryCredential::Identity(token)) => {
                fields.push(("grant_type", "refresh_token".to_owned()));
                fields.push(("client_id", "agentry".to_owned()));
                fields.push(("refresh_token", token.clone()));
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                let body = form.extend_pairs(&fields).finish().into_bytes();
                RegistryRequest::new(Method::POST, url)
                    .body("application/x-www-form-urlencoded", body)
            }
            _ => {
                url.query_pairs_mut()
                    .extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
                RegistryRequest::new(Method::GET, url)
            }
        };
        let basic = credential.as_ref().and_then(RegistryCredential::basic);
        let response = self.patient(async || self.once(&request, basic.as_deref()).await).await?;
        self.read_token(response, credential.is_some()).await
    }

    async fn read_token(
        &self,
        response: Response,
        has_credential: bool,
    ) -> Result<String, OciError> {
        let status = response.status();
        if !status.is_success() {
            return Err(match status.as_u16() {
                400 | 401 | 403 if has_credential => {
                    self.login("refuses your credentials; they may have expired")
                }
                401 | 403 => self.login("wants a login"),
                status => self.protocol(format!("gives no token: status {status}")),
            });
        }
        let bytes = self.body(response, TOKEN_BYTES).await?;
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let token = ["token", "access_token"].iter().find_map(|key| value[key].as_str());
        let token = token.filter(|token| !token.is_empty());
        token
            .map(|token| format!("Bearer {token}"))
            .ok_or_else(|| self.protocol("gives a token that cannot be read"))
    }

    /// The body of an answer, at most `limit` bytes.
    pub(crate) async fn body(&self, response: Response, limit: u64) -> Result<Vec<u8>, OciError> {
        self.watched_body(response, limit, &|_| {}).await
    }

    /// The same, and calls `arrived` with the bytes of each piece.
    pub(crate) async fn watched_body(
        &self,
        mut response: Response,
        limit: u64,
        arrived: &ByteWatch<'_>,
    ) -> Result<Vec<u8>, OciError> {
        let too_long =
            || self.protocol(format!("sends more than the {limit} bytes that were expected"));
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(too_long());
        }
        let mut bytes = Vec::new();
        loop {
            let piece = tokio::time::timeout(SILENCE, response.chunk()).await;
            let piece = piece.map_err(|_| self.unreachable("its answer does not end"))?;
            let piece = piece.map_err(|_| self.protocol("ended its answer too early"))?;
            let Some(piece) = piece else { return Ok(bytes) };
            bytes.extend_from_slice(&piece);
            if bytes.len() as u64 > limit {
                return Err(too_long());
            }
            arrived(piece.len() as u64);
        }
    }

    pub(crate) fn host(&self) -> String {
        self.reference.host.clone()
    }

    pub(crate) fn protocol(&self, what: impl Into<String>) -> OciError {
        OciError::Protocol { host: self.host(), what: what.into() }
    }

    fn unreachable(&self, why: &str) -> OciError {
        OciError::Unreachable { host: self.host(), why: why.to_owned() }
    }

    fn login(&self, why: &str) -> OciError {
        OciError::Login { host: self.host(), why: why.to_owned() }
    }
}

/// The host of the API. Only Docker's own registry has another one than its name.
fn api_host(reference: &OciReference) -> &str {
    if reference.host == "docker.io" { "registry-1.docker.io" } else { &reference.host }
}

/// Whether a server answered, but not with TLS. A wrong certificate is TLS.
fn speaks_no_tls(error: &reqwest::Error) -> bool {
    let why = reason(error);
    !(why.contains("certificate") || why.contains("refused") || error.is_timeout())
}

/// The innermost reason of an error, without the address.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    let first = std::error::Error::source(error);
    let causes = std::iter::successors(first, |&cause| cause.source());
    let last = causes.last().map_or_else(|| "no reason is given".to_owned(), ToString::to_string);
    let text = last.to_lowercase();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
