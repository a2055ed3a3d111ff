//! The wire to a server that is a program: one message a line on its standard streams.

use agentry_posix::fd::OwnedFd;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentry_posix::pipe;
use agentry_rpc::LineReader;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};

use crate::ClientFuture;
use crate::clean_text::clean;
use crate::dispatch::{Dispatcher, MessageWire, WireMessage};
use crate::failure::McpFailure;
use crate::limits;

/// Starts the program of a server.
pub trait ProgramStarter: Send + Sync {
    /// Starts it with these streams. May block; is called within a Tokio runtime.
    fn start(&self, streams: ProgramStreams) -> io::Result<StartedProgram>;
}

/// The standard streams of a program.
#[derive(Debug)]
pub struct ProgramStreams {
    /// Standard input.
    pub input: OwnedFd,
    /// Standard output.
    pub output: OwnedFd,
    /// Standard error.
    pub errors: OwnedFd,
}

/// A started program.
pub struct StartedProgram {
    /// Waits for its end; returns the exit code, or `None` if a signal ended it.
    pub ended: ClientFuture<'static, io::Result<Option<i32>>>,
    /// Kills the program and its children on drop. The drop may block.
    pub guard: Box<dyn Send + Sync>,
}

/// The wire.
pub(crate) struct StdioWire {
    /// Messages to write; `None` after the end.
    queue: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    guard: Mutex<Option<Box<dyn Send + Sync>>>,
    /// Becomes true at the end of the program.
    over: watch::Receiver<bool>,
    dispatcher: Arc<Dispatcher>,
}

/// The last bytes of standard error.
type ErrorTail = Arc<Mutex<Vec<u8>>>;

impl StdioWire {
    /// Starts the program. Must run on the runtime of the client.
    pub(crate) async fn open(
        starter: Arc<dyn ProgramStarter>,
        dispatcher: Arc<Dispatcher>,
    ) -> Result<Arc<Self>, McpFailure> {
        let failed = |error: io::Error| McpFailure::Unstartable(error.to_string());
        let (input, to_program) = io::pipe().map_err(failed)?;
        let (from_program, output) = io::pipe().map_err(failed)?;
        let (from_errors, errors) = io::pipe().map_err(failed)?;
        let streams =
            ProgramStreams { input: input.into(), output: output.into(), errors: errors.into() };
        // Setting up a sandbox blocks, and another server starts at the same time.
        let program = tokio::task::spawn_blocking(move || starter.start(streams)).await;
        let program = program.map_err(|error| failed(io::Error::other(error)))?.map_err(failed)?;
        let writer = pipe::Sender::from_owned_fd(to_program.into()).map_err(failed)?;
        let reader = pipe::Receiver::from_owned_fd(from_program.into()).map_err(failed)?;
        let errors = pipe::Receiver::from_owned_fd(from_errors.into()).map_err(failed)?;
        let (queue, messages) = mpsc::channel(limits::QUEUE);
        let (tell, over) = watch::channel(false);
        let StartedProgram { ended, guard } = program;
        let wire = Arc::new(Self {
            queue: Mutex::new(Some(queue)),
            guard: Mutex::new(Some(guard)),
            over,
            dispatcher: Arc::clone(&dispatcher),
        });
        let tail = ErrorTail::default();
        tokio::spawn(write(writer, messages));
        let errors = tokio::spawn(drain(errors, Arc::clone(&tail)));
        let reading = tokio::spawn(read(reader, Arc::clone(&dispatcher), Arc::clone(&wire)));
        tokio::spawn(async move {
            let code = ended.await;
            let _ = tell.send(true);
            // What it printed last is read to its end; children that hold the streams cannot delay this.
            let _ =
                tokio::time::timeout(limits::END, async { (reading.await, errors.await) }).await;
            dispatcher.end(McpFailure::Ended(ending(&code, &tail)));
        });
        Ok(wire)
    }
}

