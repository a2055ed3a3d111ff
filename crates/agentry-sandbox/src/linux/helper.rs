//! The helper process: confines itself, then starts the commands of a run and reports their ends.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};

use super::code::{self, forget_code};
use super::watch::ProtectiveMounts;
use super::wire::{receive, send};
use super::{filter, git, groups, landlock_rules, namespaces, supervisor, system, user};
use crate::protocol::{HelperReply, HelperRequest, HelperSetup, StartRequest};
use crate::{BackEnd, Confinement, NetworkAccess};

/// Directories that every run with its own file tree may write.
const OWN: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev"];

/// Runs the helper and returns its exit code. The control socket is standard input. Must be called
/// before anything else, while the program has one thread.
pub fn serve() -> u8 {
    match control().and_then(|socket| confined(&socket)) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// Moves the control socket away from standard input, which commands would inherit. Closes all other
/// descriptors.
fn control() -> io::Result<UnixStream> {
    system::close_from(3)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(nothing)?;
    Ok(UnixStream::from(socket))
}

fn confined(socket: &UnixStream) -> io::Result<()> {
    system::own_session();
    // Now, while the machine's `/proc` is visible.
    code::find();
    let mut first = receive(socket)?;
    let mut joined = false;
    if let Some((HelperRequest::Join(groups), _)) = &first {
        joined = groups::join(groups).is_ok();
        first = receive(socket)?;
    }
    let Some((HelperRequest::Confine(becoming), _)) = first else {
        return Err(io::Error::other("the first message must say how to confine"));
    };
    // A process that can create a group is not always allowed to move into it.
    let joined = joined || groups::join(&becoming.groups).is_ok();
    let counted = joined && becoming.counts_processes;
    let (listener, mounts) = match become_confined(socket, &becoming, counted) {
        Ok(done) => done,
        Err(error) => return send(socket, &HelperReply::Failed(error.to_string()), &[]),
    };
    let descriptors: Vec<BorrowedFd<'_>> = listener.iter().map(|it| it.as_fd()).collect();
    send(socket, &HelperReply::Ready, &descriptors)?;
    drop(listener);
    forget_code();
    let back_end = becoming.back_end;
    HelperProcess { socket, running: HashMap::new(), mounts, back_end }.work()
}

/// Applies the confinement, which cannot be undone; `counted` if a control group limits the processes. Returns the
/// listener for the proxy, if there is one.
fn become_confined(
    socket: &UnixStream,
    becoming: &HelperSetup,
    counted: bool,
) -> io::Result<(Option<TcpListener>, ProtectiveMounts)> {
    let Confinement { reads, writes, private, network, limits, .. } = &becoming.confinement;
    let (mut reads, mut writes) = (reads.clone(), writes.clone());
    let mut mounted = Vec::new();
    match becoming.back_end {
        BackEnd::Namespaces => {
            mounted = namespaces::enter(&becoming.confinement, &becoming.stand_ins, counted)?;
            if let Some((path, patterns)) = &becoming.unseen_by_git {
                git::write(path, patterns)?;
            }
            // The new tree contains only what may be read.
            reads = vec!["/".into()];
            writes.extend(OWN.map(PathBuf::from));
            writes.extend_from_slice(private);
        }
        BackEnd::Landlock => {
            supervisor::split(socket, &becoming.groups)?;
            // Orphans of commands become children of the helper, which ends them with the command.
            system::adopt_orphans()?;
            reads.push("/proc".into());
            reads.extend(["/dev/zero", "/dev/random", "/dev/urandom"].map(PathBuf::from));
            writes.extend(["/dev/null", "/dev/full"].map(PathBuf::from));
            if !counted {
                user::limit_processes(limits.processes)?;
            }
        }
    }
    let listener = match network {
        NetworkAccess::Proxy(port) => Some(TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?),
        NetworkAccess::Off | NetworkAccess::Full => None,
    };
    system::limit(libc::RLIMIT_FSIZE, limits.file_size)?;
    system::limit(libc::RLIMIT_DATA, limits.memory)?;
    // Not 0, which does not stop a core dump that is piped to a program; 1 does.
    system::limit(libc::RLIMIT_CORE, 1)?;
    // The order matters: each step from here on removes permissions that the steps before it need.
    let mounts = ProtectiveMounts::new(mounted)?;
    system::drop_privileges()?;
    system::close_to_others()?;
    landlock_rules::apply(&reads, &writes)?;
    filter::apply(becoming.back_end, network)?;
    Ok((listener, mounts))
}

struct HelperProcess<'a> {
    socket: &'a UnixStream,
    /// The ids of running commands, by process.
    running: HashMap<libc::pid_t, u64>,
    mounts: ProtectiveMounts,
    back_end: BackEnd,
}

