//! Splits one raw word into its parts: plain and quoted text, expansions, substitutions.

mod ansi;
mod scan;

use scan::{ShellScan, part};

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordBit {
    /// Unquoted text, in which braces, globs and tildes are special.
    Plain(String),
    /// Literal text.
    Quoted(String),
    /// An expansion.
    Open {
        /// Whether it is inside double quotes.
        quoted: bool,
        /// The kind of expansion.
        what: WordExpansion,
    },
}

/// A kind of expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordExpansion {
    /// `$x`, `${x}`, `$1`, `$?`.
    Variable(String),
    /// The inside of `${…}` when it is more than a name.
    Braced(String),
    /// `$(…)` and backquotes: the command, and its text as written.
    Command { text: String, raw: String },
    /// `$((…))`, `$[…]`.
    Arithmetic(String),
    /// Not understood.
    Unclear(&'static str),
}

/// How the surrounding text is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteMode {
    Bare,
    Double,
    /// A here-document: like double quotes, but `"` is a plain character.
    Here,
}

/// Splits a raw word.
pub(super) fn lex(raw: &str) -> Vec<WordBit> {
    WordLexer::new(raw, QuoteMode::Bare).run()
}

/// Splits the body of a here-document.
pub(super) fn lex_text(raw: &str) -> Vec<WordBit> {
    WordLexer::new(raw, QuoteMode::Here).run()
}

/// Lists the substitutions of a raw word as written, including those inside `${…}` and `$((…))`.
pub(super) fn substitutions(raw: &str) -> Vec<String> {
    if !raw.contains(['$', '`']) {
        return Vec::new();
    }
    written(lex(raw))
}

/// Lists the substitutions in the body of a here-document.
pub(super) fn substitutions_of_text(raw: &str) -> Vec<String> {
    if !raw.contains(['$', '`']) {
        return Vec::new();
    }
    written(lex_text(raw))
}

/// Lists the commands of process substitutions in a raw word; `None` if one is not closed.
pub(super) fn processes(raw: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let rest = raw.get(at..).unwrap_or_default();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            let end = ShellScan::new(raw).command(at + 2)?;
            found.push(part(raw, at + 2..end));
            at = end + 1;
        } else {
            at = ShellScan::new(raw).plain(at)?;
            // `plain` advances by bytes, so the next character boundary is searched.
            while at < raw.len() && !raw.is_char_boundary(at) {
                at += 1;
            }
        }
    }
    Some(found)
}

fn written(bits: Vec<WordBit>) -> Vec<String> {
    let mut found = Vec::new();
    let mut stack: Vec<WordBit> = bits.into_iter().rev().collect();
    let mut depth = 0;
    while let Some(bit) = stack.pop() {
        let WordBit::Open { what, .. } = bit else { continue };
        match what {
            WordExpansion::Command { raw, .. } => found.push(raw.replace("\\\n", "")),
            WordExpansion::Braced(inner) | WordExpansion::Arithmetic(inner)
                if depth < MAX_INNER =>
            {
                depth += 1;
                stack.extend(lex(&inner).into_iter().rev());
            }
            _ => {}
        }
    }
    found
}

/// How many nested expansions of one word are searched.
const MAX_INNER: usize = 64;

struct WordLexer<'t> {
    text: &'t str,
    scan: ShellScan<'t>,
    mode: QuoteMode,
    at: usize,
    bits: Vec<WordBit>,
}

impl<'t> WordLexer<'t> {
    fn new(text: &'t str, mode: QuoteMode) -> Self {
        Self { text, scan: ShellScan::new(text), mode, at: 0, bits: Vec::new() }
    }

    fn run(mut self) -> Vec<WordBit> {
        while let Some(byte) = self.scan.byte(self.at) {
            match (byte, self.mode) {
                (b'\\', _) => self.backslash(),
                (b'\'', QuoteMode::Bare) => self.single(),
                (b'"', QuoteMode::Bare) => self.double(self.at + 1),
                (b'`', _) => self.backquotes(),
                (b'$', _) => self.dollar(),
                _ => self.plain(),
            }
        }
        self.bits
    }

    fn push_plain(&mut self, text: &str) {
        match (self.mode, self.bits.last_mut()) {
            (QuoteMode::Bare, Some(WordBit::Plain(last))) => last.push_str(text),
            (QuoteMode::Bare, _) => self.bits.push(WordBit::Plain(text.to_owned())),
            (_, Some(WordBit::Quoted(last))) => last.push_str(text),
            _ => self.bits.push(WordBit::Quoted(text.to_owned())),
        }
    }

    fn open(&mut self, what: WordExpansion) {
        self.bits.push(WordBit::Open { quoted: self.mode != QuoteMode::Bare, what });
    }

    /// Gives up on the rest of the word.
    fn unclear(&mut self, why: &'static str) {
        self.open(WordExpansion::Unclear(why));
        self.at = self.text.len();
    }

    fn plain(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let stops = ['\\', '\'', '"', '`', '$'];
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let length = rest.get(first..).and_then(|rest| rest.find(stops)).map(|at| at + first);
        let length = length.unwrap_or(rest.len());
        self.push_plain(rest.get(..length).unwrap_or_default());
        self.at += length;
    }

