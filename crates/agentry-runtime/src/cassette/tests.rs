use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, json};
use tempfile::TempDir;

use super::*;
use crate::conversation::{MessageBlock, MessageRole, TokenUsage, ToolCall};
use crate::event::{
    ApprovalAnswer, CallClass, CallJudgement, ModelFailure, ModelFailureKind, ModelTurn, TimedEvent,
};
use crate::provider::ProviderRequest;
use crate::redact::{KnownSecret, Redactor};
use crate::state::StepState;
use crate::step::{PersonQuestion, RunEffect, step};

const NOW: u64 = 1_794_754_833_000;

/// The prompt and the tools of an agent.
#[derive(Clone)]
struct Agent {
    system: String,
    tools: Vec<ToolSpec>,
    verdict: CallJudgement,
    prompt: String,
    workspace: PathBuf,
}

fn agent() -> Agent {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("It does {name}."),
        schema: json!({"type": "object"}),
    };
    Agent {
        system: "You write.\nBe short.\n".to_owned(),
        tools: vec![tool("read"), tool("write")],
        verdict: CallJudgement::Allow,
        prompt: "write it".to_owned(),
        workspace: PathBuf::from("/home/me/project"),
    }
}

impl Agent {
    fn ask<T>(&self, messages: &[Arc<Message>], then: impl FnOnce(&ProviderRequest<'_>) -> T) -> T {
        then(&ProviderRequest {
            model: "some-model",
            system: &self.system,
            messages,
            tools: &self.tools,
            temperature: None,
            most_output: 100,
            extra: &Map::new(),
        })
    }

    fn places(&self) -> CassettePaths {
        CassettePaths::new([("workspace", self.workspace.as_path())])
    }
}

fn opening(agent: &str) -> CassetteOpening {
    CassetteOpening { agent: agent.to_owned(), now: NOW, ..CassetteOpening::default() }
}

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new(KnownSecret::new("KEY", "hunter2hunter2")))
}

/// Returns whether a line of a cassette is kept.
type Keep<'a> = &'a dyn Fn(&&str) -> bool;

/// The source of the events of a run.
trait TapeWorld {
    fn asked(
        &mut self,
        agent: &Agent,
        messages: &[Arc<Message>],
    ) -> Result<RunEvent, CassetteDifference>;
    fn judged(&mut self, agent: &Agent, call: &ToolCall) -> Result<RunEvent, CassetteDifference>;
    fn answered(&mut self, id: &str) -> Result<RunEvent, CassetteDifference>;
    fn ran(&mut self, call: &ToolCall) -> Result<RunEvent, CassetteDifference>;
    fn happened(&mut self, event: &RunEvent);
}

/// A driver: carries out effects until none is left.
fn drive(agent: &Agent, world: &mut dyn TapeWorld) -> Result<StepState, CassetteDifference> {
    let mut state = StepState::default();
    let mut events: Vec<RunEvent> = vec![RunEvent::UserSent { text: agent.prompt.clone() }];
    while !events.is_empty() {
        let event = events.remove(0);
        world.happened(&event);
        for effect in step(&mut state, TimedEvent { at: NOW, event }) {
            let call = |id: &str| state.call(id).map(|call| call.call.clone()).expect("a call");
            events.push(match effect {
                RunEffect::Ask { .. } => world.asked(agent, &state.messages)?,
                RunEffect::Judge { id } => world.judged(agent, &call(&id))?,
                RunEffect::Put(PersonQuestion::Call { id, .. }) => world.answered(&id)?,
                RunEffect::Run { id } => world.ran(&call(&id))?,
                RunEffect::Wait { .. } => RunEvent::Waited,
                RunEffect::Stop | RunEffect::Finish(_) => continue,
                other => panic!("{other:?}"),
            });
        }
    }
    Ok(state)
}

fn judged(agent: &Agent, call: &ToolCall) -> RunEvent {
    let verdict = if call.tool == "write" { agent.verdict } else { CallJudgement::Allow };
    let class = if call.tool == "write" { CallClass::Write } else { CallClass::Read };
    RunEvent::Judged { id: call.id.clone(), verdict, reason: "a rule".to_owned(), class }
}

