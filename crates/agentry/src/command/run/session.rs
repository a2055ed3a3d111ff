//! A real run: its journal, its driver, and whoever watches.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_runtime::approval::Approvals;
use agentry_runtime::cassette::{self, Recorder};
use agentry_runtime::commands::{Commands, Refused, Sandboxed, Unconfined};
use agentry_runtime::confine::Surroundings;
use agentry_runtime::driver::output::Output;
use agentry_runtime::driver::parts::{Clock, Log, Models, Nobody, Parts, Person, Sink, Tools};
use agentry_runtime::driver::recorded::{RecordedLog, RecordedModels, Recording};
use agentry_runtime::driver::{Broken, Cancel, Driver};
use agentry_runtime::journal::{About, Journal};
use agentry_runtime::provider::http;
use agentry_runtime::provider::plan::{Entry, Plan};
use agentry_runtime::quarantine::{self, Quarantined};
use agentry_runtime::tool::Search;
use agentry_runtime::undo::Images;
use agentry_runtime::{Ending, Happened, Limits, Phase};
use serde_json::json;

use super::ground::{Around, Ground, variable};
use super::limits::{began, limits};
use super::permission::{consent, listing};
use super::person::Attendant;
use super::terminal::Terminal;
use super::{exit, talk};
use crate::args::{OnAsk, Run, RunFormat};
use crate::output::{Failure, Outcome, print, said};

/// A run that can be talked to.
pub(crate) struct Session<'a> {
    pub(super) ground: &'a Ground,
    pub(super) driver: Driver,
    pub(super) terminal: Arc<Mutex<Terminal>>,
    pub(super) attendant: Option<Arc<Attendant>>,
    pub(super) tools: Arc<dyn Tools>,
    recording: Option<Kept>,
    journal: SharedJournal,
    hears: Sink,
    /// What confines commands, in words.
    sandbox: String,
}

/// A journal that the driver writes to and that is told how the run ended.
#[derive(Clone)]
struct SharedJournal(Arc<Mutex<Journal>>);

impl Log for SharedJournal {
    fn append(&mut self, happened: &Happened, durable: bool) -> Result<(), String> {
        let mut journal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        journal.append(happened, durable).map_err(|error| error.to_string())
    }
}

/// A recording, and where it is to be kept in the end. Until then it lies beside the journal, where the
/// agent does not meet it.
struct Kept {
    recording: Recording,
    part: PathBuf,
    path: PathBuf,
}

impl Kept {
    fn new(ground: &Ground, directory: &Path, path: &str) -> Result<Self, Failure> {
        let part = directory.join("cassette.jsonl");
        let redactor = Arc::clone(&ground.redactor);
        let name = ground.agent.name();
        let recorder = Recorder::create(&part, name, now(), redactor, ground.places());
        let recorder = recorder.map_err(|error| Failure::new(said(&error)))?;
        Ok(Self { recording: Recording::new(recorder), part, path: admitted(path)? })
    }

    /// The run is over.
    fn keep(&self) -> io::Result<()> {
        self.recording.finish()?;
        cassette::keep(&self.part, &self.path)?;
        fs::remove_file(&self.part)
    }
}

/// Where a recording will be kept.
fn admitted(path: &str) -> Result<PathBuf, Failure> {
    let message = |error| format!("nothing can be recorded to `{path}`: {}", said(&error));
    cassette::admit(Path::new(path)).map_err(|error| Failure::new(message(error)))
}

/// What is the same for a new run and for one that goes on.
pub(crate) struct Setting<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) format: RunFormat,
    pub(crate) on_ask: OnAsk,
    pub(crate) commands: Arc<dyn Commands>,
    pub(crate) unconfined: bool,
    pub(crate) record: Option<&'a str>,
}

impl<'a> Session<'a> {
    /// Asks for consent and begins a run.
    pub(crate) fn start(
        ground: &'a Ground,
        args: &'a Run,
        plan: Plan,
        prompt: Option<&str>,
    ) -> Result<Self, Failure> {
        // Before anybody is asked, and anything paid for.
        args.record.as_deref().map(admitted).transpose()?;
        let commands = commands(ground, args.unconfined);
        let names: Vec<String> = plan.entries.iter().map(Entry::id).collect();
        let listed = || listing(ground, commands.confined_by(), names.clone());
        consent(ground, args, now(), listed)?;
        for note in &plan.notes {
            crate::output::remark(&format!("note: {note}"));
        }
        let limits = limits(&ground.agent, &args.spending, &ground.caps);
        let about = About {
            agent: ground.full_path(),
            name: ground.agent.name().to_owned(),
            digest: ground.digest.clone(),
            workspace: ground.workspace.clone(),
            prompt: prompt.map(str::to_owned),
            models: names,
            started: now(),
            pid: std::process::id(),
            settings: json!({ "model": args.model, "unconfined": args.unconfined }),
            ..About::default()
        };
        let journal = Journal::create(&ground.home, &about, Arc::clone(&ground.redactor));
        let journal = journal.map_err(|error| Failure::new(error.to_string()))?;
        let setting = Setting {
            ground,
            format: args.format,
            on_ask: args.on_ask,
            commands,
            unconfined: args.unconfined,
            record: args.record.as_deref(),
        };
        let began = began(&ground.agent, limits, plan.entries.len(), plan.window());
        let mut session = Self::over(setting, plan, journal)?;
        session.driver.begin(began).map_err(broken)?;
        session.introduce(limits);
        Ok(session)
    }

