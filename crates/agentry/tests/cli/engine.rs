//! Runs that several servers share by a real Postgres: two homes, one workspace.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a long test says what it did")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::confined::WORKER;
use crate::engine_wire::FaultyWire;
use crate::postgres_server::TestPostgres;
use crate::run::{keyed, write, writer};
use crate::serve::Serving;
use crate::server::{Server, Turn};
use crate::terminal::wait_for;
use crate::test::Test;

/// The homes of the two servers, as `Serving` reads them.
pub(crate) const HOMES: [&str; 2] = ["first/home", "second/home"];
/// How long a lease lasts here, in seconds.
const LEASE: &str = "2";
/// The commands of each run in the test of kills.
const STEPS: usize = 4;

/// The program with an engine and a home.
pub(crate) fn engaged(
    test: &Test,
    server: &Server,
    (postgres, home): (&TestPostgres, &str),
    args: &[&str],
) -> Command {
    reaching(test, server, (&postgres.url(), home), args)
}

/// The same, with the address of the engine.
pub(crate) fn reaching(
    test: &Test,
    server: &Server,
    (url, home): (&str, &str),
    args: &[&str],
) -> Command {
    let mut command = keyed(test, server, args);
    command.env("AGENTRY_ENGINE", url).env("AGENTRY_HOME", test.path(home));
    command.env("AGENTRY_LEASE_TIME", LEASE);
    command
}

pub(crate) fn migrated(test: &Test, server: &Server) -> Option<TestPostgres> {
    let postgres = TestPostgres::start()?;
    let refused =
        engaged(test, server, (&postgres, HOMES[0]), &["serve", "--listen", "127.0.0.1:0"])
            .output();
    let refused = String::from_utf8(refused.expect("the program runs").stderr).expect("text");
    assert!(refused.contains("`agentry serve migrate`"), "{refused}");
    let done = engaged(test, server, (&postgres, HOMES[0]), &["serve", "migrate"]).status();
    assert!(done.expect("the program runs").success());
    Some(postgres)
}

fn serving<'a>(
    test: &'a Test,
    server: &Server,
    (postgres, home): (&TestPostgres, &'static str),
    works: bool,
) -> Serving<'a> {
    serving_by(test, server, (&postgres.url(), home), works)
}

fn serving_by<'a>(
    test: &'a Test,
    server: &Server,
    place: (&str, &'static str),
    works: bool,
) -> Serving<'a> {
    let mut args = vec!["serve", "--listen", "127.0.0.1:0", "--label", "shared"];
    if works {
        args.push("--worker");
    }
    Serving::of(test, reaching(test, server, place, &args), place.1)
}

/// Queued at one server, carried out by another, approved at the first, listed and undone at both.
#[test]
fn a_run_moves_between_servers() {
    let server = Server::playing([write("other.txt").into(), Turn::text("All done.").into()]);
    let test = writer();
    let Some(postgres) = migrated(&test, &server) else { return };
    let front = serving(&test, &server, (&postgres, HOMES[0]), false);
    front.consent("writer");
    let run = front.run("writer", "write it");
    // Without consent in its own home, a worker takes nothing.
    let worker = serving(&test, &server, (&postgres, HOMES[1]), true);
    wait_for("the run at the worker", || {
        worker.get("/v1/runs").as_array().is_some_and(|runs| runs.len() == 1)
    });
    assert_eq!(worker.get(&format!("/v1/runs/{run}"))["state"], "running");
    assert_eq!(server.count(), 0);
    worker.consent("writer");
    front.wait_for_state(&run, "parked");
    assert!(!test.has("other.txt"));
    let approval = front.approval();
    assert_eq!((approval["run"].as_str(), approval["tool"].as_str()), (Some(&*run), Some("write")));
    let (status, answered) = front.answer(&approval, &json!({ "answer": "yes" }));
    assert_eq!(status, 200, "{answered}");
    front.wait_for_state(&run, "done");
    worker.wait_for_state(&run, "done");
    assert_eq!(test.read("other.txt"), "hello\n");
    for home in HOMES {
        let shown = engaged(&test, &server, (&postgres, home), &["runs", "show", &run]).output();
        let shown = String::from_utf8(shown.expect("the program runs").stdout).expect("text");
        assert!(shown.contains("All done."), "{home}: {shown}");
    }
    // Every home has the receipts: one when it parked, one at its end.
    for (serving, home) in [(&front, HOMES[0]), (&worker, HOMES[1])] {
        wait_for("the receipts", || {
            serving.get("/v1/receipts").as_array().is_some_and(|it| it.len() == 2)
        });
        let verify = ["receipts", "verify", "--format", "json"];
        let verified = engaged(&test, &server, (&postgres, home), &verify).output();
        let verified = verified.expect("the program runs");
        let checked = String::from_utf8_lossy(&verified.stdout);
        let is_whole = verified.status.success() && checked.contains("\"checked\": 2");
        assert!(is_whole, "{home}: {checked}");
    }
    // The home that changed nothing shows the changes, and undoes them.
    let changes = front.get(&format!("/v1/runs/{run}/changes")).to_string();
    assert!(changes.contains("other.txt") && changes.contains("hello"), "{changes}");
    let undo = ["runs", "undo", &run];
    let undone = engaged(&test, &server, (&postgres, HOMES[0]), &undo).status();
    assert!(undone.expect("the program runs").success());
    assert!(!test.has("other.txt"));
    for home in HOMES {
        let shown = engaged(&test, &server, (&postgres, home), &["runs", "show", &run]).output();
        let shown = String::from_utf8(shown.expect("the program runs").stdout).expect("text");
        assert!(shown.contains("took back the changes"), "{home} knows of the undo: {shown}");
    }
    let export = front.get(&format!("/v1/runs/{run}/export")).to_string();
    assert!(export.contains("All done."), "{export}");
    front.stop();
    worker.stop();
    a_pruned_run_stays_away(&test, &server, &postgres, &run);
}

