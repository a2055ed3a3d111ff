//! `schedule` and `serve --schedules`, against a model on loopback.
#![cfg(target_os = "linux")]

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::run::{keyed, with};
use crate::server::{Reply, Server, Turn};
use crate::terminal::{signal, wait_for};
use crate::test::Test;

const INSTRUCTIONS: &str = "You report.\n";

/// An agent with schedules.
pub(crate) fn agent(schedules: &[(&str, &str)]) -> Test {
    let test = Test::new()
        .file("reporter/instructions.md", INSTRUCTIONS)
        .file("reporter/agent.acl", "default_model = \"anthropic/claude-sonnet-4-5\"\n");
    schedules.iter().fold(test, |test, (name, head)| {
        let written = format!("---\n{head}\n---\n\nWrite the {name} report.\n");
        test.file(format!("reporter/schedules/{name}.md"), written)
    })
}

#[test]
fn schedule_next_lists_the_planned_times() {
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
fn a_paused_schedule_stays_paused() {
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
fn schedule_run_starts_a_schedule_manually() {
    let test = agent(&[("daily", "cron: '@daily'")]);
    let server = Server::playing([Turn::text("The report.").into()]);
    let args = ["schedule", "run", "reporter", "daily"];
    let refused = with(&test, &server, &args).exits(3);
    assert!(refused.stderr.contains("consent"), "{refused}");
    let server = Server::playing([Turn::text("Hi.").into(), Turn::text("The report.").into()]);
    with(&test, &server, &["run", "reporter", "hello", "--yes"]).exits(0);
    let ran = with(&test, &server, &args).exits(0);
    assert_eq!(ran.stdout, "The report.\n");
    assert_eq!(server.asked()[1].user_texts, ["Write the daily report."]);
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
fn a_killed_scheduler_fires_nothing_twice() {
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

fn receipts(test: &Test) -> Vec<Value> {
    let ran = test.run("receipts list --format json").exits(0).json();
    ran.as_array().expect("receipts").clone()
}

fn receipt(test: &Test, at: usize) -> Value {
    let id = receipts(test)[at]["id"].as_str().expect("an id").to_owned();
    test.run(&format!("receipts show {id} --format json")).exits(0).json()
}

/// A firing that runs, one that is refused and one that is skipped: each has a receipt that names its time.
#[test]
fn every_firing_has_a_receipt() {
    let test = agent(&[("daily", "cron: '@daily'")]);
    let args = ["schedule", "run", "reporter", "daily"];
    let server = Server::playing([Turn::text("Hi.").into(), Turn::text("The report.").into()]);
    with(&test, &server, &args).exits(3);
    assert_eq!(server.count(), 0);
    with(&test, &server, &["run", "reporter", "hello", "--yes"]).exits(0);
    with(&test, &server, &args).exits(0);
    // Changed instructions need consent again: the firing is skipped, with its reason.
    test.write("reporter/instructions.md", "You report much.\n");
    let refused = with(&test, &server, &args).exits(3);
    assert!(refused.stderr.contains("there is no consent"), "{refused}");
    let status: Vec<_> = receipts(&test).iter().map(|it| it["status"].clone()).collect();
    assert_eq!(status, ["refused", "completed", "completed", "refused"]);
    for at in [0, 2, 3] {
        let receipt = receipt(&test, at);
        assert_eq!(receipt["firing"]["schedule"], "daily", "{at}: {receipt}");
        assert!(receipt["agent"]["digest"].as_str().is_some_and(|it| it.len() > 20), "{receipt}");
    }
    assert!(receipt(&test, 1).get("firing").is_none());
    assert_eq!(test.run("receipts verify --format json").exits(0).json()["checked"], 4);
}

/// Times that were missed while nothing kept the schedule are skipped, and each has a receipt.
#[test]
fn missed_times_are_skipped_with_receipts() {
    let test = agent(&[("often", "cron: '*/10 * * * * *'\nmisfire: skip")]);
    let server = Server::playing([]);
    let mut keeper = serve(&test, &server);
    wait_for("the keeper", || test.read("serve.log").contains("keeping"));
    signal(keeper.id(), "-KILL");
    keeper.wait().expect("it ends");
    // Five minutes passed since the ledger was written, and one firing was skipped by a process that died at once.
    let database = rusqlite::Connection::open(test.path("home/.agentry/schedules/ledger.db"))
        .expect("a ledger");
    let key = test.path("reporter").display().to_string();
    let set_back = "UPDATE schedules SET seen = seen - 300";
    assert_eq!(database.execute(set_back, []).expect("a change"), 1);
    let insert = "INSERT INTO firings (agent, schedule, planned, due, state, reason)
        VALUES (?1, 'often', 1000000000, 1000000000, 'skipped', 'missed')";
    database.execute(insert, [&key]).expect("a row");
    drop(database);
    let mut keeper = serve(&test, &server);
    wait_for("the receipts", || receipts(&test).len() >= 30);
    signal(keeper.id(), "-TERM");
    assert!(keeper.wait().expect("it ends").success());
    let all = receipts(&test);
    let skipped: Vec<_> = all.iter().filter(|it| it["status"] == "skipped").collect();
    assert!(skipped.len() >= 30, "{}", all.len());
    let planned = receipt(&test, 0)["firing"]["planned"].clone();
    assert_eq!(planned, "2001-09-09T01:46:40Z", "the one of the process that died");
    assert_eq!(test.run("receipts verify --format json").exits(0).json()["ok"], json!(true));
}

/// A changed, an added and a removed schedule take effect while `serve` runs.
#[test]
fn changed_schedules_take_effect_while_serving() {
    let test = agent(&[("daily", "cron: '@daily'")]);
    let server = Server::playing((0..50).map(|_| Reply::from(Turn::text("Done."))));
    with(&test, &server, &["run", "reporter", "hello", "--yes"]).exits(0);
    let mut keeper = serve(&test, &server);
    wait_for("the keeper", || test.read("serve.log").contains("keeping 1 schedule"));
    let often = "---\ncron: '* * * * * *'\n---\n\nWrite the report.\n";
    test.write("reporter/schedules/often.md", often);
    wait_for("the new one", || test.read("serve.log").contains("added   often of reporter"));
    // Another definition is another agent, which needs consent again.
    wait_for("a skipped firing", || receipts(&test).iter().any(|it| it["status"] == "refused"));
    assert_eq!(server.count(), 1);
    with(&test, &server, &["run", "reporter", "hello", "--yes"]).exits(0);
    wait_for("a firing", || server.count() > 2);
    test.write("reporter/schedules/daily.md", "---\ncron: '@yearly'\n---\n\nWrite.\n");
    wait_for("the change", || test.read("serve.log").contains("changed daily of reporter"));
    std::fs::remove_file(test.path("reporter/schedules/often.md")).expect("a file");
    wait_for("the removal", || test.read("serve.log").contains("removed often of reporter"));
    // A definition that cannot be read keeps what there is.
    test.write("reporter/schedules/daily.md", "---\ncron: 'often'\n---\n\nWrite.\n");
    test.write("reporter/agent.acl", "default_model = \"\n");
    signal(keeper.id(), "-TERM");
    assert!(keeper.wait().expect("it ends").success());
}

/// The schedules of an installed agent are kept and fired wherever a command is called, once, and not those of its source too.
#[test]
fn installed_agents_keep_their_schedules() {
    let test = agent(&[("often", "cron: '* * * * * *'\noverlap: queue")]);
    test.run("install reporter").exits(0);
    test.write("elsewhere/notes.txt", "nothing\n");
    let listed = |args: &str| test.run(&format!("{args} --format json")).exits(0).json();
    let rows = listed("schedule list");
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "the source is not listed too: {rows}");
    assert_eq!(rows[0]["path"], "reporter");
    assert_eq!(listed("-C elsewhere schedule list"), rows);
    // A pause holds in every directory, by the id and by the directory in the home.
    test.run("-C elsewhere schedule pause reporter often").exits(0);
    assert_eq!(listed("schedule list")[0]["state"], "paused");
    let by_place = "schedule resume home/.agentry/agents/reporter";
    test.run(by_place).exits(0);
    assert_eq!(listed("-C elsewhere schedule list")[0]["state"], "on");
    // Only the source, if it is named.
    let own = listed("schedule list ./reporter");
    assert_eq!(own[0]["path"], "./reporter");
    let both = test.run("schedule resume reporter").exits(2);
    assert!(both.stderr.contains("home/.agentry/agents/reporter` for the installed"), "{both}");
    // It fires, from a directory without agents.
    let server = Server::playing((0..50).map(|_| Reply::from(Turn::text("Done."))));
    let args = ["-C", "elsewhere", "run", "reporter", "hello", "--yes"];
    with(&test, &server, &args).exits(0);
    let log = std::fs::File::create(test.path("serve.log")).expect("a log");
    let mut command = keyed(&test, &server, &["-C", "elsewhere", "serve", "--schedules"]);
    let mut keeper = command.stdin(Stdio::null()).stdout(log).spawn().expect("it starts");
    wait_for("two firings", || server.count() >= 3);
    // One that is installed meanwhile is kept as well.
    test.run("install reporter --id second").exits(0);
    wait_for("the second", || test.read("serve.log").contains("added   often of second"));
    signal(keeper.id(), "-TERM");
    assert!(keeper.wait().expect("it ends").success());
    wait_for("the last run", || runs(&test).iter().all(|run| run["state"] != "running"));
    let chains: Vec<_> = receipts(&test).iter().map(|it| it["agent"].clone()).collect();
    assert!(chains.iter().filter(|it| **it == json!("reporter")).count() >= 3, "{chains:?}");
    let own = listed("runs --agent reporter");
    assert!(own.as_array().is_some_and(|own| own.len() >= 3 && own.len() <= runs(&test).len()));
    assert_eq!(listed("runs --agent second"), json!([]), "there was no consent to it");
    // What is removed and installed again begins anew.
    test.run("schedule pause home/.agentry/agents/second").exits(0);
    test.run("uninstall second").exits(0);
    test.run("install reporter --id second").exits(0);
    let rows = listed("schedule list second");
    assert_eq!(rows[0]["state"], "on", "{rows}");
    assert_eq!(test.run("receipts verify --format json").exits(0).json()["ok"], json!(true));
}

/// The runs of a day stay within the smaller limit of the workspace and the user.
#[test]
fn the_daily_cost_limit_stops_scheduled_runs() {
    let test = agent(&[("daily", "cron: '@daily'")]);
    test.write("agentry.toml", "[run]\nmax_scheduled_cost = 0.5\nmax_scheduled_cost_per_day = 5\n");
    let config = "home/.config/agentry/config.toml";
    test.write(config, "[run]\nmax_scheduled_cost_per_day = 0.016\n");
    // $0.016 each, at 1 and 5 dollars for a million tokens.
    let turn = || Turn::text("The report.").used(1_000, 0, 3_000);
    let server = Server::playing([turn().into(), turn().into(), turn().into()]);
    let args = ["schedule", "run", "reporter", "daily"];
    // A refused firing spends nothing of the day.
    with(&test, &server, &args).exits(3);
    with(&test, &server, &["run", "reporter", "hello", "--yes"]).exits(0);
    with(&test, &server, &args).exits(0);
    let skipped = with(&test, &server, &args).exits(0);
    assert!(
        skipped.stderr.contains("scheduled runs have spent the $0.0160 of this day"),
        "{skipped}"
    );
    assert_eq!(server.count(), 2);
    let last = receipts(&test).pop().expect("a receipt");
    assert_eq!(last["status"], "skipped");
    // What the user starts is not a scheduled run.
    with(&test, &server, &["run", "reporter", "hello"]).exits(0);
}

fn heartbeat_agent(text: &str) -> Test {
    Test::new()
        .file("heart/agent.json", "{\"name\": \"heart\", \"heartbeat\": {\"enabled\": true}, \"llm\": {\"provider\": \"anthropic\", \"model\": \"claude-sonnet-4-5\"}}")
        .file("heart/persona.md", "You watch.\n")
        .file("heart/principles.md", "## Never Do\n\n- Never lie.\n")
        .file("heart/heartbeat/HEARTBEAT.md", text)
}

#[test]
fn an_empty_heartbeat_calls_no_model() {
    let args = ["schedule", "run", "heart", "heartbeat"];
    let test = heartbeat_agent("# Heartbeat\n\n<!-- check the mail -->\n");
    let listed = test.run("schedule list --format json").exits(0).json();
    assert_eq!(
        (&listed[0]["schedule"], &listed[0]["cron"]),
        (&json!("heartbeat"), &json!("*/30 * * * *"))
    );
    let server = Server::playing([]);
    let ran = with(&test, &server, &args).exits(0);
    assert_eq!(
        (ran.stderr.as_str(), server.count()),
        ("skipped: `HEARTBEAT.md` has nothing to do\n", 0)
    );
    let receipt = receipt(&test, 0);
    assert_eq!(receipt["task"]["outcome"]["status"], "skipped");
    assert_eq!(receipt["firing"]["schedule"], "heartbeat");
    let test = heartbeat_agent("---\nmin_interval: 2h\n---\n\n# Heartbeat\n\n- check the mail\n");
    let listed = test.run("schedule list --format json").exits(0).json();
    assert_eq!(listed[0]["cron"], "0 */2 * * *");
    let server = Server::playing([Turn::text("Hi.").into(), Turn::text("HEARTBEAT_OK").into()]);
    with(&test, &server, &["run", "heart", "hello", "--yes"]).exits(0);
    with(&test, &server, &args).exits(0);
    assert_eq!(server.asked()[1].user_texts, ["# Heartbeat\n\n- check the mail"]);
}
