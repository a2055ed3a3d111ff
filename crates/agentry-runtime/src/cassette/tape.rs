//! Plays a cassette: nothing is executed, and the first difference is reported.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::decode::{CassetteReading, RecordedTurn};
use super::difference::{CassetteDifference, DifferenceKind};
use super::difference_text::{message_text, shown, written};
use super::expectation::{same, take_over};
use super::{
    CassetteEntry, CassetteHeader, CassetteLine, CassettePaths, FORMAT, RecordedPart,
    RecordedServerTool, RecordedTool,
};
use crate::conversation::{Message, TokenUsage, ToolCall};
use crate::event::{CallJudgement, RunEvent, TimedEvent};
use crate::provider::ProviderRequest;
use crate::redact::{Redactor, equals_redacted};
use crate::tool::ToolSpec;

/// Why a cassette cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// It cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Io {
        /// The cassette.
        path: String,
        /// The error.
        source: std::io::Error,
    },
    /// A line of it is wrong.
    #[error("`{path}:{line}` is not an event of a recorded run: {why}")]
    Damaged {
        /// The cassette.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A newer version of the program wrote it.
    #[error("`{path}` has format {found}; this program knows format {FORMAT} and older ones")]
    Newer {
        /// The cassette.
        path: String,
        /// Its format.
        found: u64,
    },
}

/// A cassette during its replay.
#[derive(Debug)]
pub struct Tape {
    agent: String,
    prompt: Vec<RecordedPart>,
    missing: Vec<String>,
    server_tools: Vec<RecordedServerTool>,
    function: Option<String>,
    redactor: Arc<Redactor>,
    places: CassettePaths,
    /// The requests to the model and their answers, in order.
    turns: VecDeque<RecordedTurn>,
    /// The messages of the user, in order.
    user_messages: VecDeque<TimedEvent>,
    /// The events of calls, by kind and id: a call that was retried has several.
    events: BTreeMap<(EventSlot, String), VecDeque<TimedEvent>>,
    /// Where the run was cancelled, or reached its time limit.
    cancelled: VecDeque<TimedEvent>,
    /// The last of these, until the next request: it may have stopped several calls.
    stopping: Option<TimedEvent>,
    /// Requests that a limit prevented, each with the number of requests sent before it.
    refused: VecDeque<(usize, TokenUsage)>,
    /// How many requests are recorded, and how many are played.
    questions: (usize, usize),
    /// How the run began; older cassettes do not have it.
    began: Option<RunEvent>,
    now: u64,
    /// The last recorded request.
    last: ModelQuestion,
    /// Its messages, as this replay sent them.
    seen: Vec<Arc<Message>>,
}

/// A whole request to the model.
#[derive(Debug, Default)]
struct ModelQuestion {
    system: String,
    tools: Vec<RecordedTool>,
    messages: Vec<Message>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventSlot {
    Judged,
    Answered,
    Ended,
    Moved,
    Compacted,
}

/// Reads the text of a file. A pipe or a device may have no end.
fn text_of(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    fs::read_to_string(path)
}

impl Tape {
    /// Reads a cassette.
    pub fn open(
        path: &Path,
        redactor: Arc<Redactor>,
        places: CassettePaths,
    ) -> Result<Self, TapeError> {
        let shown = path.display().to_string();
        let text = text_of(path).map_err(|source| TapeError::Io { path: shown.clone(), source })?;
        let damaged =
            |line: usize, why: String| TapeError::Damaged { path: shown.clone(), line, why };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (_, header) = lines.next().ok_or_else(|| damaged(1, "the cassette is empty".into()))?;
        let header: Value = serde_json::from_str(header).map_err(|e| damaged(1, e.to_string()))?;
        match header.get("cassette").and_then(Value::as_u64) {
            Some(found) if found > FORMAT => return Err(TapeError::Newer { path: shown, found }),
            Some(_) => {}
            None => return Err(damaged(1, "this is not a cassette".to_owned())),
        }
        let header: CassetteHeader =
            serde_json::from_value(header).map_err(|e| damaged(1, e.to_string()))?;
        let mut tape = Self::empty(header, redactor, places);
        let mut reading = CassetteReading::default();
        for (at, line) in lines {
            let line: CassetteLine =
                serde_json::from_str(line).map_err(|error| damaged(at + 1, error.to_string()))?;
            tape.take(line, &mut reading).map_err(|why| damaged(at + 1, why.to_owned()))?;
        }
        Ok(tape)
    }

