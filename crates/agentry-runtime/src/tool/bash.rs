//! `bash`: runs a command line in the sandbox of the run. The working directory is kept for the next call.
//!
//! Standard output and errors share one pipe, in their order. A second pipe reports the directory of the
//! shell at its end. A command could write another directory there, but later calls are judged in the
//! directory where they run.

use agentry_posix::fd::OwnedFd;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use agentry_compile::policy::Section;
use agentry_posix::pipe::Receiver;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;

use super::{
    BoxedFuture, BuiltInTool, CallLocation, CommandStreams, StartedCommand, ToolHost, ToolOutput,
    ToolSpec, ToolTouch, arguments, output_cap,
};
use crate::event::{CallClass, CallJudgement};

/// The time limit of a command if the call has none, in seconds.
const TIME: u64 = 120;
/// The longest time limit, in seconds.
const MOST_TIME: u64 = 3_600;
/// The most bytes that are kept from the start of the output.
const MOST_KEPT: usize = 8 << 20;
/// The bytes that are also kept from the end of a longer output.
const TAIL: usize = 64 << 10;
/// More than any pipe can buffer.
const MOST_IN_PIPE: usize = 4 << 20;
/// The most bytes of an incomplete line that are held back from display.
const MOST_HELD: usize = 64 << 10;
/// The most bytes of a command line.
const MOST_OF_COMMAND: usize = 100_000;
/// Reports the directory of the shell at its end, through the original standard error. It is one line, so
/// that line numbers in error messages are off by one only.
const PRELUDE: &str = "exec 19>&2 2>&1; trap 'pwd -P >&19' EXIT\n";

/// Runs command lines.
pub(super) struct BashTool;

#[derive(Deserialize)]
struct BashInput {
    command: String,
    timeout: Option<u64>,
}

impl BuiltInTool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "bash".to_owned(),
            description: format!(
                "Runs a command line in bash, confined to what the agent may do. The working \
                 directory stays for the next call; variables do not. There is no input. After \
                 `timeout` seconds ({TIME} unless given) it is ended with all that it started."
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "minLength": 1, "maxLength": MOST_OF_COMMAND},
                    "timeout": {"type": "integer", "minimum": 1, "maximum": MOST_TIME, "description": "Seconds"}
                },
                "required": ["command"],
                "additionalProperties": false
            }),
        }
    }

    /// The effects of a command are not known.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::External
    }

    fn touches(&self, given: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let BashInput { command, .. } = arguments(given)?;
        if command.contains('\0') {
            return Err("the command holds a NUL".to_owned());
        }
        Ok(vec![touch(command)])
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            match bash(&arguments, host).await {
                Ok(output) => output,
                Err(why) => ToolOutput::failed(why),
            }
        })
    }
}

fn touch(command: String) -> ToolTouch {
    ToolTouch { section: Section::Bash, subject: command }
}

async fn bash(given: &Value, host: &dyn ToolHost) -> Result<ToolOutput, String> {
    let BashInput { command, timeout } = arguments(given)?;
    super::permit(host, &touch(command.clone()))?;
    still_there(host)?;
    let time = Duration::from_secs(timeout.unwrap_or(TIME).min(MOST_TIME));
    let not_started = |error: io::Error| format!("the command was not started: {error}");
    let mut pipes = BashPipes::start(&command, host).map_err(not_started)?;
    let ended = pipes.follow(host, Instant::now() + time).await;
    if let Some(directory) = pipes.directory() {
        moved(host, directory);
    }
    let text = output_cap::kept(&pipes.kept.text(), host) + &settled(host);
    let failure_text =
        |what: String| if text.is_empty() { what } else { format!("{text}\n[{what}]") };
    Ok(match ended {
        BashOutcome::Code(Some(0)) if text.is_empty() => ToolOutput::done("done, without output"),
        BashOutcome::Code(Some(0)) => ToolOutput::done(text),
        BashOutcome::Code(Some(code)) => {
            ToolOutput::failed(failure_text(format!("exit code {code}")))
        }
        BashOutcome::Code(None) => ToolOutput::failed(failure_text("a signal ended it".to_owned())),
        BashOutcome::TimeOut => {
            let time = time.as_secs();
            ToolOutput::failed(failure_text(format!("ended after {time} s; `timeout` was reached")))
        }
        BashOutcome::Lost(error) => {
            ToolOutput::failed(failure_text(format!("it did not come to its end: {error}")))
        }
    })
}

