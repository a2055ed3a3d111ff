//! An upper bound on the recursion of a parser for some JavaScript, found before parsing.
//!
//! The parser has no recursion limit, so deeply nested code would overflow the stack and end the process.
//! The bound is never too small. Strings, comments, templates and regular expressions are skipped while
//! it is certain where they start. At the first `/` that could be a division or a regular expression, the
//! scan gives up and counts every later bracket as one that is never closed.

/// The most levels that are parsed; deeper code is rejected.
pub(crate) const MOST: usize = 10_000;

/// Returns the most levels that the parser may have to recurse.
pub(super) fn bound(code: &str) -> usize {
    let mut scan = NestingScan {
        rest: code,
        previous: PreviousToken::Operator,
        levels: vec![NestingLevel::default()],
        most: 0,
    };
    while scan.step() {}
    scan.most
}

/// The kind of the previous token, which decides the meaning of a `/`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PreviousToken {
    /// An operator: a value follows, so `/` opens a regular expression.
    Operator,
    /// A name, a number, a string or `]`: `/` is a division.
    Operand,
    /// A keyword, `)`, `}`, `+` or `-`: `/` may be either.
    Either,
}

/// One open bracket, with the levels inside it that have no bracket.
#[derive(Clone, Copy, Default)]
struct NestingLevel {
    /// The levels outside the bracket.
    outside: usize,
    /// The operators since the last `,` or `;`.
    operators: usize,
    /// The statements that contain a statement, such as `if`.
    statements: usize,
    /// Whether the bracket is `${`, whose end continues a template.
    in_template: bool,
}

impl NestingLevel {
    fn depth(&self) -> usize {
        self.outside + self.operators + self.statements + 1
    }
}

struct NestingScan<'c> {
    rest: &'c str,
    previous: PreviousToken,
    levels: Vec<NestingLevel>,
    most: usize,
}

impl NestingScan<'_> {
    /// Consumes the next token; `false` at the end, or when the limit is exceeded.
    fn step(&mut self) -> bool {
        let Some(next) = self.rest.chars().next() else { return false };
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
        match next {
            _ if next.is_whitespace() => self.skip(next.len_utf8()),
            _ if self.rest.starts_with("//") => self.skip(line_end(self.rest)),
            _ if self.rest.starts_with("/*") => {
                self.skip(self.rest.find("*/").map_or(self.rest.len(), |at| at + 2));
            }
            '/' => return self.slash(),
            // The parser decides how far an escape outside of strings reaches, so the scan stops here.
            '\\' => return self.give_up(),
            '"' | '\'' => self.string(next),
            '`' => self.template(1),
            _ if is_word(next) => {
                let length = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                self.word(length);
            }
            _ => self.sign(next),
        }
        self.most <= MOST
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    /// Counts a level that may contain the code that follows.
    fn count(&mut self, add: impl FnOnce(&mut NestingLevel)) {
        if let Some(level) = self.levels.last_mut() {
            add(level);
            self.most = self.most.max(level.depth());
        }
    }

    fn word(&mut self, length: usize) {
        let word = self.rest.get(..length).unwrap_or("");
        self.previous =
            if KEYWORDS.contains(&word) { PreviousToken::Either } else { PreviousToken::Operand };
        match word {
            "if" | "else" | "for" | "while" | "do" | "with" => {
                self.count(|level| level.statements += 1);
            }
            _ if self.previous == PreviousToken::Either => self.count(|level| level.operators += 1),
            _ => {}
        }
        self.skip(length);
    }

    fn sign(&mut self, sign: char) {
        let is_operator = "([{,;=:?&|!~<>*%^/".contains(sign);
        self.previous = if is_operator { PreviousToken::Operator } else { PreviousToken::Either };
        match sign {
            '(' | '[' | '{' => self.open(false),
            ')' | ']' | '}' => {
                if sign == ']' {
                    self.previous = PreviousToken::Operand;
                }
                // The outermost level is never closed, even by a stray bracket.
                let closed = (self.levels.len() > 1).then(|| self.levels.pop()).flatten();
                if sign == '}' && closed.is_some_and(|level| level.in_template) {
                    return self.template(1);
                }
            }
            ';' | ',' => self.count(|level| level.operators = 0),
            '!' | '~' | '?' | ':' | '=' | '*' | '+' | '-' | '@' | '<' => {
                self.count(|level| level.operators += 1);
            }
            _ => {}
        }
        self.skip(sign.len_utf8());
    }

    fn open(&mut self, in_template: bool) {
        let outside = self.levels.last().map_or(0, NestingLevel::depth);
        self.levels.push(NestingLevel { outside, in_template, ..NestingLevel::default() });
        // Adds nothing; updates the maximum for the new level.
        self.count(|_| {});
    }

    fn string(&mut self, quote: char) {
        let (mut escaped, mut after_cr) = (false, false);
        let body = self.rest.get(1..).unwrap_or("");
        let end = body.find(|c| {
            // A line break ends an unclosed string; after a backslash, `\r\n` continues it as one break.
            let continued = escaped || (after_cr && c == '\n');
            let ends = !continued && (c == quote || c == '\n' || c == '\r');
            after_cr = escaped && c == '\r';
            escaped = !escaped && c == '\\';
            ends
        });
        self.skip(end.map_or(self.rest.len(), |at| at + 2));
        self.previous = PreviousToken::Operand;
    }

    /// Skips `skipped` bytes, then the template up to its end or to the next `${`.
    fn template(&mut self, skipped: usize) {
        self.skip(skipped);
        self.previous = PreviousToken::Operand;
        let mut escaped = false;
        let mut dollar = false;
        let end = self.rest.char_indices().find(|(_, c)| {
            let ends = !escaped && (*c == '`' || (*c == '{' && dollar));
            dollar = !escaped && *c == '$';
            escaped = !escaped && *c == '\\';
            ends
        });
        match end {
            Some((at, '{')) => {
                self.skip(at + 1);
                self.previous = PreviousToken::Operator;
                self.open(true);
            }
            Some((at, _)) => self.skip(at + 1),
            None => self.rest = "",
        }
    }

    fn slash(&mut self) -> bool {
        let rest = self.rest.get(1..).unwrap_or("");
        let line = || rest.get(..line_end(rest)).unwrap_or("");
        match self.previous {
            PreviousToken::Operand => self.sign('/'),
            // No second `/` on the line: it cannot be a regular expression, which never spans lines.
            PreviousToken::Either if !line().contains('/') => self.sign('/'),
            PreviousToken::Either => return self.give_up(),
            PreviousToken::Operator => match regular_expression(rest) {
                Some(length) => {
                    self.skip(length + 1);
                    self.previous = PreviousToken::Operand;
                }
                None => return self.give_up(),
            },
        }
        self.most <= MOST
    }

    /// Counts every remaining opening token as one that is never closed, and ends the scan.
    fn give_up(&mut self) -> bool {
        let counts = |c: &char| "([{`!~?:=*+-@<".contains(*c);
        let signs = self.rest.chars().filter(counts).count();
        let words = self.rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
        let words = words.filter(|word| KEYWORDS.contains(word)).count();
        self.most =
            self.most.max(self.levels.last().map_or(0, NestingLevel::depth) + signs + words);
        false
    }
}

