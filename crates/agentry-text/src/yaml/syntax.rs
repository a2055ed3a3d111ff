//! Messages for YAML syntax errors: the parser's error in our terms, at the place where the user
//! has to look, with a fix if only one is possible.

use std::ops::Range;

use saphyr_parser::ScanError;

use super::offsets::SpanMapper;
use super::rules::{YAML_SYNTAX, YAML_TAG};
use crate::diagnostic::Findings;
use crate::edit::Fix;
use crate::tree_rules::TOO_DEEP;

/// Where the parser stopped.
pub(super) struct ErrorPosition<'a, 't> {
    pub(super) places: &'a SpanMapper<'t>,
    pub(super) at: usize,
    /// The innermost open bracket.
    pub(super) bracket: Option<usize>,
}

/// The message for one mistake.
struct SyntaxProblem {
    range: Range<usize>,
    message: String,
    hint: Option<&'static str>,
    /// The range that the fix puts in quotes.
    quote: Option<Range<usize>>,
}

impl SyntaxProblem {
    fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, message: message.into(), hint: None, quote: None }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

/// Reports `error`; the text up to `read` was parsed.
pub(super) fn report(
    error: &ScanError,
    place: &ErrorPosition<'_, '_>,
    read: usize,
    findings: &mut Findings,
) {
    let info = error.info();
    // The parser has no error codes, so the text of its message decides.
    if info.contains("recursion limit") {
        if !findings.iter().any(|found| *found.rule == TOO_DEEP) {
            let span = place.places.span(place.character());
            findings.add(&TOO_DEEP, span, "the value is nested too deep");
        }
        return;
    }
    let rule = if info.contains("handle wasn't declared") { &YAML_TAG } else { &YAML_SYNTAX };
    let problem = place.explain(info, read);
    let span = place.places.span(problem.range);
    let found = findings.add(rule, span, problem.message);
    found.hint_opt(problem.hint.map(str::to_owned));
    if let Some(range) = problem.quote {
        let text = place.places.slice(range.clone()).replace('\'', "''");
        let span = place.places.span(range);
        found.fix(Fix::safe("quote the value", span, format!("'{text}'")));
    }
}

impl ErrorPosition<'_, '_> {
    /// Explains the error. The order matters: later tests match parts of messages that earlier ones handle.
    fn explain(&self, info: &str, read: usize) -> SyntaxProblem {
        let has = |part: &str| info.contains(part);
        if has("tab") && !has("table") || has("valid YAML whitespace") {
            return self.tab();
        }
        if has("escape") || has("hexadecimal") {
            return self.escape();
        }
        if has("quoted scalar") {
            return self.open_quote(info);
        }
        if has("mapping values are not allowed") {
            return self.colon();
        }
        if has("unexpected character") || self.is_star_in_text() {
            return self.reserved();
        }
        if has("unknown anchor") {
            let range = self.at..self.places.word_end(self.at);
            let name = self.places.slice(range.clone()).trim_start_matches('*');
            return SyntaxProblem::new(range.clone(), format!("no anchor is called `{name}`"));
        }
        if has("handle wasn't declared") {
            let range = self.at..self.places.word_end(self.at);
            let written = self.places.slice(range.clone());
            return SyntaxProblem::new(
                range.clone(),
                format!("the tag `{written}` is not known here"),
            );
        }
        if has("simple key expect") {
            return self.missing_colon();
        }
        self.indented(info).or_else(|| self.inline(info, read)).unwrap_or_else(|| self.other(read))
    }

    /// Returns the range of the character at which the parser stopped.
    fn character(&self) -> Range<usize> {
        let rest = self.places.slice(self.at..self.places.text.len());
        self.at..self.at + rest.chars().next().map_or(0, char::len_utf8)
    }

    /// Finds a tab in the indentation of this line or a following one, or else before the error.
    fn tab(&self) -> SyntaxProblem {
        let mut line = self.places.line_start(self.at);
        let found = loop {
            let end = self.places.line_end(line);
            let text = self.places.slice(line..end);
            let blank = text.len() - text.trim_start_matches([' ', '\t']).len();
            if let Some(tab) = self.places.slice(line..line + blank).find('\t') {
                break Some(line + tab);
            }
            if end >= self.places.text.len() {
                break None;
            }
            line = end + 1;
        };
        let before = self.places.slice(0..self.at).rfind('\t');
        let at = match found.filter(|at| *at <= self.at || before.is_none()) {
            Some(at) => at,
            None => before.or(found).unwrap_or(self.at),
        };
        SyntaxProblem::new(at..at + 1, "a tab cannot be used as indentation").hint("use spaces")
    }

