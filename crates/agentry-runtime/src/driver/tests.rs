//! The driver with a scripted model and scripted tools: which effects it carries out, in which order, and
//! which tasks are left.

mod judgement;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, CallDecision, DeltaSink, DriverParts, EventLog,
    ModelPrompt, RunModels, RunTools,
};
use super::output::RunOutput;
use super::{CancelScope, RunDriver};
use crate::budget::RunLimits;
use crate::budget_pot::BudgetShare;
use crate::conversation::{Message, MessageBlock, MessageRole, TokenUsage, ToolCall};
use crate::event::{
    CallClass, CallJudgement, ModelFailure, ModelFailureKind, ModelTurn, RunEnding, RunEvent,
    TimedEvent,
};
use crate::provider::AnswerDelta;
use crate::redact::{KnownSecret, Redactor};
use crate::state::ErrorStrategy;
use crate::tool::{self, BoxedFuture, ToolSpec};

/// Answers by a script, then with `done`.
#[derive(Default)]
struct Scripted {
    turns: Mutex<VecDeque<Result<Message, ModelFailure>>>,
    asked: Mutex<Vec<(usize, usize)>>,
}

impl RunModels for Scripted {
    fn name(&self, model: usize) -> String {
        format!("model-{model}")
    }

    fn estimate(&self, _: usize, reading: TokenUsage) -> TokenUsage {
        TokenUsage { cost: Some(reading.input + reading.output), ..reading }
    }

    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        show: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>> {
        self.asked.lock().unwrap().push((prompt.model, prompt.messages.len()));
        let next = self.turns.lock().unwrap().pop_front().unwrap_or_else(|| Ok(text("done")));
        Box::pin(async move {
            let message = next?;
            if message.text() == "never" {
                std::future::pending::<()>().await;
            }
            // In pieces that may split anything.
            for piece in message.text().as_bytes().chunks(7) {
                show(AnswerDelta::Text(String::from_utf8_lossy(piece).into_owned()));
            }
            if message.text() == "and so on for ever" {
                std::future::pending::<()>().await;
            }
            let usage = TokenUsage { input: 10, cached: 0, output: 5, cost: Some(100) };
            Ok(ModelTurn { message, usage, truncated: false, model: prompt.model })
        })
    }
}

fn text(text: &str) -> Message {
    Message {
        role: MessageRole::Assistant,
        blocks: vec![MessageBlock::Text { text: text.to_owned() }],
    }
}

fn calls(calls: &[(&str, &str)]) -> Message {
    let call = |(at, (tool, with)): (usize, &(&str, &str))| {
        MessageBlock::Call(ToolCall {
            id: format!("{with}-{at}"),
            tool: (*tool).to_owned(),
            arguments: json!({ "with": with }),
            opaque: None,
        })
    };
    Message { role: MessageRole::Assistant, blocks: calls.iter().enumerate().map(call).collect() }
}

/// Tools that do nothing: `look` reads, `change` writes, `ask` asks, `no` is denied, `hang` never ends,
/// `fail` fails, `break` panics, `secret` prints one, the judgement of `defect` panics.
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

impl RunTools for Pretended {
    fn specs(&self) -> &[ToolSpec] {
        &[]
    }

    fn judge(&self, call: &ToolCall) -> CallDecision {
        let verdict = match call.tool.as_str() {
            "ask" => CallJudgement::Ask,
            "no" => CallJudgement::Deny,
            "defect" => panic!("a broken judge"),
            _ => CallJudgement::Allow,
        };
        let class = if call.tool == "look" { CallClass::Read } else { CallClass::Write };
        let reason = format!("by the rule for `{}`", call.tool);
        let exact = format!("{} {}", call.tool, call.arguments);
        let rules = vec![format!("rule {}", call.tool)];
        let (places, offer) = (Vec::new(), crate::approval::ApprovalOffer::default());
        CallDecision { verdict, reason, class, places, rules, exact, offer }
    }

    fn preview(&self, _: &ToolCall) -> Option<String> {
        None
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxedFuture<'a, tool::ToolOutput> {
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
            let failed = call.tool == "fail";
            if failed { tool::ToolOutput::failed(text) } else { tool::ToolOutput::done(text) }
        })
    }

    fn directory(&self) -> String {
        "/".to_owned()
    }

    fn move_to(&self, _: &str) {}
}

/// Answers by a script, then with no.
#[derive(Default)]
struct Answers(Mutex<VecDeque<ApprovalReply>>);

