//! The helper: becomes confined, then starts the commands of a run and says how they ended.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};

use super::system;
use super::wire::{receive, send};
use super::{filter, landlocked, namespaces};
use crate::protocol::{Reply, Request, Start};
use crate::{BackEnd, Confinement, Network};

/// Runs the helper and gives its exit code. The control socket is its standard input. To be called
/// before anything else, while the program has one thread.
pub fn serve() -> u8 {
    match control().and_then(|socket| confined(&socket)) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// The control socket, out of the reach of commands.
fn control() -> io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing)?;
    Ok(UnixStream::from(socket))
}

fn confined(socket: &UnixStream) -> io::Result<()> {
    let Some((Request::Confine(back_end, confinement), _)) = receive(socket)? else {
        return Err(io::Error::other("the first message must say how to confine"));
    };
    match become_confined(back_end, &confinement) {
        Ok(listener) => {
            let descriptors: Vec<BorrowedFd<'_>> = listener.iter().map(|it| it.as_fd()).collect();
            send(socket, &Reply::Ready, &descriptors)?;
        }
        Err(error) => return send(socket, &Reply::Failed(error.to_string()), &[]),
    }
    Helper { socket, running: HashMap::new() }.work()?;
    if back_end == BackEnd::Landlock {
        end_all();
    }
    Ok(())
}

/// Does what cannot be undone. With a proxy, gives the socket that it listens on.
fn become_confined(
    back_end: BackEnd,
    confinement: &Confinement,
) -> io::Result<Option<TcpListener>> {
    let Confinement { reads, writes, network, limits, .. } = confinement;
    let (mut reads, mut writes) = (reads.clone(), writes.clone());
    match back_end {
        BackEnd::Namespaces => {
            namespaces::enter(confinement)?;
            // The tree holds nothing but what may be read.
            reads = vec!["/".into()];
            writes.extend(["/tmp", "/var/tmp", "/run", "/dev"].map(PathBuf::from));
        }
        BackEnd::Landlock => {
            system::adopt_orphans()?;
            writes.push("/dev/null".into());
            system::limit(libc::RLIMIT_NPROC, limits.processes.into())?;
        }
    }
    let listener = match network {
        Network::Proxy(port) => Some(TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?),
        Network::Off | Network::Full => None,
    };
    system::limit(libc::RLIMIT_FSIZE, limits.file_size)?;
    system::limit(libc::RLIMIT_DATA, limits.memory)?;
    system::limit(libc::RLIMIT_CORE, 0)?;
    system::drop_privileges()?;
    landlocked::apply(&reads, &writes)?;
    filter::apply(network)?;
    Ok(listener)
}

/// Ends every process that was started from here, orphans too. Bounded: what keeps forking is met by
/// the limit on processes first.
fn end_all() {
    for _ in 0..1_000 {
        let children = std::fs::read_to_string("/proc/self/task/self/children").unwrap_or_default();
        let pids: Vec<libc::pid_t> =
            children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        pids.iter().for_each(|pid| system::kill(*pid, libc::SIGKILL));
        if !matches!(system::reap(true), Ok(Some(_))) {
            break;
        }
    }
}

struct Helper<'a> {
    socket: &'a UnixStream,
    /// The numbers of running commands, by process.
    running: HashMap<libc::pid_t, u64>,
}

impl Helper<'_> {
    /// Does what it is told until nobody is there to tell it anything.
    fn work(&mut self) -> io::Result<()> {
        let signals = system::child_signals()?;
        loop {
            let mut ready =
                [PollFd::new(self.socket, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
            match poll(&mut ready, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map(drop)?,
            }
            let [told, ended] = ready.map(|it| !it.revents().is_empty());
            if ended {
                let mut buffer = [0; 1024];
                let _ = rustix::io::read(&signals, &mut buffer);
                self.reap()?;
            }
            if told {
                match receive(self.socket)? {
                    Some((request, descriptors)) => self.answer(request, descriptors)?,
                    None => return Ok(()),
                }
            }
        }
    }

    fn answer(&mut self, request: Request, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match request {
            Request::Start(start) => {
                let id = start.id;
                match begin(start, descriptors) {
                    Ok(pid) => drop(self.running.insert(pid, id)),
                    Err(error) => {
                        send(self.socket, &Reply::NotStarted(id, error.to_string()), &[])?;
                    }
                }
            }
            Request::Kill(id) => {
                let found = self.running.iter().find(|(_, other)| **other == id);
                if let Some((pid, _)) = found {
                    system::kill_group(*pid, libc::SIGKILL);
                }
            }
            Request::Confine(..) => {}
        }
        Ok(())
    }

    fn reap(&mut self) -> io::Result<()> {
        while let Ok(Some((pid, code, signal))) = system::reap(false) {
            // An orphan of some command has no number.
            if let Some(id) = self.running.remove(&pid) {
                send(self.socket, &Reply::Ended { id, code, signal }, &[])?;
            }
        }
        Ok(())
    }
}

/// Starts a command in a process group of its own.
fn begin(start: Start, descriptors: Vec<OwnedFd>) -> io::Result<libc::pid_t> {
    let Start { id: _, argv, directory, env } = start;
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
    let mut streams = descriptors.into_iter();
    let mut stream = || streams.next().map_or_else(Stdio::null, Stdio::from);
    let (input, output, errors) = (stream(), stream(), stream());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env_clear().envs(env);
    command.stdin(input).stdout(output).stderr(errors).process_group(0);
    system::start_unblocked(&mut command);
    let child = command.spawn()?;
    Ok(child.id().cast_signed())
}