    fn escape(&self) -> SyntaxProblem {
        let end = self.places.closing_quote(self.at);
        let mut at = self.at + 1;
        while at < end {
            if self.places.at(at) == Some(b'\\') {
                let escape = self.places.slice(at..end);
                if is_half(escape, 0xD800..0xDC00)
                    && is_half(escape.get(6..).unwrap_or(""), 0xDC00..0xE000)
                // A surrogate pair is allowed, as in JSON.
                {
                    at += 12;
                    continue;
                }
                if is_half(escape, 0xD800..0xE000) {
                    let written = escape.get(..6).unwrap_or(escape);
                    let message = format!("`{written}` is one half of a character");
                    return SyntaxProblem::new(at..at + 6, message)
                        .hint("write both halves, or the character itself");
                }
                if !is_escape(escape) {
                    let width = escape.chars().nth(1).map_or(1, |next| 1 + next.len_utf8());
                    let range = at..at + width;
                    let written = self.places.slice(range.clone());
                    let message = format!("`{written}` is not an escape sequence");
                    return SyntaxProblem::new(range, message)
                        .hint("double the backslash, or use single quotes");
                }
                at += 1;
            }
            at += 1;
        }
        SyntaxProblem::new(self.at..end, "the text has an escape sequence that names no character")
    }

    fn open_quote(&self, info: &str) -> SyntaxProblem {
        let quote = self.at..self.at + 1;
        if info.contains("trailing content") {
            let range = self.at..self.places.line_end(self.at);
            return SyntaxProblem::new(range, "there is text after the closing quote")
                .hint("quote the whole value, with the other kind of quotes");
        }
        if info.contains("indentation") {
            let message = "the lines of this quoted text must be indented more than their key";
            return SyntaxProblem::new(quote, message);
        }
        SyntaxProblem::new(quote, "the quote is never closed")
    }

    /// Explains a second `: ` in a line, or a key among the lines of a plain text.
    fn colon(&self) -> SyntaxProblem {
        let Some(value) = self.value_of_line().filter(|value| value.contains(&self.at)) else {
            return SyntaxProblem::new(self.at..self.at + 1, "`:` is not expected here")
                .hint("indent the line like the key above it, or quote the whole value");
        };
        // The fix quotes one line only, so the text must not continue on the next.
        let quote = self.is_last_line(&value).then_some(value);
        let message = "`: ` cannot stand in a value without quotes";
        SyntaxProblem {
            quote,
            ..SyntaxProblem::new(self.at..self.at + 1, message).hint("quote the value")
        }
    }

    /// Returns the value of the key in this line, if both are plain.
    fn value_of_line(&self) -> Option<Range<usize>> {
        let start = self.places.line_start(self.at);
        let line = self.places.slice(start..self.places.line_end(start));
        let key = line.find(|c: char| c != ' ' && c != '-')?;
        let colon = key + line.get(key..)?.find(": ")?;
        let value = line.get(colon + 1..)?;
        let value = value.split(" #").next().unwrap_or(value);
        let first = start + colon + 1 + (value.len() - value.trim_start().len());
        let is_plain = |text: &str| !text.starts_with(|c: char| "\"'[]{}&*!|>%@`#,?".contains(c));
        let fits =
            is_plain(line.get(key..)?) && is_plain(value.trim_start()) && !line.contains('\t');
        fits.then(|| first..first + value.trim().len())
    }

    /// Reports whether the plain text in `value` ends with its line.
    fn is_last_line(&self, value: &Range<usize>) -> bool {
        let start = self.places.line_start(value.start);
        let own = self.places.slice(start..value.start);
        let indent = own.len() - own.trim_start_matches([' ', '-']).len();
        let rest = self.places.slice(self.places.line_end(value.start)..self.places.text.len());
        let next = rest.lines().find(|line| !line.trim().is_empty());
        next.is_none_or(|line| line.len() - line.trim_start().len() <= indent)
    }