/// A scripted model with a recorder.
struct Live {
    answers: Vec<RunEvent>,
    recorder: CassetteRecorder,
    now: u64,
}

impl TapeWorld for Live {
    fn asked(
        &mut self,
        agent: &Agent,
        messages: &[Arc<Message>],
    ) -> Result<RunEvent, CassetteDifference> {
        self.now += 10;
        agent.ask(messages, |request| self.recorder.asked(self.now, request)).expect("a line");
        Ok(self.answers.remove(0))
    }

    fn judged(&mut self, agent: &Agent, call: &ToolCall) -> Result<RunEvent, CassetteDifference> {
        Ok(judged(agent, call))
    }

    fn answered(&mut self, id: &str) -> Result<RunEvent, CassetteDifference> {
        Ok(RunEvent::Answered { id: Some(id.to_owned()), answer: ApprovalAnswer::Yes })
    }

    fn ran(&mut self, call: &ToolCall) -> Result<RunEvent, CassetteDifference> {
        let text = format!("{} in /home/me/project/a: hunter2hunter2", call.tool);
        Ok(RunEvent::Ended { id: call.id.clone(), text, failed: false })
    }

    fn happened(&mut self, event: &RunEvent) {
        self.now += 1;
        let happened = TimedEvent { at: self.now, event: event.clone() };
        self.recorder.happened(&happened).expect("a line");
    }
}

struct Replay(Tape);

impl TapeWorld for Replay {
    fn asked(
        &mut self,
        agent: &Agent,
        messages: &[Arc<Message>],
    ) -> Result<RunEvent, CassetteDifference> {
        agent.ask(messages, |request| self.0.turn(request)).map(|happened| happened.event)
    }

    fn judged(&mut self, agent: &Agent, call: &ToolCall) -> Result<RunEvent, CassetteDifference> {
        let event = judged(agent, call);
        if let RunEvent::Judged { verdict, reason, .. } = &event {
            self.0.judged(call, *verdict, reason)?;
        }
        Ok(event)
    }

    fn answered(&mut self, id: &str) -> Result<RunEvent, CassetteDifference> {
        self.0.answer(Some(id)).map(|happened| happened.event)
    }

    fn ran(&mut self, call: &ToolCall) -> Result<RunEvent, CassetteDifference> {
        self.0.result(call).map(|happened| happened.event)
    }

    fn happened(&mut self, _: &RunEvent) {}
}

fn answer(calls: &[(&str, &str)]) -> RunEvent {
    let calls = calls.iter().map(|(id, tool)| {
        let arguments = json!({"path": "/home/me/project/a"});
        MessageBlock::Call(ToolCall {
            id: (*id).to_owned(),
            tool: (*tool).to_owned(),
            arguments,
            opaque: None,
        })
    });
    let text = MessageBlock::Text { text: "hm".to_owned() };
    let blocks = std::iter::once(text).chain(calls).collect();
    let message = Message { role: MessageRole::Assistant, blocks };
    let usage = TokenUsage { input: 10, output: 5, ..TokenUsage::default() };
    RunEvent::Turned(ModelTurn { message, usage, truncated: false, model: 0 })
}

/// Records a run with two reads and a write; returns the cassette and the final state.
fn recorded(directory: &TempDir, agent: &Agent) -> (PathBuf, StepState) {
    let path = directory.path().join("writer.cassette.jsonl");
    let recorder = CassetteRecorder::create(&path, opening("writer"), redactor(), agent.places());
    let busy = ModelFailure::new(ModelFailureKind::Temporary, "busy");
    let answers = vec![
        RunEvent::TurnFailed(busy),
        answer(&[("a", "read"), ("b", "read")]),
        answer(&[("a", "write")]),
        answer(&[]),
    ];
    let mut live = Live { answers, recorder: recorder.expect("a file"), now: NOW };
    let state = drive(agent, &mut live).expect("a run");
    live.recorder.finish().expect("a cassette");
    (path, state)
}

