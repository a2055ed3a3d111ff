//! Answers of a model arrive complete in every protocol, and go back in the form that the model requires.

use std::sync::Arc;

use agentry_runtime::provider::AnswerDelta;
use agentry_runtime::provider::plan::PlannedModel;
use agentry_runtime::{Message, MessageBlock, MessageRole};
use serde_json::{Value, json};

use crate::server::{Break, PROTOCOLS, Protocol, Server, Stop, Turn};
use crate::{KEY, entry, tools, user_message};

fn result(id: &str, text: &str, failed: bool) -> MessageBlock {
    MessageBlock::Result { id: id.to_owned(), text: text.to_owned(), failed }
}

#[tokio::test]
async fn a_conversation_with_calls_works_in_every_protocol() {
    for protocol in PROTOCOLS {
        let first = Turn::call("read", json!({ "path": "a – ü.txt" }))
            .and_call("list", json!({ "path": "src", "deep": [1, { "x": null }] }))
            .thinking("let me look at both of them");
        let server = Server::playing([
            Turn { text: "Looking, for a moment or two.".to_owned(), ..first }
                .used(1_000, 600, 50)
                .into(),
            Turn::text("All is well.").into(),
        ]);
        let entry = entry(&server, protocol);
        let tools = tools();
        let mut shown = Vec::new();
        let mut messages = vec![user_message("have a look")];
        let answered = entry
            .ask("be brief", &messages, &tools, &mut |delta| shown.push(delta))
            .await
            .expect("an answer");

        let streamed = |kind: fn(&AnswerDelta) -> Option<&String>| -> String {
            shown.iter().filter_map(kind).map(String::as_str).collect()
        };
        assert_eq!(
            streamed(|it| if let AnswerDelta::Text(text) = it { Some(text) } else { None }),
            "Looking, for a moment or two.",
            "{protocol:?}"
        );
        assert_eq!(
            streamed(|it| if let AnswerDelta::Thinking(text) = it { Some(text) } else { None }),
            "let me look at both of them",
            "{protocol:?}"
        );
        assert_eq!(
            shown.iter().filter(|it| matches!(it, AnswerDelta::Call(_))).count(),
            2,
            "{protocol:?}"
        );
        assert_eq!(answered.message.text(), "Looking, for a moment or two.", "{protocol:?}");
        let calls: Vec<(String, Value)> =
            answered.message.calls().map(|it| (it.tool.clone(), it.arguments.clone())).collect();
        let expected = [
            ("read".to_owned(), json!({ "path": "a – ü.txt" })),
            ("list".to_owned(), json!({ "path": "src", "deep": [1, { "x": null }] })),
        ];
        assert_eq!(calls, expected, "{protocol:?}");
        let cached = if protocol == Protocol::Ollama { 0 } else { 600 };
        let usage = answered.usage;
        assert_eq!((usage.input, usage.cached, usage.output), (1_000, cached, 50), "{protocol:?}");
        assert!(usage.cost.is_some() && !answered.truncated, "{protocol:?}");

        // Protocols without ids get them from the run.
        let mut message = answered.message;
        for (at, block) in message.blocks.iter_mut().enumerate() {
            if let MessageBlock::Call(call) = block
                && call.id.is_empty()
            {
                call.id = format!("call-{at}");
            }
        }
        let ids: Vec<String> = message.calls().map(|call| call.id.clone()).collect();
        messages.push(Arc::new(message));
        let results = vec![result(&ids[0], "contents", false), result(&ids[1], "no such", true)];
        messages.push(Arc::new(Message { role: MessageRole::User, blocks: results }));
        let answered =
            entry.ask("be brief", &messages, &tools, &mut |_| ()).await.expect("an answer");
        assert_eq!(answered.message.text(), "All is well.", "{protocol:?}");

        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{protocol:?}");
        assert_eq!(asked[1].system, "be brief", "{protocol:?}");
        assert_eq!(asked[1].user_texts, ["have a look"], "{protocol:?}");
        assert_eq!(asked[1].tools, ["read", "list"], "{protocol:?}");
        let results: Vec<&str> = asked[1].results.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(results[0], "contents", "{protocol:?}");
        assert!(results[1].ends_with("no such"), "{protocol:?}: {results:?}");
        let text = asked[1].body.to_string();
        let sealed =
            matches!(protocol, Protocol::Chat | Protocol::Ollama) || text.contains("sealed");
        assert!(sealed, "what it thought goes back, {protocol:?}: {text}");
        let key = asked[1].headers.iter().any(|(_, value)| value.contains(KEY));
        assert!(key && !text.contains(KEY), "{protocol:?}");
    }
}

#[tokio::test]
async fn stop_reasons_are_understood_in_every_protocol() {
    for protocol in PROTOCOLS {
        let call = Turn::call("read", json!({ "path": "a" }));
        let cases = [
            (Turn::text("half").stop(Stop::Length), "half", 0, true),
            (call.clone().stop(Stop::Length), "", 1, true),
            (Turn::text("I will not.").stop(Stop::Refusal), "I will not.", 0, false),
            (Turn::default(), "", 0, false),
        ];
        for (turn, text, calls, truncated) in cases {
            let server = Server::playing([turn.into()]);
            let entry = entry(&server, protocol);
            let messages = [user_message("go")];
            let answered =
                entry.ask("", &messages, &tools(), &mut |_| ()).await.expect("an answer");
            let answer_text = answered.message.text();
            assert!(answer_text.starts_with(text), "{protocol:?}: {answer_text}");
            assert_eq!(answered.message.calls().count(), calls, "{protocol:?} {text}");
            assert_eq!(answered.truncated, truncated, "{protocol:?} {text}");
        }
    }
}

