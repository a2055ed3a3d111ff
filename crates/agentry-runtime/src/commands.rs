//! Starts the commands of a run: in the sandbox, unconfined if the user wants it, or not at all.

use agentry_posix::unix::process::CommandExt as _;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentry_compile::policy::Judge;
use agentry_sandbox::proxy::NetworkProxy;
use agentry_sandbox::{
    BackEnd, CommandExit, ConfinedCommand, Confinement, NetworkAccess, Sandbox, SandboxError,
    SandboxSupport, support as sandbox_support,
};

use crate::confine::{ConfinementInputs, PlannedConfinement, confinement, environment};
use crate::running_commands::CountedCommand;
use crate::tool::mcp::ProgramFiles;
use crate::tool::{CommandStreams, StartedCommand};

/// A program of the definition, such as a server.
#[derive(Debug, Clone)]
pub struct ProgramLaunch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// The variables that it gets instead of those that commands are granted.
    pub variables: Vec<(String, String)>,
    /// The files that it can read beside those of commands.
    pub files: ProgramFiles,
}

/// Starts the commands of a run.
pub trait CommandStarter: Send + Sync {
    /// Starts one command.
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand>;

    /// Starts a program of the definition, with an environment and files of its own.
    fn start_program(
        &self,
        launch: ProgramLaunch,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand>;

    /// Returns what confines the commands, or why nothing does.
    fn confined_by(&self) -> CommandConfinement;

    /// Sets up what the first command needs, so that it starts at once.
    fn warm_up(&self) {}

    /// Returns where the commands may write.
    fn reach(&self) -> WriteReach {
        WriteReach::default()
    }

    /// Returns findings that were not reported before: files that commands must not create.
    /// Callers call it after each command has ended.
    fn settle(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What confines commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandConfinement {
    /// This back end of the sandbox.
    By(BackEnd),
    /// Nothing: the user passed `--unconfined`.
    Nothing,
    /// No command is started, for this reason.
    Refusing(String),
}

impl CommandConfinement {
    /// The name in machine-readable output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::By(back_end) => back_end.as_str(),
            Self::Nothing => "none",
            Self::Refusing(_) => "refused",
        }
    }
}

impl fmt::Display for CommandConfinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(back_end) => f.write_str(back_end.as_str()),
            Self::Nothing => f.write_str("nothing (--unconfined)"),
            Self::Refusing(why) => write!(f, "commands are refused: {why}"),
        }
    }
}

/// Where commands may write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteReach {
    /// Writable directories.
    pub open: Vec<PathBuf>,
    /// Paths below them that stay read-only or hidden.
    pub closed: Vec<PathBuf>,
}

/// Commands that run without a sandbox, because the user passed `--unconfined`.
#[derive(Debug, Default)]
pub struct UnconfinedCommands {
    /// The environment of every program: `PATH` and the like.
    pub usual: Vec<(String, String)>,
    /// The variables that commands are granted in addition.
    pub granted: Vec<(String, String)>,
}

impl CommandStarter for UnconfinedCommands {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        let (variables, files) = (self.granted.clone(), ProgramFiles::default());
        self.start_program(ProgramLaunch { argv, directory, variables, files }, streams)
    }

    fn start_program(
        &self,
        launch: ProgramLaunch,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        let ProgramLaunch { argv, directory, variables, files: _ } = launch;
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
        let CommandStreams { input, output, errors } = streams;
        let mut command = std::process::Command::new(program);
        command.args(arguments).current_dir(directory).env_clear();
        let env = self.usual.iter().chain(&variables);
        command.envs(env.map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        // A group of its own, so that the drop of the guard also kills the command's children.
        command.process_group(0);
        let counted = CountedCommand::new();
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let guard = ProcessGroup(group.and_then(agentry_posix::process::Pid::from_raw));
        let ended = Box::pin(async move { child.wait().await.map(|status| status.code()) });
        Ok(StartedCommand { ended, guard: Box::new((guard, counted)) })
    }

    fn confined_by(&self) -> CommandConfinement {
        CommandConfinement::Nothing
    }
}

