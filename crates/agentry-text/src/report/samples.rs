//! The findings with which the tests try every writer.

use crate::diagnostic::{Diagnostic, Severity};
use crate::edit::Fix;
use crate::rule::LintRule;
use crate::source::{SourceFiles, Span};

pub(super) static RULE: LintRule = LintRule::from_page(
    "# unknown-value\n\nAG0104, error. A value that no reader knows is ignored.\n\n\
     This breaks it:\n\n`a.agent`\n\n```yaml\nfilesystem: readwrite\n```\n\n\
     Use instead:\n\n`a.agent`\n\n```yaml\nfilesystem: read-only\n```\n\n\
     `b.md`\n\n````md\n```\n```\n````\n",
);

/// A finding and its files, with a name for the test.
pub(super) struct DiagnosticSample {
    pub name: &'static str,
    pub diagnostic: Diagnostic,
    pub sources: SourceFiles,
}

/// A finding about `marked`, a part of `text`.
pub(super) fn sample(name: &'static str, path: &str, text: &str, marked: &str) -> DiagnosticSample {
    let mut sources = SourceFiles::default();
    let source = sources.add(path, text);
    let start = text.find(marked).expect("`marked` occurs");
    let span = Span::new(source.id, start, start + marked.len());
    let diagnostic = Diagnostic::new(&RULE, span, "`filesystem` cannot be `readwrite`");
    DiagnosticSample { name, diagnostic, sources }
}

pub(super) fn all() -> Vec<DiagnosticSample> {
    vec![ordinary(), several_lines(), end_of_file(), wide(), long_line(), related(), hostile()]
}

fn ordinary() -> DiagnosticSample {
    let text = "name: helper\ntrust: {filesystem: readwrite}\n";
    let mut sample = sample("ordinary", "agents/helper.agent", text, "readwrite");
    let span = sample.diagnostic.span;
    let fix = Fix::safe("write `read-only`", span, "read-only");
    sample.diagnostic.hint("did you mean `read-only`?").fix(fix);
    sample
}

fn several_lines() -> DiagnosticSample {
    let mut sample = sample(
        "several lines",
        "a.yaml",
        "a: [1,\r\n  2,\r\n  3]\r\nb: 1\r\n",
        "[1,\r\n  2,\r\n  3]\r\n",
    );
    sample.diagnostic.severity = Severity::Warning;
    sample
}

fn end_of_file() -> DiagnosticSample {
    let mut sample = sample("end of file", "a.yaml", "a: [1\n", "");
    let end = sample.sources.iter().next().map_or(0, |source| source.text.len());
    sample.diagnostic.span = Span::new(sample.diagnostic.span.file, end, end);
    sample.diagnostic.severity = Severity::Note;
    sample
}

fn wide() -> DiagnosticSample {
    sample("tab and wide", "日本語.md", "\tx\t語語: \u{1F680}値 end", "\u{1F680}値")
}

fn long_line() -> DiagnosticSample {
    let text = "x".repeat(600_000) + "HERE" + &"y".repeat(400_000);
    sample("long line", "a.json", &text, "HERE")
}

fn related() -> DiagnosticSample {
    let mut sample =
        sample("related", "a.toml", "name = \"a\"\ntype = \"a\"\nname = \"b\"\n", "name = \"b\"");
    let other = sample.sources.add("base/b.toml", "# base\nname = \"b\"\n");
    let main = sample.diagnostic.span.file;
    sample.diagnostic.related(Span::new(main, 0, 4), "first written here");
    sample.diagnostic.related(Span::new(other.id, 7, 11), "the base has it too");
    let fix = Fix::unsafe_("remove it", Span::new(main, 22, 33), "");
    sample.diagnostic.fix(fix);
    sample
}

fn hostile() -> DiagnosticSample {
    let path = "a\u{1b}[2J\n, b:c%.md";
    let mut sample = sample("hostile", path, "ok \u{1b}[31m\u{202e}evil\u{200b}", "evil");
    sample.diagnostic.message = "`\u{1b}]0;x\u{7}` is no\r\nvalue, 100%: [a](b)".to_owned();
    sample.diagnostic.hint("line\u{9b}2J\nbreak");
    sample
}
