//! Server-sent events with a limit, and with the numbers that a client needs to go on after a break. The
//! providers of models send the same streams, so the runtime reads theirs here too.

use crate::failure::McpFailure;

/// An event exceeds the limit, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong(pub usize);

impl From<EventTooLong> for McpFailure {
    fn from(EventTooLong(most): EventTooLong) -> Self {
        Self::TooLong(most)
    }
}

/// The kind of an event that names none.
const MESSAGE: &str = "message";

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamEvent {
    /// Its kind; `message` if none is given.
    pub kind: String,
    /// Its data.
    pub data: String,
}

/// Assembles events from pieces of bytes.
#[derive(Debug, Default)]
pub struct EventStream {
    most: usize,
    /// Whether a line of JSON without a field name is an event of its own.
    has_json_lines: bool,
    /// The bytes of an incomplete line.
    line: Vec<u8>,
    event: StreamEvent,
    has_data: bool,
    /// The last number of an event.
    pub last_id: Option<String>,
    /// The pause before the next connection that the server wishes, in milliseconds.
    pub retry: Option<u64>,
}

impl EventStream {
    /// Creates a reader of events of at most this many bytes.
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Takes a line of JSON as an event too: some servers send such lines in place of events.
    #[must_use]
    pub fn with_json_lines(self) -> Self {
        Self { has_json_lines: true, ..self }
    }

    /// Takes bytes, and returns the events that are complete.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<StreamEvent>, EventTooLong> {
        let mut found = Vec::new();
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            self.line.extend_from_slice(line);
            found.extend(self.end_line());
            if self.event.data.len() > self.most {
                return Err(EventTooLong(self.most));
            }
        }
        self.line.extend_from_slice(last);
        if self.line.len() + self.event.data.len() > self.most {
            return Err(EventTooLong(self.most));
        }
        Ok(found)
    }

    /// Returns the unfinished event at the end of a stream.
    pub fn last(mut self) -> Option<StreamEvent> {
        let last = self.end_line();
        last.or_else(|| self.whole_line(""))
    }

    fn end_line(&mut self) -> Option<StreamEvent> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line).into_owned();
        self.whole_line(line.trim_end_matches('\r'))
    }

    fn whole_line(&mut self, line: &str) -> Option<StreamEvent> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            if event.kind.is_empty() {
                MESSAGE.clone_into(&mut event.kind);
            }
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.kind),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // A number with a NUL cannot be sent back in a header.
            "id" if value.len() <= 1024 && !value.contains('\0') => {
                self.last_id = Some(value.to_owned());
            }
            "retry" => self.retry = value.parse().ok().or(self.retry),
            _ if self.has_json_lines && line.starts_with('{') => {
                return Some(StreamEvent { kind: MESSAGE.to_owned(), data: line.to_owned() });
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_independent_of_chunk_sizes() {
        let text =
            ": hello\nid: 7\nretry: 500\ndata: {\n\nevent: endpoint\ndata: /x\r\ndata: y\r\n\r\n";
        for size in 1..text.len() {
            let mut events = EventStream::new(1000);
            let pieces = text.as_bytes().chunks(size);
            let found: Vec<_> = pieces.flat_map(|piece| events.take(piece).unwrap()).collect();
            let found: Vec<_> = found.iter().map(|it| (&*it.kind, &*it.data)).collect();
            assert_eq!(found, [("message", "{"), ("endpoint", "/x\ny")], "{size}");
            assert_eq!((events.last_id.as_deref(), events.retry), (Some("7"), Some(500)));
        }
    }

    #[test]
    fn json_lines_and_unfinished_events_are_read() {
        let text = "event: a\ndata: 1\ndata: 2\n\n: comment\ndata: {\"x\":1}\r\n\r\n{\"line\":2}\ndata: last";
        let events = [("a", "1\n2"), ("message", "{\"x\":1}"), ("message", "last")];
        let mut with_lines = events.to_vec();
        with_lines.insert(2, ("message", "{\"line\":2}"));
        for size in 1..text.len() {
            for (mut stream, expected) in [
                (EventStream::new(1000), &events[..]),
                (EventStream::new(1000).with_json_lines(), &with_lines),
            ] {
                let pieces = text.as_bytes().chunks(size);
                let mut found: Vec<_> =
                    pieces.flat_map(|piece| stream.take(piece).unwrap()).collect();
                found.extend(stream.last());
                let found: Vec<_> = found.iter().map(|it| (&*it.kind, &*it.data)).collect();
                assert_eq!(found, expected, "{size}");
            }
        }
    }

    #[test]
    fn an_event_without_an_end_is_an_error() {
        let mut events = EventStream::new(1000);
        assert_eq!(events.take(&[b'x'; 1001]), Err(EventTooLong(1000)));
        let mut events = EventStream::new(1000);
        let lines = "data: xxxxxxxxxx\n".repeat(200);
        assert_eq!(events.take(lines.as_bytes()), Err(EventTooLong(1000)));
    }
}
