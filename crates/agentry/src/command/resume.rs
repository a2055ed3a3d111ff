//! `agentry resume`: goes on with a run that was stopped, killed, put aside or has ended, under no more
//! than it began with.

use std::path::Path;
use std::sync::Arc;

use agentry_compile::model::Format;
use agentry_runtime::consent::Consents;
use agentry_runtime::journal::{About, Journal};
use agentry_runtime::written::{widened, written};
use agentry_runtime::{Event, Happened};

use crate::args::{OnAsk, Resume};
use crate::command::run::confined::Confined;
use crate::command::run::ground::Ground;
use crate::command::run::models::Money;
use crate::command::run::session::{Session, Setting};
use crate::command::run::{admitted, models};
use crate::command::runs::{failed, find};
use crate::home::agentry_home;
use crate::output::{Failure, Outcome, remark, said};

pub(crate) fn run(args: &Resume) -> Outcome {
    let home = agentry_home().ok_or_else(|| Failure::new("there is no home directory"))?;
    let id = find(&home, &args.id)?;
    // From here on nobody else goes on with it.
    let (mut journal, about, happened) =
        Journal::open(&home, &id, Arc::default()).map_err(failed)?;
    let settings = &about.settings;
    let ground = ground(&about)?;
    ground.tell_what_killed_runs_left();
    admitted(&ground, false)?;
    unchanged(&ground, &about, args.accept_changes)?;
    if !Consents::of(&home).has(&ground.digest, settings.unconfined) {
        let message = format!("nobody consents to `{}` any more", about.agent);
        return Err(Failure::new(message).hint("run it anew to be asked").refused());
    }
    let plan = models::plan(&ground, settings.model.as_deref(), money(&happened))?;
    journal.redact_with(Arc::clone(&ground.redactor));
    let on_ask = if settings.parks { OnAsk::Park } else { OnAsk::Deny };
    let setting = Setting {
        ground: &ground,
        format: args.format,
        on_ask: args.on_ask.unwrap_or(on_ask),
        commands: Confined::new(&ground, settings.unconfined),
        record: None,
    };
    Session::over(&setting, plan, journal)?.go_on(happened, args, about.prompt.is_none())
}

/// The agent, seen from where the run was started.
fn ground(about: &About) -> Result<Ground, Failure> {
    let settings = &about.settings;
    let directory = settings.directory.as_ref().unwrap_or(&about.workspace);
    enter(directory)?;
    let format: Option<Format> = settings.format.as_deref().and_then(|name| name.parse().ok());
    let ground = Ground::read(&about.agent, format)?;
    if ground.workspace == about.workspace {
        return Ok(ground);
    }
    let message = format!(
        "the run belongs to the workspace `{}`, which is `{}` now",
        about.workspace.display(),
        ground.workspace.display()
    );
    Err(Failure::new(message).hint("run it anew").refused())
}

fn enter(directory: &Path) -> Result<(), Failure> {
    std::env::set_current_dir(directory).map_err(|error| {
        let message =
            format!("the run cannot go on in `{}`: {}", directory.display(), said(&error));
        Failure::new(message).refused()
    })
}

/// Refuses what is not what the run began with, unless it can only do less now.
fn unchanged(ground: &Ground, about: &About, accepted: bool) -> Result<(), Failure> {
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
        (message, "`--accept-changes` goes on with what it may do now")
    };
    Err(Failure::new(message).hint(hint).refused())
}

/// Whether the run began under a limit of money.
fn money(happened: &[Happened]) -> Money {
    let limited = |happened: &Happened| match &happened.event {
        Event::Began { limits, .. } => limits.cost.is_some(),
        _ => false,
    };
    if happened.iter().any(limited) { Money::Limited } else { Money::Free }
}
