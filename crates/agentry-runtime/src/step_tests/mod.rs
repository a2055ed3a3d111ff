//! Scripts for the run loop: events, and the effects that each must have.

mod anything;
mod limits;
mod models;
mod resume;
mod talk;
mod user_request;

use std::fmt::Write as _;

use serde_json::json;

use super::*;
use crate::budget::RunLimits;
use crate::conversation::TokenUsage;
use crate::conversation::{MessageBlock, MessageRole, ToolCall};

/// Runs a script. It has a line `event => effects` for every event; the first line says how the run begins.
fn check(case: &str, script: &str) -> StepState {
    let mut state = StepState::default();
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
        let effects = step(&mut state, TimedEvent { at: clock, event });
        assert_eq!(shown(&effects), expected.trim(), "{case}: {line}");
        check_conversation(&state, &effects, &format!("{case}: {line}"));
    }
    state
}

/// Expands `launches a write` to the events before such a call, and `runs a write` also to its start.
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

/// Runs scripts, each with its description.
fn check_all(cases: &[(&str, &str)]) {
    for (case, script) in cases {
        check(case, script);
    }
}

fn value(words: &[&str], name: &str) -> Option<u64> {
    let word = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word.map(|word| word.parse().expect("a number"))
}

fn began(words: &[&str]) -> RunEvent {
    assert_eq!(words.first(), Some(&"begin"), "the first line");
    let written = words.iter().find_map(|word| word.strip_prefix("on_error="));
    let on_error = match written {
        Some("ask") => ErrorStrategy::Ask,
        Some("retry") => ErrorStrategy::Retry,
        Some("fail") => ErrorStrategy::Fail,
        _ => ErrorStrategy::Skip,
    };
    let limits = RunLimits {
        turns: value(words, "turns"),
        steps: value(words, "steps"),
        tokens: value(words, "tokens"),
        cost: value(words, "cost"),
        time: value(words, "time"),
    };
    let models = value(words, "models").map_or(1, |models| usize::try_from(models).expect("few"));
    let asks_at_limit = words.contains(&"asks");
    RunEvent::Began {
        limits,
        asks_at_limit,
        on_error,
        on_error_is_written: written.is_some(),
        models,
        window: value(words, "window"),
    }
}

fn event_of(words: &[&str]) -> RunEvent {
    let Some((verb, rest)) = words.split_first() else { panic!("an empty line") };
    let id = || rest.first().map(|id| (*id).to_owned());
    let some_id = || id().expect("a call");
    let answered = |answer| RunEvent::Answered { id: id(), answer };
    match *verb {
        "said" => RunEvent::UserSent { text: rest.join(" ") },
        "turn" => RunEvent::Turned(turn(rest)),
        "fail" => {
            let kind = match rest.first() {
                Some(&"temporary") => ModelFailureKind::Temporary,
                Some(&"too-long") => ModelFailureKind::TooLong,
                _ => ModelFailureKind::Permanent,
            };
            let usage = used(rest);
            RunEvent::TurnFailed(ModelFailure {
                retry_after: value(rest, "after"),
                unreachable: rest.contains(&"unreachable"),
                usage,
                ..ModelFailure::new(kind, "no")
            })
        }
        "allow" | "ask" | "deny" => RunEvent::Judged {
            id: some_id(),
            verdict: match *verb {
                "allow" => CallJudgement::Allow,
                "ask" => CallJudgement::Ask,
                _ => CallJudgement::Deny,
            },
            reason: "rule".to_owned(),
            class: match rest.get(1) {
                Some(&"write") => CallClass::Write,
                Some(&"external") => CallClass::External,
                Some(&"delegate") => CallClass::Delegate,
                _ => CallClass::Read,
            },
        },
        "yes" => answered(ApprovalAnswer::Yes),
        "no" => answered(ApprovalAnswer::No(None)),
        "park" => answered(ApprovalAnswer::Park),
        "start" => RunEvent::Started { id: some_id() },
        "end" => RunEvent::Ended { id: some_id(), text: "ok".to_owned(), failed: false },
        "err" => RunEvent::Ended { id: some_id(), text: "bad".to_owned(), failed: true },
        "compacted" => RunEvent::Compacted {
            messages: some_id().parse().expect("a number"),
            summary: "in short".to_owned(),
            usage: TokenUsage { input: 1, ..TokenUsage::default() },
        },
        "asking" => RunEvent::Asking { usage: used(rest) },
        "waited" => RunEvent::Waited,
        "late" => RunEvent::TimeUp,
        "stop" => RunEvent::Cancelled { run: false },
        "cancel" => RunEvent::Cancelled { run: true },
        "resume" => RunEvent::Resumed,
        "compact!" => RunEvent::CompactionRequested,
        "clear!" => RunEvent::Cleared,
        "switch" => RunEvent::Switched { model: some_id().parse().expect("a number") },
        "undone" => RunEvent::Undone { paths: vec![some_id()] },
        "adjust" => match began(&[&["begin"], rest].concat()) {
            RunEvent::Began { limits, models, window, .. } => {
                RunEvent::Adjusted { limits, models, window }
            }
            _ => panic!("an adjustment"),
        },
        other => panic!("`{other}`"),
    }
}

