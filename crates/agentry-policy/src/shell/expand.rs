//! Expands raw words into arguments: removes quotes, replaces variables, and makes unknown text a set.

mod field;
mod parameter;

use std::collections::BTreeSet;

use agentry_commands::PrintedWords;
use field::WordBuilder;

use super::state::{ShellState, VariableValue};
use super::word::{WordBit, WordExpansion, lex, lex_text};
use super::{ShellContext, agreement, arithmetic, braces, output};
use crate::argv::{ShellArg, ShellWord, WordPiece};

/// The side effects of an expansion.
#[derive(Debug, Default)]
pub(super) struct ExpansionEffects {
    /// Commands whose output is inserted.
    pub(super) commands: Vec<String>,
    /// Reasons why something was not understood.
    pub(super) unclear: Vec<String>,
    /// Variables that the expansion sets.
    pub(super) assigned: Vec<String>,
}

/// Expands the words of one command.
pub(super) struct WordExpander<'a> {
    /// The state of the shell before the command.
    pub(super) state: &'a ShellState,
    /// The home and the start directory.
    pub(super) context: &'a ShellContext,
    /// How many bytes known variables may still insert.
    pub(super) fuel: &'a mut usize,
    /// The collected side effects.
    pub(super) effects: &'a mut ExpansionEffects,
    /// The names that are functions somewhere in the line.
    pub(super) functions: &'a BTreeSet<String>,
}

/// The value of a variable or a substitution.
enum VariableExpansion {
    Text(String),
    Number,
    Name(ShellWord),
    /// Several words, each in one of the sets.
    List(Vec<ShellWord>),
    Unknown,
}

impl From<PrintedWords> for VariableExpansion {
    fn from(printed: PrintedWords) -> Self {
        match printed {
            PrintedWords::Number => Self::Number,
            PrintedWords::Label => Self::Name(ShellWord { pieces: vec![WordPiece::Label] }),
            PrintedWords::Paths(words) => Self::List(words),
        }
    }
}

