//! Findings for people, in the style of rustc.
//!
//! The lines are shortened and sanitised here and drawn by `annotate-snippets`. The location is
//! written here too: its line and column are those of the file, not of the excerpt.

use std::ops::Range;

use annotate_snippets::renderer::{DEFAULT_LINE_NUM_STYLE, Style as Ansi};
use annotate_snippets::{Annotation, AnnotationKind, Level, Message, Renderer, Snippet, Title};

use super::excerpt::{self, SourceExcerpt};
use super::{ReportLocation, counted, visible};
use crate::diagnostic::{Diagnostic, Severity, SpanLabel};
use crate::edit::{Applicability, Fix};
use crate::source::{SourceFile, SourceFiles, Span};

/// The most characters of one message.
const MESSAGE: usize = 1000;
/// The least width that is useful.
const NARROWEST: usize = 40;
/// Columns for line numbers and for the marks of shortened lines.
const GUTTER: usize = 12;
/// The most related places that are shown for one finding.
const PLACES: usize = 8;

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportStyle {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// The number of columns; longer lines are shortened.
    pub width: usize,
}

impl Default for ReportStyle {
    /// Without colours, a hundred columns wide.
    fn default() -> Self {
        Self { color: false, width: 100 }
    }
}

/// Renders one finding with its source lines; the text ends with a line break.
pub fn render(diagnostic: &Diagnostic, sources: &SourceFiles, style: ReportStyle) -> String {
    let writer = HumanWriter { sources, style };
    let (near, far) = writer.split(diagnostic);
    let message = shown(&diagnostic.message);
    let mut out = writer.write(ReportBlock {
        title: level(diagnostic.severity).primary_title(message).id(diagnostic.rule.code),
        span: diagnostic.span,
        labels: near,
        notes: notes(diagnostic),
    });
    for SpanLabel { span, message } in far {
        let title = Level::NOTE.secondary_title(shown(message));
        out += &writer.write(ReportBlock { title, span: *span, labels: vec![], notes: vec![] });
    }
    out
}

/// Renders one finding on one line: `agents/helper.agent:2:21: error[AG0104]: …`.
pub fn line(diagnostic: &Diagnostic, sources: &SourceFiles) -> String {
    let Diagnostic { rule, severity, message, span, .. } = diagnostic;
    let place = ReportLocation::of(*span, sources);
    format!("{}: {severity}[{}]: {}", at(&place), rule.code, shown(message))
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

/// Returns the text below the source lines: the hint and the option that applies the fix.
fn notes(diagnostic: &Diagnostic) -> Vec<Message<'static>> {
    // A hint that is equal to the title of the fix is left out.
    let is_new = |hint: &&str| diagnostic.fix.as_ref().is_none_or(|fix| fix.title != **hint);
    let hint = diagnostic.hint.as_deref().filter(is_new).map(shown);
    let fix = diagnostic.fix.as_ref().map(|Fix { title, applicability, .. }| {
        let flag = match applicability {
            Applicability::Safe => "--fix",
            Applicability::Unsafe => "--fix-unsafe",
        };
        format!("fix: {} ({flag})", shown(title))
    });
    let mut notes: Vec<_> =
        hint.into_iter().chain(fix).map(|text| Level::HELP.message(text)).collect();
    let more = diagnostic.related.len().saturating_sub(PLACES);
    if more > 0 {
        notes.push(Level::NOTE.message(format!("{} not shown", counted(more, "further place"))));
    }
    notes
}

/// Lines of one file, with a title.
struct ReportBlock<'d> {
    title: Title<'d>,
    span: Span,
    /// Related places that are near enough to be shown in the same excerpt.
    labels: Vec<&'d SpanLabel>,
    notes: Vec<Message<'static>>,
}

struct HumanWriter<'s> {
    sources: &'s SourceFiles,
    style: ReportStyle,
}

