//! The workers of one agent: started in a sandbox of their own, reused after a good job, killed after a
//! bad one. One more than needed is kept ready.

use agentry_posix::fd::OwnedFd;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_posix::event::{PollFd, PollFlags, Timespec, poll};
use agentry_posix::pipe::{Receiver, Sender};
use agentry_sandbox::{
    CommandExit, ConfinedCommand, Confinement, ResourceLimits, Sandbox, SandboxError, support,
};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::WORKER;
use crate::job::{
    DescribedTool, JobBroker, JobFailure, JobLimits, ModuleFile, ScriptBlock, ToolJob,
};
use crate::place::in_file;
use crate::protocol::{
    self, CallMessage, JobMessage, JobOutcome, JobTask, ThrownError, WorkerMessage,
};
use crate::talk::JobConversation;

/// What the loader of programs needs, beside the program. A worker gives it up before its first job.
const LIBRARIES: &[&str] =
    &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store"];
/// The longest time for a worker to start.
const START: Duration = Duration::from_secs(20);
/// The time between the abort of a job's signal and its end.
const GRACE: Duration = Duration::from_millis(50);
/// The longest time to wait for the end of a worker that closed its streams.
const ENDING: Duration = Duration::from_secs(1);
/// The most workers that wait for a job.
const MOST_IDLE: usize = 2;

/// The workers of one agent. They are never shared with another one.
pub struct WorkerPool {
    program: PathBuf,
    sandbox: Mutex<Option<Arc<Sandbox>>>,
    idle: Mutex<Vec<Worker>>,
    is_filling: AtomicBool,
}

/// A worker process. It is killed on drop.
struct Worker {
    sandbox: Arc<Sandbox>,
    id: u64,
    ended: oneshot::Receiver<Result<CommandExit, SandboxError>>,
    to: OwnedFd,
    from: OwnedFd,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.sandbox.kill(self.id);
    }
}

