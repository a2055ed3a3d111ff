//! A helper that is started before it is known how it confines itself. Meanwhile it joins its control groups, which
//! makes the system wait for a moment in which no process is created: longer than all the rest of a set-up.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::groups::{self, ControlGroups, GroupCandidate};
use super::wire::send;
use crate::protocol::HelperRequest;
use crate::{HELPER, ResourceLimits};

/// The reserve of this process.
static RESERVE: Mutex<ReserveState> = Mutex::new(ReserveState::Open);

enum ReserveState {
    /// Nothing was reserved, and no sandbox was started.
    Open,
    Waiting(ReservedHelper),
    /// A sandbox was started: a helper that starts now is not the first one.
    Closed,
}

/// A helper that waits for its confinement.
pub(super) struct ReservedHelper {
    program: PathBuf,
    pub(super) child: Child,
    pub(super) socket: UnixStream,
    pub(super) groups: ControlGroups,
    candidates: Vec<GroupCandidate>,
}

/// Ends the reserved helper on drop, unless a sandbox took it.
#[derive(Debug)]
pub struct HelperReserve(());

/// Starts the helper of the first sandbox of this process. A failure is none: that sandbox starts its own.
pub fn reserve(program: &Path) -> HelperReserve {
    let mut state = RESERVE.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*state, ReserveState::Open)
        && let Ok(helper) = ReservedHelper::start(program)
    {
        *state = ReserveState::Waiting(helper);
    }
    HelperReserve(())
}

/// Returns the reserved helper for a sandbox with these limits. After that there is none.
pub(super) fn take(program: &Path, limits: &ResourceLimits) -> Option<ReservedHelper> {
    let helper = replaced(ReserveState::Closed)?;
    let fits = helper.program == program && groups::limit(&helper.candidates, limits).is_ok();
    if fits {
        return Some(helper);
    }
    helper.end();
    None
}

/// Changes the state; returns the helper that waited.
fn replaced(by: ReserveState) -> Option<ReservedHelper> {
    let mut state = RESERVE.lock().unwrap_or_else(PoisonError::into_inner);
    match std::mem::replace(&mut *state, by) {
        ReserveState::Waiting(helper) => Some(helper),
        ReserveState::Open | ReserveState::Closed => None,
    }
}

/// Starts a helper, and returns the socket that controls it.
pub(super) fn helper(program: &Path) -> io::Result<(Child, UnixStream)> {
    let (socket, theirs) = UnixStream::pair()?;
    let child = Command::new(program)
        .arg(HELPER)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((child, socket))
}

impl ReservedHelper {
    fn start(program: &Path) -> io::Result<Self> {
        let (candidates, groups) = groups::made(groups::candidates(), &ResourceLimits::default());
        let started = helper(program).and_then(|(child, socket)| {
            send(&socket, &HelperRequest::Join(groups.directories.clone()), &[])?;
            Ok((child, socket))
        });
        match started {
            Ok((child, socket)) => {
                Ok(Self { program: program.to_owned(), child, socket, groups, candidates })
            }
            Err(error) => {
                groups.remove();
                Err(error)
            }
        }
    }

    /// Ends it before it was confined.
    pub(super) fn end(self) {
        let Self { mut child, socket, groups, .. } = self;
        // The helper ends with its socket.
        drop(socket);
        let _ = child.wait();
        groups.remove();
    }
}

impl Drop for HelperReserve {
    fn drop(&mut self) {
        replaced(ReserveState::Closed).into_iter().for_each(ReservedHelper::end);
    }
}
