//! How the commands of a run are started: confined, or not at all, or as the user wants it.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agentry_compile::policy::Judge;
use agentry_sandbox::proxy::Proxy;
use agentry_sandbox::{BackEnd, Command, Confinement, Error, Network, Sandbox, support};

use crate::confine::{Confined, Hosts, Surroundings, confinement, environment};
use crate::tool::{Started, Streams};

/// Starts the commands of a run.
pub trait Commands: Send + Sync {
    /// Starts one.
    fn start(&self, argv: Vec<String>, directory: PathBuf, streams: Streams)
    -> io::Result<Started>;

    /// What confines them, or why nothing does.
    fn confined_by(&self) -> Confining;

    /// What they cannot change, whatever they do.
    fn closed(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Takes back what they must not have made, and says what that was. To be called when one has ended.
    fn settle(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What confines commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confining {
    /// This back end.
    By(BackEnd),
    /// Nothing: the user wants it so.
    Nothing,
    /// None is started, for this reason.
    Refusing(String),
}

impl Confining {
    /// For programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::By(back_end) => back_end.as_str(),
            Self::Nothing => "none",
            Self::Refusing(_) => "refused",
        }
    }
}

impl fmt::Display for Confining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(back_end) => f.write_str(back_end.as_str()),
            Self::Nothing => f.write_str("nothing (--unconfined)"),
            Self::Refusing(why) => write!(f, "commands are refused: {why}"),
        }
    }
}

/// Commands that nothing confines, because the user said `--unconfined`.
#[derive(Debug, Default)]
pub struct Unconfined {
    /// The whole environment of a command.
    pub env: Vec<(String, String)>,
}

impl Commands for Unconfined {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: Streams,
    ) -> io::Result<Started> {
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
        let Streams { input, output, errors } = streams;
        let mut command = std::process::Command::new(program);
        command.args(arguments).current_dir(directory).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        command.process_group(0);
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let guard = Group(group.and_then(rustix::process::Pid::from_raw));
        let ended = Box::pin(async move { child.wait().await.map(|status| status.code()) });
        Ok(Started { ended, guard: Box::new(guard) })
    }

    fn confined_by(&self) -> Confining {
        Confining::Nothing
    }
}

/// A process group that ends with this.
struct Group(Option<rustix::process::Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// No command is started, for this reason.
#[derive(Debug)]
pub struct Refused(pub String);

impl Commands for Refused {
    fn start(&self, _: Vec<String>, _: PathBuf, _: Streams) -> io::Result<Started> {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, self.0.clone()))
    }

    fn confined_by(&self) -> Confining {
        Confining::Refusing(self.0.clone())
    }
}

/// Commands that are confined by the agent's policy. The sandbox starts with the first of them.
pub struct Sandboxed {
    /// What they may do.
    pub judge: Judge,
    /// What that depends on beside the policy.
    pub surroundings: Surroundings,
    /// The names of variables that they are granted.
    pub granted: Vec<String>,
    /// The values of variables.
    pub lookup: fn(&str) -> Option<String>,
    /// The program that becomes the helper: mostly the one that is running.
    pub program: PathBuf,
    /// Where is written down what must go even if this process is killed.
    pub leavings: PathBuf,
    /// What became of it so far.
    pub state: World,
}

/// What was found out and started so far.
#[derive(Default)]
pub struct World {
    chosen: OnceLock<Result<Chosen, String>>,
    ready: Mutex<Option<Arc<Ready>>>,
}

/// What confines the commands of a run.
struct Chosen {
    back_end: BackEnd,
    confinement: Confinement,
    hosts: Hosts,
}

/// A sandbox that runs.
struct Ready {
    sandbox: Sandbox,
    env: Vec<(String, String)>,
    /// Whether it starts nothing any more.
    spent: AtomicBool,
    /// What is protected in it.
    closed: Vec<PathBuf>,
    /// Which files those were.
    files: Vec<Option<(u64, u64)>>,
    /// The way out, as long as the sandbox is there.
    _proxy: Option<Proxy>,
}