impl WorkerPool {
    /// Creates a pool without any worker. `program` must call [`agentry_sandbox::serve`] and
    /// [`crate::serve`] for their arguments; usually it is the running program.
    pub fn new(program: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            program,
            sandbox: Mutex::default(),
            idle: Mutex::default(),
            is_filling: AtomicBool::new(false),
        })
    }

    /// Starts a worker in a thread, unless one is ready.
    pub fn warm(self: &Arc<Self>) {
        if !locked(&self.idle).is_empty() || self.is_filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let pool = Arc::clone(self);
        std::thread::spawn(move || {
            if let Ok(worker) = pool.start() {
                locked(&pool.idle).push(worker);
            }
            pool.is_filling.store(false, Ordering::Release);
        });
    }

    /// Evaluates blocks and returns the tools that they return.
    pub async fn describe(
        self: &Arc<Self>,
        blocks: &[ScriptBlock],
        limits: JobLimits,
        broker: &dyn JobBroker,
    ) -> Result<Vec<DescribedTool>, JobFailure> {
        let described = self.perform(JobTask::Describe(blocks.to_vec()), limits, broker).await;
        let described = described.map_err(|stop| stop.in_blocks(blocks))?;
        serde_json::from_value(described).map_err(|error| threw(format!("its tools: {error}")))
    }

    /// Calls a tool that blocks return, and returns its result.
    pub async fn call(
        self: &Arc<Self>,
        blocks: &[ScriptBlock],
        job: &ToolJob<'_>,
        limits: JobLimits,
        broker: &dyn JobBroker,
    ) -> Result<Value, JobFailure> {
        let ToolJob { tool, arguments, env } = job;
        let call = CallMessage {
            tool: (*tool).to_owned(),
            arguments: arguments.to_string(),
            env: env.to_vec(),
        };
        let task = JobTask::Call(blocks.to_vec(), call);
        self.perform(task, limits, broker).await.map_err(|stop| stop.in_blocks(blocks))
    }

    /// Calls `run` of the first of these modules, and returns its result. The others can be imported.
    pub async fn run_script(
        self: &Arc<Self>,
        modules: &[ModuleFile],
        inputs: &Value,
        limits: JobLimits,
        broker: &dyn JobBroker,
    ) -> Result<Value, JobFailure> {
        let task = JobTask::Run(modules.to_vec(), inputs.to_string());
        self.perform(task, limits, broker).await.map_err(|stop| stop.in_modules(modules))
    }

    async fn perform(
        self: &Arc<Self>,
        task: JobTask,
        limits: JobLimits,
        broker: &dyn JobBroker,
    ) -> Result<Value, JobStop> {
        let JobLimits { time, most_output } = limits;
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let job = Box::new(JobMessage { task, time: milliseconds, most_output });
        let worker = self.take().await.map_err(JobFailure::Unavailable)?;
        let conversation = JobConversation::new(broker);
        // Dropping the worker kills it: at the deadline, and when the caller gives up.
        let ended = tokio::select! {
            ended = worker.work(conversation, job) => ended,
            () = overdue(time + GRACE, broker) => return Err(JobFailure::TimedOut(time).into()),
        };
        let (worker, outcome) = ended.map_err(JobFailure::Crashed)?;
        if let Some(worker) = worker {
            self.put_back(worker);
        }
        match outcome {
            JobOutcome::Returned(json) => serde_json::from_str(&json)
                .map_err(|error| threw(format!("its result cannot be read: {error}")).into()),
            JobOutcome::Threw(thrown) => Err(JobStop::Threw(thrown)),
        }
    }

    /// Returns a worker that is ready, or a new one.
    async fn take(self: &Arc<Self>) -> Result<Worker, String> {
        let ready = {
            let mut idle = locked(&self.idle);
            // A worker that has ended, or speaks without a job, is not used.
            std::iter::from_fn(|| idle.pop())
                .find(|worker| !has_input(&worker.from, Duration::ZERO))
        };
        let worker = match ready {
            Some(worker) => worker,
            None => {
                let pool = Arc::clone(self);
                let started = tokio::task::spawn_blocking(move || pool.start()).await;
                started.map_err(|error| error.to_string())??
            }
        };
        self.warm();
        Ok(worker)
    }

    fn put_back(&self, worker: Worker) {
        let mut idle = locked(&self.idle);
        if idle.len() < MOST_IDLE {
            idle.push(worker);
        }
    }

    /// Starts a worker and waits until it is sealed.
    fn start(&self) -> Result<Worker, String> {
        let sandbox = self.sandbox()?;
        let worker = self.spawn(&sandbox).map_err(|error| error.to_string())?;
        if !has_input(&worker.from, START) {
            return Err("a worker did not start in time".to_owned());
        }
        let from = worker.from.try_clone().map_err(|error| error.to_string())?;
        match protocol::read(io::PipeReader::from(from)) {
            Ok(Some((WorkerMessage::Ready, _))) => Ok(worker),
            _ => Err("a worker ended while it was sealed".to_owned()),
        }
    }

    fn spawn(&self, sandbox: &Arc<Sandbox>) -> Result<Worker, SandboxError> {
        let (input, to) = io::pipe()?;
        let (from, output) = io::pipe()?;
        let errors = OpenOptions::new().write(true).open(agentry_posix::NULL_DEVICE)?;
        let (sender, ended) = oneshot::channel();
        let command = ConfinedCommand {
            argv: vec![self.program.to_string_lossy().into_owned(), WORKER.to_owned()],
            directory: PathBuf::from("/"),
            env: Vec::new(),
            input: input.into(),
            output: output.into(),
            errors: errors.into(),
        };
        let id = sandbox.run_then(command, move |ended| drop(sender.send(ended)))?;
        Ok(Worker { sandbox: Arc::clone(sandbox), id, ended, to: to.into(), from: from.into() })
    }

    /// Returns the sandbox of the workers; a new one if the last has ended.
    fn sandbox(&self) -> Result<Arc<Sandbox>, String> {
        let mut sandbox = locked(&self.sandbox);
        if let Some(sandbox) = sandbox.as_ref().filter(|sandbox| !sandbox.is_over()) {
            return Ok(Arc::clone(sandbox));
        }
        let wanted = confinement(&self.program);
        let (back_end, wanted) = support(&self.program).choose(&wanted)?;
        let started = Sandbox::start(&self.program, back_end, wanted, None);
        Ok(Arc::clone(sandbox.insert(Arc::new(started.map_err(|error| error.to_string())?))))
    }
}

