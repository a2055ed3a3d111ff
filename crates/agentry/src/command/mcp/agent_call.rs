//! One call of a tool: a run from its beginning, or from an earlier one, to its end.

use std::sync::Arc;
use std::time::Duration;

use agentry_mcp::ElicitationAnswer;
use agentry_mcp::serving::{CallResult, CallerPort};
use agentry_runtime::RunEnding;
use agentry_runtime::function::AgentFunction;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::approval_form::{answer, inquiry, question, reply};
use super::run_places::{ListedCall, RunPlaces};
use crate::command::run::call_words::brief;
use crate::command::run::terminal::clean;
use crate::command::served_agent::{ServedAgent, in_one_line};
use crate::command::steered_run::{SteeredApproval, SteeredEvent, SteeredRun};
use crate::output::cut;

/// The time that a run gets to end when its caller is gone.
const END: Duration = Duration::from_secs(10);
/// The most characters of a line about the progress.
const PROGRESS: usize = 200;
/// The most bytes of a prompt or an input: a run gets some of them as an argument of its process.
const PROMPT_BYTES: usize = 100 << 10;

/// A run for one call.
pub(super) struct AgentCall<'a> {
    agent: &'a ServedAgent,
    run: SteeredRun,
    places: Arc<RunPlaces>,
    /// Listed once it has an id.
    listed: Option<ListedCall>,
    /// The message that waits for the end of an unfinished step.
    waiting: Option<String>,
    is_function: bool,
    story: CallStory,
    /// The questions that the user has not answered yet.
    questions: JoinSet<CallerAnswer>,
}

/// What is known about the run.
#[derive(Default)]
struct CallStory {
    id: String,
    /// The last text of the model.
    answer: String,
    /// The output of a function.
    output: Option<Value>,
    /// The calls that were denied because no user could be asked.
    denied: Vec<String>,
}

/// An answer of the user.
enum CallerAnswer {
    Approval(Box<SteeredApproval>, ElicitationAnswer),
    Question(u64, ElicitationAnswer),
}

