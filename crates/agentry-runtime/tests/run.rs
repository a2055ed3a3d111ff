//! Whole runs against a model on loopback, with the real loop, tools, policy and journal: many calls, many
//! runs, faults and limits.
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

mod server;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentry_compile::model::Agent;
use agentry_compile::policy::{
    Action, Judge, LayerSource, PathAnchors, Permissions, Section, SectionRules, layer,
};
use agentry_compile::text::{FileId, SourceFiles, Span, Spanned};
use agentry_compile::{
    CandidateOrigin, CandidateOutcome, MemoryWorld, ModelCandidate, ResolveSettings, TokenPrice,
};
use agentry_runtime::budget_pot::BudgetShare;
use agentry_runtime::commands::{RefusedCommands, UnconfinedCommands};
use agentry_runtime::driver::RunDriver;
use agentry_runtime::driver::guarded_tools::{GuardedTools, SharedRun};
use agentry_runtime::driver::interfaces::{AbsentApprover, DriverParts, EventLog, RunTools as _};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::journal::{Journal, RunDescription};
use agentry_runtime::provider::plan::{ModelPlan, PlanInputs};
use agentry_runtime::redact::Redactor;
use agentry_runtime::rulebook::Rulebook;
use agentry_runtime::tool::{CallLocation, EditorFiles, ToolExtras, Toolbox};
use agentry_runtime::undo::BeforeImages;
use agentry_runtime::{
    ErrorStrategy, MessageBlock, RunEnding, RunEvent, RunLimits, TimedEvent, ToolCall,
};
use serde_json::json;
use tempfile::TempDir;

use server::{Break, Protocol, Reply, Server, Turn};

/// A journal as the event log of the driver.
struct Written(Journal);

impl EventLog for Written {
    fn append(&mut self, happened: &TimedEvent, durable: bool) -> Result<(), String> {
        self.0.append(happened, durable).map_err(|error| error.to_string())
    }
}

/// A workspace, a home directory and a driver.
struct Run {
    folder: TempDir,
    driver: RunDriver,
}

/// The options of a test run.
#[derive(Clone, Copy)]
struct How {
    /// Whether retries wait, as in a real run.
    waits: bool,
    limits: RunLimits,
    on_error: ErrorStrategy,
    protocol: Protocol,
    /// The context window to use instead of that of the plan.
    window: Option<u64>,
}

impl Default for How {
    fn default() -> Self {
        let limits = RunLimits::default();
        let (on_error, protocol) = (ErrorStrategy::Skip, Protocol::Chat);
        Self { waits: false, limits, on_error, protocol, window: None }
    }
}

/// Returns the model of a server, as a plan.
fn plan(server: &Server, protocol: Protocol) -> ModelPlan {
    let (provider, key) = match protocol {
        Protocol::Anthropic => ("anthropic", "ANTHROPIC_API_KEY"),
        Protocol::Chat | Protocol::Responses => ("openai", "OPENAI_API_KEY"),
        Protocol::Gemini => ("google", "GEMINI_API_KEY"),
        Protocol::Ollama => ("ollama", "OLLAMA_KEY"),
    };
    let mut settings = ResolveSettings::built_in().clone();
    for known in settings.providers.iter_mut().filter(|known| known.name == provider) {
        known.base_url = server.base(protocol);
    }
    let candidate = ModelCandidate {
        id: format!("{provider}/scripted"),
        provider: provider.to_owned(),
        model: "scripted".to_owned(),
        wish: CandidateOrigin::Preferred,
        written: None,
        tier: None,
        context: Some(100_000_000),
        price: Some(TokenPrice { input: 2.0, output: 10.0 }),
        tools: None,
        keys: vec![key.to_owned()],
        outcome: CandidateOutcome::Usable,
    };
    let wanted = PlanInputs {
        agent: &Agent::default(),
        models: &[candidate],
        settings: &settings,
        may_search: false,
        counts_money: false,
    };
    ModelPlan::of(&wanted, &|name| (name == key).then(|| "key-of-the-test".to_owned()))
        .expect("a plan")
}

