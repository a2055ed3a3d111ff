//! Redacts text in pieces, where a secret may be split between two of them.

use std::sync::Arc;

use super::{Redactor, private_key};

/// The most bytes that are held back, beside the longest secret.
const MOST: usize = 2 * private_key::LONGEST;

/// Redacts pieces as they arrive. The results together are the redacted text of all pieces.
#[derive(Debug)]
pub struct RedactingStream {
    redactor: Arc<Redactor>,
    held: String,
    unit: StreamUnit,
}

/// The unit that is returned as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamUnit {
    Lines,
    Words,
}

impl RedactingStream {
    pub(super) fn new(redactor: Arc<Redactor>, unit: StreamUnit) -> Self {
        Self { redactor, held: String::new(), unit }
    }

    /// Takes a piece in, and returns whole lines or words that no later piece can change.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let cut = self.cut();
        let rest = self.held.split_off(cut);
        let out = std::mem::replace(&mut self.held, rest);
        self.redactor.text(&out)
    }

    /// Returns the rest. The next piece starts a new text.
    pub fn finish(&mut self) -> String {
        self.redactor.text(&std::mem::take(&mut self.held))
    }

    /// Returns where the text that can be returned ends: after a break that no secret crosses.
    fn cut(&self) -> usize {
        let is_full = self.held.len() >= MOST + self.redactor.longest;
        let across = match self.unit {
            StreamUnit::Lines => self.redactor.across,
            StreamUnit::Words => self.redactor.across_words,
        };
        let mut cut = self.break_before(self.held.len().saturating_sub(across));
        if cut == 0 && !is_full {
            return 0;
        }
        let hits = self.redactor.hits(&self.held);
        // From the end, because moving the cut back may affect an earlier hit.
        for hit in hits.iter().rev() {
            let goes_on = hit.is_open || hit.reach > cut;
            if hit.range.start < cut && goes_on {
                cut = self.break_before(hit.range.start);
            }
        }
        if cut > 0 || !is_full {
            return cut;
        }
        // A line without an end: a very long secret may be split here, because memory must have a bound.
        let at = self.held.floor_char_boundary(self.held.len() - self.redactor.longest - MOST / 2);
        let across = hits.iter().find(|hit| hit.range.start < at && hit.range.end > at);
        across.map_or(at, |hit| if hit.range.start > 0 { hit.range.start } else { hit.range.end })
    }

    /// Returns the end of the last break in the first `end` bytes. The first line of a private key has
    /// several words, so nothing after two dashes is returned on its own.
    fn break_before(&self, end: usize) -> usize {
        let bytes = self.held.as_bytes().get(..end).unwrap_or_default();
        let is_line = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let line = bytes.iter().rposition(is_line).map_or(0, |at| at + 1);
        if self.unit == StreamUnit::Lines {
            return line;
        }
        let rest = bytes.get(line..).unwrap_or_default();
        let dashes = rest.windows(2).position(|pair| pair == b"--").unwrap_or(rest.len());
        let words = rest.get(..dashes).unwrap_or_default();
        line + words.iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
impl RedactingStream {
    pub(super) fn held_bytes(&self) -> usize {
        self.held.len()
    }
}
