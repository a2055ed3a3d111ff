//! Writes a cassette while a run happens.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::expectation::{ExpectedConversation, copied, same, take_over};
use super::{
    CassetteEntry, CassetteHeader, CassetteLine, CassetteOpening, CassettePaths, FORMAT, PART,
    RecordedQuestion, RecordedQuestionKind, RecordedTool,
};
use crate::event::{RunEvent, TimedEvent};
use crate::journal::DisplayTime;
use crate::provider::ProviderRequest;
use crate::redact::Redactor;

/// Records a run. Replaces an older cassette only when the recording is finished.
#[derive(Debug)]
pub struct CassetteRecorder {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    redactor: Arc<Redactor>,
    places: CassettePaths,
    expected: ExpectedConversation,
    system: Option<String>,
    tools: Option<Vec<RecordedTool>>,
    /// The event of a request that is not sent yet.
    asking: Option<TimedEvent>,
    /// Whether a request is under way.
    is_asked: bool,
}

impl CassetteRecorder {
    /// Starts the cassette of a run.
    pub fn create(
        path: &Path,
        opening: CassetteOpening,
        redactor: Arc<Redactor>,
        places: CassettePaths,
    ) -> io::Result<Self> {
        let mut part = path.as_os_str().to_owned();
        part.push(PART);
        let part = PathBuf::from(part);
        let mut recorder = Self {
            path: path.to_path_buf(),
            file: BufWriter::new(File::create(&part)?),
            part,
            redactor,
            places,
            expected: ExpectedConversation::default(),
            system: None,
            tools: None,
            asking: None,
            is_asked: false,
        };
        let CassetteOpening { agent, now, prompt, missing, function, server_tools } = opening;
        let header = CassetteHeader {
            cassette: FORMAT,
            agent,
            recorded: DisplayTime(now).to_string(),
            prompt,
            missing,
            function,
            server_tools,
        };
        recorder.write(&header)?;
        Ok(recorder)
    }

    /// Records a request to the model.
    pub fn asked(&mut self, at: u64, request: &ProviderRequest<'_>) -> io::Result<()> {
        self.sent();
        self.expected.report();
        let messages = request.messages;
        let same = same(&self.expected.messages, messages);
        let tools: Vec<RecordedTool> = request.tools.iter().map(RecordedTool::from).collect();
        let asked = RecordedQuestion {
            kind: RecordedQuestionKind::Asked,
            model: request.model.to_owned(),
            system: changed(&mut self.system, request.system.to_owned()),
            tools: changed(&mut self.tools, tools),
            kept: (same < self.expected.messages.len()).then_some(same),
            messages: copied(messages.get(same..).unwrap_or_default()),
        };
        take_over(&mut self.expected.messages, messages);
        self.write(&CassetteLine { at, entry: CassetteEntry::Asked(asked) })
    }

    /// Records an event.
    pub fn happened(&mut self, happened: &TimedEvent) -> io::Result<()> {
        self.expected.event(&happened.event);
        match happened.event {
            // A replay derives these events from the others.
            RunEvent::Started { .. }
            | RunEvent::Skill { .. }
            | RunEvent::Waited
            | RunEvent::Resumed
            // A replay runs no delegates, so they spend nothing.
            | RunEvent::Delegated { .. } => return Ok(()),
            // A request that is sent has its own line.
            RunEvent::Asking { .. } if self.is_asked => return Ok(()),
            RunEvent::Asking { .. } => {
                self.asking = Some(happened.clone());
                return Ok(());
            }
            _ => {}
        }
        self.is_asked = false;
        self.refused()?;
        self.event(happened)
    }

    /// Notes that the request is sent.
    pub fn sent(&mut self) {
        self.asking = None;
        self.is_asked = true;
    }

    fn event(&mut self, happened: &TimedEvent) -> io::Result<()> {
        self.write(&CassetteLine {
            at: happened.at,
            entry: CassetteEntry::Event(happened.event.clone()),
        })
    }

    /// Records a request that was not sent because of a limit: a replay cannot derive that.
    fn refused(&mut self) -> io::Result<()> {
        self.asking.take().map_or(Ok(()), |asking| self.event(&asking))
    }

    /// Finishes the cassette, and gives it its final name.
    pub fn finish(mut self) -> io::Result<()> {
        self.refused()?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.part, &self.path)
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        // The same order as in `Tape::as_recorded`, so that both give the same text.
        let value = self.redactor.value(self.places.hide(serde_json::to_value(line)?));
        writeln!(self.file, "{value}")?;
        // Flushed line by line, so that the file of a killed run is as complete as possible.
        self.file.flush()
    }
}

/// Stores a value, and returns it if it has changed.
fn changed<T: Clone + PartialEq>(known: &mut Option<T>, now: T) -> Option<T> {
    if known.as_ref() == Some(&now) {
        return None;
    }
    *known = Some(now.clone());
    Some(now)
}