impl WordExpander<'_> {
    /// Returns the arguments that a raw word becomes.
    pub(super) fn args(&mut self, raw: &str) -> Vec<ShellArg> {
        if is_simple(raw) {
            return vec![ShellArg::text(raw)];
        }
        self.processes(raw);
        let bits = lex(raw);
        match braces::expand(bits) {
            Some(words) => {
                let mut found = Vec::new();
                for bits in words {
                    found.extend(self.fields(&bits));
                    found.extend(self.defaults(&bits));
                }
                found
            }
            None => {
                // The substitutions inside are run in any case.
                self.single(&lex(raw), true);
                vec![ShellArg::Many(ShellWord::any())]
            }
        }
    }

    /// Returns the one word that a raw word becomes without splitting: the value of an assignment.
    pub(super) fn value(&mut self, raw: &str) -> ShellWord {
        self.processes(raw);
        self.single(&lex(raw), false)
    }

    /// Returns the target of a redirection.
    pub(super) fn target(&mut self, raw: &str) -> ShellWord {
        self.processes(raw);
        self.single(&lex(raw), true)
    }

    /// Returns the body of a here-document.
    pub(super) fn text(&mut self, raw: &str) -> ShellWord {
        self.single(&lex_text(raw), false)
    }

    /// Returns the words that the literal defaults inside a word make: `.env` for `${X:-.env}`.
    fn defaults(&mut self, bits: &[WordBit]) -> Vec<ShellArg> {
        let mut found = Vec::new();
        for (at, bit) in bits.iter().enumerate() {
            let WordBit::Open { quoted, what: WordExpansion::Braced(inside) } = bit else {
                continue;
            };
            let Some(default) = parameter::default(inside) else { continue };
            let other = if *quoted { WordBit::Quoted(default) } else { WordBit::Plain(default) };
            let mut others = bits.to_vec();
            if let Some(place) = others.get_mut(at) {
                *place = other;
            }
            found.extend(self.fields(&others).iter().map(|arg| ShellArg::Many(arg.word().clone())));
        }
        found
    }

    fn fields(&mut self, bits: &[WordBit]) -> Vec<ShellArg> {
        let mut builder = WordBuilder::default();
        if let [WordBit::Open { quoted: false, what }] = bits {
            match self.open(what, false) {
                VariableExpansion::Name(word) => return vec![loose(word)],
                VariableExpansion::List(words) => return words.into_iter().map(loose).collect(),
                value => insert(value, false, what, &mut builder),
            }
            return builder.finish();
        }
        for (index, bit) in bits.iter().enumerate() {
            match bit {
                WordBit::Plain(text) => {
                    let rest = self.tilde(text, index, bits, &mut builder);
                    builder.plain(rest, index + 1 < bits.len());
                }
                WordBit::Quoted(text) => builder.quoted(text),
                WordBit::Open { quoted, what } => {
                    let value = self.open(what, *quoted);
                    insert(value, *quoted, what, &mut builder);
                }
            }
        }
        builder.finish()
    }

    fn single(&mut self, bits: &[WordBit], globs: bool) -> ShellWord {
        let mut builder = WordBuilder::default();
        for (index, bit) in bits.iter().enumerate() {
            match bit {
                WordBit::Plain(text) => {
                    let rest = self.tilde(text, index, bits, &mut builder);
                    if globs {
                        builder.plain(rest, index + 1 < bits.len());
                    } else {
                        builder.quoted(rest);
                    }
                }
                WordBit::Quoted(text) => builder.quoted(text),
                WordBit::Open { quoted, what } => match self.open(what, *quoted) {
                    VariableExpansion::Text(text) => builder.quoted(&text),
                    VariableExpansion::Number => builder.number(),
                    VariableExpansion::Name(word) => builder.name(word),
                    VariableExpansion::List(_) | VariableExpansion::Unknown => builder.any(),
                },
            }
        }
        builder.word()
    }

    /// Replaces a tilde at the start of a word or an assigned value, and returns the rest.
    fn tilde<'t>(
        &mut self,
        text: &'t str,
        index: usize,
        bits: &[WordBit],
        builder: &mut WordBuilder,
    ) -> &'t str {
        let (before, tail) = match text.find('~') {
            Some(0) if index == 0 => ("", text.get(1..).unwrap_or_default()),
            Some(at) if index == 0 && is_assignment(text.get(..at).unwrap_or_default()) => {
                (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default())
            }
            _ => return text,
        };
        let end = tail.find(['/', ':']).unwrap_or(tail.len());
        let (user, rest) = tail.split_at(end);
        // A quoted or expanded part directly after it belongs to the user name.
        if rest.is_empty() && bits.len() > index + 1 {
            return text;
        }
        builder.quoted(before);
        match self.home(user) {
            Some(home) => builder.quoted(&home),
            None => builder.any(),
        }
        rest
    }

    fn home(&self, user: &str) -> Option<String> {
        let found = match user {
            "" => self.variable("HOME"),
            "+" => self.variable("PWD"),
            _ => return None,
        };
        match found {
            VariableExpansion::Text(text) => Some(text),
            VariableExpansion::Number
            | VariableExpansion::Name(_)
            | VariableExpansion::List(_)
            | VariableExpansion::Unknown => None,
        }
    }

    /// Returns the value of an expansion.
    fn open(&mut self, what: &WordExpansion, quoted: bool) -> VariableExpansion {
        match what {
            WordExpansion::Variable(name) => self.charged(name),
            WordExpansion::Command { text, .. } => {
                self.effects.commands.push(text.clone());
                self.output(text)
            }
            WordExpansion::Arithmetic(text) => self.arithmetic(text),
            WordExpansion::Braced(inside) => self.braced(inside, quoted),
            WordExpansion::Unclear(why) => {
                self.effects.unclear.push((*why).to_owned());
                VariableExpansion::Unknown
            }
        }
    }

    /// Returns the output of a command, as far as it is known in advance.
    fn output(&mut self, command: &str) -> VariableExpansion {
        if self.state.is_tainted {
            return VariableExpansion::Unknown;
        }
        match here_document(command).filter(|_| !self.functions.contains("cat")) {
            Some(text) if text.len() < *self.fuel => {
                *self.fuel -= text.len();
                return VariableExpansion::Text(text);
            }
            _ => {}
        }
        if command.trim() == "pwd" && !self.functions.contains("pwd") {
            return self.variable("PWD");
        }
        let left = self.fuel.checked_sub(command.len() * PARSING);
        let Some(left) = left else { return VariableExpansion::Unknown };
        *self.fuel = left;
        let reading = agreement::read(command);
        let program = reading.program.filter(|_| reading.trouble.is_none());
        let printed = program.and_then(|program| output::of_program(&program, self));
        printed.map_or(VariableExpansion::Unknown, VariableExpansion::from)
    }

    fn arithmetic(&mut self, text: &str) -> VariableExpansion {
        if arithmetic::is_harmless(text, self.state) {
            return VariableExpansion::Number;
        }
        self.effects.unclear.push("arithmetic on something unknown can run commands".to_owned());
        // Collects the substitutions inside the expression.
        self.single(&lex_text(text), false);
        VariableExpansion::Unknown
    }

    /// Returns the value of a variable, as long as the limit of inserted bytes is not reached.
    fn charged(&mut self, name: &str) -> VariableExpansion {
        match self.variable(name) {
            VariableExpansion::Text(text) if text.len() >= *self.fuel => VariableExpansion::Unknown,
            VariableExpansion::Text(text) => {
                *self.fuel -= text.len();
                VariableExpansion::Text(text)
            }
            found => found,
        }
    }

    fn variable(&self, name: &str) -> VariableExpansion {
        if matches!(name, "?" | "$" | "#") {
            return VariableExpansion::Number;
        }
        match (self.state.variable(name), name) {
            (Some(VariableValue::Text(text)), _) => VariableExpansion::Text(text.clone()),
            (Some(VariableValue::Number), _) => VariableExpansion::Number,
            (Some(VariableValue::Name(word)), _) => VariableExpansion::Name(word.clone()),
            (None, "HOME") => self
                .context
                .home
                .clone()
                .map_or(VariableExpansion::Unknown, VariableExpansion::Text),
            (None, "PWD") => {
                self.directory().map_or(VariableExpansion::Unknown, VariableExpansion::Text)
            }
            (Some(VariableValue::Unknown) | None, _) => VariableExpansion::Unknown,
        }
    }

    fn directory(&self) -> Option<String> {
        let base = self.state.bases.single()?;
        if base.starts_with('/') {
            return Some(base.to_owned());
        }
        let start = super::CurrentDirs::one(self.context.directory.clone()?).enter(base);
        start.single().filter(|path| path.starts_with('/')).map(str::to_owned)
    }
}

