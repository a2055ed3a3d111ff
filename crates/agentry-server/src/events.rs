//! The events of a run as server-sent events. Every event of the journal has its sequence number as `id`, so a
//! client continues where it was. Pieces of text have none: the whole text comes with its event.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};

use crate::host::{EventBatch, HostError, LiveSignal, RunHost};
use crate::listen::stopped;

/// The most events that are read at once.
const BATCH: usize = 200;
/// The pause between two looks at a run of another process.
const POLL: Duration = Duration::from_millis(40);
/// So many streams share a pause; with more of them each is longer, so that looking costs the same.
const POLLED: u32 = 50;
/// The pause between two looks at a run that reports its events; it is a second wall.
const SLOW_POLL: Duration = Duration::from_secs(2);

/// The pause after which a silent stream gets a comment: clients and proxies give up silent ones, and only writing
/// shows that a client is gone.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);
/// The comment.
pub(crate) const SILENT: &str = ": silent\n\n";

/// The events of a run, as they come. Nothing is read ahead of a slow client but one batch.
pub(crate) struct EventFeed {
    host: Arc<dyn RunHost>,
    run: String,
    /// The sequence number of the last event that was read.
    after: u64,
    signals: Option<broadcast::Receiver<LiveSignal>>,
    /// Becomes true when the server ends.
    stop: watch::Receiver<bool>,
    /// Freed for another stream.
    place: OwnedSemaphorePermit,
    /// How many places there are.
    places: usize,
    ready: VecDeque<NumberedEvent>,
    is_over: bool,
    looks: bool,
    /// The pieces of the turn under way.
    sent: String,
    /// What the journal had of the last turn before its pieces came: they are late, and would say it twice.
    late: String,
}

/// An event with its sequence number, if it is in the journal.
pub(crate) type NumberedEvent = (Option<u64>, Value);

impl EventFeed {
    /// The events after a sequence number.
    pub(crate) fn new(
        host: Arc<dyn RunHost>,
        (run, after): (String, u64),
        stop: watch::Receiver<bool>,
        (place, places): (OwnedSemaphorePermit, usize),
    ) -> Self {
        // Before the journal is read, so that nothing is missed in between.
        let signals = host.signals(&run);
        let (ready, is_over, looks) = (VecDeque::new(), false, true);
        let (sent, late) = (String::new(), String::new());
        Self { host, run, after, signals, stop, place, places, ready, is_over, looks, sent, late }
    }

    /// The next event; `None` after the end.
    pub(crate) async fn next(&mut self) -> Option<NumberedEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if self.is_late(&event) {
                    continue;
                }
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            if self.looks {
                self.look().await;
            } else {
                self.wait().await;
            }
        }
    }

    /// Whether an event is a piece of a text that was sent as a whole already: the journal can be ahead of the signals.
    fn is_late(&mut self, (sequence, event): &NumberedEvent) -> bool {
        let text = event["text"].as_str().unwrap_or_default();
        match (sequence, event["type"].as_str().unwrap_or_default()) {
            (Some(_), "turn") => {
                let sent = std::mem::take(&mut self.sent);
                text.strip_prefix(sent.as_str()).unwrap_or_default().clone_into(&mut self.late);
                false
            }
            (None, "text") if !text.is_empty() && self.late.starts_with(text) => {
                self.late.drain(..text.len());
                true
            }
            (None, "text") => {
                self.late.clear();
                self.sent.push_str(text);
                false
            }
            _ => false,
        }
    }

    /// Reads what the journal has now.
    async fn look(&mut self) {
        let (host, run, after) = (Arc::clone(&self.host), self.run.clone(), self.after);
        let read = tokio::task::spawn_blocking(move || host.events(&run, after, BATCH)).await;
        match read.unwrap_or_else(|_| Err(HostError::Failed("the run cannot be read".to_owned()))) {
            Ok(EventBatch { events, ended }) => {
                // A full batch may have more behind it.
                self.looks = events.len() >= BATCH;
                self.after = events.last().map_or(self.after, |(sequence, _)| *sequence);
                self.ready.extend(events.into_iter().map(|(at, event)| (Some(at), event)));
                if let Some(ended) = ended {
                    self.ready.push_back((Some(self.after), ended));
                    self.is_over = true;
                }
            }
            Err(_) => self.is_over = true,
        }
    }

    /// Waits until there may be more.
    async fn wait(&mut self) {
        let open = self.places.saturating_sub(self.place.semaphore().available_permits());
        let share = 1 + u32::try_from(open).unwrap_or(u32::MAX) / POLLED;
        let pause = if self.signals.is_some() { SLOW_POLL } else { POLL } * share;
        let signals = &mut self.signals;
        let signal = async {
            match signals {
                Some(signals) => signals.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stopped(&mut self.stop) => self.is_over = true,
            () = tokio::time::sleep(pause) => self.looks = true,
            signal = signal => match signal {
                Ok(LiveSignal::Piece(piece)) => self.ready.push_back((None, piece)),
                // Pieces may be missed; what is in the journal is not.
                Ok(LiveSignal::Changed) | Err(broadcast::error::RecvError::Lagged(_)) => {
                    self.looks = true;
                }
                Err(broadcast::error::RecvError::Closed) => {
                    self.signals = None;
                    self.looks = true;
                }
            },
        }
    }
}

/// The frames of a stream. `write` turns an event into text; `None` leaves it out.
pub(crate) fn frames(
    feed: EventFeed,
    write: fn(Option<u64>, &Value) -> Option<String>,
) -> impl Stream<Item = String> {
    // The comment opens the stream at once, also if the run is silent.
    let first = Some(": open\n\n".to_owned());
    futures_util::stream::unfold((feed, first), move |(mut feed, mut first)| async move {
        if let Some(text) = first.take() {
            return Some((text, (feed, None)));
        }
        loop {
            // A dropped wait loses no event: each is taken when it is ready.
            let Ok(event) = tokio::time::timeout(SILENCE, feed.next()).await else {
                return Some((SILENT.to_owned(), (feed, None)));
            };
            let (sequence, event) = event?;
            if let Some(text) = write(sequence, &event) {
                return Some((text, (feed, None)));
            }
        }
    })
}

/// An event as the API sends it.
pub(crate) fn as_json(sequence: Option<u64>, event: &Value) -> String {
    let id = sequence.map_or(String::new(), |sequence| format!("id: {sequence}\n"));
    // A JSON text has no line breaks, which would end the event.
    format!("{id}data: {event}\n\n")
}
