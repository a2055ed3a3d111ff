//! Runs programs and measures their time and memory.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// The argument with which this program starts itself to run another one and report its memory.
pub(crate) const CHILD: &str = "--child";

/// A program with its arguments, silent and without input.
pub(crate) fn quiet<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The medians of `rounds` runs of each command. The commands alternate, so that a busy moment of the
/// machine affects all of them.
pub(crate) fn medians<const N: usize>(
    rounds: usize,
    mut commands: [Command; N],
) -> Result<[Duration; N], String> {
    let mut times = [const { Vec::new() }; N];
    // The first run of each fills the caches and does not count.
    for round in 0..=rounds {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            let time = time(command)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times.map(median))
}

/// The times of `rounds` runs, shortest first.
pub(crate) fn times(
    rounds: usize,
    mut command: impl FnMut() -> Result<Command, String>,
) -> Result<Vec<Duration>, String> {
    // The first run fills the caches and does not count.
    time(&mut command()?)?;
    let mut times = (0..rounds).map(|_| time(&mut command()?)).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    Ok(times)
}

fn time(command: &mut Command) -> Result<Duration, String> {
    let start = Instant::now();
    let status = command.status();
    let time = start.elapsed();
    let name = command.get_program().to_string_lossy();
    match status {
        Ok(status) if status.success() => Ok(time),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("`{name}` cannot be started: {error}")),
    }
}

/// The processor time of one run, without waiting.
pub(crate) fn processor_time(command: &mut Command) -> Result<Duration, String> {
    let before = of_children()?;
    time(command)?;
    Ok(of_children()?.saturating_sub(before))
}

fn of_children() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    let [user, system] = [usage.user_time(), usage.system_time()]
        .map(|time| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0)));
    Ok(user + system)
}

/// The median.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The peak memory of `agentry check` on `dir`, in bytes.
pub(crate) fn peak_memory(program: &Path, dir: &Path) -> Result<u64, String> {
    let own = std::env::current_exe().map_err(|error| format!("who am I: {error}"))?;
    let mut command = Command::new(own);
    command.arg(CHILD).arg(program).arg("check").arg(dir);
    let output = command.output().map_err(|error| format!("cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("no number of bytes: `{}`", text.trim()))
}

/// Runs one program and prints its peak memory. In its own process, because the system reports only the
/// maximum over all children so far.
pub(crate) fn child(program: &str, arguments: &[&str]) -> Result<bool, String> {
    time(&mut quiet(program, arguments))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    // macOS reports bytes, Linux kibibytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    println!("{}", usage.max_rss() * unit);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let cases = [(&[][..], 0), (&[7], 7), (&[9, 1, 5], 5), (&[1000, 3, 2, 1], 3)];
        for (times, expected) in cases {
            let times = times.iter().copied().map(Duration::from_millis).collect();
            assert_eq!(median(times), Duration::from_millis(expected), "{expected}");
        }
    }
}