impl<'a> AgentCall<'a> {
    /// Starts the run of a call, or says why the arguments do not fit.
    pub(super) fn begin(
        (agent, places): (&'a ServedAgent, &Arc<RunPlaces>),
        function: Option<&AgentFunction>,
        arguments: &Map<String, Value>,
    ) -> Result<Self, String> {
        let (words, message, waiting) = match function {
            Some(function) => {
                let input = Value::Object(arguments.clone());
                function
                    .check_input(&input)
                    .map_err(|why| format!("the input does not fit: {why}"))?;
                let input = bounded(input.to_string())?;
                (agent.new_run(&["--call", &function.name, "--input", &input], None), None, None)
            }
            None => conversation(agent, arguments)?,
        };
        let run = SteeredRun::start(&words).map_err(|failure| in_one_line(&failure))?;
        if let Some(message) = message {
            run.steering.message(&message);
        }
        if waiting.is_none() {
            run.steering.command("end");
        }
        let (story, questions) = (CallStory::default(), JoinSet::new());
        let (places, is_function) = (Arc::clone(places), function.is_some());
        Ok(Self { agent, run, places, listed: None, waiting, is_function, story, questions })
    }

    /// Follows the run to its end. A caller that is gone stops it, or parks it at its question.
    pub(super) async fn follow(mut self, caller: &CallerPort) -> CallResult {
        loop {
            let event = tokio::select! {
                // In this order: a caller that is gone also ends its questions, which must park the run.
                biased;
                () = caller.gone() => {
                    let word = if self.questions.is_empty() { "stop" } else { "park" };
                    self.run.steering.command(word);
                    self.run.steering.command("end");
                    self.run.steering.ended(END).await;
                    return CallResult::failure("the caller is gone");
                }
                Some(Ok(given)) = self.questions.join_next() => {
                    self.answer(&given);
                    continue;
                }
                event = self.run.events.recv() => event,
            };
            let Some(event) = event else { return self.over(None).await };
            match event {
                SteeredEvent::Ended { ending } => match (ending, self.waiting.take()) {
                    (RunEnding::Done, Some(message)) => {
                        self.run.steering.message(&message);
                        self.run.steering.command("end");
                    }
                    (ending, _) => return self.over(Some(ending)).await,
                },
                SteeredEvent::Refused { .. } => {
                    let why = self.agent.refusal(&event).unwrap_or_default();
                    return CallResult::failure(clean(&why));
                }
                event => self.handle_event(event, caller).await,
            }
        }
    }

    async fn handle_event(&mut self, event: SteeredEvent, caller: &CallerPort) {
        match event {
            SteeredEvent::Run { id, .. } => {
                self.story.id = id.unwrap_or_default();
                let steering = self.run.steering.clone();
                self.listed = Some(self.places.list(&self.story.id, steering));
                caller.progress(format!("run {} of {}", self.story.id, self.agent.name)).await;
            }
            SteeredEvent::Turn { text, calls } => {
                if calls == 0 {
                    self.story.answer = text;
                } else if !text.trim().is_empty() {
                    caller.progress(cut(&clean(text.trim()), PROGRESS)).await;
                }
            }
            SteeredEvent::Call { tool, arguments, verdict, .. } => {
                let line = format!("{tool} {}: {}", brief(&arguments), verdict.as_str());
                caller.progress(cut(&clean(&line), PROGRESS)).await;
            }
            SteeredEvent::Output { output } => self.story.output = Some(output),
            SteeredEvent::Approval(asked) => self.decide(asked, caller),
            SteeredEvent::Question { question, text, choices } => {
                let (caller, (text, fields)) = (caller.clone(), inquiry(&text, &choices));
                self.questions.spawn(async move {
                    CallerAnswer::Question(question, caller.ask(text, fields).await)
                });
            }
            _ => {}
        }
    }

    /// Puts an approval to the user. Where no user can be asked, the call is denied, and the result reports it.
    fn decide(&mut self, asked: SteeredApproval, caller: &CallerPort) {
        if caller.can_ask {
            let (caller, (text, fields)) = (caller.clone(), question(&asked));
            self.questions.spawn(async move {
                let given = caller.ask(text, fields).await;
                CallerAnswer::Approval(Box::new(asked), given)
            });
            return;
        }
        let what =
            asked.call.as_ref().map(|call| format!("{} {}", call.tool, brief(&call.arguments)));
        self.story.denied.push(clean(&what.unwrap_or(asked.reason)));
        self.run.steering.deny(asked.question, "the client cannot ask its user");
    }

    fn answer(&self, given: &CallerAnswer) {
        let steering = &self.run.steering;
        match given {
            CallerAnswer::Approval(asked, given) => {
                steering.answer(asked.question, answer(asked, given));
            }
            CallerAnswer::Question(question, given) => {
                steering.reply(*question, reply(given).as_deref());
            }
        }
    }

    /// The result, once the process has ended: another call may then go on with the run.
    async fn over(mut self, ending: Option<RunEnding>) -> CallResult {
        self.run.steering.command("end");
        while let Some(event) = self.run.events.recv().await {
            if let SteeredEvent::Output { output } = event {
                self.story.output = Some(output);
            }
        }
        self.run.steering.ended(END).await;
        let errors = self.run.steering.last_errors();
        let (state, failure) = outcome(ending, &self.story.id, &errors);
        self.story.result(state, failure.as_deref(), self.is_function)
    }
}

impl CallStory {
    fn result(self, state: &str, failure: Option<&str>, is_function: bool) -> CallResult {
        let Self { id, answer, output, denied } = self;
        let failed = failure.is_some();
        let mut structured = json!({"run": id, "state": state});
        let text = match (failure, is_function) {
            (Some(why), _) => clean(why),
            (None, true) => output.clone().unwrap_or_default().to_string(),
            (None, false) => answer.clone(),
        };
        if let (false, Some(fields)) = (failed, structured.as_object_mut()) {
            let (name, value) = if is_function {
                ("result", output.unwrap_or_default())
            } else {
                ("answer", Value::String(answer))
            };
            fields.insert(name.to_owned(), value);
        }
        let denied: Vec<String> = denied
            .iter()
            .map(|call| format!("\n\n[denied, because this client cannot ask its user: {call}]"))
            .collect();
        CallResult { text: format!("{text}{}", denied.concat()), structured, failed }
    }
}

/// The state of a run that ended, and why it is not done.
fn outcome(ending: Option<RunEnding>, id: &str, errors: &str) -> (&'static str, Option<String>) {
    match ending {
        Some(RunEnding::Done) => ("done", None),
        Some(RunEnding::Failed { why }) => ("failed", Some(format!("the run failed: {why}"))),
        Some(RunEnding::OverBudget { limit }) => {
            ("over_budget", Some(format!("the run has reached its limit of {limit}")))
        }
        Some(RunEnding::Cancelled) => ("cancelled", Some("the run was stopped".to_owned())),
        Some(RunEnding::Parked { question }) => {
            let hint = format!("call again with `run`: `{id}`, or `agentry resume {id}`");
            ("parked", Some(format!("the run waits for an answer: {question}; {hint}")))
        }
        None => ("failed", Some(format!("the run ended unexpectedly: {errors}"))),
    }
}

type CallPlan = (Vec<String>, Option<String>, Option<String>);

/// The command line, the message to send at once, and the one that waits for an unfinished step.
fn conversation(agent: &ServedAgent, arguments: &Map<String, Value>) -> Result<CallPlan, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let known = |name: &&String| !matches!(name.as_str(), "prompt" | "run");
    if let Some(name) = arguments.keys().find(known) {
        return Err(format!("there is no argument `{name}`"));
    }
    let prompt = text("prompt").filter(|prompt| !prompt.trim().is_empty());
    let prompt = bounded(prompt.ok_or("`prompt` is missing: say what to do")?.to_owned())?;
    match arguments.get("run") {
        None if agent.converses => Ok((agent.new_run(&[], None), Some(prompt), None)),
        None => Ok((agent.new_run(&[], Some(&prompt)), None, None)),
        Some(_) if !agent.converses => {
            Err(format!("`{}` holds no conversation: leave out `run`", agent.name))
        }
        Some(id) => {
            let id = id.as_str().ok_or("`run` is no text")?;
            let earlier = agent.earlier(id)?;
            let words = ServedAgent::earlier_run(id);
            let is_waiting = earlier.is_under_way;
            let (now, then) = if is_waiting { (None, Some(prompt)) } else { (Some(prompt), None) };
            Ok((words, now, then))
        }
    }
}

fn bounded(text: String) -> Result<String, String> {
    if text.len() <= PROMPT_BYTES {
        return Ok(text);
    }
    Err(format!("more than {} KiB are given: put them into a file and name it", PROMPT_BYTES >> 10))
}