impl Ready {
    /// The sandbox finds out itself when what it protects is replaced from outside, but not at once.
    fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed)
            || self.sandbox.is_over()
            || self.files != files(&self.closed)
    }
}

/// Which file is at each path.
fn files(paths: &[PathBuf]) -> Vec<Option<(u64, u64)>> {
    let file =
        |path: &PathBuf| path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()));
    paths.iter().map(file).collect()
}

impl Sandboxed {
    /// What confines them on this machine, or why nothing can; found out once.
    fn chosen(&self) -> Result<&Chosen, String> {
        let choose = || {
            let Confined { confinement, hosts, .. } = confinement(&self.judge, &self.surroundings);
            let (back_end, confinement) = support(&self.program).choose(&confinement)?;
            Ok(Chosen { back_end, confinement, hosts })
        };
        self.state.chosen.get_or_init(choose).as_ref().map_err(Clone::clone)
    }

    /// The sandbox; a new one if somebody outside took away what protected something in the old one.
    fn ready(&self) -> Result<Arc<Ready>, String> {
        let mut ready = self.state.ready.lock().unwrap_or_else(PoisonError::into_inner);
        match &*ready {
            Some(ready) if !ready.is_spent() => Ok(Arc::clone(ready)),
            _ => Ok(Arc::clone(ready.insert(Arc::new(self.set_up()?)))),
        }
    }

    fn set_up(&self) -> Result<Ready, String> {
        let chosen = self.chosen().map_err(|why| {
            format!("commands cannot be confined here: {why} (`--unconfined` runs them anyway)")
        })?;
        let Chosen { back_end, confinement, hosts } = chosen;
        let port = match confinement.network {
            Network::Proxy(port) => Some(port),
            Network::Off | Network::Full => None,
        };
        let closed = [confinement.read_only.as_slice(), &confinement.hidden].concat();
        let leavings = Some(self.leavings.as_path());
        let sandbox = Sandbox::start(&self.program, *back_end, confinement.clone(), leavings);
        let sandbox = sandbox.map_err(|error| error.to_string())?;
        let listener = sandbox.listener();
        let proxy = listener.map(|listener| Proxy::start(listener, hosts.clone())).transpose();
        let proxy = proxy.map_err(|error| format!("there is no way out: {error}"))?;
        let env = environment(&self.granted, &self.lookup, &sandbox, port);
        let (files, spent) = (files(&closed), AtomicBool::new(false));
        Ok(Ready { sandbox, env, spent, closed, files, _proxy: proxy })
    }
}

impl Commands for Sandboxed {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: Streams,
    ) -> io::Result<Started> {
        let refused = |why: String| io::Error::new(io::ErrorKind::PermissionDenied, why);
        let ready = self.ready().map_err(refused)?;
        let Streams { input, output, errors } = streams;
        let env = ready.env.clone();
        let command = Command { argv, directory, env, input, output, errors };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let id = ready.sandbox.run_then(command, move |ended| drop(sender.send(ended)));
        let id = id.map_err(|error| {
            ready.spent.store(true, Ordering::Relaxed);
            io::Error::other(error)
        })?;
        let same = Arc::clone(&ready);
        let ended = Box::pin(async move {
            let ended = receiver.await.unwrap_or(Err(Error::Gone));
            let is_spent = matches!(ended, Err(Error::Gone | Error::Replaced(_)));
            same.spent.fetch_or(is_spent, Ordering::Relaxed);
            ended.map(|ended| ended.code).map_err(io::Error::other)
        });
        Ok(Started { ended, guard: Box::new(Killed { ready, id }) })
    }

    fn confined_by(&self) -> Confining {
        match self.chosen() {
            Ok(chosen) => Confining::By(chosen.back_end),
            Err(why) => Confining::Refusing(why),
        }
    }

    fn closed(&self) -> Vec<PathBuf> {
        self.ready().map(|ready| ready.closed.clone()).unwrap_or_default()
    }
}

/// A command of a sandbox that ends with this.
struct Killed {
    ready: Arc<Ready>,
    id: u64,
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.ready.sandbox.kill(self.id);
    }
}
