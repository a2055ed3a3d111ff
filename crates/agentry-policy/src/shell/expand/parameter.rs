//! Expands `${…}` with more than a name inside.

use super::{VariableExpansion, WordExpander, tidy};
use crate::argv::{ShellWord, WordPiece};
use crate::shell::word::{lex, processes};

impl WordExpander<'_> {
    /// Returns the value of `${inside}`; substitutions inside it are collected in any case.
    pub(super) fn braced(&mut self, inside: &str, quoted: bool) -> VariableExpansion {
        let (name, rest) = name(inside);
        if let Some(length) = inside.strip_prefix('#') {
            return self.length(length);
        }
        if inside.starts_with('!') || name.is_empty() {
            return self.not_followed(inside, "an indirect expansion");
        }
        let Some(rest) = subscript(rest) else {
            return self.not_followed(inside, "an array subscript can run commands");
        };
        // The value may be a whole array, so it is unknown.
        if rest.is_empty() {
            return VariableExpansion::Unknown;
        }
        let operator = rest.trim_start_matches(':');
        match operator.chars().next() {
            Some('@') if matches!(operator, "@Q" | "@U" | "@u" | "@L" | "@E" | "@a") => {}
            Some('=') => {
                self.effects.assigned.push(name.to_owned());
                self.operand(operator, quoted);
            }
            Some('-' | '+' | '?') => self.operand(operator, quoted),
            Some('#' | '%' | '/' | '^' | ',') if !rest.starts_with(':') => {
                // A pattern is expanded as if it were not inside quotes.
                self.operand(operator, false);
                return trimmed(self.charged(name), operator);
            }
            _ if rest.starts_with(':') && is_slice(rest) => {}
            _ => return self.not_followed(inside, "an expansion with an odd operator"),
        }
        VariableExpansion::Unknown
    }

    fn length(&mut self, of: &str) -> VariableExpansion {
        let (name, rest) = name(of);
        let is_plain = !name.is_empty() && matches!(rest, "" | "[@]" | "[*]");
        if is_plain || matches!(of, "@" | "*") {
            return VariableExpansion::Number;
        }
        self.not_followed(of, "a length of something odd")
    }

    fn not_followed(&mut self, inside: &str, why: &str) -> VariableExpansion {
        self.effects.unclear.push(why.to_owned());
        self.operand(inside, false);
        VariableExpansion::Unknown
    }

    /// Collects the effects of the text after the operator.
    fn operand(&mut self, text: &str, quoted: bool) {
        if !quoted || text.contains(['"', '\'']) {
            self.processes(text);
        }
        if text.contains(['$', '`', '\\']) {
            self.single(&lex(text), false);
        }
    }

    /// Collects process substitutions in places where the parsers do not look for them.
    pub(super) fn processes(&mut self, raw: &str) {
        if !raw.contains("<(") && !raw.contains(">(") {
            return;
        }
        let found = processes(raw);
        if found.as_ref().is_none_or(|found| !found.is_empty()) {
            self.effects.unclear.push("a process substitution inside of a word".to_owned());
        }
        self.effects.commands.extend(found.into_iter().flatten());
    }
}

/// Returns the literal text that `${X:-text}` and similar expansions insert.
pub(super) fn default(inside: &str) -> Option<String> {
    let (name, rest) = name(inside);
    let operator = subscript(rest).filter(|_| !name.is_empty())?.trim_start_matches(':');
    let text = operator.strip_prefix(['-', '=', '+'])?;
    let is_literal = !text.is_empty() && !text.contains(['$', '`', '\\', '<', '>']);
    is_literal.then(|| text.replace(['"', '\''], ""))
}

/// Removes a literal suffix, or all directories: `${f%.rs}`, `${f##*/}`.
fn trimmed(value: VariableExpansion, operator: &str) -> VariableExpansion {
    let pieces = match value {
        VariableExpansion::Text(text) => vec![WordPiece::Text(text)],
        VariableExpansion::Name(word) => word.pieces,
        VariableExpansion::Number | VariableExpansion::List(_) | VariableExpansion::Unknown => {
            return VariableExpansion::Unknown;
        }
    };
    let found = match operator.strip_prefix('%') {
        Some(suffix) => without_suffix(pieces, suffix),
        None if operator == "##*/" => without_directories(&pieces),
        None => None,
    };
    match found {
        Some(word) => match word.literal() {
            Some(text) => VariableExpansion::Text(text.to_owned()),
            None => VariableExpansion::Name(word),
        },
        None => VariableExpansion::Unknown,
    }
}

fn without_suffix(mut pieces: Vec<WordPiece>, suffix: &str) -> Option<ShellWord> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let Some(WordPiece::Text(last)) = pieces.last_mut().filter(|_| suffix.bytes().all(is_plain))
    else {
        return None;
    };
    let length = last.strip_suffix(suffix).map(str::len);
    match length {
        Some(length) => last.truncate(length),
        // A shorter text may continue to the left of it.
        None if last.len() < suffix.len() => return None,
        None => {}
    }
    Some(tidy(pieces))
}

fn without_directories(pieces: &[WordPiece]) -> Option<ShellWord> {
    let has_slash =
        |piece: &WordPiece| matches!(piece, WordPiece::Text(text) if text.contains('/'));
    let at = pieces.iter().rposition(has_slash)?;
    let WordPiece::Text(text) = pieces.get(at)? else { return None };
    let (_, name) = text.rsplit_once('/')?;
    let rest = pieces.get(at + 1..)?;
    // Only these pieces contain no slash.
    if !rest
        .iter()
        .all(|piece| matches!(piece, WordPiece::Segment | WordPiece::Number | WordPiece::Text(_)))
    {
        return None;
    }
    let first = WordPiece::Text(name.to_owned());
    Some(tidy(std::iter::once(first).chain(rest.iter().cloned()).collect()))
}

/// Splits off the name of a parameter.
fn name(text: &str) -> (&str, &str) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text.bytes().take_while(is_part).count();
    match text.chars().next() {
        Some('@' | '*') => text.split_at(1),
        _ => text.split_at(length),
    }
}

/// Removes a harmless subscript.
fn subscript(text: &str) -> Option<&str> {
    let Some(inside) = text.strip_prefix('[') else { return Some(text) };
    let (index, rest) = inside.split_once(']')?;
    let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || matches!(index, "@" | "*") { Some(rest) } else { None }
}

/// Whether the text is a slice: `:1`, `:1:2`, `: -3`.
fn is_slice(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b' ' | b'-'))
}
