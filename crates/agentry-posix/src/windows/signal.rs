//! Signals: what the console reports.

use std::io;

use tokio::signal::windows::{self, CtrlBreak, CtrlC, CtrlClose};

/// Which event is waited for.
#[derive(Debug, Clone, Copy)]
pub enum SignalKind {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Break.
    Terminate,
    /// The console is closed.
    Hangup,
}

impl SignalKind {
    /// Ctrl-C.
    pub fn interrupt() -> Self {
        Self::Interrupt
    }

    /// Ctrl-Break: Windows has no other way to ask a console program to end.
    pub fn terminate() -> Self {
        Self::Terminate
    }

    /// The console is closed.
    pub fn hangup() -> Self {
        Self::Hangup
    }
}

/// A stream of such events.
#[derive(Debug)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt(CtrlC),
    /// Ctrl-Break.
    Terminate(CtrlBreak),
    /// The console is closed.
    Hangup(CtrlClose),
}

/// Listens to an event from now on.
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    match kind {
        SignalKind::Interrupt => windows::ctrl_c().map(Signal::Interrupt),
        SignalKind::Terminate => windows::ctrl_break().map(Signal::Terminate),
        SignalKind::Hangup => windows::ctrl_close().map(Signal::Hangup),
    }
}

impl Signal {
    /// Waits for the next one.
    pub async fn recv(&mut self) -> Option<()> {
        match self {
            Self::Interrupt(events) => events.recv().await,
            Self::Terminate(events) => events.recv().await,
            Self::Hangup(events) => events.recv().await,
        }
    }
}
