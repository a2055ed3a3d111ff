//! Programs that behave.

use std::time::Duration;

use agentry_mcp::{McpFailure, ProtocolEra};
use serde_json::{Map, json};
use tempfile::NamedTempFile;

use crate::support::{Listener, call, connect, connected, names, scripted};

#[tokio::test]
async fn programs_of_both_protocol_eras_work() {
    for (behaviour, known, version) in [
        ("old", None, "2025-06-18"),
        ("old", Some(ProtocolEra::Initialized), "2025-06-18"),
        // A server that was updated or rolled back since the era was recorded.
        ("old", Some(ProtocolEra::Stateless), "2025-06-18"),
        ("dies-when-asked", None, "2025-06-18"),
        ("stateless", None, "2026-07-28"),
        ("stateless", Some(ProtocolEra::Stateless), "2026-07-28"),
        // One server that speaks both: the newer one, unless the older one is recorded.
        ("both", None, "2026-07-28"),
        ("both", Some(ProtocolEra::Stateless), "2026-07-28"),
        ("both", Some(ProtocolEra::Initialized), "2025-06-18"),
        ("greets", None, "2025-06-18"),
        ("whispers", None, "2025-06-18"),
    ] {
        let client = connect(scripted(behaviour, None), known, false).await.unwrap();
        let welcome = client.welcome().await;
        assert_eq!(welcome.version, version, "{behaviour}");
        assert_eq!(welcome.instructions.as_deref(), Some("be kind"), "{behaviour}");
        assert_eq!(welcome.removed, 1);
        assert_eq!(names(&client).await, "a b", "{behaviour}");
        assert_eq!(call(&client, json!({"x": 1})).await.unwrap(), "{\"x\":1}", "{behaviour}");
    }
}

#[tokio::test]
async fn a_server_gets_only_the_environment_that_it_is_given() {
    let client = connected("environment").await.unwrap();
    assert_eq!(call(&client, json!({})).await.unwrap(), "GRANTED");
}

#[tokio::test]
async fn paged_tool_lists_are_joined() {
    let client = connected("two-pages").await.unwrap();
    assert_eq!(names(&client).await, "a b");
}

#[tokio::test]
async fn a_changed_list_is_read_before_the_next_call() {
    let client = connected("changes").await.unwrap();
    let before = client.pin("here").await;
    assert_eq!(call(&client, json!({})).await.unwrap(), "changed");
    assert_eq!(names(&client).await, "a new");
    let changes = agentry_mcp::changes(&before, &client.pin("here").await);
    let found: Vec<_> = changes.iter().map(|it| (it.tool.as_deref(), it.what)).collect();
    assert_eq!(found, [(Some("a"), "description"), (Some("new"), "new")]);
}

#[tokio::test]
async fn resources_and_prompts_are_listed_and_read() {
    let client = connected("old").await.unwrap();
    let resources = client.resources().await.unwrap().resources;
    assert_eq!(resources.len(), 1);
    assert_eq!((&*resources[0].uri, &*resources[0].name), ("memo://a", "a"));
    let found = client.read_resource("memo://a", &Listener::default()).await.unwrap();
    assert_eq!(found["contents"][0]["text"], "read");
    let prompts = client.prompts().await.unwrap();
    assert_eq!(prompts[0].arguments, [("who".to_owned(), true)]);
    let arguments = Map::from_iter([("who".to_owned(), json!("Ada"))]);
    let text = client.prompt("greet", arguments, &Listener::default()).await.unwrap();
    assert_eq!(text, "greet \"Ada\"");
}

#[tokio::test]
async fn an_ended_server_restarts_without_repeating_calls() {
    let file = NamedTempFile::new().unwrap();
    let endpoint = scripted("dies-once", Some(file.path()));
    let client = connect(endpoint, None, false).await.unwrap();
    let failure = call(&client, json!({"n": 1})).await.unwrap_err();
    assert_eq!(failure, McpFailure::Ended(" with the exit code 9".to_owned()));
    assert_eq!(call(&client, json!({"n": 2})).await.unwrap(), "{\"n\":2}");
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(text, "start\ncall {\"n\":1}\nstart\ncall {\"n\":2}\n");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let file = NamedTempFile::new().unwrap();
    let endpoint = scripted("never-answers", Some(file.path()));
    let client = connect(endpoint, None, false).await.unwrap();
    let time = Duration::from_millis(50);
    let failure = client.call("a", &json!({}), time, &Listener::default()).await.unwrap_err();
    assert_eq!(failure, McpFailure::TimedOut(time));
    // The server reads its input in order: an answer shows that it has read the cancellation.
    let resources = client.resources().await.unwrap().resources;
    assert_eq!(resources.len(), 1);
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(text, "start\ncall {}\ncancelled\n");
}