/// Returns the reports about what the command must not have created.
fn settled(host: &dyn ToolHost) -> String {
    host.settle().iter().fold(String::new(), |text, line| text + "\n[" + line + "]")
}

/// Fails if the working directory was removed, and moves back to the workspace. The command does not run
/// there, because it was judged for the old directory.
fn still_there(host: &dyn ToolHost) -> Result<(), String> {
    let CallLocation { directory, workspace, .. } = host.place();
    if directory.is_dir() {
        return Ok(());
    }
    host.move_to(workspace.clone());
    Err(format!(
        "not run: the working directory `{}` is gone; it is `{}` now",
        directory.display(),
        workspace.display()
    ))
}

/// Makes later calls start in the directory of the shell, unless the policy denies it.
fn moved(host: &dyn ToolHost, directory: PathBuf) {
    let touch = super::files::touch(Section::ExternalDirectory, &directory);
    let place = host.place();
    let inside = directory.starts_with(&place.workspace);
    if directory.is_dir() && (inside || host.judge(&touch).0 != CallJudgement::Deny) {
        host.move_to(directory);
    }
}

/// How a command ended.
enum BashOutcome {
    Code(Option<i32>),
    TimeOut,
    Lost(io::Error),
}

/// A running command and its output.
struct BashPipes {
    output: Receiver,
    place: Receiver,
    started: Option<StartedCommand>,
    kept: CappedOutput,
}

impl BashPipes {
    fn start(command: &str, host: &dyn ToolHost) -> io::Result<Self> {
        let (output, output_end) = io::pipe()?;
        let (place, place_end) = io::pipe()?;
        let streams = CommandStreams {
            input: OwnedFd::from(std::fs::File::open(agentry_posix::NULL_DEVICE)?),
            output: OwnedFd::from(output_end),
            errors: OwnedFd::from(place_end),
        };
        // The prelude moves standard error to the output pipe and keeps the original for the directory.
        let argv = ["bash", "-c", &format!("{PRELUDE}{command}")].map(str::to_owned).to_vec();
        let started = host.start(argv, host.place().directory, streams)?;
        Ok(Self {
            output: Receiver::from_owned_fd(output.into())?,
            place: Receiver::from_owned_fd(place.into())?,
            started: Some(started),
            kept: CappedOutput::default(),
        })
    }

    /// Reads and shows the output until the command has ended. Processes that it left running are killed.
    async fn follow(&mut self, host: &dyn ToolHost, until: Instant) -> BashOutcome {
        let Some(StartedCommand { mut ended, guard }) = self.started.take() else {
            return BashOutcome::Code(None);
        };
        let mut shown = LineDisplay::default();
        let mut buffer = vec![0; 16 << 10];
        let mut open = true;
        let how = loop {
            tokio::select! {
                read = self.output.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(length) => self.take(buffer.get(..length).unwrap_or_default(), &mut shown, host),
                },
                code = &mut ended => break code.map_or_else(BashOutcome::Lost, BashOutcome::Code),
                () = tokio::time::sleep_until(until) => break BashOutcome::TimeOut,
            }
        };
        // Before the pipe is drained: a process that still runs could write for ever.
        drop(guard);
        // Output from before the end may still be in the pipe, even if the reactor has not reported it.
        let mut drained = 0;
        while let Ok(length) = agentry_posix::io::read(&self.output, &mut buffer) {
            drained += length;
            if length == 0 || drained > MOST_IN_PIPE {
                break;
            }
            self.take(buffer.get(..length).unwrap_or_default(), &mut shown, host);
        }
        show(&shown.rest(), host);
        how
    }

    fn take(&mut self, piece: &[u8], shown: &mut LineDisplay, host: &dyn ToolHost) {
        self.kept.take(piece);
        show(&shown.take(piece), host);
    }

    /// Returns the directory of the shell at its end, if it was reported.
    fn directory(&self) -> Option<PathBuf> {
        let mut buffer = [0; 8 << 10];
        let length = agentry_posix::io::read(&self.place, &mut buffer).ok()?;
        let reported = str::from_utf8(buffer.get(..length)?).ok()?;
        let path = PathBuf::from(reported.lines().next_back()?);
        path.is_absolute().then_some(path)
    }
}

