//! `agentry resume`: continues a run that was stopped, killed, parked or has ended, with no more rights
//! than it began with.

use std::path::Path;
use std::sync::Arc;

use agentry_compile::model::Format;
use agentry_home::HomeLayout;
use agentry_runtime::journal::RunDescription;
use agentry_runtime::rule_lines::{widened, written};
use agentry_runtime::{RunEvent, TimedEvent};

use crate::args::{AskFallback, ResumeArguments};
use crate::command::receipts::recording;
use crate::command::run::confinement::ConfinedCommands;
use crate::command::run::delegation::scope::TreeSettings;
use crate::command::run::first_consent::standing;
use crate::command::run::memory::{TreeMemories, may_converse};
use crate::command::run::models::PriceNeed;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::session::{RunSession, SessionSetting};
use crate::command::run::{admitted, control, function, may_leave_sandbox, models, pipeline};
use crate::command::runs::{failed, find};
use crate::engine;
use crate::home::{current_user, home};
use crate::output::{CliFailure, CliOutcome, error_text, remark};

pub(crate) fn run(args: &ResumeArguments) -> CliOutcome {
    control::check_format(args.control, args.format)?;
    let outcome = carry_on(args);
    outcome.inspect_err(|failure| {
        if args.control {
            control::report_refusal(failure);
        }
    })
}

fn carry_on(args: &ResumeArguments) -> CliOutcome {
    let home = home()?;
    recording::collect(&HomeLayout::new(&home));
    engine::refresh(&home)?;
    let id = find(&home, &args.id)?;
    engine::git_workspace::admit_here(&home, &id)?;
    // Opening locks the journal: no other process can continue this run.
    let (mut journal, about, happened) =
        engine::open_journal(&home, &id, Arc::default()).map_err(failed)?;
    if let Some(parent) = &about.parent {
        let message = format!("run `{id}` works for run `{}`, and continues with it", parent.run);
        let hint = format!("`agentry resume {}` continues both", parent.run);
        return Err(CliFailure::new(message).hint(hint).refused());
    }
    let settings = &about.settings;
    let mut ground = ground(&about)?;
    let memories = TreeMemories::of_earlier(&about, current_user()?.as_str());
    ground.memory.narrow(memories.reach);
    let ground = ground;
    if args.prompt.is_some() {
        may_converse(&ground)?;
    }
    ground.report_leftovers_of_killed_runs();
    ground.report_masked_secrets();
    admitted(&ground, false)?;
    may_leave_sandbox(&ground, settings.unconfined)?;
    let commands = ConfinedCommands::new(&ground, settings.unconfined);
    commands.admit(&ground)?;
    unchanged(&ground, &about, args.accept_changes)?;
    let agreed = standing(&ground, settings.unconfined, args.accept_changes)?;
    let money = money(&happened);
    let engine = match pipeline::engine(&ground.agent) {
        Some(engine) => engine,
        None => models::plan(&ground, settings.model.as_deref(), money)?.into(),
    };
    let function = settings.function.as_deref().map(|name| function::named(&ground, name));
    journal.redact_with(Arc::clone(&ground.redactor));
    let on_ask = if settings.parks { AskFallback::Park } else { AskFallback::Deny };
    let setting = SessionSetting {
        ground: &ground,
        format: args.format,
        on_ask: args.on_ask.unwrap_or(on_ask),
        is_controlled: args.control,
        commands,
        record: None,
        function: function.transpose()?,
        without: &settings.without,
        tree: TreeSettings {
            model: settings.model.clone(),
            unconfined: settings.unconfined,
            accepts_changes: args.accept_changes,
            is_resumed: true,
            counts_money: money == PriceNeed::Limited,
            agreed: Arc::new(agreed),
            memories,
        },
        accepts_changes: args.accept_changes,
    };
    let memory = settings.memory.clone();
    let prompt = args.prompt.clone().or_else(|| unsent_prompt(&about, &happened));
    RunSession::over(&setting, engine, journal, memory.as_deref())?.go_on(
        happened,
        args,
        (prompt, about.prompt.is_none()),
    )
}

/// The prompt of a run whose process ended before it was sent.
fn unsent_prompt(about: &RunDescription, happened: &[TimedEvent]) -> Option<String> {
    let is_message = |it: &TimedEvent| matches!(it.event, RunEvent::UserSent { .. });
    let is_function = about.settings.function.is_some();
    about.prompt.clone().filter(|_| !is_function && !happened.iter().any(is_message))
}

/// Reads the agent from the directory in which the run was started.
fn ground(about: &RunDescription) -> Result<PreparedAgent, CliFailure> {
    let settings = &about.settings;
    let directory = settings.directory.as_ref().unwrap_or(&about.workspace);
    enter(directory)?;
    let format: Option<Format> = settings.format.as_deref().and_then(|name| name.parse().ok());
    let ground = PreparedAgent::read(&about.agent, format)?;
    if ground.workspace == about.workspace {
        return Ok(ground);
    }
    let message = format!(
        "the run belongs to the workspace `{}`, which is `{}` now",
        about.workspace.display(),
        ground.workspace.display()
    );
    Err(CliFailure::new(message).hint("run it anew").refused())
}

fn enter(directory: &Path) -> Result<(), CliFailure> {
    std::env::set_current_dir(directory).map_err(|error| {
        let message =
            format!("the run cannot continue in `{}`: {}", directory.display(), error_text(&error));
        CliFailure::new(message).refused()
    })
}

/// Refuses an agent whose definition changed or whose policy became wider, unless the user accepts it.
fn unchanged(
    ground: &PreparedAgent,
    about: &RunDescription,
    accepted: bool,
) -> Result<(), CliFailure> {
    let changed = ground.digest != about.digest;
    let wider = widened(&about.settings.policy, &written(&ground.judge));
    if !changed && wider.is_empty() {
        return Ok(());
    }
    wider.iter().for_each(|line| remark(line));
    if accepted {
        return Ok(());
    }
    let (message, hint) = if changed {
        let message = format!("`{}` is not what it was when the run began", about.agent);
        let hint =
            "run it anew, bring the definition back to what it was, or say `--accept-changes`";
        (message, hint)
    } else {
        let message = format!("`{}` may do other things than when the run began", about.agent);
        (message, "`--accept-changes` continues with its current permissions")
    };
    Err(CliFailure::new(message).hint(hint).refused())
}

/// Whether the run began with a cost limit.
fn money(happened: &[TimedEvent]) -> PriceNeed {
    let limited = |happened: &TimedEvent| match &happened.event {
        RunEvent::Began { limits, .. } => limits.cost.is_some(),
        _ => false,
    };
    if happened.iter().any(limited) { PriceNeed::Limited } else { PriceNeed::Free }
}