/// A process group that is killed on drop.
struct ProcessGroup(Option<agentry_posix::process::Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = agentry_posix::process::kill_process_group(
                group,
                agentry_posix::process::Signal::KILL,
            );
        }
    }
}

/// Starts no command, for this reason.
#[derive(Debug)]
pub struct RefusedCommands(pub String);

impl CommandStarter for RefusedCommands {
    fn start(&self, _: Vec<String>, _: PathBuf, _: CommandStreams) -> io::Result<StartedCommand> {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, self.0.clone()))
    }

    fn start_program(
        &self,
        launch: ProgramLaunch,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        self.start(launch.argv, launch.directory, streams)
    }

    fn confined_by(&self) -> CommandConfinement {
        CommandConfinement::Refusing(self.0.clone())
    }
}

/// Commands that are confined by the agent's policy. The sandbox starts with the first command.
pub struct SandboxedCommands {
    /// The policy to confine them by.
    pub judge: Judge,
    /// What the confinement depends on beside the policy.
    pub surroundings: ConfinementInputs,
    /// The names of the variables that the commands are granted.
    pub granted: Vec<String>,
    /// Looks up the value of a variable.
    pub lookup: fn(&str) -> Option<String>,
    /// The program that becomes the sandbox helper: usually the running one.
    pub program: PathBuf,
    /// The file that lists what must be removed, even if this process is killed.
    pub leavings: PathBuf,
    /// What is chosen and started so far.
    pub state: SandboxState,
}

/// What is chosen and started so far.
#[derive(Default)]
pub struct SandboxState {
    chosen: OnceLock<Result<ChosenConfinement, String>>,
    /// The sandbox of the commands, and those of programs that can read files of their own.
    ready: Mutex<HashMap<ProgramFiles, SharedSandbox>>,
}

/// A sandbox; locked while it is set up, so that others are set up at the same time.
type SharedSandbox = Arc<Mutex<Option<Arc<ReadySandbox>>>>;

/// Whose variables a command gets.
#[derive(Clone, Copy)]
enum EnvironmentKind {
    OfCommands,
    OfProgram,
}

/// The back end and the confinement of a run.
struct ChosenConfinement {
    back_end: BackEnd,
    confinement: Confinement,
    planned: PlannedConfinement,
    support: SandboxSupport,
}

/// A running sandbox.
struct ReadySandbox {
    sandbox: Sandbox,
    /// The environment of commands.
    env: Vec<(String, String)>,
    /// The same without what commands are granted.
    usual: Vec<(String, String)>,
    /// Whether it starts no more commands.
    spent: AtomicBool,
    reach: WriteReach,
    /// The network proxy; held so that it lives as long as the sandbox.
    _proxy: Option<NetworkProxy>,
}

impl ReadySandbox {
    /// The environment of a program with these variables. What the definition writes for a program replaces
    /// the usual values.
    fn environment(&self, variables: &[(String, String)]) -> Vec<(String, String)> {
        let is_replaced = |name: &str| variables.iter().any(|(other, _)| other == name);
        let usual = self.usual.iter().filter(|(name, _)| !is_replaced(name));
        usual.chain(variables).cloned().collect()
    }

    fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) || self.sandbox.is_over()
    }

    /// Starts a command; returns its number, a flag that is set at its end, and the receiver of its exit.
    fn run(
        &self,
        command: ConfinedCommand,
    ) -> Result<(u64, Arc<CompletionFlag>, CommandEnding), SandboxError> {
        let (sender, ending) = tokio::sync::oneshot::channel();
        let over: Arc<CompletionFlag> = Arc::default();
        let signal = Arc::clone(&over);
        let id = self.sandbox.run_then(command, move |ended| {
            signal.notify();
            drop(sender.send(ended));
        });
        if id.is_err() {
            self.spent.store(true, Ordering::Relaxed);
            // The helper may have died after it started the command; this ends the command, too.
            self.sandbox.end();
        }
        Ok((id?, over, ending))
    }
}