    fn backslash(&mut self) {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let Some(next) = rest.chars().next() else {
            return self.unclear("a backslash at the end");
        };
        let after = self.at + 1 + next.len_utf8();
        let escapes = match self.mode {
            QuoteMode::Bare => true,
            QuoteMode::Double => matches!(next, '$' | '`' | '"' | '\\' | '\n'),
            QuoteMode::Here => matches!(next, '$' | '`' | '\\' | '\n'),
        };
        // A line continuation disappears.
        if next == '\n' {
            self.at = after;
        } else if escapes {
            self.bits.push(WordBit::Quoted(next.to_string()));
            self.at = after;
        } else {
            // Inside double quotes, other backslashes are literal.
            self.bits.push(WordBit::Quoted("\\".to_owned()));
            self.at += 1;
        }
    }

    fn single(&mut self) {
        let Some(end) = self.scan.single(self.at + 1) else {
            return self.unclear("a quote that is not closed");
        };
        self.bits.push(WordBit::Quoted(part(self.text, self.at + 1..end)));
        self.at = end + 1;
    }

    /// Handles double quotes, whose contents start at `start`.
    fn double(&mut self, start: usize) {
        let Some(end) = self.scan.double(start) else {
            return self.unclear("a quote that is not closed");
        };
        let inside = self.text.get(start..end).unwrap_or_default();
        // An empty quoted part is kept, because `""` is an argument.
        self.bits.push(WordBit::Quoted(String::new()));
        self.bits.extend(WordLexer::new(inside, QuoteMode::Double).run());
        self.at = end + 1;
    }

    fn backquotes(&mut self) {
        let Some(end) = self.scan.escaped(self.at + 1, b'`') else {
            return self.unclear("a backquote that is not closed");
        };
        let text = unescaped(&part(self.text, self.at + 1..end), self.mode);
        let raw = part(self.text, self.at..end + 1);
        self.open(WordExpansion::Command { text, raw });
        self.at = end + 1;
    }

    fn dollar(&mut self) {
        let next = self.scan.byte(self.at + 1);
        match (next, self.mode) {
            (Some(b'('), _) => self.parenthesis(),
            (Some(b'{'), _) => self.braces(),
            (Some(b'['), _) => self.unclear("arithmetic in an old form"),
            (Some(b'\''), QuoteMode::Bare) => self.ansi(),
            (Some(b'"'), QuoteMode::Bare) => self.double(self.at + 2),
            (Some(b'?' | b'$' | b'#' | b'!' | b'@' | b'*' | b'-' | b'0'..=b'9'), _) => {
                self.open(WordExpansion::Variable(part(self.text, self.at + 1..self.at + 2)));
                self.at += 2;
            }
            (Some(byte), _) if byte.is_ascii_alphabetic() || byte == b'_' => self.name(),
            // A `$` before any other character is literal.
            _ => {
                self.push_plain("$");
                self.at += 1;
            }
        }
    }

    fn name(&mut self) {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.bytes().take_while(|byte| is_part(byte)).count();
        let end = self.at + 1 + length;
        self.open(WordExpansion::Variable(part(self.text, self.at + 1..end)));
        self.at = end;
    }

    fn ansi(&mut self) {
        let Some(end) = self.scan.escaped(self.at + 2, b'\'') else {
            return self.unclear("a quote that is not closed");
        };
        match ansi::decode(self.text.get(self.at + 2..end).unwrap_or_default()) {
            Some(text) => self.bits.push(WordBit::Quoted(text)),
            None => self.open(WordExpansion::Unclear("a quoted byte that is not text")),
        }
        self.at = end + 1;
    }

    fn parenthesis(&mut self) {
        let start = self.at + 2;
        if self.scan.byte(start) == Some(b'(') {
            return match self.scan.arithmetic(start + 1) {
                Some(end) => {
                    self.open(WordExpansion::Arithmetic(part(self.text, start + 1..end)));
                    self.at = end + 2;
                }
                None => self.unclear("brackets that may be arithmetic"),
            };
        }
        let Some(end) = self.scan.command(start) else {
            return self.unclear("a substitution that is not closed");
        };
        let raw = part(self.text, self.at..end + 1);
        self.open(WordExpansion::Command { text: part(self.text, start..end), raw });
        self.at = end + 1;
    }

    fn braces(&mut self) {
        let Some(end) = self.scan.braced(self.at + 2) else {
            return self.unclear("an expansion that is not closed");
        };
        let inside = part(self.text, self.at + 2..end);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if self.mode != QuoteMode::Bare && inside.contains('\'') {
            // Shells differ in whether it quotes inside double quotes.
            self.open(WordExpansion::Unclear("a quote inside of an expansion"));
        } else if inside.is_empty() {
            self.open(WordExpansion::Unclear("an empty expansion"));
        } else if inside.bytes().all(is_name) || matches!(inside.as_str(), "@" | "*" | "#" | "?") {
            self.open(WordExpansion::Variable(inside));
        } else {
            self.open(WordExpansion::Braced(inside));
        }
        self.at = end + 1;
    }
}

/// Returns the command between backquotes, in which a backslash escapes backslashes, `$` and backquotes.
fn unescaped(text: &str, mode: QuoteMode) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let escapes = matches!(next, Some('`' | '\\' | '$'))
            || (mode == QuoteMode::Double && next == Some('"'));
        match (c, next) {
            ('\\', Some(next)) if escapes => {
                chars.next();
                out.push(next);
            }
            _ => out.push(c),
        }
    }
    out
}