    /// Whether the text is meant as a pattern or as a schedule, as in `*`, `**/*.py` and `* * * * *`: the
    /// name of an alias starts with a letter.
    fn is_star_in_text(&self) -> bool {
        let rest = self.places.slice(self.at..self.places.text.len());
        let next = rest.strip_prefix('*').map(|rest| rest.chars().next());
        next.is_some_and(|next| next.is_none_or(|c| !c.is_alphanumeric() && c != '_'))
    }

    /// Returns the whole value in this line if it starts with brackets and goes on after them, so that quotes
    /// make a text of it.
    fn value_with_more(&self) -> Option<Range<usize>> {
        let start = self.places.line_start(self.at);
        let line = self.places.slice(start..self.places.line_end(start));
        let (key, value) = line.split_once(": ")?;
        let first = start + key.len() + 2 + (value.len() - value.trim_start().len());
        let value = value.split(" #").next().unwrap_or(value).trim();
        let range = first..first + value.len();
        let is_one = value.starts_with(['[', '{']) && range.contains(&self.at);
        (is_one && !key.contains(['"', '\'', '[', '{']) && self.is_last_line(&range))
            .then_some(range)
    }

    /// Explains `@`, a backtick or `%` at the start of a value.
    fn reserved(&self) -> SyntaxProblem {
        let range = self.character();
        let found = self.places.slice(range.clone());
        let shown = if found == "`" { "a backtick".to_owned() } else { format!("`{found}`") };
        let line = self.places.slice(self.at..self.places.line_end(self.at));
        let value = line.split(" #").next().unwrap_or(line).trim_end();
        let value = self.at..self.at + value.len();
        let alone = self.bracket.is_none() && self.is_last_line(&value) && !self.is_key(&value);
        let message = format!("a value cannot start with {shown} without quotes");
        let problem = SyntaxProblem::new(range, message).hint("quote the value");
        SyntaxProblem { quote: alone.then_some(value), ..problem }
    }

    /// Reports whether only indentation precedes `range`, so that it may be a key.
    fn is_key(&self, range: &Range<usize>) -> bool {
        let before = self.places.slice(self.places.line_start(range.start)..range.start);
        before.trim_start_matches([' ', '-']).is_empty()
    }

    /// Explains a line without `:` among keys: the last line before the error.
    fn missing_colon(&self) -> SyntaxProblem {
        let before = self.places.slice(0..self.at).trim_end();
        let start = self.places.line_start(before.len());
        let line = self.places.slice(start..before.len());
        let from = start + (line.len() - line.trim_start().len());
        SyntaxProblem::new(from..before.len(), "the line has no `:` after its key")
            .hint("write `key: value`, or indent the line if it belongs to the value above it")
    }

    /// Explains mistakes of block style.
    fn indented(&self, info: &str) -> Option<SyntaxProblem> {
        let has = |part: &str| info.contains(part);
        let rest = self.at..self.places.line_end(self.at).max(self.at);
        if let Some(line) = self.directive(info) {
            let message = "a line that starts with `%` is a directive of YAML";
            return Some(SyntaxProblem::new(line, message).hint("quote the text"));
        }
        if self.bracket.is_some() {
            return None;
        }
        if has("block sequence entries are not allowed") {
            let message = "a list cannot start in the line of its key";
            return Some(
                SyntaxProblem::new(self.character(), message).hint("start it in the next line"),
            );
        }
        if has("in block scalar") {
            let message = "the line is indented less than the first of its text";
            return Some(SyntaxProblem::new(rest, message));
        }
        if has("block scalar") {
            let message = "nothing but `-`, `+` or a number may follow `|` or `>`";
            return Some(SyntaxProblem::new(rest, message).hint("start the text in the next line"));
        }
        let misplaced = has("indentation")
            || has("expected key")
            || has("'-' indicator")
            || has("<document start>")
            || has("mapping keys are not allowed");
        let closes = self.starts_with("]") || self.starts_with("}");
        if !misplaced || closes || rest.is_empty() {
            return None;
        }
        let before = self.places.slice(self.places.line_start(self.at)..self.at);
        if before.trim().is_empty() {
            let message = "the line is not indented like the lines it belongs to";
            return Some(SyntaxProblem::new(rest, message));
        }
        let quote = self.value_with_more();
        let problem = SyntaxProblem::new(rest, "there is text after the end of the value");
        Some(SyntaxProblem { hint: quote.as_ref().map(|_| "quote the value"), quote, ..problem })
    }