impl ChosenConfinement {
    /// Returns the files that commands cannot read anyway.
    fn unseen(&self, files: &ProgramFiles) -> ProgramFiles {
        let Confinement { reads, hidden, .. } = &self.confinement;
        let below = |roots: &[PathBuf], path: &Path| roots.iter().any(|it| path.starts_with(it));
        let is_unseen = |path: &&PathBuf| !below(reads, path) || below(hidden, path);
        ProgramFiles {
            packages: files.packages.iter().filter(is_unseen).cloned().collect(),
            projects: files.projects.iter().filter(is_unseen).cloned().collect(),
        }
    }
}

impl SandboxedCommands {
    /// Returns what confines the commands on this machine, or why nothing can. Decided once per run.
    fn chosen(&self) -> Result<&ChosenConfinement, String> {
        let choose = || {
            // Side by side: one walks through directories, the other waits for a process.
            let (planned, support) = std::thread::scope(|threads| {
                let trial = std::thread::Builder::new()
                    .spawn_scoped(threads, || sandbox_support(&self.program));
                let planned = confinement(&self.judge, &self.surroundings);
                let support = trial.ok().and_then(|trial| trial.join().ok());
                (planned, support.unwrap_or_else(|| sandbox_support(&self.program)))
            });
            let (back_end, confinement) = support.choose(&planned.confinement)?;
            Ok(ChosenConfinement { back_end, confinement, planned, support })
        };
        self.state.chosen.get_or_init(choose).as_ref().map_err(Clone::clone)
    }

    /// Returns the sandbox of the commands, or one in which these files can be read, too. Starts a new one if
    /// a protected path of the old one was replaced from outside.
    fn ready(&self, files: &ProgramFiles) -> Result<Arc<ReadySandbox>, String> {
        let chosen = self.chosen().map_err(|why| {
            format!("commands cannot be confined here: {why} (`--unconfined` runs them anyway)")
        })?;
        let files = chosen.unseen(files);
        let own = {
            let mut all = self.state.ready.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(files.clone()).or_default())
        };
        let mut ready = own.lock().unwrap_or_else(PoisonError::into_inner);
        match &*ready {
            Some(ready) if !ready.is_spent() => Ok(Arc::clone(ready)),
            _ => Ok(Arc::clone(ready.insert(Arc::new(self.set_up(chosen, &files)?)))),
        }
    }

    fn set_up(
        &self,
        chosen: &ChosenConfinement,
        files: &ProgramFiles,
    ) -> Result<ReadySandbox, String> {
        let hosts = &chosen.planned.hosts;
        let (back_end, confinement) = if files.all().next().is_none() {
            (chosen.back_end, chosen.confinement.clone())
        } else {
            chosen.support.choose(&chosen.planned.of_program(&self.judge, files))?
        };
        let port = match confinement.network {
            NetworkAccess::Proxy(port) => Some(port),
            NetworkAccess::Off | NetworkAccess::Full => None,
        };
        let closed = [confinement.read_only.as_slice(), &confinement.hidden].concat();
        let reach = WriteReach { open: confinement.writes.clone(), closed };
        let leavings = Some(self.leavings.as_path());
        let sandbox = Sandbox::start(&self.program, back_end, confinement, leavings);
        let sandbox = sandbox.map_err(|error| error.to_string())?;
        // A helper opens a listener only if the network goes through the proxy.
        let listener = sandbox.listener();
        let proxy =
            listener.map(|listener| NetworkProxy::start(listener, hosts.clone())).transpose();
        let proxy = proxy.map_err(|error| format!("there is no way out: {error}"))?;
        let env = environment(&self.granted, &self.lookup, &sandbox, port);
        let usual = environment(&[], &self.lookup, &sandbox, port);
        Ok(ReadySandbox {
            sandbox,
            env,
            usual,
            spent: AtomicBool::new(false),
            reach,
            _proxy: proxy,
        })
    }
}

