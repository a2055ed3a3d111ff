//! `agentry serve`: the page and the API for runs and approvals, and the schedules of the same agents.

mod approval_book;
mod engine_runs;
mod live_run;
mod live_runs;
mod mcp_tools;
mod offered_agents;
mod pairing;
mod parked_question;
mod recent_list;
mod run_feed;
mod run_list;
mod schedule_loop;
mod serve_host;
mod start_keys;
mod transcript;
mod watched_definitions;

use agentry_posix::unix::fs::OpenOptionsExt as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use agentry_compile::text::report::counted;
use agentry_compile::{FileTree as _, ResolveSettings, WorkspaceConfig};
use agentry_home::HomeLayout;
use agentry_posix::raise_open_files;
use agentry_server::{
    BoundServer, RunHost, ServerLimits, ServerSetup, TlsFiles, TokenScope, TokenStore,
};
use tokio::sync::watch;

use crate::args::{AskFallback, RunsAtStop, ServeArguments, ServeCommand, milliseconds};
use crate::command::receipts::recording;
use crate::command::reported;
use crate::disk::DiskWorld;
use crate::home::home;
use crate::output::{CliFailure, CliOutcome, ExitKind, complain, error_text, note, print, remark};
use engine_runs::EngineRuns;
use schedule_loop::ScheduleLoop;
use serve_host::ServeHost;

/// How long a run waits for an approval before it is parked, unless the configuration says another time.
const PARK_AFTER: Duration = Duration::from_mins(10);
/// The open files that many clients need.
const OPEN_FILES: u64 = 16_384;
/// The pause between two looks at the open approvals.
const APPROVAL_TICK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &ServeArguments) -> CliOutcome {
    match &args.command {
        Some(ServeCommand::Pair(args)) => pairing::run(args),
        Some(ServeCommand::Migrate { engine }) => engine_runs::migrate(engine.as_deref()),
        None if args.schedules => keep_schedules(args),
        None => serve(args),
    }
}

/// Only fires schedules.
fn keep_schedules(args: &ServeArguments) -> CliOutcome {
    let on_ask = args.on_ask.unwrap_or(AskFallback::Deny);
    let Some(mut schedules) = ScheduleLoop::open(&args.agents, on_ask)? else {
        return Err(CliFailure::new("no agent has a schedule")
            .hint("an agent directory has them in `schedules/*.md`"));
    };
    let (stop, stopped) = mpsc::channel();
    on_signal(move || {
        // A closed channel means that it ends already.
        let _ = stop.send(());
    })?;
    schedules.keep(&stopped)?;
    note("stopped; runs that were started go on");
    Ok(ExitKind::Done)
}

/// Calls a function when the program is asked to end.
fn on_signal(act: impl FnMut() + Send + 'static) -> Result<(), CliFailure> {
    ctrlc::set_handler(act)
        .map_err(|error| CliFailure::new(format!("signals cannot be handled: {error}")))
}

/// The directory of the server in the home.
pub(super) fn directory() -> Result<PathBuf, CliFailure> {
    let home = home()?;
    Ok(home.join("serve"))
}

/// The tokens of the home.
pub(super) fn tokens() -> Result<TokenStore, CliFailure> {
    let directory = directory()?;
    TokenStore::open(&directory).map_err(|error| {
        CliFailure::new(format!("`{}` cannot be used: {}", directory.display(), error_text(&error)))
    })
}

fn serve(args: &ServeArguments) -> CliOutcome {
    let park_after = park_after()?;
    let tokens = tokens()?;
    let unusable = |error: &io::Error| CliFailure::new(error_text(error));
    tokens.admin().map_err(|error| {
        unusable(&error).hint("`chmod 600` it, or remove it: the next start makes another one")
    })?;
    let directory = directory()?;
    let home = directory.parent().unwrap_or(&directory).to_owned();
    recording::collect(&HomeLayout::new(&home));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| unusable(&error))?;
    let bound = runtime.block_on(setup(args, &directory, &tokens).bind()).map_err(|error| {
        let failure = CliFailure::new(format!("the server cannot listen: {}", error_text(&error)));
        failure.hint_opt(listen_hint(&error).map(str::to_owned))
    })?;
    let engine = EngineRuns::open(args)?;
    let host = Arc::new(ServeHost::open(home, &args.agents, park_after, engine)?);
    let on_ask = args.on_ask.unwrap_or(AskFallback::Park);
    let schedules = ScheduleLoop::open(&args.agents, on_ask)?;
    announce(&bound, &tokens, args.open)?;
    let (stop, stopped) = watch::channel(false);
    let (stop_schedules, schedules_stopped) = mpsc::channel();
    on_signal(move || {
        stop.send_replace(true);
        let _ = stop_schedules.send(());
    })?;
    let keeping = schedules.map(|mut schedules| {
        std::thread::spawn(move || {
            if let Err(failure) = schedules.keep(&schedules_stopped) {
                complain(&failure);
            }
        })
    });
    runtime.block_on(answer(bound, Arc::clone(&host), stopped));
    let parked = (args.on_stop == RunsAtStop::Park).then(|| {
        let host = Arc::clone(&host);
        // The commands to the runs are sent by the runtime, which must not have ended.
        let parking = runtime.spawn_blocking(move || host.park());
        runtime.block_on(parking).unwrap_or_default()
    });
    // A request that still blocks must not keep the program.
    runtime.shutdown_background();
    keeping.map(std::thread::JoinHandle::join);
    let left = host.leave();
    let rest = match parked {
        Some(0) => String::new(),
        Some(parked) => {
            format!("; {} parked, and `agentry resume` goes on", counted(parked as u64, "run"))
        }
        None if left == 0 => String::new(),
        None => "; runs that were started go on, and park if they need you".to_owned(),
    };
    note(&format!("stopped{rest}"));
    Ok(ExitKind::Done)
}

