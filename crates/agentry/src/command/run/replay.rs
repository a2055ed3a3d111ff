//! Plays a cassette: the agent as it is now, with recorded answers of the model and the tools.

use std::path::Path;
use std::sync::Arc;

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
use agentry_runtime::function::{FunctionCall, ResultTool};
use agentry_runtime::provider::http;
use agentry_runtime::tool::javascript::replayed_tools;
use agentry_runtime::tool::mcp;
use agentry_runtime::tool::{BuiltInTool, SearchClient};
use agentry_runtime::{RunEnding, RunPhase, TimedEvent};
use serde_json::Value;

use super::declared_tools::{built_in, delegates};
use super::home_tools::home_tools;
use super::limits::{began, limits};
use super::memory_tools::memory_tools;
use super::prepared_agent::{PreparedAgent, RunSurroundings};
use super::run_observers::sink;
use super::script_tools::scripts;
use super::session::{broken, runtime};
use super::terminal::{TerminalView, clean};
use super::{exit, function, skills};
use crate::args::{RunArguments, RunFormat, SpendingArguments};
use crate::output::{CliFailure, CliOutcome, print_json, remark};

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
    /// The output of the function that the run carried out.
    output: Option<Value>,
}

/// Plays a cassette for the user.
pub(crate) fn run(
    ground: &PreparedAgent,
    cassette: &Path,
    args: &RunArguments,
    hint: &str,
) -> CliOutcome {
    let tape = open(ground, cassette)?;
    let called = function::requested(ground, args)?;
    // As in a run, standard output has only the output of a function.
    let (view, format) = if called.is_some() || tape.function().is_some() {
        (TerminalView::aside(), RunFormat::Human)
    } else {
        (TerminalView::new(), args.format)
    };
    let output_sink = sink(format, &view.shared());
    let prompt = called.as_ref().map(|(_, prompt)| prompt.as_str()).or(args.prompt.as_deref());
    let function = called.as_ref().map(|(function, _)| function.clone());
    let replayed = play(ground, tape, (function, prompt), &output_sink)?;
    let Some(difference) = replayed.difference else {
        replayed.output.iter().for_each(print_json);
        return Ok(exit(&replayed.ending));
    };
    for line in difference.diff.lines() {
        remark(&clean(line));
    }
    let message = format!("`{}` goes another way: {}", cassette.display(), difference.message);
    Err(CliFailure::new(message).hint(hint).finding())
}

/// Reads a cassette of an agent.
pub(crate) fn open(ground: &PreparedAgent, cassette: &Path) -> Result<Tape, CliFailure> {
    let tape = Tape::open(cassette, Arc::clone(&ground.redactor), ground.places());
    tape.map_err(|error| CliFailure::new(error.to_string()))
}

/// Plays a cassette with the recorded messages of the user; `prompt` replaces the first one, and a function
/// the recorded one.
pub(crate) fn play(
    ground: &PreparedAgent,
    tape: Tape,
    (function, prompt): (Option<FunctionCall>, Option<&str>),
    output_sink: &OutputSink,
) -> Result<ReplayOutcome, CliFailure> {
    let recorded = tape.function().map(|name| function::named(ground, name));
    let function = function.map_or_else(|| recorded.transpose(), |function| Ok(Some(function)))?;
    let system = ground.system(&machine_parts(&tape), tape.missing());
    let approvals: Arc<Approvals> = Arc::default();
    let tools = ground.tools(RunSurroundings {
        approvals: Arc::clone(&approvals),
        commands: Arc::new(RefusedCommands("nothing is executed in a replay".to_owned())),
        person: Arc::new(AbsentApprover::Denies),
        output: Arc::clone(output_sink),
        images: None,
        directory: ground.workspace.clone(),
        // The same tools as when recorded, whether or not a user is present now.
        can_ask: tape.has_tool("question"),
        search: tape.has_tool("websearch").then(search).flatten(),
        declared: replayed(ground, &tape, function.as_ref())?,
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
        output: Arc::clone(output_sink),
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
    output_sink(RunOutput::Run {
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
    let ended = runtime()?.block_on(async {
        let ending = talk(&mut driver, &played, prompt).await?;
        match &function {
            Some(function) => function.finish(&mut driver, ending).await,
            None => Ok((ending, None)),
        }
    });
    let (ending, output) = ended.map_err(broken)?;
    Ok(ReplayOutcome { ending, difference: played.difference(), output })
}

/// The tools of the definition that the recorded run had, as far as they are known without running anything.
fn replayed(
    ground: &PreparedAgent,
    tape: &Tape,
    function: Option<&FunctionCall>,
) -> Result<Vec<Arc<dyn BuiltInTool>>, CliFailure> {
    let missing = tape.missing();
    let mut tools = replayed_tools(&ground.agent, &ground.judge);
    tools.extend(built_in(&scripts(ground)?.tools));
    tools.extend(mcp::replayed_tools(tape));
    tools.extend(built_in(&delegates(ground, missing).tools));
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name).collect();
    let home = built_in(&home_tools(ground).tools);
    tools.extend(home.into_iter().filter(|tool| tape.has_tool(&tool.spec().name)));
    if tape.has_tool("recall") && !skills::is_left_out("recall", &names) {
        tools.extend(built_in(&memory_tools(&ground.judge, None, ground.evolution.memory)));
    }
    tools.retain(|tool| !skills::is_left_out(&tool.spec().name, missing));
    tools.extend(skills::replayed(ground, missing));
    tools.extend(function.map(ResultTool::shared));
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
    while let Some(user_message) = played.next_user_message() {
        ending = driver.send_message(prompt.take().unwrap_or(user_message)).await?;
        if matches!(driver.state().phase, RunPhase::Ended(_)) {
            break;
        }
    }
    Ok(ending)
}
