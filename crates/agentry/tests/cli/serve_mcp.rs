//! `/mcp` of `serve`: agents as tools over HTTP, with the tools, runs and refusals of `agentry mcp`.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::run::{write, writer};
use crate::serve::Serving;
use crate::server::{Reply, Server, Turn};
use crate::terminal::wait_for;

const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

/// The parameters of a request of the newer era, from a client that can ask its user.
fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
    params
}

/// Posts a request of the newer era; returns the last message of the answer.
fn ask(serving: &Serving<'_>, method: &str, params: Value) -> Value {
    let name = params["name"].as_str().unwrap_or_default();
    let headers = format!(
        "{ACCEPT}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n"
    );
    let params = stateless(params);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (_, body) = serving.text("POST /mcp", &headers, &message);
    let last = body.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last = last.strip_prefix("data: ").unwrap_or(last);
    serde_json::from_str(last).unwrap_or(Value::String(body))
}

#[test]
fn an_agent_is_a_tool_of_the_server() {
    let server = Server::playing([
        write("out.txt").into(),
        write("a.txt").into(),
        Turn::text("All done.").into(),
        Turn::text("Gladly.").into(),
    ]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    let listed = ask(&serving, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "writer", "{listed}");
    // Nothing that a client sends consents.
    let arguments = json!({"name": "writer", "arguments": {"prompt": "write"}});
    let refused = ask(&serving, "tools/call", arguments.clone());
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(server.asked().len(), 0);
    serving.consent("writer");
    let asked = ask(&serving, "tools/call", arguments.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = asked["result"]["inputRequests"]["approval"]["params"]["message"].clone();
    assert!(question.as_str().is_some_and(|it| it.contains("a.txt")), "{question}");
    let mut again = arguments;
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] =
        json!({"approval": {"action": "accept", "content": {"answer": "yes"}}});
    let done = ask(&serving, "tools/call", again);
    assert_eq!(done["result"]["content"][0]["text"], "All done.", "{done}");
    assert!(test.has("a.txt") && test.has("out.txt"));
    // The run is one of the list, and goes on by its id.
    let run = done["result"]["structuredContent"]["run"].clone();
    assert_eq!(serving.get("/v1/runs")[0]["id"], run);
    let more = json!({"name": "writer", "arguments": {"prompt": "thank you", "run": run}});
    let more = ask(&serving, "tools/call", more);
    assert_eq!(more["result"]["content"][0]["text"], "Gladly.", "{more}");
    serving.stop();
}

/// A client that closes its stream stops the run of its call.
#[test]
fn a_client_that_leaves_stops_its_run() {
    let server = Server::playing([Reply::Silent]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    serving.consent("writer");
    let params = stateless(json!({"name": "writer", "arguments": {"prompt": "think"}}));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = format!(
        "{ACCEPT}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: writer\r\n"
    );
    let stream = serving.open("POST /mcp", &headers, &message);
    wait_for("the model is asked", || server.asked().len() == 1);
    drop(stream);
    let run = serving.get("/v1/runs")[0]["id"].as_str().expect("a run").to_owned();
    serving.wait_for_state(&run, "cancelled");
    serving.stop();
}

/// A run that a client started is one of the page: it can be stopped there, and the client is told.
#[test]
fn a_run_of_a_client_is_stopped_on_the_page() {
    let server = Server::playing([Reply::Silent]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    serving.consent("writer");
    let call = json!({"name": "writer", "arguments": {"prompt": "think"}});
    let answered = std::thread::scope(|threads| {
        let client = threads.spawn(|| ask(&serving, "tools/call", call));
        wait_for("the model is asked", || server.asked().len() == 1);
        let run = serving.get("/v1/runs")[0]["id"].as_str().expect("a run").to_owned();
        let (status, reply) = serving.send(&format!("POST /v1/runs/{run}/cancel"), &json!({}));
        assert_eq!(status, 200, "{reply}");
        serving.wait_for_state(&run, "cancelled");
        client.join().expect("no panic")
    });
    assert_eq!(answered["result"]["structuredContent"]["state"], "cancelled", "{answered}");
    assert_eq!(answered["result"]["isError"], true, "{answered}");
    serving.stop();
}
