//! What a user taught in private reaches no other user by a server, and no run of another user by a worker.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::engine::{HOMES, engaged, migrated};
use crate::memory::{bot, by, run_by};
use crate::postgres_server::TestPostgres;
use crate::run::keyed;
use crate::serve::Serving;
use crate::server::{Server, Turn};
use crate::terminal::wait_for;
use crate::test::{Ran, Test};

/// The server of a user in the home of a test.
fn serving_as<'a>(test: &'a Test, server: &Server, user: &str) -> Serving<'a> {
    let mut command = keyed(test, server, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("AGENTRY_USER", user);
    Serving::of(test, command, "home/.agentry")
}

/// Every path that can be read, with the routes of the document about a run and an agent.
fn readable(serving: &Serving<'_>, runs: &[String]) -> Vec<String> {
    let document = serving.get("/openapi.json");
    let routes = document["paths"].as_object().expect("paths").iter();
    let read: Vec<&String> =
        routes.filter(|(_, route)| !route["get"].is_null()).map(|(path, _)| path).collect();
    assert!(read.iter().any(|path| *path == "/v1/runs/{id}/export"), "{read:?}");
    let pages = ["runs", "approvals", "waiting", "agents", "agents/{id}", "runs/{id}"];
    let parts = ["runs/{id}/changes", "runs/{id}/waiting", "runs/{id}/events"];
    let pages = pages.iter().chain(&parts).map(|page| format!("/page/{page}"));
    let mut paths = Vec::new();
    for path in read.into_iter().cloned().chain(pages) {
        if path.contains("/runs/{id}") {
            paths.extend(runs.iter().map(|run| path.replace("{id}", run)));
        } else {
            paths.push(path.replace("{id}", "bot"));
        }
    }
    paths
}

#[test]
fn a_server_withholds_private_runs_of_other_users() {
    let test = bot();
    by(&test, "ann", &["memory", "add", "bot", "The code is 4711", "--user", "ann"]).exits(0);
    let open = Turn::call("bash", json!({ "command": "open 4711" }));
    let server = Server::playing([Turn::text("It is 4711.").into(), open.into()]);
    run_by(&test, &server, "ann", &["run", "bot", "code 4711?", "--yes"]).exits(0);
    let parked = ["run", "bot", "is it 4711", "--yes", "--on-ask", "park"];
    run_by(&test, &server, "ann", &parked).exits(3);
    let listed = by(&test, "ann", &["runs", "--format", "json"]).json();
    let listed = listed.as_array().expect("runs").iter();
    let runs: Vec<String> = listed.map(|run| run["id"].as_str().expect("an id").into()).collect();
    assert_eq!(runs.len(), 2);

    let serving = serving_as(&test, &server, "ann");
    let approval = serving.approval();
    assert!(approval.to_string().contains("open 4711"), "{approval}");
    let export = serving.get(&format!("/v1/runs/{}/export", runs[1]));
    assert!(export.to_string().contains("It is 4711."), "{export}");
    serving.stop();

    let serving = serving_as(&test, &server, "bob");
    assert_eq!(serving.get("/v1/runs").as_array().map(Vec::len), Some(2), "they are listed");
    for path in readable(&serving, &runs) {
        let (status, body) = serving.text(&format!("GET {path}"), "", &Value::Null);
        assert!(!body.contains("4711"), "{path}: {body}");
        let is_of_run = runs.iter().any(|run| path.contains(run)) && !path.ends_with("/waiting");
        assert_eq!(status, if is_of_run { 404 } else { 200 }, "{path}: {body}");
    }
    for (act, body) in [
        ("messages", json!({ "text": "what is the code?" })),
        ("resume", json!({})),
        ("cancel", json!({})),
        ("undo", json!({})),
    ] {
        let (status, reply) = serving.send(&format!("POST /v1/runs/{}/{act}", runs[0]), &body);
        assert_eq!(status, 404, "{act}: {reply}");
    }
    let (status, reply) = serving.answer(&approval, &json!({ "answer": "yes" }));
    assert_eq!(status, 404, "{reply}");
    let body = json!({ "model": "bot", "input": "and?", "previous_response_id": format!("resp_{}.1", runs[1]) });
    let (status, reply) = serving.send("POST /v1/responses", &body);
    assert_eq!(status, 404, "{reply}");
    assert_eq!(server.count(), 2, "nothing went on");
    serving.stop();
}

const REMEMBERING: &str = "name: keeper\nversion: 1.0.0\ndescription: Keeps things\nsoul: You keep things.\n\
    memory: {long_term: local}\n";

/// A process of a user with a home of its own, on one engine.
struct EngineUser<'a> {
    test: &'a Test,
    server: &'a Server,
    postgres: &'a TestPostgres,
    name: &'static str,
    home: &'static str,
}

