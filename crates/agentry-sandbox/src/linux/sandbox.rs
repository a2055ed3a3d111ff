//! The side of the program: starts the helper, sends it commands, and receives their results.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::groups::{ControlGroups, WantedGroups};
use super::namespaces;
use super::prepare::{PreparedSandbox, prepare};
use super::reserve::{self, ReservedHelper, helper};
use super::wire::{receive, send};
use crate::protocol::{HelperReply, HelperRequest, HelperSetup, StartRequest};
use crate::{BackEnd, CommandExit, ConfinedCommand, Confinement, PrivateDirectories, SandboxError};

/// The time limit for the helper to start a command.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest wait for the last message of a helper, in milliseconds.
const LAST_MESSAGE: u32 = 1_000;

/// How often the set-up is tried.
const ATTEMPTS: usize = 4;

/// A sandbox in which commands can be run. On drop, all its processes end.
pub struct Sandbox {
    back_end: BackEnd,
    helper: Child,
    /// Locked for one message at a time.
    socket: Mutex<UnixStream>,
    listener: Mutex<Option<TcpListener>>,
    waiting: Arc<Mutex<WaitingCommands>>,
    next: AtomicU64,
    prepared: PreparedSandbox,
}

/// Called when a command has ended.
type ExitCallback = Box<dyn FnOnce(Result<CommandExit, SandboxError>) + Send>;

/// The caller that waits for a command.
struct CommandWaiter {
    /// Notified when the command was started, or could not be started.
    started: Option<Sender<()>>,
    then: ExitCallback,
}

/// The waiting callers, by command.
enum WaitingCommands {
    For(HashMap<u64, CommandWaiter>),
    /// The helper has ended. Holds the replaced path, if that was the reason.
    Over(Option<PathBuf>),
}

impl WaitingCommands {
    fn remove(&mut self, id: u64) -> Option<CommandWaiter> {
        match self {
            Self::For(waiting) => waiting.remove(&id),
            Self::Over(_) => None,
        }
    }

    /// Notifies the caller that a command was started.
    fn begin(&mut self, id: u64) {
        if let Self::For(waiting) = self
            && let Some(started) = waiting.get_mut(&id).and_then(|it| it.started.take())
        {
            let _ = started.send(());
        }
    }

    /// Notifies every caller that the sandbox has ended.
    fn end(waiting: &Mutex<Self>, replaced: Option<&PathBuf>) {
        let mut locked = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Self::For(all) = &mut *locked {
            let all = std::mem::take(all);
            *locked = Self::Over(replaced.cloned());
            drop(locked);
            // A caller that still waits for the start notices that its channel is closed.
            let begun = all.into_values().filter(|waiter| waiter.started.is_none());
            begun.for_each(|waiter| (waiter.then)(Err(over(replaced))));
        }
    }
}

/// The error for a sandbox that has ended.
fn over(replaced: Option<&PathBuf>) -> SandboxError {
    replaced.map_or(SandboxError::Gone, |path| SandboxError::Replaced(path.clone()))
}

/// A command that was started.
#[derive(Debug)]
pub struct CommandHandle {
    /// The id with which it can be killed.
    pub id: u64,
    ended: Receiver<Result<CommandExit, SandboxError>>,
}

impl CommandHandle {
    /// Waits until the command has ended.
    pub fn wait(self) -> Result<CommandExit, SandboxError> {
        self.ended.recv().unwrap_or(Err(SandboxError::Gone))
    }
}

impl Sandbox {
    /// Starts a sandbox with this back end. `program` must call [`crate::serve`] when its first argument
    /// is [`HELPER`](crate::HELPER); usually it is the running program. The directory `leavings` records what must be
    /// removed even if this process is killed; [`crate::sweep`] and every start read it. Without it,
    /// paths that do not exist yet cannot be protected.
    pub fn start(
        program: &Path,
        back_end: BackEnd,
        confinement: Confinement,
        leavings: Option<&Path>,
    ) -> Result<Self, SandboxError> {
        for _ in 1..ATTEMPTS {
            match Self::start_once(program, back_end, confinement.clone(), leavings) {
                // Other programs remove files: one of them may go between the look at it and its mount. A reserved
                // helper may have been killed while it waited.
                Err(SandboxError::SetUp(_) | SandboxError::Gone) => {}
                done => return done,
            }
        }
        Self::start_once(program, back_end, confinement, leavings)
    }