impl Approver for Answers {
    fn decide<'a>(&'a self, _: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        let reply = self.0.lock().unwrap().pop_front().unwrap_or(ApprovalReply::No(None));
        Box::pin(std::future::ready(reply))
    }
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<(TimedEvent, bool)>>>);

impl EventLog for Written {
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String> {
        self.0.lock().unwrap().push((happened.clone(), durable));
        Ok(())
    }
}

struct Run {
    models: Arc<Scripted>,
    tools: Arc<Pretended>,
    written: Written,
    outputs: Arc<Mutex<Vec<RunOutput>>>,
    driver: RunDriver,
}

impl Run {
    fn new(turns: Vec<Result<Message, ModelFailure>>, answers: Vec<ApprovalReply>) -> Self {
        Self::with(turns, answers, RunLimits::default(), ErrorStrategy::Skip)
    }

    fn with(
        turns: Vec<Result<Message, ModelFailure>>,
        answers: Vec<ApprovalReply>,
        limits: RunLimits,
        on_error: ErrorStrategy,
    ) -> Self {
        let models = Arc::new(Scripted { turns: Mutex::new(turns.into()), ..Scripted::default() });
        let (tools, written) = (Arc::new(Pretended::default()), Written::default());
        let outputs: Arc<Mutex<Vec<RunOutput>>> = Arc::default();
        let outputs_sink = Arc::clone(&outputs);
        let clock = AtomicUsize::new(0);
        let parts = DriverParts {
            system: "be brief".into(),
            models: models.clone(),
            tools: tools.clone(),
            person: Arc::new(Answers(Mutex::new(answers.into()))),
            log: Box::new(written.clone()),
            clock: Arc::new(move || clock.fetch_add(1, Ordering::SeqCst) as u64),
            output: Arc::new(move |output| outputs_sink.lock().unwrap().push(output)),
            redactor: Arc::new(Redactor::new(KnownSecret::new("PASSWORD", "hunter2-secret"))),
            waits: true,
            budget: BudgetShare::default(),
        };
        let mut driver = RunDriver::new(parts, Arc::default());
        driver
            .begin(RunEvent::Began {
                limits,
                asks_at_limit: false,
                on_error,
                on_error_is_written: true,
                models: 2,
                window: None,
            })
            .unwrap();
        Self { models, tools, written, outputs, driver }
    }

    async fn send_message(&mut self) -> RunEnding {
        self.driver.send_message("go".to_owned()).await.unwrap()
    }

    fn ran(&self) -> Vec<String> {
        self.tools.ran.lock().unwrap().clone()
    }

    /// Returns the results that the model got.
    fn results(&self) -> Vec<String> {
        let messages = &self.driver.state().messages;
        let blocks = messages.iter().flat_map(|message| &message.blocks);
        blocks
            .filter_map(|block| match block {
                MessageBlock::Result { text, .. } => Some(text.clone()),
                _ => None,
            })
            .collect()
    }
}

fn failure(kind: ModelFailureKind) -> ModelFailure {
    ModelFailure::new(kind, "no").after(1)
}

#[tokio::test]
async fn calls_are_judged_and_run() {
    let turn = calls(&[("look", "a"), ("look", "b"), ("change", "c"), ("no", "d"), ("break", "e")]);
    let mut run = Run::new(vec![Ok(turn)], vec![]);
    assert_eq!(run.send_message().await, RunEnding::Done);
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
    assert!(matches!(outputs.last(), Some(RunOutput::Ended { ending: RunEnding::Done, .. })));
}

#[tokio::test]
async fn a_write_call_is_journaled_durably_before_it_starts() {
    let mut run = Run::new(vec![Ok(calls(&[("look", "a"), ("change", "b")]))], vec![]);
    run.send_message().await;
    let written = run.written.0.lock().unwrap();
    let started: Vec<_> = written
        .iter()
        .filter_map(|(happened, durable)| match &happened.event {
            RunEvent::Started { id } => Some((id.as_str(), *durable)),
            _ => None,
        })
        .collect();
    assert_eq!(started, [("a-0", false), ("b-1", true)]);
}

#[tokio::test]
async fn always_approves_later_equal_calls() {
    let once = || Ok(calls(&[("ask", "a"), ("ask", "b")]));
    let cases = [
        (vec![ApprovalReply::Yes, ApprovalReply::No(None)], 2, 1),
        (vec![ApprovalReply::AlwaysRules], 1, 4),
        // The second call is not the same one, so it is refused both times.
        (vec![ApprovalReply::AlwaysExact], 1, 2),
        (vec![], 0, 0),
    ];
    for (answers, least, ran) in cases {
        let mut run = Run::new(vec![once(), once()], answers.clone());
        assert_eq!(run.send_message().await, RunEnding::Done, "{answers:?}");
        assert_eq!(run.ran().len(), ran, "{answers:?}");
        assert!(answers.len() >= least);
    }
}

