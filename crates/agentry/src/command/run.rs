//! `agentry run`: runs an agent, with real models or from a cassette.

mod agreed_parts;
mod approver;
mod assembly;
mod attempt_log;
mod call_list;
mod call_user;
pub(crate) mod call_words;
pub(crate) mod confinement;
pub(crate) mod control;
pub(crate) mod declared_tools;
pub(crate) mod delegation;
pub(crate) mod first_consent;
pub(crate) mod function;
pub(crate) mod home_tools;
pub(crate) mod limits;
mod line_editor;
mod line_helper;
mod markdown;
mod markdown_table;
pub(crate) mod mcp_servers;
pub(crate) mod memory;
mod memory_tools;
pub(crate) mod models;
mod outer_workspaces;
pub(crate) mod pin_review;
pub(crate) mod pipeline;
pub(crate) mod prepared_agent;
mod recording;
pub(crate) mod replay;
pub(crate) mod run_observers;
mod run_status;
mod screen;
mod script_tools;
pub(crate) mod server_login;
mod server_plan;
mod server_variables;
pub(crate) mod session;
pub(crate) mod skills;
mod standing;
mod stop;
mod survey;
mod talk;
mod talk_commands;
mod talk_requests;
pub(crate) mod terminal;
pub(crate) mod tool_bench;
mod turn_history;
mod typed_lines;
pub(crate) mod workers;

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use agentry_compile::policy::Action;
use agentry_compile::{FileTree as _, StartRefusal, gate, resolved};
use agentry_runtime::cassette::beside;

use crate::args::{RunArguments, RunFormat};
use crate::command::receipts::recording as receipts;
use crate::command::{find_one, usable};
use crate::disk::DiskWorld;
use crate::engine;
use crate::home::recorded_user;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, remark};
use confinement::{ConfinedCommands, SandboxTrial};
use delegation::scope::TreeSettings;
use memory::{MemoryReach, TreeMemories};
use models::{FoundModels, PriceNeed};
use prepared_agent::PreparedAgent;
use session::{RunSession, SessionSetting};

/// The size limit of a prompt from standard input.
const MOST_BYTES: u64 = 1024 * 1024;

pub(crate) fn run(args: &RunArguments) -> CliOutcome {
    control::check_format(args.control, args.format)?;
    let outcome = carry_out(args);
    outcome.inspect_err(|failure| {
        if args.control {
            control::report_refusal(failure);
        }
    })
}

fn carry_out(args: &RunArguments) -> CliOutcome {
    let is_real = args.replay.is_none() && !args.unconfined;
    let _trial = is_real.then(SandboxTrial::begin);
    let mut ground = PreparedAgent::read(&args.agent, args.format_override)
        .inspect_err(|failure| record_unprepared(args, failure))?;
    ground.memory.narrow(memory_reach(args));
    if let Some(cassette) = &args.replay {
        admitted(&ground, true)?;
        let hint = "record it again with `--record` if that is meant";
        return replay::run(&ground, Path::new(cassette), args, hint);
    }
    let started = start(&ground, args);
    match started.inspect_err(|failure| receipts::record_refusal(&ground, args, failure))? {
        StartedRun::Live(session, prompt) => session.run(prompt),
        StartedRun::Recorded(cassette) => {
            let hint = "set a key or start a model server to run it; without a prompt, the recorded run is played";
            replay::run(&ground, &cassette, args, hint)
        }
    }
}

/// A run that may begin.
enum StartedRun<'a> {
    Live(Box<RunSession<'a>>, Option<String>),
    /// No model can be used, so this cassette is played.
    Recorded(PathBuf),
}

/// Everything before the first request to a model.
fn start<'a>(
    ground: &'a PreparedAgent,
    args: &'a RunArguments,
) -> Result<StartedRun<'a>, CliFailure> {
    may_leave_sandbox(ground, args.unconfined)?;
    let commands = ConfinedCommands::new(ground, args.unconfined);
    let money = PriceNeed::under(&limits::limits(&ground.agent, &args.spending, &ground.caps));
    let requested = function::requested(ground, args)?;
    let engine = match pipeline::engine(&ground.agent) {
        Some(engine) => engine,
        None => match models::find(ground, args.model.as_deref(), money)? {
            FoundModels::Plan(plan) => plan.into(),
            FoundModels::Nothing(why) => {
                return without_model(ground, args, why).map(StartedRun::Recorded);
            }
        },
    };
    admitted(ground, false)?;
    commands.admit(ground)?;
    let (function, prompt) = match requested {
        Some((function, prompt)) => (Some(function), Some(prompt)),
        None => (None, prompt(args)?),
    };
    if prompt.is_none() {
        memory::may_converse(ground)?;
    }
    let mut setting = SessionSetting {
        ground,
        format: args.format,
        on_ask: args.on_ask,
        is_controlled: args.control,
        commands,
        record: args.record.as_deref(),
        function,
        without: &args.without,
        accepts_changes: args.accept_changes,
        tree: TreeSettings {
            model: args.model.clone(),
            unconfined: args.unconfined,
            accepts_changes: args.accept_changes,
            counts_money: money == PriceNeed::Limited,
            memories: TreeMemories { reach: memory_reach(args), ..TreeMemories::default() },
            ..TreeSettings::default()
        },
    };
    let session = RunSession::start(&mut setting, args, engine, prompt.as_deref())?;
    Ok(StartedRun::Live(Box::new(session), prompt))
}

/// A cassette may be shared, and a worker may carry out the run of another user.
fn memory_reach(args: &RunArguments) -> MemoryReach {
    if engine::run_user() != Some(recorded_user()) {
        MemoryReach::Nothing
    } else if args.record.is_some() {
        MemoryReach::Agent
    } else {
        MemoryReach::User
    }
}

