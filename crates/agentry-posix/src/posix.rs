//! Unix: everything is there already, and is only named here.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub use std::os::unix;

pub use rustix::{event, fd, fs, io, process, stdio};
pub use tokio::net::unix::pipe;
pub use tokio::signal::unix as signal;

/// Sockets in the file system.
pub mod socket {
    pub use std::os::unix::net::UnixStream;

    pub use tokio::net::UnixListener;
}

/// The terminal of this process.
pub mod terminal {
    use std::io;

    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetwinsize, tcsetattr,
    };

    /// The settings of a terminal at one moment.
    #[derive(Clone)]
    pub struct TerminalSettings(Termios);

    impl TerminalSettings {
        /// Those of the terminal at standard input; `None` if there is none.
        pub fn current() -> Option<Self> {
            tcgetattr(io::stdin()).ok().map(Self)
        }

        /// Sets them again. Returns whether that succeeded.
        pub fn restore(&self) -> bool {
            tcsetattr(io::stdin(), OptionalActions::Now, &self.0).is_ok()
        }
    }

    /// Turns off line editing and the echo of keys, and lets a read return at once.
    pub fn read_single_keys() {
        let Ok(mut modes) = tcgetattr(io::stdin()) else { return };
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }

    /// Discards the keys that were pressed before now and not read yet.
    pub fn discard_keys() {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }

    /// The columns and rows of the terminal at standard output, if they are known.
    pub fn size() -> Option<(u16, u16)> {
        tcgetwinsize(io::stdout()).ok().map(|size| (size.ws_col, size.ws_row))
    }
}

/// The file that is empty and takes everything.
pub const NULL_DEVICE: &str = "/dev/null";

/// The number of files that this process may have open, raised to `wanted` as far as it is allowed.
pub fn raise_open_files(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let allowed = limit.maximum.unwrap_or(wanted).min(wanted);
    let now = limit.current.unwrap_or(u64::MAX);
    if now >= allowed {
        return now;
    }
    let raised = Rlimit { current: Some(allowed), maximum: limit.maximum };
    if setrlimit(Resource::Nofile, raised).is_ok() { allowed } else { now }
}

/// A path to a held directory that works even after a replacement.
#[cfg(not(target_vendor = "apple"))]
pub fn held_path(held: &fd::OwnedFd) -> PathBuf {
    use std::os::fd::AsRawFd as _;

    Path::new("/proc/self/fd").join(held.as_raw_fd().to_string())
}

/// The path of a held directory.
#[cfg(target_vendor = "apple")]
pub fn held_path(held: &fd::OwnedFd) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;

    let path = fs::getpath(held).map(std::ffi::CString::into_bytes).unwrap_or_default();
    std::ffi::OsString::from_vec(path).into()
}

/// A path as policies write it: parts are separated by `/`.
pub fn slashed(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}
