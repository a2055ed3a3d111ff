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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::api::ApiServer;

/// The most open connections.
const MOST_CONNECTIONS: usize = 2_048;
/// The most bytes of a request's head.
const MOST_HEAD: usize = 16 * 1024;
/// The most headers of a request.
const MOST_HEADERS: usize = 64;
/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(15);
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
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let loops = listeners.into_iter().map(|listener| {
        let (server, places, stop) = (Arc::clone(&server), Arc::clone(&places), stop.clone());
        tokio::spawn(accept_from(server, listener, places, stop))
    });
    let loops: Vec<_> = loops.collect();
    stopped(&mut stop).await;
    for accepting in loops {
        let _ = accepting.await;
    }
    // Every connection holds a place.
    let all = u32::try_from(MOST_CONNECTIONS).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(STOP_TIME, places.acquire_many(all)).await;
}

async fn accept_from(
    server: Arc<ApiServer>,
    listener: ServerListener,
    places: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        // Beyond the limit, connections wait in the queue of the system.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let connection = Connection { server: Arc::clone(&server), place, stop: stop.clone() };
        let accepted = async {
            match &listener {
                ServerListener::Tcp(tcp, tls) => {
                    let (stream, _) = tcp.accept().await?;
                    // Events are small and must not wait for each other.
                    stream.set_nodelay(true)?;
                    match tls.clone() {
                        Some(tls) => drop(tokio::spawn(connection.secure(stream, tls))),
                        None => drop(tokio::spawn(connection.serve(stream))),
                    }
                }
                ServerListener::Unix(unix) => {
                    let (stream, _) = unix.accept().await?;
                    drop(tokio::spawn(connection.serve(stream)));
                }
            }
            io::Result::Ok(())
        };
        tokio::select! {
            () = stopped(&mut stop) => return,
            accepted = accepted => if accepted.is_err() {
                // Too many open files: others have to close first.
                tokio::time::sleep(Duration::from_millis(50)).await;
            },
        }
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
        if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await {
            self.serve(stream).await;
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send) {
        let Self { server, place, mut stop } = self;
        let service = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
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
