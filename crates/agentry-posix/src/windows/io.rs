//! Error numbers, and reads and writes without a buffer.

use std::io;

use super::fd::HeldHandle;

/// An error number of Windows, under the name of its counterpart on Unix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(i32);

impl Errno {
    /// `ERROR_FILE_NOT_FOUND`.
    pub const NOENT: Self = Self(2);
    /// `ERROR_ACCESS_DENIED`.
    pub const ACCESS: Self = Self(5);
    /// `ERROR_INVALID_PARAMETER`.
    pub const INVAL: Self = Self(87);
    /// `ERROR_CALL_NOT_IMPLEMENTED`.
    pub const NOSYS: Self = Self(120);
    /// `ERROR_ALREADY_EXISTS`.
    pub const EXIST: Self = Self(183);
    /// `ERROR_DIRECTORY`.
    pub const NOTDIR: Self = Self(267);
    /// `ERROR_OPERATION_ABORTED`.
    pub const INTR: Self = Self(995);
    /// `ERROR_PRIVILEGE_NOT_HELD`.
    pub const PERM: Self = Self(1314);
    /// `ERROR_CANT_RESOLVE_FILENAME`.
    pub const LOOP: Self = Self(1921);
    /// `ERROR_GEN_FAILURE`.
    const OTHER: Self = Self(31);

    /// The error with this number.
    pub fn from_raw_os_error(number: i32) -> Self {
        Self::from(io::Error::from_raw_os_error(number))
    }

    /// Its number.
    pub fn raw_os_error(self) -> i32 {
        self.0
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Windows has several numbers for each of these.
            io::ErrorKind::NotFound => Self::NOENT,
            io::ErrorKind::AlreadyExists => Self::EXIST,
            io::ErrorKind::NotADirectory => Self::NOTDIR,
            _ => error.raw_os_error().map_or(Self::OTHER, Self),
        }
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

/// Reads what is there.
pub fn read<F: HeldHandle>(from: F, buffer: &mut [u8]) -> Result<usize, Errno> {
    from.read_some(buffer).map_err(Errno::from)
}

/// Writes as much as possible at once.
pub fn write<F: HeldHandle>(to: F, bytes: &[u8]) -> Result<usize, Errno> {
    to.write_some(bytes).map_err(Errno::from)
}
