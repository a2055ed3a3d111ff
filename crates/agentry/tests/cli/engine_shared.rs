//! What several servers share by a real Postgres beside runs of one workspace: commits, schedules, an outage.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::{HOMES, engaged, migrated};
use crate::postgres_server::TestPostgres;
use crate::run::{with, write, writer};
use crate::schedule::agent as scheduled;
use crate::serve::Serving;
use crate::server::{Reply, Server, Turn};
use crate::terminal::{family, signal, wait_for};
use crate::test::Test;

/// Runs the real Git in the directory of a test.
fn git(test: &Test, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let out = command.current_dir(test.path("")).output().expect("git");
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text").trim().to_owned()
}

/// The output of the program with an engine.
fn output(test: &Test, server: &Server, place: (&TestPostgres, &str), args: &[&str]) -> String {
    let done = engaged(test, server, place, args).output().expect("the program runs");
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

fn serving<'a>(
    test: &'a Test,
    server: &Server,
    (postgres, home): (&TestPostgres, &'static str),
    options: &[&str],
) -> Serving<'a> {
    let args = [&["serve", "--listen", "127.0.0.1:0"], options].concat();
    Serving::of(test, engaged(test, server, (postgres, home), &args), home)
}

/// The agent of `writer` in a repository; returns its commit too.
fn committed_writer() -> (Test, String) {
    let test = writer();
    test.write(".gitignore", "first\nsecond\nhome\nconfig\n");
    git(&test, &["init", "--quiet"]);
    git(&test, &["add", "--all"]);
    git(&test, &["commit", "--quiet", "-m", "first"]);
    let base = git(&test, &["rev-parse", "HEAD"]);
    (test, base)
}

/// Says yes to what a run waits for, as soon as it is parked.
fn approve(front: &Serving<'_>, run: &str) {
    front.wait_for_state(run, "parked");
    // The list follows the state with the next look at the engine.
    let mut approval = Value::Null;
    wait_for("an approval", || {
        let open = front.get("/v1/approvals");
        let found = open.as_array().into_iter().flatten().find(|it| it["run"] == *run);
        approval = found.cloned().unwrap_or_default();
        !approval.is_null()
    });
    let (status, answered) = front.answer(&approval, &json!({ "answer": "yes" }));
    assert_eq!(status, 200, "{answered}");
}

/// A run of a commit: a worker checks it out, a person approves at another server, and the result comes back.
#[test]
fn a_commit_is_checked_out_by_a_worker_and_comes_back() {
    let server = Server::answering(|asked| match asked.results.len() {
        0 => write("other.txt").into(),
        _ => Turn::text("All done.").into(),
    });
    let (test, base) = committed_writer();
    let place = tempfile::tempdir().expect("a directory");
    let Some(postgres) = migrated(&test, &server) else { return };
    let front = serving(&test, &server, (&postgres, HOMES[0]), &[]);
    front.consent("writer");
    let asked = |commit: &str| {
        let body = json!({ "agent": "writer", "prompt": "write it", "commit": commit });
        front.send("POST /v1/runs", &body)
    };
    let (status, refused) = asked("nowhere");
    assert!(status >= 400 && refused.to_string().contains("no commit `nowhere`"), "{refused}");
    let run = asked("HEAD").1["id"].as_str().expect("an id").to_owned();
    // A worker without a place for checkouts does not take it.
    let plain = serving(&test, &server, (&postgres, HOMES[1]), &["--worker"]);
    plain.consent("writer");
    let other = front.run("writer", "write it");
    front.wait_for_state(&other, "parked");
    assert_eq!(front.get(&format!("/v1/runs/{run}"))["state"], "running");
    plain.stop();
    let approval = front.approval();
    front.answer(&approval, &json!({ "answer": "no" }));
    let checkouts = ["--worker", "--checkouts", place.path().to_str().expect("a path")];
    let worker = serving(&test, &server, (&postgres, HOMES[1]), &checkouts);
    approve(&front, &run);
    front.wait_for_state(&run, "done");
    // The workspace of the front is as it was; the result is a patch and a commit.
    assert!(!test.has("other.txt"));
    let patch = output(&test, &server, (&postgres, HOMES[0]), &["runs", "result", &run]);
    assert!(patch.contains("+++ b/other.txt") && patch.contains("+hello"), "{patch}");
    let fetch = ["runs", "result", &run, "--fetch", "--format", "json"];
    let fetched = output(&test, &server, (&postgres, HOMES[0]), &fetch);
    let fetched: Value = serde_json::from_str(&fetched).expect("JSON");
    assert_eq!((&fetched["base"], &fetched["files"]), (&json!(base), &json!(["other.txt"])));
    let commit = git(&test, &["rev-parse", &format!("refs/agentry/runs/{run}")]);
    assert_eq!(fetched["commit"], commit);
    assert_eq!(git(&test, &["show", &format!("{commit}:other.txt")]), "hello");
    let message = git(&test, &["log", "-1", "--format=%B", &commit]);
    assert!(message.contains("write it") && message.contains(&run), "{message}");
    assert!(!test.has("other.txt"));
    let none = engaged(&test, &server, (&postgres, HOMES[0]), &["runs", "result", &other]).output();
    let none = String::from_utf8(none.expect("the program runs").stderr).expect("text");
    assert!(none.contains("has no result"), "{none}");
    front.stop();
    worker.stop();
}