    fn empty(header: CassetteHeader, redactor: Arc<Redactor>, places: CassettePaths) -> Self {
        Self {
            agent: header.agent,
            prompt: header.prompt,
            missing: header.missing,
            server_tools: header.server_tools,
            function: header.function,
            redactor,
            places,
            turns: VecDeque::new(),
            user_messages: VecDeque::new(),
            events: BTreeMap::new(),
            cancelled: VecDeque::new(),
            stopping: None,
            refused: VecDeque::new(),
            questions: (0, 0),
            began: None,
            now: 0,
            last: ModelQuestion::default(),
            seen: Vec::new(),
        }
    }

    /// Adds a line to the tape.
    fn take(
        &mut self,
        CassetteLine { at, entry }: CassetteLine,
        reading: &mut CassetteReading,
    ) -> Result<(), &'static str> {
        if self.now == 0 {
            self.now = at;
        }
        let event = match entry {
            CassetteEntry::Asked(asked) => {
                self.turns.push_back(reading.asked(asked)?);
                self.questions.0 += 1;
                return Ok(());
            }
            CassetteEntry::Event(event) => event,
        };
        reading.expected.event(&event);
        let happened = TimedEvent { at, event };
        if reading.is_inner(&happened.event) {
            return Ok(());
        }
        let slot = match &happened.event {
            RunEvent::UserSent { .. } => {
                self.user_messages.push_back(happened);
                return Ok(());
            }
            RunEvent::Turned(_) | RunEvent::TurnFailed(_) => {
                let open = self.turns.back_mut().filter(|turn| turn.reply.is_none());
                match (open, &happened.event) {
                    (Some(open), _) => open.reply = Some(happened),
                    // A request for a summary has no line; a failure without a request is its result.
                    (None, RunEvent::TurnFailed(_)) => {
                        self.questions.0 += 1;
                        let slot = (EventSlot::Compacted, String::new());
                        self.events.entry(slot).or_default().push_back(happened);
                    }
                    (None, _) => return Err("the model answers, but was not asked"),
                }
                return Ok(());
            }
            RunEvent::Asking { usage } => {
                self.refused.push_back((self.questions.0, *usage));
                return Ok(());
            }
            RunEvent::Began { .. } => {
                self.began = Some(happened.event);
                return Ok(());
            }
            RunEvent::Cancelled { .. } | RunEvent::TimeUp => {
                self.cancelled.push_back(happened);
                return Ok(());
            }
            RunEvent::Judged { id, .. } => (EventSlot::Judged, id.clone()),
            RunEvent::Ended { id, .. }
            | RunEvent::Returned { id, .. }
            | RunEvent::Suspended { id, .. } => (EventSlot::Ended, id.clone()),
            RunEvent::Answered { id, .. } => (EventSlot::Answered, id.clone().unwrap_or_default()),
            RunEvent::Compacted { .. } => {
                self.questions.0 += 1;
                (EventSlot::Compacted, String::new())
            }
            // The last call that ended has changed the directory.
            RunEvent::Moved { .. } => (EventSlot::Moved, reading.ended.clone()),
            RunEvent::Called { .. }
            | RunEvent::Started { .. }
            | RunEvent::Skill { .. }
            | RunEvent::Waited
            | RunEvent::Resumed
            | RunEvent::Adjusted { .. }
            | RunEvent::Delegated { .. }
            | RunEvent::Exhausted { .. }
            | RunEvent::Undone { .. }
            // A conversation with one of these cannot be recorded.
            | RunEvent::Switched { .. }
            | RunEvent::CompactionRequested
            | RunEvent::Cleared
            | RunEvent::UserRan { .. } => return Ok(()),
        };
        if slot.0 == EventSlot::Ended {
            reading.ended.clone_from(&slot.1);
        }
        self.events.entry(slot).or_default().push_back(happened);
        Ok(())
    }

