//! The driver with a scripted model and scripted tools: what is carried out, in which order, and what is
//! left running.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::output::Output;
use super::parts::{Asked, Decision, Log, Models, Parts, Person, Prompt, Said, Show, Tools};
use super::{Cancel, Driver};
use crate::budget::Limits;
use crate::conversation::{Block, Call, Message, Role, Usage};
use crate::event::{Class, Ending, Event, Failure, FailureKind, Happened, Judgement, Turn};
use crate::provider::Delta;
use crate::redact::{Redactor, Secret};
use crate::state::OnError;
use crate::tool::{self, Doing, ToolSpec};

/// Answers what the script says, then that it is done.
#[derive(Default)]
struct Scripted {
    turns: Mutex<VecDeque<Result<Message, Failure>>>,
    asked: Mutex<Vec<(usize, usize)>>,
}

impl Models for Scripted {
    fn name(&self, model: usize) -> String {
        format!("model-{model}")
    }

    fn estimate(&self, _: usize, reading: Usage) -> Usage {
        Usage { cost: Some(reading.input + reading.output), ..reading }
    }

    fn ask<'a>(&'a self, prompt: Prompt<'a>, show: Show<'a>) -> Doing<'a, Result<Turn, Failure>> {
        self.asked.lock().unwrap().push((prompt.model, prompt.messages.len()));
        let next = self.turns.lock().unwrap().pop_front().unwrap_or_else(|| Ok(text("done")));
        Box::pin(async move {
            let message = next?;
            if message.text() == "never" {
                std::future::pending::<()>().await;
            }
            // Piece by piece, wherever it is cut.
            for piece in message.text().as_bytes().chunks(7) {
                show(Delta::Text(String::from_utf8_lossy(piece).into_owned()));
            }
            if message.text() == "and so on for ever" {
                std::future::pending::<()>().await;
            }
            let usage = Usage { input: 10, cached: 0, output: 5, cost: Some(100) };
            Ok(Turn { message, usage, truncated: false, model: prompt.model })
        })
    }
}

fn text(text: &str) -> Message {
    Message { role: Role::Assistant, blocks: vec![Block::Text { text: text.to_owned() }] }
}

fn calls(calls: &[(&str, &str)]) -> Message {
    let call = |(at, (tool, with)): (usize, &(&str, &str))| {
        Block::Call(Call {
            id: format!("{with}-{at}"),
            tool: (*tool).to_owned(),
            arguments: json!({ "with": with }),
            opaque: None,
        })
    };
    Message { role: Role::Assistant, blocks: calls.iter().enumerate().map(call).collect() }
}

/// Tools that do nothing: `look` reads, `change` writes, `ask` asks, `no` is denied, `hang` never ends,
/// `fail` fails, `break` panics, `secret` prints one.
#[derive(Default)]
struct Pretended {
    ran: Mutex<Vec<String>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

struct Guard<'a>(&'a AtomicUsize);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Tools for Pretended {
    fn specs(&self) -> &[ToolSpec] {
        &[]
    }

    fn judge(&self, call: &Call) -> Decision {
        let verdict = match call.tool.as_str() {
            "ask" => Judgement::Ask,
            "no" => Judgement::Deny,
            _ => Judgement::Allow,
        };
        let class = if call.tool == "look" { Class::Read } else { Class::Write };
        let reason = format!("by the rule for `{}`", call.tool);
        let exact = format!("{} {}", call.tool, call.arguments);
        let rules = vec![format!("rule {}", call.tool)];
        Decision { verdict, reason, class, places: Vec::new(), rules, exact }
    }

    fn preview(&self, _: &Call) -> Option<String> {
        None
    }

    fn run<'a>(&'a self, call: &'a Call) -> Doing<'a, tool::Output> {
        Box::pin(async move {
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            let _guard = Guard(&self.running);
            self.most.fetch_max(now, Ordering::SeqCst);
            self.ran.lock().unwrap().push(call.id.clone());
            tokio::task::yield_now().await;
            match call.tool.as_str() {
                "hang" => std::future::pending::<()>().await,
                "break" => panic!("a broken tool"),
                _ => {}
            }
            let text = if call.tool == "secret" { "it is hunter2-secret" } else { "fine" };
            tool::Output { text: text.to_owned(), failed: call.tool == "fail" }
        })
    }

    fn directory(&self) -> String {
        "/".to_owned()
    }

    fn move_to(&self, _: &str) {}
}

/// Answers what the script says, then no.
#[derive(Default)]
struct Answers(Mutex<VecDeque<Said>>);

impl Person for Answers {
    fn decide<'a>(&'a self, _: Asked<'a>) -> Doing<'a, Said> {
        let said = self.0.lock().unwrap().pop_front().unwrap_or(Said::No(None));
        Box::pin(std::future::ready(said))
    }

