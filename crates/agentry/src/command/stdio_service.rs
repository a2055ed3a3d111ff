//! Serves one program on the standard streams until it leaves or a signal ends this one.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use agentry_posix::signal::{SignalKind, signal};
use agentry_rpc::RpcService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, print_bytes};

/// The bytes that are read or written at once.
const CHUNK: usize = 64 << 10;
/// The time to write the last bytes: the other side may not read any more.
const LAST_BYTES: Duration = Duration::from_secs(5);

/// Serves until the end; what is under way is parked then.
pub(crate) fn serve<S: RpcService + 'static>(runtime: Runtime, service: &Arc<S>) -> CliOutcome {
    let outcome = runtime.block_on(async {
        let failed = |error: io::Error| {
            CliFailure::new(format!("signals cannot be received: {}", error_text(&error)))
        };
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        let (output, written) = standard_output();
        let mut stopped = async || {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
            }
        };
        let mut is_stopped = false;
        let stop = async {
            stopped().await;
            is_stopped = true;
        };
        let service = Arc::clone(service);
        let ended = agentry_rpc::serve(standard_input(), output, service, stop).await;
        // An editor that ends this program often closes its input, too, and that may be noticed first.
        is_stopped = is_stopped || tokio::time::timeout(Duration::ZERO, stopped()).await.is_ok();
        let outcome = match ended {
            Err(error) => Err(CliFailure::new(format!("the other side broke off: {error}"))),
            Ok(()) if is_stopped => Ok(ExitKind::Interrupted),
            Ok(()) => Ok(ExitKind::Done),
        };
        let _ = tokio::time::timeout(LAST_BYTES, written).await;
        outcome
    });
    // Not a plain drop: a blocked read or write must not keep the program.
    runtime.shutdown_background();
    outcome
}

/// Standard input, read by a thread: it may be a pipe, a socket or a file.
fn standard_input() -> DuplexStream {
    let (mut to, from) = tokio::io::duplex(CHUNK);
    let runtime = Handle::current();
    thread::spawn(move || {
        let mut chunk = vec![0; CHUNK];
        while let Ok(count @ 1..) = io::stdin().lock().read(&mut chunk) {
            let read = chunk.get(..count).unwrap_or_default();
            if runtime.block_on(to.write_all(read)).is_err() {
                return;
            }
        }
    });
    from
}

/// Standard output, written by a thread; the receiver is ready when all is written.
fn standard_output() -> (DuplexStream, oneshot::Receiver<()>) {
    let (to, mut from) = tokio::io::duplex(CHUNK);
    let (tell, written) = oneshot::channel();
    let runtime = Handle::current();
    thread::spawn(move || {
        let mut chunk = vec![0; CHUNK];
        while let Ok(count @ 1..) = runtime.block_on(from.read(&mut chunk)) {
            if !print_bytes(chunk.get(..count).unwrap_or_default()) {
                return;
            }
        }
        let _ = tell.send(());
    });
    (to, written)
}