fn replayed(path: &Path, agent: &Agent) -> Result<StepState, CassetteDifference> {
    let tape = Tape::open(path, redactor(), agent.places()).expect("a cassette");
    let mut replay = Replay(tape);
    let state = drive(agent, &mut replay)?;
    replay.0.finish().map(|()| state)
}

#[test]
fn a_cassette_is_readable_and_redacted() {
    let directory = TempDir::new().expect("a directory");
    let (path, _) = recorded(&directory, &agent());
    let text = fs::read_to_string(&path).expect("a cassette");
    assert!(!text.contains("hunter2") && !text.contains("/home/me"), "{text}");
    insta::assert_snapshot!(text);
    assert!(!directory.path().join("writer.cassette.jsonl.part").exists());
}

#[test]
fn a_cassette_that_is_no_file_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let opened = Tape::open(directory.path(), redactor(), agent().places());
    let error = opened.expect_err("no file").to_string();
    assert!(error.ends_with("it is not a file"), "{error}");
}

#[test]
fn a_replay_repeats_the_run() {
    let directory = TempDir::new().expect("a directory");
    for verdict in [CallJudgement::Allow, CallJudgement::Ask, CallJudgement::Deny] {
        let agent = Agent { verdict, ..agent() };
        let (path, live) = recorded(&directory, &agent);
        let again = replayed(&path, &agent).unwrap_or_else(|error| panic!("{verdict:?}: {error}"));
        // Without the redacted secrets and the clock.
        let written = |state: &StepState| {
            let messages = state.messages.iter();
            messages.map(|it| serde_json::to_value(&**it).expect("JSON")).collect::<Value>()
        };
        assert_eq!(written(&again), redactor().value(written(&live)), "{verdict:?}");
    }
}

/// A run with a thousand calls is recorded and replayed quickly.
#[test]
fn a_run_of_a_thousand_calls_replays() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("long.cassette.jsonl");
    let agent = agent();
    let recorder = CassetteRecorder::create(&path, opening("writer"), redactor(), agent.places());
    let ids: Vec<String> = (0..1_000).map(|number| format!("call-of-{number}")).collect();
    let calls = ids
        .chunks(10)
        .map(|ids| answer(&ids.iter().map(|id| (id.as_str(), "read")).collect::<Vec<_>>()));
    let answers = calls.chain([answer(&[])]).collect();
    let mut live = Live { answers, recorder: recorder.expect("a file"), now: NOW };
    drive(&agent, &mut live).expect("a run");
    live.recorder.finish().expect("a cassette");
    let lines = fs::read_to_string(&path).expect("a cassette").lines().count();
    assert_eq!(lines, 1 + 1 + 2 * 101 + 2 * 1_000, "a header, what was said, turns, calls");
    let state = replayed(&path, &agent).expect("the same run");
    assert_eq!(state.messages.len(), 202);
}

#[test]
fn a_cassette_replays_on_another_machine() {
    let directory = TempDir::new().expect("a directory");
    let (path, _) = recorded(&directory, &agent());
    let other = Agent { workspace: PathBuf::from("/srv/elsewhere"), ..agent() };
    let state = replayed(&path, &other).expect("the same run");
    let paths = state
        .messages
        .iter()
        .flat_map(|message| message.calls())
        .map(|call| &call.arguments["path"]);
    assert!(paths.into_iter().all(|path| path == "/srv/elsewhere/a"));
}

