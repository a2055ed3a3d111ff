//! Accepts connections: on TCP, with TLS where it is needed, and on a Unix socket. Everything that a client can use
//! up has a limit.

use agentry_posix::unix::fs::PermissionsExt as _;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentry_posix::socket::{UnixListener, UnixStream};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::api::ApiServer;

/// The most bytes of a request's head.
const MOST_HEAD: usize = 16 * 1024;
/// The most headers of a request.
const MOST_HEADERS: usize = 64;
/// The most connections that are refused at a time; what comes beyond is closed.
const MOST_REFUSALS: usize = 64;
/// How long a refused client may take to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// The answer to a connection beyond the limit.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Connection: close\r\nRetry-After: 5\r\nContent-Length: 67\r\n\r\n\
    {\"error\":\"busy\",\"message\":\"too many connections are open already\"}\n";
/// How long open requests may take after the server was stopped.
const STOP_TIME: Duration = Duration::from_secs(5);

/// A place where the server listens.
pub(crate) enum ServerListener {
    Tcp(TcpListener, Option<TlsAcceptor>),
    Unix(UnixListener),
}

/// A Unix socket that only this user may connect to. It is removed when the server ends.
pub(crate) struct SocketFile(PathBuf);

impl SocketFile {
    /// Creates the socket. One without a listener is replaced.
    pub(crate) fn bind(path: &Path) -> io::Result<(Self, UnixListener)> {
        if UnixStream::connect(path).is_ok() {
            let message = format!("another server listens on `{}`", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // The directory is private, so no other user connects before the mode is set.
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok((Self(path.to_owned()), listener))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Accepts connections until `stop` becomes true, and then waits for open requests for a while.
pub(crate) async fn accept(
    server: Arc<ApiServer>,
    listeners: Vec<ServerListener>,
    mut stop: watch::Receiver<bool>,
) {
    let connections = server.limits.connections;
    let places = Arc::new(Semaphore::new(connections));
    let refusals = Arc::new(Semaphore::new(MOST_REFUSALS));
    let loops = listeners.into_iter().map(|listener| {
        let door = ConnectionDoor {
            server: Arc::clone(&server),
            places: Arc::clone(&places),
            refusals: Arc::clone(&refusals),
            stop: stop.clone(),
        };
        tokio::spawn(door.accept_from(listener))
    });
    let loops: Vec<_> = loops.collect();
    stopped(&mut stop).await;
    for accepting in loops {
        let _ = accepting.await;
    }
    // Every connection holds a place.
    let all = u32::try_from(connections).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(STOP_TIME, places.acquire_many(all)).await;
}

/// What connections are accepted for.
struct ConnectionDoor {
    server: Arc<ApiServer>,
    /// One for each open connection.
    places: Arc<Semaphore>,
    /// One for each connection that is being refused.
    refusals: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

impl ConnectionDoor {
    async fn accept_from(self, listener: ServerListener) {
        let mut stop = self.stop.clone();
        loop {
            tokio::select! {
                () = stopped(&mut stop) => return,
                accepted = self.accept_one(&listener) => if accepted.is_err() {
                    // Too many open files: others have to close first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                },
            }
        }
    }

    async fn accept_one(&self, listener: &ServerListener) -> io::Result<()> {
        match listener {
            ServerListener::Tcp(tcp, tls) => {
                let (stream, _) = tcp.accept().await?;
                // Events are small and must not wait for each other.
                stream.set_nodelay(true)?;
                match (self.connection(), tls.clone()) {
                    (Some(connection), Some(tls)) => {
                        drop(tokio::spawn(connection.secure(stream, tls)));
                    }
                    (Some(connection), None) => drop(tokio::spawn(connection.serve(stream))),
                    // Without a handshake there is nothing to say.
                    (None, Some(_)) => {}
                    (None, None) => self.refuse(stream),
                }
            }
            ServerListener::Unix(unix) => {
                let (stream, _) = unix.accept().await?;
                match self.connection() {
                    Some(connection) => drop(tokio::spawn(connection.serve(stream))),
                    None => self.refuse(stream),
                }
            }
        }
        Ok(())
    }

    /// A place for a connection; `None` beyond the limit.
    fn connection(&self) -> Option<Connection> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Connection { server: Arc::clone(&self.server), place, stop: self.stop.clone() })
    }

    /// Says that there is no place.
    fn refuse(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let refusal = async {
                stream.write_all(REFUSAL).await?;
                stream.shutdown().await?;
                // A connection with unread bytes is reset, and the client would not see the answer.
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            };
            let _ = tokio::time::timeout(REFUSAL_TIME, refusal).await;
            drop(place);
        });
    }
}

/// Waits until the server is to end.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = stop.wait_for(|stops| *stops).await;
}

/// One connection.
struct Connection {
    server: Arc<ApiServer>,
    place: OwnedSemaphorePermit,
    stop: watch::Receiver<bool>,
}

impl Connection {
    async fn secure(self, stream: tokio::net::TcpStream, tls: TlsAcceptor) {
        let patience = self.server.limits.patience;
        if let Ok(Ok(stream)) = tokio::time::timeout(patience, tls.accept(stream)).await {
            self.serve(stream).await;
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send) {
        let Self { server, place, mut stop } = self;
        let patience = server.limits.patience;
        let service = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(patience);
        builder.max_buf_size(MOST_HEAD).max_headers(MOST_HEADERS).half_close(false);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => {}
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(STOP_TIME, connection).await;
            }
        }
        drop(place);
    }
}
