//! `agentry runs`: lists runs, and what they did.

mod prune;
mod report;
mod result;
mod show;
mod tail;
mod undo;

use std::collections::BTreeMap;
use std::path::Path;

use agentry_compile::text::report::visible;
use agentry_home::HomeLayout;
use agentry_home::receipt::{AgentChain, RunRow, first_line};
use agentry_runtime::RunEvent;
use agentry_runtime::budget::dollars;
use agentry_runtime::journal::{
    self, DisplayTime, JournalError, JournalFollower, RunDescription, RunState, RunSummary,
};
use serde_json::{Value, json};

use super::receipts::recording;
use super::suggestion::one_of;
use crate::args::{ResultFormat, RunsArguments, RunsCommand};
use crate::engine;
use crate::home::{current_user, home};
use crate::output::{
    CliFailure, CliOutcome, ExitKind, columns, cut, note, print, print_json, remark,
    terminal_columns,
};

/// The most characters of a prompt and of an outcome in the list.
const MOST_PROMPT: usize = 60;
const MOST_OUTCOME: usize = 80;
const NARROW_OUTCOME: usize = 30;
/// The columns of a terminal on which a run has all its columns in one line.
const WIDE_TERMINAL: usize = 180;

pub(crate) fn run(args: &RunsArguments) -> CliOutcome {
    // Without its engine, the copies of this home are shown.
    if let Err(failure) = engine::refresh(&home()?) {
        remark(&format!("warning: {}", failure.message));
    }
    // First, so that a killed run has its receipt before it is shown or pruned.
    recording::collect(&HomeLayout::new(home()?));
    match &args.command {
        None => list(args),
        Some(RunsCommand::Show(args)) => show::run(args),
        Some(RunsCommand::Tail(args)) => tail::run(args),
        Some(RunsCommand::Prune(args)) => prune::run(args),
        Some(RunsCommand::Undo(args)) => undo::run(args),
        Some(RunsCommand::Result(args)) => result::run(args),
    }
}

fn list(args: &RunsArguments) -> CliOutcome {
    let home = home()?;
    let layout = HomeLayout::new(&home);
    let runs = journal::list(&home).map_err(failed)?;
    let mut runs: Vec<_> = runs.into_iter().map(shown).collect();
    runs.retain(|run| args.agent.as_ref().is_none_or(|agent| is_of(&layout, run, agent)));
    // The others stay in their order, the oldest first.
    runs.sort_by_key(|run| run.state != RunState::Parked);
    let receipts = recording::run_rows(&layout);
    let listed: Vec<_> = runs.iter().map(|run| ListedRun::new(&home, run, &receipts)).collect();
    match args.format {
        ResultFormat::Json => print_json(&Value::Array(listed.iter().map(full_entry).collect())),
        ResultFormat::Human if listed.is_empty() => note("there are no runs"),
        ResultFormat::Human => {
            let head = ["run", "started", "agent", "outcome", "cost", "receipt", "prompt"];
            let head = head.map(str::to_owned);
            let rows = [head].into_iter().chain(listed.iter().map(ListedRun::row));
            let rows: Vec<_> = match terminal_columns() {
                Some(columns) if columns < WIDE_TERMINAL => rows.map(narrow).collect(),
                _ => rows.map(Vec::from).collect(),
            };
            print(&columns(&rows));
        }
    }
    Ok(ExitKind::Done)
}

/// A row without the time, which the id names, and the receipt, which `agentry receipts list` has.
fn narrow(row: [String; 7]) -> Vec<String> {
    let [run, _, agent, outcome, cost, _, prompt] = row;
    vec![run, agent, cut(&outcome, NARROW_OUTCOME), cost, prompt]
}

/// Whether a run is one of this agent: by its id, its name or its path.
fn is_of(layout: &HomeLayout, run: &RunSummary, agent: &str) -> bool {
    let RunDescription { agent: path, name, .. } = &run.about;
    let given = agent.trim_end_matches('/');
    let chain = AgentChain::of(layout, path, name);
    [chain.as_str(), chain.identifier(), name, path.trim_end_matches('/')].contains(&given)
        || std::path::absolute(given).is_ok_and(|given| given == Path::new(path))
}

/// A run in the list, with what its receipt adds.
struct ListedRun<'a> {
    run: &'a RunSummary,
    receipt: Option<&'a RunRow>,
    /// The first line of what the user asked for.
    prompt: Option<String>,
}

impl<'a> ListedRun<'a> {
    fn new(home: &Path, run: &'a RunSummary, receipts: &'a BTreeMap<String, RunRow>) -> Self {
        let prompt = match &run.about.prompt {
            _ if is_withheld(run) => None,
            Some(prompt) => Some(first_line(prompt)),
            None => first_message(home, &run.id),
        };
        Self { run, receipt: receipts.get(&run.id), prompt }
    }

    fn row(&self) -> [String; 7] {
        let Self { run, receipt, prompt } = self;
        let detail = run.detail.as_deref().and_then(|detail| detail.lines().next());
        let outcome = match (run.state, detail) {
            (state, Some(detail)) => format!("{}: {detail}", state.as_str()),
            (state, None) => state.as_str().to_owned(),
        };
        let cost = receipt.and_then(|receipt| receipt.cost).map(dollars).unwrap_or_default();
        let id = receipt.map(|receipt| receipt.receipt.clone()).unwrap_or_default();
        let prompt = match &run.about.settings.user {
            Some(owner) if is_withheld(run) => format!("(private to {owner})"),
            _ => cut(prompt.as_deref().unwrap_or_default(), MOST_PROMPT),
        };
        let outcome = cut(&visible(&outcome), MOST_OUTCOME);
        let started = started(run).unwrap_or_default();
        let prompt = visible(&prompt).into_owned();
        [run.id.clone(), started, name(run), outcome, cost, id, prompt]
    }
}

