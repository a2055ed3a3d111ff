//! The program's side: starts the helper, tells it what to run, and hears how that ended.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::groups;
use super::wire::{receive, send};
use crate::protocol::{Reply, Request, Start};
use crate::{BackEnd, Confinement, Error, HELPER};

/// A confined world in which commands can be run. When it is dropped, everything in it ends.
#[derive(Debug)]
pub struct Sandbox {
    back_end: BackEnd,
    helper: Child,
    socket: UnixStream,
    listener: Option<TcpListener>,
    waiting: Arc<Mutex<Waiting>>,
    next: u64,
    _placeholders: Placeholders,
}

/// Who waits for the end of which command; nothing once the helper is gone.
type Waiting = Option<HashMap<u64, Sender<Result<Ended, String>>>>;

/// A command to run.
#[derive(Debug)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Where its input comes from.
    pub input: OwnedFd,
    /// Where its output goes.
    pub output: OwnedFd,
    /// Where its complaints go.
    pub errors: OwnedFd,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// A command that was started.
#[derive(Debug)]
pub struct Running {
    /// By which it can be killed.
    pub id: u64,
    ended: Receiver<Result<Ended, String>>,
}

impl Running {
    /// Waits for its end.
    pub fn wait(self) -> Result<Ended, Error> {
        match self.ended.recv() {
            Ok(Ok(ended)) => Ok(ended),
            Ok(Err(why)) => Err(Error::Io(io::Error::other(why))),
            Err(_) => Err(Error::Gone),
        }
    }
}

impl Sandbox {
    /// Starts a world with this back end. `program` calls [`crate::serve`] when its first argument is
    /// [`HELPER`]; mostly it is the one that is running.
    pub fn start(
        program: &Path,
        back_end: BackEnd,
        confinement: Confinement,
    ) -> Result<Self, Error> {
        let (socket, theirs) = UnixStream::pair()?;
        let placeholders = Placeholders::make(&confinement)?;
        let helper = std::process::Command::new(program)
            .arg(HELPER)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        send(&socket, &Request::Confine(back_end, Box::new(confinement)), &[])?;
        let listener = match receive(&socket)? {
            Some((Reply::Ready, descriptors)) => {
                descriptors.into_iter().next().map(TcpListener::from)
            }
            Some((Reply::Failed(why), _)) => return Err(Error::SetUp(why)),
            Some(_) | None => return Err(Error::Gone),
        };
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        listen(socket.try_clone()?, Arc::clone(&waiting));
        let next = 0;
        Ok(Self { back_end, helper, socket, listener, waiting, next, _placeholders: placeholders })
    }

    /// What confines it.
    pub fn back_end(&self) -> BackEnd {
        self.back_end
    }

    /// The socket on which a proxy is to listen, inside; once.
    pub fn listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Starts a command.
    pub fn run(&mut self, command: Command) -> Result<Running, Error> {
        let Command { argv, directory, env, input, output, errors } = command;
        self.next += 1;
        let id = self.next;
        let (sender, ended) = channel();
        match &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(waiting) => drop(waiting.insert(id, sender)),
            None => return Err(Error::Gone),
        }
        let start = Request::Start(Start { id, argv, directory, env });
        send(&self.socket, &start, &[input.as_fd(), output.as_fd(), errors.as_fd()])?;
        Ok(Running { id, ended })
    }

    /// Ends a command and its process group.
    pub fn kill(&self, id: u64) -> Result<(), Error> {
        Ok(send(&self.socket, &Request::Kill(id), &[])?)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.helper.wait();
        groups::remove(self.helper.id());
    }
}

/// Tells who waits what the helper says, until it says nothing more.
fn listen(socket: UnixStream, waiting: Arc<Mutex<Waiting>>) {
    std::thread::spawn(move || {
        while let Ok(Some((reply, _))) = receive::<Reply>(&socket) {
            let (id, result) = match reply {
                Reply::Ended { id, code, signal } => (id, Ok(Ended { code, signal })),
                Reply::NotStarted(id, why) => (id, Err(why)),
                Reply::Ready | Reply::Failed(_) => continue,
            };
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sender) = waiting.as_mut().and_then(|waiting| waiting.remove(&id)) {
                let _ = sender.send(result);
            }
        }
        waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    });
}

/// Empty files that stand where something protected does not exist yet, so that nobody makes it:
/// a mount needs something to lie on. They go when the world goes.
#[derive(Debug, Default)]
struct Placeholders(Vec<(PathBuf, u64)>);

impl Placeholders {
    fn make(confinement: &Confinement) -> io::Result<Self> {
        let mut made = Self::default();
        let protected = confinement.read_only.iter().chain(&confinement.hidden);
        let writable =
            |path: &&PathBuf| confinement.writes.iter().any(|root| path.starts_with(root));
        for path in protected.filter(writable) {
            if fs::symlink_metadata(path).is_err() && path.parent().is_some_and(Path::is_dir) {
                let file = fs::File::create_new(path)?;
                made.0.push((path.clone(), file.metadata()?.ino()));
            }
        }
        Ok(made)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (path, number) in &self.0 {
            let same = fs::symlink_metadata(path)
                .is_ok_and(|it| it.is_file() && it.len() == 0 && it.ino() == *number);
            if same {
                let _ = fs::remove_file(path);
            }
        }
    }
}
