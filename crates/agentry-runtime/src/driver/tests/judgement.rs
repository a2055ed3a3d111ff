//! A judgement that takes long: each of the moments at which a call is judged, and a cancellation meanwhile.

use std::path::PathBuf;
use std::sync::Condvar;
use std::time::Duration;

use agentry_compile::MemoryWorld;
use agentry_compile::model::Agent;
use agentry_compile::policy::{Action, Section};
use agentry_compile::text::SourceFiles;
use serde_json::Value;
use tokio::sync::Notify;

use super::*;
use crate::approval::Approvals;
use crate::commands::RefusedCommands;
use crate::driver::guarded_tools::{GuardedTools, SharedRun};
use crate::driver::interfaces::AbsentApprover;
use crate::rulebook::Rulebook;
use crate::tool::testing::{judge, rules_layer};
use crate::tool::{
    BuiltInTool, CallBounds, CallLocation, EditorFiles, InnerCall, ToolExtras, ToolHost,
    ToolOutput, ToolTouch, Toolbox,
};

/// Longer than a test may take, so that a judgement that nobody waits for still ends.
const LONG: Duration = Duration::from_secs(20);

/// A tool whose judgement takes until it is released, at the given time that it is judged.
struct PonderTool {
    /// How many judgements end at once.
    before: AtomicUsize,
    began: Notify,
    released: Mutex<bool>,
    changed: Condvar,
    ran: AtomicUsize,
}

impl PonderTool {
    fn new(before: usize) -> Arc<Self> {
        Arc::new(Self {
            before: AtomicUsize::new(before),
            began: Notify::new(),
            released: Mutex::new(false),
            changed: Condvar::new(),
            ran: AtomicUsize::new(0),
        })
    }

    fn release(&self) {
        *self.released.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl BuiltInTool for PonderTool {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec { name: "ponder".to_owned(), description: String::new(), schema }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, _: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let one_less = |left: usize| left.checked_sub(1);
        if self.before.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err() {
            self.began.notify_one();
            let released = self.released.lock().unwrap();
            let _released = self.changed.wait_timeout_while(released, LONG, |it| !*it).unwrap();
        }
        Ok(vec![ToolTouch { section: Section::Read, subject: "/workspace/a".to_owned() }])
    }

    fn run<'a>(&'a self, _: Value, _: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(ToolOutput::done("fine")))
    }
}

/// A run with these tools, under a policy that gives every call this verdict. The model calls the first one.
fn run_with(tools: Vec<Arc<dyn BuiltInTool>>, verdict: Action) -> Run {
    let judge = judge(&[(Section::Read, verdict, &[])], "/work".as_ref());
    let mut toolbox = Toolbox::of(&Agent::default(), &judge, ToolExtras::default());
    let called = tools.first().unwrap().spec().name;
    tools.into_iter().for_each(|tool| toolbox.add(tool));
    let world = Arc::new(MemoryWorld::new(Vec::<(String, String)>::new()));
    let place = CallLocation {
        workspace: PathBuf::from("/work"),
        directory: PathBuf::from("/work"),
        run: PathBuf::from("/nowhere"),
        home: None,
        protected: Vec::new(),
        hidden: Vec::new(),
        editor: EditorFiles::default(),
    };
    let shared = SharedRun {
        rulebook: Rulebook { world, judge, protected: Vec::new(), sources: SourceFiles::default() },
        approvals: Arc::<Approvals>::default(),
        place: Mutex::new(place),
        images: None,
        commands: Arc::new(RefusedCommands("no".to_owned())),
        person: Arc::new(AbsentApprover::Denies),
        output: Arc::new(|_| {}),
        redactor: Arc::new(Redactor::default()),
    };
    let mut run = Run::new(vec![Ok(calls(&[(&called, "a")]))], vec![]);
    let guarded = GuardedTools::new(toolbox, Arc::new(shared));
    let (port, requests) = tokio::sync::mpsc::unbounded_channel();
    guarded.connect(port);
    run.driver.requests = requests;
    run.driver.parts.tools = Arc::new(guarded);
    run
}

/// The user can stop a turn while a call is judged: before it is asked about, before the question, before it runs.
#[tokio::test]
async fn a_turn_is_stopped_while_a_call_is_judged() {
    for (before, verdict, moment) in [
        (0, Action::Allow, "the verdict"),
        (1, Action::Ask, "the question"),
        (1, Action::Allow, "the start of the call"),
    ] {
        let tool = PonderTool::new(before);
        let mut run = run_with(vec![tool.clone()], verdict);
        let (canceller, pondering) = (run.driver.canceller(), Arc::clone(&tool));
        let stop = tokio::spawn(async move {
            pondering.began.notified().await;
            canceller.send(CancelScope::Turn).unwrap();
        });
        assert_eq!(run.send_message().await, RunEnding::Cancelled, "{moment}");
        stop.await.unwrap();
        assert!(!*tool.released.lock().unwrap(), "{moment}: the judgement is still under way");
        assert_eq!(run.results(), ["stopped by the person"], "{moment}");
        assert_eq!(run.send_message().await, RunEnding::Done, "{moment}: the run goes on");
        tool.release();
        assert_eq!(tool.ran.load(Ordering::SeqCst), 0, "{moment}");
    }
}

/// A judgement that fails denies the call.
#[tokio::test]
async fn a_judgement_that_panics_denies_the_call() {
    let mut run = Run::new(vec![Ok(calls(&[("defect", "a"), ("look", "b")]))], vec![]);
    assert_eq!(run.send_message().await, RunEnding::Done);
    assert_eq!(run.ran(), ["b-1"]);
    assert_eq!(run.results()[0], "refused: a defect in agentry: a broken judge");
}

/// A tool that ends before its own call is judged.
struct HastyTool(Arc<CallBounds>);

impl BuiltInTool for HastyTool {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec { name: "hasty".to_owned(), description: String::new(), schema }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, _: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        Ok(Vec::new())
    }

    fn run<'a>(&'a self, _: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        let call = InnerCall { tool: "ponder".to_owned(), arguments: json!({}), bounds: &self.0 };
        Box::pin(async move {
            tokio::select! {
                biased;
                _ = host.call(call) => {}
                () = std::future::ready(()) => {}
            }
            ToolOutput::done("over")
        })
    }
}

/// The bounds of a call hold also if the one that made it has ended meanwhile.
#[tokio::test]
async fn a_call_of_an_ended_call_is_denied() {
    let layer = rules_layer(&[(Section::Read, Action::Deny, &[])], "/work".as_ref());
    let tools = vec!["ponder".to_owned()];
    let bounds = CallBounds { of: "hasty".to_owned(), tools, layer, most_output: 1_000 };
    let ponder = PonderTool::new(usize::MAX);
    let hasty = Arc::new(HastyTool(Arc::new(bounds)));
    let mut run = run_with(vec![hasty, ponder.clone()], Action::Allow);
    assert_eq!(run.send_message().await, RunEnding::Done);
    let outputs = run.outputs.lock().unwrap();
    let judged = outputs.iter().filter_map(|output| match output {
        RunOutput::Call { tool, verdict, .. } => Some((tool.as_str(), *verdict)),
        _ => None,
    });
    let expected = [("hasty", CallJudgement::Allow), ("ponder", CallJudgement::Deny)];
    assert_eq!(judged.collect::<Vec<_>>(), expected);
    assert_eq!(ponder.ran.load(Ordering::SeqCst), 0);
}
