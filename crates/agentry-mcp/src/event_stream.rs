//! Server-sent events with a limit, and with the numbers that a client needs to go on after a break.

use crate::failure::McpFailure;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    /// Its kind; `message` if none is given.
    pub(crate) kind: String,
    /// Its data.
    pub(crate) data: String,
}

/// Assembles events from pieces of bytes.
#[derive(Debug, Default)]
pub(crate) struct EventStream {
    most: usize,
    /// The bytes of an incomplete line.
    line: Vec<u8>,
    event: StreamEvent,
    has_data: bool,
    /// The last number of an event.
    pub(crate) last_id: Option<String>,
    /// The pause before the next connection that the server wishes, in milliseconds.
    pub(crate) retry: Option<u64>,
}

impl EventStream {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Takes bytes, and returns the events that are complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<StreamEvent>, McpFailure> {
        let mut found = Vec::new();
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            self.line.extend_from_slice(line);
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(&line).into_owned();
            found.extend(self.whole_line(line.trim_end_matches('\r')));
            if self.event.data.len() > self.most {
                return Err(McpFailure::TooLong(self.most));
            }
        }
        self.line.extend_from_slice(last);
        if self.line.len() + self.event.data.len() > self.most {
            return Err(McpFailure::TooLong(self.most));
        }
        Ok(found)
    }

    fn whole_line(&mut self, line: &str) -> Option<StreamEvent> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            if event.kind.is_empty() {
                "message".clone_into(&mut event.kind);
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
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_from_any_pieces() {
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
    fn an_event_without_an_end_is_an_error() {
        let mut events = EventStream::new(1000);
        assert_eq!(events.take(&[b'x'; 1001]), Err(McpFailure::TooLong(1000)));
        let mut events = EventStream::new(1000);
        let lines = "data: xxxxxxxxxx\n".repeat(200);
        assert_eq!(events.take(lines.as_bytes()), Err(McpFailure::TooLong(1000)));
    }
}
