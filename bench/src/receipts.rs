//! Measures receipts: writing one, verifying a long chain, that one changed byte is found, and loading schedules.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use agentry_home::HomeLayout;
use agentry_home::receipt::{
    DiskSync, ReceiptAgent, ReceiptBook, ReceiptDraft, ReceiptFile, ReceiptStatus, receipt_files,
    verify,
};

use crate::measure::quiet;
use crate::report::{Row, Table, seconds};

/// The receipts of the chain.
const CHAIN: u64 = 10_000;
/// The bytes that are changed one after the other.
const CHANGES: usize = 20;
/// The schedules that are loaded.
const SCHEDULES: usize = 10_000;

/// How long `serve` gets for its first look, and how long it is observed then.
const SETTLING: Duration = Duration::from_secs(5);
const IDLE: Duration = Duration::from_secs(30);

/// Writes a chain, verifies it, and changes bytes of it.
pub(crate) fn chaining(folder: &Path, table: &mut Table) -> Result<(), String> {
    let layout = HomeLayout::new(folder.join("receipts"));
    eprintln!("writing {CHAIN} receipts");
    let mut book = ReceiptBook::open_with(&layout, DiskSync::Skips).map_err(|error| error.to_string())?;
    let mut times = Vec::new();
    for number in 0..CHAIN {
        let draft = draft(&layout, number);
        let start = Instant::now();
        book.append(&[draft]).map_err(|error| error.to_string())?;
        times.push(start.elapsed());
    }
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    limit(table, "a receipt: sign, chain, write, without fsync", median, Duration::from_millis(1));
    let start = Instant::now();
    let check = verify(&layout, None).map_err(|error| error.to_string())?;
    let time = start.elapsed();
    if check.checked as u64 != CHAIN || !check.problems.is_empty() {
        return Err(format!("the chain is not whole: {:?}", check.problems.first()));
    }
    limit(table, &format!("verify {CHAIN} receipts"), time, Duration::from_secs(1));
    change_bytes(&layout, &receipt_files(&layout), table)
}

/// Changes one byte at a time, spread over the chain; each change must be found.
fn change_bytes(layout: &HomeLayout, files: &[ReceiptFile], table: &mut Table) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut found = 0;
    for number in 0..CHANGES {
        let at = number * (files.len() - 1) / (CHANGES - 1);
        let path = files.get(at).map(|file| &file.path).ok_or("no receipt")?;
        let whole = fs::read(path).map_err(failed)?;
        let mut bytes = whole.clone();
        let place = number * (bytes.len() - 1) / (CHANGES - 1);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1;
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        fs::write(path, bytes).map_err(failed)?;
        let check = verify(layout, None).map_err(|error| error.to_string())?;
        found += usize::from(!check.problems.is_empty());
        fs::write(path, whole).map_err(failed)?;
    }
    table.add(Row {
        what: format!("one byte of {CHAIN} receipts is changed"),
        measured: format!("{found} of {CHANGES} found"),
        ratio: format!("{found}/{CHANGES}"),
        target: "all".to_owned(),
        is_met: found == CHANGES,
    });
    Ok(())
}

/// Loads many schedules, and keeps them without anything to do.
pub(crate) fn scheduling(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    let workspace = folder.join("schedules");
    eprintln!("writing {SCHEDULES} schedules");
    let failed = |error: std::io::Error| error.to_string();
    for agent in 0..SCHEDULES / 100 {
        let directory = workspace.join(format!("agent-{agent}"));
        fs::create_dir_all(directory.join("schedules")).map_err(failed)?;
        fs::write(directory.join("instructions.md"), "You report.\n").map_err(failed)?;
        fs::write(directory.join("agent.acl"), "").map_err(failed)?;
        for number in 0..100 {
            // At the turn of the year, so that none fires meanwhile.
            let text = format!("---\ncron: {} {} 1 1 *\n---\n\nReport.\n", number % 60, agent % 24);
            fs::write(directory.join(format!("schedules/s{number}.md")), text).map_err(failed)?;
        }
    }
    let mut command = quiet(program, ["schedule", "list"]);
    command.current_dir(&workspace).env("AGENTRY_HOME", folder.join("home"));
    let start = Instant::now();
    let status = command.status().map_err(failed)?;
    let time = start.elapsed();
    if !status.success() {
        return Err("`schedule list` failed".to_owned());
    }
    limit(table, &format!("load {SCHEDULES} schedules"), time, Duration::from_secs(1));
    idling(program, (&workspace, &folder.join("home")), table)
}

/// Measures `serve --schedules`: until it keeps the schedules, and then its part of a core.
fn idling(program: &Path, (workspace, home): (&Path, &Path), table: &mut Table) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut command = quiet(program, ["serve", "--schedules"]);
    command.current_dir(workspace).env("AGENTRY_HOME", home).stdout(Stdio::piped());
    let start = Instant::now();
    let mut serve = command.spawn().map_err(failed)?;
    let mut lines = BufReader::new(serve.stdout.take().ok_or("no output")?).lines();
    let first = lines.next().transpose().map_err(failed)?.unwrap_or_default();
    let time = start.elapsed();
    // The pipe must not fill up.
    std::thread::spawn(move || lines.for_each(drop));
    std::thread::sleep(SETTLING);
    let before = processor_time(serve.id());
    std::thread::sleep(IDLE);
    let after = processor_time(serve.id());
    serve.kill().and_then(|()| serve.wait()).map_err(failed)?;
    if !first.contains("keeping") {
        return Err(format!("`serve --schedules` does not keep them: {first}"));
    }
    limit(table, &format!("serve keeps {SCHEDULES} schedules"), time, Duration::from_secs(1));
    let used = after.zip(before).map(|(after, before)| after.saturating_sub(before));
    let part = used.ok_or("`/proc` is not there")?.as_secs_f64() / IDLE.as_secs_f64();
    table.add(Row {
        what: format!("serve with {SCHEDULES} schedules and nothing to do"),
        measured: format!("{:.2} % of a core", part * 100.0),
        ratio: format!("{part:.4}"),
        target: "< 1 %".to_owned(),
        is_met: part < 0.01,
    });
    Ok(())
}

/// The processor time of a process: `/proc` counts it in hundredths of a second.
fn processor_time(process: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may have spaces.
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
}

fn limit(table: &mut Table, what: &str, time: Duration, most: Duration) {
    table.add(Row {
        what: what.to_owned(),
        measured: seconds(time),
        ratio: seconds(time),
        target: format!("< {}", seconds(most)),
        is_met: time < most,
    });
}

fn draft(layout: &HomeLayout, number: u64) -> ReceiptDraft {
    ReceiptDraft {
        run: format!("20261115-150033-482-{number:08}"),
        agent: ReceiptAgent::new(layout, "/w/writer", "writer", "sha256:00"),
        user: "someone".to_owned(),
        workspace: "/w".to_owned(),
        input: Some("write the report of yesterday".to_owned()),
        output: Some("The report is in out.txt.".to_owned()),
        status: ReceiptStatus::Completed,
        auto_completed: true,
        started: 1_794_754_833_482 + number,
        ended: 1_794_754_833_482 + number * 1_000,
        ..ReceiptDraft::default()
    }
}