/// A parked run of a commit is continued by another worker, which makes the files of what was handed in. One whose worker is
/// gone without that says so, and is continued nowhere else.
#[test]
fn a_parked_run_of_a_commit_moves_to_another_worker() {
    let server = Server::answering(|asked| match asked.results.len() {
        0 => write("other.txt").into(),
        1 => write("more.txt").into(),
        _ => Turn::text("All done.").into(),
    });
    let (test, _) = committed_writer();
    let place = tempfile::tempdir().expect("a directory");
    let Some(postgres) = migrated(&test, &server) else { return };
    let front = serving(&test, &server, (&postgres, "front/home"), &[]);
    front.consent("writer");
    let start = || {
        let body = json!({ "agent": "writer", "prompt": "write it", "commit": "HEAD" });
        front.post("/v1/runs", &body)["id"].as_str().expect("an id").to_owned()
    };
    let working = |home: &'static str| {
        let checkouts = ["--worker", "--checkouts", place.path().to_str().expect("a path")];
        let worker = serving(&test, &server, (&postgres, home), &checkouts);
        worker.consent("writer");
        worker
    };
    let first = working(HOMES[0]);
    let (run, lost) = (start(), start());
    approve(&front, &run);
    wait_for("the second question", || {
        let open = front.get("/v1/approvals").to_string();
        open.contains("more.txt")
    });
    front.wait_for_state(&lost, "parked");
    first.stop();
    // As on a machine that has never seen the run.
    std::fs::remove_dir_all(place.path().join(&run)).expect("a checkout");
    let second = working(HOMES[1]);
    approve(&front, &run);
    front.wait_for_state(&run, "done");
    let result = output(&test, &server, (&postgres, HOMES[1]), &["runs", "result", &run]);
    assert!(result.contains("+++ b/other.txt") && result.contains("+++ b/more.txt"), "{result}");
    second.stop();
    // A worker that had begun again, on a machine that is gone.
    let standing = |text: &str| {
        let sql =
            format!("UPDATE agentry.run SET label = 'far:/place', {text} WHERE id = '{lost}'");
        postgres.psql(&format!("{sql} RETURNING id"));
    };
    let detail = |wanted: &str| {
        wait_for(wanted, || {
            let shown = front.get(&format!("/v1/runs/{lost}")).to_string();
            shown.contains(wanted) && shown.contains("far:/place")
        });
    };
    standing("standing = 0, change = nextval('agentry.changes')");
    detail("it waits for the worker that has its files");
    // It died at its question: the last row of the journal is the answer that parked the run.
    let newest = format!("SELECT max(seq) FROM agentry.event WHERE run = '{lost}'");
    postgres.psql(&format!("DELETE FROM agentry.event WHERE run = '{lost}' AND seq = ({newest})"));
    standing("standing = 1, ending = NULL, lease_until = clock_timestamp() - interval '1 minute'");
    detail("only the worker that has its files can continue it");
    let resume = engaged(&test, &server, (&postgres, HOMES[0]), &["resume", &lost]).output();
    let resume = resume.expect("the program runs");
    let said = String::from_utf8_lossy(&resume.stderr).into_owned();
    assert_eq!(resume.status.code(), Some(3), "{said}");
    assert!(said.contains("its files are at `far:/place` only"), "{said}");
    front.stop();
}