async fn answer(bound: BoundServer, host: Arc<ServeHost>, stopped: watch::Receiver<bool>) {
    let ticking = Arc::clone(&host);
    let continuing = Arc::clone(&host);
    drop(tokio::task::spawn_blocking(move || continuing.continue_answered()));
    let ticks = tokio::spawn(async move {
        loop {
            tokio::time::sleep(APPROVAL_TICK).await;
            let host = Arc::clone(&ticking);
            let _ = tokio::task::spawn_blocking(move || host.tick()).await;
        }
    });
    let following = host.has_engine().then(|| tokio::spawn(follow_engine(Arc::clone(&host))));
    bound.serve(host as Arc<dyn RunHost>, stopped).await;
    ticks.abort();
    following.inspect(tokio::task::JoinHandle::abort);
}

async fn follow_engine(host: Arc<ServeHost>) {
    loop {
        let host = Arc::clone(&host);
        let _ = tokio::task::spawn_blocking(move || host.follow_engine()).await;
    }
}

fn setup(args: &ServeArguments, directory: &Path, tokens: &TokenStore) -> ServerSetup {
    let files = args.tls_cert.clone().zip(args.tls_key.clone());
    ServerSetup {
        listen: args.listen,
        tls: files.map(|(certificate, key)| TlsFiles { certificate, key }),
        names: args.host.clone(),
        socket: directory.join("socket"),
        tokens: tokens.clone(),
        limits: ServerLimits::for_open_files(raise_open_files(OPEN_FILES)),
    }
}

fn listen_hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::AddrInUse => Some(
            "a home has one server: a second one needs `--listen ADDRESS` and an `AGENTRY_HOME` of its own",
        ),
        io::ErrorKind::InvalidInput => Some(
            "listen on `127.0.0.1`, or name a certificate with `--tls-cert FILE --tls-key FILE`",
        ),
        _ => None,
    }
}

/// Prints the address. A link that opens the page is printed only on a terminal, since it is as good as a token.
fn announce(bound: &BoundServer, tokens: &TokenStore, opens: bool) -> Result<(), CliFailure> {
    print(&format!("serving on {}\n", bound.url()));
    let link = || {
        let code = tokens.issue_code("this machine", TokenScope::Admin);
        let code = code.map_err(|error| CliFailure::new(error_text(&error)))?;
        Ok::<_, CliFailure>(format!("{}#code={code}", bound.url()))
    };
    if io::stdout().is_terminal() {
        print(&format!("open {}\n  (once, within a minute)\n", link()?));
    }
    if opens {
        open_page(&link()?)?;
    }
    Ok(())
}

/// Opens a link in a browser, by way of a private file: other users of the machine see the arguments of programs.
fn open_page(link: &str) -> Result<(), CliFailure> {
    let path = directory()?.join("open.html");
    let page = format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={link}\">\n");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(&path).and_then(|mut file| file.write_all(page.as_bytes()));
    written.map_err(|error| CliFailure::new(error_text(&error)))?;
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = std::process::Command::new(program);
    let null = std::process::Stdio::null;
    command.arg(&path).stdin(null()).stdout(null()).stderr(null());
    let refused = move |why: &str| {
        let hint = "`agentry serve` at a terminal prints a link";
        remark(&format!("warning: no browser was opened: `{program}`: {why}\n  = help: {hint}"));
    };
    match command.spawn() {
        Err(error) => refused(&error_text(&error)),
        // It may stay as long as its browser.
        Ok(mut child) => drop(std::thread::spawn(move || match child.wait() {
            Ok(status) if status.success() => {}
            Ok(status) => refused(&status.to_string()),
            Err(error) => refused(&error_text(&error)),
        })),
    }
    Ok(())
}

/// The time after which a waiting run is parked: the shorter one of the user's and the workspace's configuration.
fn park_after() -> Result<Duration, CliFailure> {
    let disk = DiskWorld::default();
    let own = ResolveSettings::read(&disk).map_err(|(findings, sources)| {
        reported(&findings, &sources, "your configuration has errors")
    })?;
    let team = WorkspaceConfig::read(&disk, &disk.workspace(""));
    let time = |text: Option<String>| {
        let read = |text: String| match milliseconds(&text) {
            Ok(time) => Ok(Duration::from_millis(time)),
            Err(why) => {
                Err(CliFailure::new(format!("`park_after` of `[serve]` is `{text}`")).hint(why))
            }
        };
        text.map(read).transpose()
    };
    let own = time(own.serve.park_after)?.unwrap_or(PARK_AFTER);
    // The workspace may only shorten it.
    Ok(time(team.serve.park_after)?.map_or(own, |team| team.min(own)))
}
