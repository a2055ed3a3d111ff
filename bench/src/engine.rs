//! Measures runs that several servers share by a Postgres database: what an event costs beside a bare insertion with the
//! same durability, and how many runs end in a second with one, two and four workers.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use agentry_engine::PostgresEngine;
use agentry_runtime::engine::{ClaimFilter, EngineRow, LEASE_TIME, QueuedRun, SharedEngine as _};
use serde_json::{Value, json};

use crate::measure::median;
use crate::postgres_server::TestPostgres;
use crate::report::{Row, Table, seconds};
use crate::serving::{AGENT, Model, QUICK, ServeProcess, command};

/// The measured events, and their size.
const EVENTS: u64 = 500;
const EVENT_BYTES: usize = 1024;
/// How much more than a bare insertion an event may cost.
const MOST: f64 = 2.0;
/// The runs that are queued for each number of workers.
const RUNS: usize = 24;
const WAIT: Duration = Duration::from_secs(300);

/// Measures an engine. Without Postgres nothing is measured, and the reason is shown.
pub(crate) fn measuring(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    let Some(postgres) = TestPostgres::start() else {
        table.skip("runs on an engine".to_owned(), "there is no Postgres".to_owned());
        return Ok(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(events(&postgres, table))?;
    workers(program, &folder.join("engine"), &postgres, table)
}

/// An event of an engine and a bare insertion in turn, so that a busy moment of the disk affects both.
async fn events(postgres: &TestPostgres, table: &mut Table) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("no engine: {error}");
    PostgresEngine::migrate(&postgres.url()).await.map_err(|it| failed(&it))?;
    let engine = PostgresEngine::open(&postgres.url()).await.map_err(|it| failed(&it))?;
    let queued = QueuedRun { id: "bench".to_owned(), ..QueuedRun::default() };
    engine.create(&queued).await.map_err(|it| failed(&it))?;
    let claim = ClaimFilter::Run(queued.id);
    let claimed = engine.claim("bench", &claim, LEASE_TIME).await.map_err(|it| failed(&it))?;
    let lease = claimed.ok_or("nothing was claimed")?.lease;
    let (client, connection) = tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls)
        .await
        .map_err(|it| failed(&it))?;
    tokio::spawn(connection);
    let made = "CREATE TABLE bare (run text, seq bigint, data text, PRIMARY KEY (run, seq))";
    client.batch_execute(made).await.map_err(|it| failed(&it))?;
    let insert = "INSERT INTO bare VALUES ($1, $2, $3)";
    let insert = client.prepare(insert).await.map_err(|it| failed(&it))?;
    let (mut bare, mut events) = (Vec::new(), Vec::new());
    let data = format!("{{\"text\":\"{}\"}}", "x".repeat(EVENT_BYTES));
    for number in 0..EVENTS {
        let start = Instant::now();
        let at = i64::try_from(number).unwrap_or(0);
        client.execute(&insert, &[&"bench", &at, &data]).await.map_err(|it| failed(&it))?;
        bare.push(start.elapsed());
        let (id, kind) = (format!("{number:032}"), "said".to_owned());
        let row = EngineRow { id, at: number, kind, data: data.clone() };
        let start = Instant::now();
        engine.append(&lease, number, &[row], true).await.map_err(|it| failed(&it))?;
        events.push(start.elapsed());
    }
    let (bare, event) = (median(bare), median(events));
    let ratio = event.as_secs_f64() / bare.as_secs_f64().max(f64::EPSILON);
    table.add(Row {
        what: "a durable event of 1 KiB on Postgres, and a bare insertion".to_owned(),
        measured: format!("{} and {}", seconds(event), seconds(bare)),
        ratio: format!("{ratio:.2}"),
        target: format!("≤ {MOST:.2}"),
        is_met: ratio <= MOST,
    });
    Ok(())
}

/// The runs that end in a second, with a model that answers after 50 ms.
fn workers(
    program: &Path,
    folder: &Path,
    postgres: &TestPostgres,
    table: &mut Table,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("no workers to measure: {error}");
    fs::create_dir_all(folder.join("writer")).map_err(failed)?;
    fs::create_dir_all(folder.join(".git")).map_err(failed)?;
    fs::write(folder.join("writer/agent.toml"), AGENT).map_err(failed)?;
    fs::write(folder.join("writer/system-prompt.md"), "You write.\n").map_err(failed)?;
    let model = Model::start()?;
    let start = |home: &str, options: &[&str]| {
        let mut command = command(program, folder, &model);
        let home = folder.join(home);
        command.env("AGENTRY_HOME", &home).env("AGENTRY_ENGINE", postgres.url());
        command.args(["serve", "--listen", "127.0.0.1:0", "--label", "bench"]).args(options);
        ServeProcess::of(command.arg("writer"), &home)
    };
    let front = start("front", &[])?;
    front.consent()?;
    let mut rates: Vec<f64> = Vec::new();
    let mut running = Vec::new();
    for count in [1, 2, 4] {
        eprintln!("{RUNS} runs with {count} workers");
        while running.len() < count {
            let home = format!("worker-{}", running.len());
            let worker = start(&home, &["--worker", "--at-once", "1"])?;
            worker.consent()?;
            running.push(worker);
        }
        // The list of agents that a worker can take is a few seconds old.
        let begin = front.start_run(QUICK)?;
        wait(&front, &[begin])?;
        let started = Instant::now();
        let runs = (0..RUNS).map(|_| front.start_run(QUICK)).collect::<Result<Vec<_>, _>>()?;
        wait(&front, &runs)?;
        #[expect(clippy::cast_precision_loss, reason = "a few runs")]
        rates.push(RUNS as f64 / started.elapsed().as_secs_f64());
    }
    let shown: Vec<String> = rates.iter().map(|rate| format!("{rate:.1}")).collect();
    let grows = rates.windows(2).all(|pair| pair[1] > pair[0]);
    table.add(Row {
        what: "runs in a second with 1, 2 and 4 workers, one run each at a time".to_owned(),
        measured: shown.join(", "),
        ratio: format!("{:.2}", rates[2] / rates[0].max(f64::EPSILON)),
        target: "grows".to_owned(),
        is_met: grows,
    });
    Ok(())
}

/// Waits until runs are done.
fn wait(front: &ServeProcess, runs: &[String]) -> Result<(), String> {
    let until = Instant::now() + WAIT;
    while Instant::now() < until {
        let listed = front.request("GET", "/v1/runs?limit=500", &Value::Null)?;
        let listed = listed.as_array().cloned().unwrap_or_default();
        let is_done = |id: &String| {
            listed.iter().any(|run| run["id"] == json!(id) && run["state"] == json!("done"))
        };
        if runs.iter().all(is_done) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err("the runs do not end".to_owned())
}