impl HumanWriter<'_> {
    /// Splits the related places into those that fit the main excerpt and those that need their own.
    fn split<'d>(&self, diagnostic: &'d Diagnostic) -> (Vec<&'d SpanLabel>, Vec<&'d SpanLabel>) {
        let main = diagnostic.span;
        // Related places in another file or far away get an excerpt each.
        let is_near = |label: &&SpanLabel| {
            let Some(source) = self.sources.get(main.file) else { return false };
            let ranges = [range(source, main), range(source, label.span)];
            label.span.file == main.file
                && excerpt::fit_together(&source.text, &ranges, self.columns())
        };
        diagnostic.related.iter().take(PLACES).partition(is_near)
    }

    fn write(&self, block: ReportBlock<'_>) -> String {
        let renderer = if self.style.color { Renderer::styled() } else { Renderer::plain() };
        // The lines are already shortened to the width; a second cut could lose the underline.
        let renderer = renderer.term_width(usize::MAX / 2);
        let Some(source) = self.sources.get(block.span.file) else {
            return renderer.render(&[block.title.elements(block.notes)]) + "\n";
        };
        if source.text.is_empty() {
            return self.write_bare(&renderer, block);
        }
        let (snippet, last_line) = self.snippet(source, &block);
        let drawn = renderer.render(&[block.title.element(snippet).elements(block.notes)]);
        let mut lines = drawn.lines().map(str::trim_end);
        let title = lines.next().unwrap_or("");
        let mut out = format!("{title}\n{}\n", self.arrow(block.span, last_line));
        lines.for_each(|line| out.extend([line, "\n"]));
        out
    }

    /// Writes the finding without source lines: its file is empty or could not be read.
    fn write_bare(&self, renderer: &Renderer, block: ReportBlock<'_>) -> String {
        let arrow = self.arrow(block.span, 1);
        let drawn = renderer.render(&[block.title.elements(block.notes)]);
        let mut lines = drawn.lines();
        let mut out = format!("{}\n{arrow}\n", lines.next().unwrap_or(""));
        lines.for_each(|line| out.extend([" ", line, "\n"]));
        out
    }

    /// Returns the lines with their underlines, and the number of the last one.
    fn snippet<'d>(
        &self,
        source: &SourceFile,
        block: &ReportBlock<'d>,
    ) -> (Snippet<'d, Annotation<'d>>, usize) {
        let (main, more) = main_range(source, block.span);
        let mut ranges = vec![main];
        ranges.extend(block.labels.iter().map(|label| range(source, label.span)));
        let first = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let first_line = source.position(first).line;
        let SourceExcerpt { text, marks } =
            excerpt::excerpt(&self.sources.shown(source), &ranges, self.columns());
        let last_line = first_line + text.matches('\n').count();
        let mut marks = marks.into_iter();
        let main = AnnotationKind::Primary.span(marks.next().unwrap_or(0..0)).label(more);
        let labels = marks
            .zip(&block.labels)
            .map(|(mark, label)| AnnotationKind::Context.span(mark).label(shown(&label.message)));
        let snippet = Snippet::source(text).line_start(first_line).annotation(main);
        (snippet.annotations(labels), last_line)
    }

    /// Returns the line with the location: ` --> agents/helper.agent:2:21`.
    fn arrow(&self, span: Span, last_line: usize) -> String {
        let color = if self.style.color { DEFAULT_LINE_NUM_STYLE } else { Ansi::new() };
        let indent = " ".repeat(last_line.to_string().len());
        format!("{indent}{color}--> {color:#}{}", at(&ReportLocation::of(span, self.sources)))
    }

    /// Returns the columns that are left for a source line.
    fn columns(&self) -> usize {
        self.style.width.max(NARROWEST) - GUTTER
    }
}

/// `path:line:column`.
fn at(ReportLocation { path, start, .. }: &ReportLocation<'_>) -> String {
    format!("{}:{}:{}", shown(path), start.line, start.column)
}

/// Returns the part of `span` to underline, and a note about the lines that are left out.
fn main_range(source: &SourceFile, span: Span) -> (Range<usize>, Option<String>) {
    let range = range(source, span);
    let lines = source.position(range.end).line - source.position(range.start).line;
    if lines < excerpt::LINES {
        return (range, None);
    }
    let text = source.text.get(range.clone()).unwrap_or("");
    let first = text.find(['\n', '\r']).unwrap_or(text.len());
    (range.start..range.start + first, Some(format!("and {lines} more lines")))
}

/// Returns the bytes of `span`, adjusted to the text and without trailing line breaks.
fn range(source: &SourceFile, span: Span) -> Range<usize> {
    let text = &*source.text;
    // A span may end inside a character or between CR and LF; slicing there would fail or look odd.
    let settle = |at: usize| {
        let at = text.floor_char_boundary(at);
        let in_crlf = text.get(at.saturating_sub(1)..=at) == Some("\r\n");
        if in_crlf { at - 1 } else { at }
    };
    let start = settle(span.range().start);
    let end = settle(span.range().end).max(start);
    let words = text.get(start..end).unwrap_or("").trim_end();
    let space = text.get(start + words.len()..end).unwrap_or("");
    let end = space.find(['\n', '\r']).map_or(end, |offset| start + words.len() + offset);
    start..end
}

