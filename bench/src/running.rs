//! Measures runs of agents, compared with the real clients on the same model.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::report::{Row, Table, bytes, seconds};
use crate::targets::ratio;

/// The time limit of a step of the loop.
const STEP: Duration = Duration::from_millis(1);

/// The result of one program.
struct Runner {
    name: String,
    first: Duration,
    whole: Duration,
    memory: u64,
    /// The time of a step of a replayed run, where it can be measured.
    step: Option<Duration>,
}

/// Agentry compared with the best of the clients.
pub(crate) fn racing(table: &mut Table) -> Result<(), String> {
    eprintln!("racing the clients");
    let build = "build --profile dist --quiet --package agentry --package agentry-conformance";
    // Built together, so that both programs lie in one directory.
    run(Command::new("cargo").args(build.split(' ')))?;
    let arguments = "run --profile dist --quiet --package agentry-conformance -- race";
    let mut race = Command::new("cargo");
    let output = race.args(arguments.split(' ')).stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("the race cannot be started: {error}"))?;
    // The exit code of the suite for «no client could be tested».
    if output.status.code() == Some(3) {
        table.skip("a run against the clients".to_owned(), "no client could be had".to_owned());
        return Ok(());
    }
    if !output.status.success() {
        return Err(format!("the race ended with {}", output.status));
    }
    let runners: Vec<Runner> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(runner).collect();
    let (ours, rivals): (Vec<_>, Vec<_>) =
        runners.into_iter().partition(|runner| runner.name == "agentry");
    let ours = ours.first().ok_or("Agentry did not run")?;
    compare(ours, &rivals, table)
}

fn compare(ours: &Runner, rivals: &[Runner], table: &mut Table) -> Result<(), String> {
    let first = rivals.iter().min_by_key(|rival| rival.first).ok_or("nobody else ran")?;
    let whole = rivals.iter().min_by_key(|rival| rival.whole).ok_or("nobody else ran")?;
    let least = rivals.iter().min_by_key(|rival| rival.memory).ok_or("nobody else ran")?;
    let what = "time to the first request / best client".to_owned();
    table.add(ratio(what, ours.first, first.first, &first.name, 1.0 / 10.0));
    let what = "50 confined calls, journal synced / best client".to_owned();
    table.add(ratio(what, ours.whole, whole.whole, &whole.name, 1.0 / 2.0));
    table.add(Row {
        what: "memory of all processes / best client".to_owned(),
        measured: format!("{} to {} of {}", bytes(ours.memory), bytes(least.memory), least.name),
        ratio: format!("1/{}", least.memory / ours.memory.max(1)),
        target: "≤ 1/5".to_owned(),
        is_met: ours.memory * 5 <= least.memory,
    });
    if let Some(step) = ours.step {
        table.add(limit("a step of the loop, nothing synced", step, STEP));
    }
    for rival in rivals {
        let Runner { name, first, whole, memory, .. } = rival;
        let (first, whole, memory) = (seconds(*first), seconds(*whole), bytes(*memory));
        table.note(format!("{name}: first request {first}, 50 calls {whole}, {memory}"));
    }
    Ok(())
}

fn runner(line: &str) -> Option<Runner> {
    let value: Value = serde_json::from_str(line).ok()?;
    let time = |name: &str| value.get(name)?.as_f64().map(Duration::from_secs_f64);
    Some(Runner {
        name: value.get("name")?.as_str()?.to_owned(),
        first: time("first_request_s")?,
        whole: time("whole_s")?,
        memory: value.get("memory_bytes")?.as_u64()?,
        step: time("step_s"),
    })
}

/// A row with an absolute limit.
pub(crate) fn limit(what: &str, time: Duration, most: Duration) -> Row {
    Row {
        what: what.to_owned(),
        measured: seconds(time),
        ratio: String::new(),
        target: format!("< {}", seconds(most)),
        is_met: time < most,
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("`{name}` cannot be started: {error}")),
    }
}
