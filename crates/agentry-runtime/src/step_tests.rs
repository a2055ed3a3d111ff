//! Scripts of the loop: what happens, and what is to be done about it.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::budget::Limits;
use crate::conversation::{Block, Call, Role};

/// A script has a line `what happens => what is to be done` for every event; the first line says how
/// the run begins.
fn check(case: &str, script: &str) -> State {
    let mut state = State::default();
    let mut clock = 1_000;
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    for (number, line) in lines.enumerate() {
        let (event, expected) = line.split_once("=>").unwrap_or((line, ""));
        let mut words: Vec<&str> = event.split_whitespace().collect();
        if let Some(time) = words.first().and_then(|word| word.strip_prefix('+')) {
            clock += time.parse::<u64>().expect("a time");
            words.remove(0);
        }
        let event = if number == 0 { began(&words) } else { event_of(&words) };
        let effects = step(&mut state, Happened { at: clock, event });
        assert_eq!(shown(&effects), expected.trim(), "{case}: {line}");
        check_conversation(&state, &effects, &format!("{case}: {line}"));
    }
    state
}

fn value(words: &[&str], name: &str) -> Option<u64> {
    let word = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word.map(|word| word.parse().expect("a number"))
}

fn began(words: &[&str]) -> Event {
    assert_eq!(words.first(), Some(&"begin"), "the first line");
    let on_error = match words.iter().find_map(|word| word.strip_prefix("on_error=")) {
        Some("ask") => OnError::Ask,
        Some("retry") => OnError::Retry,
        Some("fail") => OnError::Fail,
        _ => OnError::Skip,
    };
    let limits = Limits {
        turns: value(words, "turns"),
        steps: value(words, "steps"),
        tokens: value(words, "tokens"),
        cost: value(words, "cost"),
        time: value(words, "time"),
    };
    let models = value(words, "models").map_or(1, |models| usize::try_from(models).expect("few"));
    let asks_at_limit = words.contains(&"asks");
    Event::Began { limits, asks_at_limit, on_error, models, window: value(words, "window") }
}

fn event_of(words: &[&str]) -> Event {
    let Some((verb, rest)) = words.split_first() else { panic!("an empty line") };
    let id = || rest.first().map(|id| (*id).to_owned());
    let some_id = || id().expect("a call");
    let answered = |answer| Event::Answered { id: id(), answer };
    match *verb {
        "said" => Event::Said { text: rest.join(" ") },
        "turn" => Event::Turned(turn(rest)),
        "fail" => Event::TurnFailed(Failure {
            kind: match rest.first() {
                Some(&"temporary") => FailureKind::Temporary,
                Some(&"too-long") => FailureKind::TooLong,
                _ => FailureKind::Permanent,
            },
            message: "no".to_owned(),
            retry_after: value(rest, "after"),
        }),
        "allow" | "ask" | "deny" => Event::Judged {
            id: some_id(),
            verdict: match *verb {
                "allow" => Judgement::Allow,
                "ask" => Judgement::Ask,
                _ => Judgement::Deny,
            },
            reason: "rule".to_owned(),
            class: match rest.get(1) {
                Some(&"write") => Class::Write,
                Some(&"external") => Class::External,
                _ => Class::Read,
            },
        },
        "yes" => answered(Answer::Yes),
        "no" => answered(Answer::No(None)),
        "park" => answered(Answer::Park),
        "start" => Event::Started { id: some_id() },
        "end" => Event::Ended { id: some_id(), text: "ok".to_owned(), failed: false },
        "err" => Event::Ended { id: some_id(), text: "bad".to_owned(), failed: true },
        "compacted" => Event::Compacted {
            messages: some_id().parse().expect("a number"),
            summary: "in short".to_owned(),
            usage: Usage { input: 1, ..Usage::default() },
        },
        "waited" => Event::Waited,
        "stop" => Event::Cancelled { run: false },
        "cancel" => Event::Cancelled { run: true },
        "resume" => Event::Resumed,
        other => panic!("`{other}`"),
    }
}

