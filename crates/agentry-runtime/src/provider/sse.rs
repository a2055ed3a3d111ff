//! Decodes server-sent events, and lines of JSON, from pieces of bytes.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name, if it has one.
    pub name: String,
    /// Its data.
    pub data: String,
}

/// The most bytes of an event.
const LONGEST: usize = 32 << 20;

/// Assembles events from bytes.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The bytes of an incomplete line.
    rest: Vec<u8>,
    event: SseEvent,
    some: bool,
}

/// An event exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseTooLong;

impl SseDecoder {
    /// Takes bytes, and returns the events that are complete.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, SseTooLong> {
        let mut found = Vec::new();
        let mut lines = bytes.split(|c| *c == b'\n');
        // The text after the last line break is the start of the next line.
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            self.rest.extend_from_slice(line);
            found.extend(self.whole_line());
        }
        self.rest.extend_from_slice(last);
        let long = self.rest.len().saturating_add(self.event.data.len()) > LONGEST;
        if long { Err(SseTooLong) } else { Ok(found) }
    }

    /// Returns the unfinished event at the end of the stream.
    pub fn last(mut self) -> Option<SseEvent> {
        let line = self.whole_line();
        line.or_else(|| self.some.then_some(self.event))
    }

    /// Handles a complete line.
    fn whole_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.rest);
        let line = String::from_utf8_lossy(&line);
        self.line(line.trim_end_matches('\r'))
    }

    fn line(&mut self, line: &str) -> Option<SseEvent> {
        if line.is_empty() {
            return std::mem::take(&mut self.some).then(|| std::mem::take(&mut self.event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                // Several data lines of one event are joined by line breaks, by the specification.
                if self.some && !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.some = true;
            }
            // A line of JSON without a field name is also an event: Ollama sends such lines.
            _ if line.starts_with('{') => {
                return Some(SseEvent { name: String::new(), data: line.to_owned() });
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
    fn events_from_any_pieces() {
        let text = "event: a\ndata: 1\ndata: 2\n\n: comment\ndata: {\"x\":1}\r\n\r\n{\"line\":2}\n\
                    data: last";
        let expected = [("a", "1\n2"), ("", "{\"x\":1}"), ("", "{\"line\":2}"), ("", "last")];
        for size in 1..text.len() {
            let mut events = SseDecoder::default();
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                found.extend(events.take(piece).expect("short"));
            }
            found.extend(events.last());
            let found: Vec<_> =
                found.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut events = SseDecoder::default();
        let piece = vec![b'x'; 1 << 20];
        let taken = (0..40).map(|_| events.take(&piece)).find(Result::is_err);
        assert_eq!(taken, Some(Err(SseTooLong)));
    }
}
