//! Waiting for input. Windows has no such call for consoles and pipes; the callers treat the error as the end of input.

use super::io::Errno;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollFlags(u8);

impl PollFlags {
    /// Input.
    pub const IN: Self = Self(1);
    /// The other end is closed.
    pub const HUP: Self = Self(2);
    /// An error.
    pub const ERR: Self = Self(4);

    /// Whether nothing was reported.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether one of `others` was reported.
    pub fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl std::ops::BitOr for PollFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A handle to wait for.
#[derive(Debug, Clone)]
pub struct PollFd<'a>(std::marker::PhantomData<&'a ()>);

impl<'a> PollFd<'a> {
    /// A handle and what to wait for.
    pub fn new<T>(_: &'a T, _: PollFlags) -> Self {
        Self(std::marker::PhantomData)
    }

    /// What was reported.
    pub fn revents(&self) -> PollFlags {
        PollFlags(0)
    }
}

/// The longest time to wait.
#[derive(Debug, Clone, Copy)]
pub struct Timespec {
    /// Seconds.
    pub tv_sec: i64,
    /// Nanoseconds beside them.
    pub tv_nsec: i64,
}

/// Fails.
pub fn poll(_: &mut [PollFd<'_>], _: Option<&Timespec>) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}
