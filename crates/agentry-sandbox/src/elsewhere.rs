//! What stands for a sandbox on systems that have none: it never starts, and says so.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::path::Path;

use crate::{BackEnd, Command, Confinement, Ended, Error, Private};

/// A confined world. There is none on this system.
#[derive(Debug)]
pub struct Sandbox(Infallible);

/// A command that was started.
#[derive(Debug)]
pub struct Running {
    /// By which it can be killed.
    pub id: u64,
    never: Infallible,
}

impl Running {
    /// Waits for its end.
    pub fn wait(self) -> Result<Ended, Error> {
        match self.never {}
    }
}

impl Sandbox {
    /// Says that there is no back end for this system.
    pub fn start(
        _program: &Path,
        _back_end: BackEnd,
        _confinement: Confinement,
        _leavings: Option<&Path>,
    ) -> Result<Self, Error> {
        Err(Error::Unsupported("only Linux has a back end so far".to_owned()))
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
    pub fn private(&self) -> &Private {
        match self.0 {}
    }

    /// Starts a command.
    pub fn run(&self, _command: Command) -> Result<Running, Error> {
        match self.0 {}
    }

    /// Starts a command and has `then` called when it has ended.
    pub fn run_then(
        &self,
        _command: Command,
        _then: impl FnOnce(Result<Ended, Error>) + Send + 'static,
    ) -> Result<u64, Error> {
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
    pub fn kill(&self, _id: u64) -> Result<(), Error> {
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