    fn start_once(
        program: &Path,
        back_end: BackEnd,
        confinement: Confinement,
        leavings: Option<&Path>,
    ) -> Result<Self, SandboxError> {
        let reserved = reserve::take(program, &confinement.limits);
        let wanted = match &reserved {
            Some(reserved) => WantedGroups::Joined(reserved.groups.clone()),
            None => WantedGroups::New,
        };
        match (prepare(back_end, confinement, leavings, wanted), reserved) {
            (Ok((prepared, confinement)), Some(reserved)) => {
                let helper = (reserved.child, reserved.socket);
                Self::prepared(helper, back_end, confinement, prepared)
            }
            (Ok((prepared, confinement)), None) => {
                Self::prepared(helper(program)?, back_end, confinement, prepared)
            }
            (Err(error), reserved) => {
                reserved.into_iter().for_each(ReservedHelper::end);
                Err(error)
            }
        }
    }

    /// Starts a sandbox only to see whether it works. Joining a control group takes longer than all the
    /// rest, so it is skipped if processes can be limited without one.
    pub(crate) fn tried(
        program: &Path,
        back_end: BackEnd,
        confinement: Confinement,
    ) -> Result<Self, SandboxError> {
        let counted = rustix::process::getuid().is_root() && !namespaces::numbers_are_own();
        let wanted = if counted { WantedGroups::New } else { WantedGroups::Nothing };
        let (prepared, confinement) = prepare(back_end, confinement, None, wanted)?;
        Self::prepared(helper(program)?, back_end, confinement, prepared)
    }

    fn prepared(
        (helper, socket): (Child, UnixStream),
        back_end: BackEnd,
        confinement: Confinement,
        prepared: PreparedSandbox,
    ) -> Result<Self, SandboxError> {
        let ControlGroups { directories, counts_processes } = &prepared.groups;
        let (groups, counts_processes) = (directories.clone(), *counts_processes);
        let becoming = HelperSetup {
            back_end,
            confinement,
            stand_ins: prepared.stand_ins.clone(),
            unseen_by_git: prepared.unseen_by_git.clone(),
            groups,
            counts_processes,
        };
        let mut sandbox = Self {
            back_end,
            helper,
            socket: Mutex::new(socket),
            listener: Mutex::new(None),
            waiting: Arc::new(Mutex::new(WaitingCommands::For(HashMap::new()))),
            next: AtomicU64::new(0),
            prepared,
        };
        sandbox.set_up(becoming)?;
        Ok(sandbox)
    }

    /// Sends the confinement to the helper, and waits until it is applied.
    fn set_up(&mut self, becoming: HelperSetup) -> Result<(), SandboxError> {
        let socket = self.socket.get_mut().unwrap_or_else(PoisonError::into_inner);
        send(socket, &HelperRequest::Confine(Box::new(becoming)), &[])?;
        let listener = match receive(socket)? {
            Some((HelperReply::Ready, descriptors)) => {
                descriptors.into_iter().next().map(TcpListener::from)
            }
            Some((HelperReply::Failed(why), _)) => return Err(SandboxError::SetUp(why)),
            Some(_) | None => return Err(SandboxError::Gone),
        };
        listen(socket.try_clone()?, Arc::clone(&self.waiting));
        self.listener = Mutex::new(listener);
        Ok(())
    }

    /// The back end that confines it.
    pub fn back_end(&self) -> BackEnd {
        self.back_end
    }

    /// The listener for the proxy, inside the sandbox. Returned only once.
    pub fn listener(&self) -> Option<TcpListener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The private directories of commands.
    pub fn private(&self) -> &PrivateDirectories {
        &self.prepared.private
    }

    /// Starts a command.
    pub fn run(&self, command: ConfinedCommand) -> Result<CommandHandle, SandboxError> {
        let (sender, ended) = channel();
        let id = self.run_then(command, move |result| drop(sender.send(result)))?;
        Ok(CommandHandle { id, ended })
    }

