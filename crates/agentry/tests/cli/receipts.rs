//! `receipts`: one for every run, whatever became of it, and what `verify` finds.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::{keyed, with, write, writer};
use crate::server::{Reply, Server, Turn};
use crate::terminal::{Terminal, signal, wait_for};
use crate::test::Test;

fn list(test: &Test) -> Vec<Value> {
    test.run("receipts list --format json").exits(0).json().as_array().expect("a list").clone()
}

fn statuses(test: &Test) -> Vec<String> {
    list(test).iter().map(|it| it["status"].as_str().expect("a status").to_owned()).collect()
}

fn show(test: &Test, at: usize) -> Value {
    let id = list(test)[at]["id"].as_str().expect("an id").to_owned();
    test.run(&format!("receipts show {id} --format json")).exits(0).json()
}

fn verified(test: &Test) -> usize {
    let result = test.run("receipts verify --format json").exits(0).json();
    assert_eq!((&result["ok"], &result["problems"]), (&json!(true), &json!([])));
    usize::try_from(result["checked"].as_u64().expect("a number")).expect("small")
}

#[test]
fn every_run_has_a_receipt() {
    let test = writer();
    assert_eq!(test.run("receipts list --format json").exits(0).json(), json!([]));
    assert_eq!(verified(&test), 0);
    // Refused: there is no consent. Nothing began, and there is still a receipt.
    let server = Server::playing([]);
    with(&test, &server, &["run", "writer", "hi"]).exits(3);
    // Done, in one go.
    let server = Server::playing([write("out.txt").into(), Turn::text("All done.\nMore.").into()]);
    with(&test, &server, &["run", "writer", "write it", "--yes", "--estimate", "30m"]).exits(0);
    // A limit.
    let server = Server::playing([write("out.txt").into(), Turn::text("x").into()]);
    with(&test, &server, &["run", "writer", "write it", "--max-turns", "1"]).exits(3);
    // Parked, then continued to its end: two receipts of one run.
    let server = Server::playing([write("other.txt").into(), Turn::text("Refused.").into()]);
    with(&test, &server, &["run", "writer", "write it", "--on-ask", "park"]).exits(3);
    with(&test, &server, &["resume", "last", "--on-ask", "deny"]).exits(0);
    let expected = ["refused", "completed", "over_budget", "parked", "completed"];
    assert_eq!(statuses(&test), expected);
    assert_eq!(verified(&test), 5);
    let done = show(&test, 1);
    assert_eq!(done["task"]["input_summary"], "write it");
    assert_eq!(done["task"]["output_summary"], "All done.");
    assert_eq!(
        done["task"]["outcome"],
        json!({"status": "completed", "auto_completed": true, "user_edits": 0})
    );
    assert_eq!(done["time_metrics"]["estimated_human_time"], 1800);
    assert_eq!(done["policy"]["allow"], 1);
    assert_eq!(done["policy"]["decisions"][0], json!({"tool": "write", "verdict": "allow"}));
    assert!(done["agent"]["digest"].as_str().expect("a digest").starts_with("sha256:"));
    assert_eq!(show(&test, 0)["run"]["reason"], "`writer` was not run: there is no consent");
    let [fourth, fifth] = [3, 4].map(|at| list(&test)[at]["run"].clone());
    assert_eq!(fourth, fifth);
    let stats = test.run("receipts stats --format json").exits(0).json();
    assert_eq!((&stats["total"], &stats["auto_completion"]), (&json!(4), &json!(0.5)));
    assert_eq!((&stats["rework"], &stats["autonomy"]), (&json!(0.0), &Value::Null));
    assert!(stats["time_saved"].as_f64().expect("a time") > 1_700.0, "{stats}");
    // By name and by path; another agent has none.
    let path = test.path("writer").display().to_string();
    for agent in ["writer", path.as_str()] {
        let args = ["receipts", "list", agent, "--format", "json"];
        let found = with(&test, &server, &args).exits(0).json();
        assert_eq!(found.as_array().map(Vec::len), Some(5), "{agent}");
    }
    assert_eq!(test.run("receipts list nobody --format json").exits(0).json(), json!([]));
}