/// `turn a b used=100 model=1 cut`: calls by their names.
fn turn(words: &[&str]) -> Turn {
    let is_call = |word: &&&str| !word.contains('=') && **word != "cut";
    let calls = words.iter().filter(is_call).map(|id| {
        let secret = id.starts_with("secret");
        let arguments = if secret { json!({"key": "[redacted: KEY]"}) } else { json!({}) };
        let (id, tool) = ((*id).to_owned(), "tool".to_owned());
        Block::Call(Call { id, tool, arguments, opaque: None })
    });
    let text = Block::Text { text: "hm".to_owned() };
    Turn {
        message: Message {
            role: Role::Assistant,
            blocks: std::iter::once(text).chain(calls).collect(),
        },
        usage: Usage { input: value(words, "used").unwrap_or(10), ..Usage::default() },
        truncated: words.contains(&"cut"),
        model: value(words, "model").map_or(0, |model| usize::try_from(model).expect("few")),
    }
}

fn shown(effects: &[Effect]) -> String {
    let mut out = String::new();
    for effect in effects {
        let _ = match effect {
            Effect::Ask { model } => write!(out, " ask {model}"),
            Effect::Judge { id } => write!(out, " judge {id}"),
            Effect::Put(Question::Call { id, .. }) => write!(out, " may? {id}"),
            Effect::Put(Question::Unfinished { id }) => write!(out, " unfinished? {id}"),
            Effect::Put(Question::Failed { id, .. }) => write!(out, " again? {id}"),
            Effect::Put(Question::Limit { limit }) => write!(out, " more? {limit}"),
            Effect::Put(Question::Models { .. }) => write!(out, " models?"),
            Effect::Run { id } => write!(out, " run {id}"),
            Effect::Wait { time } => write!(out, " wait {time}"),
            Effect::Compact { messages } => write!(out, " compact {messages}"),
            Effect::Stop => write!(out, " stop"),
            Effect::Finish(ending) => write!(
                out,
                " {}",
                match ending {
                    Ending::Done => "done",
                    Ending::Failed { .. } => "failed",
                    Ending::OverBudget { .. } => "over",
                    Ending::Cancelled => "cancelled",
                    Ending::Parked { .. } => "parked",
                }
            ),
        };
    }
    out.trim().to_owned()
}

/// Whenever the model is asked, every call in the conversation has its result, right behind it.
fn check_conversation(state: &State, effects: &[Effect], case: &str) {
    if !effects.iter().any(|effect| matches!(effect, Effect::Ask { .. })) {
        return;
    }
    let results = |message: &Message| -> Vec<String> {
        let ids = message.blocks.iter().filter_map(|block| match block {
            Block::Result { id, .. } => Some(id.clone()),
            _ => None,
        });
        ids.collect()
    };
    let mut expected: Vec<String> = Vec::new();
    for message in &state.messages {
        assert_eq!(results(message), expected, "{case}: {:?}", state.messages);
        expected = message.calls().map(|call| call.id.clone()).collect();
    }
    assert_eq!(expected, Vec::<String>::new(), "{case}: calls without results");
}

