//! Every fault of a server ends as a failure of the right kind.

use std::time::Duration;

use agentry_runtime::provider::plan::PlannedModel;
use agentry_runtime::{ModelFailure, ModelFailureKind};
use serde_json::json;

use ModelFailureKind::{Permanent, Temporary, TooLong};

use crate::server::{Break, PROTOCOLS, Protocol, Reply, Server, Turn};
use crate::{KEY, entry, tools, user_message};

async fn failure(entry: &PlannedModel) -> ModelFailure {
    let messages = [user_message("go")];
    let answered = entry.ask("", &messages, &tools(), &mut |_| ()).await;
    answered.expect_err("no answer")
}

fn turn(broken: Break) -> Reply {
    Turn::text("a text of several pieces, some of which never arrive").broken(broken).into()
}

#[tokio::test]
async fn every_fault_has_its_kind() {
    let html = Reply::Raw("text/html", b"<html>Sign in</html>".to_vec());
    let quota = r#"{"error":{"code":"insufficient_quota","message":"no money"}}"#;
    let long = r#"{"error":{"message":"prompt is too long: 300000 tokens"}}"#;
    let echo = format!(r#"{{"error":{{"message":"wrong key {KEY}"}}}}"#);
    let soon = Reply::status(429).header("retry-after", "7");
    let cases = [
        ("429", soon, Temporary, "429", Some(7_000)),
        ("quota", Reply::status(429).body(quota), Permanent, "no money", None),
        ("500", Reply::status(500), Temporary, "500", None),
        ("503", Reply::status(503).header("retry-after", "0"), Temporary, "503", Some(0)),
        ("529", Reply::status(529), Temporary, "529", None),
        ("401", Reply::status(401).body(echo), Permanent, "wrong key [key]", None),
        ("404", Reply::status(404), Permanent, "404", None),
        ("400", Reply::status(400), Permanent, "400", None),
        ("too long", Reply::status(400).body(long), TooLong, "too long", None),
        ("413", Reply::status(413), TooLong, "413", None),
        ("302", Reply::status(302).header("location", "/v1"), Permanent, "302", None),
        ("drop", Reply::Drop, Temporary, "the connection broke", None),
        ("html", html, Permanent, "`text/html`", None),
        ("no bytes", Reply::Raw("text/event-stream", Vec::new()), Temporary, "broke off", None),
        ("json", Reply::Raw("application/json", b"{}".to_vec()), Temporary, "broke off", None),
        ("no json", Reply::Raw("application/json", b"hm".to_vec()), Temporary, "not JSON", None),
        (
            "bytes",
            Reply::Raw("application/octet-stream", vec![0xff; 4_096]),
            Temporary,
            "broke off",
            None,
        ),
        ("truncated at once", turn(Break::Truncated(0)), Temporary, "broke off", None),
        ("truncated", turn(Break::Truncated(3)), Temporary, "broke off", None),
        ("dropped at once", turn(Break::Dropped(0)), Temporary, "the connection broke", None),
        ("dropped", turn(Break::Dropped(3)), Temporary, "the connection broke", None),
        ("garbage", turn(Break::Garbage(2)), Temporary, "not JSON", None),
        ("busy", turn(Break::Busy(2)), Temporary, "Overloaded", None),
    ];
    for (name, reply, kind, words, wait) in cases {
        for protocol in PROTOCOLS {
            let server = Server::playing([reply.clone()]);
            let ModelFailure { kind: found, message, retry_after, .. } =
                failure(&entry(&server, protocol)).await;
            assert_eq!((found, retry_after), (kind, wait), "{name}, {protocol:?}: {message}");
            assert!(message.contains(words), "{name}, {protocol:?}: {message}");
            assert!(!message.contains(KEY), "{name}, {protocol:?}: {message}");
            assert_eq!(server.count(), 1, "{name}, {protocol:?}");
        }
    }
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    for protocol in PROTOCOLS {
        let server = Server::playing([]);
        let mut entry = entry(&server, protocol);
        // The port of the discard service, on which no program listens.
        "http://127.0.0.1:9".clone_into(&mut entry.client.base);
        let failure = failure(&entry).await;
        assert_eq!(failure.kind, Temporary, "{protocol:?}");
        assert!(failure.message.starts_with("no server answers"), "{}", failure.message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_silent_server_times_out() {
    for protocol in PROTOCOLS {
        for reply in [Reply::Silent, turn(Break::Stalled(0)), turn(Break::Stalled(3))] {
            let server = Server::playing([reply.clone(), reply]);
            let mut entry = entry(&server, protocol);
            entry.client.patience = Duration::from_millis(200);
            let silent = failure(&entry).await;
            assert_eq!(silent.kind, Temporary, "{protocol:?}");
            assert_eq!(silent.message, "the server fell silent", "{protocol:?}");
            entry.client.patience = Duration::from_mins(1);
            entry.client.longest = Duration::from_millis(200);
            let late = failure(&entry).await;
            assert_eq!(late.kind, Temporary, "{protocol:?}");
            assert_eq!(late.message, "no answer within 0 s", "{protocol:?}");
            assert!(server.wait_for_gone(2), "the connections stay open, {protocol:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn dropping_the_future_closes_the_connection() {
    for protocol in PROTOCOLS {
        let server = Server::playing([turn(Break::Stalled(3))]);
        let entry = entry(&server, protocol);
        let messages = [user_message("go")];
        let (begun, begins) = tokio::sync::oneshot::channel();
        let mut begun = Some(begun);
        let mut show = |_| {
            begun.take().map(|begun| begun.send(()));
        };
        tokio::select! {
            answered = entry.ask("", &messages, &[], &mut show) => panic!("{answered:?}"),
            _ = begins => {}
        }
        assert!(server.wait_for_gone(1), "the connection stays open, {protocol:?}");
    }
}

/// A complete answer counts, even if the connection breaks or stays open after it.
#[tokio::test]
async fn a_complete_answer_survives_a_broken_connection() {
    for protocol in PROTOCOLS {
        for broken in [Break::Dropped as fn(usize) -> Break, Break::Stalled] {
            let events = protocol.events(&Turn::text("All is well."), 0).len();
            let turn = Turn::text("All is well.").broken(broken(events));
            let server = Server::playing([turn.into()]);
            let entry = entry(&server, protocol);
            let answered = entry.ask("", &[user_message("go")], &[], &mut |_| ()).await;
            let text = answered.map(|it| it.message.text());
            assert_eq!(text.as_deref(), Ok("All is well."), "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn oversized_answers_are_refused() {
    for protocol in PROTOCOLS {
        let huge = json!({ "path": "x".repeat(10 << 20) });
        let calls = vec![("read".to_owned(), json!({})); 3_000];
        for turn in [Turn::call("read", huge), Turn { calls, ..Turn::default() }] {
            let server = Server::playing([turn.into()]);
            let failure = failure(&entry(&server, protocol)).await;
            assert_eq!(failure.kind, Permanent, "{protocol:?}");
            assert_eq!(failure.message, "the answer is longer than 8 MiB", "{protocol:?}");
        }
    }
}

/// A field that a model rejects is left out of all later requests.
#[tokio::test]
async fn rejected_fields_are_left_out_of_later_requests() {
    for protocol in PROTOCOLS {
        if protocol == Protocol::Ollama {
            continue;
        }
        let server = Server::answering(|asked| {
            if asked.body.to_string().contains("temperature") {
                let words =
                    "Unsupported parameter: 'temperature' is not supported with this model.";
                let body = json!({ "error": { "message": words } });
                return Reply::status(400).body(body.to_string());
            }
            Turn::text("fine").into()
        });
        let mut entry = entry(&server, protocol);
        entry.temperature = Some(0.2);
        for (asked, count) in [("first", 2), ("second", 3)] {
            let answered = entry.ask("", &[user_message("go")], &[], &mut |_| ()).await;
            assert_eq!(answered.expect("an answer").message.text(), "fine", "{protocol:?}");
            assert_eq!(server.count(), count, "{asked}, {protocol:?}");
        }
    }
    let server = Server::answering(|_| {
        Reply::status(400).body(r#"{"error":{"message":"temperature top_p messages"}}"#)
    });
    let mut entry = entry(&server, Protocol::Chat);
    entry.temperature = Some(0.2);
    assert_eq!(failure(&entry).await.kind, Permanent);
    assert_eq!(server.count(), 2, "it is not asked for ever");
}

#[tokio::test]
async fn max_tokens_is_lowered_after_a_rejection() {
    for protocol in PROTOCOLS {
        let server = Server::answering(|asked| {
            let most = ["/max_tokens", "/max_output_tokens", "/generationConfig/maxOutputTokens"];
            let most = most.iter().find_map(|path| asked.body.pointer(path)?.as_u64());
            if most.is_some_and(|most| most > 4_096) {
                let words = "max_tokens / maxOutputTokens: 16000 > 4096, which is the most";
                let body = json!({ "error": { "message": words } });
                return Reply::status(400).body(body.to_string());
            }
            Turn::text("fine").into()
        });
        let entry = entry(&server, protocol);
        let answered = entry.ask("", &[user_message("go")], &[], &mut |_| ()).await;
        assert_eq!(answered.expect("an answer").message.text(), "fine", "{protocol:?}");
    }
}

/// Runs are moved between threads.
#[test]
fn the_request_future_is_send() {
    fn is_send<T: Send>(_: &T) {}
    let server = Server::playing([]);
    let entry = entry(&server, Protocol::Chat);
    let mut show = |_| ();
    is_send(&entry.ask("", &[], &[], &mut show));
    is_send(&entry);
}
