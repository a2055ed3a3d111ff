//! Writes a cassette while a run goes on.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::expected::{Expected, copied, same, take_over};
use super::{Asked, AskedKind, Entry, FORMAT, Header, Line, PART, Places, Tool};
use crate::event::{Event, Happened};
use crate::journal::Written;
use crate::provider::Request;
use crate::redact::Redactor;

/// Records a run. What was there before is replaced when the recording is finished.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    part: PathBuf,
    file: BufWriter<File>,
    redactor: Arc<Redactor>,
    places: Places,
    expected: Expected,
    system: Option<String>,
    tools: Option<Vec<Tool>>,
    /// A question that was not sent so far.
    asking: Option<Happened>,
    /// Whether one is under way.
    is_asked: bool,
}

impl Recorder {
    /// Starts a cassette of a run of `agent` that begins now.
    pub fn create(
        path: &Path,
        agent: &str,
        now: u64,
        redactor: Arc<Redactor>,
        places: Places,
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
            expected: Expected::default(),
            system: None,
            tools: None,
            asking: None,
            is_asked: false,
        };
        let when = Written(now).to_string();
        recorder.write(&Header { cassette: FORMAT, agent: agent.to_owned(), recorded: when })?;
        Ok(recorder)
    }

    /// The model is asked.
    pub fn asked(&mut self, at: u64, request: &Request<'_>) -> io::Result<()> {
        self.sent();
        self.expected.report();
        let messages = request.messages;
        let same = same(&self.expected.messages, messages);
        let tools: Vec<Tool> = request.tools.iter().map(Tool::from).collect();
        let asked = Asked {
            kind: AskedKind::Asked,
            model: request.model.to_owned(),
            system: changed(&mut self.system, request.system.to_owned()),
            tools: changed(&mut self.tools, tools),
            kept: (same < self.expected.messages.len()).then_some(same),
            messages: copied(messages.get(same..).unwrap_or_default()),
        };
        take_over(&mut self.expected.messages, messages);
        self.write(&Line { at, entry: Entry::Asked(asked) })
    }

    /// Something happened.
    pub fn happened(&mut self, happened: &Happened) -> io::Result<()> {
        self.expected.event(&happened.event);
        match happened.event {
            // They follow from the rest.
            Event::Started { .. } | Event::Waited | Event::Resumed => return Ok(()),
            // A question that is sent is written as such.
            Event::Asking { .. } if self.is_asked => return Ok(()),
            Event::Asking { .. } => {
                self.asking = Some(happened.clone());
                return Ok(());
            }
            _ => {}
        }
        self.is_asked = false;
        self.refused()?;
        self.event(happened)
    }

    /// The question that was to be asked is sent.
    pub fn sent(&mut self) {
        self.asking = None;
        self.is_asked = true;
    }

    fn event(&mut self, happened: &Happened) -> io::Result<()> {
        self.write(&Line { at: happened.at, entry: Entry::Event(happened.event.clone()) })
    }

    /// A question was too much for a limit: that cannot be known from the rest.
    fn refused(&mut self) -> io::Result<()> {
        self.asking.take().map_or(Ok(()), |asking| self.event(&asking))
    }

    /// The run is over: the cassette gets its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.refused()?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.part, &self.path)
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let value = self.redactor.value(self.places.hide(serde_json::to_value(line)?));
        writeln!(self.file, "{value}")?;
        self.file.flush()
    }
}

/// What is new, if it is; it is known from then on.
fn changed<T: Clone + PartialEq>(known: &mut Option<T>, now: T) -> Option<T> {
    if known.as_ref() == Some(&now) {
        return None;
    }
    *known = Some(now.clone());
    Some(now)
}