fn used(words: &[&str]) -> TokenUsage {
    let input = value(words, "used").unwrap_or_default();
    TokenUsage { input, cost: value(words, "cost"), ..TokenUsage::default() }
}

/// Parses `turn a b used=100 model=1 cut`: the calls by their names.
fn turn(words: &[&str]) -> ModelTurn {
    let is_call = |word: &&&str| !word.contains('=') && **word != "cut";
    let calls = words.iter().filter(is_call).map(|id| {
        let secret = id.starts_with("secret");
        let arguments = if secret { json!({"key": "[redacted: KEY]"}) } else { json!({}) };
        let (id, tool) = ((*id).to_owned(), "tool".to_owned());
        MessageBlock::Call(ToolCall { id, tool, arguments, opaque: None })
    });
    let text = MessageBlock::Text { text: "hm".to_owned() };
    ModelTurn {
        message: Message {
            role: MessageRole::Assistant,
            blocks: std::iter::once(text).chain(calls).collect(),
        },
        usage: TokenUsage { input: value(words, "used").unwrap_or(10), ..TokenUsage::default() },
        truncated: words.contains(&"cut"),
        model: value(words, "model").map_or(0, |model| usize::try_from(model).expect("few")),
    }
}

fn shown(effects: &[RunEffect]) -> String {
    let mut out = String::new();
    for effect in effects {
        let _ = match effect {
            RunEffect::Ask { model } => write!(out, " ask {model}"),
            RunEffect::Judge { id } => write!(out, " judge {id}"),
            RunEffect::Put(PersonQuestion::Call { id, .. }) => write!(out, " may? {id}"),
            RunEffect::Put(PersonQuestion::Unfinished { id }) => write!(out, " unfinished? {id}"),
            RunEffect::Put(PersonQuestion::Failed { id, .. }) => write!(out, " again? {id}"),
            RunEffect::Put(PersonQuestion::Limit { limit }) => write!(out, " more? {limit}"),
            RunEffect::Put(PersonQuestion::Models { .. }) => write!(out, " models?"),
            RunEffect::Run { id } => write!(out, " run {id}"),
            RunEffect::Wait { time } => write!(out, " wait {time}"),
            RunEffect::Compact { messages } => write!(out, " compact {messages}"),
            RunEffect::Stop => write!(out, " stop"),
            RunEffect::Finish(ending) => write!(
                out,
                " {}",
                match ending {
                    RunEnding::Done => "done",
                    RunEnding::Failed { .. } => "failed",
                    RunEnding::OverBudget { .. } => "over",
                    RunEnding::Cancelled => "cancelled",
                    RunEnding::Parked { .. } => "parked",
                }
            ),
        };
    }
    out.trim().to_owned()
}

/// Checks that each call has its result right after it, whenever the model is asked.
fn check_conversation(state: &StepState, effects: &[RunEffect], case: &str) {
    if !effects.iter().any(|effect| matches!(effect, RunEffect::Ask { .. })) {
        return;
    }
    let results = |message: &Message| -> Vec<String> {
        let ids = message.blocks.iter().filter_map(|block| match block {
            MessageBlock::Result { id, .. } => Some(id.clone()),
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
