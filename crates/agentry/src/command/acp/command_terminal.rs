//! A terminal of the editor that shows what a command of the agent prints.
//!
//! The command runs in the sandbox of its run, as always. In the terminal the editor starts only this program again
//! (`show-output`), which prints what it reads from a private socket, and can do nothing else.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentry_acp::{EditorPort, SessionUpdate, ToolCallReport, ToolContent};
use agentry_posix::socket::{UnixListener, UnixStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::args::ShowOutputArguments;
use crate::command::run::terminal::clean;
use crate::command::sandbox::this_program;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, print_bytes};

/// The byte before the exit code. Output has none, because it is cleaned.
const END: u8 = 0;
/// The time that the program in the terminal gets to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// The time that an editor gets to show the rest of an output, and to give the terminal back.
const LAST_LOOK: Duration = Duration::from_secs(3);

/// The terminal of a command that is under way.
pub(super) struct CommandTerminal {
    output: UnboundedSender<OutputPiece>,
    /// Its id, once the editor has opened it.
    id: oneshot::Receiver<Option<String>>,
}

/// The call that a terminal belongs to.
pub(super) struct TerminalCall {
    pub(super) session: String,
    pub(super) call: String,
    pub(super) directory: PathBuf,
}

/// What the terminal shows next.
enum OutputPiece {
    Text(String),
    End { failed: bool },
}

impl CommandTerminal {
    /// Opens a terminal for a call; `None` if this system has no private sockets. `closed` is called if the user
    /// closes it while the command is under way.
    pub(super) fn open(
        editor: EditorPort,
        about: TerminalCall,
        closed: impl FnOnce() + Send + 'static,
    ) -> Option<Self> {
        let private = tempfile::Builder::new().prefix("agentry-").tempdir().ok()?;
        let socket = private.path().join("output");
        let listener = UnixListener::bind(&socket).ok()?;
        let (output, pieces) = unbounded_channel();
        let (tell, id) = oneshot::channel();
        tokio::spawn(async move {
            let opened = create(&editor, &about, &socket).await;
            let is_open = opened.is_some();
            let _ = tell.send(opened);
            if is_open && was_closed(&listener, pieces).await {
                closed();
            }
            drop(private);
        });
        Some(Self { output, id })
    }

    /// Shows a piece of the output.
    pub(super) fn show(&self, text: &str) {
        // A line that is to be written over, such as a percentage, is a line of its own.
        let lines = text.replace("\r\n", "\n").replace('\r', "\n");
        let _ = self.output.send(OutputPiece::Text(clean(&lines)));
    }

    /// The command has ended. Returns the id of the terminal, which the editor goes on to show.
    pub(super) async fn finish(
        self,
        editor: &EditorPort,
        session: &str,
        failed: bool,
    ) -> Option<String> {
        let _ = self.output.send(OutputPiece::End { failed });
        let id = tokio::time::timeout(LAST_LOOK, self.id).await.ok()?.ok()??;
        editor.close_terminal(session, &id, LAST_LOOK).await;
        Some(id)
    }
}

/// Opens the terminal in the editor and shows it in its call; returns its id.
async fn create(editor: &EditorPort, about: &TerminalCall, socket: &Path) -> Option<String> {
    let TerminalCall { session, call, directory } = about;
    let program = this_program().ok()?;
    let (program, directory) = (program.to_str()?, directory.to_str()?);
    let arguments = ["show-output", socket.to_str()?];
    let id = editor.open_terminal(session, (program, &arguments), directory).await?;
    let content = vec![ToolContent::Terminal(id.clone())];
    let report = ToolCallReport { content, ..ToolCallReport::about(call) };
    editor.update(session, &SessionUpdate::CallChanged(report)).await;
    Some(id)
}

/// Writes the output to the program in the terminal. Returns whether that went away before the end.
async fn was_closed(listener: &UnixListener, mut pieces: UnboundedReceiver<OutputPiece>) -> bool {
    let Ok(Ok((stream, _))) = tokio::time::timeout(CONNECT, listener.accept()).await else {
        return false;
    };
    let (mut from, mut to) = tokio::io::split(stream);
    let mut nothing = [0];
    loop {
        let piece = tokio::select! {
            biased;
            piece = pieces.recv() => piece,
            _ = from.read(&mut nothing) => return true,
        };
        match piece {
            Some(OutputPiece::Text(text)) => {
                if to.write_all(text.as_bytes()).await.is_err() {
                    return true;
                }
            }
            Some(OutputPiece::End { failed }) => {
                let _ = to.write_all(&[END, u8::from(failed)]).await;
                return false;
            }
            // The turn was broken off.
            None => return false,
        }
    }
}

/// Prints the output of a command of an agent, and ends as it did.
pub(crate) fn show_output(args: &ShowOutputArguments) -> CliOutcome {
    let failed = |error: std::io::Error| {
        CliFailure::new(format!("the output cannot be shown: {}", error_text(&error)))
    };
    let mut socket = UnixStream::connect(&args.socket).map_err(failed)?;
    let mut chunk = vec![0; 16 << 10];
    let mut code = Vec::new();
    loop {
        let count = socket.read(&mut chunk).map_err(failed)?;
        let read = chunk.get(..count).unwrap_or_default();
        // Of the end only the code is left.
        let end = read.iter().position(|byte| *byte == END).unwrap_or(read.len());
        let (text, rest) = if code.is_empty() { read.split_at(end) } else { (&[][..], read) };
        code.extend_from_slice(rest);
        if !text.is_empty() && !print_bytes(text) {
            return Ok(ExitKind::Interrupted);
        }
        if count == 0 {
            let is_done = code == [END, 0];
            return Ok(if is_done { ExitKind::Done } else { ExitKind::Findings });
        }
    }
}
