//! The server of Agentry: an HTTP API and a page for runs and approvals.
//!
//! ```text
//! connection ─▶ gate: Host, Origin, token ─▶ route: one table ─▶ RunHost ─▶ reply
//! ```
//!
//! The server knows HTTP, tokens and HTML. What agents, runs and approvals are, the [`RunHost`] knows. Whatever
//! it returns is hostile text: a model, a file or another program wrote it.

mod api;
mod completion;
mod completion_form;
mod events;
mod gate;
mod host;
mod limits;
mod listen;
mod mcp_endpoint;
mod metrics;
mod openapi;
mod page;
mod reply;
mod route;
mod scope;
mod tls;
mod token_store;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;

pub use gate::AllowedHosts;
pub use host::{EventBatch, HostCall, HostError, HostReply, ListWindow, LiveSignal, RunHost};
pub use limits::ServerLimits;
pub use scope::TokenScope;
pub use tls::TlsFiles;
pub use token_store::{CODE_LIFE, PairedToken, TokenStore};

use api::ApiServer;
use listen::{ServerListener, SocketFile};

/// What the server is started with.
pub struct ServerSetup {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The certificate and its key. Without them only loopback addresses are accepted.
    pub tls: Option<TlsFiles>,
    /// Further names by which the server is reached, as a browser writes them: `https://agents.example`.
    pub names: Vec<String>,
    /// The Unix socket.
    pub socket: PathBuf,
    /// The tokens.
    pub tokens: TokenStore,
    /// How much clients may use.
    pub limits: ServerLimits,
}

/// A server that listens and does not answer yet.
pub struct BoundServer {
    listeners: Vec<ServerListener>,
    address: SocketAddr,
    scheme: &'static str,
    hosts: AllowedHosts,
    tokens: TokenStore,
    limits: ServerLimits,
    _socket: SocketFile,
}

impl ServerSetup {
    /// Takes the address and the socket. An address that others can reach is refused without TLS.
    pub async fn bind(self) -> io::Result<BoundServer> {
        if !self.listen.ip().is_loopback() && self.tls.is_none() {
            let message = format!(
                "`{}` can be reached by other machines, which needs a certificate",
                self.listen
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let acceptor = self.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let (socket, unix) = SocketFile::bind(&self.socket)?;
        let tcp = TcpListener::bind(self.listen).await?;
        let address = tcp.local_addr()?;
        let mut hosts = allowed_hosts(scheme, address);
        for name in &self.names {
            let (scheme, host) = name.split_once("://").unwrap_or((scheme, name));
            hosts.allow(scheme, host.trim_end_matches('/'));
        }
        let listeners = vec![ServerListener::Tcp(tcp, acceptor), ServerListener::Unix(unix)];
        let Self { tokens, limits, .. } = self;
        Ok(BoundServer { listeners, address, scheme, hosts, tokens, limits, _socket: socket })
    }
}

impl BoundServer {
    /// The address of the page.
    pub fn url(&self) -> String {
        let Self { scheme, address, .. } = self;
        format!("{scheme}://{address}/")
    }

    /// Answers requests until `stop` becomes true.
    pub async fn serve(self, host: Arc<dyn RunHost>, stop: watch::Receiver<bool>) {
        let server = ApiServer::new(host, self.tokens, (self.hosts, self.limits), stop.clone());
        listen::accept(Arc::new(server), self.listeners, stop).await;
    }
}

/// The names by which an address is reached on this machine. The socket is reached as `localhost`.
fn allowed_hosts(scheme: &str, address: SocketAddr) -> AllowedHosts {
    let mut hosts = AllowedHosts::default();
    let port = address.port();
    hosts.allow(scheme, &address.to_string());
    if address.ip().is_loopback() {
        hosts.allow(scheme, &format!("localhost:{port}"));
        hosts.allow(scheme, &SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port).to_string());
    }
    hosts.allow_socket("localhost");
    hosts
}

/// The number of open streams.
fn api_streams_open(server: &ApiServer) -> usize {
    server.limits.streams - server.streams.available_permits()
}
