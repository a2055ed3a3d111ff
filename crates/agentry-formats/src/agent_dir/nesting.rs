//! A guard for the JavaScript parser, which recurses: finds code that is nested deeper than any
//! person writes, before it is parsed.
//!
//! Brackets are not the only way down: `!!!!…`, `a=>a=>…`, `if(a)if(b)…` and `else if` chains nest
//! too. So every token that can open a level without a bracket is counted until the statement ends.

/// The most levels.
const DEEPEST: usize = 250;

/// Words after which an expression or a statement of the same level begins.
const OPENERS: &[&str] = &[
    "await", "delete", "do", "else", "for", "if", "in", "instanceof", "new", "of", "typeof", "void",
    "while", "with", "yield",
];
/// Words that only start a statement.
const STARTERS: &[&str] = &["const", "let", "var", "return", "throw", "import", "export", "switch"];

/// The byte from which on `text` is nested too deep, if it is.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut scan = Scan { text, at: 0, levels: vec![0], depth: 0, last: Last::Start };
    while scan.at < text.len() {
        scan.step();
        if scan.depth > DEEPEST {
            return Some(scan.at.saturating_sub(1).min(text.len().saturating_sub(1)));
        }
    }
    None
}

/// What the last token was, to tell whether a line break ends a statement.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Start,
    /// A name, a number, a string or a closing bracket.
    Value,
    /// A word or a sign after which something must follow.
    Open,
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    /// The openers of each bracket level that is open.
    levels: Vec<usize>,
    /// The sum of all levels.
    depth: usize,
    last: Last,
}

impl Scan<'_> {
    fn step(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or("");
        let Some(c) = rest.chars().next() else {
            self.at = self.text.len();
            return;
        };
        if rest.starts_with("//") {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if c == '"' || c == '\'' {
            self.at += string(rest, c);
            self.last = Last::Value;
        } else if is_word(c) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.word(rest.get(..length).unwrap_or(""));
            self.at += length;
        } else {
            self.sign(c);
            self.at += c.len_utf8();
        }
    }

    fn word(&mut self, word: &str) {
        if OPENERS.contains(&word) {
            self.open();
        } else if STARTERS.contains(&word) {
            self.end_statement();
            self.last = Last::Open;
        } else {
            self.last = Last::Value;
        }
    }

    fn sign(&mut self, c: char) {
        match c {
            '(' | '[' | '{' => {
                self.levels.push(1);
                self.depth += 1;
                self.last = Last::Start;
            }
            ')' | ']' | '}' => {
                if self.levels.len() > 1 {
                    self.depth -= self.levels.pop().unwrap_or(0);
                }
                self.last = Last::Value;
            }
            ';' => self.end_statement(),
            '\n' if self.last == Last::Value && self.next_is_plain_word() => self.end_statement(),
            '!' | '~' | '+' | '-' | '=' | '?' | ':' | '*' | '`' => self.open(),
            ',' => self.last = Last::Open,
            _ => {}
        }
    }

    fn open(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            *level += 1;
            self.depth += 1;
        }
        self.last = Last::Open;
    }

    /// Forgets the openers of this level; its bracket stays.
    fn end_statement(&mut self) {
        let kept = usize::from(self.levels.len() > 1);
        if let Some(level) = self.levels.last_mut() {
            self.depth -= level.saturating_sub(kept);
            *level = kept;
        }
        self.last = Last::Start;
    }

    /// Whether the next line starts with a word that goes on with nothing.
    fn next_is_plain_word(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or("").trim_start();
        let word = rest.get(..rest.find(|c| !is_word(c)).unwrap_or(rest.len())).unwrap_or("");
        !word.is_empty() && !OPENERS.contains(&word)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The length of the string literal at the start of `rest`, which ends at its line.
fn string(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' if !escaped => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_of_every_kind_is_found() {
        for text in [
            "[", "(", "{", "!", "~", "- ", "a=>", "a=", "a?", "a:", "if(a)", "if(a){}else ",
            "new ", "typeof ", "await ", "`${", "a?b:", "for(;;)", "f(function(){", "a**", "x=\n",
            "if(a)\n", "await\n", "do ", "while(a)",
        ] {
            assert!(too_deep(&text.repeat(2000)).is_some(), "{text}");
            assert_eq!(too_deep(&text.repeat(20)), None, "{text}");
        }
    }

    #[test]
    fn long_code_is_not_deep() {
        for text in [
            "const a = b ? c : !d;\n",
            "const a = b ? c : !d\n",
            "x = y + 1\n",
            "f(a)\ng(b)\n",
            "if (a) { b = 1 }\nc = 2\n",
            "export function f(a) { return a + 1; }\n",
            "// ((((\n",
            "'((((';\n",
        ] {
            assert_eq!(too_deep(&text.repeat(2000)), None, "{text}");
        }
    }
}