#[tokio::test]
async fn a_parked_run_is_resumed_without_repeating_calls() {
    let mut run =
        Run::new(vec![Ok(calls(&[("change", "a"), ("ask", "b")]))], vec![ApprovalReply::Park]);
    let question = "whether `ask` may run".to_owned();
    assert_eq!(run.send_message().await, RunEnding::Parked { question });
    let written: Vec<_> = run.written.0.lock().unwrap().iter().map(|(it, _)| it.clone()).collect();
    let mut again = Run::new(vec![], vec![ApprovalReply::Yes]);
    again.driver.recall(written);
    assert_eq!(again.driver.resume().await.unwrap(), Some(RunEnding::Done));
    assert_eq!(again.ran().iter().filter(|id| *id == "b-1").count(), 1);
    assert_eq!(
        again.ran().iter().filter(|id| *id == "a-0").count(),
        usize::from(run.ran().is_empty())
    );
}

#[tokio::test]
async fn approvals_survive_a_crash() {
    let once = || Ok(calls(&[("ask", "a")]));
    let mut run = Run::new(vec![once()], vec![ApprovalReply::AlwaysRules]);
    run.send_message().await;
    let written: Vec<_> = run.written.0.lock().unwrap().iter().map(|(it, _)| it.clone()).collect();
    let mut again = Run::new(vec![once()], vec![]);
    again.driver.recall(written);
    assert_eq!(again.driver.resume().await.unwrap(), None);
    again.send_message().await;
    assert_eq!(again.ran().len(), 1);
}

#[tokio::test]
async fn a_message_to_an_ended_run_always_ends() {
    let none = RunLimits::default();
    let storm = || (0..9).map(|_| Ok(calls(&[("change", "a")]))).collect::<Vec<_>>();
    let mut over =
        Run::with(storm(), vec![], RunLimits { turns: Some(1), ..none }, ErrorStrategy::Skip);
    let limit = "1 turn".to_owned();
    assert_eq!(over.send_message().await, RunEnding::OverBudget { limit: limit.clone() });
    let before = over.written.0.lock().unwrap().len();
    assert_eq!(over.send_message().await, RunEnding::OverBudget { limit: limit.clone() });
    assert_eq!(over.driver.resume().await.unwrap(), Some(RunEnding::OverBudget { limit }));
    assert_eq!(over.written.0.lock().unwrap().len(), before + 2, "one row for what is said");
    over.driver.adjust(RunLimits { turns: Some(3), ..none }, 2, None).unwrap();
    let limit = "3 turns".to_owned();
    assert_eq!(over.driver.resume().await.unwrap(), Some(RunEnding::OverBudget { limit }));
    assert_eq!(over.ran().len(), 1);
    let failed = (0..2).map(|_| Err(failure(ModelFailureKind::Permanent))).collect();
    let mut failed = Run::new(failed, vec![]);
    assert_eq!(failed.send_message().await, RunEnding::Failed { why: "no".to_owned() });
    assert_eq!(failed.send_message().await, RunEnding::Done, "it is asked again");
}

#[tokio::test]
async fn cancelling_leaves_no_task_running() {
    for (message, cancel) in [
        (calls(&[("hang", "a")]), CancelScope::Turn),
        (calls(&[("hang", "a")]), CancelScope::Run),
        (text("never"), CancelScope::Turn),
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
        assert_eq!(run.send_message().await, RunEnding::Cancelled, "{cancel:?}");
        stop.await.unwrap();
        assert_eq!(run.tools.running.load(Ordering::SeqCst), 0, "{cancel:?}");
        if cancel == CancelScope::Turn {
            assert_eq!(
                run.send_message().await,
                RunEnding::Done,
                "a run goes on after its turn was stopped"
            );
        }
    }
}

/// A request is charged even if its answer is cancelled, and the log has the charge.
#[tokio::test]
async fn a_cancelled_request_is_charged() {
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
            canceller.send(CancelScope::Turn).unwrap();
        });
        assert_eq!(run.send_message().await, RunEnding::Cancelled, "{answer}");
        stop.await.unwrap();
        let cost = Some(input + output);
        let usage = TokenUsage { input, cached: 0, output, cost };
        assert_eq!(run.driver.state().spent.usage, usage, "{answer}");
        let written: Vec<_> =
            run.written.0.lock().unwrap().iter().map(|(it, _)| it.clone()).collect();
        let mut again = Run::new(vec![], vec![]);
        again.driver.recall(written);
        assert_eq!(again.driver.state().spent.usage, usage, "{answer}: from the journal");
    }
}

