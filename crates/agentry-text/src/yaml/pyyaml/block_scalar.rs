//! Block scalars: `|` or `>` with the text in the lines below.

use saphyr_parser::ScalarStyle;

use super::YamlRefusal;
use super::reader::is_break;
use super::scan::{ScalarParts, YamlScanner, YamlToken};

/// How line breaks at the end of the text are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockChomping {
    Strip,
    Clip,
    Keep,
}

impl<'t> YamlScanner<'t> {
    pub(super) fn block_scalar(&mut self, style: ScalarStyle) -> Result<(), YamlRefusal> {
        self.allow_key = true;
        self.forget_key()?;
        let start = self.reader.at;
        self.reader.forward();
        let (chomp, increment) = self.block_header()?;
        // The text must be indented deeper than its parent; at the top level by at least one space.
        let least = self.indent.map_or(1, |indent| indent + 1);
        let (indent, breaks) = match increment {
            Some(increment) => (least + increment - 1, self.block_breaks(least + increment - 1)),
            None => {
                let (found, breaks) = self.block_indentation();
                (found.max(least), breaks)
            }
        };
        let text = self.block_lines(indent, breaks, style == ScalarStyle::Folded, chomp);
        self.push(YamlToken::Scalar(text.finish(), style), start);
        Ok(())
    }

    fn block_lines(
        &mut self,
        indent: usize,
        mut breaks: Vec<&'static str>,
        folded: bool,
        chomp: BlockChomping,
    ) -> ScalarParts<'t> {
        let mut text = ScalarParts::default();
        let mut last = "";
        while self.reader.column == indent && self.reader.peek().is_some() {
            breaks.drain(..).for_each(|found| text.push(found));
            let line = self.reader.take_while(|_| true);
            text.push(line);
            last = self.reader.line_break().unwrap_or("");
            breaks = self.block_breaks(indent);
            let next = self.reader.peek();
            if self.reader.column != indent || next.is_none() {
                break;
            }
            let is_blank = |c: Option<char>| matches!(c, Some(' ' | '\t'));
            // Folding joins two lines with a space, unless one of them is indented more.
            if folded && last == "\n" && !is_blank(line.chars().next()) && !is_blank(next) {
                text.push(if breaks.is_empty() { " " } else { "" });
            } else {
                text.push(last);
            }
        }
        if chomp != BlockChomping::Strip {
            text.push(last);
        }
        if chomp == BlockChomping::Keep {
            breaks.drain(..).for_each(|found| text.push(found));
        }
        text
    }

    /// Reads the chomping and the indentation after `|` or `>`, in either order.
    fn block_header(&mut self) -> Result<(BlockChomping, Option<usize>), YamlRefusal> {
        const MESSAGE: &str = "nothing but `-`, `+` or a number may follow `|` or `>`";
        let (mut chomp, mut increment) = (None, None);
        while let Some(found) = self.reader.peek() {
            match found {
                '+' if chomp.is_none() => chomp = Some(BlockChomping::Keep),
                '-' if chomp.is_none() => chomp = Some(BlockChomping::Strip),
                '1'..='9' if increment.is_none() => increment = found.to_digit(10),
                _ => break,
            }
            self.reader.forward();
        }
        if self.reader.peek().is_some_and(|c| c != ' ' && !is_break(c)) {
            return Err(self.reader.refuse(MESSAGE));
        }
        self.reader.rest_of_line(MESSAGE)?;
        Ok((chomp.unwrap_or(BlockChomping::Clip), increment.map(|digit| digit as usize)))
    }

    /// Returns the deepest indentation before the first text, and the line breaks before it.
    fn block_indentation(&mut self) -> (usize, Vec<&'static str>) {
        let (mut deepest, mut breaks) = (0, Vec::new());
        loop {
            self.reader.skip_spaces();
            deepest = deepest.max(self.reader.column);
            match self.reader.line_break() {
                Some(found) => breaks.push(found),
                None => return (deepest, breaks),
            }
        }
    }

    /// Takes the line breaks of empty lines, up to a line with the indentation of the text.
    fn block_breaks(&mut self, indent: usize) -> Vec<&'static str> {
        let mut breaks = Vec::new();
        loop {
            while self.reader.column < indent && self.reader.peek() == Some(' ') {
                self.reader.forward();
            }
            match self.reader.line_break() {
                Some(found) => breaks.push(found),
                None => return breaks,
            }
        }
    }
}