    fn answer<'a>(&'a self, _: &'a str, _: &'a [String]) -> Doing<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<(Happened, bool)>>>);

impl Log for Written {
    fn append(&mut self, happened: &Happened, durable: bool) -> Result<(), String> {
        self.0.lock().unwrap().push((happened.clone(), durable));
        Ok(())
    }
}

struct Run {
    models: Arc<Scripted>,
    tools: Arc<Pretended>,
    written: Written,
    outputs: Arc<Mutex<Vec<Output>>>,
    driver: Driver,
}

impl Run {
    fn new(turns: Vec<Result<Message, Failure>>, answers: Vec<Said>) -> Self {
        Self::with(turns, answers, Limits::default(), OnError::Skip)
    }

    fn with(
        turns: Vec<Result<Message, Failure>>,
        answers: Vec<Said>,
        limits: Limits,
        on_error: OnError,
    ) -> Self {
        let models = Arc::new(Scripted { turns: Mutex::new(turns.into()), ..Scripted::default() });
        let (tools, written) = (Arc::new(Pretended::default()), Written::default());
        let outputs: Arc<Mutex<Vec<Output>>> = Arc::default();
        let heard = Arc::clone(&outputs);
        let clock = AtomicUsize::new(0);
        let parts = Parts {
            system: "be brief".into(),
            models: models.clone(),
            tools: tools.clone(),
            person: Arc::new(Answers(Mutex::new(answers.into()))),
            log: Box::new(written.clone()),
            clock: Arc::new(move || clock.fetch_add(1, Ordering::SeqCst) as u64),
            output: Arc::new(move |output| heard.lock().unwrap().push(output)),
            redactor: Arc::new(Redactor::new(Secret::new("PASSWORD", "hunter2-secret"))),
            waits: true,
        };
        let mut driver = Driver::new(parts, Arc::default());
        driver
            .begin(Event::Began { limits, asks_at_limit: false, on_error, models: 2, window: None })
            .unwrap();
        Self { models, tools, written, outputs, driver }
    }

    async fn say(&mut self) -> Ending {
        self.driver.say("go".to_owned()).await.unwrap()
    }

    fn ran(&self) -> Vec<String> {
        self.tools.ran.lock().unwrap().clone()
    }

    /// What the model was told of its calls.
    fn results(&self) -> Vec<String> {
        let messages = &self.driver.state().messages;
        let blocks = messages.iter().flat_map(|message| &message.blocks);
        blocks
            .filter_map(|block| match block {
                Block::Result { text, .. } => Some(text.clone()),
                _ => None,
            })
            .collect()
    }
}

fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, "no").after(1)
}

#[tokio::test]
async fn calls_are_judged_and_run() {
    let turn = calls(&[("look", "a"), ("look", "b"), ("change", "c"), ("no", "d"), ("break", "e")]);
    let mut run = Run::new(vec![Ok(turn)], vec![]);
    assert_eq!(run.say().await, Ending::Done);
    assert_eq!(run.ran(), ["a-0", "b-1", "c-2", "e-4"]);
    assert_eq!(run.tools.most.load(Ordering::SeqCst), 2, "only what looks runs side by side");
    assert_eq!(
        run.results(),
        [
            "fine",
            "fine",
            "fine",
            "refused: by the rule for `no`",
            "a defect in the tool: a broken tool"
        ]
    );
    let outputs = run.outputs.lock().unwrap();
    assert!(matches!(outputs.last(), Some(Output::Ended { ending: Ending::Done, .. })));
}

#[tokio::test]
async fn a_change_is_on_the_disk_before_it_starts() {
    let mut run = Run::new(vec![Ok(calls(&[("look", "a"), ("change", "b")]))], vec![]);
    run.say().await;
    let written = run.written.0.lock().unwrap();
    let started: Vec<_> = written
        .iter()
        .filter_map(|(happened, durable)| match &happened.event {
            Event::Started { id } => Some((id.as_str(), *durable)),
            _ => None,
        })
        .collect();
    assert_eq!(started, [("a-0", false), ("b-1", true)]);
}

#[tokio::test]
async fn a_person_may_say_always() {
    let once = || Ok(calls(&[("ask", "a"), ("ask", "b")]));
    let cases = [
        (vec![Said::Yes, Said::No(None)], 2, 1),
        (vec![Said::AlwaysRules], 1, 4),
        // The second call is another one, and so is refused, both times.
        (vec![Said::AlwaysExact], 1, 2),
        (vec![], 0, 0),
    ];
    for (answers, least, ran) in cases {
        let mut run = Run::new(vec![once(), once()], answers.clone());
        assert_eq!(run.say().await, Ending::Done, "{answers:?}");
        assert_eq!(run.ran().len(), ran, "{answers:?}");
        assert!(answers.len() >= least);
    }
}

