//! `agentry resume`: goes on with a run that was stopped, killed or put aside.

use std::sync::Arc;

use agentry_runtime::journal::{Journal, find};
use agentry_runtime::{Event, Happened};

use crate::args::Resume;
use crate::command::run::ground::Ground;
use crate::command::run::models::Money;
use crate::command::run::session::{Session, Setting, commands};
use crate::command::run::{admitted, models};
use crate::home::agentry_home;
use crate::output::{Failure, Outcome};

pub(crate) fn run(args: &Resume) -> Outcome {
    let home = agentry_home().ok_or_else(|| Failure::new("there is no home directory"))?;
    let failed = |error: agentry_runtime::journal::JournalError| Failure::new(error.to_string());
    let id = find(&home, &args.id).map_err(failed)?;
    let (_, about, before) = Journal::open(&home, &id, Arc::default()).map_err(failed)?;
    let ground = Ground::read(&about.agent, None)?;
    if ground.digest != about.digest {
        let message = format!("`{}` is not what it was when the run began", about.agent);
        let hint = "run it anew, or bring the definition back to what it was";
        return Err(Failure::new(message).hint(hint).refused());
    }
    admitted(&ground, false)?;
    let setting = |name: &str| about.settings.get(name);
    let model = setting("model").and_then(|model| model.as_str());
    let unconfined = setting("unconfined").and_then(serde_json::Value::as_bool).unwrap_or(false);
    let limited = |happened: &Happened| match &happened.event {
        Event::Began { limits, .. } => limits.cost.is_some(),
        _ => false,
    };
    let money = if before.iter().any(limited) { Money::Limited } else { Money::Free };
    let plan = models::plan(&ground, model, money)?;
    let (journal, _, happened) =
        Journal::open(&home, &id, Arc::clone(&ground.redactor)).map_err(failed)?;
    let setting = Setting {
        ground: &ground,
        format: args.format,
        on_ask: args.on_ask,
        commands: commands(&ground, unconfined),
        record: None,
    };
    Session::over(setting, plan, journal)?.go_on(happened, args.prompt.clone())
}
