//! The HTTP clients for models. They follow no redirects, which could send a key elsewhere, and use proxies
//! only from the user's environment.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, NoProxy, Proxy};

use super::plan::EnvironmentLookup;

/// The longest time to connect to a server.
const CONNECTING: Duration = Duration::from_secs(20);
/// The variables that may name a proxy; the first that is set counts.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Creates a client for servers on this machine: no proxy, no certificates.
pub fn local() -> Result<reqwest::Client, String> {
    builder().tls_certs_only([]).build().map_err(|error| reason(&error))
}

/// Creates a client for all other servers.
pub fn remote(environment: EnvironmentLookup<'_>) -> Result<reqwest::Client, String> {
    let mut builder = builder();
    let set = |name: &&str| environment(name).filter(|value| !value.trim().is_empty());
    if let Some(address) = PROXIES.iter().find_map(set) {
        let except = ["NO_PROXY", "no_proxy"].iter().find_map(set).unwrap_or_default();
        let proxy = Proxy::all(address).map_err(|error| reason(&error))?;
        builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&except)));
    }
    builder.build().map_err(|error| reason(&error))
}

/// Sets the TLS implementation of all connections. Must run before the first client is created.
pub fn choose_cryptography() {
    // Another part of the program may have set it before; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn builder() -> ClientBuilder {
    choose_cryptography();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(CONNECTING)
        .user_agent(concat!("agentry/", env!("CARGO_PKG_VERSION")))
}

/// What `rustls` reports on a machine without certificates, such as a container with nothing but this program.
const NO_CERTIFICATES: &str = "No CA certificates were loaded";

/// Returns the innermost reason of an error, without the address, which may have a key.
pub fn reason(error: &reqwest::Error) -> String {
    let mut reason = None;
    let mut source: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(inner) = source {
        reason = Some(inner.to_string());
        source = inner.source();
    }
    match reason {
        Some(reason) if reason.contains(NO_CERTIFICATES) => {
            "this machine has no certificates of authorities; install `ca-certificates`, or name a file with `SSL_CERT_FILE`"
                .to_owned()
        }
        reason => reason.unwrap_or_else(|| "no reason is given".to_owned()),
    }
}
