//! A run in a process of its own that this program steers (`--control`). Editors (`acp`), other programs
//! (`mcp`) and the server (`serve`) run agents this way: a run that breaks takes no other one with it, and goes on without this
//! program if it has to.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_posix::unix::process::CommandExt;
use agentry_rpc::LineReader;
use agentry_runtime::{CallJudgement, RunEnding};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};

use crate::command::sandbox::this_program;
use crate::engine;
use crate::home::agentry_home;
use crate::output::{CliFailure, error_text, remark};

/// The most bytes of one event.
const EVENT_BYTES: usize = 16 << 20;
/// The most events that wait. A full queue makes the run wait.
const EVENTS: usize = 64;
/// The most bytes of a file that an editor has open: six times as many in JSON are a command that a run takes.
const FILE_BYTES: usize = 640 << 10;
/// The lines of standard error that are kept for a message.
const ERROR_LINES: usize = 3;

/// Where the process of a run starts.
#[derive(Debug, Default)]
pub(crate) struct StartPlace {
    /// The lease that a worker gives to it.
    pub(crate) lease: Option<String>,
    /// Its directory, instead of that of this program.
    pub(crate) directory: Option<PathBuf>,
}

/// An event of the run, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SteeredEvent {
    Run {
        id: Option<String>,
        /// The name of the agent.
        #[serde(default)]
        agent: String,
        #[serde(default)]
        greeting: Option<String>,
    },
    Refused {
        message: String,
        #[serde(default)]
        details: Vec<String>,
        #[serde(default)]
        hint: Option<String>,
    },
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    Turn {
        text: String,
        calls: usize,
    },
    Call {
        id: String,
        tool: String,
        arguments: Value,
        verdict: CallJudgement,
        reason: String,
    },
    Started {
        id: String,
    },
    Piece {
        id: String,
        text: String,
    },
    FileRead {
        request: u64,
        path: String,
    },
    FileWrite {
        request: u64,
        path: String,
        text: String,
    },
    Result {
        id: String,
        text: String,
        failed: bool,
    },
    Approval(SteeredApproval),
    Question {
        question: u64,
        text: String,
        choices: Vec<String>,
    },
    Withdrawn {
        question: u64,
    },
    Rejected {
        why: String,
    },
    Output {
        output: Value,
    },
    Quarantined {
        path: String,
        why: String,
    },
    ModelFailed {
        model: String,
        message: String,
    },
    Delegate {
        agent: String,
        run: String,
        output: Box<SteeredEvent>,
    },
    Ended {
        #[serde(flatten)]
        ending: RunEnding,
    },
    #[serde(other)]
    Other,
}

impl SteeredEvent {
    /// Whether it is a part of a text that comes whole later.
    pub(crate) fn is_piece(&self) -> bool {
        match self {
            Self::Text { .. } | Self::Thinking { .. } => true,
            Self::Delegate { output, .. } => output.is_piece(),
            _ => false,
        }
    }
}

/// A question for an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SteeredApproval {
    /// Its number, which the answer carries.
    pub(crate) question: u64,
    /// `call`, `unfinished`, `failed`, `limit` or `models`.
    pub(crate) kind: String,
    /// The chain of agents, if a delegate asks.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// The exact call; `None` if it is about the whole run.
    #[serde(default)]
    pub(crate) call: Option<AskedCall>,
    /// Why it is asked.
    pub(crate) reason: String,
    /// File and line of the rules that ask.
    #[serde(default)]
    pub(crate) places: Vec<String>,
    /// What `always` would cover.
    #[serde(default)]
    pub(crate) rules: Vec<String>,
    /// What the call would change.
    #[serde(default)]
    pub(crate) preview: Option<String>,
    /// The possible answers.
    pub(crate) choices: Vec<String>,
}

/// The call that an approval is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AskedCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

/// A run that this program steers.
#[derive(Debug)]
pub(crate) struct SteeredRun {
    /// Closed when the process has ended.
    pub(crate) events: mpsc::Receiver<SteeredEvent>,
    pub(crate) steering: RunSteering,
}

/// The commands to a run. The run is notified when the last of them is dropped.
#[derive(Debug, Clone)]
pub(crate) struct RunSteering {
    commands: mpsc::UnboundedSender<Value>,
    over: watch::Receiver<bool>,
    errors: Arc<Mutex<Vec<String>>>,
}

impl SteeredRun {
    /// Starts this program again with `arguments`, which begin a run or go on with one under control.
    pub(crate) fn start(arguments: &[String]) -> Result<Self, CliFailure> {
        Self::start_with(arguments, StartPlace::default())
    }

