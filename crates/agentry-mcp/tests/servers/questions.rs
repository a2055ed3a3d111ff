//! Servers that report progress or ask: the user answers, the model and the files are never offered.

use std::time::Duration;

use agentry_mcp::McpFailure;
use serde_json::json;

use crate::support::{Listener, connect, connected, scripted};

#[tokio::test]
async fn progress_is_reported_and_questions_are_answered() {
    let accepted = "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\",\"seen\":true}}";
    let cases = [
        ("progress", vec!["1/2: half way"], "done".to_owned()),
        ("asks", vec!["who?"], accepted.to_owned()),
        ("stateless-asks", vec!["who?"], format!("{accepted} \"s1\"")),
        (
            "asks-the-model",
            vec![],
            "refused: \"`sampling/createMessage` is not offered by this client\"".to_owned(),
        ),
        (
            "asks-for-roots",
            vec![],
            "refused: \"`roots/list` is not offered by this client\"".to_owned(),
        ),
    ];
    for (behaviour, heard, expected) in cases {
        let client = connected(behaviour).await.unwrap();
        let listener = Listener::default();
        let time = Duration::from_secs(20);
        let found = client.call("a", &json!({}), time, &listener).await.unwrap();
        assert_eq!(found["content"][0]["text"], expected, "{behaviour}");
        assert_eq!(*listener.heard.lock().unwrap(), heard, "{behaviour}");
    }
}

#[tokio::test]
async fn unanswerable_and_endless_questions_fail() {
    let client = connect(scripted("asks", None), None, false).await.unwrap();
    let time = Duration::from_secs(20);
    let found = client.call("a", &json!({}), time, &Listener::default()).await.unwrap();
    let text = found["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "refused: \"`elicitation/create` is not offered by this client\"");
    for (behaviour, why) in [
        ("stateless-asks-the-model", "it asked for `sampling/createMessage`, which is refused"),
        ("stateless-asks-for-ever", "it asked for more than 10 rounds of input"),
    ] {
        let client = connected(behaviour).await.unwrap();
        let found = client.call("a", &json!({}), time, &Listener::default()).await;
        assert_eq!(found.unwrap_err(), McpFailure::Protocol(why.to_owned()), "{behaviour}");
    }
}
