//! The only way out of a network namespace: an HTTP proxy that looks at the host that is dialled.
//!
//! A name is looked up here, once, and the connection goes to an address that was looked at; what a
//! client says inside of a tunnel (a server name, another `Host`) is never asked. Plain requests are
//! passed on one by one, with the `Host` that was judged.

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
/// How long a connection may take to come about, and how long its first lines.
const PATIENCE: Duration = Duration::from_secs(20);

/// Says which hosts may be reached.
pub trait ProxyGate: Send + Sync + 'static {
    /// Whether this host, in lower case and without a final dot, may be reached on this port by this
    /// scheme; why not otherwise.
    fn open(&self, scheme: &str, host: &str, port: u16) -> Result<HostReach, String>;

    /// Whether an address is one of this machine or of a private network.
    fn is_private(&self, address: IpAddr) -> bool;

    /// The addresses of a host.
    fn look_up(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok((host, port).to_socket_addrs()?.collect())
    }
}

/// How far an open host reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostReach {
    /// Only where it has addresses that everybody can reach, or that are open themselves.
    Public,
    /// Also on this machine and in private networks: it is an address or a name of those, and somebody
    /// named it.
    Private,
}

/// A proxy that runs; dropping it ends it and every connection through it.
pub struct NetworkProxy {
    shared: Arc<ProxyState>,
    listener: TcpListener,
}

struct ProxyState {
    gate: Box<dyn ProxyGate>,
    open: AtomicUsize,
    /// Both ends of what is open.
    streams: Mutex<Vec<Weak<TcpStream>>>,
}

impl std::fmt::Debug for NetworkProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkProxy").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl NetworkProxy {
    /// Answers on the listener that a sandbox handed out.
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
        // Whoever waits for a connection is woken by this.
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

/// One connection; counted as long as it lives.
struct CountedConnection(Arc<ProxyState>);

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers one client: one tunnel, or one request.
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

/// Connects to a host that may be reached, at an address that may be.
fn dial(shared: &ProxyState, scheme: &str, host: &str, port: u16) -> Result<TcpStream, String> {
    let reach = shared.gate.open(scheme, host, port)?;
    let addresses = shared
        .gate
        .look_up(host, port)
        .map_err(|error| format!("`{host}` cannot be looked up: {error}"))?;
    if addresses.is_empty() {
        return Err(format!("`{host}` has no address"));
    }
    // A name leads inside only if somebody named where it leads.
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

/// Tells a client why it gets nothing.
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
