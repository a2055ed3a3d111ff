//! `webfetch`: fetches a web page as text.
//!
//! Every address is judged, including those of redirects. A name is looked up once, its IP addresses are
//! checked, and only they are connected to. A name that leads to a private network is refused.

mod html;
mod page;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use agentry_compile::policy::Section;
use agentry_compile::policy::web::{address, is_private_ip};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::LOCATION;
use reqwest::redirect;
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Host as UrlHost, Url};

use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    output_cap, permit,
};
use crate::event::{CallClass, CallJudgement};
use crate::provider::http::{choose_cryptography, reason};

/// The time limit of a whole call.
const TIME: Duration = Duration::from_secs(30);
/// The most redirects that are followed.
const MOST_HOPS: usize = 8;

/// Looks up a host name, and returns its addresses.
pub(super) type AddressLookup =
    Box<dyn Fn(String, u16) -> BoxedFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Fetches pages.
pub(super) struct WebfetchTool {
    lookup: AddressLookup,
}

#[derive(Deserialize)]
struct WebfetchInput {
    url: String,
    #[serde(default)]
    raw: bool,
}

impl Default for WebfetchTool {
    fn default() -> Self {
        let lookup = |name: String, port| -> BoxedFuture<'static, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
        };
        Self { lookup: Box::new(lookup) }
    }
}

impl BuiltInTool for WebfetchTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "webfetch".to_owned(),
            description: "Fetches a web address and gives its text; HTML is turned into Markdown. \
                          Nothing is sent but the address."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "url": {"type": "string", "minLength": 1, "maxLength": 8_000},
                    "raw": {"type": "boolean", "description": "HTML as it is"}
                },
                "required": ["url"],
                "additionalProperties": false
            }),
        }
    }

    /// A `GET` without a body is a read by HTTP's rules: pages may be fetched in parallel, and again by a
    /// resumed run. The policy decides about the address, whatever the class is.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let WebfetchInput { url, .. } = arguments(given)?;
        Ok(vec![touch(&parse(&url)?)])
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(TIME, self.fetch(&arguments, host)).await;
            let late = || Err(format!("it took longer than {} s", TIME.as_secs()));
            fetched.unwrap_or_else(|_| late()).into()
        })
    }
}

fn touch(url: &Url) -> ToolTouch {
    ToolTouch { section: Section::Webfetch, subject: url.to_string() }
}

/// Parses an address. The judged address and the fetched one must be the same.
fn parse(text: &str) -> Result<Url, String> {
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

impl WebfetchTool {
    async fn fetch(&self, given: &Value, host: &dyn ToolHost) -> Result<String, String> {
        let WebfetchInput { url, raw } = arguments(given)?;
        let mut url = parse(&url)?;
        permit(host, &touch(&url))?;
        for _ in 0..=MOST_HOPS {
            let response = self.get(&url, host).await?;
            if !response.status().is_redirection() {
                return page::text(response, &url, raw, host).await;
            }
            let next = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let next = next.and_then(|to| url.join(to).ok());
            let next = next.ok_or_else(|| format!("`{url}` leads elsewhere, but not where"))?;
            url = parse(next.as_str())?;
            match host.judge(&touch(&url)) {
                (CallJudgement::Allow, _) => {}
                // A redirect that needs approval becomes a new call, so that the user sees its address.
                (CallJudgement::Ask, _) => {
                    return Err(format!("it leads to `{url}`: call this tool with that address"));
                }
                (CallJudgement::Deny, why) => {
                    return Err(format!("refused: it leads to `{url}`: {why}"));
                }
            }
        }
        Err(format!("it was led elsewhere more than {MOST_HOPS} times"))
    }

    /// Requests one address, without following redirects.
    async fn get(&self, url: &Url, host: &dyn ToolHost) -> Result<reqwest::Response, String> {
        let addresses = self.addresses(url, host).await?;
        choose_cryptography();
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            // A proxy would resolve the name itself, past the check of its addresses.
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(PinnedResolver(addresses)))
            .user_agent(concat!("agentry/", env!("CARGO_PKG_VERSION")))
            .timeout(TIME)
            .build()
            .map_err(|error| format!("nothing can be fetched: {error}"))?;
        let accepted = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5";
        let sent = client.get(url.clone()).header("accept", accepted).send().await;
        sent.map_err(|error| {
            let why =
                if error.is_timeout() { "it took too long".to_owned() } else { reason(&error) };
            format!("`{url}` could not be fetched: {why}")
        })
    }

    /// Returns the IP addresses that may be connected to.
    async fn addresses(&self, url: &Url, host: &dyn ToolHost) -> Result<Vec<SocketAddr>, String> {
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
            !named
                && is_private_ip(*ip)
                && host.judge(&touch(&at(url, *ip))).0 != CallJudgement::Allow
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

#[cfg(test)]
mod tests;