/// Words that may come before a value, or that nest without a bracket.
const KEYWORDS: &[&str] = &[
    "async",
    "await",
    "case",
    "class",
    "default",
    "delete",
    "do",
    "else",
    "extends",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "while",
    "with",
    "yield",
    "export",
    "let",
    "get",
    "set",
    "static",
];

fn line_end(text: &str) -> usize {
    text.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(text.len())
}

/// Returns the length of a regular expression after its opening `/`, including the closing one.
fn regular_expression(text: &str) -> Option<usize> {
    let (mut escaped, mut in_class) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_never_too_small() {
        let deep = |open: &str| open.repeat(300);
        let cases = [
            (deep("("), 300),
            (deep("!"), 300),
            (deep("a=>"), 300),
            (deep("typeof "), 300),
            (deep("if(a)"), 300),
            (deep("if(a)a;else "), 300),
            (deep("(\")\"+"), 300),
            (deep("`${"), 300),
            (deep("(/[)]/,"), 300),
            (deep("if(a)/`/.test((b);(\n"), 300),
            (deep("((a)/b+`\n)`+"), 300),
            (deep("a.return/`/b;(\n)`+("), 300),
            (deep("a++/`/b;(\n)`+("), 300),
            (deep("1./`/b;(\n)`+("), 300),
            (deep("(\"\\\r\n)\"+"), 300),
            (deep("/*)*/("), 300),
            (deep("(//)\n"), 300),
            (deep("\\#for(;;)"), 300),
            (deep("\\//\\#("), 300),
        ];
        for (code, least) in cases {
            assert!(bound(&code) >= least, "{:?} gives {}", code.get(..20), bound(&code));
        }
    }

    #[test]
    fn ordinary_code_has_a_small_nesting_bound() {
        let line = "const a = f({ b: [1, 2], c: `x${y}` }, \"((\");\nif (a) { g(a / 2) }\n";
        let code = line.repeat(1_000);
        // Only `if` adds up, once for each statement; everything else is closed again.
        assert!(bound(&code) < 1_100, "{}", bound(&code));
        assert!(bound(&line.repeat(10)) < 40);
    }
}