/// Returns rules that allow everything in these sections.
fn rulebook(workspace: &Path, free_sections: &[Section]) -> Rulebook {
    let places =
        PathAnchors { workspace: workspace.display().to_string(), home: None, ignores_case: false };
    let span = Span::start_of(FileId::BUILT_IN);
    let free = |section| SectionRules {
        section: Spanned::new(section, span),
        intent: Some(Spanned::new(Action::Allow, span)),
        rules: Vec::new(),
    };
    let permissions = Permissions { sections: free_sections.iter().copied().map(free).collect() };
    let judge = Judge::new(vec![layer(LayerSource::Permissions, &permissions, &places)], places);
    Rulebook {
        world: Arc::new(MemoryWorld::new(Vec::<(String, String)>::new())),
        judge,
        protected: Vec::new(),
        sources: SourceFiles::default(),
    }
}

impl Run {
    fn new(server: &Server, how: How) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let (workspace, home) = (root.join("work"), root.join("home"));
        std::fs::create_dir(&workspace).expect("a folder");
        let redactor = Arc::new(Redactor::default());
        let journal =
            Journal::create(&home, &RunDescription::default(), redactor).expect("a journal");
        let run = journal.directory().to_path_buf();
        let rulebook = rulebook(&workspace, &[Section::Edit, Section::Read]);
        let toolbox = Toolbox::of(&Agent::default(), &rulebook.judge, ToolExtras::default());
        let plan = Arc::new(plan(server, how.protocol));
        let (models, window) = (plan.entries.len(), plan.window());
        let shared = shared(rulebook, workspace, &run);
        let parts = DriverParts {
            system: "be brief".into(),
            models: plan,
            tools: Arc::new(GuardedTools::new(toolbox, Arc::new(shared))),
            person: Arc::new(AbsentApprover::Denies),
            log: Box::new(Written(journal)),
            clock: Arc::new(now),
            output: Arc::new(|_| {}),
            redactor: Arc::default(),
            waits: how.waits,
            budget: BudgetShare::default(),
        };
        let mut driver = RunDriver::new(parts, Arc::default());
        let How { limits, on_error, .. } = how;
        let window = how.window.or(window);
        let began = RunEvent::Began {
            limits,
            asks_at_limit: false,
            on_error,
            on_error_is_written: true,
            models,
            window,
        };
        driver.begin(began).expect("a journal");
        Self { folder, driver }
    }

    async fn send_message(&mut self) -> RunEnding {
        self.driver.send_message("go".to_owned()).await.expect("a journal")
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("work").join(name)).ok()
    }

    fn results(&self) -> Vec<(String, bool)> {
        let blocks = self.driver.state().messages.iter().flat_map(|message| &message.blocks);
        blocks
            .filter_map(|block| match block {
                MessageBlock::Result { text, failed, .. } => Some((text.clone(), *failed)),
                _ => None,
            })
            .collect()
    }
}

fn shared(rulebook: Rulebook, workspace: PathBuf, run: &Path) -> SharedRun {
    SharedRun {
        rulebook,
        approvals: Arc::default(),
        place: Mutex::new(place(workspace, run.to_path_buf())),
        images: Some(BeforeImages::new(run.join("before")).expect("a folder")),
        commands: Arc::new(RefusedCommands("no commands here".to_owned())),
        person: Arc::new(AbsentApprover::Denies),
        output: Arc::new(|_| {}),
        redactor: Arc::default(),
    }
}

fn place(workspace: PathBuf, run: PathBuf) -> CallLocation {
    let (protected, hidden) = (Vec::new(), Vec::new());
    let editor = EditorFiles::default();
    CallLocation {
        directory: workspace.clone(),
        workspace,
        run,
        home: None,
        protected,
        hidden,
        editor,
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.expect("a clock").as_millis()).expect("a clock")
}

fn write(name: &str, text: &str) -> Turn {
    Turn::call("write", json!({ "path": name, "content": text }))
}