#[tokio::test]
async fn a_request_over_the_limit_is_not_sent() {
    let none = RunLimits::default();
    for (limits, limit, sent) in [
        (RunLimits { tokens: Some(1), ..none }, "1 token", 0),
        (RunLimits { cost: Some(1), ..none }, "$0.0000", 0),
        (RunLimits { tokens: Some(2), cost: Some(2), ..none }, "", 1),
    ] {
        let mut run = Run::with(vec![], vec![], limits, ErrorStrategy::Skip);
        let ending = run.send_message().await;
        let over = format!("{limit}, which the next question would pass");
        let expected =
            if sent == 0 { RunEnding::OverBudget { limit: over } } else { RunEnding::Done };
        assert_eq!(ending, expected);
        assert_eq!(run.models.asked.lock().unwrap().len(), sent, "{limit}");
        assert_eq!(run.driver.state().spent.turns, sent as u64, "{limit}");
    }
}

#[tokio::test]
async fn cancelling_before_a_turn_ends_the_run() {
    for (cancel, ending) in
        [(CancelScope::Turn, RunEnding::Done), (CancelScope::Run, RunEnding::Cancelled)]
    {
        let mut run = Run::new(vec![], vec![]);
        run.driver.canceller().send(cancel).unwrap();
        assert_eq!(run.send_message().await, ending, "{cancel:?}");
    }
}

#[tokio::test]
async fn failing_models_are_retried_then_the_next_is_used() {
    let temporary = || Err(failure(ModelFailureKind::Temporary));
    let cases = [
        (vec![temporary()], RunEnding::Done, vec![0, 0]),
        (vec![Err(failure(ModelFailureKind::Permanent))], RunEnding::Done, vec![0, 1]),
        (
            (0..12).map(|_| temporary()).collect(),
            RunEnding::Failed { why: "no".to_owned() },
            vec![0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        ),
    ];
    for (turns, ending, asked) in cases {
        let mut run = Run::new(turns, vec![]);
        assert_eq!(run.send_message().await, ending);
        let models: Vec<_> = run.models.asked.lock().unwrap().iter().map(|it| it.0).collect();
        assert_eq!(models, asked);
    }
}

#[tokio::test]
async fn limits_are_hard_stops() {
    let storm = || (0..100).map(|_| Ok(calls(&[("change", "a")]))).collect::<Vec<_>>();
    let none = RunLimits::default();
    let cases = [
        (RunLimits { turns: Some(3), ..none }, "3 turns", 2),
        (RunLimits { steps: Some(5), ..none }, "5 steps", 5),
        (RunLimits { cost: Some(700), ..none }, "$0.0007", 6),
        (
            RunLimits { tokens: Some(31), ..none },
            "31 tokens, which the next question would pass",
            2,
        ),
    ];
    for (limits, limit, ran) in cases {
        let mut run = Run::with(storm(), vec![], limits, ErrorStrategy::Skip);
        assert_eq!(run.send_message().await, RunEnding::OverBudget { limit: limit.to_owned() });
        assert_eq!(run.ran().len(), ran, "{limit}");
    }
    let limits = RunLimits { time: Some(2_000), ..none };
    let mut run = Run::with(vec![Ok(calls(&[("hang", "a")]))], vec![], limits, ErrorStrategy::Skip);
    // The clock of the test hardly moves, so the limit is reached again and again until the run ends.
    let clock = AtomicUsize::new(0);
    run.driver.parts.clock = Arc::new(move || clock.fetch_add(1_000, Ordering::SeqCst) as u64);
    assert_eq!(run.send_message().await, RunEnding::OverBudget { limit: "2 s".to_owned() });
    assert_eq!(run.tools.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn secrets_do_not_reach_the_model() {
    let mut run = Run::new(vec![Ok(calls(&[("secret", "a")]))], vec![]);
    run.send_message().await;
    assert_eq!(run.results(), ["it is [redacted: PASSWORD]"]);
    // The output is redacted, too, however the answer is split.
    let mut run = Run::new(vec![Ok(text("my hunter2-secret is known"))], vec![]);
    run.send_message().await;
    let outputs = format!("{:?}", run.outputs.lock().unwrap());
    assert!(outputs.contains("[redacted: PASSWORD] is"), "{outputs}");
    assert!(!outputs.contains("hunter"), "{outputs}");
}
