//! Findings as workflow commands, which GitHub shows next to the lines of a pull request.

use std::fmt::Write as _;

use super::sanitize::is_hidden;
use super::{ReportLocation, sanitize};
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::SourceFiles;

/// Returns one finding as one command, without a line break.
pub fn line(diagnostic: &Diagnostic, sources: &SourceFiles) -> String {
    let Diagnostic { rule, severity, message, span, hint, .. } = diagnostic;
    let ReportLocation { path, start, end } = ReportLocation::of(*span, sources);
    let command = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut out = format!("::{command} file={}", escape(path, WorkflowCommandPart::Property));
    let _ = write!(out, ",line={},col={}", start.line, start.column);
    let _ = write!(out, ",endLine={},endColumn={}", end.line, end.column);
    let title = format!("{} {}", rule.code, rule.name);
    let _ = write!(
        out,
        ",title={}::{}",
        escape(&title, WorkflowCommandPart::Property),
        escape(message, WorkflowCommandPart::Message)
    );
    if let Some(hint) = hint {
        let _ = write!(out, "%0Ahelp: {}", escape(hint, WorkflowCommandPart::Message));
    }
    out
}

/// The part of a command that a text is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkflowCommandPart {
    Property,
    Message,
}

/// Escapes characters that would end the part of the command or control a terminal.
fn escape(text: &str, part: WorkflowCommandPart) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            // `%` is escaped as well, because it starts every escape.
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            ':' if part == WorkflowCommandPart::Property => out.push_str("%3A"),
            ',' if part == WorkflowCommandPart::Property => out.push_str("%2C"),
            char if is_hidden(char) => sanitize::push(&mut out, None, char),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn findings_are_written_as_workflow_commands() {
        let show = |sample: &samples::DiagnosticSample| line(&sample.diagnostic, &sample.sources);
        let text: Vec<_> = samples::all().iter().map(show).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
        ::error file=agents/helper.agent,line=2,col=21,endLine=2,endColumn=30,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`%0Ahelp: did you mean `read-only`?
        ::warning file=a.yaml,line=1,col=4,endLine=4,endColumn=1,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`
        ::notice file=a.yaml,line=2,col=1,endLine=2,endColumn=1,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`
        ::error file=日本語.md,line=1,col=8,endLine=1,endColumn=10,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`
        ::error file=a.json,line=1,col=600001,endLine=1,endColumn=600005,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`
        ::error file=a.toml,line=3,col=1,endLine=3,endColumn=11,title=AG0104 unknown-value::`filesystem` cannot be `readwrite`
        ::error file=a\u{1b}[2J%0A%2C b%3Ac%25.md,line=1,col=10,endLine=1,endColumn=14,title=AG0104 unknown-value::`\u{1b}]0;x\u{7}` is no%0D%0Avalue, 100%25: [a](b)%0Ahelp: line\u{9b}2J%0Abreak
        "#);
    }
}
