//! Running agents: against the real clients on the same model, and a confined command against a bare
//! one.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use agentry_sandbox::{BackEnd, Command as Confined, Confinement, Limits, Network, Sandbox};
use serde_json::Value;

use crate::measure::median;
use crate::report::{Row, Table, bytes, seconds};
use crate::targets::ratio;

/// Commands of each kind that are timed.
const COMMANDS: usize = 200;
/// A program that does nothing.
const NOTHING: &str = "/bin/true";
/// The longest a confined command may take beside namespaces.
const CONFINED: Duration = Duration::from_millis(10);
/// The longest a step of the loop may take.
const STEP: Duration = Duration::from_millis(1);

/// One line of the race.
struct Runner {
    name: String,
    first: Duration,
    whole: Duration,
    memory: u64,
    /// A step of a replayed run, where there is one.
    step: Option<Duration>,
}

/// Agentry against the best of the clients.
pub(crate) fn racing(table: &mut Table) -> Result<(), String> {
    eprintln!("racing the clients");
    let build = "build --release --quiet --package agentry --package agentry-conformance";
    run(Command::new("cargo").args(build.split(' ')))?;
    let arguments = "run --release --quiet --package agentry-conformance -- race";
    let mut race = Command::new("cargo");
    let output = race.args(arguments.split(' ')).stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| format!("the race cannot be started: {error}"))?;
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

/// A command in the sandbox of a run, against the same command without.
pub(crate) fn confining(table: &mut Table) -> Result<(), String> {
    eprintln!("confining commands");
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let support = agentry_sandbox::support(&own);
    let bare = median((0..COMMANDS).map(|_| bare()).collect::<Result<_, _>>()?);
    match &support.namespaces {
        Ok(()) => {
            let time = confined(&own, BackEnd::Namespaces)?;
            table.add(limit("a confined command, namespaces", time, CONFINED));
        }
        Err(why) => table.skip("a confined command, namespaces".to_owned(), why.clone()),
    }
    match support.without_landlock(&confinement()) {
        None => {
            let time = confined(&own, BackEnd::Landlock)?;
            let what = "a confined command, Landlock / bare".to_owned();
            table.add(ratio(what, time, bare, NOTHING, 2.0));
        }
        Some(why) => table.skip("a confined command, Landlock / bare".to_owned(), why),
    }
    Ok(())
}

fn limit(what: &str, time: Duration, most: Duration) -> Row {
    Row {
        what: what.to_owned(),
        measured: seconds(time),
        ratio: String::new(),
        target: format!("< {}", seconds(most)),
        is_met: time < most,
    }
}

/// Everything may be read, nothing written, nobody reached: what both back ends can do.
fn confinement() -> Confinement {
    Confinement {
        reads: vec![PathBuf::from("/")],
        writes: Vec::new(),
        read_only: Vec::new(),
        hidden: Vec::new(),
        private: Vec::new(),
        network: Network::Off,
        limits: Limits::default(),
    }
}

fn bare() -> Result<Duration, String> {
    let start = Instant::now();
    run(&mut Command::new(NOTHING))?;
    Ok(start.elapsed())
}

/// The time of one command in a sandbox that has started already, as in a run.
fn confined(own: &Path, back_end: BackEnd) -> Result<Duration, String> {
    let sandbox = Sandbox::start(own, back_end, confinement(), None);
    let sandbox = sandbox.map_err(|error| error.to_string())?;
    let nothing = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
    let one = || -> Result<Duration, String> {
        let stream = || nothing().map_err(|error| error.to_string());
        let command = Confined {
            argv: vec![NOTHING.to_owned()],
            directory: PathBuf::from("/"),
            env: Vec::new(),
            input: stream()?,
            output: stream()?,
            errors: stream()?,
        };
        let start = Instant::now();
        let running = sandbox.run(command).map_err(|error| error.to_string())?;
        let ended = running.wait().map_err(|error| error.to_string())?;
        match ended.code {
            Some(0) => Ok(start.elapsed()),
            code => Err(format!("`{NOTHING}` ended with {code:?} in the sandbox")),
        }
    };
    Ok(median((0..COMMANDS).map(|_| one()).collect::<Result<_, _>>()?))
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("`{name}` cannot be started: {error}")),
    }
}
