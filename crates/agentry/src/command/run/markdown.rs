//! Styles Markdown on a terminal as it streams in: headings, emphasis, lists, quotes, links, tables and code.
//! Everything else is shown as written.

use super::markdown_table::{MOST_ROWS, is_table_row};
use super::screen::styled_line::{StyledLine, TextLook};

/// A part of the text that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkdownBlock {
    /// A line that may be broken between words.
    Prose(StyledLine),
    /// A line that is left to the terminal, so that it is copied as it is.
    Code(StyledLine),
    /// The rows of a table.
    Table(Vec<StyledLine>),
}

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
    /// Whether the current line is a marker of its own, which is not shown.
    is_fence_line: bool,
    /// The rows of a table that is not complete.
    table: Vec<StyledLine>,
}

impl MarkdownStream {
    /// A stream that leaves the markers in the text.
    pub(super) fn plain() -> Self {
        Self { is_plain: true, ..Self::default() }
    }

    /// Takes the next piece; returns the blocks that are complete.
    pub(super) fn push(&mut self, piece: &str) -> Vec<MarkdownBlock> {
        let mut blocks = Vec::new();
        let mut rest = piece;
        while let Some(char) = rest.chars().next() {
            let plain = self.plain_length(rest);
            if plain > 0 {
                self.run.push_str(rest.get(..plain).unwrap_or_default());
                rest = rest.get(plain..).unwrap_or_default();
                continue;
            }
            rest = rest.get(char.len_utf8()..).unwrap_or_default();
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
                '\n' => self.end_line(&mut blocks),
                // Before a line break it is part of it.
                '\r' => {}
                // Lists can be inside each other, so a marker may follow spaces.
                ' ' if !self.inside_line => self.run.push(char),
                _ => {
                    self.inside_line = true;
                    self.run.push(char);
                }
            }
        }
        self.flush();
        blocks
    }

    /// The length of the text before anything that can be a marker or end the line.
    fn plain_length(&self, text: &str) -> usize {
        if !self.inside_line || !self.pending.is_empty() {
            return 0;
        }
        text.find(['`', '*', '\n', '\r']).unwrap_or(text.len())
    }

    /// The rows of the table that is not complete.
    pub(super) fn open_table(&self) -> &[StyledLine] {
        &self.table
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
    pub(super) fn finish(&mut self) -> Vec<MarkdownBlock> {
        let mut blocks = Vec::new();
        // A marker at the very end is resolved as before a line break.
        self.settle('\n');
        self.flush();
        if !self.line.is_empty() {
            self.end_line(&mut blocks);
        }
        self.end_table(&mut blocks);
        *self = Self { is_plain: self.is_plain, ..Self::default() };
        blocks
    }

    /// The look of the text now.
    const fn look(&self) -> TextLook {
        match self {
            Self { code: true, .. } | Self { fence: true, .. } => TextLook::Code,
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
    fn end_line(&mut self, blocks: &mut Vec<MarkdownBlock>) {
        self.flush();
        let line = std::mem::take(&mut self.line);
        let (is_marker, is_code) = (self.is_fence_line, self.fence);
        self.inside_line = false;
        (self.bold, self.code, self.heading, self.is_fence_line) = (false, false, false, false);
        if is_marker {
            return;
        }
        let is_row = !self.is_plain && !is_code && is_table_row(&line);
        if is_row && self.table.len() < MOST_ROWS {
            return self.table.push(line);
        }
        self.end_table(blocks);
        blocks.push(match is_code {
            true => MarkdownBlock::Code(StyledLine::new(TextLook::Plain, CODE_INDENT).and(&line)),
            false if self.is_plain => MarkdownBlock::Prose(line),
            false => MarkdownBlock::Prose(with_links(line)),
        });
    }

    fn end_table(&mut self, blocks: &mut Vec<MarkdownBlock>) {
        if !self.table.is_empty() {
            blocks.push(MarkdownBlock::Table(std::mem::take(&mut self.table)));
        }
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
            '#' | '-' | '>' => !self.inside_line && !self.fence,
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
            // A block of code has a colour and an indent of its own.
            ("```", _) if at_start => {
                self.change(|stream| stream.fence = !stream.fence);
                self.is_fence_line = true;
            }
            ("`", _) if !self.fence => self.change(|stream| stream.code = !stream.code),
            ("**", _) => self.change(|stream| stream.bold = !stream.bold),
            ("*" | "-", ' ') if at_start => self.run.push('•'),
            (">", ' ') if at_start => {
                self.flush();
                self.line.push(TextLook::Dim, "▎");
            }
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

/// The indent of a block of code.
const CODE_INDENT: &str = "  ";

/// The line with `text (address)` for each link. A terminal that makes addresses clickable needs them whole.
fn with_links(line: StyledLine) -> StyledLine {
    if !line.pieces().iter().any(|(_, text)| text.contains("](")) {
        return line;
    }
    let mut out = StyledLine::default();
    for (look, text) in line.pieces() {
        if *look == TextLook::Code {
            out.push(*look, text);
            continue;
        }
        let mut rest = text.as_str();
        while let Some((before, label, address, after)) = next_link(rest) {
            out.push(*look, before);
            out.push(*look, label);
            if label != address {
                out.push(TextLook::Dim, &format!(" ({address})"));
            }
            rest = after;
        }
        out.push(*look, rest);
    }
    out
}

/// The text before the first link, its label and its address, and the text after it.
fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (middle, _) = text.match_indices("](").next()?;
    let start = text.get(..middle)?.rfind('[')?;
    let address = text.get(middle + 2..)?;
    let end = address.find([')', ' '])?;
    let is_link = address.get(end..)?.starts_with(')') && end > 0 && start + 1 < middle;
    is_link.then_some((
        text.get(..start)?,
        text.get(start + 1..middle)?,
        address.get(..end)?,
        address.get(end + 1..)?,
    ))
}

/// The column in which the rows of a broken line continue: below the text of its list item.
pub(super) fn hanging_indent(line: &StyledLine) -> usize {
    let characters = || line.pieces().iter().flat_map(|(_, text)| text.chars());
    let spaces = characters().take_while(|c| *c == ' ').count();
    let item = || characters().skip(spaces);
    let digits = item().take_while(char::is_ascii_digit).count();
    let is_numbered = digits > 0 && item().skip(digits).take(2).eq(['.', ' ']);
    spaces
        + match item().next() {
            Some('•' | '▎') => 2,
            _ if is_numbered => digits + 2,
            _ => 0,
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
        let painted = lines.iter().flat_map(|block| match block {
            MarkdownBlock::Prose(line) | MarkdownBlock::Code(line) => vec![line.painted(true)],
            MarkdownBlock::Table(rows) => rows.iter().map(|row| row.painted(true)).collect(),
        });
        let painted: Vec<String> = painted.collect();
        let tags =
            [("\x1b[1m", "<b>"), ("\x1b[36m", "<c>"), ("\x1b[2m", "<d>"), ("\x1b[0m", "</>")];
        tags.iter().fold(painted.join("\n"), |text, (code, tag)| text.replace(code, tag))
    }

    #[test]
    fn styling_is_independent_of_chunk_sizes() {
        let cases = [
            ("plain", "plain"),
            ("a **b** c\n", "a <b>b</> c"),
            ("use `x` now\n", "use <c>x</> now"),
            ("# Title\ntext\n", "<b>Title</>\ntext"),
            ("C# is no heading\n", "C# is no heading"),
            ("2 * 3 * 4\n", "2 * 3 * 4"),
            ("* one\n- two\n  - three\n", "• one\n• two\n  • three"),
            ("--- a\n-x\n", "--- a\n-x"),
            ("> said\n>no\n", "<d>▎</> said\n>no"),
            (
                "see [a b](http://x.y/z), or `[a](b)`",
                "see a b<d> (http://x.y/z)</>, or <c>[a](b)</>",
            ),
            ("[http://x.y](http://x.y) [a](b c) [](d) a](b", "http://x.y [a](b c) [](d) a](b"),
            ("| a | b |\n|---|---|\n| 1 | 2 |\nend\n", "| a | b |\n|---|---|\n| 1 | 2 |\nend"),
            ("```rust\nlet a = b ** c;\n```\nend\n", "  <c>let a = b ** c;</>\nend"),
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

    #[test]
    fn broken_lines_continue_below_their_text() {
        let cases = [("text", 0), ("• item", 2), ("  • item", 4), ("12. item", 4), ("1.5 m", 0)];
        for (text, expected) in cases {
            assert_eq!(hanging_indent(&StyledLine::new(TextLook::Plain, text)), expected, "{text}");
        }
    }
}
