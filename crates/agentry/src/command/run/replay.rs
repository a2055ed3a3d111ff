//! Plays a cassette: the agent as it is now, with everything else as it was recorded.

use std::path::Path;
use std::sync::{Arc, Mutex};

use agentry_compile::Caps;
use agentry_runtime::approval::Approvals;
use agentry_runtime::cassette::{Difference, Tape};
use agentry_runtime::commands::Refused;
use agentry_runtime::driver::output::Output;
use agentry_runtime::driver::parts::{Log, Models as _, Nobody, Parts, Sink, Tools as _};
use agentry_runtime::driver::played::Played;
use agentry_runtime::driver::{Broken, Driver};
use agentry_runtime::provider::http;
use agentry_runtime::tool::Search;
use agentry_runtime::{Ending, Happened, Phase};

use super::exit;
use super::ground::{Around, Ground};
use super::limits::{began, limits};
use super::session::{broken, runtime, sink};
use super::terminal::{Terminal, clean};
use crate::args::{Run, Spending};
use crate::output::{Failure, Outcome, remark};

/// A replay is written down nowhere.
struct Nowhere;

impl Log for Nowhere {
    fn append(&mut self, _: &Happened, _: bool) -> Result<(), String> {
        Ok(())
    }
}

/// What came of a replay.
pub(crate) struct Replayed {
    /// How the run ended.
    pub(crate) ending: Ending,
    /// The first difference.
    pub(crate) difference: Option<Difference>,
}

/// Plays a cassette for a person.
pub(crate) fn run(ground: &Ground, cassette: &Path, args: &Run, hint: &str) -> Outcome {
    let terminal = Arc::new(Mutex::new(Terminal::new()));
    let hears = sink(args.format, &terminal);
    let replayed = play(ground, cassette, args.prompt.as_deref(), &hears)?;
    let Some(difference) = replayed.difference else { return Ok(exit(&replayed.ending)) };
    for line in difference.diff.lines() {
        remark(&clean(line));
    }
    let message = format!("`{}` goes another way: {}", cassette.display(), difference.message);
    Err(Failure::new(message).hint(hint).finding())
}

/// Plays a cassette. What the person says is as recorded, unless it is `prompt`.
pub(crate) fn play(
    ground: &Ground,
    cassette: &Path,
    prompt: Option<&str>,
    hears: &Sink,
) -> Result<Replayed, Failure> {
    let tape = Tape::open(cassette, Arc::clone(&ground.redactor), ground.places());
    let tape = tape.map_err(|error| Failure::new(error.to_string()))?;
    let approvals: Arc<Approvals> = Arc::default();
    let tools = ground.tools(Around {
        approvals: Arc::clone(&approvals),
        commands: Arc::new(Refused("nothing is executed in a replay".to_owned())),
        person: Arc::new(Nobody::Denies),
        output: Arc::clone(hears),
        images: None,
        directory: ground.workspace.clone(),
        // The same tools as then, whoever is here now.
        can_ask: tape.has_tool("question"),
        search: tape.has_tool("websearch").then(search).flatten(),
    });
    let played = Arc::new(Played::new(tape, Arc::new(tools)));
    let clock = Arc::clone(&played);
    let parts = Parts {
        system: ground.system.as_str().into(),
        models: played.clone(),
        tools: played.clone(),
        person: played.clone(),
        log: Box::new(Nowhere),
        clock: Arc::new(move || clock.now()),
        output: Arc::clone(hears),
        redactor: Arc::clone(&ground.redactor),
        waits: false,
    };
    let mut driver = Driver::new(parts, approvals);
    played.stop_by(driver.canceller());
    let began = played.began().unwrap_or_else(|| {
        let limits = limits(&ground.agent, &Spending::default(), &Caps::default());
        began(&ground.agent, limits, played.models(), None)
    });
    driver.begin(began).map_err(broken)?;
    hears(Output::Run {
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
    Ok(Replayed { ending, difference: played.difference() })
}

/// A service that is never asked.
fn search() -> Option<Search> {
    Search::of(
        &|name| (name == "SEARXNG_URL").then(|| "http://127.0.0.1".to_owned()),
        &http::local().ok()?,
    )
}

/// Says all that was said.
async fn talk(
    driver: &mut Driver,
    played: &Played,
    prompt: Option<&str>,
) -> Result<Ending, Broken> {
    let mut ending = Ending::Done;
    let mut prompt = prompt.map(str::to_owned);
    while let Some(said) = played.said() {
        ending = driver.say(prompt.take().unwrap_or(said)).await?;
        if matches!(driver.state().phase, Phase::Ended(_)) {
            break;
        }
    }
    Ok(ending)
}
