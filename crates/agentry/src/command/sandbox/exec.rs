//! `agentry sandbox exec`: runs one command confined as in a run of the agent. Never runs it unconfined.

use agentry_posix::fd::{AsFd as _, OwnedFd};
use agentry_posix::unix::fs::DirBuilderExt as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_compile::policy::{Action, Section};
use agentry_compile::render::shell_word;
use agentry_compile::targets::guard::why;
use agentry_compile::text::report::visible;
use agentry_posix::signal::{SignalKind, signal};
use agentry_runtime::commands::{CommandConfinement, CommandStarter};
use agentry_runtime::quarantine::QuarantineReport;
use agentry_runtime::tool::{CommandStreams, StartedCommand};

use crate::args::SandboxExecArguments;
use crate::command::run::admitted;
use crate::command::run::confinement::ConfinedCommands;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::session::now;
use crate::command::run::workers::workers;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, remark};

pub(super) fn run(args: &SandboxExecArguments) -> CliOutcome {
    let ground =
        PreparedAgent::read_in(&args.agent, args.format_override, args.project.as_deref())?;
    pinned(&ground, args.digest.as_deref())?;
    admitted(&ground, false)?;
    let directory = directory(&ground)?;
    permitted(&ground, &args.command, &directory)?;
    let confined = ConfinedCommands::new(&ground, false);
    if let CommandConfinement::Refusing(reason) = confined.confined_by() {
        let message = format!("the command was not run: this machine cannot confine it: {reason}");
        return Err(CliFailure::new(message).hint("`agentry doctor` says what to do").refused());
    }
    let quarantine = ExecQuarantine::new(&ground)?;
    let report = |report: &QuarantineReport| {
        remark(&format!("warning: {}", visible(&report.to_string())));
    };
    let commands = confined.of_run(&ground, &quarantine.0, Box::new(report));
    execute(&commands, args.command.clone(), directory)
}

/// Refuses a definition with another digest than the caller has judged.
fn pinned(ground: &PreparedAgent, digest: Option<&str>) -> Result<(), CliFailure> {
    let plain = |text: &str| text.strip_prefix("sha256:").unwrap_or(text).to_owned();
    if digest.is_none_or(|digest| plain(digest) == plain(&ground.digest)) {
        return Ok(());
    }
    let message = format!("`{}` is not the definition that was rendered", ground.path());
    Err(CliFailure::new(message).hint("run `agentry render`").refused())
}

/// The current directory, which must be in the workspace or allowed by the policy.
fn directory(ground: &PreparedAgent) -> Result<PathBuf, CliFailure> {
    let read = std::env::current_dir().and_then(fs::canonicalize);
    let directory = read.map_err(|error| {
        CliFailure::new(format!("the current directory cannot be read: {}", error_text(&error)))
    })?;
    let is_inside = directory.starts_with(&ground.workspace);
    let is_allowed = || {
        let path = directory.to_string_lossy();
        ground.verdict(Section::ExternalDirectory, &path, &directory).action == Action::Allow
    };
    if is_inside || is_allowed() {
        return Ok(directory);
    }
    let message = format!(
        "`{}` is outside the workspace `{}` of the agent",
        directory.display(),
        ground.workspace.display()
    );
    Err(CliFailure::new(message).hint("run the command inside the workspace").refused())
}

/// Refuses what the policy denies. The caller approves of what it asks about by this call.
fn permitted(
    ground: &PreparedAgent,
    command: &[String],
    directory: &Path,
) -> Result<(), CliFailure> {
    let words: Vec<String> = command.iter().map(|word| shell_word(word)).collect();
    let verdict = ground.verdict(Section::Bash, &words.join(" "), directory);
    if verdict.action != Action::Deny {
        return Ok(());
    }
    Err(CliFailure::new(visible(&why(&verdict)).into_owned()).refused())
}

/// The directory for what a command creates under a protected name; removed if there is nothing in it.
struct ExecQuarantine(PathBuf);

impl ExecQuarantine {
    fn new(ground: &PreparedAgent) -> Result<Self, CliFailure> {
        // No run has a dot in its name, so that no command takes this for one.
        let name = format!("exec.{}-{}", now(), std::process::id());
        let directory = ground.home.join("runs").join(name);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(|error| {
            CliFailure::new(format!(
                "`{}` cannot be made: {}",
                directory.display(),
                error_text(&error)
            ))
        })?;
        Ok(Self(directory))
    }
}

impl Drop for ExecQuarantine {
    fn drop(&mut self) {
        if !agentry_runtime::quarantine::has_items(&self.0) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Runs a command to its end, or until a signal.
fn execute(
    commands: &Arc<dyn CommandStarter>,
    command: Vec<String>,
    directory: PathBuf,
) -> CliOutcome {
    let failed = |error: io::Error| {
        CliFailure::new(format!("the command was not run: {}", error_text(&error))).refused()
    };
    workers()?.block_on(async {
        let (mut terminate, mut hang_up) = (
            signal(SignalKind::terminate()).map_err(failed)?,
            signal(SignalKind::hangup()).map_err(failed)?,
        );
        let streams = streams().map_err(failed)?;
        let StartedCommand { ended, guard } =
            commands.start(command, directory, streams).map_err(failed)?;
        let outcome = tokio::select! {
            code = ended => code.map(exit_of).map_err(failed),
            _ = tokio::signal::ctrl_c() => Ok(ExitKind::Interrupted),
            _ = terminate.recv() => Ok(ExitKind::Interrupted),
            _ = hang_up.recv() => Ok(ExitKind::Interrupted),
        };
        // Ends every process of the command, and restores protected files.
        drop(guard);
        outcome
    })
}

/// The exit code of the command; that of a shell for one that was killed.
fn exit_of(code: Option<i32>) -> ExitKind {
    const KILLED: u8 = 137;
    ExitKind::Command(code.map_or(KILLED, |code| u8::try_from(code).unwrap_or(u8::MAX)))
}

/// The streams of this process.
fn streams() -> io::Result<CommandStreams> {
    let copy = |stream: agentry_posix::fd::BorrowedFd<'_>| -> io::Result<OwnedFd> {
        stream.try_clone_to_owned()
    };
    Ok(CommandStreams {
        input: copy(io::stdin().as_fd())?,
        output: copy(io::stdout().as_fd())?,
        errors: copy(io::stderr().as_fd())?,
    })
}
