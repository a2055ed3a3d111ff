//! Keys from the bytes that a terminal sends. Only the keys that a run has a use for; every other sequence
//! is read to its end and dropped, so that it never becomes text.

/// A key that was pressed, or pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::command::run) enum PressedKey {
    /// A character, or a pasted text.
    Text(String),
    Enter,
    Backspace,
    Escape,
    Up,
    Down,
    /// A letter with Ctrl: `'u'`.
    Control(char),
}

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Decodes bytes as they arrive.
#[derive(Debug, Default)]
pub(in crate::command::run) struct KeyDecoder {
    /// Bytes of an unfinished key.
    rest: Vec<u8>,
}

impl KeyDecoder {
    /// The keys in these bytes. An unfinished one waits for more.
    pub(in crate::command::run) fn push(&mut self, bytes: &[u8]) -> Vec<PressedKey> {
        self.rest.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = next(&self.rest) {
            self.rest.drain(..length);
            keys.extend(key);
        }
        keys
    }

    /// Whether an escape character waits for the rest of its sequence.
    pub(in crate::command::run) fn is_at_escape(&self) -> bool {
        self.rest.first() == Some(&0x1b) && !self.rest.starts_with(PASTE_BEGIN)
    }

    /// The key if no more bytes come: a sequence that is not finished is the Escape key.
    pub(in crate::command::run) fn finish(&mut self) -> Option<PressedKey> {
        let is_escape = self.rest == [0x1b];
        self.rest.clear();
        is_escape.then_some(PressedKey::Escape)
    }
}

/// The first key of the bytes and its length; `None` if more bytes are needed. A sequence without use has
/// no key.
fn next(bytes: &[u8]) -> Option<(Option<PressedKey>, usize)> {
    let key = match *bytes.first()? {
        0x1b => return sequence(bytes),
        b'\r' | b'\n' => PressedKey::Enter,
        0x7f | 0x08 => PressedKey::Backspace,
        byte @ 1..=26 => PressedKey::Control(char::from(b'a' + byte - 1)),
        0..=31 => return Some((None, 1)),
        _ => return text(bytes),
    };
    Some((Some(key), 1))
}

/// A sequence that starts with the escape character.
fn sequence(bytes: &[u8]) -> Option<(Option<PressedKey>, usize)> {
    if bytes.starts_with(PASTE_BEGIN) {
        let end = bytes.windows(PASTE_END.len()).position(|it| it == PASTE_END)?;
        let text = String::from_utf8_lossy(bytes.get(PASTE_BEGIN.len()..end)?).into_owned();
        return Some((Some(PressedKey::Text(text)), end + PASTE_END.len()));
    }
    match *bytes.get(1)? {
        // A control sequence ends with a letter or one of `@`, `[` … `~`.
        b'[' => {
            let end = bytes.iter().skip(2).position(|byte| matches!(byte, 0x40..=0x7e))?;
            // With a number it is another key, or one with a modifier.
            let letter = bytes.get(2).copied().filter(|_| end == 0);
            Some((letter.and_then(arrow), end + 3))
        }
        b'O' => bytes.get(2).map(|letter| (arrow(*letter), 3)),
        0x1b => Some((Some(PressedKey::Escape), 1)),
        // A key with Alt.
        _ => Some((None, 2)),
    }
}

/// The arrow key whose sequence ends with this letter.
const fn arrow(letter: u8) -> Option<PressedKey> {
    match letter {
        b'A' => Some(PressedKey::Up),
        b'B' => Some(PressedKey::Down),
        _ => None,
    }
}

/// The characters up to the next key that is not text.
fn text(bytes: &[u8]) -> Option<(Option<PressedKey>, usize)> {
    let end = bytes.iter().position(|byte| *byte < 0x20 || *byte == 0x7f).unwrap_or(bytes.len());
    let run = bytes.get(..end)?;
    let (valid, length) = match std::str::from_utf8(run) {
        Ok(text) => (text.to_owned(), end),
        Err(error) => {
            let valid = run.get(..error.valid_up_to()).unwrap_or_default();
            let valid = String::from_utf8_lossy(valid).into_owned();
            match error.error_len() {
                // The rest of the character is still to come.
                None if valid.is_empty() && end == bytes.len() => return None,
                None if end == bytes.len() => (valid, error.valid_up_to()),
                bad => (valid, error.valid_up_to() + bad.unwrap_or(1)),
            }
        }
    };
    let key = (!valid.is_empty()).then_some(PressedKey::Text(valid));
    Some((key, length.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded_independent_of_chunk_sizes() {
        let text = |text: &str| PressedKey::Text(text.to_owned());
        let cases: [(&[u8], Vec<PressedKey>); 7] = [
            (b"y\r", vec![text("y"), PressedKey::Enter]),
            ("é日".as_bytes(), vec![text("é"), text("日")]),
            (
                b"\x1b[A\x1bOB\x1b[1;5Ax\x1b[Cy",
                vec![PressedKey::Up, PressedKey::Down, text("x"), text("y")],
            ),
            (b"\x1b[200~a\rb\x1b[201~\r", vec![text("a\rb"), PressedKey::Enter]),
            (b"a\x7f\x15", vec![text("a"), PressedKey::Backspace, PressedKey::Control('u')]),
            (b"\xff\xfeok", vec![text("o"), text("k")]),
            (b"\x1bx\x1b\x1b[A", vec![PressedKey::Escape, PressedKey::Up]),
        ];
        for (bytes, expected) in cases {
            for size in 1..=bytes.len() {
                let mut decoder = KeyDecoder::default();
                let keys = bytes.chunks(size).flat_map(|piece| decoder.push(piece));
                assert_eq!(joined(keys.collect()), joined(expected.clone()), "{bytes:?} by {size}");
            }
        }
    }

    /// Neighbouring texts as one.
    fn joined(keys: Vec<PressedKey>) -> Vec<PressedKey> {
        let mut out: Vec<PressedKey> = Vec::new();
        for key in keys {
            match (out.last_mut(), key) {
                (Some(PressedKey::Text(before)), PressedKey::Text(text)) => before.push_str(&text),
                (_, key) => out.push(key),
            }
        }
        out
    }

    #[test]
    fn only_a_lone_escape_byte_is_the_escape_key() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert!(decoder.is_at_escape());
        assert_eq!(decoder.finish(), Some(PressedKey::Escape));
        assert_eq!(decoder.push(b"\x1b["), []);
        assert_eq!(decoder.finish(), None, "an unfinished sequence is dropped");
    }
}
