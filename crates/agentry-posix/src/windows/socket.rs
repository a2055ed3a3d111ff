//! Sockets in the file system. The runtime has none on Windows, so that the server listens on TCP only.

use std::io;
use std::path::Path;

/// A connection to such a socket.
#[derive(Debug)]
pub struct UnixStream;

impl UnixStream {
    /// Fails.
    pub fn connect(_: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl io::Read for UnixStream {
    /// Fails.
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A listener on such a socket.
#[derive(Debug)]
pub struct UnixListener(std::convert::Infallible);

impl UnixListener {
    /// Fails.
    pub fn bind(_: &Path) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "Windows has no sockets in the file system"))
    }

    /// Never called: there is no listener.
    #[expect(clippy::unused_async, reason = "the same as on Unix")]
    pub async fn accept(&self) -> io::Result<(tokio::net::TcpStream, ())> {
        match self.0 {}
    }
}