/// The start and the end of an output.
#[derive(Default)]
struct CappedOutput {
    start: Vec<u8>,
    end: Vec<u8>,
    left_out: usize,
}

impl CappedOutput {
    fn take(&mut self, piece: &[u8]) {
        let room = MOST_KEPT.saturating_sub(self.start.len()).min(piece.len());
        let (start, end) = piece.split_at(room);
        self.start.extend(start);
        self.end.extend(end);
        // Trimmed only at twice the size, so that not every piece moves the whole buffer.
        if self.end.len() > 2 * TAIL {
            let surplus = self.end.len() - TAIL;
            self.end.drain(..surplus);
            self.left_out += surplus;
        }
    }

    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.start).into_owned();
        if self.left_out > 0 {
            let _ = write!(text, "\n[{} bytes were not kept]\n", self.left_out);
        }
        text + &String::from_utf8_lossy(&self.end)
    }
}

fn show(text: &str, host: &dyn ToolHost) {
    if !text.is_empty() {
        host.show(text);
    }
}

/// Shows whole lines, so that neither a character nor a secret is split.
#[derive(Default)]
struct LineDisplay(Vec<u8>);

impl LineDisplay {
    fn take(&mut self, piece: &[u8]) -> String {
        self.0.extend(piece);
        let line = self.0.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let cut = line.map_or(0, |at| at + 1);
        let rest =
            self.0.split_off(if self.0.len() - cut > MOST_HELD { self.0.len() } else { cut });
        let whole = std::mem::replace(&mut self.0, rest);
        String::from_utf8_lossy(&whole).into_owned()
    }