/// What one home prunes is gone in all, apart from its receipts.
fn a_pruned_run_stays_away(test: &Test, server: &Server, postgres: &TestPostgres, run: &str) {
    let runs = |home: &str, args: &[&str]| {
        let done = engaged(test, server, (postgres, home), args).output();
        let done = done.expect("the program runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    };
    let pruned = runs(HOMES[0], &["runs", "prune", "--older-than", "0s"]);
    assert!(pruned.contains(run), "{pruned}");
    for home in [HOMES[0], HOMES[1], HOMES[0]] {
        let listed = runs(home, &["runs", "--format", "json"]);
        assert_eq!(listed.trim(), "[]", "{home}");
        let verified = runs(home, &["receipts", "verify", "--format", "json"]);
        assert!(verified.contains("\"checked\": 2"), "{home}: {verified}");
    }
}

/// Says what the next command of a run is: its prompt names the run, its results count the commands.
fn stepping() -> Server {
    Server::answering(|asked| {
        let done = asked.results.len();
        if done >= STEPS {
            return Turn::text("Done.").into();
        }
        let run = asked.user_texts.first().cloned().unwrap_or_default();
        Turn::call("bash", json!({ "command": format!("echo {run}-{done} >> effects") })).into()
    })
}

/// Two workers and their runs are killed and paused, their connections are cut and held, and the database goes away, at any
/// moment. No command runs twice, none that has a result was lost, and every run ends. `AGENTRY_KILLS` says how many kills
/// there are, `AGENTRY_KILL_SEED` which, and `AGENTRY_KILL_TIME` for how many seconds at most.
#[test]
fn kills_lose_and_double_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let kills = number("AGENTRY_KILLS").and_then(|kills| usize::try_from(kills).ok());
    let longest = Duration::from_secs(number("AGENTRY_KILL_TIME").unwrap_or(7_200));
    kill_for(longest, (kills.unwrap_or(3), number("AGENTRY_KILL_SEED").unwrap_or(7)));
}

fn kill_for(longest: Duration, (most, seed): (usize, u64)) {
    let server = stepping();
    let test = Test::new()
        .file("worker/agent.toml", WORKER)
        .file("worker/system-prompt.md", "You work.\n")
        .file("effects", "");
    let Some(postgres) = migrated(&test, &server) else { return };
    let front = serving(&test, &server, (&postgres, "front/home"), false);
    front.consent("worker");
    // Each worker has a wire of its own to the database.
    let wires = HOMES.map(|_| FaultyWire::to(postgres.port()));
    let working = |at: usize| serving_by(&test, &server, (&wires[at].url(), HOMES[at]), true);
    let mut workers = [0, 1].map(|at| {
        let worker = working(at);
        worker.consent("worker");
        Some(worker)
    });
    let began = Instant::now();
    let (mut runs, mut kills, mut chance) = (Vec::new(), 0, seed);
    while kills < most && began.elapsed() < longest {
        while open(&front, &runs) < 6 {
            runs.push(front.run("worker", &format!("run{}", runs.len())));
        }
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = usize::from(chance >> 40 & 1 == 1);
        let Some(worker) = workers[at].take() else { continue };
        std::thread::sleep(Duration::from_millis(chance >> 33 & 1023));
        match (chance >> 48) % 8 {
            0 => {
                // The database goes away, and comes back.
                postgres.kill();
                std::thread::sleep(Duration::from_millis(chance >> 33 & 4095));
                postgres.up();
            }
            1 => wires[at].cut(),
            2 => {
                // Nothing arrives for longer than a lease, and then everything at once.
                wires[at].hold(true);
                std::thread::sleep(Duration::from_millis(2_500));
                wires[at].hold(false);
            }
            _ => {}
        }
        let (worker, killed) = fault(worker, (chance >> 53) % 5);
        kills += killed;
        // A worker that was killed is started again.
        workers[at] = Some(worker.unwrap_or_else(|| working(at)));
        answer_all(&front);
    }
    wait_until_all_ended(&front, &runs);
    judge(&test, &front, &runs);
    assert!(kills >= most.min(5), "only {kills} kills");
    eprintln!("{kills} kills of {} runs with seed {seed}: nothing was lost or doubled", runs.len());
}

/// Kills the runs of a worker, or the worker, or both, or pauses them for longer than a lease. Returns the worker if it
/// lives, and the kills.
fn fault(worker: Serving<'_>, kind: u64) -> (Option<Serving<'_>>, usize) {
    let id = worker.process();
    let children = children(id);
    let both = [&[id], &*children].concat();
    let signal = |name: &str, ids: &[u32]| {
        for id in ids {
            let _ = Command::new("kill").args([name, &id.to_string()]).status();
        }
    };
    let pause = |ids: &[u32]| {
        signal("-STOP", ids);
        std::thread::sleep(Duration::from_secs(4));
        signal("-CONT", ids);
    };
    match kind {
        0 => signal("-KILL", &children),
        1 => signal("-KILL", &[id]),
        2 => signal("-KILL", &both),
        3 => {
            pause(&children);
            return (Some(worker), 0);
        }
        _ => {
            pause(&both);
            return (Some(worker), 0);
        }
    }
    if kind == 0 {
        return (Some(worker), usize::from(!children.is_empty()));
    }
    drop(worker);
    (None, 1)
}

/// The processes that a process has started.
fn children(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")));
    let text: String = lists.map(Result::unwrap_or_default).collect();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

fn states(front: &Serving<'_>) -> BTreeMap<String, String> {
    let runs = front.get("/v1/runs?limit=500");
    let entry =
        |run: &Value| Some((run["id"].as_str()?.to_owned(), run["state"].as_str()?.to_owned()));
    runs.as_array().into_iter().flatten().filter_map(entry).collect()
}

fn open(front: &Serving<'_>, runs: &[String]) -> usize {
    let states = states(front);
    runs.iter().filter(|run| states.get(*run).is_none_or(|state| state != "done")).count()
}

/// Says no to every command that was interrupted.
fn answer_all(front: &Serving<'_>) {
    for approval in front.get("/v1/approvals").as_array().into_iter().flatten() {
        assert_eq!(approval["kind"], "unfinished", "{approval}");
        // It may have been answered meanwhile.
        front.answer(approval, &json!({ "answer": "no" }));
    }
}

fn wait_until_all_ended(front: &Serving<'_>, runs: &[String]) {
    let until = Instant::now() + Duration::from_mins(3);
    while open(front, runs) > 0 {
        assert!(Instant::now() < until, "{:?}", states(front));
        answer_all(front);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Compares the journals with what happened.
fn judge(test: &Test, front: &Serving<'_>, runs: &[String]) {
    let lines = test.read("effects");
    let mut effects = BTreeMap::new();
    for line in lines.lines() {
        *effects.entry(line.to_owned()).or_insert(0) += 1;
    }
    let doubled: Vec<_> = effects.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "doubled: {doubled:?}");
    for (number, run) in runs.iter().enumerate() {
        let events = front.get(&format!("/v1/runs/{run}/export"));
        let export = events.as_str().expect("a text");
        assert!(export.contains("Done."), "run {number}: {export}");
        for step in 0..STEPS {
            let call = format!("echo run{number}-{step} >> effects");
            let rest = export.split_once(&call).map(|(_, rest)| rest).unwrap_or_default();
            let result = rest.split("### bash").next().unwrap_or_default();
            // A command that was not started, was broken off or refused by a person may have done nothing: its result says so.
            let is_lost = result.contains("done, without output")
                && !effects.contains_key(&format!("run{number}-{step}"));
            assert!(!result.is_empty() && !is_lost, "run {number} lost {step}: {export}");
        }
    }
}