impl HelperProcess<'_> {
    /// Handles requests until the other side closes the socket.
    fn work(&mut self) -> io::Result<()> {
        let signals = system::child_signals()?;
        loop {
            // `poll` needs a third descriptor. Without mounts or inotify, the socket stands in for it.
            let third = self.mounts.readiness().map_or_else(|| self.socket.as_fd(), AsFd::as_fd);
            let mut ready = [
                PollFd::new(self.socket, PollFlags::IN),
                PollFd::new(&signals, PollFlags::IN),
                PollFd::from_borrowed_fd(third, PollFlags::IN),
            ];
            let polled = poll(&mut ready, self.mounts.patience());
            if polled == Err(rustix::io::Errno::INTR) {
                continue;
            }
            let silent = polled? == 0;
            let [readiness, ended, changed] = ready.map(|it| !it.revents().is_empty());
            if (silent || changed)
                && let Some(path) = self.mounts.replaced()
            {
                return self.give_up(path);
            }
            if ended {
                let mut buffer = [0; 1024];
                let _ = rustix::io::read(&signals, &mut buffer);
                self.reap()?;
            }
            if readiness {
                match receive(self.socket)? {
                    Some((request, descriptors)) => self.answer(request, descriptors)?,
                    None => return Ok(()),
                }
            }
        }
    }

    fn answer(&mut self, request: HelperRequest, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        match request {
            HelperRequest::Start(start) => {
                let id = start.id;
                if let Some(path) = self.mounts.replaced() {
                    self.give_up(path)?;
                    return Err(io::Error::other("nothing is protected here any more"));
                }
                let reply = match begin(start, descriptors) {
                    Ok(pid) => {
                        self.running.insert(pid, id);
                        HelperReply::Began(id)
                    }
                    Err(error) => HelperReply::NotStarted(id, error.to_string()),
                };
                send(self.socket, &reply, &[])?;
            }
            HelperRequest::Kill(id) => {
                let found = self.running.iter().find(|(_, other)| **other == id);
                if let Some((pid, _)) = found {
                    end(*pid);
                }
            }
            HelperRequest::Join(_) | HelperRequest::Confine(_) => {}
        }
        Ok(())
    }

    /// Ends all commands at once, because `path` is no longer protected. The sandbox ends with this process.
    fn give_up(&self, path: &Path) -> io::Result<()> {
        end_all_in_world();
        send(self.socket, &HelperReply::Replaced(path.to_owned()), &[])
    }

    /// Reports the commands that have ended, after the processes they left behind have been ended.
    fn reap(&mut self) -> io::Result<()> {
        let mut over = Vec::new();
        while let Ok(Some((pid, code, signal))) = system::reap(false) {
            // An orphan of a command has no id.
            if let Some(id) = self.running.remove(&pid) {
                system::kill_group(pid, libc::SIGKILL);
                over.push(HelperReply::Ended { id, code, signal });
            }
        }
        if !over.is_empty() && self.running.is_empty() {
            match self.back_end {
                BackEnd::Namespaces => end_all_in_world(),
                BackEnd::Landlock => supervisor::end_all(),
            }
        }
        over.iter().try_for_each(|reply| send(self.socket, reply, &[]))
    }
}

/// Kills every process of the sandbox except its first, which is this one, and waits for their end.
fn end_all_in_world() {
    // `kill(-1)` is called only while there is a child.
    let mut found = system::reap(false);
    if found.is_ok() {
        system::kill(-1, libc::SIGKILL);
    }
    while found.is_ok() {
        found = system::reap(true);
    }
}

/// Starts a command in its own process group.
fn begin(start: StartRequest, descriptors: Vec<OwnedFd>) -> io::Result<libc::pid_t> {
    let StartRequest { id: _, argv, directory, env } = start;
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
    if !directory.is_dir() {
        let message = format!("`{}` is not a directory in the sandbox", directory.display());
        return Err(io::Error::other(message));
    }
    let mut streams = descriptors.into_iter();
    let mut stream = || streams.next().map_or_else(Stdio::null, Stdio::from);
    let (input, output, errors) = (stream(), stream(), stream());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env_clear().envs(env);
    command.stdin(input).stdout(output).stderr(errors).process_group(0);
    system::start_unblocked(&mut command);
    let child = command
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("`{program}`: {error}")))?;
    Ok(child.id().cast_signed())
}

/// Kills a command: its process group, and its descendants in other groups.
fn end(command: libc::pid_t) {
    let mut found = vec![command];
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        at += 1;
    }
    system::kill_group(command, libc::SIGKILL);
    found.into_iter().for_each(|pid| system::kill(pid, libc::SIGKILL));
}
