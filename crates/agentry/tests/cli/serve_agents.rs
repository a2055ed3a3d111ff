//! `serve`: proposals, schedules, runs that are resumed, and metrics, against a model on loopback.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::home::{PERSONA, ROOT, legal};
use crate::run::{with, write, writer};
use crate::schedule::agent;
use crate::serve::Serving;
use crate::server::{Server, Turn};
use crate::terminal::wait_for;

/// A sentence becomes a proposal for the persona, which waits for the person.
fn propose(content: &str) -> Turn {
    let change = json!({ "file": "persona.md", "content": content, "reason": "taught" });
    Turn::call("propose_change", change)
}

/// A person decides on the page, once for each proposal, and only about what the named agent proposed.
#[test]
fn proposals_are_accepted_and_rejected() {
    let test = legal();
    test.run("install legal").exits(0);
    let german = PERSONA.replace("briefly", "briefly and in German");
    let french = PERSONA.replace("briefly", "briefly and in French");
    let server = Server::playing([propose(&german).into(), propose(&french).into()]);
    for sentence in ["Answer in German", "Answer in French"] {
        with(&test, &server, &["teach", "legal-advisor", sentence]).exits(0);
    }
    let serving = Serving::start(&test, &server);
    let page = || serving.text("GET /page/agents/legal-advisor", "", &Value::Null).1;
    let shown = page();
    assert!(shown.contains("p1: pending") && shown.contains("in German"), "{shown}");
    assert_eq!(shown.matches(">Accept</button>").count(), 2, "{shown}");
    let decide = |path: &str, body: &Value| serving.send(&format!("POST /v1/agents/{path}"), body);
    let (accept, reject) =
        (json!({ "decision": "accept" }), json!({ "decision": "reject", "reason": "no French" }));
    // Neither another agent's proposal, nor one that is not there, nor another word.
    for path in ["legal-advisor/proposals/p9", "legal-advisor/proposals/x", "legal/proposals/p1"] {
        assert_eq!(decide(path, &accept).0, 404, "{path}");
    }
    for body in [json!({}), json!({ "decision": "yes" }), json!({ "decision": "accept", "x": 1 })] {
        assert_eq!(decide("legal-advisor/proposals/p1", &body).0, 400, "{body}");
    }
    assert_eq!(test.read(format!("{ROOT}/persona.md")), PERSONA);
    let (status, accepted) = decide("legal-advisor/proposals/p1", &accept);
    assert_eq!((status, accepted["state"].as_str()), (200, Some("applied")), "{accepted}");
    assert_eq!(test.read(format!("{ROOT}/persona.md")), german);
    // The file is not any more what the second proposal was made for.
    let (status, stale) = decide("legal-advisor/proposals/p2", &accept);
    assert_eq!((status, stale["error"].as_str()), (409, Some("proposal")), "{stale}");
    assert!(stale["message"].as_str().is_some_and(|it| it.contains("changed since")), "{stale}");
    let (status, rejected) = decide("legal-advisor/proposals/p2", &reject);
    assert_eq!((status, rejected["outcome"].as_str()), (200, Some("no French")), "{rejected}");
    for (proposal, body) in [("p1", &reject), ("p2", &accept)] {
        let (status, again) = decide(&format!("legal-advisor/proposals/{proposal}"), body);
        assert_eq!(status, 409, "{again}");
    }
    assert_eq!(test.read(format!("{ROOT}/persona.md")), german);
    assert!(!page().contains(">Accept</button>"), "{}", page());
    let log = test.read("home/.agentry/logs/audit.jsonl");
    assert!(log.contains("accepted") && log.contains("no French"), "{log}");
    serving.stop();
}

/// A run that was parked at a terminal goes on in the server, and asks there.
#[test]
fn a_parked_run_is_resumed_in_the_server() {
    let server = Server::playing([write("other.txt").into(), Turn::text("All done.").into()]);
    let test = writer();
    with(&test, &server, &["run", "writer", "go", "--yes", "--on-ask", "park"]).exits(3);
    let serving = Serving::start(&test, &server);
    let run = serving.get("/v1/runs")[0]["id"].as_str().expect("a run").to_owned();
    assert_eq!(serving.post(&format!("/v1/runs/{run}/resume"), &json!({}))["id"], run.as_str());
    let mut approval = Value::Null;
    wait_for("the question of the process", || {
        approval = serving.get("/v1/approvals")[0].clone();
        approval["state"] == "open"
    });
    assert_eq!(approval["run"], run.as_str());
    let (status, twice) = serving.send(&format!("POST /v1/runs/{run}/resume"), &json!({}));
    assert_eq!((status, twice["error"].as_str()), (409, Some("state")), "{twice}");
    assert!(!test.has("other.txt"), "a resumed run is not allowed more");
    assert_eq!(serving.answer(&approval, &json!({ "answer": "yes" })).0, 200);
    serving.wait_for_state(&run, "done");
    assert_eq!(test.read("other.txt"), "hello\n");
    assert_eq!(serving.send("POST /v1/runs/x/resume", &json!({})).0, 404);
    serving.stop();
}

#[test]
fn schedules_are_listed() {
    let server = Server::playing([]);
    let test = agent(&[("yearly", "cron: '@yearly'\ntimezone: Europe/Berlin")]);
    let serving = Serving::start(&test, &server);
    let schedules = serving.get("/v1/schedules");
    let found = &schedules[0];
    let field = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(schedules.as_array().map(Vec::len), Some(1), "{schedules}");
    assert_eq!([field("agent"), field("schedule")], ["reporter", "yearly"], "{found}");
    assert!(field("next").contains("-01-01T00:00:00"), "{found}");
    assert_eq!(field("timezone"), "Europe/Berlin", "{found}");
    assert_eq!(serving.get("/v1/agents/reporter")["schedules"], schedules);
    // What is paused at a terminal is paused here.
    test.run("schedule pause reporter yearly").exits(0);
    let paused = serving.get("/v1/schedules");
    assert_eq!((&paused[0]["state"], &paused[0]["next"]), (&json!("paused"), &Value::Null));
    serving.stop();
}

#[test]
fn metrics_count_runs_and_approvals() {
    let server = Server::playing([write("other.txt").into(), Turn::text("All done.").into()]);
    let test = writer();
    let serving = Serving::start(&test, &server);
    let metrics = || serving.text("GET /metrics", "", &Value::Null).1;
    let has = |lines: &[&str]| lines.iter().all(|line| metrics().lines().any(|it| it == *line));
    assert!(has(&["agentry_live_runs 0", "agentry_approvals 0"]), "{}", metrics());
    serving.consent("writer");
    let run = serving.run("writer", "write it");
    let approval = serving.approval();
    let waiting =
        ["agentry_live_runs 1", "agentry_approvals 1", "agentry_runs{state=\"running\"} 1"];
    assert!(has(&waiting), "{}", metrics());
    assert_eq!(serving.answer(&approval, &json!({ "answer": "no" })).0, 200);
    serving.wait_for_state(&run, "done");
    let over = ["agentry_live_runs 0", "agentry_approvals 0", "agentry_runs{state=\"done\"} 1"];
    wait_for("the end of the process", || has(&over));
    serving.stop();
}