    /// Returns the name of the recorded agent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the parts of the system prompt that came from the machine of the recording.
    pub fn prompt(&self) -> &[RecordedPart] {
        &self.prompt
    }

    /// Returns the names of what the definition declares and the recorded run did not have.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the tools of MCP servers that the recorded run had.
    pub fn server_tools(&self) -> &[RecordedServerTool] {
        &self.server_tools
    }

    /// Returns a tool as the model had it in its first request.
    pub fn tool(&self, name: &str) -> Option<ToolSpec> {
        let tools = self.turns.front().and_then(|turn| turn.tools.as_ref());
        let mut tools = tools.unwrap_or(&self.last.tools).iter();
        tools.find(|tool| tool.name == name).map(ToolSpec::from)
    }

    /// Returns the name of the function that the run carried out.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// Returns how the run began, if the cassette has it.
    pub fn began(&self) -> Option<&RunEvent> {
        self.began.as_ref()
    }

    /// Returns how many models were asked at least: a run with a fallback asked several.
    pub fn models(&self) -> usize {
        let mut names: Vec<&str> = self.turns.iter().map(|turn| turn.model.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len().max(1)
    }

    /// Returns whether the model had a tool of this name in its first request.
    pub fn has_tool(&self, name: &str) -> bool {
        let tools = self.turns.front().and_then(|turn| turn.tools.as_ref());
        tools.unwrap_or(&self.last.tools).iter().any(|tool| tool.name == name)
    }

    /// Returns the time of the last event that was played.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the next message of the user, if there is one.
    pub fn next_user_message(&mut self) -> Option<TimedEvent> {
        let message = self.user_messages.pop_front()?;
        Some(self.play(message))
    }

    /// Returns the answer to this request, or the difference to the recorded one.
    pub fn turn(
        &mut self,
        request: &ProviderRequest<'_>,
    ) -> Result<TimedEvent, CassetteDifference> {
        let Some(recorded) = self.turns.pop_front() else {
            let message = "the model is asked once more than when this was recorded";
            return Err(CassetteDifference::new(DifferenceKind::Length, message));
        };
        self.questions.1 += 1;
        self.stopping = None;
        let RecordedTurn { model: _, system, tools, kept, messages, reply } = recorded;
        self.last.system = system.unwrap_or(std::mem::take(&mut self.last.system));
        self.last.tools = tools.unwrap_or(std::mem::take(&mut self.last.tools));
        self.last.messages.truncate(kept);
        self.last.messages.extend(messages);
        self.compare_system(request.system)?;
        self.compare_tools(request.tools)?;
        self.compare_messages(kept, request.messages)?;
        take_over(&mut self.seen, request.messages);
        match reply {
            Some(reply) => Ok(self.play(reply)),
            None => self.stopped("the model did not answer when this was recorded"),
        }
    }

    /// Returns the usage of the next request, if a limit prevented it.
    pub fn refused(&mut self) -> Option<TokenUsage> {
        // Only if the run is at the same request as the recorded one.
        let is_next = self.refused.front().is_some_and(|(after, _)| *after == self.questions.1);
        let refused = if is_next { self.refused.pop_front() } else { None };
        refused.map(|(_, usage)| usage)
    }

    /// Returns the next recorded summary.
    pub fn compacted(&mut self) -> Result<TimedEvent, CassetteDifference> {
        match self.next(EventSlot::Compacted, "") {
            Some(happened) => {
                self.questions.1 += 1;
                Ok(happened)
            }
            None => self.stopped("there was no compaction when this was recorded"),
        }
    }

    /// Compares the verdict about a call with the recorded one. Returns the recorded cancellation if that came before
    /// a verdict.
    pub fn judged(
        &mut self,
        call: &ToolCall,
        verdict: CallJudgement,
        reason: &str,
    ) -> Result<Option<TimedEvent>, CassetteDifference> {
        let ToolCall { id, tool, .. } = call;
        let recorded = match self.next(EventSlot::Judged, id).map(|happened| happened.event) {
            Some(RunEvent::Judged { verdict, reason, .. }) => (verdict, reason),
            _ => {
                let message = format!("the call `{id}` of `{tool}` was not made before");
                let stopped = self.stopped(&message).map(Some);
                return stopped.map_err(|difference| difference.between("", &shown(call)));
            }
        };
        // The reason may differ: a reworded rule is not a different decision.
        if recorded.0 == verdict {
            return Ok(None);
        }
        let message = format!(
            "the verdict on the call `{id}` of `{tool}` was {}, and is {} now",
            recorded.0.as_str(),
            verdict.as_str()
        );
        let line = |verdict: CallJudgement, reason: &str| {
            format!("{}{}: {reason}\n", shown(call), verdict.as_str())
        };
        let difference = CassetteDifference::new(DifferenceKind::Verdict, message);
        Err(difference.between(&line(recorded.0, &recorded.1), &line(verdict, reason)))
    }

    /// Returns the user's answer to a question about a call, or about the whole run.
    pub fn answer(&mut self, id: Option<&str>) -> Result<TimedEvent, CassetteDifference> {
        match self.next(EventSlot::Answered, id.unwrap_or_default()) {
            Some(happened) => Ok(happened),
            None => self.stopped(&match id {
                Some(id) => format!("the call `{id}` needed no approval before"),
                None => "there was no question whether to continue before".to_owned(),
            }),
        }
    }

    /// Returns the result of a call.
    pub fn result(&mut self, call: &ToolCall) -> Result<TimedEvent, CassetteDifference> {
        match self.next(EventSlot::Ended, &call.id) {
            Some(happened) => Ok(happened),
            None => {
                let message =
                    format!("the call `{}` of `{}` was not run before", call.id, call.tool);
                let stopped = self.stopped(&message);
                stopped.map_err(|difference| difference.between("", &shown(call)))
            }
        }
    }

    /// Returns the directory that a call changed to, if it did.
    pub fn moved(&mut self, call: &ToolCall) -> Option<String> {
        // A script may have changed it several times.
        let moved = std::iter::from_fn(|| self.next(EventSlot::Moved, &call.id));
        match moved.last()?.event {
            RunEvent::Moved { directory } => Some(directory),
            _ => None,
        }
    }

    /// Checks that the run ends where the recorded one ended.
    pub fn finish(&self) -> Result<(), CassetteDifference> {
        if !self.turns.is_empty() {
            let message = format!(
                "the run ends, but the model was asked {} more times when this was recorded",
                self.turns.len()
            );
            return Err(CassetteDifference::new(DifferenceKind::Length, message));
        }
        let ended = |((slot, _), events): &(&(EventSlot, String), &VecDeque<TimedEvent>)| {
            *slot == EventSlot::Ended && !events.is_empty()
        };
        match self.events.iter().find(ended) {
            Some(((_, id), _)) => {
                let message =
                    format!("the call `{id}` was run when this was recorded, and is not now");
                Err(CassetteDifference::new(DifferenceKind::Calls, message))
            }
            None => Ok(()),
        }
    }

    fn next(&mut self, slot: EventSlot, id: &str) -> Option<TimedEvent> {
        let happened = self.events.get_mut(&(slot, id.to_owned()))?.pop_front()?;
        Some(self.play(happened))
    }

    /// Returns the recorded cancellation at this point, or a difference if there is none.
    fn stopped(&mut self, otherwise: &str) -> Result<TimedEvent, CassetteDifference> {
        if self.stopping.is_none() {
            self.stopping = self.cancelled.pop_front();
        }
        match self.stopping.clone() {
            Some(cancelled) => Ok(self.play(cancelled)),
            None => Err(CassetteDifference::new(DifferenceKind::Calls, otherwise)),
        }
    }

    /// Returns a recorded event with the directories of this machine.
    fn play(&mut self, happened: TimedEvent) -> TimedEvent {
        self.now = self.now.max(happened.at);
        convert(&happened, |value| self.places.show(value)).unwrap_or(happened)
    }

    /// Converts a present value to its recorded form.
    fn as_recorded<T: Serialize + DeserializeOwned + Clone>(&self, now: &T) -> T {
        let hidden = convert(now, |value| self.redactor.value(self.places.hide(value)));
        hidden.unwrap_or_else(|| now.clone())
    }

    fn compare_system(&self, now: &str) -> Result<(), CassetteDifference> {
        let recorded = &self.last.system;
        let now = self.as_recorded(&now.to_owned());
        if equals_redacted(recorded, &now) {
            return Ok(());
        }
        let difference =
            CassetteDifference::new(DifferenceKind::Prompt, "the system prompt is another one");
        Err(difference.between(recorded, &now))
    }

    fn compare_tools(&self, now: &[ToolSpec]) -> Result<(), CassetteDifference> {
        let recorded = &self.last.tools;
        let now =
            self.as_recorded(&now.iter().map(RecordedTool::from).collect::<Vec<RecordedTool>>());
        if *recorded == now {
            return Ok(());
        }
        let names = |tools: &[RecordedTool]| {
            tools.iter().flat_map(|tool| [tool.name.as_str(), "\n"]).collect::<String>()
        };
        let (before, after) = (names(recorded), names(&now));
        if before != after {
            let difference =
                CassetteDifference::new(DifferenceKind::Tools, "the model is given other tools");
            return Err(difference.between(&before, &after));
        }
        let changed = recorded.iter().zip(&now).find(|(recorded, now)| recorded != now);
        let Some((recorded, now)) = changed else { return Ok(()) };
        let message = format!("the description of the tool `{}` changed", now.name);
        Err(CassetteDifference::new(DifferenceKind::Tools, message)
            .between(&written(recorded), &written(now)))
    }

    /// Compares the messages. The first `kept` were recorded with the request before.
    fn compare_messages(
        &self,
        kept: usize,
        now: &[Arc<Message>],
    ) -> Result<(), CassetteDifference> {
        // Messages that were equal in the last request need no second comparison.
        let known = same(&self.seen, now).min(kept);
        let recorded = self.last.messages.get(known..).unwrap_or_default();
        let now = now.get(known..).unwrap_or_default();
        for (at, (recorded, now)) in recorded.iter().zip(now).enumerate() {
            let now = self.as_recorded(now.as_ref());
            if recorded == &now || equals_redacted(&message_text(recorded), &message_text(&now)) {
                continue;
            }
            let message = format!("message {} of the conversation is another one", known + at + 1);
            let difference = CassetteDifference::new(DifferenceKind::Prompt, message);
            return Err(difference.between(&message_text(recorded), &message_text(&now)));
        }
        if recorded.len() == now.len() {
            return Ok(());
        }
        let message = format!(
            "the conversation has {} messages, and had {} when this was recorded",
            known + now.len(),
            known + recorded.len()
        );
        Err(CassetteDifference::new(DifferenceKind::Prompt, message))
    }
}

fn convert<T: Serialize + DeserializeOwned>(
    value: &T,
    change: impl Fn(Value) -> Value,
) -> Option<T> {
    serde_json::from_value(change(serde_json::to_value(value).ok()?)).ok()
}