    /// A session over a journal.
    pub(crate) fn over(
        setting: Setting<'a>,
        plan: Plan,
        journal: Journal,
    ) -> Result<Self, Failure> {
        let Setting { ground, format, on_ask, commands, unconfined, record } = setting;
        // Which back end it is turns out with the first command.
        let sandbox = if unconfined { "unconfined" } else { "confined" }.to_owned();
        let terminal = Arc::new(Mutex::new(Terminal::new()));
        let hears = sink(format, &terminal);
        let attended = Terminal::is_attended() && format == RunFormat::Human;
        let attendant = attended.then(|| Attendant::new(Arc::clone(&terminal)).ok()).flatten();
        let attendant = attendant.map(Arc::new);
        let person: Arc<dyn Person> = match (&attendant, on_ask) {
            (Some(attendant), _) => attendant.clone(),
            (None, OnAsk::Deny) => Arc::new(Nobody::Denies),
            (None, OnAsk::Park) => Arc::new(Nobody::Parks),
        };
        let directory = journal.directory().to_path_buf();
        let run = directory.clone();
        let images = Images::new(directory.join("before"));
        let images = images.map_err(|error| Failure::new(said(&error)))?;
        let approvals: Arc<Approvals> = Arc::default();
        let tools: Arc<dyn Tools> = Arc::new(ground.tools(Around {
            approvals: Arc::clone(&approvals),
            commands: if unconfined { commands } else { quarantined(ground, commands, &run) },
            person: Arc::clone(&person),
            output: Arc::clone(&hears),
            images: Some(images),
            directory,
            can_ask: attendant.is_some(),
            search: search(),
        }));
        let journal = SharedJournal(Arc::new(Mutex::new(journal)));
        let clock: Clock = Arc::new(now);
        let mut models: Arc<dyn Models> = Arc::new(plan);
        let mut log: Box<dyn Log> = Box::new(journal.clone());
        let recording = record.map(|path| Kept::new(ground, &run, path)).transpose()?;
        if let Some(Kept { recording, .. }) = &recording {
            log = Box::new(RecordedLog { log, recording: recording.clone() });
            let clock = Arc::clone(&clock);
            models = Arc::new(RecordedModels { models, recording: recording.clone(), clock });
        }
        let parts = Parts {
            system: ground.system.as_str().into(),
            models,
            tools: Arc::clone(&tools),
            person,
            log,
            clock,
            output: Arc::clone(&hears),
            redact: ground.redact(),
            waits: true,
        };
        let driver = Driver::new(parts, approvals);
        if let Some(attendant) = &attendant {
            attendant.stop_by(driver.canceller());
        }
        Ok(Self { ground, driver, terminal, attendant, tools, recording, journal, hears, sandbox })
    }

    /// Says what runs.
    pub(crate) fn introduce(&self, limits: Limits) {
        let journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        let greeting = self.ground.agent.identity.greeting.as_ref().map(|it| it.value.clone());
        (self.hears)(Output::Run {
            id: Some(journal.id().to_owned()),
            agent: self.ground.agent.name().to_owned(),
            digest: self.ground.digest.clone(),
            models: (0..self.driver.state().models).map(|at| self.driver.model(at)).collect(),
            tools: self.tools.specs().iter().map(|spec| spec.name.clone()).collect(),
            sandbox: self.sandbox.clone(),
            limits,
            greeting,
        });
    }

    /// Runs what is asked, or a conversation.
    pub(crate) fn run(mut self, prompt: Option<String>) -> Outcome {
        let runtime = runtime()?;
        let ending = runtime.block_on(async {
            stop_on_interrupt(&self.driver);
            match prompt {
                Some(prompt) => self.driver.say(prompt).await.map(Some),
                None => talk::talk(&mut self).await,
            }
        });
        let outcome = self.finish(ending.map_err(broken)?);
        // A question that nobody answers any more does not keep the program.
        runtime.shutdown_background();
        outcome
    }

