//! How the commands of a run are started: confined, or not at all, or as the user wants it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use crate::tool::{Started, Streams};

/// Starts the commands of a run.
pub trait Commands: Send + Sync {
    /// Starts one.
    fn start(&self, argv: Vec<String>, directory: PathBuf, streams: Streams)
    -> io::Result<Started>;

    /// What confines them, in words.
    fn confined_by(&self) -> String;
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