impl<'a> EngineUser<'a> {
    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = engaged(self.test, self.server, (self.postgres, self.home), args);
        command.env("AGENTRY_USER", self.name);
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().expect("the program runs");
        self.test.ended(&args.join(" "), &output)
    }

    fn serving(&self, options: &[&str]) -> Serving<'a> {
        let args = [&["serve", "--listen", "127.0.0.1:0", "--label", "shared"], options].concat();
        Serving::of(self.test, self.command(&args), self.home)
    }
}

/// A worker carries out the run of another user: with neither the memories of its own user nor those of the other one, and what
/// happens in the run stays readable for the user who queued it.
#[test]
fn a_worker_gives_private_memories_to_no_run_of_another_user() {
    let recall = Turn::call("recall", json!({ "query": "code" }));
    let remember = Turn::call("remember", json!({ "text": "The plan of ann is 0815" }));
    let server = Server::playing([recall.into(), remember.into(), Turn::text("All done.").into()]);
    let test = Test::new().file("keeper.agent", REMEMBERING);
    let Some(postgres) = migrated(&test, &server) else { return };
    let [ann, bob] = [("ann", HOMES[0]), ("bob", HOMES[1])].map(|(name, home)| EngineUser {
        test: &test,
        server: &server,
        postgres: &postgres,
        name,
        home,
    });
    let teach = |at: &EngineUser<'_>, text: &str, user: &str| {
        at.run(&["memory", "add", "keeper.agent", text, "--user", user]).exits(0);
    };
    teach(&ann, "The code of ann is 4711", "ann");
    teach(&bob, "The code of bob is 4712", "bob");
    // Also not what lies in the home of the worker for the user who asks.
    teach(&bob, "The code of ann is 4713", "ann");
    let front = ann.serving(&[]);
    front.consent("keeper");
    let worker = bob.serving(&["--worker"]);
    worker.consent("keeper");
    let run = front.run("keeper", "what is the code?");
    front.wait_for_state(&run, "done");
    for asked in server.asked() {
        let texts = [&asked.system].into_iter().chain(asked.results.iter().map(|(_, text)| text));
        for text in texts {
            assert!(!text.contains("471"), "{text}");
        }
    }
    let export = front.get(&format!("/v1/runs/{run}/export"));
    assert!(export.to_string().contains("All done."), "its user can read it: {export}");
    // What the run wanted to remember about the one user is nothing that the other one learned.
    let kept = bob.run(&["memory", "list", "keeper.agent"]).exits(0);
    assert!(!kept.stdout.contains("0815"), "{kept}");
    wait_for("the receipt", || front.get("/v1/receipts")[0]["run"] == run.as_str());
    front.stop();
    worker.stop();
    private_journals_stay_private(&server, (&ann, &bob), &run);
}

/// The journal of a run with private memories comes to all homes of the engine, and is shown in none to another user.
fn private_journals_stay_private(
    server: &Server,
    (ann, bob): (&EngineUser<'_>, &EngineUser<'_>),
    earlier: &str,
) {
    let before = server.count();
    ann.run(&["run", "keeper.agent", "is it 4711?"]).exits(0);
    let asked = server.asked();
    assert!(asked[before].system.contains("4711"), "her own run has it");
    let listed = bob.run(&["runs", "--format", "json"]).exits(0).json();
    let ids = listed.as_array().expect("runs").iter().filter_map(|run| run["id"].as_str());
    let run = ids.into_iter().find(|id| *id != earlier).expect("a run").to_owned();
    assert!(bob.test.has(&format!("{}/runs/{run}", bob.home)), "the copy is there");
    let is_hidden =
        |ran: &Ran| assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("471"), "{ran}");
    is_hidden(&bob.run(&["runs"]).exits(0));
    is_hidden(&bob.run(&["runs", "--format", "json"]).exits(0));
    is_hidden(&bob.run(&["receipts", "list", "--format", "json"]).exits(0));
    is_hidden(&bob.run(&["runs", "show", &run]).exits(3));
    is_hidden(&bob.run(&["resume", &run, "and?"]).exits(3));
    let worker = bob.serving(&["--worker"]);
    for path in ["/v1/runs".to_owned(), format!("/v1/runs/{run}"), format!("/v1/runs/{run}/export")]
    {
        let (_, text) = worker.text(&format!("GET {path}"), "", &Value::Null);
        assert!(!text.contains("471"), "{path}: {text}");
    }
    worker.stop();
    let shown = ann.run(&["runs", "show", &run]).exits(0);
    assert!(shown.stdout.contains("4711"), "{shown}");
}