/// Inserts the value of an expansion into a word.
fn insert(value: VariableExpansion, quoted: bool, what: &WordExpansion, builder: &mut WordBuilder) {
    // `"$@"` and `"${x[@]}"` are several words even in quotes.
    let is_list = match what {
        WordExpansion::Variable(name) => name == "@",
        WordExpansion::Braced(inside) => inside.contains('@'),
        _ => false,
    };
    match (value, quoted) {
        (VariableExpansion::Unknown, _) if is_list => builder.unknown(),
        (VariableExpansion::Text(text), true) => builder.quoted(&text),
        (VariableExpansion::Text(text), false) => builder.split(&text),
        (VariableExpansion::Number, _) => builder.number(),
        (VariableExpansion::Name(word), true) => builder.name(word),
        // The name of a revision has no blanks.
        (VariableExpansion::Name(word), false) if word.pieces == [WordPiece::Label] => {
            builder.name(word);
        }
        (VariableExpansion::List(_) | VariableExpansion::Unknown, true) => builder.any(),
        (
            VariableExpansion::Name(_) | VariableExpansion::List(_) | VariableExpansion::Unknown,
            false,
        ) => builder.unknown(),
    }
}

/// How many bytes the parsing of an inserted command costs, per byte.
const PARSING: usize = 2;

/// Returns the argument for an unquoted list of names, which the shell splits at blanks.
fn loose(word: ShellWord) -> ShellArg {
    let mut pieces = word.pieces;
    if pieces != [WordPiece::Label] {
        pieces.push(WordPiece::Loose);
    }
    ShellArg::Many(ShellWord { pieces })
}

/// Returns the output of `cat` with a literal here-document.
fn here_document(command: &str) -> Option<String> {
    let rest = command.trim().strip_prefix("cat ")?.trim_start().strip_prefix("<<")?;
    let (end, rest) = rest.split_once('\n')?;
    let end = end.trim();
    let plain = end.strip_prefix('\'').and_then(|end| end.strip_suffix('\''));
    let name = plain.unwrap_or(end);
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let body = rest.strip_suffix(name).filter(|_| is_name)?;
    let is_literal = plain.is_some() || !body.contains(['$', '`', '\\']);
    let ends_once = body.ends_with('\n') && body.lines().all(|line| line != name);
    (is_literal && ends_once).then(|| body.trim_end_matches('\n').to_owned())
}

/// Whether a raw word has no special characters.
fn is_simple(raw: &str) -> bool {
    !raw.is_empty()
        && raw.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'-' | b'_' | b'/' | b'.' | b'=' | b',' | b':' | b'@' | b'+' | b'%'
                )
        })
}

/// Whether `text` is `NAME=`, or an assigned path list up to a colon.
fn is_assignment(text: &str) -> bool {
    let Some(name) = text.strip_suffix('=') else {
        return text.ends_with(':') && text.contains('=');
    };
    let mut bytes = name.bytes();
    let is_first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    is_first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Makes a word, with adjacent texts joined and empty pieces removed.
pub(super) fn tidy(pieces: Vec<WordPiece>) -> ShellWord {
    let mut tidied: Vec<WordPiece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (piece, tidied.last_mut()) {
            (WordPiece::Text(text), _) if text.is_empty() => {}
            (WordPiece::Text(text), Some(WordPiece::Text(last))) => last.push_str(&text),
            (WordPiece::Any, Some(WordPiece::Any))
            | (WordPiece::Loose, Some(WordPiece::Loose))
            | (WordPiece::Segment, Some(WordPiece::Segment)) => {}
            (piece, _) => tidied.push(piece),
        }
    }
    ShellWord { pieces: tidied }
}
