//! `agentry resume`: goes on with a run that was stopped, killed or put aside.

use std::sync::Arc;

use agentry_runtime::consent::Consents;
use agentry_runtime::journal::{Journal, find};

use crate::args::Resume;
use crate::command::run::ground::Ground;
use crate::command::run::session::{Session, Setting, commands};
use crate::command::run::{admitted, models};
use crate::home::agentry_home;
use crate::output::{Failure, Outcome};

pub(crate) fn run(args: &Resume) -> Outcome {
    let home = agentry_home().ok_or_else(|| Failure::new("there is no home directory"))?;
    let failed = |error: agentry_runtime::journal::JournalError| Failure::new(error.to_string());
    let id = find(&home, &args.id).map_err(failed)?;
    let (_, about, _) = Journal::open(&home, &id, Arc::default()).map_err(failed)?;
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
    if !Consents::of(&home).has(&ground.digest, unconfined) {
        let message = format!("consent to `{}` was taken back", about.agent);
        return Err(Failure::new(message).hint("run it anew to be asked").refused());
    }
    let plan = models::plan(&ground, model)?;
    let (journal, _, happened) =
        Journal::open(&home, &id, Arc::clone(&ground.redactor)).map_err(failed)?;
    let setting = Setting {
        ground: &ground,
        format: args.format,
        on_ask: args.on_ask,
        commands: commands(&ground, unconfined),
        unconfined,
        record: None,
    };
    Session::over(setting, plan, journal)?.go_on(happened, args.prompt.clone())
}