/// Returns a text on one line, sanitised and shortened.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MESSAGE) {
        Some((end, _)) => visible(text.get(..end).unwrap_or("")).into_owned() + "...",
        None => visible(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn findings_are_written_in_full() {
        let show = |sample: &samples::DiagnosticSample| {
            let text = render(&sample.diagnostic, &sample.sources, ReportStyle::default());
            format!("# {}\n{text}", sample.name)
        };
        let text: Vec<_> = samples::all().iter().map(show).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
        # ordinary
        error[AG0104]: `filesystem` cannot be `readwrite`
         --> agents/helper.agent:2:21
          |
        2 | trust: {filesystem: readwrite}
          |                     ^^^^^^^^^
          |
          = help: did you mean `read-only`?
          = help: fix: write `read-only` (--fix)

        # several lines
        warning[AG0104]: `filesystem` cannot be `readwrite`
         --> a.yaml:1:4
          |
        1 |   a: [1,
          |  ____^
        2 | |   2,
        3 | |   3]
          | |____^

        # end of file
        note[AG0104]: `filesystem` cannot be `readwrite`
         --> a.yaml:2:1
          |
        2 |
          | ^

        # tab and wide
        error[AG0104]: `filesystem` cannot be `readwrite`
         --> 日本語.md:1:8
          |
        1 |     x    語語: 🚀値 end
          |                ^^^^

        # long line
        error[AG0104]: `filesystem` cannot be `readwrite`
         --> a.json:1:600001
          |
        1 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxHEREyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
          |                                 ^^^^

        # related
        error[AG0104]: `filesystem` cannot be `readwrite`
         --> a.toml:3:1
          |
        1 | name = "a"
          | ---- first written here
        2 | type = "a"
        3 | name = "b"
          | ^^^^^^^^^^
          |
          = help: fix: remove it (--fix-unsafe)
        note: the base has it too
         --> base/b.toml:2:1
          |
        2 | name = "b"
          | ^^^^

        # hostile
        error[AG0104]: `\u{1b}]0;x\u{7}` is no\r\nvalue, 100%: [a](b)
         --> a\u{1b}[2J\n, b:c%.md:1:10
          |
        1 | ok \u{1b}[31m\u{202e}evil\u{200b}
          |                      ^^^^
          |
          = help: line\u{9b}2J\nbreak
        "#);
    }

    #[test]
    fn findings_are_written_on_one_line() {
        let show = |sample: &samples::DiagnosticSample| line(&sample.diagnostic, &sample.sources);
        let text: Vec<_> = samples::all().iter().map(show).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
        agents/helper.agent:2:21: error[AG0104]: `filesystem` cannot be `readwrite`
        a.yaml:1:4: warning[AG0104]: `filesystem` cannot be `readwrite`
        a.yaml:2:1: note[AG0104]: `filesystem` cannot be `readwrite`
        日本語.md:1:8: error[AG0104]: `filesystem` cannot be `readwrite`
        a.json:1:600001: error[AG0104]: `filesystem` cannot be `readwrite`
        a.toml:3:1: error[AG0104]: `filesystem` cannot be `readwrite`
        a\u{1b}[2J\n, b:c%.md:1:10: error[AG0104]: `\u{1b}]0;x\u{7}` is no\r\nvalue, 100%: [a](b)
        "#);
    }

    #[test]
    fn a_long_span_shows_its_first_line() {
        let text = "start: |\n".to_owned() + &"  more\n".repeat(5000);
        let sample = samples::sample("", "a.yaml", &text, &text);
        let text = render(&sample.diagnostic, &sample.sources, ReportStyle::default());
        insta::assert_snapshot!(text, @r#"
        error[AG0104]: `filesystem` cannot be `readwrite`
         --> a.yaml:1:1
          |
        1 | start: |
          | ^^^^^^^^ and 5000 more lines
        "#);
    }

    #[test]
    fn untrusted_text_cannot_add_colours() {
        let sample = samples::sample("", "a", "x\u{1b}[31my", "\u{1b}");
        let text =
            render(&sample.diagnostic, &sample.sources, ReportStyle { color: true, width: 80 });
        insta::assert_snapshot!(text.replace('\u{1b}', "ESC"), @r#"
        ESC[1mESC[91merror[AG0104]ESC[0mESC[1m: `filesystem` cannot be `readwrite`ESC[0m
         ESC[1mESC[94m--> ESC[0ma:1:2
          ESC[1mESC[94m|ESC[0m
        ESC[1mESC[94m1ESC[0m ESC[1mESC[94m|ESC[0m x\u{1b}[31my
          ESC[1mESC[94m|ESC[0m  ESC[1mESC[91m^^^^^^ESC[0m
        "#);
    }

    #[test]
    fn a_finding_without_its_source_is_shown() {
        let mut sample = samples::sample("", "a", "x", "x");
        sample.sources = SourceFiles::default();
        sample.diagnostic.hint("look elsewhere");
        let text = render(&sample.diagnostic, &sample.sources, ReportStyle::default());
        insta::assert_snapshot!(text, @r#"
        error[AG0104]: `filesystem` cannot be `readwrite`
         |
         = help: look elsewhere
        "#);
    }
}
