//! Measures how soon a run starts, how long it takes and how much memory it needs: Agentry beside the real
//! clients, each with the same calls against the same model.
//!
//! Every run makes [`CALLS`] shell calls, one in each turn. Each row is the median of [`ROUNDS`] rounds in
//! which the programs alternate. Memory is measured in a separate round, since sampling takes time.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::Client;
use crate::clients::{Action, Driver, Role, Start};
use crate::install::{self, Installed};
use crate::process;
use crate::scratch::Scratch;
use crate::script::{Call, Script};
use crate::server::Server;
use crate::suite::{End, House};

/// The number of calls of one run.
const CALLS: usize = 50;
/// The number of calls of the replayed run.
const STEPS: usize = 500;
/// The number of rounds that count.
const ROUNDS: usize = 5;
/// The time limit of a run.
const LIMIT: Duration = Duration::from_mins(2);
/// The clients that are measured beside Agentry.
const RIVALS: [Client; 3] = [Client::OpenCode, Client::ClaudeCode, Client::Pi];
/// The sampling interval of memory.
const LOOK: Duration = Duration::from_millis(4);

/// A measured program.
enum Racer<'a> {
    Agentry(&'a Path),
    Rival(Installed),
}

/// The measurements of one run.
#[derive(Debug, Clone, Copy)]
struct Lap {
    /// The time until the first request to the model.
    first: Duration,
    /// The total time.
    whole: Duration,
    /// The peak memory of all its processes together, in bytes.
    memory: u64,
}

/// Measures all available programs and prints a line of JSON for each.
pub(crate) fn run(house: &House) -> Result<End, String> {
    let mut racers = vec![Racer::Agentry(&house.agentry)];
    for client in RIVALS {
        match install::install(client, &house.target) {
            Ok(installed) => racers.push(Racer::Rival(installed)),
            Err(why) => eprintln!("SKIPPED {}: {why}", client.name()),
        }
    }
    if racers.len() == 1 {
        return Ok(End::Skipped);
    }
    let root = house.target.join("conformance/race");
    let mut laps: Vec<Vec<Lap>> = racers.iter().map(|_| Vec::new()).collect();
    for round in 0..=ROUNDS + 1 {
        for (racer, laps) in racers.iter().zip(&mut laps) {
            let looks = round > ROUNDS;
            let lap = racer.lap(&root.join(racer.name()), looks)?;
            // The first round fills the caches.
            if round > 0 {
                laps.push(lap);
            }
        }
    }
    let step = replayed(&house.agentry, &root.join("replayed"))?;
    for (racer, laps) in racers.iter().zip(&laps) {
        let step = matches!(racer, Racer::Agentry(_)).then_some(step);
        print(racer.name(), laps, step);
    }
    Ok(End::Well)
}

/// The time of a step without the model, the disk and the commands: a run with many steps is recorded,
/// and its replay is compared with one of no steps.
fn replayed(program: &Path, root: &Path) -> Result<Duration, String> {
    let scratch = Scratch::new(root)?;
    let racer = Racer::Agentry(program);
    let mut times = Vec::new();
    for steps in [0, STEPS] {
        let call = Call::new("bash", json!({ "command": "echo a-step" }));
        let script = Script::new("main", vec![call; steps]);
        let server = Server::start(vec![script], &scratch.log())?;
        let cassette = scratch.project().join(format!("{steps}.jsonl"));
        let mut command = racer.command(&scratch, &server.address())?;
        let recorded = process::run(command.arg("--record").arg(&cassette), LIMIT)?;
        server.finish();
        if recorded.code != Some(0) {
            return Err(format!("nothing was recorded: {}", recorded.stderr.trim()));
        }
        let mut laps = Vec::new();
        for _ in 0..ROUNDS {
            // Nothing listens there: a replay must not send a request.
            let mut command = racer.command(&scratch, "http://127.0.0.1:9")?;
            let played = process::run(command.arg("--replay").arg(&cassette), LIMIT)?;
            if played.code != Some(0) {
                return Err(format!("the cassette does not play: {}", played.stderr.trim()));
            }
            laps.push(played.time);
        }
        laps.sort();
        times.push(laps.get(ROUNDS / 2).copied().unwrap_or_default());
    }
    let (none, all) = (times.first().copied(), times.last().copied());
    let more = all.unwrap_or_default().saturating_sub(none.unwrap_or_default());
    Ok(more / u32::try_from(STEPS).unwrap_or(u32::MAX))
}