/// Writes the receipt of an agent that could be read and not prepared, because it is refused.
fn record_unprepared(args: &RunArguments, failure: &CliFailure) {
    let disk = DiskWorld::default();
    let Ok(found) = find_one(&disk, &args.agent, args.format_override) else { return };
    let Ok(compiled) = usable(&disk, &found) else { return };
    let path = disk.absolute(&found.path);
    let name = resolved(&compiled).name().to_owned();
    receipts::record_unprepared(args, (&path, &name), failure);
}

/// Refuses an agent that must not start. A replay executes nothing, so it needs no programs.
pub(crate) fn admitted(ground: &PreparedAgent, replayed: bool) -> Result<(), CliFailure> {
    let is_denied = |name: &str| ground.variable(name) == Action::Deny;
    // Its start-up tool runs later: after consent, before the first request to a model.
    let mut agent = ground.agent.clone();
    agent.requirements.startup = None;
    let remarks = match gate(&agent, &is_set, &is_denied) {
        Ok(remarks) => remarks,
        Err(StartRefusal::Unset(_) | StartRefusal::Denied(_)) if replayed => Vec::new(),
        Err(closed) => {
            let hint = match &closed {
                StartRefusal::Unset(_) => Some("set it and run the agent again".to_owned()),
                _ => None,
            };
            let message = format!("`{}` does not start: {closed}", ground.path());
            return Err(CliFailure::new(message).hint_opt(hint).refused());
        }
    };
    remarks.iter().for_each(|line| remark(&format!("warning: `{}`: {line}", ground.path())));
    Ok(())
}

/// Whether a variable of the environment is set and not empty.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Refuses `--unconfined` for an agent whose commands are granted only inside the sandbox.
pub(crate) fn may_leave_sandbox(
    ground: &PreparedAgent,
    unconfined: bool,
) -> Result<(), CliFailure> {
    if !unconfined || !ground.agent.policy.needs_sandbox() {
        return Ok(());
    }
    let message = format!(
        "`{}` may run commands only in the sandbox (`exec: sandboxed`), so `--unconfined` is refused",
        ground.path()
    );
    let hint = "run it without `--unconfined`; `agentry doctor` says what the sandbox needs here. If \
        its commands may do everything that you may, write `exec: full`";
    Err(CliFailure::new(message).hint(hint).refused())
}

/// The prompt: the argument, or standard input if it is piped. `None` starts a conversation.
fn prompt(args: &RunArguments) -> Result<Option<String>, CliFailure> {
    // A program that steers the run sends its messages as commands.
    if args.prompt.is_some() || args.control {
        return Ok(args.prompt.clone());
    }
    if terminal::TerminalView::is_attended() && args.format == RunFormat::Human {
        return Ok(None);
    }
    let missing =
        || CliFailure::new("there is no prompt").hint("write the task: `agentry run AGENT PROMPT`");
    if io::stdin().is_terminal() {
        return Err(missing());
    }
    let mut text = String::new();
    let read = io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| {
        CliFailure::new(format!("standard input cannot be read: {}", error_text(&error)))
    })?;
    if text.len() as u64 > MOST_BYTES {
        return Err(CliFailure::new("the prompt from standard input is longer than 1 MiB")
            .hint("put it into a file, and ask the agent to read that"));
    }
    if text.trim().is_empty() { Err(missing()) } else { Ok(Some(text)) }
}

/// The cassette beside the agent; without one, reports which models were searched for.
fn without_model(
    ground: &PreparedAgent,
    args: &RunArguments,
    looked_for: Vec<String>,
) -> Result<PathBuf, CliFailure> {
    // A user who names a model does not want a recording, and neither does a program that steers the run.
    let takes_recording = args.model.is_none() && !args.control;
    let beside = takes_recording.then(|| cassettes(ground).ok()).flatten();
    let cassettes = beside.unwrap_or_default();
    // First of all: an agent that must not start is refused, not reported as lacking a model.
    admitted(ground, !cassettes.is_empty())?;
    let Some(first) = cassettes.first() else {
        let beside = ground.path().trim_end_matches('/');
        let hint = match args.model {
            Some(_) => {
                "name it as `provider/model`, and set the key of the provider or start its server; \
                `agentry models` lists what can be used here"
                    .to_owned()
            }
            None => format!(
                "set one of these variables, such as `export ANTHROPIC_API_KEY=…`, or start a model server; \
                 no recorded run `{beside}.cassette.*` can be played instead"
            ),
        };
        return Err(models::unusable(ground, looked_for).hint(hint));
    };
    remark(&format!(
        "playing the recorded run `{}`; nothing is executed",
        first.strip_prefix(".").unwrap_or(first).display()
    ));
    remark(
        "  = help: no model can be used here; `agentry models` lists the keys and servers to set up",
    );
    Ok(first.clone())
}

/// The cassettes beside an agent.
pub(crate) fn cassettes(ground: &PreparedAgent) -> io::Result<Vec<std::path::PathBuf>> {
    beside(Path::new(ground.path().trim_end_matches('/')))
}

/// The exit code after a run.
pub(crate) fn exit(ending: &agentry_runtime::RunEnding) -> ExitKind {
    use agentry_runtime::RunEnding;
    match ending {
        RunEnding::Done => ExitKind::Done,
        RunEnding::Failed { .. } => ExitKind::Findings,
        RunEnding::OverBudget { .. } | RunEnding::Parked { .. } => ExitKind::Refused,
        RunEnding::Cancelled => ExitKind::Interrupted,
    }
}
