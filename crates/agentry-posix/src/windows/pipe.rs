//! Pipes for the asynchronous runtime. Anonymous pipes of Windows cannot be waited for, so a thread reads or writes each.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, DuplexStream, ReadBuf};
use tokio::runtime::Handle;

use super::fd::{HeldHandle, OwnedFd};

/// The bytes that are read or written at once.
const CHUNK: usize = 64 << 10;
/// The most bytes that wait for the reader.
const MOST_WAITING: usize = 1 << 20;
/// How long a read without the runtime waits for the thread.
const PATIENCE: Duration = Duration::from_millis(200);

/// The end of a pipe that is read.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<SharedPipe>,
}

#[derive(Debug, Default)]
struct SharedPipe {
    state: Mutex<PipeState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PipeState {
    bytes: VecDeque<u8>,
    is_closed: bool,
    waker: Option<Waker>,
}

impl Receiver {
    /// Reads a pipe from now on.
    pub fn from_owned_fd(pipe: OwnedFd) -> io::Result<Self> {
        let shared: Arc<SharedPipe> = Arc::default();
        let (state, mut from) = (Arc::clone(&shared), pipe.file);
        std::thread::Builder::new().name("pipe".to_owned()).spawn(move || {
            let mut chunk = vec![0; CHUNK];
            while let Ok(count @ 1..) = from.read(&mut chunk) {
                state.add(chunk.get(..count).unwrap_or_default());
            }
            state.close();
        })?;
        Ok(Self { shared })
    }
}

impl SharedPipe {
    fn state(&self) -> MutexGuard<'_, PipeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, bytes: &[u8]) {
        let is_full = |state: &mut PipeState| state.bytes.len() > MOST_WAITING && !state.is_closed;
        let mut state =
            self.changed.wait_while(self.state(), is_full).unwrap_or_else(PoisonError::into_inner);
        state.bytes.extend(bytes);
        self.notify(state);
    }

    fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        self.notify(state);
    }

    fn notify(&self, mut state: MutexGuard<'_, PipeState>) {
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        self.changed.notify_all();
    }
}

impl PipeState {
    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.bytes.len());
        for (to, from) in buffer.iter_mut().zip(self.bytes.drain(..count)) {
            *to = from;
        }
        count
    }
}

impl AsyncRead for Receiver {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.shared.state();
        if state.bytes.is_empty() && !state.is_closed {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let count = state.take(buffer.initialize_unfilled());
        buffer.advance(count);
        self.shared.changed.notify_all();
        Poll::Ready(Ok(()))
    }
}

impl HeldHandle for Receiver {
    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_open = |state: &mut PipeState| state.bytes.is_empty() && !state.is_closed;
        let waited = self.shared.changed.wait_timeout_while(self.shared.state(), PATIENCE, is_open);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.bytes.is_empty() && !state.is_closed {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = state.take(buffer);
        self.shared.changed.notify_all();
        Ok(count)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // The thread must not wait for a reader that is gone.
        self.shared.close();
    }
}

/// The end of a pipe that is written.
#[derive(Debug)]
pub struct Sender(DuplexStream);

impl Sender {
    /// Writes a pipe from now on. Must be called inside the runtime.
    pub fn from_owned_fd(pipe: OwnedFd) -> io::Result<Self> {
        let (to, mut from) = tokio::io::duplex(CHUNK);
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let mut pipe = pipe.file;
        std::thread::Builder::new().name("pipe".to_owned()).spawn(move || {
            let mut chunk = vec![0; CHUNK];
            while let Ok(count @ 1..) = runtime.block_on(from.read(&mut chunk)) {
                if pipe.write_all(chunk.get(..count).unwrap_or_default()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self(to))
    }
}

impl AsyncWrite for Sender {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