    /// Starts a command, and calls `then` when it has ended or could not be started. Returns the id with
    /// which it can be killed. If the sandbox ends before the start, that is an error and `then` is not
    /// called: the command can be started in another sandbox.
    pub fn run_then(
        &self,
        command: ConfinedCommand,
        then: impl FnOnce(Result<CommandExit, SandboxError>) + Send + 'static,
    ) -> Result<u64, SandboxError> {
        let ConfinedCommand { argv, directory, env, input, output, errors } = command;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, started) = channel();
        match &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            WaitingCommands::For(waiting) => {
                let waiter = CommandWaiter { started: Some(sender), then: Box::new(then) };
                waiting.insert(id, waiter);
            }
            WaitingCommands::Over(replaced) => return Err(over(replaced.as_ref())),
        }
        let start = HelperRequest::Start(StartRequest { id, argv, directory, env });
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = send(&socket, &start, &[input.as_fd(), output.as_fd(), errors.as_fd()]);
        drop(socket);
        sent.map_err(|error| self.unsent(id, error))?;
        // A helper that was stopped by a signal does not reply, so the wait has a limit.
        started
            .recv_timeout(PATIENCE)
            .map_err(|_| self.unsent(id, io::ErrorKind::BrokenPipe.into()))?;
        Ok(id)
    }

    /// The error for a command that the helper did not receive or did not start.
    fn unsent(&self, id: u64, error: io::Error) -> SandboxError {
        let is_closed =
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
        // The last message of a helper that has ended may still be unread; it says why.
        for _ in 0..LAST_MESSAGE {
            if !is_closed || self.is_over() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        drop(waiting.remove(id));
        match &*waiting {
            WaitingCommands::Over(replaced) => over(replaced.as_ref()),
            WaitingCommands::For(_) if is_closed => SandboxError::Gone,
            WaitingCommands::For(_) => error.into(),
        }
    }

    /// Whether the sandbox has ended, so that no command can be started.
    pub fn is_over(&self) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*waiting, WaitingCommands::Over(_))
    }

    /// Ends all processes and waits for them. No command can be started afterwards.
    pub fn end(&self) {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = socket.shutdown(std::net::Shutdown::Both);
        let Ok(helper) = i32::try_from(self.helper.id()) else { return };
        // NOWAIT leaves the exit status for `wait` in `drop`.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if let Some(helper) = Pid::from_raw(helper) {
            let _ = waitid(WaitId::Pid(helper), options);
        }
    }

    /// Ends a command and all processes that it started.
    pub fn kill(&self, id: u64) -> Result<(), SandboxError> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(send(&socket, &HelperRequest::Kill(id), &[])?)
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { back_end, prepared, .. } = self;
        f.debug_struct("Sandbox").field("back_end", back_end).field("prepared", prepared).finish()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let socket = self.socket.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = socket.shutdown(std::net::Shutdown::Both);
        let _ = self.helper.wait();
    }
}

/// Passes replies of the helper to the waiting callers until the socket is closed.
fn listen(socket: UnixStream, waiting: Arc<Mutex<WaitingCommands>>) {
    std::thread::spawn(move || {
        while let Ok(Some((reply, _))) = receive::<HelperReply>(&socket) {
            let (id, result) = match reply {
                HelperReply::Ended { id, code, signal } => (id, Ok(CommandExit { code, signal })),
                HelperReply::NotStarted(id, why) => {
                    (id, Err(SandboxError::Io(io::Error::other(why))))
                }
                HelperReply::Replaced(path) => {
                    WaitingCommands::end(&waiting, Some(&path));
                    continue;
                }
                HelperReply::Began(id) => {
                    waiting.lock().unwrap_or_else(PoisonError::into_inner).begin(id);
                    continue;
                }
                HelperReply::Ready | HelperReply::Failed(_) => continue,
            };
            // The lock is released before `then`, which may start the next command.
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let waiter = waiting.remove(id);
            drop(waiting);
            if let Some(CommandWaiter { started, then }) = waiter {
                if let Some(started) = started {
                    let _ = started.send(());
                }
                then(result);
            }
        }
        WaitingCommands::end(&waiting, None);
    });
}
