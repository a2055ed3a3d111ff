//! Plays a cassette: the agent as it is now, with recorded answers of the model and the tools.

use std::path::Path;
use std::sync::{Arc, Mutex};

use agentry_compile::{PromptPart, SpendingCaps};
use agentry_runtime::approval::Approvals;
use agentry_runtime::budget_pot::BudgetShare;
use agentry_runtime::cassette::{CassetteDifference, RecordedPart, Tape};
use agentry_runtime::commands::RefusedCommands;
use agentry_runtime::driver::interfaces::{
    AbsentApprover, DriverParts, EventLog, OutputSink, RunModels as _, RunTools as _,
};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::driver::replay::ReplayedWorld;
use agentry_runtime::driver::{BrokenRun, RunDriver};
use agentry_runtime::provider::http;
use agentry_runtime::tool::javascript::replayed_tools;
use agentry_runtime::tool::{BuiltInTool, SearchClient};
use agentry_runtime::{RunEnding, RunPhase, TimedEvent};

use super::declared_tools::built_in;
use super::limits::{began, limits};
use super::prepared_agent::{PreparedAgent, RunSurroundings};
use super::script_tools::scripts;
use super::session::{broken, runtime, sink};
use super::terminal::{TerminalView, clean};
use super::{exit, skills};
use crate::args::{RunArguments, SpendingArguments};
use crate::output::{CliFailure, CliOutcome, remark};

/// A log that keeps nothing, since a replay has no journal.
struct NullLog;

impl EventLog for NullLog {
    fn append(&mut self, _: &TimedEvent, _: bool) -> Result<(), String> {
        Ok(())
    }
}

/// The result of a replay.
pub(crate) struct ReplayOutcome {
    /// How the run ended.
    pub(crate) ending: RunEnding,
    /// The first difference from the recording.
    pub(crate) difference: Option<CassetteDifference>,
}

/// Plays a cassette for the user.
pub(crate) fn run(
    ground: &PreparedAgent,
    cassette: &Path,
    args: &RunArguments,
    hint: &str,
) -> CliOutcome {
    let terminal = Arc::new(Mutex::new(TerminalView::new()));
    let hears = sink(args.format, &terminal);
    let replayed = play(ground, cassette, args.prompt.as_deref(), &hears)?;
    let Some(difference) = replayed.difference else { return Ok(exit(&replayed.ending)) };
    for line in difference.diff.lines() {
        remark(&clean(line));
    }
    let message = format!("`{}` goes another way: {}", cassette.display(), difference.message);
    Err(CliFailure::new(message).hint(hint).finding())
}

/// Plays a cassette with the recorded messages of the user; `prompt` replaces the first one.
pub(crate) fn play(
    ground: &PreparedAgent,
    cassette: &Path,
    prompt: Option<&str>,
    hears: &OutputSink,
) -> Result<ReplayOutcome, CliFailure> {
    let tape = Tape::open(cassette, Arc::clone(&ground.redactor), ground.places());
    let tape = tape.map_err(|error| CliFailure::new(error.to_string()))?;
    let system = ground.system(&machine_parts(&tape), tape.missing());
    let approvals: Arc<Approvals> = Arc::default();
    let tools = ground.tools(RunSurroundings {
        approvals: Arc::clone(&approvals),
        commands: Arc::new(RefusedCommands("nothing is executed in a replay".to_owned())),
        person: Arc::new(AbsentApprover::Denies),
        output: Arc::clone(hears),
        images: None,
        directory: ground.workspace.clone(),
        // The same tools as when recorded, whether or not a user is present now.
        can_ask: tape.has_tool("question"),
        search: tape.has_tool("websearch").then(search).flatten(),
        declared: replayed(ground, tape.missing())?,
    });
    let played = Arc::new(ReplayedWorld::new(tape, Arc::new(tools)));
    let clock = Arc::clone(&played);
    let parts = DriverParts {
        system: system.into(),
        models: played.clone(),
        tools: played.clone(),
        person: played.clone(),
        log: Box::new(NullLog),
        clock: Arc::new(move || clock.now()),
        output: Arc::clone(hears),
        redactor: Arc::clone(&ground.redactor),
        // Recorded back-off pauses are skipped.
        waits: false,
        budget: BudgetShare::default(),
    };
    let mut driver = RunDriver::new(parts, approvals);
    played.stop_by(driver.canceller());
    // The recorded limits apply; a cassette without them gets the agent's own.
    let began = played.began().unwrap_or_else(|| {
        let limits = limits(&ground.agent, &SpendingArguments::default(), &SpendingCaps::default());
        began(&ground.agent, limits, played.models(), None)
    });
    driver.begin(began).map_err(broken)?;
    hears(RunOutput::Run {
        id: None,
        agent: ground.agent.name().to_owned(),
        digest: ground.digest.clone(),
        models: vec![played.name(0)],
        tools: played.specs().iter().map(|spec| spec.name.clone()).collect(),
        sandbox: "nothing is executed".to_owned(),
        limits: driver.state().limits,
        spent: driver.state().spent,
        greeting: ground.agent.identity.greeting.as_ref().map(|it| it.value.clone()),
    });
    let ending = runtime()?.block_on(talk(&mut driver, &played, prompt)).map_err(broken)?;
    Ok(ReplayOutcome { ending, difference: played.difference() })
}

/// The tools of the definition that the recorded run had, as far as they are known without running anything.
fn replayed(
    ground: &PreparedAgent,
    missing: &[String],
) -> Result<Vec<Arc<dyn BuiltInTool>>, CliFailure> {
    let mut tools = replayed_tools(&ground.agent, &ground.judge);
    tools.extend(built_in(&scripts(ground)?.tools));
    tools.retain(|tool| !skills::is_left_out(&tool.spec().name, missing));
    tools.extend(skills::replayed(ground, missing));
    Ok(tools)
}

/// The parts of the prompt that came from the machine of the recording.
fn machine_parts(tape: &Tape) -> Vec<PromptPart> {
    let part = |part: &RecordedPart| PromptPart {
        name: "recorded",
        origin: "cassette".to_owned(),
        masked_lines: Vec::new(),
        text: part.text.clone(),
    };
    tape.prompt().iter().map(part).collect()
}

/// A search service that is never called.
fn search() -> Option<SearchClient> {
    SearchClient::of(
        &|name| (name == "SEARXNG_URL").then(|| "http://127.0.0.1".to_owned()),
        &http::local().ok()?,
    )
}

/// Sends every recorded message.
async fn talk(
    driver: &mut RunDriver,
    played: &ReplayedWorld,
    prompt: Option<&str>,
) -> Result<RunEnding, BrokenRun> {
    let mut ending = RunEnding::Done;
    let mut prompt = prompt.map(str::to_owned);
    while let Some(said) = played.next_user_message() {
        ending = driver.say(prompt.take().unwrap_or(said)).await?;
        if matches!(driver.state().phase, RunPhase::Ended(_)) {
            break;
        }
    }
    Ok(ending)
}