    /// The same, with the lease of the run.
    pub(crate) fn start_with(
        arguments: &[String],
        StartPlace { lease, directory }: StartPlace,
    ) -> Result<Self, CliFailure> {
        let failed = |error: std::io::Error| {
            CliFailure::new(format!("the run cannot be started: {}", error_text(&error)))
        };
        let mut command = Command::new(this_program()?);
        command.args(arguments).envs(engine::variable()).env_remove(engine::LEASE);
        command.envs(lease.map(|lease| (engine::LEASE, lease)));
        if let Some(directory) = directory {
            // A relative home would be another one there.
            command.envs(agentry_home().map(|home| ("AGENTRY_HOME", home)));
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A signal from the terminal of this program is not for the run, which is parked instead.
        CommandExt::process_group(command.as_std_mut(), 0);
        let mut child = command.spawn().map_err(failed)?;
        let (commands, queue) = mpsc::unbounded_channel();
        let (sender, events) = mpsc::channel(EVENTS);
        let (tell, over) = watch::channel(false);
        let errors = Arc::default();
        if let Some(input) = child.stdin.take() {
            tokio::spawn(write_commands(input, queue));
        }
        if let Some(lines) = child.stderr.take() {
            tokio::spawn(keep_errors(lines, Arc::clone(&errors)));
        }
        tokio::spawn(read_events(child, sender, tell));
        Ok(Self { events, steering: RunSteering { commands, over, errors } })
    }
}

impl RunSteering {
    /// Sends a message to the agent. Returns whether its process can still take one.
    pub(crate) fn message(&self, text: &str) -> bool {
        self.commands.send(json!({"type": "message", "text": text})).is_ok()
    }

    /// Answers an approval.
    pub(crate) fn answer(&self, question: u64, answer: &str) {
        self.send(json!({"type": "answer", "question": question, "answer": answer}));
    }

    /// Denies an approval, with a reason for the model.
    pub(crate) fn deny(&self, question: u64, reason: &str) {
        self.send(
            json!({"type": "answer", "question": question, "answer": "no", "reason": reason}),
        );
    }

    /// Answers a question of the agent; `None` if the user does not.
    pub(crate) fn reply(&self, question: u64, text: Option<&str>) {
        self.send(json!({"type": "reply", "question": question, "text": text}));
    }

    /// Says what the editor of the user can do with files that are open in it.
    pub(crate) fn offer_editor(&self, reads: bool, writes: bool) {
        self.send(json!({"type": "editor", "reads": reads, "writes": writes}));
    }

    /// Answers a request about a file: with its text, or why there is none.
    pub(crate) fn answer_file(&self, request: u64, answer: &Result<String, String>) {
        let (text, error) = match answer {
            Ok(text) if text.len() > FILE_BYTES => (None, Some("it is too large")),
            Ok(text) => (Some(text), None),
            Err(why) => (None, Some(why.as_str())),
        };
        self.send(json!({"type": "file", "request": request, "text": text, "error": error}));
    }

    /// Sends a command without fields: `cancel`, `stop`, `park` or `end`.
    pub(crate) fn command(&self, word: &str) {
        self.send(json!({"type": word}));
    }

    fn send(&self, command: Value) {
        // The end of the run is noticed elsewhere.
        let _ = self.commands.send(command);
    }

    /// Waits for the end of the process, at most this long.
    pub(crate) async fn ended(&self, most: Duration) {
        let mut over = self.over.clone();
        let _ = tokio::time::timeout(most, over.wait_for(|over| *over)).await;
    }

    /// The last lines of its standard error.
    pub(crate) fn last_errors(&self) -> String {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).join(" / ")
    }
}

async fn write_commands(mut input: ChildStdin, mut queue: mpsc::UnboundedReceiver<Value>) {
    while let Some(command) = queue.recv().await {
        let line = format!("{command}\n");
        if input.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads events to the end, and then waits for the process. Listeners are optional.
async fn read_events(
    mut child: Child,
    sender: mpsc::Sender<SteeredEvent>,
    tell: watch::Sender<bool>,
) {
    if let Some(output) = child.stdout.take() {
        let mut lines = LineReader::new(output, EVENT_BYTES);
        while let Ok(Some(line)) = lines.next().await {
            match serde_json::from_slice(&line) {
                Ok(event) => drop(sender.send(event).await),
                Err(error) => {
                    remark(&format!("warning: an event of a run cannot be read: {error}"));
                }
            }
        }
    }
    let _ = child.wait().await;
    let _ = tell.send(true);
}

/// Passes standard error on, for the log of the editor or of the server, and keeps the last lines.
async fn keep_errors(errors: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<String>>>) {
    let mut lines = LineReader::new(errors, EVENT_BYTES);
    while let Ok(Some(line)) = lines.next().await {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        remark(&line);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(line);
        let excess = kept.len().saturating_sub(ERROR_LINES);
        kept.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_run_events_are_ignored() {
        let read = |line: &str| serde_json::from_str::<SteeredEvent>(line).unwrap();
        let ended = r#"{"type":"ended","state":"parked","question":"why?","spent":{"turns":1}}"#;
        let ending = RunEnding::Parked { question: "why?".into() };
        assert_eq!(read(ended), SteeredEvent::Ended { ending });
        assert_eq!(read(r#"{"type":"new one","field":1}"#), SteeredEvent::Other);
        let asked = r#"{"type":"approval","question":1,"kind":"call","agent":null,"call":{"id":"c","tool":"bash","arguments":{"command":"ls"}},"reason":"r","places":["a.toml:5"],"rules":[],"preview":null,"choices":["yes","no","later"]}"#;
        let SteeredEvent::Approval(asked) = read(asked) else { panic!("no approval") };
        assert_eq!(asked.call.unwrap().tool, "bash");
    }
}