/// A whole run works in every protocol.
#[tokio::test]
async fn a_whole_run_works_in_every_protocol() {
    for protocol in [
        Protocol::Anthropic,
        Protocol::Chat,
        Protocol::Responses,
        Protocol::Gemini,
        Protocol::Ollama,
    ] {
        let server = Server::playing([
            write("a.txt", "one\n").into(),
            Turn::call("read", json!({ "path": "a.txt" })).and_call("list", json!({})).into(),
            Turn::text("all done").into(),
        ]);
        // A plan uses chat completions for this provider; the Responses API has its own tests.
        if protocol == Protocol::Responses {
            continue;
        }
        let mut run = Run::new(&server, How { protocol, ..How::default() });
        assert_eq!(run.send_message().await, RunEnding::Done, "{protocol:?}");
        assert_eq!(run.file("a.txt").as_deref(), Some("one\n"), "{protocol:?}");
        let results = run.results();
        assert_eq!(results.len(), 3, "{protocol:?}: {results:?}");
        assert!(results.iter().all(|(_, failed)| !failed), "{protocol:?}: {results:?}");
        let asked = server.asked();
        let last = asked.last().expect("a request");
        assert_eq!(last.system, "be brief", "{protocol:?}");
        assert!(last.results.iter().any(|(_, text)| text.contains("one")), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_thousand_calls_in_one_run() {
    let server = Server::answering(|asked| match asked.results.len() {
        1_000 => Turn::text("all done").into(),
        made => (0..20)
            .fold(Turn { usage: (10, 0, 5), ..Turn::default() }, |turn, at| match at {
                0 => {
                    let name = format!("{made}.txt");
                    turn.and_call("write", json!({ "path": name, "content": "x" }))
                }
                _ => turn.and_call("read", json!({ "path": "0.txt" })),
            })
            .into(),
    });
    let mut run = Run::new(&server, How::default());
    assert_eq!(run.send_message().await, RunEnding::Done);
    let files = std::fs::read_dir(run.folder.path().join("work")).expect("a folder").count();
    assert_eq!(files, 50);
    assert!(run.results().iter().all(|(_, failed)| !failed));
    assert_eq!(run.driver.state().spent.steps, 1_000);
    assert_eq!(run.driver.state().spent.turns, 51);
}

#[tokio::test]
async fn two_hundred_runs_at_once() {
    let server = Arc::new(Server::answering(|asked| match asked.results.len() {
        0 => write("a.txt", "one\n").into(),
        1 => Turn::call("read", json!({ "path": "a.txt" })).into(),
        _ => Turn::text("all done").into(),
    }));
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let server = Arc::clone(&server);
        runs.spawn(async move {
            let mut run = Run::new(&server, How::default());
            let ending = run.send_message().await;
            (ending, run.file("a.txt"), run.results().len())
        });
    }
    let mut count = 0;
    while let Some(ended) = runs.join_next().await {
        let expected = (RunEnding::Done, Some("one\n".to_owned()), 2);
        assert_eq!(ended.expect("no defect"), expected);
        count += 1;
    }
    assert_eq!((count, server.count()), (200, 600));
}

/// Whatever a server does, the run ends in a clear state, and each requested call happens once.
#[tokio::test]
async fn faults_end_with_a_clear_state() {
    let fine = || write("a.txt", "one\n");
    let done = || Reply::from(Turn::text("done"));
    let cases: Vec<(&str, Vec<Reply>, bool)> = vec![
        ("busy", vec![Reply::status(429).header("retry-after", "0"), fine().into(), done()], true),
        ("broken server", vec![Reply::status(500), fine().into(), done()], true),
        ("dropped", vec![Reply::Drop, fine().into(), done()], true),
        (
            "dropped inside",
            vec![fine().broken(Break::Dropped(2)).into(), fine().into(), done()],
            true,
        ),
        ("truncated", vec![fine().broken(Break::Truncated(2)).into(), fine().into(), done()], true),
        ("garbage", vec![fine().broken(Break::Garbage(1)).into(), fine().into(), done()], true),
        ("unknown events", vec![fine().broken(Break::Unknown).into(), done()], true),
        ("10 MB of arguments", vec![write("a.txt", &"x".repeat(10 << 20)).into()], false),
        ("refused", vec![Reply::status(401)], false),
        ("always busy", (0..20).map(|_| Reply::status(503)).collect(), false),
    ];
    for (name, replies, succeeds) in cases {
        let server = Server::playing(replies);
        let mut run = Run::new(&server, How::default());
        let ending = run.send_message().await;
        if succeeds {
            assert_eq!(ending, RunEnding::Done, "{name}");
            assert_eq!(run.file("a.txt").as_deref(), Some("one\n"), "{name}");
            assert_eq!(run.driver.state().spent.steps, 1, "{name}");
        } else {
            assert!(matches!(ending, RunEnding::Failed { .. }), "{name}: {ending:?}");
            assert_eq!(run.file("a.txt"), None, "{name}");
        }
    }
}

/// A model's mistakes are reported to it, and the run continues.
#[tokio::test]
async fn invalid_calls_are_reported_to_the_model() {
    let long = "x".repeat(4 << 20);
    let cases = [
        ("no such tool", Turn::call("fly", json!({})), "there is no tool `fly`"),
        ("no such argument", Turn::call("read", json!({ "file": "a" })), "do not fit"),
        ("no JSON", Turn::call("read", json!("{\"path\": ")), "no JSON object"),
        ("4 MB of no JSON", Turn::call("read", json!(long)), "no JSON object"),
        (
            "outside",
            Turn::call("read", json!({ "path": "/etc/shadow" })),
            "no user is present to answer",
        ),
        (
            "a command",
            Turn::call("bash", json!({ "command": "id" })),
            "no user is present to answer",
        ),
    ];
    for (name, turn, expected) in cases {
        let server = Server::playing([turn.into(), Turn::text("done").into()]);
        let mut run = Run::new(&server, How::default());
        assert_eq!(run.send_message().await, RunEnding::Done, "{name}");
        let results = run.results();
        let (text, failed) = &results[0];
        assert!(*failed && text.contains(expected), "{name}: {text}");
        assert!(text.len() < 100_000, "{name}: {}", text.len());
    }
}

#[tokio::test]
async fn limits_stop_endless_calls() {
    let storm = || {
        Server::answering(|asked| {
            let turn = Turn { usage: (1_000, 0, 100), ..Turn::default() };
            (0..100)
                .fold(turn, |turn, at| {
                    let name = format!("{}-{at}.txt", asked.results.len());
                    turn.and_call("write", json!({ "path": name, "content": "x" }))
                })
                .into()
        })
    };
    let none = RunLimits::default();
    let cases = [
        (RunLimits { steps: Some(150), ..none }, "150 steps", 150),
        (RunLimits { turns: Some(2), ..none }, "2 turns", 64),
        (
            RunLimits { tokens: Some(2_000), ..none },
            "2000 tokens, which the next question would pass",
            64,
        ),
        // $0.003 a turn.
        (
            RunLimits { cost: Some(5_000), ..none },
            "$0.0050, which the next question would pass",
            64,
        ),
    ];
    for (limits, limit, most) in cases {
        let server = storm();
        let mut run = Run::new(&server, How { limits, ..How::default() });
        assert_eq!(run.send_message().await, RunEnding::OverBudget { limit: limit.to_owned() });
        let files = std::fs::read_dir(run.folder.path().join("work")).expect("a folder").count();
        assert_eq!(files, most, "{limit}");
    }
}

/// A small context window, many calls and long results: the run continues.
#[tokio::test]
async fn a_full_context_does_not_end_a_run() {
    const MOST: usize = 60_000;
    // With a known window the run stays within it; otherwise the server reports the overflow.
    for window in [Some(15_000), None] {
        let server = Server::answering(|asked| {
            let summing_up = asked.user_texts.iter().any(|text| text.ends_with("Sum this up."));
            let full = r#"{"error":{"message":"prompt is too long"}}"#;
            match asked.body.to_string().len() {
                length if length > MOST => Reply::status(400).body(full),
                _ if summing_up => Turn::text("it read a lot").into(),
                _ if asked.results.iter().any(|(_, text)| text.contains("enough")) => {
                    Turn::text("all done").into()
                }
                length => {
                    let turn = Turn { usage: (length as u64 / 4, 0, 5), ..Turn::default() };
                    let name = if asked.number > 12 { "last.txt" } else { "long.txt" };
                    let read = |turn: Turn, _| turn.and_call("read", json!({ "path": name }));
                    (0..64).fold(turn, read).into()
                }
            }
        });
        let mut run = Run::new(&server, How { window, ..How::default() });
        let work = run.folder.path().join("work");
        std::fs::write(work.join("long.txt"), "some words\n".repeat(3_000)).expect("a file");
        std::fs::write(work.join("last.txt"), "enough").expect("a file");
        assert_eq!(run.send_message().await, RunEnding::Done, "{window:?}");
        let asked = server.asked();
        let too_long = asked.iter().any(|asked| asked.body.to_string().len() > MOST);
        assert!(too_long || window.is_some(), "{window:?}");
        // What was cut before it was sent is in a file.
        if window.is_none() {
            continue;
        }
        let mut all = asked.iter().flat_map(|asked| &asked.results).map(|(_, text)| text);
        let cut = all.find(|text| text.contains("are left out here; all of it is in `"));
        let path = cut.and_then(|text| text.split('`').nth(1)).expect("a path");
        let whole = std::fs::read_to_string(path).expect("the whole result");
        assert!(whole.len() > 30_000, "{}", whole.len());
    }
}

/// The endless output of a command is cut.
#[tokio::test]
async fn endless_command_output_is_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let rulebook = rulebook(&root, &[Section::Bash]);
    let toolbox = Toolbox::of(&Agent::default(), &rulebook.judge, ToolExtras::default());
    let printed: Arc<Mutex<String>> = Arc::default();
    let printed_sink = Arc::clone(&printed);
    let shared = SharedRun {
        commands: Arc::new(UnconfinedCommands::default()),
        output: Arc::new(move |output| {
            if let RunOutput::Piece { text, .. } = output {
                printed_sink.lock().expect("a text").push_str(&text);
            }
        }),
        ..shared(rulebook, root.clone(), &root.join("run"))
    };
    let tools = GuardedTools::new(toolbox, Arc::new(shared));
    let line = "for i in {1..30000}; do echo 'a line of some length'; done";
    let (id, tool) = ("1".to_owned(), "bash".to_owned());
    let call = ToolCall { id, tool, arguments: json!({ "command": line }), opaque: None };
    let output = tools.run(&call).await;
    assert!(!output.failed, "{output:?}");
    let printed = printed.lock().expect("a text");
    assert!(printed.len() < 300_000, "{}", printed.len());
    let (kept_part, note) = printed.split_once("\n[").expect("a note");
    let left_out = 30_000 * 22 - kept_part.len();
    assert!(note.starts_with(&format!("{left_out} more bytes are not shown here; all")), "{note}");
    let path = note.split('`').nth(1).expect("a path");
    assert_eq!(std::fs::read_to_string(path).expect("all of it").len(), 30_000 * 22);
}

/// An answer that breaks off is charged as far as it arrived.
#[tokio::test]
async fn truncated_answers_are_charged() {
    let broken = |_: &server::Asked| {
        Reply::from(Turn::text("hm").used(20_000, 0, 5).broken(Break::Dropped(1)))
    };
    let protocols = [Protocol::Anthropic, Protocol::Chat, Protocol::Gemini, Protocol::Ollama];
    for protocol in protocols {
        let server = Server::answering(broken);
        let mut run = Run::new(&server, How { protocol, ..How::default() });
        assert!(matches!(run.send_message().await, RunEnding::Failed { .. }), "{protocol:?}");
        let usage = run.driver.state().spent.usage;
        // At least what was sent, five times.
        assert!(usage.input > 5 && usage.cost.is_some_and(|cost| cost > 10), "{usage:?}");
        // Enough for one request.
        let limits = RunLimits { cost: usage.cost.map(|cost| cost / 5), ..RunLimits::default() };
        let server = Server::answering(broken);
        let mut run = Run::new(&server, How { limits, protocol, ..How::default() });
        assert!(matches!(run.send_message().await, RunEnding::OverBudget { .. }), "{protocol:?}");
        assert_eq!(server.count(), 1, "{protocol:?}");
    }
}

/// A silent server costs no more than the time limit of the run.
#[tokio::test]
async fn a_silent_server_ends_at_the_time_limit() {
    let server = Server::playing([Reply::Silent]);
    let limits = RunLimits { time: Some(300), ..RunLimits::default() };
    let mut run = Run::new(&server, How { limits, waits: true, ..How::default() });
    assert_eq!(run.send_message().await, RunEnding::OverBudget { limit: "0 s".to_owned() });
}