#[test]
fn a_killed_run_gets_a_receipt_at_the_next_start() {
    let test = writer();
    let server = Server::playing([Turn::text("Hi.").into()]);
    with(&test, &server, &["run", "writer", "hello", "--yes"]).exits(0);
    // The second request is never answered.
    let server = Server::playing([Reply::Silent]);
    let mut command = keyed(&test, &server, &["run", "writer", "go"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_for("the request", || server.count() == 1);
    // While it runs it has none.
    assert_eq!(statuses(&test), ["completed"]);
    signal(child.id(), "-KILL");
    child.wait().expect("an end");
    assert_eq!(statuses(&test), ["completed", "killed"]);
    assert_eq!(show(&test, 1)["run"]["reason"], "its process died");
    assert_eq!(statuses(&test).len(), 2, "once only");
    assert_eq!(verified(&test), 2);
}

fn files(test: &Test) -> Vec<PathBuf> {
    let path = |it: &Value| {
        let (run, id) = (it["run"].as_str().expect("a run"), it["id"].as_str().expect("an id"));
        test.path(format!("home/.agentry/runs/{run}/receipts/{id}.yaml"))
    };
    list(test).iter().map(path).collect()
}

#[test]
fn verify_reports_changed_and_missing_receipts() {
    let test = writer();
    let server = Server::playing((0..3).map(|_| Turn::text("Hi.").into()));
    for _ in 0..3 {
        with(&test, &server, &["run", "writer", "hello", "--yes"]).exits(0);
    }
    let files = files(&test);
    let mode = fs::metadata(&files[1]).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode, 0o400);
    let content = fs::read_to_string(&files[1]).expect("text");
    fs::set_permissions(&files[1], fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::write(&files[1], content.replace("Hi.", "Ho.")).expect("a file");
    let ran = test.run("receipts verify").exits(1);
    assert!(ran.stdout.contains("it is altered: its digest is not that of its content"), "{ran}");
    fs::write(&files[1], &content).expect("a file");
    assert_eq!(verified(&test), 3);
    fs::remove_file(&files[2]).expect("a file");
    let result = test.run("receipts verify --format json").exits(1).json();
    assert_eq!((&result["ok"], &result["checked"]), (&json!(false), &json!(2)));
    assert_eq!(result["problems"][0]["problem"], "it is missing");
}

/// Pruning removes the run and keeps its receipts, so that the chain stays whole.
#[test]
fn receipts_survive_pruning() {
    let test = writer();
    let server = Server::playing((0..2).map(|_| Turn::text("Hi.").into()));
    for _ in 0..2 {
        with(&test, &server, &["run", "writer", "hello", "--yes"]).exits(0);
    }
    let ran = test.run("runs prune --older-than 0s").exits(0);
    assert_eq!(ran.stdout.lines().count(), 2, "{ran}");
    assert_eq!(test.run("runs --format json").exits(0).json(), json!([]));
    assert_eq!(statuses(&test), ["completed", "completed"]);
    assert_eq!(verified(&test), 2);
    let again = test.run("runs prune --older-than 0s").exits(0);
    assert_eq!(again.stderr, "there is nothing to remove\n");
    let ran = test.run("runs show last").exits(2);
    assert!(ran.stderr.contains("there is no run `last`"), "{ran}");
}

/// Files that the run wrote and the person changed before the next run correct its receipt.
#[test]
fn edits_by_the_user_are_counted_as_rework() {
    let test = writer();
    let server = || Server::playing([write("out.txt").into(), Turn::text("Done.").into()]);
    let args = ["run", "writer", "write it", "--yes"];
    with(&test, &server(), &args).exits(0);
    test.write("out.txt", "by hand\n");
    with(&test, &server(), &args).exits(0);
    assert_eq!(statuses(&test), ["completed", "modified", "completed"]);
    // Unchanged since: no correction.
    with(&test, &server(), &args).exits(0);
    assert_eq!(statuses(&test), ["completed", "modified", "completed", "completed"]);
    let amended = show(&test, 1);
    assert_eq!(amended["task"]["outcome"]["user_edits"], 1);
    let files = &amended["amends"]["files"];
    assert_eq!(
        (files, &amended["amends"]["receipt_id"]),
        (&json!(["out.txt"]), &list(&test)[0]["id"])
    );
    assert_eq!(verified(&test), 4);
    let stats = test.run("receipts stats --format json").exits(0).json();
    assert_eq!(stats["total"], 3);
    assert!((stats["rework"].as_f64().expect("a rate") - 1.0 / 3.0).abs() < 1e-9, "{stats}");
}

/// The time in which the person was asked is measured, and a person's yes is no automatic completion.
#[test]
fn approval_time_is_measured() {
    let test = writer();
    let server = Server::playing([write("other.txt").into(), Turn::text("Done.").into()]);
    let mut terminal = Terminal::new(&test, &server, "run writer go --yes");
    terminal.sees("answer ›");
    terminal.types("y");
    terminal.sees("Done.");
    terminal.ends(0);
    let receipt = show(&test, 0);
    assert_eq!(receipt["task"]["outcome"]["auto_completed"], false);
    let decision = json!({"tool": "write", "verdict": "ask", "answer": "yes"});
    assert_eq!(receipt["policy"]["decisions"][0], decision);
    assert!(
        receipt["time_metrics"]["actual_human_time"].as_f64().expect("a time") > 0.0,
        "{receipt}"
    );
}

/// No secret reaches a receipt, and nothing of a run that can read private memories.
#[test]
fn receipts_exclude_secrets_and_private_memories() {
    let test = writer();
    let server = Server::playing([Turn::text("I saw key-of-the-test.").into()]);
    with(&test, &server, &["run", "writer", "use key-of-the-test", "--yes"]).exits(0);
    let content = fs::read_to_string(&files(&test)[0]).expect("text");
    assert!(content.contains("use [redacted: ANTHROPIC_API_KEY]"), "{content}");
    assert!(!content.contains("key-of-the-test"), "{content}");
    // An installed agent to which this user taught something in private.
    let home = "home/.agentry";
    for (name, written) in
        [("agent.toml", crate::run::WRITER), ("system-prompt.md", "You write.\n")]
    {
        test.write(format!("{home}/agents/writer/{name}"), written);
    }
    test.write(format!("{home}/users/ann/agents/writer/memory/a.md"), "The code is 4711.\n");
    let server = Server::playing([Turn::text("It is 4711.").into()]);
    let mut command =
        keyed(&test, &server, &["run", "home/.agentry/agents/writer", "the code?", "--yes"]);
    let output = command.env("AGENTRY_USER", "ann").output().expect("it runs");
    test.ended("run", &output).exits(0);
    let at = list(&test).iter().position(|it| it["agent"] == "writer").expect("its chain");
    let receipt = show(&test, at);
    assert_eq!(receipt["session"]["user_id"], "ann");
    let content = fs::read_to_string(&files(&test)[at]).expect("text");
    assert!(!content.contains("4711") && !content.contains("the code?"), "{content}");
}
