//! `schedule` and `serve --schedules`, against a model on loopback.
#![cfg(target_os = "linux")]

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::run::{keyed, with};
use crate::server::{Reply, Server, Turn};
use crate::terminal::{signal, wait_for};
use crate::test::Test;

const INSTRUCTIONS: &str = "You report.\n";

fn agent(schedules: &[(&str, &str)]) -> Test {
    let test = Test::new()
        .file("reporter/instructions.md", INSTRUCTIONS)
        .file("reporter/agent.acl", "default_model = \"anthropic/claude-sonnet-4-5\"\n");
    schedules.iter().fold(test, |test, (name, head)| {
        let written = format!("---\n{head}\n---\n\nWrite the {name} report.\n");
        test.file(format!("reporter/schedules/{name}.md"), written)
    })
}

#[test]
fn next_is_a_function_of_the_definitions() {
    let test = agent(&[
        ("berlin", "cron: 30 2 * * *\ntimezone: Europe/Berlin"),
        ("weekly", "cron: 0 9 * * mon"),
        ("off", "cron: '* * * * *'\nenabled: false"),
    ]);
    let found = test
        .run("schedule next reporter --from 2027-03-27 --to 2027-03-30 --format json")
        .exits(0)
        .json();
    let row = |name: &str, at: &str| json!({ "agent": "reporter", "schedule": name, "at": at });
    let expected = json!([
        row("berlin", "2027-03-27T02:30:00+01:00"),
        // The clock skips half past two.
        row("berlin", "2027-03-28T03:00:00+02:00"),
        row("berlin", "2027-03-29T02:30:00+02:00"),
        row("weekly", "2027-03-29T09:00:00+00:00"),
    ]);
    assert_eq!(found, expected);
    let few = test.run("schedule next --from 2027-03-29T00:00:00Z -n 3").exits(0);
    insta::assert_snapshot!(few.stdout, @"
    2027-03-29T02:30:00+02:00  reporter  berlin
    2027-03-29T09:00:00+00:00  reporter  weekly
    2027-03-30T02:30:00+02:00  reporter  berlin
    ");
    let bad = test.run("schedule next --from tomorrow").exits(2);
    assert!(bad.stderr.contains("not a time: write a date like `2027-01-31`"), "{bad}");
}

#[test]
fn a_pause_is_remembered() {
    let test = agent(&[("daily", "cron: '@daily'"), ("yearly", "cron: '@yearly'")]);
    let states = |test: &Test| {
        let rows = test.run("schedule list --format json").exits(0).json();
        let rows = rows.as_array().expect("rows").iter();
        rows.map(|row| format!("{} {}", row["schedule"], row["state"])).collect::<Vec<_>>()
    };
    assert_eq!(states(&test), [r#""daily" "on""#, r#""yearly" "on""#]);
    let ran = test.run("schedule pause reporter daily").exits(0);
    assert_eq!(ran.stderr, "paused `daily` of `reporter`\n");
    assert_eq!(states(&test), [r#""daily" "paused""#, r#""yearly" "on""#]);
    test.run("schedule resume reporter").exits(0);
    assert_eq!(states(&test), [r#""daily" "on""#, r#""yearly" "on""#]);
    let wrong = test.run("schedule pause reporter dayly").exits(2);
    assert!(wrong.stderr.contains("did you mean `daily`"), "{wrong}");
}

/// Nothing fires on a ledger that cannot be read, and nothing of it is lost.
#[test]
fn a_damaged_ledger_is_reported_and_kept() {
    let test = agent(&[("daily", "cron: '@daily'")]);
    test.run("schedule list").exits(0);
    let ledger = "home/.agentry/schedules/ledger.db";
    test.write(ledger, "no database, but long enough to look like a damaged one");
    for command in ["schedule list", "serve --schedules", "schedule run reporter daily"] {
        let ran = test.run(command).exits(2);
        assert!(ran.stderr.contains("file is not a database"), "{ran}");
        assert!(ran.stderr.contains("ledger.db` away to begin a new one"), "{ran}");
    }
    assert!(test.read(ledger).starts_with("no database"));
    // The planned times need no ledger.
    test.run("schedule next -n 1").exits(0);
}

#[test]
fn a_schedule_is_run_by_hand() {
    let test = agent(&[("daily", "cron: '@daily'")]);
    let server = Server::playing([Turn::text("The report.").into()]);
    let args = ["schedule", "run", "reporter", "daily"];
    let refused = with(&test, &server, &args).exits(3);
    assert!(refused.stderr.contains("consent"), "{refused}");
    let server = Server::playing([Turn::text("Hi.").into(), Turn::text("The report.").into()]);
    with(&test, &server, &["run", "reporter", "hello", "--yes"]).exits(0);
    let ran = with(&test, &server, &args).exits(0);
    assert_eq!(ran.stdout, "The report.\n");
    assert_eq!(server.asked()[1].said, ["Write the daily report."]);
}

/// `serve` with this server, whose output goes to a file.
fn serve(test: &Test, server: &Server) -> Child {
    let log = std::fs::File::create(test.path("serve.log")).expect("a log");
    let mut command = keyed(test, server, &["serve", "--schedules"]);
    command.stdin(Stdio::null()).stdout(log).spawn().expect("it starts")
}

fn runs(test: &Test) -> Vec<Value> {
    test.run("runs --format json").exits(0).json().as_array().expect("runs").clone()
}

/// Every second one firing: kills of the keeper make none run twice, and a run outlives its keeper.
#[test]
fn the_keeper_fires_and_survives_kills() {
    let test = agent(&[("often", "cron: '* * * * * *'\noverlap: queue\nmisfire: all")]);
    let replies = (0..200).map(|_| Reply::from(Turn::text("Done.")));
    let server = Server::playing(replies);
    with(&test, &server, &["run", "reporter", "hello", "--yes"]).exits(0);
    for _ in 0..3 {
        let before = server.count();
        let mut keeper = serve(&test, &server);
        wait_for("two firings", || server.count() >= before + 2);
        signal(keeper.id(), "-KILL");
        keeper.wait().expect("it ends");
    }
    let mut keeper = serve(&test, &server);
    let before = server.count();
    wait_for("a firing", || server.count() > before);
    signal(keeper.id(), "-TERM");
    assert!(keeper.wait().expect("it ends").success());
    let log = test.read("serve.log");
    assert!(log.contains("keeping 1 schedule\n"), "{log}");
    assert!(log.contains("started often of reporter"), "{log}");
    wait_for("the last run", || runs(&test).iter().all(|run| run["state"] != "running"));
    // One request for each run: no firing was run twice, and none was run without one.
    assert_eq!(runs(&test).len(), server.count());
}
