//! Expands `${…}` with more than a name inside.

use super::{VariableExpansion, WordExpander};
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