#[test]
fn a_failed_replay_names_the_first_difference() {
    let directory = TempDir::new().expect("a directory");
    let (path, _) = recorded(&directory, &agent());
    let mut other_prompt = agent();
    other_prompt.system.push_str("Be kind.\n");
    let mut fewer = agent();
    fewer.tools.pop();
    let mut described = agent();
    if let Some(tool) = described.tools.first_mut() {
        tool.description = "It looks.".to_owned();
    }
    let mut asked = agent();
    asked.prompt = "write it now".to_owned();
    let cases = [
        ("the system prompt", other_prompt),
        ("the tools", fewer),
        ("a tool", described),
        ("the prompt", asked),
        ("a verdict", Agent { verdict: CallJudgement::Deny, ..agent() }),
    ];
    let mut all = String::new();
    for (case, agent) in cases {
        let difference = replayed(&path, &agent).expect_err(case);
        let _ = writeln!(all, "# {case} ({})\n{difference}\n", difference.kind.as_str());
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_replay_with_missing_or_extra_events_fails() {
    let directory = TempDir::new().expect("a directory");
    let (path, _) = recorded(&directory, &agent());
    let text = fs::read_to_string(&path).expect("a cassette");
    let cut = |keep: &dyn Fn(&&str) -> bool| {
        let lines: Vec<&str> = text.lines().filter(keep).collect();
        fs::write(&path, lines.join("\n")).expect("a cassette");
        replayed(&path, &agent()).map(drop).map_err(|difference| difference.message)
    };
    let last = text.lines().rfind(|line| line.contains("\"asked\"")).expect("a question");
    let cases: [(&str, Keep<'_>, &str); 3] = [
        (
            "without its last question",
            &|line| *line != last && !line.contains("[{\"type\":\"text\",\"text\":\"hm\"}]}"),
            "the model is asked once more than when this was recorded",
        ),
        (
            "without a result",
            &|line| !line.contains("\"ended\"") || !line.contains("read in"),
            "the call `a` of `read` was not run before",
        ),
        (
            "without a verdict",
            &|line| !line.contains("\"judged\""),
            "the call `a` of `read` was not made before",
        ),
    ];
    for (case, keep, expected) in cases {
        assert_eq!(cut(keep), Err(expected.to_owned()), "{case}");
    }
}

/// Starts a recording.
fn recording() -> (TempDir, PathBuf, CassetteRecorder) {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("x.cassette.jsonl");
    let recorder =
        CassetteRecorder::create(&path, opening("x"), redactor(), CassettePaths::default());
    (directory, path, recorder.expect("a file"))
}

#[test]
fn a_replay_repeats_a_cancelled_turn() {
    let (_directory, path, mut recorder) = recording();
    let agent = agent();
    let messages = [Arc::new(Message::user("write it"))];
    agent.ask(&messages, |request| recorder.asked(NOW, request)).expect("a line");
    let cancelled = TimedEvent { at: NOW + 5, event: RunEvent::Cancelled { run: true } };
    recorder.happened(&cancelled).expect("a line");
    recorder.finish().expect("a cassette");
    let mut tape = Tape::open(&path, redactor(), CassettePaths::default()).expect("a cassette");
    let played = agent.ask(&messages, |request| tape.turn(request));
    assert_eq!(played, Ok(cancelled));
    assert_eq!((tape.now(), tape.finish()), (NOW + 5, Ok(())));
}

/// The cancellation stops every call that was under way, also one that had no verdict yet.
#[test]
fn a_replay_stops_all_calls_of_a_cancelled_turn() {
    let (_directory, path, mut recorder) = recording();
    let agent = agent();
    let messages = [Arc::new(Message::user("write it"))];
    agent.ask(&messages, |request| recorder.asked(NOW, request)).expect("a line");
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        tool: "read".to_owned(),
        arguments: json!({}),
        opaque: None,
    };
    let cancelled = RunEvent::Cancelled { run: false };
    let events =
        [answer(&[("a", "read"), ("b", "read")]), judged(&agent, &call("a")), cancelled.clone()];
    for event in events {
        recorder.happened(&TimedEvent { at: NOW, event }).expect("a line");
    }
    recorder.finish().expect("a cassette");
    let mut tape = Tape::open(&path, redactor(), CassettePaths::default()).expect("a cassette");
    agent.ask(&messages, |request| tape.turn(request)).expect("the answer");
    let mut verdict = |id: &str| {
        let found = tape.judged(&call(id), CallJudgement::Allow, "a rule").expect("no difference");
        found.map(|happened| happened.event)
    };
    assert_eq!((verdict("a"), verdict("b")), (None, Some(cancelled.clone())));
    assert_eq!(tape.result(&call("a")).map(|it| it.event), Ok(cancelled));
    assert_eq!(tape.finish(), Ok(()));
}

/// A request that a limit prevented is also prevented in the replay; any other is sent.
#[test]
fn a_replay_repeats_requests_refused_by_a_limit() {
    let (_directory, path, mut recorder) = recording();
    let agent = agent();
    let messages = [Arc::new(Message::user("write it"))];
    let usage = |input| TokenUsage { input, ..TokenUsage::default() };
    let asking = |input| TimedEvent { at: NOW, event: RunEvent::Asking { usage: usage(input) } };
    recorder.happened(&asking(7)).expect("a line");
    agent.ask(&messages, |request| recorder.asked(NOW, request)).expect("a line");
    let failure = ModelFailure::new(ModelFailureKind::Permanent, "no");
    let failed = TimedEvent { at: NOW, event: RunEvent::TurnFailed(failure) };
    recorder.happened(&failed).expect("a line");
    recorder.happened(&asking(8)).expect("a line");
    let (summary, usage_of_it) = ("in short".to_owned(), usage(1));
    let compacted = RunEvent::Compacted { messages: 1, summary, usage: usage_of_it };
    let compacted = TimedEvent { at: NOW, event: compacted };
    recorder.sent();
    recorder.happened(&compacted).expect("a line");
    recorder.happened(&asking(9)).expect("a line");
    let message_event =
        TimedEvent { at: NOW, event: RunEvent::UserSent { text: "more".to_owned() } };
    recorder.happened(&message_event).expect("a line");
    recorder.happened(&asking(10)).expect("a line");
    recorder.finish().expect("a cassette");
    let mut tape = Tape::open(&path, redactor(), CassettePaths::default()).expect("a cassette");
    assert_eq!(tape.refused(), None);
    assert_eq!(agent.ask(&messages, |request| tape.turn(request)), Ok(failed));
    assert_eq!(tape.refused(), None);
    assert_eq!(tape.compacted(), Ok(compacted));
    let refused = [9, 10].map(|input| Some(usage(input)));
    assert_eq!([tape.refused(), tape.refused()], refused);
    assert_eq!(tape.refused(), None);
}

#[test]
fn a_damaged_cassette_is_an_error_with_its_line() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("x");
    let cases = [
        ("", "x:1` is not an event of a recorded run: the cassette is empty"),
        ("nonsense", "x:1` is not an event of a recorded run: expected ident"),
        ("{}", "x:1` is not an event of a recorded run: this is not a cassette"),
        ("{\"cassette\":7}", "has format 7; this program knows format 1 and older ones"),
        (
            "{\"cassette\":1,\"agent\":\"x\",\"recorded\":\"\"}\n{\"at\":1,\"type\":\"waited\"}\n{\"at\":1}",
            "x:3` is not an event of a recorded run: ",
        ),
        (
            "{\"cassette\":1,\"agent\":\"x\",\"recorded\":\"\"}\n{\"at\":1,\"type\":\"asked\",\"model\":\"m\"}",
            "x:2` is not an event of a recorded run: the first question lacks `system` or `tools`",
        ),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).expect("a file");
        let error =
            Tape::open(&path, redactor(), CassettePaths::default()).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn cassettes_are_found_beside_their_agent() {
    let directory = TempDir::new().expect("a directory");
    let names = [
        "writer.agent.md",
        "writer.cassette.jsonl",
        "writer.agent.cassette.short.jsonl",
        "writer.cassette.jsonl.part",
        "writer2.cassette.jsonl",
        "other.cassette.jsonl",
    ];
    for name in names {
        fs::write(directory.path().join(name), "").expect("a file");
    }
    let found = beside(&directory.path().join("writer.agent.md")).expect("files");
    let found: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(found, ["writer.agent.cassette.short.jsonl", "writer.cassette.jsonl"]);
}
