//! The streams of a worker, without buffers: a descriptor that is waited for must hold what comes next.

use std::io::{self, Read, Write};
use std::time::Duration;

use agentry_posix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::protocol::{self, PoolMessage};

struct RawInput;
struct RawOutput;

impl Read for RawInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(agentry_posix::io::read(agentry_posix::stdio::stdin(), buffer)?)
    }
}

impl Write for RawOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(agentry_posix::io::write(agentry_posix::stdio::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends a message.
pub(super) fn send<T: Serialize>(message: &T, bytes: &[u8]) -> io::Result<()> {
    protocol::write(RawOutput, message, bytes)
}

/// Receives the next message, or `None` if the pool is gone.
pub(super) fn receive() -> io::Result<Option<(PoolMessage, Vec<u8>)>> {
    protocol::read(RawInput)
}

/// Waits for a message. Returns whether one came in time.
pub(super) fn wait(time: Option<Duration>) -> io::Result<bool> {
    let time = time.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    let input = agentry_posix::stdio::stdin();
    let mut ready = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut ready, time.as_ref()) {
        Err(agentry_posix::io::Errno::INTR) => Ok(false),
        other => Ok(other? > 0),
    }
}
