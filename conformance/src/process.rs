//! Runs a client with a clean environment, a limit on time and output, and ends every process that it
//! started.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The size limit of each stream; the rest is read and dropped.
const MOST_OUTPUT: u64 = 16 << 20;
/// How long the streams of a finished process may stay open in its background processes.
const LINGER: Duration = Duration::from_secs(2);

/// The result of a process.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
    /// Its exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Whether it was ended by the time limit.
    pub(crate) timed_out: bool,
    /// How long it ran.
    pub(crate) time: Duration,
}

/// Runs a program in its own process group and ends the whole group at the time limit.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Finished, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let streams = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        streams.process_group(0).spawn().map_err(|error| format!("`{name}`: {error}"))?;
    let group = Pid::from_child(&child);
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let ended = wait(child);
    let code = ended.recv_timeout(limit);
    // Also after a normal end: background processes must not outlive the client.
    let _ = kill_process_group(group, Signal::KILL);
    // A process that left the group may still hold the pipe.
    let text = |stream: Receiver<String>| stream.recv_timeout(LINGER).unwrap_or_default();
    Ok(Finished {
        stdout: text(stdout),
        stderr: text(stderr),
        code: code.unwrap_or_default(),
        timed_out: code.is_err(),
        time: start.elapsed(),
    })
}

fn wait(mut child: Child) -> Receiver<Option<i32>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let code = child.wait().ok().and_then(|status| status.code());
        let _ = send.send(code);
    });
    receive
}

fn collect(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes);
            // A full pipe would block the client.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn output_and_exit_code_are_kept() {
        let done = run(&mut shell("echo out; echo err >&2; exit 3"), Duration::from_secs(10));
        let done = done.expect("a shell");
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!((done.code, done.timed_out), (Some(3), false));
    }

    #[test]
    fn a_process_that_does_not_end_is_ended_with_its_children() {
        let limit = Duration::from_millis(200);
        let done = run(&mut shell("echo begun; sleep 60 & sleep 60"), limit).expect("a shell");
        assert_eq!((done.stdout.as_str(), done.timed_out), ("begun\n", true));
        assert!(done.time < Duration::from_secs(10), "{:?}", done.time);
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program"), Duration::from_secs(1));
        assert!(error.expect_err("no such program").contains("`no-such-program`"));
    }
}
