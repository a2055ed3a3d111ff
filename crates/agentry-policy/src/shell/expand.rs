//! Raw words become arguments: quotes removed, variables replaced, what nobody knows as a set.

mod field;
mod parameter;

use field::Builder;

use super::braces;
use super::state::{State, Value};
use super::word::{Bit, Open, lex, lex_text};
use super::{Context, arithmetic};
use crate::argv::{Arg, Piece, Word};

/// What expanding a word does besides.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Commands whose output is inserted.
    pub(super) commands: Vec<String>,
    /// What was not understood.
    pub(super) unclear: Vec<String>,
    /// Variables that an expansion sets.
    pub(super) assigned: Vec<String>,
}

/// Expands the words of one command.
pub(super) struct Expander<'a> {
    /// What the shell knows before it.
    pub(super) state: &'a State,
    /// Home and start directory.
    pub(super) context: &'a Context,
    /// How many bytes known variables may still insert.
    pub(super) fuel: &'a mut usize,
    /// What the expansions do.
    pub(super) effects: &'a mut Effects,
    /// Whether `cat` is the program of that name.
    pub(super) is_usual: bool,
}

/// What a variable stands for.
enum Found {
    Text(String),
    Number,
    Name(Word),
    Unknown,
}

impl Expander<'_> {
    /// The arguments that a raw word becomes.
    pub(super) fn args(&mut self, raw: &str) -> Vec<Arg> {
        if is_simple(raw) {
            return vec![Arg::text(raw)];
        }
        self.processes(raw);
        let bits = lex(raw);
        match braces::expand(bits) {
            Some(words) => words.into_iter().flat_map(|bits| self.fields(&bits)).collect(),
            None => {
                // The substitutions inside run all the same.
                self.single(&lex(raw), true);
                vec![Arg::Many(Word::any())]
            }
        }
    }

    /// The one word that a raw word becomes where nothing is split: the value of an assignment.
    pub(super) fn value(&mut self, raw: &str) -> Word {
        self.processes(raw);
        self.single(&lex(raw), false)
    }

    /// The target of a redirection.
    pub(super) fn target(&mut self, raw: &str) -> Word {
        self.processes(raw);
        self.single(&lex(raw), true)
    }

    /// The body of a here-document.
    pub(super) fn text(&mut self, raw: &str) -> Word {
        self.single(&lex_text(raw), false)
    }

    fn fields(&mut self, bits: &[Bit]) -> Vec<Arg> {
        let mut builder = Builder::default();
        for (index, bit) in bits.iter().enumerate() {
            match bit {
                Bit::Plain(text) => {
                    let rest = self.tilde(text, index, bits, &mut builder);
                    builder.plain(rest, index + 1 < bits.len());
                }
                Bit::Quoted(text) => builder.quoted(text),
                Bit::Open { quoted, what } => self.field(*quoted, what, &mut builder),
            }
        }
        builder.finish()
    }

    fn field(&mut self, quoted: bool, what: &Open, builder: &mut Builder) {
        // `"$@"` and `"${x[@]}"` are several words even in quotes.
        let is_list = match what {
            Open::Variable(name) => name == "@",
            Open::Braced(inside) => inside.contains('@'),
            _ => false,
        };
        match (self.open(what, quoted), quoted) {
            (Found::Unknown, _) if is_list => builder.unknown(),
            (Found::Text(text), true) => builder.quoted(&text),
            (Found::Text(text), false) => builder.split(&text),
            (Found::Number, _) => builder.number(),
            (Found::Name(word), true) => builder.name(word),
            (Found::Unknown, true) => builder.any(),
            (Found::Name(_) | Found::Unknown, false) => builder.unknown(),
        }
    }

    fn single(&mut self, bits: &[Bit], globs: bool) -> Word {
        let mut builder = Builder::default();
        for (index, bit) in bits.iter().enumerate() {
            match bit {
                Bit::Plain(text) => {
                    let rest = self.tilde(text, index, bits, &mut builder);
                    if globs {
                        builder.plain(rest, index + 1 < bits.len());
                    } else {
                        builder.quoted(rest);
                    }
                }
                Bit::Quoted(text) => builder.quoted(text),
                Bit::Open { quoted, what } => match self.open(what, *quoted) {
                    Found::Text(text) => builder.quoted(&text),
                    Found::Number => builder.number(),
                    Found::Name(word) => builder.name(word),
                    Found::Unknown => builder.any(),
                },
            }
        }
        builder.word()
    }

    /// Replaces a tilde at the start of a word or an assigned value; answers with the rest.
    fn tilde<'t>(
        &mut self,
        text: &'t str,
        index: usize,
        bits: &[Bit],
        builder: &mut Builder,
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
        // A quoted or expanded part right behind belongs to the name.
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
            Found::Text(text) => Some(text),
            Found::Number | Found::Name(_) | Found::Unknown => None,
        }
    }

    /// What an expansion stands for.
    fn open(&mut self, what: &Open, quoted: bool) -> Found {
        match what {
            Open::Variable(name) => self.charged(name),
            Open::Command { text, .. } => {
                self.effects.commands.push(text.clone());
                match output(text).filter(|_| self.is_usual && !self.state.is_tainted) {
                    Some(text) if text.len() < *self.fuel => {
                        *self.fuel -= text.len();
                        Found::Text(text)
                    }
                    _ => Found::Unknown,
                }
            }
            Open::Arithmetic(text) => self.arithmetic(text),
            Open::Braced(inside) => self.braced(inside, quoted),
            Open::Unclear(why) => {
                self.effects.unclear.push((*why).to_owned());
                Found::Unknown
            }
        }
    }

    fn arithmetic(&mut self, text: &str) -> Found {
        if arithmetic::is_harmless(text, self.state) {
            return Found::Number;
        }
        self.effects.unclear.push("arithmetic on something unknown can run commands".to_owned());
        self.single(&lex_text(text), false);
        Found::Unknown
    }

    /// A variable's value, as long as values have not been inserted too often.
    fn charged(&mut self, name: &str) -> Found {
        match self.variable(name) {
            Found::Text(text) if text.len() >= *self.fuel => Found::Unknown,
            Found::Text(text) => {
                *self.fuel -= text.len();
                Found::Text(text)
            }
            found => found,
        }
    }

    fn variable(&self, name: &str) -> Found {
        if matches!(name, "?" | "$" | "#") {
            return Found::Number;
        }
        match (self.state.variable(name), name) {
            (Some(Value::Text(text)), _) => Found::Text(text.clone()),
            (Some(Value::Number), _) => Found::Number,
            (Some(Value::Name(word)), _) => Found::Name(word.clone()),
            (None, "HOME") => self.context.home.clone().map_or(Found::Unknown, Found::Text),
            (None, "PWD") => self.directory().map_or(Found::Unknown, Found::Text),
            (Some(Value::Unknown) | None, _) => Found::Unknown,
        }
    }

    fn directory(&self) -> Option<String> {
        let base = self.state.bases.single()?;
        if base.starts_with('/') {
            return Some(base.to_owned());
        }
        let start = super::Bases::one(self.context.directory.clone()?).enter(base);
        start.single().filter(|path| path.starts_with('/')).map(str::to_owned)
    }
}

/// What a command writes, if that is known before it runs: `cat` with a literal here-document.
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

/// Whether a raw word stands for itself.
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

/// Whether `text` is `NAME=` or a path list up to a colon.
fn is_assignment(text: &str) -> bool {
    let Some(name) = text.strip_suffix('=') else {
        return text.ends_with(':') && text.contains('=');
    };
    let mut bytes = name.bytes();
    let is_first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    is_first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A word whose texts are joined and whose empty pieces are gone.
pub(super) fn tidy(pieces: Vec<Piece>) -> Word {
    let mut tidied: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (piece, tidied.last_mut()) {
            (Piece::Text(text), _) if text.is_empty() => {}
            (Piece::Text(text), Some(Piece::Text(last))) => last.push_str(&text),
            (Piece::Any, Some(Piece::Any)) | (Piece::Segment, Some(Piece::Segment)) => {}
            (piece, _) => tidied.push(piece),
        }
    }
    Word { pieces: tidied }
}