/// Two servers keep the same schedule: each planned time starts one run, and has one receipt.
#[test]
fn two_servers_start_each_planned_time_once() {
    let test = scheduled(&[("often", "cron: '* * * * * *'\noverlap: queue")]);
    let replies = (0..200).map(|_| Reply::from(Turn::text("Done.")));
    let server = Server::playing(replies);
    let Some(postgres) = migrated(&test, &server) else { return };
    for home in HOMES {
        output(&test, &server, (&postgres, home), &["run", "reporter", "hello", "--yes"]);
    }
    let asked = server.count();
    let mut keepers = HOMES.map(|home| {
        let mut command =
            engaged(&test, &server, (&postgres, home), &["serve", "--schedules", "reporter"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts")
    });
    wait_for("six firings", || server.count() >= asked + 6);
    for keeper in &mut keepers {
        signal(keeper.id(), "-TERM");
        assert!(keeper.wait().expect("it ends").success());
    }
    let runs = |home: &str| {
        let listed = output(&test, &server, (&postgres, home), &["runs", "--format", "json"]);
        let runs: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
        runs
    };
    // One request for each run: those by hand, and those of the schedule. The last one may just begin.
    wait_for("the last run", || {
        let runs = runs(HOMES[0]);
        runs.len() == server.count() && runs.iter().all(|run| run["state"] != "running")
    });
    let mut planned = Vec::new();
    let receipts =
        output(&test, &server, (&postgres, HOMES[0]), &["receipts", "list", "--format", "json"]);
    let receipts: Vec<Value> = serde_json::from_str(&receipts).expect("JSON");
    for receipt in &receipts {
        let id = receipt["id"].as_str().expect("an id");
        let show = ["receipts", "show", id, "--format", "json"];
        let shown = output(&test, &server, (&postgres, HOMES[0]), &show);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        planned.extend(shown["firing"]["planned"].as_str().map(str::to_owned));
    }
    let single: BTreeSet<_> = planned.iter().collect();
    assert_eq!(single.len(), planned.len(), "{planned:?}");
    assert!(planned.len() >= 6, "{planned:?}");
    for home in HOMES {
        let listed =
            output(&test, &server, (&postgres, home), &["receipts", "list", "--format", "json"]);
        let listed: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
        assert_eq!(listed.len(), receipts.len(), "{home}");
        output(&test, &server, (&postgres, home), &["receipts", "verify"]);
    }
}

/// The database goes away for longer than a lease while a run works; `AGENTRY_OUTAGE` says for how many seconds. The
/// run goes on by itself, and nothing is done twice.
#[test]
fn a_run_outlasts_its_database() {
    let outage = std::env::var("AGENTRY_OUTAGE").ok().and_then(|text| text.parse().ok());
    let server = Server::answering(|asked| match asked.results.len() {
        0 => Turn::call("bash", json!({ "command": "echo one >> effects; sleep 2" })).into(),
        1 => Turn::call("bash", json!({ "command": "echo two >> effects" })).into(),
        _ => Turn::text("Done.").into(),
    });
    let test = Test::new()
        .file("worker/agent.toml", crate::confined::WORKER)
        .file("worker/system-prompt.md", "You work.\n")
        .file("effects", "");
    let Some(postgres) = migrated(&test, &server) else { return };
    let worker = serving(&test, &server, (&postgres, HOMES[0]), &["--worker"]);
    worker.consent("worker");
    let run = worker.run("worker", "work");
    wait_for("the first effect", || test.read("effects") == "one\n");
    postgres.kill();
    std::thread::sleep(Duration::from_secs(outage.unwrap_or(5)));
    assert_eq!(test.read("effects"), "one\n", "an effect without a durable start");
    postgres.up();
    worker.wait_for_state(&run, "done");
    assert_eq!(test.read("effects"), "one\ntwo\n");
    worker.stop();
    let runs = with(&test, &server, &["runs"]).exits(0);
    assert!(!runs.stdout.contains("interrupted"), "{runs}");
}

/// A worker is paused with its run for longer than a lease, `AGENTRY_PAUSE` says for how many seconds. Another one goes on;
/// the first one wakes up, and does and writes nothing more.
#[test]
fn a_worker_that_wakes_up_does_nothing_more() {
    let pause = std::env::var("AGENTRY_PAUSE").ok().and_then(|text| text.parse().ok());
    let server = Server::answering(|asked| match asked.results.len() {
        0 => Turn::call("bash", json!({ "command": "echo begun >> effects; sleep 1" })).into(),
        1 => Turn::call("bash", json!({ "command": "echo next >> effects" })).into(),
        _ => Turn::text("Done.").into(),
    });
    let test = Test::new()
        .file("worker/agent.toml", crate::confined::WORKER)
        .file("worker/system-prompt.md", "You work.\n")
        .file("effects", "");
    let Some(postgres) = migrated(&test, &server) else { return };
    let front = serving(&test, &server, (&postgres, "front/home"), &["--label", "shared"]);
    front.consent("worker");
    let working = ["--worker", "--label", "shared"];
    let first = serving(&test, &server, (&postgres, HOMES[0]), &working);
    first.consent("worker");
    let run = front.run("worker", "work");
    wait_for("the first effect", || test.read("effects") == "begun\n");
    let paused: Vec<u32> = family(first.process()).iter().map(|it| it.pid).collect();
    let all = |name: &str| {
        for id in &paused {
            // A command may have ended.
            let _ = Command::new("kill").args([name, &id.to_string()]).status();
        }
    };
    all("-STOP");
    let second = serving(&test, &server, (&postgres, HOMES[1]), &working);
    second.consent("worker");
    front.wait_for_state(&run, "parked");
    let approval = front.approval();
    assert_eq!(approval["kind"], "unfinished", "{approval}");
    front.answer(&approval, &json!({ "answer": "no" }));
    front.wait_for_state(&run, "done");
    let before = front.get(&format!("/v1/runs/{run}/export"));
    std::thread::sleep(Duration::from_secs(pause.unwrap_or(0)));
    all("-CONT");
    // The process of the run notices that it was replaced, and ends.
    wait_for("the end of the replaced run", || family(first.process()).len() == 1);
    assert_eq!(test.read("effects"), "begun\nnext\n");
    assert_eq!(front.get(&format!("/v1/runs/{run}/export")), before);
    first.wait_for_state(&run, "done");
    front.stop();
    first.stop();
    second.stop();
}

#[test]
fn a_commit_needs_an_engine() {
    let test = writer();
    let server = Server::playing([]);
    let serving = Serving::start(&test, &server);
    serving.consent("writer");
    let body = json!({ "agent": "writer", "prompt": "write it", "commit": "HEAD" });
    let (status, refused) = serving.send("POST /v1/runs", &body);
    assert_eq!(status, 400, "{refused}");
    assert!(refused.to_string().contains("needs an engine with workers"), "{refused}");
    assert_eq!(serving.get("/v1/runs"), json!([]));
    let result = test.run("runs result last").exits(2);
    assert!(result.stderr.contains("there is no run"), "{result}");
}
