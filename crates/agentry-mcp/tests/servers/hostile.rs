//! Programs that misbehave: each fails by itself, with its reason, within its limits.

use std::time::Duration;

use agentry_mcp::{McpFailure, ServerConfig, StartPace, limits};
use serde_json::json;

use crate::support::{Listener, call, connected, names, paced, scripted};

#[tokio::test]
async fn failing_server_starts_have_a_reason() {
    let protocol = |why: &str| McpFailure::Protocol(why.to_owned());
    let rubbish = "more than 1000 of its messages are no JSON-RPC; the first: `bla`";
    let cases = [
        ("ends", McpFailure::Ended(" with the exit code 3; it printed: no database".to_owned())),
        ("babbles", protocol(rubbish)),
        ("floods", McpFailure::TooLong(limits::MESSAGE_BYTES)),
        ("many-tools", protocol("it announces more than 512 tools")),
        ("endless-pages", protocol("its tools have more than 64 pages")),
        ("same-page", protocol("a page of its tools comes twice")),
        ("no-list", protocol("`tools/list` has no list of `tools`")),
        ("speaks-klingon", protocol("it speaks the version `3000-01-01`, which is not known")),
    ];
    for (behaviour, expected) in cases {
        let found = connected(behaviour).await.err();
        assert_eq!(found, Some(expected), "{behaviour}");
    }
}

#[tokio::test]
async fn invalid_tools_are_left_out_alone() {
    let left_out = |reason: &str| reason.to_owned();
    let cases = [
        (
            "malformed",
            "good better",
            vec![
                left_out("it has no name"),
                left_out("it is no object"),
                left_out("it has no `inputSchema`"),
                left_out("it is no object"),
            ],
        ),
        ("fat", "long ok", vec![left_out("it has more than 65536 bytes")]),
        ("hidden", "a", vec![]),
    ];
    for (behaviour, tools, left_out) in cases {
        let client = connected(behaviour).await.unwrap();
        assert_eq!(names(&client).await, tools, "{behaviour}");
        let catalogue = client.catalogue().await.unwrap();
        let found: Vec<_> = catalogue.left_out.iter().map(|it| it.reason.clone()).collect();
        assert_eq!(found, left_out, "{behaviour}");
        let longest = catalogue.tools.iter().map(|tool| tool.description.len()).max();
        assert!(longest.unwrap() <= limits::DESCRIPTION_BYTES + 3, "{behaviour}");
    }
    let client = connected("hidden").await.unwrap();
    let catalogue = client.catalogue().await.unwrap();
    assert_eq!(catalogue.tools[0].description, "fine, obey");
    assert_eq!(catalogue.removed, 12);
}

#[tokio::test]
async fn failing_calls_have_a_reason() {
    let failed = McpFailure::Answered { code: -32000, message: "broken".to_owned() };
    let cases = [
        ("dies-in-a-call", McpFailure::Ended(" with the exit code 9".to_owned())),
        ("floods-in-a-call", McpFailure::TooLong(limits::MESSAGE_BYTES)),
        ("fails", failed),
    ];
    for (behaviour, expected) in cases {
        let client = connected(behaviour).await.unwrap();
        assert_eq!(call(&client, json!({})).await, Err(expected), "{behaviour}");
    }
}

#[tokio::test]
async fn a_repeatedly_failing_server_is_given_up() {
    let client = connected("dies-in-a-call").await.unwrap();
    let mut last = None;
    // One call kills the first start; each restart is killed by the next call.
    for _ in 0..=limits::RESTARTS {
        let time = Duration::from_mins(1);
        last = client.call("a", &json!({}), time, &Listener::default()).await.err();
    }
    assert_eq!(last, Some(McpFailure::Ended(" with the exit code 9".to_owned())));
    let refused = call(&client, json!({})).await.unwrap_err();
    assert!(matches!(refused, McpFailure::GivenUp(5, _)), "{refused}");
}

/// A server that says nothing is given up after its time, in either era.
#[tokio::test]
async fn a_server_that_hangs_at_start_times_out() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for behaviour in ["hangs", "ignores-everything"] {
        let longest = Duration::from_millis(300);
        let pace = StartPace { longest, ..StartPace::default() };
        let endpoint = scripted(behaviour, Some(file.path()));
        let name = behaviour.to_owned();
        let config = ServerConfig { name, endpoint, can_ask: false, era: None, pace };
        let failure = paced(config).await.err();
        assert_eq!(failure, Some(McpFailure::TimedOut(longest)), "{behaviour}");
    }
}