impl MessageWire for StdioWire {
    fn submit(&self, message: WireMessage) -> Result<(), McpFailure> {
        let mut line = serde_json::to_vec(&message.message.to_json())
            .map_err(|error| McpFailure::Protocol(error.to_string()))?;
        line.push(b'\n');
        let queue = locked(&self.queue);
        let ended = || self.dispatcher.failure().unwrap_or(McpFailure::Ended(String::new()));
        match queue.as_ref().map(|queue| queue.try_send(line)) {
            Some(Ok(())) => Ok(()),
            Some(Err(mpsc::error::TrySendError::Full(_))) => {
                Err(McpFailure::Protocol("it does not read its input".to_owned()))
            }
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => Err(ended()),
        }
    }

    fn give_up(&self, _: u64) -> bool {
        true
    }

    fn agreed(&self, _: &str) {}

    fn close(&self) {
        drop(locked(&self.queue).take());
        self.dispatcher.end(McpFailure::Ended(String::new()));
        let Some(guard) = locked(&self.guard).take() else { return };
        // The drop kills the program and may wait for that.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(guard))),
            Err(_) => drop(guard),
        }
    }

    fn finish(self: Arc<Self>) -> ClientFuture<'static, ()> {
        Box::pin(async move {
            // Closed input asks the program to end, and it gets a moment to do so.
            drop(locked(&self.queue).take());
            let mut over = self.over.clone();
            let _ = tokio::time::timeout(limits::END, over.wait_for(|over| *over)).await;
            self.close();
        })
    }
}

impl Drop for StdioWire {
    fn drop(&mut self) {
        self.close();
    }
}

async fn write(mut writer: pipe::Sender, mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = messages.recv().await {
        // The end of the program is noticed elsewhere.
        if writer.write_all(&line).await.is_err() {
            break;
        }
    }
}

async fn read(reader: pipe::Receiver, dispatcher: Arc<Dispatcher>, wire: Arc<StdioWire>) {
    let mut lines = LineReader::new(reader, limits::MESSAGE_BYTES);
    // Weak, because a task that reads for ever must not keep the program alive.
    let weak = Arc::downgrade(&wire);
    drop(wire);
    loop {
        match lines.next().await {
            Ok(Some(line)) => {
                let Some(wire) = weak.upgrade() else { return };
                let wire: Arc<dyn MessageWire> = wire;
                dispatcher.deliver_text(&line, &wire);
            }
            Ok(None) => break,
            Err(failure) => {
                dispatcher.end(failure.into());
                if let Some(wire) = weak.upgrade() {
                    wire.close();
                }
                return;
            }
        }
    }
    // Without its output the program is of no use, even if it still runs.
    if let Some(wire) = weak.upgrade() {
        let mut over = wire.over.clone();
        let _ = tokio::time::timeout(limits::END, over.wait_for(|over| *over)).await;
        if !*over.borrow() {
            dispatcher.end(McpFailure::Ended(": it closed its output".to_owned()));
            wire.close();
        }
    }
}

/// Reads standard error, so that the program never blocks on it, and keeps the last bytes.
async fn drain(mut errors: pipe::Receiver, tail: ErrorTail) {
    let mut chunk = vec![0; 8 << 10];
    while let Ok(count @ 1..) = errors.read(&mut chunk).await {
        let mut tail = locked(&tail);
        tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let excess = tail.len().saturating_sub(limits::ERRORS_BYTES);
        tail.drain(..excess);
    }
}

/// How a program ended, after «it ended».
fn ending(code: &io::Result<Option<i32>>, tail: &ErrorTail) -> String {
    let how = match code {
        Ok(Some(code)) => format!(" with the exit code {code}"),
        Ok(None) => " by a signal".to_owned(),
        Err(error) => format!(": {error}"),
    };
    let tail = String::from_utf8_lossy(&locked(tail)).into_owned();
    let tail = clean(tail.trim()).text;
    let lines: Vec<&str> = tail.lines().collect();
    let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ");
    if last.is_empty() { how } else { format!("{how}; it printed: {last}") }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