    fn rest(self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestWorkspace;
    use super::*;

    #[tokio::test]
    async fn commands_return_output_and_exit_code() {
        let world = TestWorkspace::new();
        world.file("sub/file", "");
        let cases = [
            ("echo one; echo two >&2; echo three", Ok("one\ntwo\nthree\n")),
            ("true", Ok("done, without output")),
            ("exit 3", Err("exit code 3")),
            ("echo x; false", Err("x\n\n[exit code 1]")),
            ("kill -9 $$", Err("a signal ended it")),
            ("cat", Ok("done, without output")),
            ("printf 'gr\\303\\274n \\360\\237\\246\\200 \\377'", Ok("grün 🦀 \u{fffd}")),
            ("echo \"$1|$0|$#\"", Ok("|bash|0\n")),
            ("cat <<'EOF'\na $b\nEOF", Ok("a $b\n")),
        ];
        for (command, expected) in cases {
            let output = world.host().call(&BashTool, json!({"command": command})).await;
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(output, ToolOutput::from(expected), "{command}");
        }
    }

    #[tokio::test]
    async fn the_working_directory_is_kept_between_calls() {
        let world = TestWorkspace::new();
        world.file("sub/deep/file", "");
        agentry_posix::unix::fs::symlink("sub", world.path("link")).unwrap();
        let host = world.host();
        let steps = [
            ("cd sub", "sub"),
            ("cd deep; false", "sub/deep"),
            ("cd ..; exit 4", "sub"),
            ("(cd deep)", "sub"),
            ("cd missing", "sub"),
            ("cd ../link/deep", "sub/deep"),
            ("cd ..; exec true", "sub/deep"),
            ("cd ..\nif", "sub"),
            ("cd deep && rmdir /nowhere", "sub/deep"),
        ];
        for (command, expected) in steps {
            let arguments = json!({"command": command});
            host.grant(&BashTool, &arguments);
            BashTool.run(arguments, &host).await;
            assert_eq!(host.place().directory, world.path(expected), "{command}");
        }
    }

    #[tokio::test]
    async fn output_is_shown_as_it_comes_and_capped() {
        let world = TestWorkspace::new();
        let host = world.host();
        let output = host.call(&BashTool, json!({"command": "seq 1 3000000"})).await;
        assert!(!output.failed);
        assert!(output.text.starts_with("1\n2\n3\n"), "{:.40}", output.text);
        assert!(output.text.contains("outputs/1.txt`]"));
        assert!(output.text.ends_with("2999999\n3000000\n"));
        assert!(output.text.len() < output_cap::MOST + 300);
        let kept = std::fs::metadata(host.place().run.join("outputs/1.txt")).unwrap().len();
        assert!(kept > MOST_KEPT as u64 && kept < (MOST_KEPT + 3 * TAIL) as u64);
        let shown = host.shown.lock().unwrap();
        assert!(shown.ends_with("2999999\n3000000\n"));
    }

    #[tokio::test]
    async fn a_timeout_kills_the_command_and_its_children() {
        let world = TestWorkspace::new();
        let command = "sleep 60 & echo $! > id; wait";
        let output = world.host().call(&BashTool, json!({"command": command, "timeout": 1})).await;
        assert_eq!(output, ToolOutput::failed("ended after 1 s; `timeout` was reached"));
        gone(&world).await;
    }

    #[tokio::test]
    async fn background_processes_are_killed_after_the_call() {
        let world = TestWorkspace::new();
        let command = "sleep 60 & echo $! > id; echo started";
        let output = world.host().call(&BashTool, json!({"command": command})).await;
        assert_eq!(output, ToolOutput::done("started\n"));
        gone(&world).await;
    }

    #[tokio::test]
    async fn a_dropped_call_kills_its_command() {
        let world = TestWorkspace::new();
        let host = world.host();
        tokio::select! {
            output = host.call(&BashTool, json!({"command": "echo $$ > id; sleep 60"})) => {
                panic!("{output:?}")
            }
            () = until(|| started(&world).is_some()) => {}
        }
        gone(&world).await;
    }

    /// Returns the process id that a command has written to a file.
    fn started(world: &TestWorkspace) -> Option<u32> {
        std::fs::read_to_string(world.path("id")).ok()?.trim().parse().ok()
    }

    /// Waits until that process has ended.
    async fn gone(world: &TestWorkspace) {
        let stat = format!("/proc/{}/stat", started(world).unwrap());
        until(|| std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))).await;
    }

    async fn until(holds: impl Fn() -> bool) {
        let waiting = async {
            while !holds() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap();
    }

    #[tokio::test]
    async fn output_is_shown_in_whole_lines() {
        let mut shown = LineDisplay::default();
        let cases: [(&[u8], &str); 6] = [
            (b"hush-", ""),
            (b"secret\nand", "hush-secret\n"),
            (b" 50%\r60%", "and 50%\r"),
            (b"\xc3", ""),
            (b"\xbc\n\xff", "60%ü\n"),
            (b"", ""),
        ];
        for (piece, expected) in cases {
            assert_eq!(shown.take(piece), expected, "{piece:?}");
        }
        assert_eq!(shown.rest(), "\u{fffd}");
        assert_eq!(LineDisplay::default().take(&vec![b'x'; MOST_HELD + 1]).len(), MOST_HELD + 1);
        let world = TestWorkspace::new();
        let host = world.host();
        host.call(&BashTool, json!({"command": "echo a; printf b"})).await;
        assert_eq!(*host.shown.lock().unwrap(), "a\nb");
    }

    #[tokio::test]
    async fn a_removed_working_directory_falls_back_to_the_workspace() {
        let world = TestWorkspace::new();
        world.file("sub/file", "");
        let host = world.host();
        host.move_to(world.path("sub"));
        std::fs::remove_dir_all(world.path("sub")).unwrap();
        let output = host.call(&BashTool, json!({"command": "pwd"})).await;
        assert!(output.failed && output.text.starts_with("not run: "), "{output:?}");
        let output = host.call(&BashTool, json!({"command": "pwd"})).await;
        assert_eq!(output, ToolOutput::done(format!("{}\n", host.place().workspace.display())));
    }

    #[tokio::test]
    async fn a_command_without_approval_is_not_run() {
        let world = TestWorkspace::new();
        let failure_text =
            [(Section::Bash, agentry_compile::policy::Action::Ask, ["ls:allow"].as_slice())];
        let host = world.judged(&failure_text);
        let output = BashTool.run(json!({"command": "touch x"}), &host).await;
        assert!(output.failed && output.text.starts_with("refused: "), "{output:?}");
        assert!(!world.path("x").exists());
        assert!(BashTool.touches(&json!({"command": "a\0b"}), &host.place()).is_err());
    }
}