/// Arguments that are not JSON reach the tool unchanged.
#[tokio::test]
async fn malformed_arguments_reach_the_tool_as_text() {
    for protocol in PROTOCOLS {
        let server = Server::playing([
            Turn::call("read", json!("{\"path\": \"a")).into(),
            Turn::text("fine").into(),
        ]);
        let entry = entry(&server, protocol);
        let mut messages = vec![user_message("go")];
        let mut answered =
            entry.ask("", &messages, &tools(), &mut |_| ()).await.expect("an answer").message;
        let arguments = answered.calls().next().map(|call| call.arguments.clone());
        assert_eq!(arguments, Some(json!("{\"path\": \"a")), "{protocol:?}");
        if let Some(MessageBlock::Call(call)) = answered.blocks.last_mut() {
            "x:1".clone_into(&mut call.id);
        }
        messages.push(Arc::new(answered));
        messages.push(Arc::new(Message {
            role: MessageRole::User,
            blocks: vec![result("x:1", "wrong", true)],
        }));
        let answered = entry.ask("", &messages, &tools(), &mut |_| ()).await.expect("an answer");
        assert_eq!(answered.message.text(), "fine", "{protocol:?}");
        assert!(server.asked()[1].results[0].1.contains("wrong"), "{protocol:?}");
    }
}

/// Unknown and repeated events do not change the answer.
#[tokio::test]
async fn unknown_and_repeated_stream_events_are_ignored() {
    for protocol in PROTOCOLS {
        let turn = Turn::text("All is well.").broken(Break::Unknown);
        let server = Server::playing([turn.into()]);
        let entry = entry(&server, protocol);
        let messages = [user_message("go")];
        let answered = entry.ask("", &messages, &[], &mut |_| ()).await.expect("an answer");
        assert_eq!(answered.message.text(), "All is well.", "{protocol:?}");
    }
    for (protocol, whole) in [(Protocol::Responses, true), (Protocol::Anthropic, false)] {
        let turn = Turn::call("read", json!({ "path": "a" })).broken(Break::Repeated);
        let server = Server::playing([turn.into()]);
        let entry = entry(&server, protocol);
        let answered = entry.ask("", &[user_message("go")], &tools(), &mut |_| ()).await;
        let calls = answered.as_ref().map(|it| it.message.calls().count()).ok();
        assert_eq!(calls, whole.then_some(1), "{protocol:?}: {answered:?}");
    }
}

/// A budget holds even if the server reports no usage.
#[tokio::test]
async fn missing_usage_is_estimated() {
    let server = Server::playing([Turn::text("a long answer").used(0, 0, 0).into()]);
    let entry = entry(&server, Protocol::Chat);
    let system = "x".repeat(4_000);
    let answered = entry.ask(&system, &[user_message("go")], &[], &mut |_| ()).await;
    let usage = answered.expect("an answer").usage;
    assert!(usage.input > 1_000 && usage.output > 0 && usage.cost > Some(2_000), "{usage:?}");
}

/// Parallel runs share one server, and each gets its own answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_runs_get_their_own_answers() {
    let server = Server::answering(|asked| {
        let run = asked.user_texts.first().cloned().unwrap_or_default();
        match asked.results.len() {
            done @ 0..5 => Turn::call("read", json!({ "path": format!("{run}-{done}") })).into(),
            _ => Turn::text(format!("{run} is done")).into(),
        }
    });
    let mut runs = tokio::task::JoinSet::new();
    for run in 0..200 {
        let entry = entry(&server, PROTOCOLS[run % PROTOCOLS.len()]);
        runs.spawn(async move { one_of_many(&entry, &format!("run {run}")).await });
    }
    while let Some(run) = runs.join_next().await {
        let (name, answer_text) = run.expect("no panic");
        assert_eq!(answer_text, format!("{name} is done"));
    }
    assert_eq!(server.count(), 200 * 6);
}

async fn one_of_many(entry: &PlannedModel, name: &str) -> (String, String) {
    let mut messages = vec![user_message(name)];
    loop {
        let answered = entry.ask("", &messages, &tools(), &mut |_| ()).await.expect("an answer");
        let mut message = answered.message;
        let step = messages.len();
        let mut results = Vec::new();
        for block in &mut message.blocks {
            if let MessageBlock::Call(call) = block {
                call.id = format!("call-{step}");
                let path = call.arguments["path"].as_str().unwrap_or_default();
                assert_eq!(path, format!("{name}-{}", step / 2));
                results.push(result(&call.id, path, false));
            }
        }
        let answer_text = message.text();
        messages.push(Arc::new(message));
        if results.is_empty() {
            return (name.to_owned(), answer_text);
        }
        messages.push(Arc::new(Message { role: MessageRole::User, blocks: results }));
    }
}
