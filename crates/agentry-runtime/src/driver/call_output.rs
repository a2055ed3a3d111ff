//! The output of a call while it runs, for the user: redacted, and cut at a limit. The result of the call
//! names the file with the whole output.

use std::sync::Arc;

use crate::context_window::{kept_in, start};
use crate::redact::{RedactingStream, Redactor};

/// The most bytes of output that are shown of one call.
pub(super) const MOST: usize = 256 << 10;

/// The output of one call.
pub(super) struct CallOutput {
    /// Redacts across pieces: a secret may be split between two of them.
    stream: RedactingStream,
    room: usize,
    left_out: usize,
}

impl CallOutput {
    /// Creates it without output.
    pub(super) fn new(redactor: &Arc<Redactor>) -> Self {
        Self { stream: redactor.stream(), room: MOST, left_out: 0 }
    }

    /// Takes a piece in, and returns what is to be shown now.
    pub(super) fn push(&mut self, piece: &str) -> String {
        // After the limit, pieces are only counted.
        if self.left_out > 0 {
            self.left_out = self.left_out.saturating_add(piece.len());
            return String::new();
        }
        let text = self.stream.push(piece);
        self.capped(text)
    }

    /// Returns the rest of the output, and a note about what was left out. `result` may name the file
    /// with the whole output.
    pub(super) fn finish(&mut self, result: &str) -> String {
        let rest = self.stream.finish();
        let rest = self.capped(rest);
        if self.left_out == 0 {
            return rest;
        }
        let place =
            kept_in(result).map_or(String::new(), |path| format!("; all of it is in `{path}`"));
        format!("{rest}\n[{} more bytes are not shown here{place}]\n", self.left_out)
    }

    fn capped(&mut self, text: String) -> String {
        if self.left_out == 0 && text.len() <= self.room {
            self.room -= text.len();
            return text;
        }
        // After the first cut nothing more is shown, even if it would fit.
        let room = if self.left_out == 0 { self.room } else { 0 };
        let shown_text = start(&text, room);
        self.left_out = self.left_out.saturating_add(text.len() - shown_text.len());
        shown_text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::KnownSecret;

    #[test]
    fn printed_output_is_limited() {
        let line = "ä line\n";
        let cases = [
            ("little", 10, "", None),
            ("as much as there is room for", MOST / line.len(), "", None),
            ("more", MOST, "r", Some("")),
            ("kept", MOST, "r\n[1 bytes are left out here; all of it is in `/f`]", Some("/f")),
        ];
        for (case, lines, result, left_out) in cases {
            let mut printed = CallOutput::new(&Arc::default());
            let mut shown_text: String = (0..lines).map(|_| printed.push(line)).collect();
            assert!(shown_text.len() <= MOST, "{case}: {}", shown_text.len());
            let before = shown_text.len();
            shown_text += &printed.finish(result);
            let note = left_out.map(|path| {
                let place = if path.is_empty() {
                    String::new()
                } else {
                    format!("; all of it is in `{path}`")
                };
                format!(
                    "\n[{} more bytes are not shown here{place}]\n",
                    lines * line.len() - before
                )
            });
            assert_eq!(shown_text.get(before..), Some(note.unwrap_or_default().as_str()), "{case}");
        }
    }

    #[test]
    fn a_secret_split_over_two_chunks_is_redacted() {
        let redactor = Arc::new(Redactor::new(KnownSecret::new("KEY", "hunter2hunter2")));
        let mut printed = CallOutput::new(&redactor);
        let shown_text = ["is hunter2", "hunter2\n"].map(|piece| printed.push(piece)).concat();
        assert_eq!(shown_text + &printed.finish(""), "is [redacted: KEY]\n");
    }
}
