//! Processes. Windows has neither users by number nor groups of processes.

use std::num::NonZeroI32;

use super::io::Errno;

/// A process.
#[derive(Debug, Clone, Copy)]
pub struct Pid(NonZeroI32);

impl Pid {
    /// The process with this number.
    pub fn from_raw(number: i32) -> Option<Self> {
        NonZeroI32::new(number).map(Self)
    }
}

pub use ProcessSignal as Signal;

/// How a process is ended. Windows knows one way.
#[derive(Debug, Clone, Copy)]
pub enum ProcessSignal {
    /// At once.
    KILL,
    /// As the process decides; here at once as well.
    TERM,
}

/// A user. All files belong to the one that is logged in.
#[derive(Debug, Clone, Copy)]
pub struct Uid(u32);

impl Uid {
    /// The user with this number.
    pub fn from_raw(number: u32) -> Self {
        Self(number)
    }

    /// Their number.
    pub fn as_raw(self) -> u32 {
        self.0
    }
}

/// The user of this process.
pub fn getuid() -> Uid {
    Uid(0)
}

/// The user of this process.
pub fn geteuid() -> Uid {
    Uid(0)
}

/// Ends a process.
pub fn kill_process(process: Pid, _: ProcessSignal) -> Result<(), Errno> {
    taskkill(&["/F", "/PID"], process)
}

/// Ends a process and those that it started.
pub fn kill_process_group(group: Pid, _: ProcessSignal) -> Result<(), Errno> {
    taskkill(&["/F", "/T", "/PID"], group)
}

fn taskkill(options: &[&str], process: Pid) -> Result<(), Errno> {
    let mut command = std::process::Command::new("taskkill");
    command.args(options).arg(process.0.to_string());
    let output = command.output().map_err(Errno::from)?;
    if output.status.success() { Ok(()) } else { Err(Errno::NOENT) }
}