fn print(name: &str, laps: &[Lap], step: Option<Duration>) {
    let middle = |of: fn(&Lap) -> Duration| {
        let mut times: Vec<Duration> = laps.iter().take(ROUNDS).map(of).collect();
        times.sort();
        times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64)
    };
    // The last round is the one in which memory is sampled.
    let memory = laps.last().map_or(0, |lap| lap.memory);
    let row = json!({
        "name": name, "calls": CALLS, "first_request_s": middle(|lap| lap.first),
        "whole_s": middle(|lap| lap.whole), "memory_bytes": memory,
        "step_s": step.map(|step| step.as_secs_f64()),
    });
    println!("{row}");
}

impl Racer<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Agentry(_) => "agentry",
            Self::Rival(installed) => installed.client.name(),
        }
    }

    /// One run in its own project.
    fn lap(&self, root: &Path, looks: bool) -> Result<Lap, String> {
        let scratch = Scratch::new(root)?;
        let action = Action::Bash("echo a-step".to_owned());
        let call = self.call(&action, &scratch).ok_or("there is no shell")?;
        let server = Server::start(vec![Script::new("main", vec![call; CALLS])], &scratch.log())?;
        let mut command = self.command(&scratch, &server.address())?;
        let start = Instant::now();
        let (finished, memory) = watched(&mut command, looks)?;
        let record = server.finish();
        let asked = record.exchanges.iter().filter(|it| it.script.is_some());
        let first = asked.clone().map(|it| it.at).min().ok_or_else(|| {
            format!("{} never asked its model: {}", self.name(), finished.stderr.trim())
        })?;
        let steps = asked.map(|it| it.step).max().unwrap_or(0);
        if steps != CALLS {
            return Err(format!("{} made {steps} of {CALLS} calls: {finished:?}", self.name()));
        }
        Ok(Lap { first: first.duration_since(start), whole: finished.time, memory })
    }

    fn call(&self, action: &Action, scratch: &Scratch) -> Option<Call> {
        match (self, action) {
            (Self::Rival(installed), _) => {
                installed.client.driver().call(action, scratch, Role::Main)
            }
            (Self::Agentry(_), Action::Bash(line)) => {
                Some(Call::new("bash", json!({ "command": line })))
            }
            (Self::Agentry(_), _) => None,
        }
    }

    fn command(&self, scratch: &Scratch, model: &str) -> Result<Command, String> {
        let prompt = Script::new("main", Vec::new()).cue();
        match self {
            Self::Rival(installed) => {
                let start = Start { installed, scratch, model, agent: None, prompt: &prompt };
                let driver: &dyn Driver = installed.client.driver();
                driver.prepare(&start)?;
                Ok(driver.unlimited(&start))
            }
            Self::Agentry(program) => {
                scratch.write_project("racer/agent.toml", AGENT)?;
                scratch.write_project("racer/system-prompt.md", "Do what you are told.\n")?;
                let mut command = scratch.command(program);
                command.env("OPENAI_BASE_URL", format!("{model}/v1"));
                command.env("OPENAI_API_KEY", "none");
                command.args(["run", "racer", &prompt, "--model", "openai/gpt-5.2"]);
                command.args(["--yes", "--format", "json"]);
                Ok(command)
            }
        }
    }
}

const AGENT: &str = "\
name = \"racer\"
description = \"Runs commands\"
max_turns = 1000

[permissions.bash]
intent = \"deny\"
rules = [\"echo *:allow\"]
";

/// Runs a program; with `looks`, also returns the peak memory of it and all its descendants together.
fn watched(command: &mut Command, looks: bool) -> Result<(process::Finished, u64), String> {
    if !looks {
        return Ok((process::run(command, LIMIT)?, 0));
    }
    let own = std::process::id();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                most = most.max(memory_below(own));
                thread::sleep(LOOK);
            }
            most
        });
        let finished = process::run(command, LIMIT);
        is_over.store(true, Ordering::Relaxed);
        let most = watch.join().map_err(|_| "memory could not be looked at".to_owned())?;
        Ok((finished?, most))
    })
}

/// The memory of every process below `parent`, in bytes; shared pages count once for each process.
fn memory_below(parent: u32) -> u64 {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let processes: Vec<(u32, u32, u64)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|id: u32| stat(id).map(|(above, pages)| (id, above, pages)))
        .collect();
    let mut below = vec![parent];
    let mut pages = 0;
    while let Some(above) = below.pop() {
        for (id, _, held) in processes.iter().filter(|it| it.1 == above) {
            below.push(*id);
            pages += held;
        }
    }
    pages * rustix::param::page_size() as u64
}

/// The parent of a process and the number of its pages.
fn stat(id: u32) -> Option<(u32, u64)> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The process name in parentheses may contain any character.
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(21)?.parse().ok()?))
}