#[tokio::test]
async fn a_parked_run_goes_on_where_it_was() {
    let mut run = Run::new(vec![Ok(calls(&[("change", "a"), ("ask", "b")]))], vec![Said::Park]);
    let question = "whether `ask` may run".to_owned();
    assert_eq!(run.say().await, Ending::Parked { question });
    let written: Vec<_> = run.written.0.lock().unwrap().iter().map(|(it, _)| it.clone()).collect();
    let mut again = Run::new(vec![], vec![Said::Yes]);
    again.driver.recall(written);
    assert_eq!(again.driver.resume().await.unwrap(), Some(Ending::Done));
    assert_eq!(again.ran().iter().filter(|id| *id == "b-1").count(), 1);
    assert_eq!(
        again.ran().iter().filter(|id| *id == "a-0").count(),
        usize::from(run.ran().is_empty())
    );
}

#[tokio::test]
async fn what_was_approved_of_stays_approved_after_a_crash() {
    let once = || Ok(calls(&[("ask", "a")]));
    let mut run = Run::new(vec![once()], vec![Said::AlwaysRules]);
    run.say().await;
    let written: Vec<_> = run.written.0.lock().unwrap().iter().map(|(it, _)| it.clone()).collect();
    let mut again = Run::new(vec![once()], vec![]);
    again.driver.recall(written);
    assert_eq!(again.driver.resume().await.unwrap(), None);
    again.say().await;
    assert_eq!(again.ran().len(), 1);
}

#[tokio::test]
async fn whatever_is_said_to_an_ended_run_ends() {
    let none = Limits::default();
    let storm = || (0..9).map(|_| Ok(calls(&[("change", "a")]))).collect::<Vec<_>>();
    let mut over = Run::with(storm(), vec![], Limits { turns: Some(1), ..none }, OnError::Skip);
    let limit = "1 turn".to_owned();
    assert_eq!(over.say().await, Ending::OverBudget { limit: limit.clone() });
    let before = over.written.0.lock().unwrap().len();
    assert_eq!(over.say().await, Ending::OverBudget { limit: limit.clone() });
    assert_eq!(over.driver.resume().await.unwrap(), Some(Ending::OverBudget { limit }));
    assert_eq!(over.written.0.lock().unwrap().len(), before + 2, "one row for what is said");
    over.driver.adjust(Limits { turns: Some(3), ..none }, 2, None).unwrap();
    let limit = "3 turns".to_owned();
    assert_eq!(over.driver.resume().await.unwrap(), Some(Ending::OverBudget { limit }));
    assert_eq!(over.ran().len(), 1);
    let failed = (0..2).map(|_| Err(failure(FailureKind::Permanent))).collect();
    let mut failed = Run::new(failed, vec![]);
    assert_eq!(failed.say().await, Ending::Failed { why: "no".to_owned() });
    assert_eq!(failed.say().await, Ending::Done, "it is asked again");
}

#[tokio::test]
async fn cancelling_leaves_nothing_running() {
    for (message, cancel) in [
        (calls(&[("hang", "a")]), Cancel::Turn),
        (calls(&[("hang", "a")]), Cancel::Run),
        (text("never"), Cancel::Turn),
    ] {
        let mut run = Run::new(vec![Ok(message)], vec![]);
        let canceller = run.driver.canceller();
        let tools = run.tools.clone();
        let models = run.models.clone();
        let stop = tokio::spawn(async move {
            while tools.running.load(Ordering::SeqCst) == 0
                && models.asked.lock().unwrap().is_empty()
            {
                tokio::task::yield_now().await;
            }
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            canceller.send(cancel).unwrap();
        });
        assert_eq!(run.say().await, Ending::Cancelled, "{cancel:?}");
        stop.await.unwrap();
        assert_eq!(run.tools.running.load(Ordering::SeqCst), 0, "{cancel:?}");
        if cancel == Cancel::Turn {
            assert_eq!(run.say().await, Ending::Done, "a run goes on after its turn was stopped");
        }
    }
}