/// Whether a run may repeat memories of another user, so that only its state is shown.
pub(crate) fn is_withheld(run: &RunSummary) -> bool {
    let owner = run.about.settings.user.as_ref();
    owner.is_some_and(|owner| admit_owner(&run.id, owner).is_err())
}

/// Leaves out what may repeat memories of another user: what a run waits for, or why it failed.
fn shown(mut run: RunSummary) -> RunSummary {
    if is_withheld(&run) {
        run.detail = None;
    }
    run
}

/// A row of the list with its receipt, as JSON.
fn full_entry(listed: &ListedRun<'_>) -> Value {
    let mut entry = entry(listed.run);
    if let Some(fields) = entry.as_object_mut() {
        let receipt = listed.receipt.filter(|_| listed.run.state != RunState::Running);
        #[expect(clippy::cast_precision_loss, reason = "no run costs 2^53 millionths of a dollar")]
        let cost = receipt.and_then(|it| it.cost).map(|cost| cost as f64 / 1_000_000.0);
        fields.insert("prompt".to_owned(), json!(listed.prompt));
        fields.insert("cost".to_owned(), json!(cost));
        fields.insert("receipt".to_owned(), json!(receipt.map(|it| &it.receipt)));
    }
    entry
}

/// A run as JSON.
fn entry(run: &RunSummary) -> Value {
    let mut entry = json!({
        "id": run.id,
        "agent": (!run.about.agent.is_empty()).then_some(&run.about.agent),
        "state": run.state.as_str(),
        "started": started(run),
    });
    if let (Some(parent), Some(fields)) = (&run.about.parent, entry.as_object_mut()) {
        fields.insert("parent".to_owned(), json!(parent.run));
    }
    // The question of a parked run, the reason of a failed one.
    if let (Some(detail), Some(fields)) = (&run.detail, entry.as_object_mut()) {
        fields.insert("detail".to_owned(), json!(detail));
    }
    entry
}

/// The start time of a run; `None` if its journal has none.
fn started(run: &RunSummary) -> Option<String> {
    (run.about.started > 0).then(|| DisplayTime(run.about.started).to_string())
}

/// The short name of the agent of a run.
fn name(run: &RunSummary) -> String {
    let about = &run.about;
    let name = if about.name.is_empty() { &about.agent } else { &about.name };
    let name = if name.is_empty() { "?".to_owned() } else { visible(name).into_owned() };
    match &about.parent {
        Some(parent) => format!("{name} (for {})", end(&parent.run)),
        None => name,
    }
}

/// Finds the run that the user means.
pub(crate) fn find(home: &Path, given: &str) -> Result<String, CliFailure> {
    let id = journal::find(home, given).map_err(|error| {
        let is_unknown = matches!(error, JournalError::NoRun(_));
        let failure = failed(error);
        if !is_unknown {
            return failure;
        }
        let known = journal::list(home).unwrap_or_default();
        if known.is_empty() {
            return failure.hint("there are no runs yet: `agentry run AGENT` makes one");
        }
        // Users type the end of an identifier, so suggestions include it.
        let known = known.iter().flat_map(|run| [run.id.as_str(), end(&run.id)]);
        failure.hint(one_of(given, known, "`agentry runs` lists them"))
    })?;
    admit_user(home, &id)?;
    Ok(id)
}

/// Refuses a run that read what another user taught in private. A journal that cannot be read is reported later.
fn admit_user(home: &Path, id: &str) -> Result<(), CliFailure> {
    match described(home, id).and_then(|about| about.settings.user) {
        Some(owner) => admit_owner(id, &owner),
        None => Ok(()),
    }
}

/// What a run was started with; `None` if its journal cannot be read.
pub(crate) fn described(home: &Path, id: &str) -> Option<RunDescription> {
    JournalFollower::open(home, id).ok().map(|(_, about)| about)
}

/// Refuses a run with the memories of another user.
pub(crate) fn admit_owner(id: &str, owner: &str) -> Result<(), CliFailure> {
    let current = current_user()?;
    if owner == current.as_str() {
        return Ok(());
    }
    let message =
        format!("run `{id}` has memories of the user `{}`, which are private", visible(owner));
    Err(CliFailure::new(message).hint(format!("you are `{}`", current.as_str())).refused())
}

/// The first line that the user sent in a conversation; `None` if there is none, or its journal cannot be read.
pub(crate) fn first_message(home: &Path, id: &str) -> Option<String> {
    let events = JournalFollower::open(home, id).and_then(|(mut follow, _)| follow.more()).ok()?;
    events.into_iter().find_map(|happened| match happened.event {
        RunEvent::UserSent { text } => text.lines().next().map(str::to_owned),
        _ => None,
    })
}

/// The part of an identifier that distinguishes runs of the same moment.
fn end(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

/// Converts an error of the journal to a failure with its exit code.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(crate) fn failed(error: JournalError) -> CliFailure {
    let failure = CliFailure::new(error.to_string()).hint_opt(error.hint().map(str::to_owned));
    match error {
        JournalError::Busy { .. } => failure.refused(),
        JournalError::Damaged { .. } => failure.finding(),
        JournalError::NoRun(_)
        | JournalError::NeverBegan(_)
        | JournalError::Ambiguous { .. }
        | JournalError::Newer { .. }
        | JournalError::Io { .. }
        | JournalError::Database { .. }
        | JournalError::Engine { .. } => failure,
    }
}
