//! Edits of text, and whether they may be applied without asking.

use crate::source::Span;

/// Replaces the text at a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The text that is replaced; empty to insert.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// A way to repair a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The effect as a command: `quote the value`.
    pub title: String,
    /// The edits; they do not overlap.
    pub edits: Vec<TextEdit>,
    /// Whether `--fix` applies it.
    pub applicability: Applicability,
    /// Whether one word takes the place of another, which may be in quotes.
    is_word: bool,
}

/// Which option applies a [`Fix`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applicability {
    /// Keeps the meaning: `--fix` applies it.
    Safe,
    /// May change the meaning: `--fix-unsafe` applies it.
    Unsafe,
}

impl Fix {
    /// A fix that keeps the meaning.
    pub fn safe(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self::one(title, span, text, Applicability::Safe)
    }

    /// A fix that the user should review.
    pub fn unsafe_(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self::one(title, span, text, Applicability::Unsafe)
    }

    /// A fix by several edits.
    pub fn several(
        title: impl Into<String>,
        edits: Vec<TextEdit>,
        applicability: Applicability,
    ) -> Self {
        Self { title: title.into(), edits, applicability, is_word: false }
    }

    /// A fix that writes another word, which the user should review. Quotes around the word stay.
    pub fn word(title: impl Into<String>, span: Span, word: impl Into<String>) -> Self {
        Self { is_word: true, ..Self::unsafe_(title, span, word) }
    }

    /// Adds the quotes of the words that are replaced; `slice` returns the text at a span.
    pub fn quote_words<'t>(&mut self, slice: impl Fn(Span) -> &'t str) {
        if !std::mem::take(&mut self.is_word) {
            return;
        }
        for edit in &mut self.edits {
            let written = slice(edit.span);
            let quote = ['"', '\''].into_iter().find(|quote| written.starts_with(*quote));
            if let Some(quote) =
                quote.filter(|quote| written.len() > 1 && written.ends_with(*quote))
            {
                edit.text = format!("{quote}{}{quote}", edit.text);
            }
        }
    }

    fn one(
        title: impl Into<String>,
        span: Span,
        text: impl Into<String>,
        applicability: Applicability,
    ) -> Self {
        let edits = vec![TextEdit { span, text: text.into() }];
        Self::several(title, edits, applicability)
    }
}

/// Applies as many of `fixes` to `text` as do not overlap, earlier ones first.
/// All edits must be in the file with this text. Returns the new text and the indexes of the applied fixes.
pub fn apply<'a>(text: &str, fixes: impl IntoIterator<Item = &'a Fix>) -> (String, Vec<usize>) {
    let mut taken: Vec<&TextEdit> = Vec::new();
    let mut applied = Vec::new();
    for (at, fix) in fixes.into_iter().enumerate() {
        let fits = |edit: &TextEdit| {
            text.get(edit.span.range()).is_some() && !taken.iter().any(|other| clash(edit, other))
        };
        // A fix is applied as a whole or not at all: half of one could break the file.
        if fix.edits.iter().all(fits) {
            taken.extend(&fix.edits);
            applied.push(at);
        }
    }
    taken.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in taken {
        let range = edit.span.range();
        out.push_str(text.get(at..range.start).unwrap_or(""));
        out.push_str(&edit.text);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    (out, applied)
}

/// Reports whether two edits overlap or start at the same byte.
fn clash(a: &TextEdit, b: &TextEdit) -> bool {
    // Two insertions at one byte have no defined order, so they clash as well.
    a.span.start == b.span.start || (a.span.start < b.span.end && b.span.start < a.span.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    #[test]
    fn overlapping_fixes_wait_for_the_next_round() {
        let fix = |start, end, text: &str| Fix::safe("x", Span::new(FileId(0), start, end), text);
        let cases = [
            (vec![fix(0, 1, "A"), fix(2, 3, "C")], "AbC", vec![0, 1]),
            (vec![fix(0, 2, "x"), fix(1, 3, "y")], "xc", vec![0]),
            (vec![fix(1, 1, "-"), fix(1, 1, "+")], "a-bc", vec![0]),
            (vec![fix(9, 12, "out of the text")], "abc", vec![]),
        ];
        for (fixes, expected, applied) in cases {
            assert_eq!(apply("abc", &fixes), (expected.to_owned(), applied));
        }
    }
}
