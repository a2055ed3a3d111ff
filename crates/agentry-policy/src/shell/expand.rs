//! Expands raw words into arguments: removes quotes, replaces variables, and makes unknown text a set.

mod field;
mod parameter;

use field::WordBuilder;

use super::braces;
use super::state::{ShellState, VariableValue};
use super::word::{WordBit, WordExpansion, lex, lex_text};
use super::{ShellContext, arithmetic};
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
    /// Whether `cat` is the program with that name, and no function.
    pub(super) is_usual: bool,
}

/// The value of a variable or a substitution.
enum VariableExpansion {
    Text(String),
    Number,
    Name(ShellWord),
    Unknown,
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
            Some(words) => words.into_iter().flat_map(|bits| self.fields(&bits)).collect(),
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

    fn fields(&mut self, bits: &[WordBit]) -> Vec<ShellArg> {
        let mut builder = WordBuilder::default();
        for (index, bit) in bits.iter().enumerate() {
            match bit {
                WordBit::Plain(text) => {
                    let rest = self.tilde(text, index, bits, &mut builder);
                    builder.plain(rest, index + 1 < bits.len());
                }
                WordBit::Quoted(text) => builder.quoted(text),
                WordBit::Open { quoted, what } => self.field(*quoted, what, &mut builder),
            }
        }
        builder.finish()
    }

    fn field(&mut self, quoted: bool, what: &WordExpansion, builder: &mut WordBuilder) {
        // `"$@"` and `"${x[@]}"` are several words even in quotes.
        let is_list = match what {
            WordExpansion::Variable(name) => name == "@",
            WordExpansion::Braced(inside) => inside.contains('@'),
            _ => false,
        };
        match (self.open(what, quoted), quoted) {
            (VariableExpansion::Unknown, _) if is_list => builder.unknown(),
            (VariableExpansion::Text(text), true) => builder.quoted(&text),
            (VariableExpansion::Text(text), false) => builder.split(&text),
            (VariableExpansion::Number, _) => builder.number(),
            (VariableExpansion::Name(word), true) => builder.name(word),
            (VariableExpansion::Unknown, true) => builder.any(),
            (VariableExpansion::Name(_) | VariableExpansion::Unknown, false) => builder.unknown(),
        }
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
                    VariableExpansion::Unknown => builder.any(),
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
            VariableExpansion::Number | VariableExpansion::Name(_) | VariableExpansion::Unknown => {
                None
            }
        }
    }

    /// Returns the value of an expansion.
    fn open(&mut self, what: &WordExpansion, quoted: bool) -> VariableExpansion {
        match what {
            WordExpansion::Variable(name) => self.charged(name),
            WordExpansion::Command { text, .. } => {
                self.effects.commands.push(text.clone());
                match output(text).filter(|_| self.is_usual && !self.state.is_tainted) {
                    Some(text) if text.len() < *self.fuel => {
                        *self.fuel -= text.len();
                        VariableExpansion::Text(text)
                    }
                    _ => VariableExpansion::Unknown,
                }
            }
            WordExpansion::Arithmetic(text) => self.arithmetic(text),
            WordExpansion::Braced(inside) => self.braced(inside, quoted),
            WordExpansion::Unclear(why) => {
                self.effects.unclear.push((*why).to_owned());
                VariableExpansion::Unknown
            }
        }
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

/// Returns the output of a command if it is known in advance: `cat` with a literal here-document.
fn output(command: &str) -> Option<String> {
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
            | (WordPiece::Segment, Some(WordPiece::Segment)) => {}
            (piece, _) => tidied.push(piece),
        }
    }
    ShellWord { pieces: tidied }
}