    /// Returns the line of a directive, if `info` is about one.
    fn directive(&self, info: &str) -> Option<Range<usize>> {
        let at = if info.contains("document start") {
            let text = self.places.text;
            let first = text.len() - text.trim_start().len();
            self.places.slice(first..self.at).starts_with('%').then_some(first)?
        } else if info.contains("directive") || info.contains("TAG") {
            self.places.line_start(self.at)
        } else {
            return None;
        };
        Some(at..self.places.line_end(at))
    }

    fn starts_with(&self, text: &str) -> bool {
        self.places.slice(self.at..self.places.text.len()).starts_with(text)
    }

    /// Explains mistakes between brackets.
    fn inline(&self, info: &str, read: usize) -> Option<SyntaxProblem> {
        if info.contains("comments must be separated") {
            let range = self.at..self.at + 1;
            return Some(
                SyntaxProblem::new(range, "`#` starts a comment only after a space")
                    .hint("add a space before it, or quote the value"),
            );
        }
        if info.contains("may not precede") {
            let range = self.at..self.at + 1;
            return Some(
                SyntaxProblem::new(range, "`:` needs a space after it").hint("add a space"),
            );
        }
        // The parser may fail before it reports the bracket, so the text after `read` is searched.
        let bracket = self.bracket.or_else(|| {
            let next = self.places.seek(read, b"[{", b":-?,")?;
            (next < self.at).then_some(next)
        })?;
        let line = self.places.line_start(self.at);
        let indent = self.at - line;
        let own = self.places.line_start(bracket);
        let own_indent = bracket - own;
        let ended = self.at >= self.places.text.len();
        // A line that is indented less than the bracket probably belongs to the parent.
        let fell_out =
            line > own && indent < own_indent && !self.starts_with("]") && !self.starts_with("}");
        let shown = self.places.slice(bracket..bracket + 1);
        if ended || fell_out || info.contains("illegal placement") {
            return Some(SyntaxProblem::new(
                bracket..bracket + 1,
                format!("the `{shown}` is never closed"),
            ));
        }
        let close = if shown == "[" { "]" } else { "}" };
        if info.contains("node content") && self.starts_with(",") {
            return Some(SyntaxProblem::new(self.character(), "there is no value before this `,`"));
        }
        let found = self.places.slice(self.character());
        Some(SyntaxProblem::new(
            self.character(),
            format!("expected `,` or `{close}`, found `{found}`"),
        ))
    }

    fn other(&self, read: usize) -> SyntaxProblem {
        let range = self.character();
        if range.is_empty() {
            return SyntaxProblem::new(read..read, "the text ends where a value is expected");
        }
        let found = self.places.slice(range.clone());
        SyntaxProblem::new(
            range.clone(),
            format!("`{}` is not expected here", found.escape_debug()),
        )
    }
}

/// Reports whether `text` starts with `\uXXXX`, with a code in `halves` of a surrogate pair.
fn is_half(text: &str, halves: Range<u32>) -> bool {
    let code = text.strip_prefix("\\u").and_then(|rest| rest.get(..4));
    code.is_some_and(|code| u32::from_str_radix(code, 16).is_ok_and(|code| halves.contains(&code)))
}

/// Reports whether `text` starts with an escape sequence of a double-quoted scalar.
fn is_escape(text: &str) -> bool {
    let hex = |count: usize| {
        text.get(2..2 + count).is_some_and(|code| {
            u32::from_str_radix(code, 16).is_ok_and(|code| char::from_u32(code).is_some())
        })
    };
    match text.as_bytes().get(1) {
        Some(b'x') => hex(2),
        Some(b'u') => hex(4),
        Some(b'U') => hex(8),
        Some(byte) => b"0abt\tnvfre \"/\\N_LP\n\r".contains(byte),
        None => false,
    }
}
