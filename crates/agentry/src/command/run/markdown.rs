//! Styles Markdown on a terminal as it streams in: headings, emphasis and code. Everything else is
//! shown as written.

use super::screen::styled_line::{StyledLine, TextLook};

/// The state of the stream.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "looks are independent of each other")]
pub(super) struct MarkdownStream {
    /// Whether markers are shown as written, because there are no colours to replace them.
    is_plain: bool,
    /// The line that is not ended yet, without the text in `run`.
    line: StyledLine,
    /// The last text of the line, which has one look.
    run: String,
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
    /// A stream that leaves the markers in the text.
    pub(super) fn plain() -> Self {
        Self { is_plain: true, ..Self::default() }
    }

    /// Takes the next piece; returns the lines that are complete.
    pub(super) fn push(&mut self, piece: &str) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for char in piece.chars() {
            if self.is_mark(char) {
                self.pending.push(char);
                continue;
            }
            let heading = self.heading;
            self.settle(char);
            // The space after the `#` markers is dropped with them.
            if self.heading && !heading && char == ' ' {
                continue;
            }
            match char {
                '\n' => lines.push(self.end_line()),
                // Before a line break it is part of it.
                '\r' => {}
                _ => {
                    self.inside_line = true;
                    self.run.push(char);
                }
            }
        }
        self.flush();
        lines
    }

    /// The line that is not ended yet.
    pub(super) const fn open_line(&self) -> &StyledLine {
        &self.line
    }

    /// Takes the start of the open line away, because it stands in the scrollback already.
    pub(super) fn keep_only(&mut self, rest: StyledLine) {
        self.line = rest;
    }

    /// The rest at the end of the stream.
    pub(super) fn finish(&mut self) -> Option<StyledLine> {
        // A marker at the very end is resolved as before a line break.
        self.settle('\n');
        self.flush();
        let line = std::mem::take(&mut self.line);
        *self = Self { is_plain: self.is_plain, ..Self::default() };
        (!line.is_empty()).then_some(line)
    }

    /// The look of the text now.
    const fn look(&self) -> TextLook {
        match self {
            Self { code: true, .. } => TextLook::Code,
            Self { fence: true, .. } => TextLook::Dim,
            Self { bold: true, .. } | Self { heading: true, .. } => TextLook::Bold,
            _ => TextLook::Plain,
        }
    }

    /// Moves the text of the present look into the line.
    fn flush(&mut self) {
        let look = self.look();
        self.line.push(look, &std::mem::take(&mut self.run));
    }

    /// Ends the line, and emphasis with it.
    fn end_line(&mut self) -> StyledLine {
        self.flush();
        self.inside_line = false;
        (self.bold, self.code, self.heading) = (false, false, false);
        std::mem::take(&mut self.line)
    }

    fn is_mark(&self, char: char) -> bool {
        if self.is_plain {
            return false;
        }
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
    fn settle(&mut self, next: char) {
        if self.pending.is_empty() {
            return;
        }
        let marks = std::mem::take(&mut self.pending);
        let at_start = !self.inside_line;
        self.inside_line = true;
        match (marks.as_str(), next) {
            // A fence is kept, so that the block stays visible without colours.
            ("```", _) if at_start => {
                self.flush();
                self.line.push(TextLook::Dim, &marks);
                self.fence = !self.fence;
            }
            ("`", _) if !self.fence => self.change(|stream| stream.code = !stream.code),
            ("**", _) => self.change(|stream| stream.bold = !stream.bold),
            ("*", ' ') if at_start => self.run.push('•'),
            (hashes, ' ') if hashes.starts_with('#') => {
                self.change(|stream| stream.heading = true);
            }
            // Anything else is literal text.
            _ => self.run.push_str(&marks),
        }
    }

    /// Changes the look of the text that follows.
    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        self.flush();
        change(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The styled text, with tags for escape sequences.
    fn shown(text: &str, size: usize) -> String {
        let mut markdown = MarkdownStream::default();
        let chars: Vec<char> = text.chars().collect();
        let mut lines = Vec::new();
        for piece in chars.chunks(size) {
            lines.extend(markdown.push(&piece.iter().collect::<String>()));
        }
        lines.extend(markdown.finish());
        let painted: Vec<String> = lines.iter().map(|line| line.painted(true)).collect();
        let tags =
            [("\x1b[1m", "<b>"), ("\x1b[36m", "<c>"), ("\x1b[2m", "<d>"), ("\x1b[0m", "</>")];
        tags.iter().fold(painted.join("\n"), |text, (code, tag)| text.replace(code, tag))
    }

    #[test]
    fn looks_do_not_depend_on_the_pieces() {
        let cases = [
            ("plain", "plain"),
            ("a **b** c\n", "a <b>b</> c"),
            ("use `x` now\n", "use <c>x</> now"),
            ("# Title\ntext\n", "<b>Title</>\ntext"),
            ("C# is no heading\n", "C# is no heading"),
            ("2 * 3 * 4\n", "2 * 3 * 4"),
            ("* one\n- two\n", "• one\n- two"),
            (
                "```rust\nlet a = b ** c;\n```\nend\n",
                "<d>```rust</>\n<d>let a = b ** c;</>\n<d>```</>\nend",
            ),
            ("**never closed\nnext\n", "<b>never closed</>\nnext"),
            ("`a **b** c`\n", "<c>a **b** c</>"),
            ("hello **you**", "hello <b>you</>"),
            ("run `x`", "run <c>x</>"),
            ("2 *", "2 *"),
            ("one\r\ntwo", "one\ntwo"),
            ("\x1b]52;c;x\x07", "\\u{1b}]52;c;x\\u{7}"),
        ];
        for (text, expected) in cases {
            for size in 1..8 {
                assert_eq!(shown(text, size), expected, "{text:?} in pieces of {size}");
            }
        }
    }
}
