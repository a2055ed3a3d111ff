//! The only way out of a network namespace: an HTTP proxy that checks the host of each connection.
//!
//! A name is resolved here, once, and the connection goes to an address that was checked. The content of
//! a tunnel (a server name, another `Host`) decides nothing. A plain request is forwarded alone, with
//! the `Host` that was checked.

mod head;
mod relay;

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use head::{DialTarget, RequestHead};

/// The most connections at a time.
const MOST: usize = 64;
/// The time limit for connecting, and for reading the head of a request.
const PATIENCE: Duration = Duration::from_secs(20);

/// Decides which hosts may be reached.
pub trait ProxyGate: Send + Sync + 'static {
    /// Whether this host (in lower case, without a final dot) may be reached on this port with this
    /// scheme. The error is the reason for a refusal.
    fn open(&self, scheme: &str, host: &str, port: u16) -> Result<HostReach, String>;

    /// Whether an address belongs to this machine or to a private network.
    fn is_private(&self, address: IpAddr) -> bool;

    /// The addresses of a host.
    fn look_up(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok((host, port).to_socket_addrs()?.collect())
    }
}

/// Which addresses of an allowed host may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostReach {
    /// Only public addresses, and addresses that are allowed themselves.
    Public,
    /// Also addresses of this machine and of private networks: this host was allowed explicitly.
    Private,
}

/// A running proxy. On drop it ends, with all its connections.
pub struct NetworkProxy {
    shared: Arc<ProxyState>,
    listener: TcpListener,
}

struct ProxyState {
    gate: Box<dyn ProxyGate>,
    open: AtomicUsize,
    /// The client and server sides of open connections.
    streams: Mutex<Vec<Weak<TcpStream>>>,
}

impl std::fmt::Debug for NetworkProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkProxy").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl NetworkProxy {
    /// Starts a proxy on the listener of a sandbox.
    pub fn start(listener: TcpListener, gate: impl ProxyGate) -> io::Result<Self> {
        let shared = Arc::new(ProxyState {
            gate: Box::new(gate),
            open: AtomicUsize::new(0),
            streams: Mutex::new(Vec::new()),
        });
        listener.set_nonblocking(false)?;
        let (all, own) = (Arc::clone(&shared), listener.try_clone()?);
        thread::Builder::new().name("proxy".to_owned()).spawn(move || accept(&own, &all))?;
        Ok(Self { shared, listener })
    }
}

impl Drop for NetworkProxy {
    fn drop(&mut self) {
        // This wakes the thread that waits for a connection. Only a sandbox has such a listener, and Windows has
        // no sandbox.
        #[cfg(unix)]
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let streams = self.shared.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.iter().filter_map(Weak::upgrade) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<ProxyState>) {
    for client in listener.incoming() {
        let Ok(client) = client else { return };
        if shared.open.fetch_add(1, Ordering::SeqCst) >= MOST {
            shared.open.fetch_sub(1, Ordering::SeqCst);
            refuse(&client, "503 Service Unavailable", "too many connections at a time");
            continue;
        }
        let shared = Arc::clone(shared);
        let guard = CountedConnection(Arc::clone(&shared));
        let started = thread::Builder::new().name("proxy".to_owned()).spawn(move || {
            let _guard = guard;
            let _ = serve(client, &shared);
        });
        drop(started);
    }
}

/// A connection that is counted while it lives.
struct CountedConnection(Arc<ProxyState>);

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves one client: one tunnel, or one request.
fn serve(client: TcpStream, shared: &ProxyState) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let client = Arc::new(client);
    shared.remember(&client);
    let head = match RequestHead::read(&client) {
        Ok(head) => head,
        Err(why) => {
            refuse(&client, "400 Bad Request", &why);
            return Ok(());
        }
    };
    let DialTarget { scheme, host, port, .. } = &head.target;
    let server = match dial(shared, scheme, host, *port) {
        Ok(server) => Arc::new(server),
        Err(why) => {
            refuse(&client, "403 Forbidden", &why);
            return Ok(());
        }
    };
    shared.remember(&server);
    // The limits were only for the head; a tunnel may be idle for long.
    client.set_read_timeout(None)?;
    client.set_write_timeout(None)?;
    if head.is_tunnel() {
        (&*client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        relay::both_ways(&client, &server, &head.rest)
    } else {
        relay::one_request(&client, &server, &head)
    }
}

impl ProxyState {
    fn remember(&self, stream: &Arc<TcpStream>) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }
}

/// Connects to an allowed host, at an allowed address.
fn dial(shared: &ProxyState, scheme: &str, host: &str, port: u16) -> Result<TcpStream, String> {
    let reach = shared.gate.open(scheme, host, port)?;
    let addresses = shared
        .gate
        .look_up(host, port)
        .map_err(|error| format!("`{host}` cannot be looked up: {error}"))?;
    if addresses.is_empty() {
        return Err(format!("`{host}` has no address"));
    }
    // DNS must not lead a public name to a private address, unless that address is allowed itself.
    let named =
        |ip: IpAddr| shared.gate.open(scheme, &ip.to_string(), port) == Ok(HostReach::Private);
    let may = |address: &&SocketAddr| {
        let ip = address.ip();
        reach == HostReach::Private || !shared.gate.is_private(ip) || named(ip)
    };
    let mut last = format!("`{host}` leads to this machine or a private network");
    for address in addresses.iter().filter(may) {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(server) => return Ok(server),
            Err(error) => last = format!("`{host}` cannot be reached: {error}"),
        }
    }
    Err(last)
}

/// Sends the reason of a refusal to a client.
fn refuse(mut client: &TcpStream, status: &str, why: &str) {
    let why = why.replace(['\r', '\n'], " ");
    let text = format!("agentry: {why}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{text}",
        text.len()
    );
    let _ = client.write_all(head.as_bytes());
    let _ = client.shutdown(std::net::Shutdown::Write);
}

#[cfg(test)]
mod tests;
