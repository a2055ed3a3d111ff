//! Findings as JSON, for programs.

use serde_json::{Value, json};

use super::sanitize::is_hidden;
use super::{CheckSummary, ReportLocation};
use crate::diagnostic::{Diagnostic, SpanLabel};
use crate::edit::{Applicability, Fix};
use crate::source::SourceFiles;

/// Returns one finding. Its texts are unchanged; [`text()`] and [`line()`] make them safe to show.
pub fn diagnostic(diagnostic: &Diagnostic, sources: &SourceFiles) -> Value {
    let Diagnostic { rule, severity, message, span, hint, related, fix, .. } = diagnostic;
    let ReportLocation { path, start, end } = ReportLocation::of(*span, sources);
    let related: Vec<_> = related.iter().map(|label| self::label(label, sources)).collect();
    json!({
        "code": rule.code,
        "name": rule.name,
        "severity": severity.to_string(),
        "message": message,
        "path": path,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "hint": hint,
        "fix": fix.as_ref().map(self::fix),
        "related": related,
    })
}

/// Returns the counts.
pub fn summary(summary: &CheckSummary) -> Value {
    let CheckSummary { agents, files, errors, warnings, notes } = summary;
    json!({
        "agents": agents,
        "files": files,
        "errors": errors,
        "warnings": warnings,
        "notes": notes,
    })
}

/// Returns a value as indented text without characters that control a terminal or are invisible.
pub fn text(value: &Value) -> String {
    escape(&format!("{value:#}"))
}

/// Returns a value on one line, without characters that control a terminal or are invisible.
pub fn line(value: &Value) -> String {
    escape(&value.to_string())
}

/// Escapes more characters than JSON requires. They occur only inside strings, where `\u` means the same.
fn escape(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if char != '\n' && is_hidden(char) {
            // JSON has escapes of 16 bits only, so larger characters need a surrogate pair.
            let mut units = [0; 2];
            out.extend(char.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(char);
        }
    }
    out
}

fn label(label: &SpanLabel, sources: &SourceFiles) -> Value {
    let ReportLocation { path, start, .. } = ReportLocation::of(label.span, sources);
    json!({
        "path": path,
        "line": start.line,
        "column": start.column,
        "message": label.message,
    })
}

fn fix(fix: &Fix) -> Value {
    let applicability = match fix.applicability {
        Applicability::Safe => "safe",
        Applicability::Unsafe => "unsafe",
    };
    json!({ "title": fix.title, "applicability": applicability })
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn findings_are_written_as_json() {
        let show = |sample: &samples::DiagnosticSample| {
            line(&diagnostic(&sample.diagnostic, &sample.sources))
        };
        let text: Vec<_> = samples::all().iter().map(show).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
        {"code":"AG0104","name":"unknown-value","severity":"error","message":"`filesystem` cannot be `readwrite`","path":"agents/helper.agent","line":2,"column":21,"end_line":2,"end_column":30,"hint":"did you mean `read-only`?","fix":{"title":"write `read-only`","applicability":"safe"},"related":[]}
        {"code":"AG0104","name":"unknown-value","severity":"warning","message":"`filesystem` cannot be `readwrite`","path":"a.yaml","line":1,"column":4,"end_line":4,"end_column":1,"hint":null,"fix":null,"related":[]}
        {"code":"AG0104","name":"unknown-value","severity":"note","message":"`filesystem` cannot be `readwrite`","path":"a.yaml","line":2,"column":1,"end_line":2,"end_column":1,"hint":null,"fix":null,"related":[]}
        {"code":"AG0104","name":"unknown-value","severity":"error","message":"`filesystem` cannot be `readwrite`","path":"日本語.md","line":1,"column":8,"end_line":1,"end_column":10,"hint":null,"fix":null,"related":[]}
        {"code":"AG0104","name":"unknown-value","severity":"error","message":"`filesystem` cannot be `readwrite`","path":"a.json","line":1,"column":600001,"end_line":1,"end_column":600005,"hint":null,"fix":null,"related":[]}
        {"code":"AG0104","name":"unknown-value","severity":"error","message":"`filesystem` cannot be `readwrite`","path":"a.toml","line":3,"column":1,"end_line":3,"end_column":11,"hint":null,"fix":{"title":"remove it","applicability":"unsafe"},"related":[{"path":"a.toml","line":1,"column":1,"message":"first written here"},{"path":"base/b.toml","line":2,"column":1,"message":"the base has it too"}]}
        {"code":"AG0104","name":"unknown-value","severity":"error","message":"`\u001b]0;x\u0007` is no\r\nvalue, 100%: [a](b)","path":"a\u001b[2J\n, b:c%.md","line":1,"column":10,"end_line":1,"end_column":14,"hint":"line\u009b2J\nbreak","fix":null,"related":[]}
        "#);
    }

    #[test]
    fn json_escapes_hidden_characters() {
        let value = json!({ "a": "\u{1b}[2J \u{9b} \u{202e} \u{E0041} é \"\n" });
        let text = text(&value);
        insta::assert_snapshot!(text, @r#"
        {
          "a": "\u001b[2J \u009b \u202e \udb40\udc41 é \"\n"
        }
        "#);
        assert_eq!(text.parse::<Value>().unwrap(), value);
    }

    #[test]
    fn the_json_summary_has_all_counts() {
        let found =
            summary(&CheckSummary { agents: 3, files: 2, errors: 1, warnings: 2, notes: 0 });
        let expected = json!({ "agents": 3, "files": 2, "errors": 1, "warnings": 2, "notes": 0 });
        assert_eq!(found, expected);
    }
}