#[test]
fn conversations() {
    let cases = [
        (
            "an answer",
            "begin
             said hi => ask 0
             turn => done
             said more => ask 0
             turn => done",
        ),
        (
            "a call",
            "begin
             said hi => ask 0
             turn a => judge a
             allow a => run a
             start a =>
             end a => ask 0
             turn => done",
        ),
        (
            "what is said meanwhile is heard next",
            "begin
             said hi => ask 0
             said and =>
             turn a => judge a
             said then =>
             allow a => run a
             end a => ask 0
             said wait =>
             turn => ask 0
             turn => done",
        ),
        (
            "what nobody waits for changes nothing",
            "begin
             said hi => ask 0
             waited =>
             end a =>
             start a =>
             allow a =>
             yes a =>
             yes =>
             compacted 1 =>
             turn a => judge a
             turn b =>
             fail permanent =>
             deny a => ask 0
             start a =>
             end a =>
             turn => done",
        ),
        (
            "a call that was refused does not start any more",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             deny a =>
             start a =>
             end a =>
             allow b => run b
             end b => ask 0",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn what_runs_beside_what() {
    let cases = [
        (
            "reads run together",
            "begin
             said hi => ask 0
             turn a b c => judge a judge b judge c
             allow a => run a
             allow b => run b
             allow c => run c
             end b =>
             end a =>
             end c => ask 0",
        ),
        (
            "a write waits for the reads before it, and what follows waits for it",
            "begin
             said hi => ask 0
             turn a b c => judge a judge b judge c
             allow c =>
             allow b write =>
             allow a => run a
             end a => run b
             start b =>
             end b => run c
             end c => ask 0",
        ),
        (
            "writes run one after the other",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b external =>
             end a => run b
             end b => ask 0",
        ),
        (
            "a question holds up what changes something, not what looks",
            "begin
             said hi => ask 0
             turn a b c => judge a judge b judge c
             ask a => may? a
             allow b => run b
             allow c write =>
             end b =>
             yes a => run a
             end a => run c
             end c => ask 0",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn questions() {
    let cases = [
        (
            "no",
            "begin
             said hi => ask 0
             turn a => judge a
             ask a write => may? a
             no a => ask 0",
        ),
        (
            "an answer counts once",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             ask a write => may? a
             yes a => run a
             yes a =>
             no a =>
             park a =>
             end a =>
             deny b => ask 0",
        ),
        (
            "put aside, and taken up again",
            "begin
             said hi => ask 0
             turn a => judge a
             ask a write => may? a
             park a => stop parked
             yes a =>
             resume => may? a
             yes a => run a
             end a => ask 0",
        ),
        (
            "what runs is let to its end before the run is put aside",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             start a =>
             ask b write => may? b
             park b =>
             end a => stop parked
             resume => may? b
             no b => ask 0",
        ),
        (
            "put aside over a limit",
            "begin asks steps=1
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             end a => more? 1 steps
             park => stop parked
             resume => more? 1 steps
             yes => run b",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn limits() {
    let cases = [
        (
            "turns",
            "begin turns=1
             said hi => ask 0
             turn a => judge a
             allow a => stop over
             resume => over",
        ),
        (
            "steps",
            "begin steps=2
             said hi => ask 0
             turn a b c => judge a judge b judge c
             allow a => run a
             allow b => run b
             allow c => stop over",
        ),
        ("tokens", "begin tokens=10\n said hi => ask 0\n turn => done\n said more => stop over"),
        (
            "time",
            "begin time=500
             said hi => ask 0
             +600 turn a => judge a
             allow a => stop over",
        ),
        (
            "time in which a person is asked does not count",
            "begin time=500 on_error=ask
             +9000 said hi => ask 0
             turn a b => judge a judge b
             ask a write => may? a
             allow b write =>
             +9000 yes a => run a
             err a => again? a
             +9000 yes a => run a
             end a => run b",
        ),
        (
            "time in which nobody runs it does not count",
            "begin time=500
             said hi => ask 0
             +400 resume => ask 0
             +90000 resume => ask 0
             +400 turn a => judge a
             +90 allow a => run a
             +90 end a => stop over",
        ),
        (
            "a clock that is set back stands still",
            "begin time=500
             +1000 said hi => ask 0
             turn => done",
        ),
        (
            "asked once, although calls still end",
            "begin asks steps=2
             said hi => ask 0
             turn a b c d => judge a judge b judge c judge d
             allow a => run a
             allow b => run b
             allow c => more? 2 steps
             end a =>
             allow d =>
             end b =>
             yes => run c run d
             end d =>
             end c => more? 4 steps
             no => stop over",
        ),
        (
            "as much again, and then asked again",
            "begin asks turns=1
             said hi => ask 0
             turn => done
             said hi => more? 1 turns
             yes => ask 0
             turn => done
             said hi => more? 2 turns",
        ),
        (
            "fewer words are no turn",
            "begin turns=4 window=100
             said hi => ask 0
             turn a => judge a
             allow a => run a
             end a => ask 0
             turn b used=90 => judge b
             allow b => run b
             end b => compact 1
             compacted 1 => ask 0
             turn => done",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn models_that_do_not_answer() {
    let cases = [
        (
            "asked again, each time later, then the next one",
            "begin models=2
             said hi => ask 0
             fail temporary => wait 1000
             waited => ask 0
             fail temporary => wait 2000
             waited => ask 0
             fail temporary => wait 4000
             waited => ask 0
             fail temporary => wait 8000
             waited => ask 0
             fail temporary => ask 1
             turn model=1 => done
             said more => ask 1",
        ),
        (
            "as late as the server wants",
            "begin
             said hi => ask 0
             fail temporary after=45000 => wait 45000
             waited => ask 0
             fail temporary after=300000 => wait 300000
             waited => ask 0
             fail temporary after=99999999 => wait 600000",
        ),
        (
            "another model rather than a long wait",
            "begin models=2
             said hi => ask 0
             fail temporary after=300000 => ask 1",
        ),
        (
            "nothing helps",
            "begin models=2\n said hi => ask 0\n fail permanent => ask 1\n fail permanent => stop failed",
        ),
        (
            "the person decides",
            "begin models=2 on_error=ask
             said hi => ask 0
             fail permanent => ask 1
             fail permanent => models?
             resume => models?
             yes => ask 0
             fail permanent => ask 1
             fail permanent => models?
             park => stop parked
             resume => ask 0
             fail permanent => ask 1
             fail permanent => models?
             no => stop failed",
        ),
        (
            "killed while it waits",
            "begin
             said hi => ask 0
             fail temporary => wait 1000
             resume => ask 0",
        ),
        (
            "cut off again and again",
            "begin
             said hi => ask 0
             turn a cut => ask 0
             turn b cut => ask 0
             turn c cut => ask 0
             turn d cut => stop failed",
        ),
        (
            "cut off now and then",
            "begin
             said hi => ask 0
             turn a cut => ask 0
             turn b cut => ask 0
             turn c cut => ask 0
             turn d => judge d
             deny d => ask 0
             turn e cut => ask 0
             turn cut => done",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn fewer_words() {
    let cases = [
        (
            "nothing to shorten",
            "begin window=100
             said hi => ask 0
             turn used=90 => done
             said more => ask 0
             fail too-long => stop failed",
        ),
        (
            "a call is not parted from its result",
            "begin window=100
             said hi => ask 0
             turn a => judge a
             deny a => ask 0
             turn b => judge b
             deny b => ask 0
             turn c used=80 => judge c
             deny c => compact 3
             compacted 3 => ask 0
             turn used=90 => done
             said more => ask 0",
        ),
        (
            "too long although nobody knew",
            "begin models=2
             said hi => ask 0
             turn a => judge a
             deny a => ask 0
             turn b => judge b
             deny b => ask 0
             fail too-long => compact 1
             fail too-long => ask 1
             fail too-long => compact 1
             resume => ask 1
             fail too-long => compact 1
             compacted 1 => ask 1
             fail too-long => stop failed",
        ),
        (
            "a server that is busy while it shortens",
            "begin window=100
             said hi => ask 0
             turn a => judge a
             deny a => ask 0
             turn b used=90 => judge b
             deny b => compact 1
             fail temporary => wait 1000
             waited => compact 1
             compacted 1 => ask 0",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn a_long_result_counts_before_the_model_reads_it() {
    let begin = "begin window=1000
        said hi => ask 0
        turn a => judge a
        allow a => run a
        end a => ask 0
        turn b => judge b
        allow b => run b";
    let mut state = check("a long result", begin);
    let event = Event::Ended { id: "b".to_owned(), text: "x".repeat(4_000), failed: false };
    let effects = step(&mut state, Happened { at: 0, event });
    assert_eq!(shown(&effects), "compact 1");
}

#[test]
fn calls_that_fail() {
    let cases = [
        (
            "skip",
            "begin\n said hi => ask 0\n turn a => judge a\n allow a => run a\n err a => ask 0",
        ),
        (
            "fail",
            "begin on_error=fail
             said hi => ask 0
             turn a => judge a
             allow a => run a
             err a => stop failed",
        ),
        (
            "retry, once",
            "begin on_error=retry
             said hi => ask 0
             turn a => judge a
             allow a write => run a
             start a =>
             err a => run a
             start a =>
             err a => ask 0",
        ),
        (
            "ask",
            "begin on_error=ask
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             err a => again? a
             yes a => run a
             err a => again? a
             no a => run b
             end b => ask 0",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn stopped() {
    let cases = [
        (
            "the turn",
            "begin
             said hi => ask 0
             stop => stop
             turn =>
             said more => ask 0
             turn a b => judge a judge b
             allow a => run a
             stop => stop
             end a =>
             said more => ask 0
             fail temporary => wait 1000
             stop => stop
             waited =>
             said more => ask 0",
        ),
        (
            "the turn, with something said meanwhile",
            "begin
             said hi => ask 0
             said no, this =>
             stop => stop ask 0",
        ),
        (
            "the run",
            "begin
             said hi => ask 0
             turn a => judge a
             allow a => run a
             cancel => stop cancelled
             end a =>
             said more =>
             resume => cancelled",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn killed_and_resumed() {
    let cases = [
        ("before anything", "begin\n resume => done"),
        (
            "while the model answers",
            "begin\n said hi => ask 0\n resume => ask 0\n turn => done\n resume => done",
        ),
        (
            "while it is judged",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a =>  run a
             resume => judge b run a",
        ),
        (
            "before the start was written down",
            "begin steps=1
             said hi => ask 0
             turn a => judge a
             allow a write => run a
             resume => run a
             start a =>
             end a => stop over",
        ),
        (
            "a read is repeated",
            "begin
             said hi => ask 0
             turn a => judge a
             allow a read => run a
             start a =>
             resume => run a
             end a => ask 0",
        ),
        (
            "a write is not: skip",
            "begin
             said hi => ask 0
             turn a b => judge a judge b
             allow a write => run a
             allow b write =>
             start a =>
             resume => run b
             end b => ask 0",
        ),
        (
            "a write is not: fail",
            "begin on_error=fail
             said hi => ask 0
             turn a => judge a
             allow a external => run a
             start a =>
             resume => stop failed
             resume => failed",
        ),
        (
            "a write is repeated if the agent says so",
            "begin on_error=retry
             said hi => ask 0
             turn a => judge a
             allow a write => run a
             start a =>
             resume => run a",
        ),
        (
            "a write is put to the person, also when killed again",
            "begin on_error=ask
             said hi => ask 0
             turn a => judge a
             allow a write => run a
             start a =>
             resume => unfinished? a
             resume => again? a
             park a => stop parked
             resume => again? a
             yes a => run a
             start a =>
             resume => unfinished? a
             no a => ask 0",
        ),
        (
            "over a limit, with a read under way",
            "begin asks steps=1
             said hi => ask 0
             turn a b => judge a judge b
             allow a => run a
             start a =>
             allow b => more? 1 steps
             resume => more? 1 steps
             yes => run a more? 2 steps",
        ),
        (
            "secrets that were not written down",
            "begin on_error=ask
             said hi => ask 0
             turn secret-a secret-b => judge secret-a judge secret-b
             allow secret-a write => run secret-a
             start secret-a =>
             ask secret-b write => may? secret-b
             resume => unfinished? secret-a
             yes secret-a => ask 0",
        ),
    ];
    for (case, script) in cases {
        check(case, script);
    }
}

#[test]
fn identifiers_are_unique_in_a_run() {
    let state = check(
        "the same name twice",
        "begin
         said hi => ask 0
         turn a a => judge a judge call-2
         deny a =>
         deny call-2 => ask 0
         turn a => judge call-3",
    );
    let ids: Vec<_> = state.messages.iter().flat_map(Message::calls).map(|call| &call.id).collect();
    assert_eq!(ids, ["a", "call-2", "call-3"]);
}

#[test]
fn a_storm_of_calls_is_cut() {
    let mut state = check("a storm", "begin\n said hi => ask 0");
    let ids: Vec<String> = (0..1_000).map(|n| format!("c{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let effects = step(&mut state, Happened { at: 0, event: Event::Turned(turn(&ids)) });
    assert_eq!(effects.len(), MOST_CALLS);
}

/// A step that could come from anywhere.
fn any_event() -> impl Strategy<Value = String> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let class = || prop::sample::select(vec!["read", "write", "external"]);
    let judged = prop::sample::select(vec!["allow", "allow", "allow", "ask", "deny"]);
    let about = vec!["start", "start", "end", "end", "end", "err", "yes", "no"];
    let alone = vec!["said x", "turn", "yes", "no", "waited", "stop", "resume", "compacted 3"];
    let failing = vec!["fail temporary", "fail permanent", "fail too-long"];
    prop_oneof![
        2 => prop::sample::select(alone).prop_map(str::to_owned),
        1 => prop::sample::select(failing).prop_map(str::to_owned),
        3 => prop::collection::vec(id(), 1..4).prop_map(|ids| format!("turn {}", ids.join(" "))),
        9 => (judged, id(), class()).prop_map(|(v, id, class)| format!("{v} {id} {class}")),
        9 => (prop::sample::select(about), id()).prop_map(|(verb, id)| format!("{verb} {id}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, in whatever order: what changes something runs alone and only with leave, and
    /// every call has one result.
    #[test]
    fn whatever_happens(
        begin in prop::sample::select(vec![
            "begin", "begin on_error=ask asks steps=3 models=2", "begin on_error=retry window=50",
        ]),
        events in prop::collection::vec(any_event(), 1..60),
    ) {
        let mut state = State::default();
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let borrowed = words(begin);
        let borrowed: Vec<&str> = borrowed.iter().map(String::as_str).collect();
        step(&mut state, Happened { at: 0, event: began(&borrowed) });
        for (number, line) in events.iter().enumerate() {
            let words = words(line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let before = state.clone();
            let at = u64::try_from(number).expect("few");
            let effects = step(&mut state, Happened { at, event: event_of(&words) });
            check_conversation(&state, &effects, line);
            check_runs(&before, &state, &effects, line);
        }
    }
}

fn check_runs(before: &State, after: &State, effects: &[Effect], line: &str) {
    let runs = |call: &CallState| matches!(call.progress, Progress::Launched | Progress::Running);
    let running: Vec<&CallState> = after.calls.iter().filter(|call| runs(call)).collect();
    let alone = running.iter().all(|call| call.class == Class::Read) || running.len() == 1;
    assert!(alone, "{line}: {running:?}");
    for effect in effects {
        let Effect::Run { id } = effect else { continue };
        let call = after.call(id).expect("a call of the last answer");
        assert_eq!(call.progress, Progress::Launched, "{line}");
        let was = before.call(id).map(|call| &call.progress);
        if line != "resume" && !line.starts_with("err ") {
            assert_ne!(was, Some(&Progress::Launched), "{line}: started twice");
        }
    }
}
