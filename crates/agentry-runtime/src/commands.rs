//! How the commands of a run are started: confined, or not at all, or as the user wants it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use agentry_compile::policy::Judge;
use agentry_sandbox::proxy::Proxy;
use agentry_sandbox::{BackEnd, Command, Network, Sandbox, support};

use crate::confine::{Confined, Surroundings, confinement, environment};
use crate::tool::{Started, Streams};

/// Starts the commands of a run.
pub trait Commands: Send + Sync {
    /// Starts one.
    fn start(&self, argv: Vec<String>, directory: PathBuf, streams: Streams)
    -> io::Result<Started>;

    /// What confines them, in words.
    fn confined_by(&self) -> String;

    /// What they cannot change, whatever they do.
    fn closed(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Takes back what they must not have made, and says what that was. To be called when one has ended.
    fn settle(&self) -> Vec<String> {
        Vec::new()
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

    fn confined_by(&self) -> String {
        "nothing (--unconfined)".to_owned()
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

    fn confined_by(&self) -> String {
        format!("commands are refused: {}", self.0)
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
    /// The sandbox, once it was needed.
    pub sandbox: Mutex<Option<Arc<Ready>>>,
}

/// A sandbox that runs.
pub struct Ready {
    sandbox: Sandbox,
    env: Vec<(String, String)>,
    /// What is protected in it.
    closed: Vec<PathBuf>,
    /// The way out, as long as the sandbox is there.
    _proxy: Option<Proxy>,
}

impl Sandboxed {
    /// What would confine them on this machine, or why nothing can.
    pub fn back_end(&self) -> Result<BackEnd, String> {
        let confined = confinement(&self.judge, &self.surroundings);
        support(&self.program).back_end(&confined.confinement)
    }

    /// The sandbox; a new one if somebody outside took away what protected something in the old one.
    fn ready(&self) -> Result<Arc<Ready>, String> {
        let mut ready = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner);
        match &*ready {
            Some(ready) if !ready.sandbox.is_over() => Ok(Arc::clone(ready)),
            _ => Ok(Arc::clone(ready.insert(Arc::new(self.set_up()?)))),
        }
    }

    fn set_up(&self) -> Result<Ready, String> {
        let Confined { confinement, hosts, .. } = confinement(&self.judge, &self.surroundings);
        let back_end = support(&self.program).back_end(&confinement);
        let back_end = back_end.map_err(|why| {
            format!("commands cannot be confined here: {why} (`--unconfined` runs them anyway)")
        })?;
        let port = match confinement.network {
            Network::Proxy(port) => Some(port),
            Network::Off | Network::Full => None,
        };
        let closed = [confinement.read_only.as_slice(), &confinement.hidden].concat();
        let leavings = Some(self.leavings.as_path());
        let sandbox = Sandbox::start(&self.program, back_end, confinement, leavings);
        let sandbox = sandbox.map_err(|error| error.to_string())?;
        let proxy = sandbox.listener().map(|listener| Proxy::start(listener, hosts)).transpose();
        let proxy = proxy.map_err(|error| format!("there is no way out: {error}"))?;
        let env = environment(&self.granted, &self.lookup, &sandbox, port);
        Ok(Ready { sandbox, env, closed, _proxy: proxy })
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
        let id = id.map_err(io::Error::other)?;
        let ended = Box::pin(async move {
            let ended = receiver.await.map_err(|_| io::Error::other("the sandbox has ended"))?;
            ended.map(|ended| ended.code).map_err(io::Error::other)
        });
        Ok(Started { ended, guard: Box::new(Killed { ready, id }) })
    }

    fn confined_by(&self) -> String {
        match self.back_end() {
            Ok(back_end) => back_end.as_str().to_owned(),
            Err(why) => format!("commands are refused: {why}"),
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
