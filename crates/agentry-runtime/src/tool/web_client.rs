//! The HTTP client of tools. A name is looked up once, its IP addresses are checked, and only they are
//! connected to. A name that leads to a private network is refused.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use agentry_compile::policy::Section;
use agentry_compile::policy::web::{address, is_private_ip};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use url::{Host as UrlHost, Url};

use super::{BoxedFuture, ToolTouch, output_cap};
use crate::event::CallJudgement;
use crate::provider::http::{choose_cryptography, reason};

/// Looks up a host name, and returns its addresses.
pub(super) type AddressLookup =
    Box<dyn Fn(String, u16) -> BoxedFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Judges what a request touches; returns the verdict and its reason.
pub(super) type AddressJudge<'a> = &'a (dyn Fn(&ToolTouch) -> (CallJudgement, String) + Sync);

/// Connects to judged addresses only.
pub(super) struct WebClient {
    pub(super) lookup: AddressLookup,
}

impl Default for WebClient {
    fn default() -> Self {
        let lookup = |name: String, port| -> BoxedFuture<'static, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
        };
        Self { lookup: Box::new(lookup) }
    }
}

/// Returns what a request touches.
pub(super) fn touch(url: &Url) -> ToolTouch {
    ToolTouch { section: Section::Webfetch, subject: url.to_string() }
}

/// Parses an address. The judged address and the fetched one must be the same.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let shown = output_cap::start(text, 200);
    let given = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let judged = address(text).map_err(|why| format!("`{shown}`: {why}"))?;
    let mut url = Url::parse(&given).map_err(|error| format!("`{shown}`: {error}"))?;
    // The fragment is never sent, so it is not judged.
    url.set_fragment(None);
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{shown}`: only http and https can be fetched"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("`{shown}`: no user name is sent"));
    }
    match address(url.as_str()) {
        // The policy and the HTTP client have different parsers; they must agree on the address.
        Ok(fetched) if fetched == judged => Ok(url),
        _ => Err(format!("`{shown}`: it can be read in several ways")),
    }
}

/// Returns the message for a request that could not be sent.
pub(super) fn unsent(url: &Url, error: &reqwest::Error) -> String {
    let why = if error.is_timeout() { "it took too long".to_owned() } else { reason(error) };
    format!("`{url}` could not be fetched: {why}")
}

impl WebClient {
    /// Returns a client for requests to this address. It follows no redirects.
    pub(super) async fn pinned(
        &self,
        url: &Url,
        judge: AddressJudge<'_>,
        time: Option<Duration>,
    ) -> Result<reqwest::Client, String> {
        let addresses = self.addresses(url, judge).await?;
        choose_cryptography();
        let builder = reqwest::Client::builder();
        let builder = match time {
            Some(time) => builder.timeout(time),
            None => builder,
        };
        builder
            .redirect(redirect::Policy::none())
            // A proxy would resolve the name itself, past the check of its addresses.
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(PinnedResolver(addresses)))
            .user_agent(concat!("agentry/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("nothing can be fetched: {}", reason(&error)))
    }

    /// Returns the IP addresses that may be connected to.
    async fn addresses(
        &self,
        url: &Url,
        judge: AddressJudge<'_>,
    ) -> Result<Vec<SocketAddr>, String> {
        let port = url.port_or_known_default().unwrap_or(443);
        let name = match url.host() {
            Some(UrlHost::Domain(name)) => name.to_owned(),
            // An IP address in the URL was judged itself.
            Some(UrlHost::Ipv4(ip)) => return Ok(vec![SocketAddr::new(ip.into(), port)]),
            Some(UrlHost::Ipv6(ip)) => return Ok(vec![SocketAddr::new(ip.into(), port)]),
            None => return Err(format!("`{url}` has no host")),
        };
        let found = (self.lookup)(name.clone(), port).await;
        let found = found.map_err(|error| format!("`{name}` could not be found: {error}"))?;
        // A private name passes the policy only if a rule names it.
        let named = address(url.as_str()).is_ok_and(|address| address.private);
        let refused = found.iter().map(SocketAddr::ip).find(|ip| {
            !named && is_private_ip(*ip) && judge(&touch(&at(url, *ip))).0 != CallJudgement::Allow
        });
        match refused {
            Some(ip) => Err(format!(
                "refused: `{name}` leads to {ip}, an address of this machine or a private network, \
                 which no rule names"
            )),
            None if found.is_empty() => Err(format!("`{name}` leads nowhere")),
            None => Ok(found),
        }
    }
}

/// Returns the URL with an IP address as its host.
fn at(url: &Url, ip: IpAddr) -> Url {
    let mut url = url.clone();
    let _ = url.set_ip_host(ip);
    url
}

/// Resolves every name to the checked addresses, so that a second lookup cannot change them.
struct PinnedResolver(Vec<SocketAddr>);

impl Resolve for PinnedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(async move { Ok(addresses) })
    }
}
