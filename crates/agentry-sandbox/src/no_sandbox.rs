//! What stands for a sandbox on systems that have none: it never starts, and says so.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::path::Path;

use crate::{BackEnd, CommandExit, ConfinedCommand, Confinement, PrivateDirectories, SandboxError};

/// A confined world. There is none on this system.
#[derive(Debug)]
pub struct UnsupportedSandbox(Infallible);

/// A command that was started.
#[derive(Debug)]
pub struct UnsupportedHandle {
    /// By which it can be killed.
    pub id: u64,
    never: Infallible,
}

impl UnsupportedHandle {
    /// Waits for its end.
    pub fn wait(self) -> Result<CommandExit, SandboxError> {
        match self.never {}
    }
}

impl UnsupportedSandbox {
    /// Says that there is no back end for this system.
    pub fn start(
        _program: &Path,
        _back_end: BackEnd,
        _confinement: Confinement,
        _leavings: Option<&Path>,
    ) -> Result<Self, SandboxError> {
        Err(SandboxError::Unsupported("only Linux has a back end so far".to_owned()))
    }

    /// What confines it.
    pub fn back_end(&self) -> BackEnd {
        match self.0 {}
    }

    /// The socket on which a proxy is to listen.
    pub fn listener(&self) -> Option<TcpListener> {
        match self.0 {}
    }

    /// The directories that commands have for themselves.
    pub fn private(&self) -> &PrivateDirectories {
        match self.0 {}
    }

    /// Starts a command.
    pub fn run(&self, _command: ConfinedCommand) -> Result<UnsupportedHandle, SandboxError> {
        match self.0 {}
    }

    /// Starts a command and has `then` called when it has ended.
    pub fn run_then(
        &self,
        _command: ConfinedCommand,
        _then: impl FnOnce(Result<CommandExit, SandboxError>) + Send + 'static,
    ) -> Result<u64, SandboxError> {
        match self.0 {}
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        match self.0 {}
    }

    /// Ends everything.
    pub fn end(&self) {
        match self.0 {}
    }

    /// Ends a command.
    pub fn kill(&self, _id: u64) -> Result<(), SandboxError> {
        match self.0 {}
    }
}

/// There is nothing to be the helper of.
pub fn serve() -> u8 {
    1
}

/// Nothing is ever left behind.
pub fn sweep(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Nothing is given back.
pub fn forget_code() {}