/// Why a job has no result, before its place is looked up.
enum JobStop {
    Threw(ThrownError),
    Failed(JobFailure),
}

impl From<JobFailure> for JobStop {
    fn from(failure: JobFailure) -> Self {
        Self::Failed(failure)
    }
}

impl JobStop {
    fn in_blocks(self, blocks: &[ScriptBlock]) -> JobFailure {
        match self {
            Self::Failed(failure) => failure,
            Self::Threw(ThrownError { message, at, .. }) => {
                let place = at.and_then(|(line, byte)| in_file(blocks, line, byte));
                JobFailure::Threw { message, place, file: None }
            }
        }
    }

    fn in_modules(self, modules: &[ModuleFile]) -> JobFailure {
        match self {
            Self::Failed(failure) => failure,
            Self::Threw(ThrownError { message, at, file }) => {
                // Code can forge its stack, so only files that were sent count.
                let module = modules.iter().find(|module| module.path == file);
                let place = module.zip(at).and_then(|(module, (line, byte))| {
                    let block = ScriptBlock { line: 1, text: module.text.clone() };
                    in_file(&[block], line, byte)
                });
                let file = place.and(module).map(|module| module.path.clone());
                JobFailure::Threw { message, place, file }
            }
        }
    }
}

impl Worker {
    /// Does a job. The worker comes back only if it can do another.
    async fn work(
        mut self,
        conversation: JobConversation<'_>,
        job: Box<JobMessage>,
    ) -> Result<(Option<Self>, JobOutcome), String> {
        use io::ErrorKind::{BrokenPipe, UnexpectedEof};
        match self.converse(conversation, job).await {
            Ok((outcome, is_free)) => Ok((is_free.then_some(self), outcome)),
            Err(error) if matches!(error.kind(), BrokenPipe | UnexpectedEof) => {
                Err(self.ending().await)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn converse(
        &self,
        conversation: JobConversation<'_>,
        job: Box<JobMessage>,
    ) -> io::Result<(JobOutcome, bool)> {
        // Copies, because a descriptor that is registered cannot wait for another runtime.
        let mut from = Receiver::from_owned_fd(self.from.try_clone()?)?;
        let mut to = Sender::from_owned_fd(self.to.try_clone()?)?;
        conversation.hold(job, &mut from, &mut to).await
    }

    /// Describes how it ended.
    async fn ending(&mut self) -> String {
        match tokio::time::timeout(ENDING, &mut self.ended).await {
            Ok(Ok(Ok(CommandExit { signal: Some(signal), .. }))) => format!("signal {signal}"),
            Ok(Ok(Ok(CommandExit { code: Some(code), .. }))) => format!("exit code {code}"),
            _ => "it closed its streams".to_owned(),
        }
    }
}

/// Waits until a job has used up its time.
async fn overdue(time: Duration, broker: &dyn JobBroker) {
    let began = tokio::time::Instant::now();
    loop {
        let left = (time + broker.paused()).saturating_sub(began.elapsed());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left).await;
    }
}

/// What a worker is started with: its program, and nothing else that matters.
fn confinement(program: &Path) -> Confinement {
    let program = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let libraries = LIBRARIES.iter().map(PathBuf::from).filter(|path| path.exists());
    Confinement {
        reads: libraries.chain([program]).collect(),
        limits: ResourceLimits { processes: 64, memory: 1 << 30, file_size: 1 << 16 },
        ..Confinement::default()
    }
}

/// Waits until there is something to read, or the other end is closed.
fn has_input(from: &OwnedFd, time: Duration) -> bool {
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    let mut ready = [PollFd::new(from, PollFlags::IN)];
    poll(&mut ready, Some(&time)).is_ok_and(|count| count > 0)
}

fn threw(message: String) -> JobFailure {
    JobFailure::Threw { message, place: None, file: None }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
