//! The sandbox on operating systems without a back end: its start always fails.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::path::Path;

use crate::{BackEnd, CommandExit, ConfinedCommand, Confinement, PrivateDirectories, SandboxError};

/// A sandbox, which cannot exist on this operating system.
#[derive(Debug)]
pub struct UnsupportedSandbox(Infallible);

/// A command that was started.
#[derive(Debug)]
pub struct UnsupportedHandle {
    /// The id with which it can be killed.
    pub id: u64,
    never: Infallible,
}

impl UnsupportedHandle {
    /// Waits until the command has ended.
    pub fn wait(self) -> Result<CommandExit, SandboxError> {
        match self.never {}
    }
}

impl UnsupportedSandbox {
    /// Reports that this operating system has no back end.
    pub fn start(
        _program: &Path,
        _back_end: BackEnd,
        _confinement: Confinement,
        _leavings: Option<&Path>,
    ) -> Result<Self, SandboxError> {
        Err(SandboxError::Unsupported("only Linux has a back end so far".to_owned()))
    }

    /// The back end that confines it.
    pub fn back_end(&self) -> BackEnd {
        match self.0 {}
    }

    /// The listener for the proxy.
    pub fn listener(&self) -> Option<TcpListener> {
        match self.0 {}
    }

    /// The private directories of commands.
    pub fn private(&self) -> &PrivateDirectories {
        match self.0 {}
    }

    /// Starts a command.
    pub fn run(&self, _command: ConfinedCommand) -> Result<UnsupportedHandle, SandboxError> {
        match self.0 {}
    }

    /// Starts a command, and calls `then` when it has ended.
    pub fn run_then(
        &self,
        _command: ConfinedCommand,
        _then: impl FnOnce(Result<CommandExit, SandboxError>) + Send + 'static,
    ) -> Result<u64, SandboxError> {
        match self.0 {}
    }

    /// Whether the sandbox has ended.
    pub fn is_over(&self) -> bool {
        match self.0 {}
    }

    /// Ends all processes.
    pub fn end(&self) {
        match self.0 {}
    }

    /// Ends a command.
    pub fn kill(&self, _id: u64) -> Result<(), SandboxError> {
        match self.0 {}
    }
}

/// A helper that is started early, of which there is none here.
#[derive(Debug)]
pub struct UnsupportedReserve(());

/// Does nothing: there is no sandbox to help.
pub fn reserve(_program: &Path) -> UnsupportedReserve {
    UnsupportedReserve(())
}

/// Fails: there is no sandbox to help.
pub fn serve() -> u8 {
    1
}

/// Fails: this operating system has no seal.
pub fn seal(_memory: u64) -> io::Result<()> {
    Err(io::Error::other("only Linux can seal a process"))
}

/// Does nothing: a run leaves nothing behind.
pub fn sweep(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Does nothing on this operating system.
pub fn forget_code() {}
