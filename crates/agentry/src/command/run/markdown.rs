//! Styles Markdown on a terminal as it streams in: headings, emphasis and code. Everything else is
//! printed as written.

/// The escape sequences of the styles.
const BOLD: &str = "\x1b[1m";
const CODE: &str = "\x1b[36m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// The state of the stream.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "looks are independent of each other")]
pub(super) struct MarkdownStream {
    /// Markers that may still grow: `*`, `` ` ``, `#`.
    pending: String,
    /// Whether the current line has text already.
    inside_line: bool,
    bold: bool,
    code: bool,
    heading: bool,
    fence: bool,
}

impl MarkdownStream {
    /// The next piece, styled.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for char in piece.chars() {
            if self.is_mark(char) {
                self.pending.push(char);
                continue;
            }
            let heading = self.heading;
            self.settle(char, &mut out);
            // The space after the `#` markers is dropped with them.
            if self.heading && !heading && char == ' ' {
                continue;
            }
            if char == '\n' {
                self.end_of_line(&mut out);
            } else {
                self.inside_line = true;
            }
            out.push(char);
        }
        out
    }

    /// The rest at the end of the stream.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        // A marker at the very end is resolved as before a line break.
        self.settle('\n', &mut out);
        if self.bold || self.code || self.heading || self.fence {
            out.push_str(PLAIN);
        }
        *self = Self::default();
        out
    }

    fn is_mark(&self, char: char) -> bool {
        if !self.pending.is_empty() {
            // Only the same character extends a marker.
            return self.pending.starts_with(char);
        }
        match char {
            '`' => true,
            '*' => !self.code && !self.fence,
            '#' => !self.inside_line && !self.fence,
            _ => false,
        }
    }

    /// Decides what the pending markers before `next` mean.
    fn settle(&mut self, next: char, out: &mut String) {
        let marks = std::mem::take(&mut self.pending);
        let at_start = !self.inside_line;
        if marks.is_empty() {
            return;
        }
        self.inside_line = true;
        match (marks.as_str(), next) {
            // A fence is kept, so that the block stays visible without colours.
            ("```", _) if at_start => {
                self.fence = !self.fence;
                out.push_str(if self.fence { DIM } else { PLAIN });
                out.push_str(&marks);
            }
            ("`", _) if !self.fence => {
                self.code = !self.code;
                self.look(out);
            }
            ("**", _) => {
                self.bold = !self.bold;
                self.look(out);
            }
            ("*", ' ') if at_start => out.push('•'),
            (hashes, ' ') if hashes.starts_with('#') => {
                self.heading = true;
                self.look(out);
            }
            // Anything else is literal text.
            _ => out.push_str(&marks),
        }
    }

    /// Ends emphasis at the end of its line.
    fn end_of_line(&mut self, out: &mut String) {
        self.inside_line = false;
        if self.bold || self.code || self.heading {
            (self.bold, self.code, self.heading) = (false, false, false);
            self.look(out);
        }
    }

    fn look(&self, out: &mut String) {
        out.push_str(PLAIN);
        if self.bold || self.heading {
            out.push_str(BOLD);
        }
        if self.code {
            out.push_str(CODE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The styled text, with tags for escape sequences.
    fn shown(text: &str, size: usize) -> String {
        let mut markdown = MarkdownStream::default();
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::new();
        for piece in chars.chunks(size) {
            out += &markdown.push(&piece.iter().collect::<String>());
        }
        out += &markdown.finish();
        out.replace(BOLD, "<b>").replace(CODE, "<c>").replace(DIM, "<d>").replace(PLAIN, "</>")
    }

    #[test]
    fn looks_do_not_depend_on_the_pieces() {
        let cases = [
            ("plain", "plain"),
            ("a **b** c\n", "a </><b>b</> c\n"),
            ("use `x` now\n", "use </><c>x</> now\n"),
            ("# Title\ntext\n", "</><b>Title</>\ntext\n"),
            ("C# is no heading\n", "C# is no heading\n"),
            ("2 * 3 * 4\n", "2 * 3 * 4\n"),
            ("* one\n- two\n", "• one\n- two\n"),
            ("```rust\nlet a = b ** c;\n```\nend\n", "<d>```rust\nlet a = b ** c;\n</>```\nend\n"),
            ("**never closed\nnext\n", "</><b>never closed</>\nnext\n"),
            ("`a **b** c`\n", "</><c>a **b** c</>\n"),
            ("hello **you**", "hello </><b>you</>"),
            ("run `x`", "run </><c>x</>"),
            ("2 *", "2 *"),
        ];
        for (text, expected) in cases {
            for size in 1..8 {
                assert_eq!(shown(text, size), expected, "{text:?} in pieces of {size}");
            }
        }
    }
}
