//! Server-sent events, and lines of JSON, from pieces of bytes as they come.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name, if it has one.
    pub name: String,
    /// Its data.
    pub data: String,
}

/// The longest event.
const LONGEST: usize = 32 << 20;

/// Puts events together.
#[derive(Debug, Default)]
pub struct Events {
    rest: Vec<u8>,
    event: Event,
    some: bool,
}

/// An event grew too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    /// Takes bytes in and gives the events that are complete.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > LONGEST || self.event.data.len() > LONGEST {
            return Err(TooLong);
        }
        let mut found = Vec::new();
        let mut start = 0;
        while let Some(at) =
            self.rest.get(start..).and_then(|rest| rest.iter().position(|c| *c == b'\n'))
        {
            let line = self.rest.get(start..start + at).unwrap_or_default();
            let line = String::from_utf8_lossy(line).trim_end_matches('\r').to_owned();
            start += at + 1;
            found.extend(self.line(&line));
        }
        self.rest.drain(..start);
        Ok(found)
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            return std::mem::take(&mut self.some).then(|| std::mem::take(&mut self.event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.some && !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.some = true;
            }
            // A line of JSON by itself is an event as well.
            _ if line.starts_with('{') => {
                return Some(Event { name: String::new(), data: line.to_owned() });
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
        let text = "event: a\ndata: 1\ndata: 2\n\n: comment\ndata: {\"x\":1}\r\n\r\n{\"line\":2}\n";
        let expected = [("a", "1\n2"), ("", "{\"x\":1}"), ("", "{\"line\":2}")];
        for size in 1..text.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                found.extend(events.take(piece).expect("short"));
            }
            let found: Vec<_> =
                found.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
            assert_eq!(found, expected, "{size}");
        }
    }
}
