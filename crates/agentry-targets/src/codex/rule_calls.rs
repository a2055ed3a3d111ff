//! A parser for Codex rules files: calls with arguments, in any layout. It covers only what rules need of the
//! language, and returns all other text as not parsed.

/// A call: its name and its arguments in order, with their names if given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleCall {
    pub(super) name: String,
    pub(super) arguments: Vec<(Option<String>, RuleCallValue)>,
}

/// The value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RuleCallValue {
    Text(String),
    List(Vec<RuleCallValue>),
    /// A bare word: `None`, `True`.
    Word(String),
}

/// The most levels of nested lists.
const DEPTH: usize = 4;

/// Returns the calls of a file, and the first line of each part that cannot be parsed.
pub(super) fn read(text: &str) -> (Vec<RuleCall>, Vec<String>) {
    let text = text.trim_start_matches('\u{feff}');
    let (mut calls, mut others) = (Vec::new(), Vec::new());
    let mut reader = RuleCallReader { rest: text };
    loop {
        reader.skip();
        let start = reader.rest;
        if start.is_empty() {
            return (calls, others);
        }
        match reader.call() {
            Some(call) => calls.push(call),
            None => {
                let (line, rest) = start.split_once('\n').unwrap_or((start, ""));
                others.push(line.trim().to_owned());
                // Resume at the next line, so that one unknown statement does not hide the rules after it.
                reader.rest = rest;
            }
        }
    }
}

/// The unread rest of a file.
struct RuleCallReader<'a> {
    rest: &'a str,
}

impl RuleCallReader<'_> {
    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix('#') {
                Some(comment) => self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest),
                None => return,
            }
        }
    }

    /// Consumes a text if it comes next.
    fn take(&mut self, text: &str) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self) -> Option<String> {
        self.skip();
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let (word, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = rest;
        (!word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
            .then(|| word.to_owned())
    }

    /// Parses a call; only a comment may follow on its last line.
    fn call(&mut self) -> Option<RuleCall> {
        let name = self.word()?;
        if !self.take("(") {
            return None;
        }
        let mut arguments = Vec::new();
        while !self.take(")") {
            arguments.push(self.argument()?);
            if !self.take(",") {
                self.take(")").then_some(())?;
                break;
            }
        }
        let line = self.rest.split('\n').next().unwrap_or_default().trim_start();
        (line.is_empty() || line.starts_with('#')).then_some(RuleCall { name, arguments })
    }

    fn argument(&mut self) -> Option<(Option<String>, RuleCallValue)> {
        match self.value(DEPTH)? {
            RuleCallValue::Word(name) if self.take("=") => Some((Some(name), self.value(DEPTH)?)),
            value => Some((None, value)),
        }
    }

    fn value(&mut self, depth: usize) -> Option<RuleCallValue> {
        self.skip();
        if self.rest.starts_with(['"', '\'']) {
            return self.text().map(RuleCallValue::Text);
        }
        if !self.take("[") {
            return self.word().map(RuleCallValue::Word);
        }
        let mut items = Vec::new();
        while !self.take("]") {
            items.push(self.value(depth.checked_sub(1)?)?);
            if !self.take(",") {
                self.take("]").then_some(())?;
                break;
            }
        }
        Some(RuleCallValue::List(items))
    }

    /// Parses a text on one line, in single or double quotes.
    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut out = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' => return None,
                '\\' => match chars.next()?.1 {
                    c @ ('\\' | '"' | '\'') => out.push(c),
                    't' => out.push('\t'),
                    'n' => out.push('\n'),
                    _ => return None,
                },
                c if c == quote => {
                    self.rest = self.rest.get(at + 1..)?;
                    // A triple quote, or two adjacent texts: neither is supported.
                    return (!self.rest.starts_with(['"', '\''])).then_some(out);
                }
                c => out.push(c),
            }
        }
        None
    }
}