impl SandboxedCommands {
    /// Starts a command in the sandbox. Retries in a new sandbox if a protected path was replaced from outside
    /// before the command started.
    fn begin(
        &self,
        launch: &ProgramLaunch,
        kind: EnvironmentKind,
        streams: &CommandStreams,
    ) -> io::Result<(SandboxCommandGuard, CommandEnding)> {
        // A limit, because another process could replace a protected path again and again.
        const TIMES: usize = 5;
        let refused = |why: String| io::Error::new(io::ErrorKind::PermissionDenied, why);
        let mut failed = SandboxError::Gone;
        for _ in 0..TIMES {
            let ready = self.ready(&launch.files).map_err(refused)?;
            let command = ConfinedCommand {
                argv: launch.argv.clone(),
                directory: launch.directory.clone(),
                env: match kind {
                    EnvironmentKind::OfCommands => ready.env.clone(),
                    EnvironmentKind::OfProgram => ready.environment(&launch.variables),
                },
                input: streams.input.try_clone()?,
                output: streams.output.try_clone()?,
                errors: streams.errors.try_clone()?,
            };
            match ready.run(command) {
                Ok((id, over, ending)) => {
                    return Ok((SandboxCommandGuard { ready, id, over }, ending));
                }
                Err(error) => failed = error,
            }
            // Only a replaced path is worth a new sandbox: the command did not start.
            if !matches!(failed, SandboxError::Replaced(_)) {
                break;
            }
        }
        Err(io::Error::other(failed))
    }
}

/// Receives how a command ended.
type CommandEnding = tokio::sync::oneshot::Receiver<Result<CommandExit, SandboxError>>;

impl SandboxedCommands {
    fn started(
        (guard, ending): (SandboxCommandGuard, CommandEnding),
        counted: CountedCommand,
    ) -> StartedCommand {
        let same = Arc::clone(&guard.ready);
        let ended = Box::pin(async move {
            let ended = ending.await.unwrap_or(Err(SandboxError::Gone));
            // Without its helper, or with a replaced protected path, a sandbox protects nothing.
            let is_spent = matches!(ended, Err(SandboxError::Gone | SandboxError::Replaced(_)));
            same.spent.fetch_or(is_spent, Ordering::Relaxed);
            ended.map(|ended| ended.code).map_err(io::Error::other)
        });
        // Fields of a tuple are dropped in their order: counted until it is killed.
        StartedCommand { ended, guard: Box::new((guard, counted)) }
    }
}

impl CommandStarter for SandboxedCommands {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        let (variables, files) = (Vec::new(), ProgramFiles::default());
        let launch = ProgramLaunch { argv, directory, variables, files };
        let counted = CountedCommand::new();
        Ok(Self::started(self.begin(&launch, EnvironmentKind::OfCommands, &streams)?, counted))
    }

    fn start_program(
        &self,
        launch: ProgramLaunch,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        let counted = CountedCommand::new();
        Ok(Self::started(self.begin(&launch, EnvironmentKind::OfProgram, &streams)?, counted))
    }

    fn confined_by(&self) -> CommandConfinement {
        match self.chosen() {
            Ok(chosen) => CommandConfinement::By(chosen.back_end),
            Err(why) => CommandConfinement::Refusing(why),
        }
    }

    fn warm_up(&self) {
        // A failure is reported by the first command.
        let _ = self.ready(&ProgramFiles::default());
    }

    fn reach(&self) -> WriteReach {
        self.ready(&ProgramFiles::default()).map(|ready| ready.reach.clone()).unwrap_or_default()
    }
}

/// Owns a command of a sandbox. Dropping it kills the command and every process that it started.
struct SandboxCommandGuard {
    ready: Arc<ReadySandbox>,
    id: u64,
    over: Arc<CompletionFlag>,
}

impl Drop for SandboxCommandGuard {
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(5);
        if !self.over.is_over_within(Duration::ZERO) {
            let _ = self.ready.sandbox.kill(self.id);
        }
        // A helper that does not confirm the kill in time is not trusted: the whole sandbox ends.
        if !self.over.is_over_within(PATIENCE) || self.ready.sandbox.is_over() {
            self.ready.spent.store(true, Ordering::Relaxed);
            self.ready.sandbox.end();
        }
    }
}

/// Notifies waiting threads when a command has ended.
#[derive(Default)]
struct CompletionFlag {
    is_over: Mutex<bool>,
    signal: Condvar,
}

impl CompletionFlag {
    fn notify(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.notify_all();
    }

    fn is_over_within(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.signal.wait_timeout_while(is_over, time, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