    /// Goes on with a run that was stopped, and then says something more.
    pub(crate) fn go_on(mut self, recalled: Vec<Happened>, prompt: Option<String>) -> Outcome {
        let runtime = runtime()?;
        self.driver.recall(recalled);
        let limits = self.driver.state().limits;
        self.introduce(limits);
        let ending = runtime.block_on(async {
            stop_on_interrupt(&self.driver);
            let ending = self.driver.resume().await?;
            match prompt {
                Some(prompt) => self.driver.say(prompt).await.map(Some),
                None if ending.is_none() && self.attendant.is_some() => talk::talk(&mut self).await,
                None => Ok(ending),
            }
        });
        let outcome = self.finish(ending.map_err(broken)?);
        runtime.shutdown_background();
        outcome
    }

    /// Notes how it ended.
    fn finish(self, ending: Option<Ending>) -> Outcome {
        let mut journal = self.journal.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ending = ending.unwrap_or(Ending::Done);
        journal.finished(&ending).map_err(|error| Failure::new(error.to_string()))?;
        if let Some(recording) = &self.recording {
            let message = |error| format!("the cassette was not kept: {}", said(&error));
            recording.keep().map_err(|error| Failure::new(message(error)))?;
        }
        let exit = exit(&ending);
        let stopped = ending == Ending::Cancelled && self.driver.state().phase == Phase::Idle;
        if stopped || matches!(ending, Ending::Parked { .. }) {
            let hint = format!("`agentry resume {}` goes on with it", journal.id());
            crate::output::remark(&format!("  = help: {hint}"));
        }
        Ok(exit)
    }
}

/// Shows what happens, in the format that was asked for.
pub(super) fn sink(format: RunFormat, terminal: &Arc<Mutex<Terminal>>) -> Sink {
    let terminal = Arc::clone(terminal);
    let shown: Sink = match format {
        RunFormat::Human => Arc::new(move |output: Output| {
            terminal.lock().unwrap_or_else(PoisonError::into_inner).hear(&output);
        }),
        RunFormat::Json => Arc::new(|output: Output| {
            let line = serde_json::to_string(&output).unwrap_or_default();
            print(&format!("{line}\n"));
        }),
    };
    #[cfg(feature = "otel")]
    let shown = crate::telemetry::told(shown);
    shown
}

/// The search service that the user's environment names. A client for it is made only if there is one.
fn search() -> Option<Search> {
    let named = ["SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY"];
    named.into_iter().find_map(variable)?;
    Search::of(&variable, &http::remote(&variable).ok()?)
}

/// The same commands, after each of which is taken away what they must not make.
fn quarantined(ground: &Ground, commands: Arc<dyn Commands>, run: &Path) -> Arc<dyn Commands> {
    let (agent, to) = (ground.full_path(), run.join(quarantine::DIRECTORY));
    Arc::new(Quarantined::new(commands, ground.workspace.clone(), agent.into(), to))
}

/// How commands are started.
pub(crate) fn commands(ground: &Ground, unconfined: bool) -> Arc<dyn Commands> {
    let granted: Vec<String> =
        ground.agent.requirements.env.iter().flatten().map(|name| name.value.clone()).collect();
    if unconfined {
        let usual = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"].map(str::to_owned);
        let names = usual.into_iter().chain(granted);
        let env =
            names.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
        return Arc::new(Unconfined { env });
    }
    confined(ground, granted)
}

fn confined(ground: &Ground, granted: Vec<String>) -> Arc<dyn Commands> {
    let Ok(program) = std::env::current_exe() else {
        return Arc::new(Refused("the program cannot find itself".to_owned()));
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    Arc::new(Sandboxed {
        judge: ground.judge.clone(),
        surroundings: Surroundings {
            home: ground.judge.places().home.as_ref().map(PathBuf::from),
            agentry_home: Some(ground.home.clone()),
            // What decides about agents and does not exist yet is protected anyway.
            definition: ground
                .protected
                .iter()
                .map(PathBuf::from)
                .filter(|it| it.exists())
                .collect(),
            programs: std::env::split_paths(&path).collect(),
        },
        granted,
        lookup: |name| std::env::var(name).ok(),
        program,
        leavings: ground.home.join("leavings"),
        sandbox: Mutex::default(),
    })
}

/// Ctrl-C once stops the turn, twice the run.
fn stop_on_interrupt(driver: &Driver) {
    let canceller = driver.canceller();
    tokio::spawn(async move {
        let mut last: Option<std::time::Instant> = None;
        while tokio::signal::ctrl_c().await.is_ok() {
            let again = last.is_some_and(|last| last.elapsed().as_secs() < 3);
            let _ = canceller.send(if again { Cancel::Run } else { Cancel::Turn });
            last = Some(std::time::Instant::now());
        }
    });
}

/// One thread for everything that waits.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(format!("nothing can be run: {}", said(&error))))
}

pub(super) fn broken(Broken(why): Broken) -> Failure {
    Failure::new(format!("the run cannot be written down: {why}")).finding()
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