/// A question is paid for whether its answer is heard or not, and that is written down.
#[tokio::test]
async fn what_is_stopped_while_it_is_asked_is_charged() {
    // The system prompt has two tokens.
    for (answer, input, output) in [("never", 2, 0), ("and so on for ever", 2, 5)] {
        let mut run = Run::new(vec![Ok(text(answer))], vec![]);
        let (canceller, models) = (run.driver.canceller(), run.models.clone());
        let stop = tokio::spawn(async move {
            while models.asked.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            canceller.send(Cancel::Turn).unwrap();
        });
        assert_eq!(run.say().await, Ending::Cancelled, "{answer}");
        stop.await.unwrap();
        let cost = Some(input + output);
        let usage = Usage { input, cached: 0, output, cost };
        assert_eq!(run.driver.state().spent.usage, usage, "{answer}");
        let written: Vec<_> =
            run.written.0.lock().unwrap().iter().map(|(it, _)| it.clone()).collect();
        let mut again = Run::new(vec![], vec![]);
        again.driver.recall(written);
        assert_eq!(again.driver.state().spent.usage, usage, "{answer}: from the journal");
    }
}

#[tokio::test]
async fn a_question_over_the_limit_is_not_sent() {
    let none = Limits::default();
    for (limits, limit, sent) in [
        (Limits { tokens: Some(1), ..none }, "1 token", 0),
        (Limits { cost: Some(1), ..none }, "$0.0000", 0),
        (Limits { tokens: Some(2), cost: Some(2), ..none }, "", 1),
    ] {
        let mut run = Run::with(vec![], vec![], limits, OnError::Skip);
        let ending = run.say().await;
        let over = format!("{limit}, which the next question would pass");
        let expected = if sent == 0 { Ending::OverBudget { limit: over } } else { Ending::Done };
        assert_eq!(ending, expected);
        assert_eq!(run.models.asked.lock().unwrap().len(), sent, "{limit}");
        assert_eq!(run.driver.state().spent.turns, sent as u64, "{limit}");
    }
}

#[tokio::test]
async fn who_ends_the_run_before_a_turn_ends_it() {
    for (cancel, ending) in [(Cancel::Turn, Ending::Done), (Cancel::Run, Ending::Cancelled)] {
        let mut run = Run::new(vec![], vec![]);
        run.driver.canceller().send(cancel).unwrap();
        assert_eq!(run.say().await, ending, "{cancel:?}");
    }
}

#[tokio::test]
async fn models_are_asked_again_and_then_the_next_one() {
    let temporary = || Err(failure(FailureKind::Temporary));
    let cases = [
        (vec![temporary()], Ending::Done, vec![0, 0]),
        (vec![Err(failure(FailureKind::Permanent))], Ending::Done, vec![0, 1]),
        (
            (0..12).map(|_| temporary()).collect(),
            Ending::Failed { why: "no".to_owned() },
            vec![0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        ),
    ];
    for (turns, ending, asked) in cases {
        let mut run = Run::new(turns, vec![]);
        assert_eq!(run.say().await, ending);
        let models: Vec<_> = run.models.asked.lock().unwrap().iter().map(|it| it.0).collect();
        assert_eq!(models, asked);
    }
}

#[tokio::test]
async fn limits_are_hard_stops() {
    let storm = || (0..100).map(|_| Ok(calls(&[("change", "a")]))).collect::<Vec<_>>();
    let none = Limits::default();
    let cases = [
        (Limits { turns: Some(3), ..none }, "3 turns", 2),
        (Limits { steps: Some(5), ..none }, "5 steps", 5),
        (Limits { cost: Some(700), ..none }, "$0.0007", 6),
        (Limits { tokens: Some(31), ..none }, "31 tokens, which the next question would pass", 2),
    ];
    for (limits, limit, ran) in cases {
        let mut run = Run::with(storm(), vec![], limits, OnError::Skip);
        assert_eq!(run.say().await, Ending::OverBudget { limit: limit.to_owned() });
        assert_eq!(run.ran().len(), ran, "{limit}");
    }
    let limits = Limits { time: Some(2_000), ..none };
    let mut run = Run::with(vec![Ok(calls(&[("hang", "a")]))], vec![], limits, OnError::Skip);
    // The clock of the test stands nearly still, so the limit is met again and again until it is over.
    let clock = AtomicUsize::new(0);
    run.driver.parts.clock = Arc::new(move || clock.fetch_add(1_000, Ordering::SeqCst) as u64);
    assert_eq!(run.say().await, Ending::OverBudget { limit: "2 s".to_owned() });
    assert_eq!(run.tools.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn secrets_do_not_reach_the_model() {
    let mut run = Run::new(vec![Ok(calls(&[("secret", "a")]))], vec![]);
    run.say().await;
    assert_eq!(run.results(), ["it is [redacted: PASSWORD]"]);
    // Nor anybody who watches, however the answer is cut into pieces.
    let mut run = Run::new(vec![Ok(text("my hunter2-secret is known"))], vec![]);
    run.say().await;
    let outputs = format!("{:?}", run.outputs.lock().unwrap());
    assert!(outputs.contains("[redacted: PASSWORD] is"), "{outputs}");
    assert!(!outputs.contains("hunter"), "{outputs}");
}
