//! Who may ask at all. Every request passes here first, in this order: a `Host` that is ours, an `Origin` that is
//! ours, a token that we know.
//!
//! A page of another program on this machine is another port of the same site: browsers send it cookies, so there
//! are none, and its `Origin` is foreign. A name that was rebound to this machine comes with a foreign `Host`.

use hyper::header::{self, HeaderMap};
use hyper::{Request, StatusCode};

use crate::reply::{self, ServerReply};
use crate::scope::TokenScope;
use crate::token_store::{KnownToken, TokenStore};

/// The names by which the server may be reached.
#[derive(Debug, Clone, Default)]
pub struct AllowedHosts {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl AllowedHosts {
    /// Allows a host, written as in the header `Host`, and pages that it serves.
    pub fn allow(&mut self, scheme: &str, host: &str) {
        let host = host.to_ascii_lowercase();
        self.origins.push(format!("{scheme}://{host}"));
        // Browsers leave out the port that the scheme has anyway.
        let port = if scheme == "https" { ":443" } else { ":80" };
        if let Some(bare) = host.strip_suffix(port) {
            self.origins.push(format!("{scheme}://{bare}"));
            self.hosts.push(bare.to_owned());
        }
        self.hosts.push(host);
    }

    /// Allows the host that clients of the Unix socket write. No page has it as its origin.
    pub(crate) fn allow_socket(&mut self, host: &str) {
        self.hosts.push(host.to_owned());
    }

    fn has_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host)
    }

    fn has_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.origins.contains(&origin)
    }
}

/// Refuses a request for another host, or from the page of another one.
pub(crate) fn admit_caller<B>(
    hosts: &AllowedHosts,
    request: &Request<B>,
) -> Result<(), Box<ServerReply>> {
    let refuse = |status, word, message| Err(Box::new(reply::error(status, word, message)));
    let authority = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let host = single(request.headers(), header::HOST);
    let (Ok(Some(host)), true) = (&host, authority.is_none_or(|it| hosts.has_host(it))) else {
        return refuse(StatusCode::MISDIRECTED_REQUEST, "host", "the request is for another host");
    };
    if !hosts.has_host(host) {
        let message = "the request is for another host; `--host NAME` allows a further name";
        return refuse(StatusCode::MISDIRECTED_REQUEST, "host", message);
    }
    let message = "the request comes from a page of another origin";
    match single(request.headers(), header::ORIGIN) {
        Ok(None) => {}
        Ok(Some(origin)) if hosts.has_origin(origin) => {}
        _ => return refuse(StatusCode::FORBIDDEN, "origin", message),
    }
    // A second wall: browsers say where a request comes from, also where they send no origin.
    let site = request.headers().get("sec-fetch-site").map(header::HeaderValue::as_bytes);
    let navigates = request.headers().get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        // A link from elsewhere may open the empty page.
        _ if navigates && request.uri().path() == "/" => Ok(()),
        _ => refuse(StatusCode::FORBIDDEN, "origin", message),
    }
}

/// The one value of a header. Two values are an error, because another program could have read the other one.
pub(crate) fn single(
    headers: &HeaderMap,
    name: impl header::AsHeaderName,
) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
        _ => Err(()),
    }
}

/// The token of a request.
pub(crate) fn admit_token(
    tokens: &TokenStore,
    headers: &HeaderMap,
) -> Result<KnownToken, Box<ServerReply>> {
    let value = single(headers, header::AUTHORIZATION).ok().flatten();
    let token = value.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    token.and_then(|token| tokens.find(token)).ok_or_else(|| {
        let message = "a token is missing, or it is not known; send `Authorization: Bearer TOKEN`";
        let mut refused = reply::error(StatusCode::UNAUTHORIZED, "token", message);
        let scheme = header::HeaderValue::from_static("Bearer");
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        Box::new(refused)
    })
}

/// Refuses a token of another scope.
pub(crate) fn admit_scope(has: TokenScope, needs: TokenScope) -> Result<(), Box<ServerReply>> {
    if has.covers(needs) {
        return Ok(());
    }
    let message = format!("the token has the scope `{has}`, and this needs `{needs}`");
    Err(Box::new(reply::error(StatusCode::FORBIDDEN, "scope", &message)))
}
