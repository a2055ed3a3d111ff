//! The recording of a real run to a cassette.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_compile::PromptPart;
use agentry_runtime::cassette::{
    self, CassetteOpening, CassetteRecorder, RecordedPart, RecordedServerTool,
};
use agentry_runtime::driver::interfaces::{Clock, EventLog, RunModels};
use agentry_runtime::driver::recording::{RecordedLog, RecordedModels, SharedRecording};
use agentry_runtime::quarantine;
use agentry_runtime::tool::DeclaredKind;

use super::declared_tools::DeclaredTools;
use super::prepared_agent::PreparedAgent;
use super::session::now;
use crate::output::{CliFailure, error_text};

/// A recording, and its final path. Until the end it lies beside the journal, where the agent does not
/// find it.
pub(super) struct PendingRecording {
    recording: SharedRecording,
    part: PathBuf,
    path: PathBuf,
}

impl PendingRecording {
    pub(super) fn new(
        ground: &PreparedAgent,
        directory: &Path,
        path: &str,
        (machine, missing): (&[PromptPart], &[String]),
        (function, declared): (Option<String>, &DeclaredTools),
    ) -> Result<Self, CliFailure> {
        let part = directory.join("cassette.jsonl");
        // Secrets are redacted while recording, never afterwards.
        let redactor = Arc::clone(&ground.redactor);
        let kept = |part: &PromptPart| RecordedPart {
            name: part.name.to_owned(),
            text: part.text.clone(),
        };
        let opening = CassetteOpening {
            agent: ground.agent.name().to_owned(),
            now: now(),
            prompt: machine.iter().map(kept).collect(),
            missing: missing.to_vec(),
            function,
            server_tools: server_tools(declared),
        };
        let recorder = CassetteRecorder::create(&part, opening, redactor, ground.places());
        let recorder = recorder.map_err(|error| CliFailure::new(error_text(&error)))?;
        Ok(Self { recording: SharedRecording::new(recorder), part, path: admitted(path)? })
    }

    /// Moves the recording to its final path.
    pub(super) fn keep(&self) -> io::Result<()> {
        self.recording.finish()?;
        // Without this, a parallel run would take the file for one that its own command created.
        let run = self.part.parent().unwrap_or(Path::new(""));
        quarantine::note(run, &self.part, &self.path)?;
        cassette::keep(&self.part, &self.path)?;
        fs::remove_file(&self.part)
    }
}

/// The tools of servers: only the servers know them.
fn server_tools(declared: &DeclaredTools) -> Vec<RecordedServerTool> {
    let tools = declared.tools.iter().filter(|tool| tool.kind() == DeclaredKind::Mcp);
    let recorded = tools.map(|tool| {
        // The tool that reads resources has no place in a file, and a subject for each call.
        let subject = tool.origin().and_then(|_| tool.policy_subjects().into_iter().next());
        let subject = subject.map(|touch| touch.subject).unwrap_or_default();
        RecordedServerTool { name: tool.spec().name, subject }
    });
    recorded.collect()
}

/// The final path of a recording.
pub(super) fn admitted(path: &str) -> Result<PathBuf, CliFailure> {
    let message = |error| format!("nothing can be recorded to `{path}`: {}", error_text(&error));
    cassette::admit(Path::new(path)).map_err(|error| CliFailure::new(message(error)))
}

/// The models and the log of a run, wrapped by the recorder if there is one.
pub(super) fn recorded(
    recording: Option<&PendingRecording>,
    models: Arc<dyn RunModels>,
    log: Box<dyn EventLog>,
) -> (Arc<dyn RunModels>, Box<dyn EventLog>) {
    let Some(PendingRecording { recording, .. }) = recording else { return (models, log) };
    let (clock, recording): (Clock, _) = (Arc::new(now), recording.clone());
    let log = Box::new(RecordedLog { log, recording: recording.clone() });
    (Arc::new(RecordedModels { models, recording, clock }), log)
}
