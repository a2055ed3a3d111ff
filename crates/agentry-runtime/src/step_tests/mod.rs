//! Scripts of the loop: what happens, and what is to be done about it.

mod anything;
mod limits;
mod models;
mod resume;
mod talk;

use std::fmt::Write as _;

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
    let lines = lines.flat_map(spelled_out);
    for (number, line) in lines.enumerate() {
        let line = line.as_str();
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

/// `launches a write` stands for all that leads to such a call, `runs a write` also for its start.
fn spelled_out(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let (verb, id, class) = match words.as_slice() {
        [verb @ ("launches" | "runs"), id] => (verb, id, ""),
        [verb @ ("launches" | "runs"), id, class] => (verb, id, *class),
        _ => return vec![line.to_owned()],
    };
    let mut lines = vec![
        "said hi => ask 0".to_owned(),
        format!("turn {id} => judge {id}"),
        format!("allow {id} {class} => run {id}"),
    ];
    if *verb == "runs" {
        lines.push(format!("start {id} =>"));
    }
    lines
}

/// Scripts by what they show.
fn check_all(cases: &[(&str, &str)]) {
    for (case, script) in cases {
        check(case, script);
    }
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
        "fail" => {
            let kind = match rest.first() {
                Some(&"temporary") => FailureKind::Temporary,
                Some(&"too-long") => FailureKind::TooLong,
                _ => FailureKind::Permanent,
            };
            let usage = used(rest);
            Event::TurnFailed(Failure {
                retry_after: value(rest, "after"),
                unreachable: rest.contains(&"unreachable"),
                usage,
                ..Failure::new(kind, "no")
            })
        }
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
        "asking" => Event::Asking { usage: used(rest) },
        "waited" => Event::Waited,
        "late" => Event::TimeUp,
        "stop" => Event::Cancelled { run: false },
        "cancel" => Event::Cancelled { run: true },
        "resume" => Event::Resumed,
        "adjust" => match began(&[&["begin"], rest].concat()) {
            Event::Began { limits, models, window, .. } => {
                Event::Adjusted { limits, models, window }
            }
            _ => panic!("an adjustment"),
        },
        other => panic!("`{other}`"),
    }
}

fn used(words: &[&str]) -> Usage {
    let input = value(words, "used").unwrap_or_default();
    Usage { input, cost: value(words, "cost"), ..Usage::default() }
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
    for message in state.messages.iter() {
        assert_eq!(results(message), expected, "{case}: {:?}", state.messages);
        expected = message.calls().map(|call| call.id.clone()).collect();
    }
    assert_eq!(expected, Vec::<String>::new(), "{case}: calls without results");
}
