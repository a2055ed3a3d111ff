//! Writes a cassette while a run goes on.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::expected::Expected;
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
        };
        let when = Written(now).to_string();
        recorder.write(&Header { cassette: FORMAT, agent: agent.to_owned(), recorded: when })?;
        Ok(recorder)
    }

    /// The model is asked.
    pub fn asked(&mut self, at: u64, request: &Request<'_>) -> io::Result<()> {
        self.expected.report();
        let messages = request.messages;
        let same = self.expected.messages.iter().zip(messages).take_while(|(a, b)| a == b).count();
        let tools: Vec<Tool> = request.tools.iter().map(Tool::from).collect();
        let asked = Asked {
            kind: AskedKind::Asked,
            model: request.model.to_owned(),
            system: changed(&mut self.system, request.system.to_owned()),
            tools: changed(&mut self.tools, tools),
            kept: (same < self.expected.messages.len()).then_some(same),
            messages: messages.get(same..).unwrap_or_default().to_vec(),
        };
        self.expected.messages.truncate(same);
        self.expected.messages.extend_from_slice(&asked.messages);
        self.write(&Line { at, entry: Entry::Asked(asked) })
    }

    /// Something happened.
    pub fn happened(&mut self, happened: &Happened) -> io::Result<()> {
        self.expected.event(&happened.event);
        match happened.event {
            // They follow from the rest.
            Event::Started { .. } | Event::Waited | Event::Resumed => Ok(()),
            _ => {
                let entry = Entry::Event(happened.event.clone());
                self.write(&Line { at: happened.at, entry })
            }
        }
    }

    /// The run is over: the cassette gets its name.
    pub fn finish(mut self) -> io::Result<()> {
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
